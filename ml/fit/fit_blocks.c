/* fit_blocks.c - the score of a trial block by block of rows, so that others can ask how much of the
 * difference between two trials is chance (controller/state/honest.h).
 *
 * The held-out rows of each fold are dealt out to blocks in turn. A block's value is its
 * pseudo-value of the jackknife (Tukey 1958): G s - (G - 1) s', where s is the score of the fold, s'
 * that of the fold without the block, and G the fold's number of blocks. For a metric that is a mean
 * over rows this is the block's own mean; for the others (auc, rmse) it is their linear part. All
 * trials of a study that have the same folds have the same rows in a block.
 *
 * Metrics of two classes that are no mean over rows depend on the rarer class by its own number, not by
 * its share: an area under the curve of five positive rows is a mean of five values. So rows are dealt
 * out class by class, and no fold has more blocks than rows of either class. Blocks without a row of
 * the rarer class would tell what the other rows err, which is far less, and noise of a few positive
 * rows would pass for a model.
 *
 * Blocks are taken as independent. So rows of one group are in one block, and forward in time, where
 * the level of a whole stretch may have moved, a fold is one block. Fewer than LEAST_BLOCKS of these
 * tell nothing: then rows are dealt out one by one, which finds too little chance but some. With
 * groups the error of the trial's score comes from the blocks, too: folds of groups are balanced by
 * size and target, so that they differ less than folds that are drawn. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

/* Leaving out blocks costs about as much as scoring all rows FIT_BLOCKS / folds times. Where there
 * are so many values the error is small and nobody asks. */
enum { MOST_VALUES = 1 << 20, LEAST_ROWS = 2, LEAST_BLOCKS = 5 };

/* What is scored without a block. */
struct rest {
    float *pred;
    double *y, *weight;
    /* [held rows] of the fold: the block of each */
    uint8_t *block;
    /* [groups] likewise; UNSEEN = no row of the fold has it. NULL without groups. */
    uint8_t *of_group;
    /* Rows are dealt out one by one, although they err together. */
    bool by_rows;
};
enum { UNSEEN = 255 };

static bool rest_open(struct rest *r, const struct fit_trial *t, int folds)
{
    int64_t rows = 1;

    for (int f = 0; f < folds; f++)
        rows = MAX(rows, t->rows[f].n_held);
    r->pred = mem_try_alloc((size_t)(rows * t->d->n_outputs) * sizeof *r->pred);
    r->y = mem_try_alloc((size_t)rows * sizeof *r->y);
    r->weight = mem_try_alloc((size_t)rows * sizeof *r->weight);
    r->block = mem_try_alloc((size_t)rows);
    r->of_group = t->d->group ? mem_try_alloc((size_t)t->d->n_groups + 1) : NULL;
    return r->pred && r->y && r->weight && r->block && (r->of_group || !t->d->group);
}

static void rest_close(struct rest *r)
{
    mem_try_free(r->pred);
    mem_try_free(r->y);
    mem_try_free(r->weight);
    mem_try_free(r->block);
    mem_try_free(r->of_group);
}

/* Whether the score is of two classes and no mean over rows. */
static bool counts_classes(const struct fit_trial *t)
{
    enum metric_id m = t->d->spec.metric;

    return t->d->spec.task == ML_BINARY && m != METRIC_LOGLOSS && m != METRIC_BRIER &&
           m != METRIC_ACCURACY;
}

/* Deals out the rows of each class in turn. Returns the rows of the rarer class. */
static int64_t deal_classes(const struct fit_trial *t, int fold, int blocks, struct rest *r)
{
    int64_t n[2] = { 0 };

    for (int64_t i = 0; i < t->rows[fold].n_held; i++)
        r->block[i] = (uint8_t)(n[t->y[fold][i] == 1]++ % blocks);
    return MIN(n[0], n[1]);
}

/* Says which block each row of a fold is in; groups are dealt out as the rows bring them. Returns how
 * many groups or rows were dealt out. */
static int64_t deal(const struct fit_trial *t, int fold, int blocks, struct rest *r)
{
    const struct fold_rows *rows = &t->rows[fold];
    bool by_group = r->of_group && !r->by_rows;
    int64_t n = 0;

    if (!by_group && counts_classes(t))
        return deal_classes(t, fold, blocks, r);
    if (by_group)
        memset(r->of_group, UNSEEN, (size_t)t->d->n_groups);
    for (int64_t i = 0; i < rows->n_held; i++) {
        uint8_t *of = by_group ? &r->of_group[t->d->group[rows->held[i]]] : NULL;
        if (!of || *of == UNSEEN)
            r->block[i] = (uint8_t)(n++ % blocks);
        if (of && *of == UNSEEN)
            *of = r->block[i];
        if (of)
            r->block[i] = *of;
    }
    return n;
}

/* The score of a fold without one of its blocks (-1 = of all its rows); NaN = the metric is undefined
 * there. */
static double score_without(const struct fit_trial *t, const struct fit_run *r, int fold, int block,
                            struct rest *rest)
{
    int width = t->d->n_outputs;
    double value = (double)NAN, se;
    int64_t n = 0;

    for (int64_t i = 0; i < t->rows[fold].n_held; i++) {
        if (rest->block[i] == block)
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
static void fold_blocks(const struct fit_trial *t, const struct fit_run *r, int fold, int blocks,
                        struct rest *rest, double *out)
{
    deal(t, fold, blocks, rest);
    double whole = score_without(t, r, fold, -1, rest);

    for (int b = 0; b < blocks; b++) {
        double without = blocks > 1 ? score_without(t, r, fold, b, rest) : (double)NAN;
        out[b] = isnan(without) ? whole : blocks * whole - (blocks - 1) * without;
    }
}

/* As many blocks as each fold can have, at most `most`: of groups or of rows of the rarer class one
 * is enough for a block. */
static int blocks_fewest(const struct fit_trial *t, const struct fit_choice *c, int most,
                         struct rest *rest)
{
    bool is_one = (rest->of_group && !rest->by_rows) || counts_classes(t);
    int64_t least = is_one ? 1 : LEAST_ROWS, blocks = most;

    for (int f = 0; f < c->folds && blocks > 0; f++)
        blocks = MIN(blocks, deal(t, f, (int)blocks, rest) / least);
    return (int)blocks;
}

/* How many blocks each fold has; 0 = none can be made. */
static int blocks_of(const struct fit_trial *t, const struct fit_choice *c, struct rest *rest)
{
    int most = MAX(FIT_BLOCKS / c->folds, 1);

    if (t->d->err_together) {
        int blocks = blocks_fewest(t, c, t->d->time ? 1 : most, rest);
        if (blocks * c->folds >= LEAST_BLOCKS)
            return blocks;
        rest->by_rows = true;
    }
    return blocks_fewest(t, c, most, rest);
}

static bool is_possible(const struct fit_trial *t, const struct fit_run *r,
                        const struct fit_choice *c)
{
    int64_t values = 0;

    for (int f = 0; f < c->folds; f++) {
        values += t->rows[f].n_held * t->d->n_outputs;
        if (isnan(r->values[c->best * SPLIT_MAX_FOLDS + f].score))
            return false;
    }
    return c->folds <= FIT_BLOCKS && values <= MOST_VALUES;
}

/* The values of all blocks, fold by fold. Returns how many; 0 = none can be made. r->best has the
 * predictions of the chosen step. */
static int make(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                double *out)
{
    struct rest rest = { 0 };
    int n = 0, blocks = 0;

    if (!is_possible(t, r, c))
        return 0;
    if (rest_open(&rest, t, c->folds))
        blocks = blocks_of(t, c, &rest);
    for (int f = 0; f < c->folds && blocks * c->folds > 1; f++, n += blocks)
        fold_blocks(t, r, f, blocks, &rest, out + n);
    rest_close(&rest);
    for (int i = 0; i < n; i++) {
        if (!isfinite(out[i]))
            return 0;
    }
    return n;
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

double fit_group_error(const struct fit_trial *t, const struct fit_run *r,
                       const struct fit_choice *c)
{
    double value[FIT_BLOCKS], square = 0;
    int n = t->d->group ? make(t, r, c, value) : 0;

    if (n == 0)
        return (double)NAN;
    centre(value, n, 0);
    for (int i = 0; i < n; i++)
        square += value[i] * value[i];
    return sqrt(square / (n - 1) / n);
}

int fit_trial_blocks(struct fit_trial *t, double *out, double *order)
{
    struct fit_run *r;
    struct fit_choice c;
    double score, se, first;

    if (order)
        *order = 0;
    if (fit_result_run(t, &r, &c) < 0 || fit_predict_chosen(t, r, &c, NULL) < 0 ||
        fit_final_score(t, r, &c, &score, &se, &first, NULL) < 0)
        return 0;
    int n = make(t, r, &c, out);
    centre(out, n, score);
    if (order && n > 0)
        *order = fit_order(t, r, c.folds);
    return n;
}
