/* shap.h - SHAP values for families of trees (Lundberg and Lee, A unified approach to interpreting
 * model predictions, 2017; the algorithm is in ml/cpu/shap.h).
 *
 * A family hands over its trees one by one. The values are exact: for each row and output, the
 * values and the base add up to the score. */
#ifndef ML_MODEL_SHAP_H
#define ML_MODEL_SHAP_H

#include "base/err.h"
#include "ml/model/model.h"

#include <stdint.h>

struct shap_node {
    /* number of the left child, the right one is the next; 0 = leaf */
    int32_t left;
    /* training rows that reached the node; at least 1 where there is a split above or below */
    int32_t rows;
    /* number of the set of bins that go left; -1 = a cut by bin */
    int32_t set;
    uint32_t col;
    /* a row goes right when (uint8)(x + add) > bin, x its bin; 255 = missing */
    uint8_t bin, add;
};

struct shap_tree {
    int n_nodes;
    /* 0 is the root; children have larger numbers than their parent */
    const struct shap_node *nodes;
    const uint64_t (*sets)[4];
    /* [n_nodes][n_outputs], valid at leaves */
    const float *values;
    /* the tree adds to outputs output to output + n_outputs - 1 */
    int output, n_outputs;
};

struct shap_trees {
    int n_trees, outputs, cols;
    /* factor of every value */
    double scale;
    /* [outputs]: the score without trees, in the units of the result */
    const double *base;
    /* Fills in tree i; what it points to must last until the next call. -1 = error. */
    int (*tree)(void *ctx, int i, struct shap_tree *out, struct err *err);
    void *ctx;
};

/* out[row][cols + 1], the last one the base: the mean score over the training rows as the trees
 * counted them. ERR_CONFLICT when a tree does not know its rows. */
int shap_rows(const struct shap_trees *trees, const struct explain_rows *rows, double *out,
              struct err *err);

/* Points and weights of Gauss-Legendre quadrature on (0, 1), ascending. Exact for polynomials up to
 * degree 2 points - 1. */
void shap_quadrature(int points, double *t, double *weight);

#endif
