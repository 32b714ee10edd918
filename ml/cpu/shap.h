/* shap.h - Shapley values of one tree for blocks of rows.
 *
 * The game of a row and a tree is the path-dependent one of TreeSHAP (Lundberg et al., From local
 * explanations to global understanding with explainable AI for trees, 2020, Algorithm 1): a column
 * outside the set sends the row down both sides, weighted by the training rows that went there. For
 * a leaf of value v, whose path splits on the columns F, the game is
 *
 *   f(S) = v prod_{j in S} o_j prod_{j in F \ S} z_j,
 *
 * with o_j = 1 where the row passes every split on j and 0 otherwise, and z_j the share of training
 * rows that pass them. The Shapley value of a multilinear game is the integral of its gradient
 * along the diagonal (Owen, Multilinear extensions of games, 1972):
 *
 *   phi_i = v (o_i - z_i) int_0^1 prod_{j != i} (z_j + t (o_j - z_j)) dt,
 *
 * a polynomial of degree |F| - 1, so that Gauss-Legendre quadrature with ceil(|F| / 2) points is
 * exact. Summing over leaves bottom-up, as in Linear TreeSHAP (Yu et al., 2022), takes one pass
 * over the tree per row. Every factor is positive: nothing cancels, and nothing is divided by zero.
 * Called by ml/model/shap.c. */
#ifndef ML_CPU_SHAP_H
#define ML_CPU_SHAP_H

#include <stdint.h>

enum { SHAP_ROWS = 8 };

/* One step: entering a node from its parent. Steps are in depth-first order, left children first;
 * level 0 is the root. */
struct shap_step {
    /* prev: the level where the path split on this column before; 0 = nowhere */
    int level, prev;
    int node;
    /* number of the set of the parent's split; -1 = the split is a threshold on the bin */
    int set;
    /* column of the parent's split */
    uint32_t col;
    uint8_t bin, add, is_right, is_leaf;
    /* z / z of prev: the path's factor when the row has left the path before */
    double keep;
};

struct shap_plan {
    int n_steps, points;
    const struct shap_step *steps;
    /* Tables by step and point t. stay: (z + t (1 - z)) / (the same of prev); leave: z (1 - t) /
     * (the same of prev); pull: (1 - z) / (z + t (1 - z)). */
    const double *stay, *leave, *pull;
    const double *push; /* [points]: -1 / (1 - t) */
    /* [points]: weights of the quadrature */
    const double *weight;
    const uint64_t (*sets)[4];
    /* Scratch by level: path and sum [points][SHAP_ROWS] each; masks of the rows on the path, and
     * of the rows that go right. */
    double *path, *sum;
    int64_t *on, *right;
    /* the step at a level */
    int *at;
};

/* What a leaf adds for a row: values[node * pitch + of[row]]; of[row] < 0 = nothing. */
struct shap_values {
    const float *values;
    int pitch;
    int of[SHAP_ROWS];
};

/* phi[col][row] += the tree's values for SHAP_ROWS rows of bins, x[row][col]. */
void shap_block(const struct shap_plan *p, const struct shap_values *v, const uint8_t *const *x,
                double *phi);

#endif
