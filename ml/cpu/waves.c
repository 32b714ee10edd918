/* waves.c - see waves.h. A number is embedded for all rows before the next one, so that its parameters stay in the cache;
 * forward, sixteen rows are one vector, backward the sixteen waves of a number. */
#include "ml/cpu/waves.h"

#include "ml/cpu/simd.h"
#include "ml/math/net_math.h"

#include <string.h>

#define SHARE  0.25f /* 1 / sqrt(WAVES) */
#define TWO_PI 6.28318531f

enum { TILE = 16 }; /* rows of one vector */

SIMD_BODY void number_forward(const struct waves *w, int64_t j, const float *x, int64_t x_row,
                              int64_t rows, float *out, int64_t out_row)
{
    const float *restrict f = w->frequency + j * WAVES, *restrict p = w->phase + j * WAVES;
    const float *restrict mix = w->mix + j * WAVES_MIXED * WAVES;
    const float *bias = w->bias + j * WAVES_MIXED;

    for (int64_t at = 0; at < rows; at += TILE) {
        int n = rows - at < TILE ? (int)(rows - at) : TILE;
        float v[TILE] = { 0 }, sum[WAVES_MIXED][TILE] = { { 0 } };
        for (int i = 0; i < n; i++)
            v[i] = x[(at + i) * x_row + j];
        for (int k = 0; k < WAVES; k++) {
            float by_0 = mix[k], by_1 = mix[WAVES + k], by_2 = mix[2 * WAVES + k];
            for (int i = 0; i < TILE; i++) {
                float c = nm_cos_turns(f[k] * v[i] + p[k]);
                sum[0][i] += by_0 * c;
                sum[1][i] += by_1 * c;
                sum[2][i] += by_2 * c;
            }
        }
        for (int i = 0; i < n; i++) {
            float *to = out + (at + i) * out_row + j * WAVES_OUT;
            to[0] = v[i];
            for (int m = 0; m < WAVES_MIXED; m++)
                to[m + 1] = SHARE * sum[m][i] + bias[m];
        }
    }
}

SIMD_BODY void waves_forward_body(const struct waves *w, const float *x, int64_t x_row,
                                  int64_t others, int64_t rows, float *out, int64_t out_row)
{
    for (int64_t j = 0; j < w->n; j++)
        number_forward(w, j, x, x_row, rows, out, out_row);
    for (int64_t i = 0; i < rows && others > 0; i++)
        memcpy(out + i * out_row + w->n * WAVES_OUT, x + i * x_row + w->n,
               (size_t)others * sizeof *out);
}
SIMD_KERNEL(waves_forward,
            (const struct waves *w, const float *x, int64_t x_row, int64_t others, int64_t rows,
             float *out, int64_t out_row),
            (w, x, x_row, others, rows, out, out_row))

SIMD_BODY void number_backward(const struct waves *w, int64_t j, const float *x, int64_t x_row,
                               const float *d, int64_t d_row, int64_t rows,
                               const struct waves *grad)
{
    const float *restrict f = w->frequency + j * WAVES, *restrict p = w->phase + j * WAVES;
    const float *restrict mix = w->mix + j * WAVES_MIXED * WAVES;
    float of_f[WAVES] = { 0 }, of_p[WAVES] = { 0 }, of_mix[WAVES_MIXED][WAVES] = { { 0 } };
    float of_bias[WAVES_MIXED] = { 0 };

    for (int64_t i = 0; i < rows; i++) {
        const float *by = d + i * d_row + j * WAVES_OUT + 1;
        float v = x[i * x_row + j], by_0 = by[0], by_1 = by[1], by_2 = by[2];
        of_bias[0] += by_0;
        of_bias[1] += by_1;
        of_bias[2] += by_2;
        for (int k = 0; k < WAVES; k++) {
            float turn = f[k] * v + p[k], c = SHARE * nm_cos_turns(turn);
            float slope = SHARE * -TWO_PI * nm_cos_turns(turn - 0.25f);
            float g = slope * ((mix[k] * by_0 + mix[WAVES + k] * by_1) + mix[2 * WAVES + k] * by_2);
            of_mix[0][k] += by_0 * c;
            of_mix[1][k] += by_1 * c;
            of_mix[2][k] += by_2 * c;
            of_p[k] += g;
            of_f[k] += g * v;
        }
    }
    memcpy(grad->frequency + j * WAVES, of_f, sizeof of_f);
    memcpy(grad->phase + j * WAVES, of_p, sizeof of_p);
    memcpy(grad->mix + j * WAVES_MIXED * WAVES, of_mix, sizeof of_mix);
    memcpy(grad->bias + j * WAVES_MIXED, of_bias, sizeof of_bias);
}

SIMD_BODY void waves_backward_body(const struct waves *w, const float *x, int64_t x_row,
                                   const float *d, int64_t d_row, int64_t rows,
                                   const struct waves *grad)
{
    for (int64_t j = 0; j < w->n; j++)
        number_backward(w, j, x, x_row, d, d_row, rows, grad);
}
SIMD_KERNEL(waves_backward,
            (const struct waves *w, const float *x, int64_t x_row, const float *d, int64_t d_row,
             int64_t rows, const struct waves *grad),
            (w, x, x_row, d, d_row, rows, grad))
