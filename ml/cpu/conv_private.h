/* conv_private.h - the products of a convolution for AVX-512, straight from the spread image (conv.h), with the bits of the
 * products of gemm.h; and pooling. They are in conv_tile.c and called by conv.c only. Allocates nothing and cannot fail. */
#ifndef ML_CPU_CONV_PRIVATE_H
#define ML_CPU_CONV_PRIVATE_H

#include "ml/cpu/conv.h"

/* Whether this CPU has what they need, and the level in use (simd.h) allows it. */
bool conv_tile_can(void);
/* As conv_lines, conv_weights, pool_max and pool_max_backward. */
void conv_tile_lines(const struct conv *g, const float *spread, const float *weights, int from,
                     int n, float *out);
void conv_tile_weights(const struct conv *g, const float *spread, const float *d, bool goes_on,
                       float *grad);
void conv_tile_pool_max(const float *in, int h, int w, int64_t pad, float *out, uint8_t *which);
void conv_tile_pool_max_backward(const float *d, const uint8_t *which, int h, int w, int64_t pad,
                                 float *below);

#endif
