/* forest_explain.c - explanations of a forest: the decrease of impurity that the splits on each
 * column brought, weighted by the share of rows (Breiman 2001), and SHAP values of rows
 * (ml/model/shap.h) in shares of classes or units of the target. Called through the tables in
 * forest_model.c. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/model/shap.h"

#include <string.h>

int forest_importance(const struct predictor *p, const struct prep *prep, double *out,
                      struct err *err)
{
    double unit = p->head.task == ML_REGRESSION ? p->head.scale * p->head.scale : 1.0;

    (void)err;
    for (int i = 0; i < prep_inputs(prep); i++)
        out[i] += unit * p->gains[i] / p->n;
    return 0;
}

struct trees {
    const struct predictor *p;
    struct shap_node *nodes;
    /* [nodes][outputs], where the tree has lists of classes */
    float *values;
    int cap;
};

static int room_for(struct trees *s, const struct rf_flat *t, struct err *err)
{
    size_t n = (size_t)t->n, k = (size_t)s->p->head.outputs;

    if (t->n <= s->cap)
        return 0;
    mem_try_free(s->nodes);
    mem_try_free(s->values);
    s->nodes = mem_try_alloc(n * sizeof *s->nodes);
    s->values = k > 1 ? mem_try_alloc(n * k * sizeof *s->values) : NULL;
    s->cap = s->nodes && (k == 1 || s->values) ? t->n : 0;
    return s->cap ? 0 : err_set(err, ERR_NOMEM, "no memory to explain a tree of %d nodes", t->n);
}

static void values_take(const struct trees *s, const struct rf_flat *t)
{
    size_t k = (size_t)s->p->head.outputs;

    memset(s->values, 0, (size_t)t->n * k * sizeof *s->values);
    for (int at = 0; at < t->n; at++) {
        const struct rf_share *share = t->shares + t->share_at[2 * at];
        for (uint32_t i = 0; i < t->share_at[2 * at + 1]; i++)
            s->values[(size_t)at * k + share[i].class] = share[i].share;
    }
}

static int tree_of(void *ctx, int i, struct shap_tree *out, struct err *err)
{
    struct trees *s = ctx;
    const struct rf_flat *t = &s->p->trees[i];

    if (room_for(s, t, err) < 0)
        return -1;
    for (int at = 0; at < t->n; at++) {
        const struct rf_flat_node *nd = &t->nodes[at];
        bool is_leaf = nd->left == (uint32_t)at;
        s->nodes[at] = (struct shap_node){ .left = is_leaf ? 0 : (int32_t)nd->left,
                                           .rows = t->rows[at],
                                           .set = nd->test & RF_TEST_SET ? t->set_of[at] : -1,
                                           .col = is_leaf ? 0 : nd->test >> RF_TEST_COL,
                                           .bin = (uint8_t)nd->test,
                                           .add = (nd->test & RF_TEST_ADD) != 0 };
    }
    if (s->values)
        values_take(s, t);
    *out = (struct shap_tree){ .n_nodes = t->n,
                               .nodes = s->nodes,
                               .sets = (const uint64_t(*)[4])t->sets,
                               .values = s->values ? s->values : t->values,
                               .n_outputs = s->p->head.outputs };
    return 0;
}

int forest_explain(const struct predictor *p, const struct prep *prep,
                   const struct explain_rows *rows, double *out, struct err *err)
{
    bool is_scaled = p->head.task == ML_REGRESSION;
    double *base = mem_array((size_t)p->head.outputs, sizeof *base);
    struct trees s = { .p = p };
    const struct shap_trees trees = { .n_trees = (int)p->n,
                                      .outputs = p->head.outputs,
                                      .cols = prep_inputs(prep),
                                      .scale = (is_scaled ? p->head.scale : 1.0) / p->n,
                                      .base = base,
                                      .tree = tree_of,
                                      .ctx = &s };

    base[0] = is_scaled ? p->head.mean : 0.0;
    int rc = shap_rows(&trees, rows, out, err);
    mem_try_free(s.nodes);
    mem_try_free(s.values);
    mem_free(base);
    return rc;
}
