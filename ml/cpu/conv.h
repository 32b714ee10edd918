/* conv.h - convolution and pooling of one image after another. An image is [h][w][pad] floats, the channels of a place side by
 * side and padded with zeros to a multiple of 16.
 *
 * A convolution reads a spread image: the same one with a border of zeros, r = k / 2 wide, and without the padding of its
 * channels, so [h + 2 r][w + 2 r][c]. The window of the kernel's line ky around neighbouring places is then a matrix whose
 * rows overlap in memory, and the convolution is k products (gemm.h) that continue each other: one chain of fused
 * multiply-adds for every output, over ky, kx, channel, each ascending; the gradient of a weight is one over the places,
 * line by line. No copies of windows are made.
 *
 * Every set of instructions gives the same bits. Called by ml/net/. Allocates nothing and cannot fail. */
#ifndef ML_CPU_CONV_H
#define ML_CPU_CONV_H

#include <stdbool.h>
#include <stdint.h>

struct conv {
    int h, w;
    int c;   /* channels that are read */
    int k;   /* side of the kernel: odd */
    int pad; /* filters, padded to a multiple of 16 */
};
int64_t conv_spread_floats(const struct conv *g); /* of a spread image */

/* image [h][w][pad] -> spread image; c <= pad channels are taken. */
void conv_spread(const struct conv *g, const float *image, int64_t pad, float *out);
/* out [n][w][g.pad] = lines from, from + 1 ... of the convolution of a spread image with weights [k][k][c][g.pad]. */
void conv_lines(const struct conv *g, const float *spread, const float *weights, int from, int n,
                float *out);
/* grad [k][k][c][g.pad], the gradient of the weights: set to what this image adds, or continued by it. d [h][w][g.pad]:
 * dL/dout. */
void conv_weights(const struct conv *g, const float *spread, const float *d, bool goes_on,
                  float *grad);
/* The weights with which a convolution of dL/dout (g.pad channels) gives dL/din: [k][k][g.pad][c_pad]. */
void conv_turn(const struct conv *g, const float *weights, int64_t c_pad, float *out);

/* Pooling of windows of 2 x 2 places, the last one of an odd side being smaller: h and w are halved, rounded up. which [h /
 * 2][w / 2][pad] tells the window's place with the largest value, the first of equal ones. */
void pool_max(const float *in, int h, int w, int64_t pad, float *out, uint8_t *which);
/* d [h / 2][w / 2][pad] -> below [h][w][pad], all of it. */
void pool_max_backward(const float *d, const uint8_t *which, int h, int w, int64_t pad,
                       float *below);
/* The mean of a window. */
void pool_mean(const float *in, int h, int w, int64_t pad, float *out);
void pool_mean_backward(const float *d, int h, int w, int64_t pad, float *below);

/* Batch norm (Ioffe and Szegedy 2015, algorithm 1) of n places with pad channels each. Sums are doubles, over places in
 * ascending order. */
struct norm {
    float *mean, *inverse; /* [pad]; inverse: 1 / sqrt(variance + a little) */
    float *variance;       /* [pad] */
    double *sum, *other;   /* [pad]: room */
};
/* mean, variance and inverse from the places. */
void norm_measure(const float *x, int64_t n, int64_t pad, const struct norm *m);
/* inverse from variance, which may come from a stranger. */
void norm_invert(const struct norm *m, int64_t pad);
/* z = (x - mean) inverse gamma */
void norm_forward(const float *x, int64_t n, int64_t pad, const struct norm *m, const float *gamma,
                  float *z);
/* From d = dL/d(z + beta): grad_gamma, and dL/dx into x, which holds x on entry. */
void norm_backward(const float *d, int64_t n, int64_t pad, const struct norm *m, const float *gamma,
                   float *grad_gamma, float *x);

#endif
