/* forest_oob.c - out-of-bag predictions (Breiman, Out-of-bag estimation, 1996): each training row
 * predicted by the trees whose bootstrap left it out. Which trees these are is drawn again from the
 * trees' keys.
 *
 * An extra: the scores that rank trials come from folds only. Made on demand, because a third of
 * all rows are walked down every tree. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/model/split.h"

#include <math.h>
#include <string.h>

struct oob {
    /* by number of the training row */
    uint16_t *weights;
    int32_t *train; /* frame rows */
    /* frame rows that the tree did not draw */
    int32_t *rows;
    /* their numbers */
    int32_t *at;
    /* values of these rows from one tree */
    float *acc;
    /* [n][outputs] sums over all trees */
    float *sum;
    int32_t *votes; /* [n] */
};

static int oob_open(struct oob *o, const struct ml_data *d, const struct forest_lane *l,
                    struct err *err)
{
    size_t n = (size_t)l->n_train, k = (size_t)l->head.outputs;
    struct fold_rows r;

    if (fold_rows_init(&r, d, l->fold, l->share, err) < 0)
        return -1;
    o->train = r.train;
    r.train = NULL;
    fold_rows_fini(&r);
    o->weights = mem_try_alloc(n * sizeof *o->weights);
    o->rows = mem_try_alloc(n * sizeof *o->rows);
    o->at = mem_try_alloc(n * sizeof *o->at);
    o->acc = mem_try_alloc(n * k * sizeof *o->acc);
    o->sum = mem_try_zalloc(n * k * sizeof *o->sum);
    o->votes = mem_try_zalloc(n * sizeof *o->votes);
    if (!o->weights || !o->rows || !o->at || !o->acc || !o->sum || !o->votes)
        return err_set(err, ERR_NOMEM, "forest: no memory for out-of-bag predictions");
    return 0;
}

static void oob_close(struct oob *o)
{
    mem_try_free(o->weights);
    mem_try_free(o->train);
    mem_try_free(o->rows);
    mem_try_free(o->at);
    mem_try_free(o->acc);
    mem_try_free(o->sum);
    mem_try_free(o->votes);
}

static int tree_votes(struct oob *o, const struct forest_lane *l, int tree, struct err *err)
{
    size_t k = (size_t)l->head.outputs;
    struct rf_flat flat;
    int64_t n = 0;

    rf_draw(&l->p, l->seed, tree, l->n_train, o->weights);
    for (int64_t i = 0; i < l->n_train; i++) {
        o->rows[n] = o->train[i];
        o->at[n] = (int32_t)i;
        n += o->weights[i] == 0;
    }
    if (rf_flat_read(&flat, l->trees[tree].data, l->trees[tree].len, l->head.outputs, l->head.cols,
                     false, NULL, err) < 0)
        return -1;
    memset(o->acc, 0, (size_t)n * k * sizeof *o->acc);
    rf_walk(&flat, l->head.outputs, l->bins->bins, l->bins->stride, o->rows, n, o->acc);
    rf_flat_fini(&flat);
    for (int64_t i = 0; i < n; i++) {
        for (size_t j = 0; j < k; j++)
            o->sum[(size_t)o->at[i] * k + j] += o->acc[(size_t)i * k + j];
        o->votes[o->at[i]]++;
    }
    return 0;
}

int forest_oob(struct ml_data *d, const struct lane *lane, int trees, float *out, struct err *err)
{
    const struct forest_lane *l = lane->state;
    int64_t k = l->head.outputs;
    struct oob o = { 0 };
    int rc = -1;

    CHECK(l->p.is_bootstrap && trees <= l->n_trees);
    if (oob_open(&o, d, l, err) < 0)
        goto out;
    for (int t = 0; t < trees; t++) {
        if (tree_votes(&o, l, t, err) < 0)
            goto out;
    }
    for (int64_t i = 0; i < l->n_train; i++) {
        if (o.votes[i])
            forest_finish(&l->head, o.sum + i * k, k, 1, o.votes[i], out + i * k);
        for (int64_t j = 0; j < k && !o.votes[i]; j++)
            out[i * k + j] = NAN;
    }
    rc = 0;
out:
    oob_close(&o);
    return rc;
}
