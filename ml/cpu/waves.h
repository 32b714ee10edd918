/* waves.h - periodic embeddings of numbers: each number x becomes four,
 *   x, and for m = 0, 1, 2   b_m + 1/4 sum over k of M_mk cos(2 pi (f_k x + p_k))
 * with 16 waves of learned frequency f and phase p of its own (Gorishniy et al. 2022; with x itself kept beside them as in
 * RealMLP, Holzmueller et al., NeurIPS 2024, section 3). A network bends sharply along such inputs where along x itself it
 * would need many steps to. Called by ml/net/block_waves.c.
 *
 * Matrices are row-major. The sum over k has a fixed order and sums over rows ascend, so that the vector width never shows
 * in a bit. */
#ifndef ML_CPU_WAVES_H
#define ML_CPU_WAVES_H

#include <stdint.h>

enum { WAVES = 16, WAVES_MIXED = 3, WAVES_OUT = 4 };

/* Parameters, or their gradients, of `n` numbers. */
struct waves {
    int64_t n;
    float *frequency, *phase; /* [n][WAVES] */
    float *mix;               /* [n][WAVES_MIXED][WAVES] */
    float *bias;              /* [n][WAVES_MIXED] */
};

/* The first n values of a row of x become the first WAVES_OUT n of a row of `out`; `others` values after them are copied
 * behind those. */
void waves_forward(const struct waves *w, const float *x, int64_t x_row, int64_t others,
                   int64_t rows, float *out, int64_t out_row);
/* From d = dL/dout: the gradients of all parameters into *grad. */
void waves_backward(const struct waves *w, const float *x, int64_t x_row, const float *d,
                    int64_t d_row, int64_t rows, const struct waves *grad);

#endif
