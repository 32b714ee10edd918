/* step_cross.c - the steps that replace the combination of two columns of few levels by numbers: the
 * mean of the target (of several classes, the share of each), and how often it occurs. "cross" is
 * for two columns of categories, "cross_numbers" where one of them, or both, holds few whole numbers
 * (the day of a month, a number of rooms). Which pairs are worth it, cross_screen.h says; what the
 * values are made from, level_means.h. Called through step.c. */
#include "base/mem.h"
#include "ml/prep/code_screen.h"
#include "ml/prep/cross_screen.h"
#include "ml/prep/level_state.h"
#include "ml/prep/step.h"

struct cross_state {
    struct level_state *levels;
    /* by column, where it holds whole numbers: [n_numbers] ascending; NULL = it has the levels of its
     * plain input */
    double *number[2];
    int n_numbers[2];
};

static void state_free(struct prep_step *s)
{
    struct cross_state *t = s->state;

    if (!t)
        return;
    level_state_free(t->levels);
    for (int k = 0; k < 2; k++)
        mem_try_free(t->number[k]);
    mem_free(t);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    level_state_name(((const struct cross_state *)s->state)->levels, part, out);
}

static struct cross_state *state_new(struct prep_step *s)
{
    struct cross_state *t = mem_zalloc(sizeof *t);

    t->levels = mem_zalloc(sizeof *t->levels);
    s->state = t;
    return t;
}

/* ---- fitting ---- */

/* How many levels column k of the two has; *map: of one of categories, from its codes. 0 = it has none,
 * or there is no memory. */
static int side_fit(const struct step_fit *in, int k, struct cross_state *t, int32_t **map)
{
    const struct frame_col *c = &in->spec->frame->cols[in->col[k]];

    if (c->type == FRAME_NUMERIC) {
        int n = code_values(in->spec, in->col[k], CROSS_MOST_LEVELS - 1, &t->number[k]);
        t->n_numbers[k] = MAX(n, 0);
        return t->n_numbers[k];
    }
    const struct prep_col *plain = &in->prep->cols[prep_plain_input(in->prep, in->col[k])];
    *map = prep_map_levels(plain, c);
    return *map ? plain->n_levels : 0;
}

/* Both columns are plain inputs: step.c sees to it. */
static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    struct cross_state *t = state_new(s);
    int32_t *map[2] = { NULL, NULL };
    int levels[2], rc = 0;

    for (int k = 0; k < 2; k++)
        levels[k] = side_fit(in, k, t, &map[k]);
    t->levels->n_levels = levels[0] * levels[1];
    if (t->levels->n_levels > 0) {
        level_state_classes(t->levels, in->spec);
        const struct level_rows rows = { .frame = in->spec->frame,
                                         .col = in->col[0],
                                         .n_levels = t->levels->n_levels,
                                         .map = map[0],
                                         .value = t->number[0],
                                         .other_col = in->col[1],
                                         .other_levels = levels[1],
                                         .other_map = map[1],
                                         .other_value = t->number[1] };
        rc = level_state_take(t->levels, &rows, in->spec, err) < 0 ? -1 : 1;
        s->n_parts = t->levels->n_means + 1;
    }
    for (int k = 0; k < 2; k++)
        mem_try_free(map[k]);
    if (rc <= 0)
        state_free(s);
    return rc;
}

/* ---- values ---- */

/* The levels of column k of the two. */
static int side_levels(const struct prep *p, const struct prep_step *s, int k)
{
    const struct cross_state *t = s->state;

    return t->number[k] ? t->n_numbers[k] : p->cols[p->sources[s->source[k]].input].n_levels;
}

static int view_open(struct step_view *v, struct err *err)
{
    const struct prep_fold *fold = v->view->fold;
    const struct cross_state *t = v->step->state;
    const int *source = v->step->source;

    if (!fold)
        return 0;
    const struct level_rows rows = { .frame = v->view->frame,
                                     .col = v->view->col[source[0]],
                                     .n_levels = t->levels->n_levels,
                                     .map = v->view->map[source[0]],
                                     .value = t->number[0],
                                     .other_col = v->view->col[source[1]],
                                     .other_levels = side_levels(v->view->prep, v->step, 1),
                                     .other_map = v->view->map[source[1]],
                                     .other_value = t->number[1] };
    struct level_means *m = mem_zalloc(sizeof *m);
    v->open = m;
    return level_state_means(t->levels, &rows, fold->target, fold->train, m, err);
}

static void view_close(struct step_view *v)
{
    if (v->open)
        level_means_fini(v->open);
    mem_free(v->open);
}

static void side_values(const struct step_view *v, int k, int64_t from, int64_t n, int32_t *out)
{
    const struct cross_state *t = v->step->state;
    double x[PREP_BLOCK];

    if (!t->number[k]) {
        prep_source_levels(v->view, v->step->source[k], from, n, out);
        return;
    }
    step_names(v, k, from, n, x);
    levels_of_numbers(t->number[k], t->n_numbers[k], x, n, out);
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct level_state *t = ((const struct cross_state *)v->step->state)->levels;
    int32_t level[PREP_BLOCK], second[PREP_BLOCK];
    int others = side_levels(v->view->prep, v->step, 1);

    side_values(v, 0, from, n, level);
    side_values(v, 1, from, n, second);
    for (int64_t i = 0; i < n; i++)
        level[i] = level_of_two(level[i], second[i], others, t->n_levels);
    level_state_values(t, v->open, v->view->fold, &(struct level_ask){ part, from, n, level }, out);
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    return level_state_save(((const struct cross_state *)s->state)->levels, out, err);
}

static int save_numbers(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct cross_state *t = s->state;

    for (int k = 0; k < 2; k++) {
        if (buf_put_u8(out, (uint8_t)t->n_numbers[k], err) < 0)
            return -1;
        for (int i = 0; i < t->n_numbers[k]; i++) {
            if (buf_put_f64(out, t->number[k][i], err) < 0)
                return -1;
        }
    }
    return save(s, out, err);
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct cross_state *t = s->state ? s->state : state_new(s);
    int rc = level_state_load(t->levels, false, in, err);

    s->n_parts = t->levels->n_means + 1;
    return rc;
}

static int load_numbers(struct prep_step *s, struct view *in, struct err *err)
{
    struct cross_state *t = state_new(s);

    for (int k = 0; k < 2; k++) {
        uint8_t n = 0;
        if (view_u8(in, &n, err) < 0)
            return -1;
        if (n > 0 && level_numbers_load(&t->number[k], n, in, err) < 0)
            return -1;
        t->n_numbers[k] = n;
    }
    return load(s, in, err);
}

static bool suits(const struct prep *p, const struct prep_step *s)
{
    const struct cross_state *t = s->state;
    int64_t levels = 1;

    for (int k = 0; k < s->n_sources && k < 2; k++) {
        const struct prep_source *source = &p->sources[s->source[k]];
        if (t->number[k] ? source->type != FRAME_NUMERIC
                         : source->input < 0 || p->cols[source->input].type != FRAME_CATEGORICAL)
            return false;
        levels *= side_levels(p, s, k);
    }
    return s->n_sources == 2 && levels == t->levels->n_levels;
}

const struct step_ops step_cross = {
    .word = "cross",
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

const struct step_ops step_cross_numbers = {
    .word = "cross_numbers",
    .is_by_fold = true,
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save_numbers,
    .load = load_numbers,
    .suits = suits,
};
