/* step_pair.c - the sum, difference, product or ratio of two columns of numbers. pair_screen.c says
 * which are worth it. Called through step.c. */
#include "base/mem.h"
#include "ml/prep/pair_screen.h"
#include "ml/prep/step.h"

#include <math.h>
#include <stdio.h>

static const char *const names[PAIR_OPS] = { "sum", "difference", "product", "ratio" };

double pair_value(enum pair_op op, double a, double b)
{
    double x = op == PAIR_SUM          ? a + b
               : op == PAIR_DIFFERENCE ? a - b
               : op == PAIR_PRODUCT    ? a * b
                                       : a / b;

    /* nothing over nothing, and what no number can hold, are missing */
    return isfinite(x) ? x : (double)NAN;
}

/* The state is the operation: step.c says which one. */
static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    enum pair_op *op = mem_alloc(sizeof *op);

    (void)err;
    *op = (enum pair_op)in->choice;
    s->state = op;
    s->n_parts = 1;
    return 1;
}

static void state_free(struct prep_step *s)
{
    mem_free(s->state);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    const enum pair_op *op = s->state;

    (void)part;
    snprintf(out, STEP_NAME, "%s", names[*op]);
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const enum pair_op *op = v->step->state;
    double second[PREP_BLOCK];

    (void)part;
    step_numbers(v, 0, from, n, out);
    step_numbers(v, 1, from, n, second);
    for (int64_t i = 0; i < n; i++)
        out[i] = pair_value(*op, out[i], second[i]);
}

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const enum pair_op *op = s->state;

    return buf_put_u8(out, (uint8_t)*op, err);
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    enum pair_op *op = mem_alloc(sizeof *op);
    uint8_t code = 0;

    *op = PAIR_SUM;
    s->state = op;
    s->n_parts = 1;
    if (view_u8(in, &code, err) < 0)
        return -1;
    if (code >= PAIR_OPS)
        return err_set(err, ERR_ARG, "the pairs of columns in this file are damaged");
    *op = (enum pair_op)code;
    return 0;
}

static bool are_numbers(const struct prep *p, const struct prep_step *s)
{
    return s->n_sources == 2 && p->sources[s->source[0]].type == FRAME_NUMERIC &&
           p->sources[s->source[1]].type == FRAME_NUMERIC;
}

const struct step_ops step_pair = {
    .word = "pair",
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .values = values,
    .save = save,
    .load = load,
    .suits = are_numbers,
};
