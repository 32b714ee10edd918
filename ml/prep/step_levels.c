/* step_levels.c - the steps that replace the levels of a column by numbers: the mean of the target
 * (of several classes, the share of each), and how often the level occurs. "levels" is for columns
 * of levels, "codes" for whole numbers that are names (code_screen.h), "cross" for the combinations of
 * two columns of few levels (cross_screen.h).
 *
 * What the values are made from, and why no row sees its own target, level_means.h says. The state
 * holds the values from all training rows, for tables to predict; a view of a fold holds its own.
 * Called through step.c. */
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/level_means.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* STEP_MANY_LEVELS: fewer are told apart well by bins and one-hot columns; with means for 16 to 42
 * levels as well, the log loss of boost on adult was .2788 instead of .2765. FEW_LEVELS: the same
 * where the configuration asks for more means. MOST_MEANS: of a target with more classes, those
 * with the most rows have a mean. */
enum { FEW_LEVELS = 8, MOST_MEANS = 8, MOST_LABEL = 100 };

struct level_state {
    int n_levels, n_means;
    double all_rows;
    /* of codes: [n_levels] the number of each level, ascending; NULL = levels of the plain input */
    double *number;
    /* [n_means] class and its label; NULL = the target is a number or has two classes */
    int *classes;
    char **labels;
    /* [n_means + 1][n_levels + 2]: by part; the last part is the frequency */
    double *value;
};

static void classes_free(struct level_state *t)
{
    for (int k = 0; t->labels && k < t->n_means; k++)
        mem_free(t->labels[k]);
    mem_free(t->labels);
    mem_free(t->classes);
}

static void state_free(struct prep_step *s)
{
    struct level_state *t = s->state;

    if (t) {
        classes_free(t);
        mem_try_free(t->value);
        mem_try_free(t->number);
    }
    mem_free(t);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    const struct level_state *t = s->state;

    if (part == t->n_means)
        snprintf(out, STEP_NAME, "frequency");
    else if (t->labels)
        snprintf(out, STEP_NAME, "share of %.*s", MOST_LABEL, t->labels[part]);
    else
        snprintf(out, STEP_NAME, "mean of target");
}

/* ---- fitting ---- */

struct class_count {
    int64_t n;
    int class_of;
};

static int by_count(const void *va, const void *vb)
{
    const struct class_count *a = va, *b = vb;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return a->class_of - b->class_of;
}

/* The classes that have a mean, and their labels. */
static void classes_take(const struct prep_spec *spec, struct level_state *t)
{
    const struct prep_target *y = spec->target;

    t->n_means = 1;
    if (y->n_classes < 3)
        return;
    struct class_count *count = mem_array((size_t)y->n_classes, sizeof *count);
    for (int k = 0; k < y->n_classes; k++)
        count[k].class_of = k;
    for (int64_t i = 0; i < spec->frame->rows; i++) {
        if (!spec->use || spec->use[i])
            count[(int)y->y[i]].n++;
    }
    qsort(count, (size_t)y->n_classes, sizeof *count, by_count);
    t->n_means = MIN(y->n_classes, MOST_MEANS);
    t->classes = mem_array((size_t)t->n_means, sizeof *t->classes);
    t->labels = mem_array((size_t)t->n_means, sizeof *t->labels);
    for (int k = 0; k < t->n_means; k++) {
        char label[MOST_LABEL + 1];
        snprintf(label, sizeof label, "%s", y->classes ? y->classes[count[k].class_of] : "");
        utf8_clean(label, sizeof label);
        t->classes[k] = count[k].class_of;
        t->labels[k] = mem_strdup(label);
    }
    mem_free(count);
}

static double rows_used(const struct prep_spec *spec)
{
    double n = 0;

    for (int64_t i = 0; i < spec->frame->rows; i++)
        n += !spec->use || spec->use[i];
    return n;
}

static int means_make(const struct level_state *t, const struct level_rows *rows,
                      const struct prep_target *target, const uint8_t *train,
                      struct level_means *out, struct err *err)
{
    const struct level_means_in in = { *rows, target, t->classes, t->n_means, train, t->all_rows };

    return level_means_make(&in, out, err);
}

/* Takes the values from all training rows. */
static int values_take(struct level_state *t, const struct level_rows *rows,
                       const struct prep_spec *spec, struct err *err)
{
    int64_t levels = (int64_t)t->n_levels + 2;
    struct level_means m;

    t->value = mem_try_alloc((size_t)((t->n_means + 1) * levels) * sizeof *t->value);
    if (!t->value)
        return err_set(err, ERR_NOMEM, "no memory for the means of %d levels", t->n_levels);
    if (means_make(t, rows, spec->target, spec->use, &m, err) < 0)
        return -1;
    for (int64_t i = 0; i < levels * t->n_means; i++)
        t->value[i] = m.mean[i * LEVEL_VARIANTS + PREP_PARTS];
    for (int64_t l = 0; l < levels; l++)
        t->value[levels * t->n_means + l] = m.frequency[l * LEVEL_VARIANTS + PREP_PARTS];
    level_means_fini(&m);
    return 0;
}

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
        rc = values_take(t, &rows, spec, err);
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
    t->all_rows = rows_used(spec);
    classes_take(spec, t);
    int rc = levels_read(t, col, spec, in->col[0], err);
    s->n_parts = t->n_means + 1;
    if (rc < 0)
        state_free(s);
    return rc < 0 ? -1 : 1;
}

bool step_codes_are_names(const struct prep_spec *spec, int col)
{
    struct level_state t = { 0 };

    if (!spec->target)
        return false;
    classes_take(spec, &t);
    bool are_names = code_screen(spec, col, t.classes, t.n_means);
    classes_free(&t);
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
    classes_take(spec, t);
    if (code_screen(spec, in->col[0], t->classes, t->n_means))
        t->n_levels = code_values(spec, in->col[0], PREP_MAX_LEVELS, &t->number);
    if (t->n_levels > 0) {
        const struct level_rows rows = {
            .frame = spec->frame, .col = in->col[0], .n_levels = t->n_levels, .value = t->number
        };
        t->all_rows = rows_used(spec);
        s->n_parts = t->n_means + 1;
        rc = values_take(t, &rows, spec, err) < 0 ? -1 : 1;
    }
    if (rc <= 0)
        state_free(s);
    return rc;
}

/* Both columns are plain inputs: step.c sees to it. */
static int fit_cross(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct prep_spec *spec = in->spec;
    const struct prep *p = in->prep;
    const struct prep_col *a = &p->cols[prep_plain_input(p, in->col[0])],
                          *b = &p->cols[prep_plain_input(p, in->col[1])];
    struct level_state *t = mem_zalloc(sizeof *t);

    s->state = t;
    t->n_levels = a->n_levels * b->n_levels;
    t->all_rows = rows_used(spec);
    classes_take(spec, t);
    int32_t *map = prep_map_levels(a, &spec->frame->cols[in->col[0]]),
            *other = prep_map_levels(b, &spec->frame->cols[in->col[1]]);
    const struct level_rows rows = { .frame = spec->frame,
                                     .col = in->col[0],
                                     .n_levels = t->n_levels,
                                     .map = map,
                                     .other_col = in->col[1],
                                     .other_levels = b->n_levels,
                                     .other_map = other };
    int rc = map && other ? values_take(t, &rows, spec, err)
                          : err_set(err, ERR_NOMEM, "no memory for %d levels", t->n_levels);
    mem_try_free(map);
    mem_try_free(other);
    s->n_parts = t->n_means + 1;
    if (rc < 0)
        state_free(s);
    return rc < 0 ? -1 : 1;
}

/* ---- values ---- */

/* The levels of the second column. */
static int other_levels(const struct step_view *v)
{
    const struct prep *p = v->view->prep;

    return p->cols[p->sources[v->step->source[1]].input].n_levels;
}

static int view_open(struct step_view *v, struct err *err)
{
    const struct prep_fold *fold = v->view->fold;
    const struct level_state *t = v->step->state;
    int source = v->step->source[0];

    if (!fold)
        return 0;
    const struct view_numbers *numbers = &v->view->numbers[source];
    struct level_rows rows = { .frame = v->view->frame,
                               .col = v->view->col[source],
                               .n_levels = t->n_levels,
                               .map = v->view->map[source],
                               .value = t->number,
                               .numbers = numbers->n > 0 ? numbers : NULL };
    if (v->step->n_sources > 1) {
        rows.other_col = v->view->col[v->step->source[1]];
        rows.other_map = v->view->map[v->step->source[1]];
        rows.other_levels = other_levels(v);
    }
    struct level_means *m = mem_zalloc(sizeof *m);
    v->open = m;
    return means_make(t, &rows, fold->target, fold->train, m, err);
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
        step_numbers(v, 0, from, n, x);
        for (int64_t i = 0; i < n; i++)
            level[i] = level_of_value(t->number, t->n_levels, x[i]);
        return;
    }
    prep_source_levels(v->view, v->step->source[0], from, n, level);
    if (v->step->n_sources > 1) {
        int32_t second[PREP_BLOCK];
        prep_source_levels(v->view, v->step->source[1], from, n, second);
        for (int64_t i = 0; i < n; i++)
            level[i] = level_of_two(level[i], second[i], other_levels(v), t->n_levels);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        if (level[i] < 0)
            level[i] = level[i] == PREP_NO_LEVEL ? t->n_levels : t->n_levels + 1;
    }
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct level_state *t = v->step->state;
    const struct level_means *m = v->open;
    const struct prep_fold *fold = v->view->fold;
    int64_t levels = (int64_t)t->n_levels + 2;
    int32_t level[PREP_BLOCK];

    levels_of(v, from, n, level);
    for (int64_t i = 0; i < n; i++) {
        if (!m) {
            out[i] = t->value[levels * part + level[i]];
            continue;
        }
        int variant = fold->train[from + i] ? fold->target->part[from + i] : PREP_PARTS;
        const double *table =
            part < t->n_means ? m->mean + levels * part * LEVEL_VARIANTS : m->frequency;
        out[i] = table[(int64_t)level[i] * LEVEL_VARIANTS + variant];
    }
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct level_state *t = s->state;
    int64_t n = ((int64_t)t->n_levels + 2) * (t->n_means + 1);

    if (buf_put_u32(out, (uint32_t)t->n_levels, err) < 0 ||
        buf_put_u32(out, (uint32_t)t->n_means, err) < 0 ||
        buf_put_u8(out, t->labels != NULL, err) < 0)
        return -1;
    for (int k = 0; t->labels && k < t->n_means; k++) {
        if (buf_put_str(out, t->labels[k], err) < 0)
            return -1;
    }
    for (int i = 0; t->number && i < t->n_levels; i++) {
        if (buf_put_f64(out, t->number[i], err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (buf_put_f64(out, t->value[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the means of levels in this file are damaged");
}

static int load_labels(struct level_state *t, struct view *in, struct err *err)
{
    t->labels = mem_array((size_t)t->n_means + 1, sizeof *t->labels);
    for (int k = 0; k < t->n_means; k++) {
        if (view_str(in, &t->labels[k], MOST_LABEL, err) < 0)
            return -1;
        if (!utf8_ok(t->labels[k], strlen(t->labels[k])))
            return broken(err);
    }
    return 0;
}

static int load_numbers(struct level_state *t, struct view *in, struct err *err)
{
    if ((size_t)t->n_levels > (in->len - in->pos) / 8)
        return broken(err);
    t->number = mem_try_alloc((size_t)t->n_levels * sizeof *t->number);
    if (!t->number)
        return err_set(err, ERR_NOMEM, "no memory for %d numbers", t->n_levels);
    for (int i = 0; i < t->n_levels; i++) {
        if (view_f64(in, &t->number[i], err) < 0)
            return -1;
        if (!isfinite(t->number[i]) || (i > 0 && t->number[i] <= t->number[i - 1]))
            return broken(err);
    }
    return 0;
}

static int load_any(struct prep_step *s, bool has_numbers, struct view *in, struct err *err)
{
    struct level_state *t = s->state = mem_zalloc(sizeof *t);
    uint32_t levels = 0, means = 0;
    uint8_t has_labels = 0;

    if (view_u32(in, &levels, err) < 0 || view_u32(in, &means, err) < 0 ||
        view_u8(in, &has_labels, err) < 0)
        return -1;
    if (levels < 1 || levels > PREP_MAX_LEVELS || means < 1 || means > MOST_MEANS || has_labels > 1)
        return broken(err);
    t->n_levels = (int)levels;
    t->n_means = (int)means;
    s->n_parts = t->n_means + 1;
    if ((has_labels && load_labels(t, in, err) < 0) ||
        (has_numbers && load_numbers(t, in, err) < 0))
        return -1;
    size_t n = ((size_t)levels + 2) * (means + 1);
    if (n > (in->len - in->pos) / 8)
        return broken(err);
    t->value = mem_try_alloc(n * sizeof *t->value);
    if (!t->value)
        return err_set(err, ERR_NOMEM, "no memory for %zu means of levels", n);
    for (size_t i = 0; i < n; i++) {
        if (view_f64(in, &t->value[i], err) < 0)
            return -1;
        if (!isfinite(t->value[i]))
            return broken(err);
    }
    return 0;
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

static bool are_two(const struct prep *p, const struct prep_step *s)
{
    const struct level_state *t = s->state;
    int64_t levels = 1;

    for (int k = 0; k < s->n_sources; k++) {
        int input = p->sources[s->source[k]].input;
        if (input < 0 || p->cols[input].type != FRAME_CATEGORICAL)
            return false;
        levels *= p->cols[input].n_levels;
    }
    return s->n_sources == 2 && levels == t->n_levels;
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

const struct step_ops step_cross = {
    .word = "cross",
    .is_by_fold = true,
    .fit = fit_cross,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
    .suits = are_two,
};
