/* forest_predict.c - predictions from saved bytes alone. The trees in the file are already cut to
 * what validation chose; only cuts, sets and the values of leaves stay in memory. Called through
 * the tables in forest_model.c. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { CHUNK = 2048 };

void forest_predictor_free(struct predictor *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->n; i++)
        rf_flat_fini(&p->trees[i]);
    mem_try_free(p->trees);
    mem_free(p->gains);
    mem_free(p);
}

static int tree_read(struct predictor *p, struct view *in, struct err *err)
{
    size_t len = 0;
    const void *data = NULL;

    if (forest_tree_bytes(in, &data, &len, err) < 0 ||
        rf_flat_read(&p->trees[p->n], data, len, p->head.outputs, p->head.cols, false, p->gains,
                     err) < 0)
        return -1;
    p->n++;
    return 0;
}

struct predictor *forest_predictor_load(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err)
{
    struct predictor *p = mem_zalloc(sizeof *p);

    if (forest_head_load(&p->head, task, n_outputs, prep_inputs(prep), in, err) < 0)
        goto fail;
    if (p->head.n_trees < 1) {
        err_set(err, ERR_ARG, "forest: a model without a tree");
        goto fail;
    }
    p->trees = mem_try_alloc(p->head.n_trees * sizeof *p->trees);
    if (!p->trees) {
        err_set(err, ERR_NOMEM, "forest: no memory for %u trees", p->head.n_trees);
        goto fail;
    }
    p->gains = mem_array((size_t)prep_inputs(prep), sizeof *p->gains);
    while (p->n < p->head.n_trees) {
        if (tree_read(p, in, err) < 0)
            goto fail;
    }
    return p;
fail:
    forest_predictor_free(p);
    return NULL;
}

int forest_predict(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err)
{
    int k = p->head.outputs;
    float *acc = mem_try_alloc((size_t)(CHUNK * k) * sizeof *acc);
    int rc = acc ? 0 : err_set(err, ERR_NOMEM, "forest: no memory for predictions");

    for (int64_t at = 0; at < n && rc == 0; at += CHUNK) {
        int64_t m = MIN(CHUNK, n - at);
        struct prep_bins b = { 0 };
        if (prep_bins_make(v, from + at, m, &b, err) < 0) {
            rc = -1;
            break;
        }
        memset(acc, 0, (size_t)(m * k) * sizeof *acc);
        for (uint32_t t = 0; t < p->n; t++)
            rf_walk(&p->trees[t], k, b.bins, b.stride, NULL, m, acc);
        forest_finish(&p->head, acc, k, m, p->n, out + at * k);
        prep_bins_fini(&b);
    }
    mem_try_free(acc);
    return rc;
}
