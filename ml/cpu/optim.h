/* optim.h - the step of an optimiser for one part of a network, and the norm of a gradient. The
 * equations are in ml/math/optim_math.h. Sums go over sixteen places in turn, each in ascending
 * order, so that every set of instructions gives the same bits. Called by ml/net/. Allocates
 * nothing and cannot fail. */
#ifndef ML_CPU_OPTIM_H
#define ML_CPU_OPTIM_H

#include "ml/math/optim_math.h"

#include <stdbool.h>
#include <stdint.h>

/* One step of n parameters. n is a multiple of 16; padding has gradient 0 and is 0, and stays so.
 * is_matrix: a matrix of weights, of which LARS and LAMB use the norms. Kinds that do not need m or
 * v leave it as it is. */
void optim_step(enum optim_kind kind, const struct layer_adam *a, bool is_matrix, float *w,
                const float *g, float *m, float *v, int64_t n);
/* FTRL of the n weights of which the gradient is not 0; it is multiplied by `factor` first. */
void optim_ftrl(const struct om_ftrl *f, float *w, const float *g, float factor, float *m, float *v,
                int64_t n);
/* The sum of the squares of n numbers, n a multiple of 16. */
double optim_squares(const float *x, int64_t n);
/* x *= factor */
void optim_scale(float *x, float factor, int64_t n);
/* sum += factor x */
void optim_add(float *sum, const float *x, float factor, int64_t n);

#endif
