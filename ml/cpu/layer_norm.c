/* layer_norm.c - see layer_norm.h. Loops of plain C for the vectoriser (simd.h). */
#include "ml/cpu/layer_norm.h"

#include "ml/cpu/simd.h"
#include "ml/math/net_math.h"

enum { PLACES = 16 };
#define EPS 1e-5f

SIMD_BODY float places_sum(const float *place)
{
    float sum = 0;

    for (int k = 0; k < PLACES; k++)
        sum += place[k];
    return sum;
}

SIMD_BODY void row_norm(const float *restrict x, int64_t c, int64_t pad,
                        const float *restrict gamma, const float *restrict beta,
                        float *restrict stats, float *restrict out)
{
    float place[PLACES] = { 0 }, square[PLACES] = { 0 };

    for (int64_t j = 0; j < pad; j += PLACES) {
        for (int k = 0; k < PLACES; k++)
            place[k] += x[j + k];
    }
    float mean = places_sum(place) / (float)c;
    for (int64_t j = 0; j < pad; j++)
        out[j] = x[j] - mean;
    for (int64_t j = c; j < pad; j++)
        out[j] = 0;
    for (int64_t j = 0; j < pad; j += PLACES) {
        for (int k = 0; k < PLACES; k++)
            square[k] += out[j + k] * out[j + k];
    }
    float inverse = 1.0f / NM_SQRT(places_sum(square) / (float)c + EPS);
    for (int64_t j = 0; j < pad; j++)
        out[j] = gamma[j] * (out[j] * inverse) + beta[j];
    stats[0] = mean;
    stats[1] = inverse;
}

SIMD_BODY void layer_norm_body(const float *x, int64_t rows, int64_t c, int64_t pad,
                               const float *gamma, const float *beta, float *stats, float *out)
{
    for (int64_t i = 0; i < rows; i++)
        row_norm(x + i * pad, c, pad, gamma, beta, stats + 2 * i, out + i * pad);
}
SIMD_KERNEL(layer_norm,
            (const float *x, int64_t rows, int64_t c, int64_t pad, const float *gamma,
             const float *beta, float *stats, float *out),
            (x, rows, c, pad, gamma, beta, stats, out))

/* With y = (x - mean) inverse and e = gamma d: dL/dx = inverse (e - mean(e) - y mean(e y)). Padding of gamma is 0. */
SIMD_BODY void row_back(const float *restrict d, const float *x, int64_t c, int64_t pad,
                        const float *restrict gamma, float mean, float inverse, float *below)
{
    float place[PLACES] = { 0 }, product[PLACES] = { 0 };

    for (int64_t j = 0; j < pad; j += PLACES) {
        for (int k = 0; k < PLACES; k++) {
            float e = gamma[j + k] * d[j + k], y = (x[j + k] - mean) * inverse;
            place[k] += e;
            product[k] += e * y;
        }
    }
    float of_e = places_sum(place) / (float)c, of_ey = places_sum(product) / (float)c;
    for (int64_t j = 0; j < c; j++) {
        float y = (x[j] - mean) * inverse;
        below[j] = inverse * (gamma[j] * d[j] - of_e - y * of_ey);
    }
    for (int64_t j = c; j < pad; j++)
        below[j] = 0;
}

SIMD_BODY void layer_norm_backward_body(const float *d, const float *x, int64_t rows, int64_t c,
                                        int64_t pad, const float *gamma, const float *stats,
                                        float *restrict grad_gamma, float *restrict grad_beta,
                                        float *below)
{
    for (int64_t j = 0; j < pad; j++)
        grad_gamma[j] = grad_beta[j] = 0;
    for (int64_t i = 0; i < rows; i++, d += pad, x += pad) {
        float mean = stats[2 * i], inverse = stats[2 * i + 1];
        for (int64_t j = 0; j < c; j++) {
            grad_gamma[j] += d[j] * ((x[j] - mean) * inverse);
            grad_beta[j] += d[j];
        }
        if (below)
            row_back(d, x, c, pad, gamma, mean, inverse, below + i * pad);
    }
}
SIMD_KERNEL(layer_norm_backward,
            (const float *d, const float *x, int64_t rows, int64_t c, int64_t pad,
             const float *gamma, const float *stats, float *grad_gamma, float *grad_beta,
             float *below),
            (d, x, rows, c, pad, gamma, stats, grad_gamma, grad_beta, below))
