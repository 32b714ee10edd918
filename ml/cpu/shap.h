/* shap.h - Shapley values of one tree for blocks of rows. The game of a row and a tree is the path-dependent one of TreeSHAP
 * (Lundberg et al. 2020, Algorithm 1): columns outside the set send the row down both sides, weighted by the training
 * rows that went there. For a leaf of value v, whose path splits on the columns F, it is
 *   f(S) = v prod_{j in S} o_j prod_{j in F \ S} z_j,
 * o_j: the row passes every split on j (0 or 1), z_j: share of rows that do. The Shapley value of a multilinear game is the
 * integral of its gradient along the diagonal (Owen 1972):
 *   phi_i = v (o_i - z_i) int_0^1 prod_{j != i} (z_j + t (o_j - z_j)) dt,
 * a polynomial of degree |F| - 1, so that Gauss-Legendre quadrature with ceil(|F| / 2) points is exact. Summing over leaves
 * bottom-up as in Linear TreeSHAP (Yu et al. 2022) takes one pass over the tree per row. Every factor is positive: nothing
 * cancels and nothing is divided by zero. */
#ifndef ML_CPU_SHAP_H
#define ML_CPU_SHAP_H

#include <stdint.h>

enum { SHAP_ROWS = 8 };

/* Entering a node from its parent, in depth-first order, left kids first; level 0 is the root. */
struct shap_step {
    int level, prev; /* prev: level where the path split on this column before; 0 = nowhere */
    int node;
    int set;      /* of the parent's split, -1 = by bin */
    uint32_t col; /* of the parent's split */
    uint8_t bin, add, is_right, is_leaf;
    double keep; /* z / z of prev: the path's factor when the row had left it before */
};

struct shap_plan {
    int n_steps, points;
    const struct shap_step *steps;
    /* By step and point t: stay: (z + t (1 - z)) / (the same of prev); leave: z (1 - t) / (the same of prev); pull:
     * (1 - z) / (z + t (1 - z)). */
    const double *stay, *leave, *pull;
    const double *push;   /* [points]: -1 / (1 - t) */
    const double *weight; /* [points] of the quadrature */
    const uint64_t (*sets)[4];
    /* Scratch by level: [points][SHAP_ROWS] each; and the rows on the path, the rows that go right. */
    double *path, *sum;
    int64_t *on, *right;
    int *at; /* step at a level */
};

/* What a leaf is worth to a row: values[node * pitch + of[row]]; of[row] < 0 = nothing. */
struct shap_values {
    const float *values;
    int pitch;
    int of[SHAP_ROWS];
};

/* phi[col][row] += the tree's values of SHAP_ROWS rows x[row][col] of bins. */
void shap_block(const struct shap_plan *p, const struct shap_values *v, const uint8_t *const *x,
                double *phi);

#endif
