/* shap.h - private to the families of trees: SHAP values of rows (Lundberg and Lee 2017; the game and the algorithm are in
 * ml/cpu/shap.h). A family tells its trees one by one; what comes out is exact: per row and output the values and the base
 * add up to the score. */
#ifndef ML_MODEL_SHAP_H
#define ML_MODEL_SHAP_H

#include "base/err.h"
#include "ml/model/model.h"

#include <stdint.h>

struct shap_node {
    int32_t left; /* number of the left kid, the right one is the next; 0 = leaf */
    int32_t rows; /* training rows that came there; >= 1 where there is a split above or below */
    int32_t set;  /* number of the set of bins that go left; -1 = by bin */
    uint32_t col;
    uint8_t bin, add; /* right when (uint8)(x + add) > bin; 255 = missing */
};

struct shap_tree {
    int n_nodes;
    const struct shap_node *nodes; /* root is 0; kids have larger numbers than their parent */
    const uint64_t (*sets)[4];
    const float *values;   /* [n_nodes][n_outputs], of leaves */
    int output, n_outputs; /* it adds to outputs output .. output + n_outputs - 1 */
};

struct shap_trees {
    int n_trees, outputs, cols;
    double scale;       /* of every value */
    const double *base; /* [outputs]: score without trees, in the units of the result */
    /* Tree i; what it points to must last until the next call. -1 = error. */
    int (*tree)(void *ctx, int i, struct shap_tree *out, struct err *err);
    void *ctx;
};

/* out[row][cols + 1], the last one the base: the mean score over the
 * training rows as the trees counted them. ERR_CONFLICT when a tree does not know its rows. */
int shap_rows(const struct shap_trees *trees, const struct explain_rows *rows, double *out,
              struct err *err);

/* Points and weights of Gauss-Legendre quadrature on (0, 1), ascending; exact for polynomials of degree 2 points - 1. */
void shap_quadrature(int points, double *t, double *weight);

#endif
