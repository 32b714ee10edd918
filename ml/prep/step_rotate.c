/* step_rotate.c - sums of columns along directions in which they vary together; rotate_screen.c says
 * which are worth it. Called through step.c. */
#include "base/mem.h"
#include "ml/prep/rotate_screen.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The state is a struct rotation. */
static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    struct rotation *r = mem_alloc(sizeof *r);

    (void)err;
    *r = *in->rotation;
    s->state = r;
    s->n_parts = r->n;
    return 1;
}

static void state_free(struct prep_step *s)
{
    mem_free(s->state);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    (void)s;
    snprintf(out, STEP_NAME, "direction %d", part + 1);
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct rotation *r = v->step->state;
    double x[PREP_BLOCK];

    memset(out, 0, (size_t)n * sizeof *out);
    for (int c = 0; c < r->n_cols; c++) {
        step_numbers(v, c, from, n, x);
        for (int64_t i = 0; i < n; i++) /* a missing number is the mean */
            out[i] += isfinite(x[i]) ? r->weight[part][c] * (x[i] - r->mean[c]) : 0;
    }
    for (int64_t i = 0; i < n; i++)
        out[i] = isfinite(out[i]) ? out[i] : (double)NAN;
}

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct rotation *r = s->state;
    int rc = buf_put_u8(out, (uint8_t)r->n_cols, err);

    rc = rc == 0 ? buf_put_u8(out, (uint8_t)r->n, err) : rc;
    for (int c = 0; c < r->n_cols && rc == 0; c++)
        rc = buf_put_f64(out, r->mean[c], err);
    for (int d = 0; d < r->n && rc == 0; d++) {
        for (int c = 0; c < r->n_cols && rc == 0; c++)
            rc = buf_put_f64(out, r->weight[d][c], err);
    }
    return rc;
}

static int number_load(struct view *in, double *out, struct err *err)
{
    if (view_f64(in, out, err) < 0)
        return -1;
    return isfinite(*out) ? 0 : err_set(err, ERR_ARG, "a direction in this file is damaged");
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct rotation *r = mem_zalloc(sizeof *r);
    uint8_t n_cols = 0, n = 0;

    s->state = r;
    if (view_u8(in, &n_cols, err) < 0 || view_u8(in, &n, err) < 0)
        return -1;
    if (n_cols < ROTATE_LEAST_COLS || n_cols > ROTATE_MOST_COLS || n_cols != s->n_sources ||
        n < 1 || n > ROTATE_MOST)
        return err_set(err, ERR_ARG, "the directions of columns in this file are damaged");
    r->n_cols = n_cols;
    r->n = s->n_parts = n;
    for (int c = 0; c < r->n_cols; c++) {
        if (number_load(in, &r->mean[c], err) < 0)
            return -1;
    }
    for (int d = 0; d < r->n; d++) {
        for (int c = 0; c < r->n_cols; c++) {
            if (number_load(in, &r->weight[d][c], err) < 0)
                return -1;
        }
    }
    return 0;
}

static bool are_numbers(const struct prep *p, const struct prep_step *s)
{
    const struct rotation *r = s->state;
    bool fits = s->n_sources == r->n_cols;

    for (int k = 0; k < s->n_sources; k++)
        fits = fits && p->sources[s->source[k]].type == FRAME_NUMERIC;
    return fits;
}

const struct step_ops step_rotate = {
    .word = "rotate",
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .values = values,
    .save = save,
    .load = load,
    .suits = are_numbers,
};
