/* step.c - the steps there are, and which columns they are tried on. Called by prep_fit.c and
 * prep_save.c. */
#include "ml/prep/step.h"

#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/cross_screen.h"
#include "ml/prep/letters_screen.h"
#include "ml/prep/pair_screen.h"
#include "ml/prep/parts_screen.h"
#include "ml/prep/rotate_screen.h"
#include "ml/prep/step_column.h"

#include <string.h>

/* Columns of dates between which days are counted. */
enum { MOST_DATES = 5 };

static const struct step_ops *const step_kinds[] = {
    &step_levels,  &step_cross, &step_cross_numbers, &step_codes,  &step_date,
    &step_between, &step_pair,  &step_rotate,        &step_text,   &step_items,
    &step_words,   &step_parts, &step_effects,       &step_figures
};

/* What is tried on each column of a type and kind, in this order. */
static const struct {
    enum frame_type type;
    enum frame_kind kind;
    const struct step_ops *ops;
} tried[] = {
    { FRAME_CATEGORICAL, FRAME_PLAIN, &step_figures },
    { FRAME_CATEGORICAL, FRAME_TEXT, &step_figures },
    { FRAME_CATEGORICAL, FRAME_LIST, &step_figures },
    { FRAME_CATEGORICAL, FRAME_PLAIN, &step_levels },
    { FRAME_NUMERIC, FRAME_PLAIN, &step_levels },
    { FRAME_NUMERIC, FRAME_PLAIN, &step_codes },
    { FRAME_NUMERIC, FRAME_DATE, &step_date },
    { FRAME_CATEGORICAL, FRAME_TEXT, &step_words },
    { FRAME_CATEGORICAL, FRAME_TEXT, &step_text },
    { FRAME_CATEGORICAL, FRAME_LIST, &step_words },
    { FRAME_CATEGORICAL, FRAME_LIST, &step_items },
};

const struct step_ops *step_find(const char *word)
{
    for (size_t i = 0; i < ARRAY_LEN(step_kinds); i++) {
        if (strcmp(step_kinds[i]->word, word) == 0)
            return step_kinds[i];
    }
    return NULL;
}

/* Whether the configuration wants this step: effects of levels (CHOICE EFFECTS); of texts and lists what
 * says something about the target, or what does not (CHOICE TEXT). */
static bool is_chosen(const struct prep_spec *spec, const struct step_ops *ops)
{
    int text = spec->choice.of[PREP_OF_TEXT];

    if (ops == &step_effects)
        return spec->choice.of[PREP_OF_EFFECTS] != EFFECTS_OFF;
    if (ops == &step_words)
        return text != TEXT_TOPICS;
    return text != TEXT_SCORES || (ops != &step_text && ops != &step_items);
}

/* Appends a fitted step of these columns of the frame. */
static void step_append(struct prep *p, const struct frame *f, struct prep_step s, const int *col)
{
    for (int k = 0; k < s.n_sources; k++)
        s.source[k] = prep_source_take(p, f, col[k]);
    MEM_GROW(p->steps, p->n_steps, p->cap_steps);
    p->steps[p->n_steps++] = s;
}

/* ---- what another preparation of the same rows has fitted already ---- */

/* No choice changes what these are fitted to; they are the dearest ones. */
static bool is_of_texts(const struct step_ops *ops)
{
    return ops == &step_words || ops == &step_text || ops == &step_items || ops == &step_figures;
}

static bool is_of_quantities(const struct step_ops *ops)
{
    return ops == &step_pair || ops == &step_rotate;
}

/* The choice leaves the steps of quantities, or all others that it wants, as the data suggest them. */
static bool are_suggested(const struct prep_choice *c, bool of_quantities)
{
    /* columns of codes are no quantities */
    if (of_quantities)
        return c->of[PREP_OF_PAIRS] == 0 && c->of[PREP_OF_CODES] == 0 &&
               c->of[PREP_OF_LEVELS] != LEVELS_PLAIN;
    return c->of[PREP_OF_LEVELS] == 0 && c->of[PREP_OF_FEW_LEVELS] == 0 &&
           c->of[PREP_OF_CODES] == 0;
}

static void step_share(const struct prep_spec *spec, struct prep *p, const struct prep_step *from)
{
    struct prep_step s;
    int col[PREP_SOURCES];

    prep_step_share(from, &s);
    for (int k = 0; k < s.n_sources; k++)
        col[k] = frame_find(spec->frame, spec->like->sources[s.source[k]].name);
    step_append(p, spec->frame, s, col);
}

/* All steps of quantities, or all others, where they come out the same; false = they may not. */
static bool steps_share(const struct prep_spec *spec, struct prep *p, bool of_quantities)
{
    if (!spec->like || !are_suggested(&spec->choice, of_quantities))
        return false;
    for (int i = 0; i < spec->like->n_steps; i++) {
        const struct step_ops *ops = spec->like->steps[i].ops;
        if (is_of_quantities(ops) == of_quantities && is_chosen(spec, ops))
            step_share(spec, p, &spec->like->steps[i]);
    }
    return true;
}

/* A step on texts: there, or known to tell nothing. */
static void texts_share(const struct step_fit *in, struct prep *p, const struct step_ops *ops)
{
    const struct prep *like = in->spec->like;
    const char *name = in->spec->frame->cols[in->col[0]].name;

    for (int i = 0; i < like->n_steps; i++) {
        if (like->steps[i].ops == ops &&
            strcmp(like->sources[like->steps[i].source[0]].name, name) == 0)
            step_share(in->spec, p, &like->steps[i]);
    }
}

struct texts step_texts_read(const struct step_fit *in)
{
    const struct frame_col *c = &in->spec->frame->cols[in->col[0]];
    struct texts texts = { .levels = c->levels, .n_levels = c->n_levels };
    bool is_read = in->lexicon && in->lexicon->levels == c->levels;

    if (in->lexicon && (is_read || lexicon_make(c->levels, c->n_levels, in->lexicon)))
        texts.read = in->lexicon;
    return texts;
}

/* Fits one step on the columns that `in` names. */
static int step_put(const struct step_fit *in, struct prep *p, const struct step_ops *ops,
                    struct err *err)
{
    struct prep_step s = { .ops = ops, .n_sources = in->n_cols };
    int rc = 0;

    if (!is_chosen(in->spec, ops))
        return 0;
    if (in->spec->like && is_of_texts(ops)) {
        texts_share(in, p, ops);
        return 0;
    }
    rc = ops->fit(in, &s, err);
    if (rc <= 0)
        return rc < 0 ? err_wrap(err, "column \"%.100s\"", in->spec->frame->cols[in->col[0]].name)
                      : 0;
    s.users = mem_alloc(sizeof *s.users);
    *s.users = 1;
    step_append(p, in->spec->frame, s, in->col);
    return 0;
}

static int step_try(const struct prep_spec *spec, struct prep *p, const struct step_ops *ops,
                    int col, struct lexicon *lexicon, struct err *err)
{
    const struct step_fit in = {
        .spec = spec, .n_cols = 1, .col = { col }, .prep = p, .lexicon = lexicon
    };

    return step_put(&in, p, ops, err);
}

/* Of two columns; choice: of step_fit. */
static int step_try_two(const struct prep_spec *spec, struct prep *p, const struct step_ops *ops,
                        const int col[2], int choice, struct err *err)
{
    const struct step_fit in = {
        .spec = spec, .n_cols = 2, .col = { col[0], col[1] }, .choice = choice, .prep = p
    };

    return step_put(&in, p, ops, err);
}

static bool is_skipped(const struct prep_spec *spec, int col)
{
    const char *name = spec->frame->cols[col].name;

    for (const char *const *s = spec->skip; s && *s; s++) {
        if (strcmp(*s, name) == 0)
            return true;
    }
    return spec->frame->cols[col].type == FRAME_IGNORED || (spec->plain && spec->plain[col]);
}

static bool is_date(const struct prep_spec *spec, int col)
{
    const struct frame_col *c = &spec->frame->cols[col];

    return !is_skipped(spec, col) && c->kind == FRAME_DATE && c->type == FRAME_NUMERIC;
}

/* Each two of the first few columns of dates. */
static int between_dates(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    int dates[MOST_DATES], n = 0;

    for (int i = 0; i < spec->frame->n_cols && n < MOST_DATES; i++) {
        if (is_date(spec, i))
            dates[n++] = i;
    }
    for (int a = 0; a < n; a++) {
        for (int b = a + 1; b < n; b++) {
            if (step_try_two(spec, p, &step_between, (int[]){ dates[a], dates[b] }, 0, err) < 0)
                return -1;
        }
    }
    return 0;
}

/* Whether the column may take part in pairs: numbers that are no dates. */
static bool is_quantity(const struct prep_spec *spec, const struct prep *p, int col)
{
    const struct frame_col *c = &spec->frame->cols[col];
    int input = prep_plain_input(p, col);

    return !is_skipped(spec, col) && c->type == FRAME_NUMERIC && c->kind == FRAME_PLAIN &&
           input >= 0 && p->cols[input].type == FRAME_NUMERIC &&
           p->cols[input].scale != PREP_MAGNITUDE;
}

/* [sources] whether the column is of numbers that are names. */
static bool *codes_of(const struct prep *p)
{
    bool *is_code = mem_array((size_t)p->n_sources + 1, sizeof *is_code);

    for (int i = 0; i < p->n_steps; i++)
        is_code[p->steps[i].source[0]] |= p->steps[i].ops == &step_codes;
    return is_code;
}

/* The parts of columns of codes. */
static int parts_fit(const struct prep_spec *spec, struct prep *p, const bool *are_figures,
                     struct err *err)
{
    int rc = 0;

    if (!spec->target || spec->choice.of[PREP_OF_LEVELS] == LEVELS_PLAIN)
        return 0;
    for (int i = 0; i < spec->frame->n_cols && rc == 0; i++) {
        const struct frame_col *c = &spec->frame->cols[i];
        struct code_part parts[PARTS_MOST];
        struct code_form form;
        bool suits = !is_skipped(spec, i) && c->type == FRAME_CATEGORICAL &&
                     (c->kind == FRAME_PLAIN || c->kind == FRAME_TEXT) && !are_figures[i];
        int found = suits ? parts_screen(spec, i, &form, parts) : 0;
        for (int k = 0; k < found && rc == 0; k++) {
            const struct step_fit in = {
                .spec = spec, .n_cols = 1, .col = { i }, .form = &form, .part = parts[k], .prep = p
            };
            rc = step_put(&in, p, &step_parts, err);
        }
    }
    return rc;
}

/* Appends the columns that may be combined, of categories or of numbers. */
static int crossed_cols(const struct prep_spec *spec, const struct prep *p, enum frame_type type,
                        int *cols, int n)
{
    for (int i = 0; i < spec->frame->n_cols; i++) {
        const struct frame_col *c = &spec->frame->cols[i];
        if (!is_skipped(spec, i) && c->type == type && c->kind == FRAME_PLAIN &&
            prep_plain_input(p, i) >= 0)
            cols[n++] = i;
    }
    return n;
}

/* Combinations of columns of few levels. */
static int crosses_fit(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    int *cols = mem_array((size_t)spec->frame->n_cols, sizeof *cols), n = 0, rc = 0;
    struct cross crosses[CROSS_MOST];

    n = crossed_cols(spec, p, FRAME_CATEGORICAL, cols, n);
    if (spec->choice.of[PREP_OF_CODES] != CODES_QUANTITY)
        n = crossed_cols(spec, p, FRAME_NUMERIC, cols, n);
    bool suits = spec->target && spec->target->n_classes < 3 &&
                 spec->choice.of[PREP_OF_LEVELS] != LEVELS_PLAIN;
    int found = suits ? cross_screen(spec, cols, n, crosses) : 0;
    for (int i = 0; i < found && rc == 0; i++) {
        const struct cross c = crosses[i];
        bool has_numbers = spec->frame->cols[c.a].type == FRAME_NUMERIC ||
                           spec->frame->cols[c.b].type == FRAME_NUMERIC;
        rc = step_try_two(spec, p, has_numbers ? &step_cross_numbers : &step_cross,
                          (int[]){ c.a, c.b }, 0, err);
    }
    mem_free(cols);
    return rc;
}

/* Steps of several quantities. */
static int quantities_fit(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    int *cols = mem_array((size_t)spec->frame->n_cols, sizeof *cols), n = 0, rc = 0;
    bool *is_code = codes_of(p);
    struct pair pairs[PAIR_MOST];
    struct rotation r;

    for (int i = 0; i < spec->frame->n_cols; i++) {
        if (is_quantity(spec, p, i) && !is_code[p->source_of[i] - 1])
            cols[n++] = i;
    }
    mem_free(is_code);
    /* of three classes and more, what is good for one of them is mostly noise to the others */
    int choice = spec->choice.of[PREP_OF_PAIRS];
    bool as_they_are = choice == PAIRS_AUTO && spec->choice.of[PREP_OF_CODES] == CODES_QUANTITY;
    bool suits = spec->target && spec->target->n_classes < 3 && choice != PAIRS_OFF && !as_they_are;
    int found = suits ? pair_screen(spec, cols, n, choice == PAIRS_MORE, pairs) : 0;
    for (int i = 0; i < found && rc == 0; i++)
        rc = step_try_two(spec, p, &step_pair, (int[]){ pairs[i].a, pairs[i].b }, (int)pairs[i].op,
                          err);
    const struct rotate_of of = { cols, n, pairs, found };
    if (rc == 0 && suits && rotate_screen(spec, &of, &r)) {
        struct step_fit in = { .spec = spec, .n_cols = n, .rotation = &r, .prep = p };
        memcpy(in.col, cols, (size_t)n * sizeof *cols);
        rc = step_put(&in, p, &step_rotate, err);
    }
    mem_free(cols);
    return rc;
}

/* What a column of words gives. */
static int texts_try(const struct prep_spec *spec, struct prep *p, int col, struct lexicon *lexicon,
                     struct err *err)
{
    int rc = step_try(spec, p, &step_words, col, lexicon, err);

    return rc == 0 ? step_try(spec, p, &step_text, col, lexicon, err) : rc;
}

/* Whether the step that was put last reads numbers that say all there is in the texts of the column,
 * of which few repeat: then their levels, words and parts say nothing more. What a list holds are
 * names even where numbers are written in them. */
static bool is_of_figures(const struct prep *p, const struct frame_col *c, int64_t rows)
{
    enum { LEAST_REPEATS = 4 };

    return c->kind != FRAME_LIST && step_figures_is_whole(&p->steps[p->n_steps - 1]) &&
           rows < (int64_t)c->n_levels * LEAST_REPEATS;
}

/* All steps of one column alone. are_figures: true = numbers are all that its texts say. */
static int column_fit(const struct prep_spec *spec, struct prep *p, int col, bool *are_figures,
                      struct err *err)
{
    const struct frame_col *c = &spec->frame->cols[col];
    struct lexicon lexicon = { 0 };
    int rc = 0;

    for (size_t k = 0; k < ARRAY_LEN(tried) && rc == 0 && !*are_figures; k++) {
        int before = p->n_steps;
        if (c->type == tried[k].type && c->kind == tried[k].kind)
            rc = step_try(spec, p, tried[k].ops, col, &lexicon, err);
        *are_figures = p->n_steps > before && is_of_figures(p, c, spec->frame->rows);
    }
    if (rc == 0 && !*are_figures && step_is_wordy(c, spec->frame->rows))
        rc = texts_try(spec, p, col, &lexicon, err);
    lexicon_fini(&lexicon);
    return rc;
}

/* Columns of single words. Of texts whose parts are read, or that are numbers, the shape and the
 * topics are noise; of numbers the words as well. */
static int letters_fit(const struct prep_spec *spec, struct prep *p, const bool *are_figures,
                       struct err *err)
{
    bool *has_parts = mem_array((size_t)p->n_sources + 1, sizeof *has_parts);
    int sources = p->n_sources, rc = 0;

    for (int i = 0; i < p->n_steps; i++)
        has_parts[p->steps[i].source[0]] |= p->steps[i].ops == &step_parts;
    for (int i = 0; i < spec->frame->n_cols && rc == 0; i++) {
        struct lexicon lexicon = { 0 };
        int source = p->source_of[i] - 1;
        if (is_skipped(spec, i) || are_figures[i] ||
            step_is_wordy(&spec->frame->cols[i], spec->frame->rows) || !letters_screen(spec, i))
            continue;
        if (source >= 0 && source < sources && has_parts[source])
            rc = step_try(spec, p, &step_words, i, &lexicon, err);
        else
            rc = texts_try(spec, p, i, &lexicon, err);
        lexicon_fini(&lexicon);
    }
    mem_free(has_parts);
    return rc;
}

/* Where some columns of numbers are names for certain, the others on less evidence. */
static int codes_beside(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    bool *is_name = mem_array((size_t)spec->frame->n_cols + 1, sizeof *is_name);
    int names = 0, rc = 0;

    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].ops == &step_codes) {
            is_name[frame_find(spec->frame, p->sources[p->steps[i].source[0]].name)] = true;
            names++;
        }
    }
    for (int i = 0; i < spec->frame->n_cols && names >= CODES_BESIDE && rc == 0; i++) {
        const struct frame_col *c = &spec->frame->cols[i];
        const struct step_fit in = {
            .spec = spec, .n_cols = 1, .col = { i }, .bar = CODE_BESIDE, .prep = p
        };
        if (c->type == FRAME_NUMERIC && c->kind == FRAME_PLAIN && !is_skipped(spec, i) &&
            !is_name[i])
            rc = step_put(&in, p, &step_codes, err);
    }
    mem_free(is_name);
    return rc;
}

/* What a column is to the effects of levels: 0 = one that is shown, 1 = other levels, 2 = a quantity,
 * -1 = it takes no part. */
static int effects_rank(const struct prep_spec *spec, const struct prep *p, int col,
                        const bool *has_means)
{
    const struct frame_col *c = &spec->frame->cols[col];
    int input = prep_plain_input(p, col);

    if (is_skipped(spec, col) || c->kind != FRAME_PLAIN || input < 0 ||
        p->cols[input].scale == PREP_MAGNITUDE)
        return -1;
    if (has_means[p->source_of[col] - 1])
        return 0;
    return p->cols[input].type == FRAME_CATEGORICAL ? 1 : 2;
}

/* Marks the quantities that may be names; returns how many there are. */
static int names_may_be(const struct step_fit *in, const bool *has_means, bool *out)
{
    const struct prep_spec *spec = in->spec;
    int n = 0;

    if (!spec->target || spec->choice.of[PREP_OF_LEVELS] == LEVELS_PLAIN ||
        spec->choice.of[PREP_OF_CODES] == CODES_QUANTITY)
        return 0;
    for (int k = 0; k < in->n_cols; k++) {
        int source = in->prep->source_of[in->col[k]] - 1;
        out[k] = effects_rank(spec, in->prep, in->col[k], has_means) == 2 && source >= 0 &&
                 step_codes_are_names(spec, in->col[k], CODE_MAYBE);
        n += out[k];
    }
    return n;
}

/* Effects of the levels of all columns that have means, fitted together and beside the others: those
 * that are shown first, then as many of the others as there is room for.
 * They are worth their time for a column of texts, or for two of codes of which one has more levels
 * than there are bins: of fewer, trees see each, and the two of adult cost a second for nothing; and
 * where a quantity turns out to be a name. */
static int effects_fit(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    struct step_fit in = { .spec = spec, .prep = p };
    bool *has_means = mem_array((size_t)p->n_sources + 1, sizeof *has_means);
    int shown = 0, most = 0, rc = 0;
    bool is_named = false;

    for (int i = 0; i < p->n_steps; i++) {
        if (step_effects_shows(&p->steps[i])) {
            has_means[p->steps[i].source[0]] = true;
            shown++;
            is_named = is_named || p->steps[i].ops == &step_levels;
            most = MAX(most, step_effects_levels(&p->steps[i]));
        }
    }
    for (int rank = 0; rank < 3; rank++) {
        for (int i = 0; i < spec->frame->n_cols && in.n_cols < PREP_SOURCES; i++) {
            if (effects_rank(spec, p, i, has_means) == rank)
                in.col[in.n_cols++] = i;
        }
    }
    bool may_be_names[PREP_SOURCES] = { false };
    int maybes = names_may_be(&in, has_means, may_be_names);
    mem_free(has_means);
    in.may_be_names = may_be_names;
    in.is_worth = is_named || (shown >= 2 && most > STEP_BINNED_LEVELS);
    if ((in.is_worth || maybes > 0) && in.n_cols >= 2)
        rc = step_put(&in, p, &step_effects, err);
    return rc;
}

/* Steps of columns, of dates, and of levels. */
static int columns_fit(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    bool *are_figures = mem_array((size_t)spec->frame->n_cols + 1, sizeof *are_figures);
    int rc = 0;

    for (int i = 0; i < spec->frame->n_cols && rc == 0; i++)
        rc = is_skipped(spec, i) ? 0 : column_fit(spec, p, i, &are_figures[i], err);
    if (rc == 0)
        rc = codes_beside(spec, p, err);
    if (rc == 0)
        rc = between_dates(spec, p, err);
    if (rc == 0)
        rc = parts_fit(spec, p, are_figures, err);
    if (rc == 0)
        rc = letters_fit(spec, p, are_figures, err);
    if (rc == 0)
        rc = crosses_fit(spec, p, err);
    mem_free(are_figures);
    return rc == 0 ? effects_fit(spec, p, err) : rc;
}

int step_fit_all(const struct prep_spec *spec, struct prep *p, struct err *err)
{
    /* the pixels of images are no columns that people think in */
    if (spec->frame->image.height > 0)
        return 0;
    if (!steps_share(spec, p, false) && columns_fit(spec, p, err) < 0)
        return -1;
    return steps_share(spec, p, true) ? 0 : quantities_fit(spec, p, err);
}
