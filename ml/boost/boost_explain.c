/* boost_explain.c - explanations of a boosted forest: the total gain of the splits on each column,
 * and SHAP values of rows (ml/model/shap.h). Both need gains and row counts of nodes, which model
 * bytes of format 1 did not keep. Called by boost.c. */
#include "ml/boost/boost.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/model/shap.h"

/* Whether the tree has gains and row counts; a single leaf needs none. */
static bool is_counted(const struct tree *t)
{
    return t->n_nodes == 1 || t->rows[0] > 0;
}

int boost_gains(const struct boost_forest *fo, double unit, double *out, struct err *err)
{
    for (int i = 0; i < fo->n_trees; i++) {
        const struct tree *t = &fo->trees[i];
        if (!is_counted(t))
            return err_set(err, ERR_CONFLICT,
                           "the model was saved by a version that did not keep the gains of "
                           "splits: train it anew, or measure importance by permutation");
        for (int at = 0; at < t->n_nodes; at++) {
            if (t->nodes[at].left != at)
                out[t->nodes[at].col] += unit * MAX(0.0, (double)t->values[at]);
        }
    }
    return 0;
}

struct trees {
    const struct boost_forest *forest;
    struct shap_node *nodes;
    int cap;
};

/* Tree i of the forest in the form that ml/model/shap.h takes. */
static int tree_of(void *ctx, int i, struct shap_tree *out, struct err *err)
{
    struct trees *s = ctx;
    const struct tree *t = &s->forest->trees[i];

    if (t->n_nodes > s->cap) {
        mem_try_free(s->nodes);
        s->nodes = mem_try_alloc((size_t)t->n_nodes * sizeof *s->nodes);
        s->cap = s->nodes ? t->n_nodes : 0;
        if (!s->nodes)
            return err_set(err, ERR_NOMEM, "no memory for a tree of %d nodes", t->n_nodes);
    }
    for (int at = 0; at < t->n_nodes; at++) {
        const struct tree_node *nd = &t->nodes[at];
        s->nodes[at] = (struct shap_node){ .left = nd->left == at ? 0 : nd->left,
                                           .rows = t->rows[at],
                                           .set = t->n_sets ? t->set_of[at] : -1,
                                           .col = nd->col,
                                           .bin = nd->bin,
                                           .add = nd->add };
    }
    *out = (struct shap_tree){ .n_nodes = t->n_nodes,
                               .nodes = s->nodes,
                               .sets = (const uint64_t(*)[4])t->sets,
                               .values = t->values,
                               .output = i % s->forest->outputs,
                               .n_outputs = 1 };
    return 0;
}

int boost_shap(const struct boost_forest *fo, const double *base, double scale,
               const struct prep *prep, const struct explain_rows *rows, double *out,
               struct err *err)
{
    struct trees s = { .forest = fo };
    const struct shap_trees trees = { .n_trees = fo->n_trees,
                                      .outputs = fo->outputs,
                                      .cols = prep_inputs(prep),
                                      .scale = scale,
                                      .base = base,
                                      .tree = tree_of,
                                      .ctx = &s };
    int rc = shap_rows(&trees, rows, out, err);

    mem_try_free(s.nodes);
    return rc;
}
