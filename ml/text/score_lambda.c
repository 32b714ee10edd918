/* score_lambda.c - the penalty of the fits, by what fits explain of the rows of other parts. All
 * penalties are solved in the directions of one fit (ridge.h). */
#include "ml/text/score_private.h"

enum {
    WIDE = SPARSE_WIDE,
    HALF = SPARSE_HALF,
    LAMBDAS = 5,
    /* numbers of steps that are compared */
    STEPS = 3,
    /* parts of which rules are chosen */
    TRY_PARTS = 3
};

/* share of the gain that few steps must have */
static const double AS_MUCH = 0.998;

static const double lambdas[LAMBDAS] = { 0.3, 1, 3, 12, 50 };
static const int few_steps[STEPS - 1] = { RIDGE_FEW_STEPS, RIDGE_SOME_STEPS };

/* What fits gain with each penalty: after all steps, and after each fewer number. */
struct gains {
    double of[STEPS][LAMBDAS];
};

/* Adds what each fit of a block gains. What follows the scores does not mind their scale, and a large
 * penalty makes them small but may order the rows best: so the fits of an output are scaled
 * together as suits best. */
static int gains_add(const struct score_cells *c, const struct score_block *b, bool is_few,
                     struct gains *to, struct err *err)
{
    enum { MOST = STEPS * LAMBDAS };
    double along[MOST][WIDE], squares[MOST][WIDE], lambda[MOST];
    int steps[MOST], n = is_few ? MOST : LAMBDAS;

    for (int l = 0; l < n; l++) {
        lambda[l] = lambdas[l % LAMBDAS];
        steps[l] = l < LAMBDAS ? b->steps : few_steps[l / LAMBDAS - 1];
    }
    if (score_block_gains(c, b, lambda, steps, n, along, squares, err) < 0)
        return -1;
    for (int l = 0; l < n; l++) {
        for (int k = 0; k < b->n;) {
            int output = b->fit[k].output;
            double x = 0, xx = 0;
            for (; k < b->n && b->fit[k].output == output; k++) {
                x += along[l][k];
                xx += squares[l][k];
            }
            to->of[l / LAMBDAS][l % LAMBDAS] += x > 0 && xx > 0 ? x * x / xx : 0;
        }
    }
    return 0;
}

static int best_of(const double gain[LAMBDAS])
{
    int best = 0;

    for (int l = 1; l < LAMBDAS; l++)
        best = gain[l] > gain[best] ? l : best;
    return best;
}

/* Sets the penalty, the steps and the gain, as a share of the target's squares, from what fits on other
 * parts gain in the first `parts` parts. Few steps are taken where they gain as much. */
static void lambda_set(const struct score_cells *c, const struct gains *g, int parts,
                       struct score *s)
{
    double most = g->of[0][best_of(g->of[0])], all = 0, seen = 0, rows = 0;
    int at = 0;

    for (int k = STEPS - 1; k > 0; k--)
        at = g->of[k][best_of(g->of[k])] > AS_MUCH * most ? k : at;
    int best = best_of(g->of[at]);
    for (int o = 0; o < s->n_outputs; o++)
        all += c->squares[o];
    for (int p = 0; p < c->parts; p++) {
        rows += c->rows[p];
        seen += p < parts ? c->rows[p] : 0;
    }
    s->lambda = lambdas[best];
    s->steps = at > 0 ? few_steps[at - 1] : RIDGE_STEPS;
    s->gain = all > 0 && seen > 0 ? g->of[at][best] / (all * seen / rows) : 0;
}

int score_lambda_try(const struct score_cells *c, int steps, struct score *s, struct err *err)
{
    struct gains gains = { { { 0 } } };
    int parts = MIN(c->parts, TRY_PARTS), at_once = s->n_outputs > 2 ? WIDE / parts : HALF / parts;

    for (int o = 0; o < s->n_outputs; o += at_once) {
        struct score_block b = { .steps = steps, .is_choice = true };
        b.n = MIN(at_once, s->n_outputs - o) * parts;
        for (int k = 0; k < b.n; k++)
            b.fit[k] = (struct score_one){ o + k / parts, k % parts, s->doubt };
        if (score_block_make(c, &b, err) < 0)
            return -1;
        int rc = gains_add(c, &b, false, &gains, err);
        score_block_fini(&b);
        if (rc < 0)
            return -1;
    }
    lambda_set(c, &gains, parts, s);
    return 0;
}

int score_lambda_last(const struct score_cells *c, struct score_block *b, struct score *s,
                      struct err *err)
{
    struct gains gains = { { { 0 } } };

    s->steps = RIDGE_STEPS;
    for (int o = 0; o < s->n_outputs; o++) {
        score_block_fini(b);
        *b = (struct score_block){ .is_choice = true };
        if (score_fold_block(s, c, o, 1, b, err) < 0 || gains_add(c, b, true, &gains, err) < 0)
            return -1;
    }
    lambda_set(c, &gains, c->parts, s);
    return 0;
}
