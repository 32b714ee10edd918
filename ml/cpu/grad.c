/* grad.c - the gradient pass of boosting (grad.h): loops that the compiler turns into vector code.
 * Formulas of single rows are in ml/math/grad_math.h, which the CUDA kernels use too; elementary
 * functions come from ml/math/fmath.h, so that all instruction sets and devices give equal bits. */
#include "ml/cpu/grad.h"

#include "ml/cpu/simd.h"
#include "ml/math/grad_math.h"
#include "ml/math/tree_math.h" /* leaf_units */

/* Rows of a softmax at a time: their maxima and sums (2 KiB) stay in the first-level cache. */
enum { BLOCK = 256 };

SIMD_BODY void grad_sigmoid_body(const float *restrict f, int64_t n, float *restrict p)
{
    for (int64_t i = 0; i < n; i++)
        p[i] = fm_sigmoid(f[i]);
}
SIMD_KERNEL(grad_sigmoid, (const float *f, int64_t n, float *p), (f, n, p))

/* Blocks of rows, class by class, so that the inner loops run over rows that lie side by side. The
 * largest score is taken off first, so that no exponential overflows. */
SIMD_BODY void grad_softmax_body(const float *f, int64_t stride, int64_t n, int classes, float *p)
{
    float top[BLOCK], sum[BLOCK];

    for (int64_t from = 0; from < n; from += BLOCK) {
        int m = n - from < BLOCK ? (int)(n - from) : BLOCK;
        for (int i = 0; i < m; i++) {
            top[i] = f[from + i];
            sum[i] = 0.0f;
        }
        for (int c = 1; c < classes; c++) {
            const float *fc = f + c * stride + from;
            for (int i = 0; i < m; i++)
                top[i] = fc[i] > top[i] ? fc[i] : top[i];
        }
        for (int c = 0; c < classes; c++) {
            const float *fc = f + c * stride + from;
            float *pc = p + c * stride + from;
            for (int i = 0; i < m; i++)
                pc[i] = fm_exp(fc[i] - top[i]);
            for (int i = 0; i < m; i++)
                sum[i] += pc[i];
        }
        for (int i = 0; i < m; i++)
            sum[i] = 1.0f / sum[i];
        for (int c = 0; c < classes; c++) {
            float *pc = p + c * stride + from;
            for (int i = 0; i < m; i++)
                pc[i] *= sum[i];
        }
    }
}
SIMD_KERNEL(grad_softmax, (const float *f, int64_t stride, int64_t n, int classes, float *p),
            (f, stride, n, classes, p))

/* The row's quantised word (hist.h): g and h times their scales, each rounded stochastically. */
SIMD_BODY uint32_t packed(float g, float h, const struct grad_out *o, uint32_t row)
{
    return grad_packed(g, h, o->g_scale, o->h_scale, o->key, row);
}

SIMD_BODY void grad_class_body(const float *restrict p, const float *restrict y,
                               const float *restrict w, int64_t n, float c, float h_factor,
                               const struct grad_out *out)
{
    struct grad_out o = *out;
    float *restrict g = o.g, *restrict h = o.h;
    uint32_t *restrict q = o.q;

    if (o.thin <= 0.0f) {
        for (int64_t i = 0; i < n; i++) {
            g[i] = grad_class_g(p[i], y[i] == c, w[i]);
            h[i] = grad_class_h(p[i], w[i], h_factor);
            q[i] = packed(g[i], h[i], &o, (uint32_t)i);
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        float a = grad_class_g(p[i], y[i] == c, w[i]), b = grad_class_h(p[i], w[i], h_factor);
        float grow = grad_thin_factor(a, o.thin, o.key, (uint32_t)i);
        g[i] = a * grow;
        h[i] = b * grow;
        /* a dropped row has q = 0 */
        q[i] = packed(g[i], h[i], &o, (uint32_t)i);
    }
}
SIMD_KERNEL(grad_class,
            (const float *p, const float *y, const float *w, int64_t n, float c, float h_factor,
             const struct grad_out *out),
            (p, y, w, n, c, h_factor, out))

SIMD_BODY void grad_square_body(const float *restrict f, const float *restrict y,
                                const float *restrict w, int64_t n, float *restrict g)
{
    for (int64_t i = 0; i < n; i++)
        g[i] = w[i] * (f[i] - y[i]);
}
SIMD_KERNEL(grad_square, (const float *f, const float *y, const float *w, int64_t n, float *g),
            (f, y, w, n, g))

SIMD_BODY void grad_huber_body(const float *restrict f, const float *restrict y,
                               const float *restrict w, int64_t n, float far, float *restrict g)
{
    for (int64_t i = 0; i < n; i++) {
        g[i] = w[i] * grad_huber_g(f[i], y[i], far);
    }
}
SIMD_KERNEL(grad_huber,
            (const float *f, const float *y, const float *w, int64_t n, float far, float *g),
            (f, y, w, n, far, g))

SIMD_BODY void grad_quantile_body(const float *restrict f, const float *restrict y,
                                  const float *restrict w, int64_t n, float alpha,
                                  float *restrict g)
{
    for (int64_t i = 0; i < n; i++) {
        g[i] = w[i] * grad_quantile_g(f[i], y[i], alpha);
    }
}
SIMD_KERNEL(grad_quantile,
            (const float *f, const float *y, const float *w, int64_t n, float alpha, float *g),
            (f, y, w, n, alpha, g))

SIMD_BODY void grad_poisson_body(const float *restrict f, const float *restrict y,
                                 const float *restrict w, int64_t n, float *restrict g,
                                 float *restrict h)
{
    for (int64_t i = 0; i < n; i++) {
        float e = grad_poisson_h(f[i]);
        g[i] = w[i] * (e - y[i]);
        h[i] = w[i] * e;
    }
}
SIMD_KERNEL(grad_poisson,
            (const float *f, const float *y, const float *w, int64_t n, float *g, float *h),
            (f, y, w, n, g, h))

SIMD_BODY void grad_quantise_body(int64_t n, const struct grad_out *out)
{
    struct grad_out o = *out;
    const float *restrict g = o.g, *restrict h = o.h;
    uint32_t *restrict q = o.q;

    for (int64_t i = 0; i < n; i++)
        q[i] = packed(g[i], h[i], &o, (uint32_t)i);
}
SIMD_KERNEL(grad_quantise, (int64_t n, const struct grad_out *out), (n, out))

/* Adds a block's sum of |g| to *sum and raises *largest. Eight sums run side by side, row i to sum
 * i % 8, and are added in order: the same on every instruction set. */
SIMD_BODY void size_of_block(const float *g, int64_t n, double *largest, double *sum)
{
    double s[8] = { 0 };
    float top[8] = { 0 };
    int64_t i = 0;

    for (; i + 8 <= n; i += 8) {
        for (int k = 0; k < 8; k++) {
            float a = g[i + k] < 0.0f ? -g[i + k] : g[i + k];
            s[k] += (double)a;
            top[k] = a > top[k] ? a : top[k];
        }
    }
    for (int k = 0; i < n; i++, k++) {
        float a = g[i] < 0.0f ? -g[i] : g[i];
        s[k] += (double)a;
        top[k] = a > top[k] ? a : top[k];
    }
    for (int k = 1; k < 8; k++) {
        s[0] += s[k];
        top[0] = top[k] > top[0] ? top[k] : top[0];
    }
    *sum += s[0];
    *largest = (double)top[0] > *largest ? (double)top[0] : *largest;
}

SIMD_BODY void grad_size_body(const float *g, int64_t n, double *largest, double *sum)
{
    *sum = 0.0;
    *largest = 0.0;
    for (int64_t i = 0; i < n; i += GRAD_SIZE_ROWS)
        size_of_block(g + i, n - i < GRAD_SIZE_ROWS ? n - i : GRAD_SIZE_ROWS, largest, sum);
}
SIMD_KERNEL(grad_size, (const float *g, int64_t n, double *largest, double *sum),
            (g, n, largest, sum))

SIMD_BODY void grad_leaf_body(const struct grad_out *in, const int32_t *rows, int64_t n,
                              int64_t *sums)
{
    const float *g = in->g, *h = in->h;
    double g_scale = (double)in->g_scale, h_scale = (double)in->h_scale;
    int64_t a = 0, b = 0;

    for (int64_t i = 0; i < n; i++) {
        a += leaf_units(g[rows[i]], g_scale);
        b += leaf_units(h[rows[i]], h_scale);
    }
    sums[0] = a;
    sums[1] = b;
}
SIMD_KERNEL(grad_leaf, (const struct grad_out *in, const int32_t *rows, int64_t n, int64_t *sums),
            (in, rows, n, sums))

/* Rows of even and odd numbers have sums of their own, so that an addition seldom waits for the one
 * before. Rows of no leaf may hold anything: their sum, which nobody reads, wraps. */
void grad_leaves(const struct grad_out *in, const uint8_t *leaf, int64_t n, int64_t (*sums)[2])
{
    uint64_t part[2][GRAD_LEAVES + 1][2] = { 0 };
    const float *g = in->g, *h = in->h;
    double g_scale = (double)in->g_scale, h_scale = (double)in->h_scale;
    int64_t i = 0;

    for (; i + 2 <= n; i += 2) {
        uint64_t *a = part[0][leaf[i]], *b = part[1][leaf[i + 1]];
        a[0] += (uint64_t)leaf_units(g[i], g_scale);
        a[1] += (uint64_t)leaf_units(h[i], h_scale);
        b[0] += (uint64_t)leaf_units(g[i + 1], g_scale);
        b[1] += (uint64_t)leaf_units(h[i + 1], h_scale);
    }
    if (i < n) {
        part[0][leaf[i]][0] += (uint64_t)leaf_units(g[i], g_scale);
        part[0][leaf[i]][1] += (uint64_t)leaf_units(h[i], h_scale);
    }
    for (int k = 0; k <= GRAD_LEAVES; k++) {
        sums[k][0] = (int64_t)(part[0][k][0] + part[1][k][0]);
        sums[k][1] = (int64_t)(part[0][k][1] + part[1][k][1]);
    }
}
