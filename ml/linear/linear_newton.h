/* linear_newton.h - Newton's step on the weights that are not 0 of a quadratic model with an L1
 * penalty. Called by linear_descent.c. */
#ifndef ML_LINEAR_LINEAR_NEWTON_H
#define ML_LINEAR_LINEAR_NEWTON_H

#include "ml/cpu/chol.h"

#include <stdbool.h>
#include <stdint.h>

/* A model as the descent has it: h is [n][wide], and the curvature of i and j is h_ij - lean_i h_0j;
 * lean is 0 where no intercept was taken out. Weights before `first` do not take part. */
struct newton_model {
    const double *h, *lean;
    int64_t wide;
    int first, n;
    double l1, l2;
    /* [n] weights without penalty */
    const bool *is_free;
};

/* The factor of the curvature of some weights, kept from step to step. */
struct newton {
    struct chol c;
    /* [room] the weights of its lines; [n] whether a weight is among them */
    int32_t *at;
    bool *is_in;
    /* [room] */
    double *step, *scratch;
    int64_t room, bytes;
    int n;
};

/* Forgets the factor: a model of n weights begins. What is all zeros may be started. */
void newton_start(struct newton *t, int n);
void newton_fini(struct newton *t);
/* Products of making the factor for so many weights. */
int64_t newton_cost(int64_t weights);
/* The point that the step leads to from the weights w with the slopes `slope`: the minimum for the present
 * signs, or where the model is lowest on the way there if signs would change. clips: if few do, these
 * weights become 0 instead. work grows by the products made. False: the curvature is not definite, or there
 * is no memory; out is then not set. */
bool newton_step(struct newton *t, const struct newton_model *m, const double *w,
                 const double *slope, bool clips, double *out, int64_t *work);

#endif
