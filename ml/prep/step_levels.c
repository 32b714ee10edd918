/* step_levels.c - the steps that replace the levels of a column by numbers: the mean of the target
 * (of several classes, the share of each), and how often the level occurs. "levels" is for columns
 * of levels, "codes" for whole numbers that are names (code_screen.h).
 *
 * What the values are made from, and why no row sees its own target, level_means.h says. The state
 * holds the values from all training rows, for tables to predict; a view of a fold holds its own.
 * Called through step.c. */
#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/level_means.h"
#include "ml/prep/level_state.h"
#include "ml/prep/step.h"

/* STEP_MANY_LEVELS: fewer are told apart well by bins and one-hot columns; with means for 16 to 42
 * levels as well, the log loss of boost on adult was .2788 instead of .2765. FEW_LEVELS: the same
 * where the configuration asks for more means. */
enum { FEW_LEVELS = 8 };

static void state_free(struct prep_step *s)
{
    level_state_free(s->state);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    level_state_name(s->state, part, out);
}

/* ---- fitting ---- */

/* Takes the values of a column whose plain input has levels: it holds them, or whole numbers. */
static int levels_read(struct level_state *t, const struct prep_col *col,
                       const struct prep_spec *spec, int at, struct err *err)
{
    struct level_rows rows = { .frame = spec->frame, .col = at, .n_levels = t->n_levels };
    struct view_numbers numbers = { 0 };
    int32_t *map = NULL;
    int rc = 0;

    if (spec->frame->cols[at].type == FRAME_NUMERIC) {
        prep_map_numbers(col, &numbers);
        rows.numbers = &numbers;
    } else {
        rows.map = map = prep_map_levels(col, &spec->frame->cols[at]);
        rc = map ? 0 : err_set(err, ERR_NOMEM, "no memory for %d levels", t->n_levels);
    }
    if (rc == 0)
        rc = level_state_take(t, &rows, spec, err);
    mem_try_free(map);
    view_numbers_free(&numbers);
    return rc;
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct prep_spec *spec = in->spec;
    int input = prep_plain_input(in->prep, in->col[0]);

    if (!spec->target || input < 0 || in->prep->cols[input].type != FRAME_CATEGORICAL)
        return 0;
    const struct prep_col *col = &in->prep->cols[input];
    if (col->n_levels >= STEP_MANY_LEVELS
            ? spec->choice.of[PREP_OF_LEVELS] == LEVELS_PLAIN
            : spec->choice.of[PREP_OF_FEW_LEVELS] != FEW_LEVELS_MEANS || col->n_levels < FEW_LEVELS)
        return 0;
    struct level_state *t = mem_zalloc(sizeof *t);
    s->state = t;
    t->n_levels = col->n_levels;
    level_state_classes(t, spec);
    int rc = levels_read(t, col, spec, in->col[0], err);
    s->n_parts = t->n_means + 1;
    if (rc < 0)
        state_free(s);
    return rc < 0 ? -1 : 1;
}

bool step_codes_are_names(const struct prep_spec *spec, int col, enum code_bar bar)
{
    if (!spec->target)
        return false;
    struct level_state *t = mem_zalloc(sizeof *t);
    level_state_classes(t, spec);
    bool are_names = code_screen(spec, col, t->classes, t->n_means, bar);
    level_state_free(t);
    return are_names;
}

static int fit_codes(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct prep_spec *spec = in->spec;
    int input = prep_plain_input(in->prep, in->col[0]), rc = 0;

    if (!spec->target || spec->choice.of[PREP_OF_LEVELS] == LEVELS_PLAIN ||
        spec->choice.of[PREP_OF_CODES] != CODES_AUTO || input < 0 ||
        in->prep->cols[input].type != FRAME_NUMERIC)
        return 0;
    struct level_state *t = mem_zalloc(sizeof *t);
    s->state = t;
    level_state_classes(t, spec);
    if (code_screen(spec, in->col[0], t->classes, t->n_means, in->bar))
        t->n_levels = code_values(spec, in->col[0], PREP_MAX_LEVELS, &t->number);
    if (t->n_levels > 0) {
        const struct level_rows rows = {
            .frame = spec->frame, .col = in->col[0], .n_levels = t->n_levels, .value = t->number
        };
        s->n_parts = t->n_means + 1;
        rc = level_state_take(t, &rows, spec, err) < 0 ? -1 : 1;
    }
    if (rc <= 0)
        state_free(s);
    return rc;
}

/* ---- values ---- */

static int view_open(struct step_view *v, struct err *err)
{
    const struct prep_fold *fold = v->view->fold;
    const struct level_state *t = v->step->state;
    int source = v->step->source[0];

    if (!fold)
        return 0;
    const struct view_numbers *numbers = &v->view->numbers[source];
    const struct level_rows rows = { .frame = v->view->frame,
                                     .col = v->view->col[source],
                                     .n_levels = t->n_levels,
                                     .map = v->view->map[source],
                                     .value = t->number,
                                     .numbers = numbers->n > 0 ? numbers : NULL };
    struct level_means *m = mem_zalloc(sizeof *m);
    v->open = m;
    return level_state_means(t, &rows, fold->target, fold->train, m, err);
}

static void view_close(struct step_view *v)
{
    if (v->open)
        level_means_fini(v->open);
    mem_free(v->open);
}

/* Rows of the source as places in the tables of values. */
static void levels_of(const struct step_view *v, int64_t from, int64_t n, int32_t *level)
{
    const struct level_state *t = v->step->state;
    double x[PREP_BLOCK];

    if (t->number) {
        step_names(v, 0, from, n, x);
        levels_of_values(t->number, t->n_levels, x, n, level);
        return;
    }
    prep_source_levels(v->view, v->step->source[0], from, n, level);
    for (int64_t i = 0; i < n; i++) {
        if (level[i] < 0)
            level[i] = level[i] == PREP_NO_LEVEL ? t->n_levels : t->n_levels + 1;
    }
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    int32_t level[PREP_BLOCK];

    levels_of(v, from, n, level);
    level_state_values(v->step->state, v->open, v->view->fold,
                       &(struct level_ask){ part, from, n, level }, out);
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    return level_state_save(s->state, out, err);
}

static int load_any(struct prep_step *s, bool has_numbers, struct view *in, struct err *err)
{
    struct level_state *t = s->state = mem_zalloc(sizeof *t);
    int rc = level_state_load(t, has_numbers, in, err);

    s->n_parts = t->n_means + 1;
    return rc;
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    return load_any(s, false, in, err);
}

static int load_codes(struct prep_step *s, struct view *in, struct err *err)
{
    return load_any(s, true, in, err);
}

static bool is_number(const struct prep *p, const struct prep_step *s)
{
    return s->n_sources == 1 && p->sources[s->source[0]].type == FRAME_NUMERIC;
}

static bool suits(const struct prep *p, const struct prep_step *s)
{
    const struct level_state *t = s->state;
    int input = p->sources[s->source[0]].input;

    return s->n_sources == 1 && input >= 0 && p->cols[input].type == FRAME_CATEGORICAL &&
           p->cols[input].n_levels == t->n_levels;
}

const struct step_ops step_levels = {
    .word = "levels",
    .is_by_fold = true,
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
    .suits = suits,
};

const struct step_ops step_codes = {
    .word = "codes",
    .is_by_fold = true,
    .fit = fit_codes,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load_codes,
    .suits = is_number,
};
