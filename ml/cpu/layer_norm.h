/* layer_norm.h - layer norm (Ba et al., arXiv:1607.06450): every row is brought to mean 0 and variance 1 over its values, then
 *   out = gamma (x - mean) / sqrt(variance + eps) + beta.
 * Called by ml/net/block_norm.c. A row has `c` values and is padded with zeros to `pad`, a multiple of 16; so are gamma and
 * beta. Sums over the values of a row go over sixteen places in turn, sums over rows ascend, so that every set of
 * instructions gives the same bits. */
#ifndef ML_CPU_LAYER_NORM_H
#define ML_CPU_LAYER_NORM_H

#include <stdint.h>

/* stats: of every row the mean and 1 / sqrt(variance + eps), for the way back. */
void layer_norm(const float *x, int64_t rows, int64_t c, int64_t pad, const float *gamma,
                const float *beta, float *stats, float *out);
/* From d = dL/dout: the gradients of gamma and beta, and dL/dx, which may overwrite x. below NULL: not wanted. */
void layer_norm_backward(const float *d, const float *x, int64_t rows, int64_t c, int64_t pad,
                         const float *gamma, const float *stats, float *grad_gamma,
                         float *grad_beta, float *below);

#endif
