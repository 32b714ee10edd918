/* conv.c - see conv.h. The work is in conv_tile.c, or in gemm.c where that cannot be used; here are the places of what they
 * read, and plain loops for the vectoriser. */
#include "ml/cpu/conv.h"

#include "ml/cpu/conv_private.h"
#include "ml/cpu/gemm.h"
#include "ml/cpu/simd.h"

#include <string.h>

static int border(const struct conv *g)
{
    return g->k / 2;
}

/* places of a line, border included */
static int64_t line(const struct conv *g)
{
    return g->w + 2 * border(g);
}

int64_t conv_spread_floats(const struct conv *g)
{
    return (g->h + 2 * border(g)) * line(g) * g->c;
}

void conv_spread(const struct conv *g, const float *image, int64_t pad, float *out)
{
    int64_t r = border(g), edge = r * g->c, inner = (int64_t)g->w * g->c;

    memset(out, 0, (size_t)(r * line(g) * g->c) * sizeof *out);
    out += r * line(g) * g->c;
    for (int y = 0; y < g->h; y++, image += g->w * pad, out += line(g) * g->c) {
        memset(out, 0, (size_t)edge * sizeof *out);
        if (g->c == pad) {
            memcpy(out + edge, image, (size_t)inner * sizeof *out);
        } else {
            for (int x = 0; x < g->w; x++)
                memcpy(out + edge + (int64_t)x * g->c, image + x * pad, (size_t)g->c * sizeof *out);
        }
        memset(out + edge + inner, 0, (size_t)edge * sizeof *out);
    }
    memset(out, 0, (size_t)(r * line(g) * g->c) * sizeof *out);
}

void conv_lines(const struct conv *g, const float *spread, const float *weights, int from, int n,
                float *out)
{
    int64_t row = (int64_t)g->k * g->c;

    if (conv_tile_can()) {
        conv_tile_lines(g, spread, weights, from, n, out);
        return;
    }
    for (int at = 0; at < n * g->k; at++) {
        int y = at / g->k, ky = at % g->k;
        struct gemm p = { .m = g->w,
                          .n = g->pad,
                          .k = row,
                          .a = spread + (from + y + ky) * line(g) * g->c,
                          .a_row = g->c,
                          .a_col = 1,
                          .b = weights + ky * row * g->pad,
                          .b_row = g->pad,
                          .c = out + (int64_t)y * g->w * g->pad,
                          .c_row = g->pad,
                          .goes_on = ky > 0 };
        gemm(&p);
    }
}

void conv_weights(const struct conv *g, const float *spread, const float *d, bool goes_on,
                  float *grad)
{
    int64_t row = (int64_t)g->k * g->c;

    if (conv_tile_can()) {
        conv_tile_weights(g, spread, d, goes_on, grad);
        return;
    }
    for (int at = 0; at < g->k * g->h; at++) {
        int ky = at / g->h, y = at % g->h;
        struct gemm p = { .m = row,
                          .n = g->pad,
                          .k = g->w,
                          .a = spread + (y + ky) * line(g) * g->c,
                          .a_row = 1,
                          .a_col = g->c,
                          .b = d + (int64_t)y * g->w * g->pad,
                          .b_row = g->pad,
                          .c = grad + ky * row * g->pad,
                          .c_row = g->pad,
                          .goes_on = goes_on || y > 0 };
        gemm(&p);
    }
}

void conv_turn(const struct conv *g, const float *weights, int64_t c_pad, float *out)
{
    int places = g->k * g->k;

    for (int at = 0; at < places; at++)
        gemm_transpose(weights + (int64_t)(places - 1 - at) * g->c * g->pad, g->c, g->pad, g->pad,
                       out + (int64_t)at * g->pad * c_pad, c_pad);
}

/* ---- pooling ---- */

enum { SOME = 16 }; /* values that are worked on together: the padding of a place */

/* The largest of the window's places that are there: places apart by `right` and `down` floats, 0 = none. */
SIMD_BODY void window_max(const float *restrict in, int64_t right, int64_t down,
                          float *restrict out, uint8_t *restrict which)
{
    float top[SOME];
    int32_t at[SOME];

    for (int i = 0; i < SOME; i++) {
        float next = in[right + i];
        at[i] = next > in[i] ? 1 : 0;
        top[i] = next > in[i] ? next : in[i];
    }
    for (int i = 0; i < SOME; i++) {
        float next = in[down + i];
        at[i] = next > top[i] ? 2 : at[i];
        top[i] = next > top[i] ? next : top[i];
    }
    for (int i = 0; i < SOME; i++) {
        float next = in[down + right + i];
        at[i] = next > top[i] ? 3 : at[i];
        out[i] = next > top[i] ? next : top[i];
    }
    for (int i = 0; i < SOME; i++)
        which[i] = (uint8_t)at[i];
}

/* A place that is not there is the one before it once more, which is never larger. */
SIMD_BODY void max_of_windows_body(const float *in, int h, int w, int64_t pad, float *out,
                                   uint8_t *which)
{
    for (int y = 0; y < h; y += 2) {
        int64_t down = y + 1 < h ? w * pad : 0;
        for (int x = 0; x < w; x += 2, out += pad, which += pad) {
            const float *p = in + ((int64_t)y * w + x) * pad;
            for (int64_t j = 0; j < pad; j += SOME)
                window_max(p + j, x + 1 < w ? pad : 0, down, out + j, which + j);
        }
    }
}
SIMD_KERNEL_STATIC(max_of_windows,
                   (const float *in, int h, int w, int64_t pad, float *out, uint8_t *which),
                   (in, h, w, pad, out, which))

void pool_max(const float *in, int h, int w, int64_t pad, float *out, uint8_t *which)
{
    if (conv_tile_can())
        conv_tile_pool_max(in, h, w, pad, out, which);
    else
        max_of_windows(in, h, w, pad, out, which);
}

SIMD_BODY void give(const float *restrict d, const uint8_t *restrict which, uint8_t place,
                    float *restrict out)
{
    for (int i = 0; i < SOME; i++)
        out[i] = which[i] == place ? d[i] : 0.0f;
}

SIMD_BODY void back_to_windows_body(const float *d, const uint8_t *which, int h, int w, int64_t pad,
                                    float *below)
{
    for (int y = 0; y < h; y += 2) {
        for (int x = 0; x < w; x += 2) {
            float *p = below + ((int64_t)y * w + x) * pad;
            for (int64_t j = 0; j < pad; j += SOME, p += SOME, d += SOME, which += SOME) {
                give(d, which, 0, p);
                if (x + 1 < w)
                    give(d, which, 1, p + pad);
                if (y + 1 < h)
                    give(d, which, 2, p + w * pad);
                if (x + 1 < w && y + 1 < h)
                    give(d, which, 3, p + (w + 1) * pad);
            }
        }
    }
}
SIMD_KERNEL_STATIC(back_to_windows,
                   (const float *d, const uint8_t *which, int h, int w, int64_t pad, float *below),
                   (d, which, h, w, pad, below))

void pool_max_backward(const float *d, const uint8_t *which, int h, int w, int64_t pad,
                       float *below)
{
    if (conv_tile_can())
        conv_tile_pool_max_backward(d, which, h, w, pad, below);
    else
        back_to_windows(d, which, h, w, pad, below);
}

SIMD_BODY void add(const float *restrict in, int64_t n, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] += in[i];
}

SIMD_BODY void scale_to(const float *restrict in, float scale, int64_t n, float *restrict out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = scale * in[i];
}

SIMD_BODY void scale_in_place(float scale, int64_t n, float *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] *= scale;
}

static float share(int x, int y, int w, int h)
{
    return (x + 1 < w ? 0.5f : 1.0f) * (y + 1 < h ? 0.5f : 1.0f);
}

SIMD_BODY void pool_mean_body(const float *in, int h, int w, int64_t pad, float *out)
{
    for (int y = 0; y < h; y += 2) {
        for (int x = 0; x < w; x += 2, out += pad) {
            const float *p = in + ((int64_t)y * w + x) * pad;
            memcpy(out, p, (size_t)pad * sizeof *out);
            if (x + 1 < w)
                add(p + pad, pad, out);
            if (y + 1 < h)
                add(p + w * pad, pad, out);
            if (x + 1 < w && y + 1 < h)
                add(p + (w + 1) * pad, pad, out);
            scale_in_place(share(x, y, w, h), pad, out);
        }
    }
}
SIMD_KERNEL(pool_mean, (const float *in, int h, int w, int64_t pad, float *out),
            (in, h, w, pad, out))

SIMD_BODY void pool_mean_backward_body(const float *d, int h, int w, int64_t pad, float *below)
{
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++, below += pad)
            scale_to(d + ((int64_t)(y / 2) * ((w + 1) / 2) + x / 2) * pad,
                     share(x & ~1, y & ~1, w, h), pad, below);
    }
}
SIMD_KERNEL(pool_mean_backward, (const float *d, int h, int w, int64_t pad, float *below),
            (d, h, w, pad, below))

/* ---- batch norm ---- */

/* Keeps the inverse of a channel that never changes finite. */
#define LITTLE 1e-5f

SIMD_BODY void sums_add(const float *restrict x, const float *restrict mean, int64_t pad,
                        double *restrict sum)
{
    for (int64_t j = 0; j < pad; j++) {
        double v = (double)(x[j] - mean[j]);
        sum[j] += v * v;
    }
}

SIMD_BODY void measure_body(const float *x, int64_t n, int64_t pad, const struct norm *m)
{
    for (int64_t j = 0; j < pad; j++)
        m->sum[j] = m->other[j] = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < pad; j++)
            m->sum[j] += (double)x[i * pad + j];
    }
    for (int64_t j = 0; j < pad; j++)
        m->mean[j] = (float)(m->sum[j] / (double)n);
    for (int64_t i = 0; i < n; i++)
        sums_add(x + i * pad, m->mean, pad, m->other);
    for (int64_t j = 0; j < pad; j++)
        m->variance[j] = (float)(m->other[j] / (double)n);
}
SIMD_KERNEL_STATIC(measure, (const float *x, int64_t n, int64_t pad, const struct norm *m),
                   (x, n, pad, m))

void norm_invert(const struct norm *m, int64_t pad)
{
    for (int64_t j = 0; j < pad; j++) {
        float v = m->variance[j] > 0 ? m->variance[j] : 0.0f;
        m->inverse[j] = 1.0f / __builtin_sqrtf(v + LITTLE);
    }
}

void norm_measure(const float *x, int64_t n, int64_t pad, const struct norm *m)
{
    measure(x, n, pad, m);
    norm_invert(m, pad);
}

SIMD_BODY void norm_row(const float *restrict x, const float *restrict mean,
                        const float *restrict inverse, const float *restrict gamma, int64_t pad,
                        float *restrict z)
{
    for (int64_t j = 0; j < pad; j++)
        z[j] = (x[j] - mean[j]) * inverse[j] * gamma[j];
}

SIMD_BODY void norm_forward_body(const float *x, int64_t n, int64_t pad, const struct norm *m,
                                 const float *gamma, float *z)
{
    for (int64_t i = 0; i < n; i++)
        norm_row(x + i * pad, m->mean, m->inverse, gamma, pad, z + i * pad);
}
SIMD_KERNEL(norm_forward,
            (const float *x, int64_t n, int64_t pad, const struct norm *m, const float *gamma,
             float *z),
            (x, n, pad, m, gamma, z))

SIMD_BODY void norm_sums(const float *restrict d, const float *restrict x,
                         const float *restrict mean, const float *restrict inverse, int64_t pad,
                         double *restrict sum, double *restrict other)
{
    for (int64_t j = 0; j < pad; j++) {
        sum[j] += (double)d[j];
        other[j] += (double)(d[j] * ((x[j] - mean[j]) * inverse[j]));
    }
}

SIMD_BODY void norm_back_row(const float *restrict d, const float *restrict mean,
                             const float *restrict inverse, const float *restrict gamma,
                             const double *restrict sum, const double *restrict other, double share,
                             int64_t pad, float *restrict x)
{
    for (int64_t j = 0; j < pad; j++) {
        float hat = (x[j] - mean[j]) * inverse[j];
        float rest = d[j] - (float)(sum[j] * share) - hat * (float)(other[j] * share);
        x[j] = gamma[j] * inverse[j] * rest;
    }
}

SIMD_BODY void norm_backward_body(const float *d, int64_t n, int64_t pad, const struct norm *m,
                                  const float *gamma, float *grad_gamma, float *x)
{
    for (int64_t j = 0; j < pad; j++)
        m->sum[j] = m->other[j] = 0;
    for (int64_t i = 0; i < n; i++)
        norm_sums(d + i * pad, x + i * pad, m->mean, m->inverse, pad, m->sum, m->other);
    for (int64_t j = 0; j < pad; j++)
        grad_gamma[j] = (float)m->other[j];
    for (int64_t i = 0; i < n; i++)
        norm_back_row(d + i * pad, m->mean, m->inverse, gamma, m->sum, m->other, 1.0 / (double)n,
                      pad, x + i * pad);
}
SIMD_KERNEL(norm_backward,
            (const float *d, int64_t n, int64_t pad, const struct norm *m, const float *gamma,
             float *grad_gamma, float *x),
            (d, n, pad, m, gamma, grad_gamma, x))
