/* fit_blocks.c - the score of a trial block by block of rows, so that others can ask how much of the
 * difference between two trials is chance (controller/state/honest.h).
 *
 * The held-out rows of each fold are dealt out to blocks in turn. A block's value is its
 * pseudo-value of the jackknife (Tukey 1958): G s - (G - 1) s', where s is the score of the fold, s'
 * that of the fold without the block, and G the fold's number of blocks. For a metric that is a mean
 * over rows this is the block's own mean; for the others (auc, rmse) it is their linear part. All
 * trials of a study that have the same folds have the same rows in a block. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Leaving out blocks costs about as much as scoring all rows FIT_BLOCKS / folds times. Where there
 * are so many values the error is small and nobody asks. */
enum { MOST_VALUES = 1 << 20, LEAST_ROWS = 2 };

/* What is scored without a block. */
struct rest {
    float *pred;
    double *y, *weight;
};

static bool rest_open(struct rest *r, int64_t rows, int width)
{
    r->pred = mem_try_alloc((size_t)(rows * width) * sizeof *r->pred);
    r->y = mem_try_alloc((size_t)rows * sizeof *r->y);
    r->weight = mem_try_alloc((size_t)rows * sizeof *r->weight);
    return r->pred && r->y && r->weight;
}

static void rest_close(struct rest *r)
{
    mem_try_free(r->pred);
    mem_try_free(r->y);
    mem_try_free(r->weight);
}

/* The score of a fold without one of its blocks; NaN = the metric is undefined there. */
static double score_without(const struct fit_trial *t, const struct fit_run *r, int fold, int block,
                            int blocks, struct rest *rest)
{
    int width = t->d->n_outputs;
    double value = (double)NAN, se;
    int64_t n = 0;

    for (int64_t i = 0; i < t->rows[fold].n_held; i++) {
        if (i % blocks == block)
            continue;
        memcpy(rest->pred + n * width, r->best[fold] + i * width,
               (size_t)width * sizeof *rest->pred);
        fit_adjust_rows(t, fold, i, rest->pred + n * width, 1);
        fit_adjust_decide(t, fold, i, rest->pred + n * width, 1);
        if (t->weight[fold])
            rest->weight[n] = t->weight[fold][i];
        rest->y[n++] = t->y[fold][i];
    }
    if (metric_score_weighted(t->d->spec.metric, t->d->spec.task, rest->pred, rest->y,
                              t->weight[fold] ? rest->weight : NULL, n, MAX(t->d->n_classes, 1),
                              &value, &se, NULL) < 0)
        return (double)NAN;
    return value;
}

/* A block without which the metric is undefined says what the fold says. */
static void fold_blocks(const struct fit_trial *t, const struct fit_run *r, int point, int fold,
                        int blocks, struct rest *rest, double *out)
{
    double whole = r->values[point * SPLIT_MAX_FOLDS + fold].score;

    for (int b = 0; b < blocks; b++) {
        double without = score_without(t, r, fold, b, blocks, rest);
        out[b] = isnan(without) ? whole : blocks * whole - (blocks - 1) * without;
    }
}

/* How many blocks each fold has; 0 = none can be made. */
static int blocks_of(const struct fit_trial *t, const struct fit_choice *c)
{
    int blocks = MAX(FIT_BLOCKS / c->folds, 1);
    int64_t values = 0;

    for (int f = 0; f < c->folds; f++) {
        values += t->rows[f].n_held * t->d->n_outputs;
        blocks = (int)MIN(blocks, t->rows[f].n_held / LEAST_ROWS);
    }
    return c->folds > FIT_BLOCKS || values > MOST_VALUES || blocks < 1 ? 0 : blocks;
}

/* Blocks are moved so that their mean is the trial's score, which is cross-fitted and of the same
 * predictions but for the chosen step. */
static void centre(double *out, int n, double score)
{
    double mean = 0;

    for (int i = 0; i < n; i++)
        mean += out[i] / n;
    for (int i = 0; i < n; i++)
        out[i] += score - mean;
}

int fit_trial_blocks(struct fit_trial *t, double *out)
{
    struct fit_run *r;
    struct fit_choice c;
    struct rest rest = { 0 };
    int64_t most = 0;
    double score, se, first;
    int n = 0;

    if (fit_result_run(t, &r, &c) < 0)
        return 0;
    int blocks = blocks_of(t, &c);
    if (blocks == 0 || blocks * c.folds < 2)
        return 0;
    for (int f = 0; f < c.folds; f++) {
        if (isnan(r->values[c.best * SPLIT_MAX_FOLDS + f].score))
            return 0;
    }
    if (fit_predict_chosen(t, r, &c, NULL) < 0 ||
        fit_final_score(t, r, &c, &score, &se, &first, NULL) < 0)
        return 0;
    for (int f = 0; f < c.folds; f++)
        most = MAX(most, t->rows[f].n_held);
    if (rest_open(&rest, most, t->d->n_outputs)) {
        for (int f = 0; f < c.folds; f++, n += blocks)
            fold_blocks(t, r, c.best, f, blocks, &rest, out + n);
        centre(out, n, score);
    }
    rest_close(&rest);
    for (int i = 0; i < n; i++) {
        if (!isfinite(out[i]))
            return 0;
    }
    return n;
}
