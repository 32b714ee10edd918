/* test_conv.c - convolutions and pooling against their definitions, for sides of 1, odd ones and large ones, and with every
 * set of instructions the same bits. */
#include "tests/unit.h"

#include "base/rng.h"
#include "ml/cpu/conv.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct conv cases[] = { { 5, 7, 1, 3, 16 },  { 6, 6, 3, 5, 16 },
                                     { 3, 3, 16, 3, 32 }, { 28, 28, 1, 3, 32 },
                                     { 5, 5, 20, 5, 48 }, { 14, 13, 8, 3, 272 } };

static float *normals(int64_t n, uint64_t seed)
{
    float *v = malloc((size_t)(n + 1) * sizeof *v);
    struct rng rng;

    assert_non_null(v);
    rng_init(&rng, seed, 1);
    for (int64_t i = 0; i < n; i++)
        v[i] = (float)rng_normal(&rng);
    return v;
}

/* What is outside of the image counts as 0. */
static float at(const struct conv *g, const float *image, int y, int x, int c)
{
    return y < 0 || x < 0 || y >= g->h || x >= g->w ? 0.0f
                                                    : image[((int64_t)y * g->w + x) * g->c + c];
}

static float by_definition(const struct conv *g, const float *image, const float *w, int y, int x,
                           int f)
{
    float sum = 0;

    for (int ky = 0; ky < g->k; ky++) {
        for (int kx = 0; kx < g->k; kx++) {
            for (int c = 0; c < g->c; c++)
                sum = fmaf(at(g, image, y + ky - g->k / 2, x + kx - g->k / 2, c),
                           w[((int64_t)(ky * g->k + kx) * g->c + c) * g->pad + f], sum);
        }
    }
    return sum;
}

static float *convolve(const struct conv *g, const float *image, const float *w)
{
    float *spread = calloc((size_t)conv_spread_floats(g), sizeof *spread);
    float *out = calloc((size_t)g->h * (size_t)g->w * (size_t)g->pad, sizeof *out);

    assert_true(spread && out);
    conv_spread(g, image, g->c, spread);
    for (int y = 0; y < g->h; y += 3) /* some lines after others */
        conv_lines(g, spread, w, y, g->h - y < 3 ? g->h - y : 3, out + (int64_t)y * g->w * g->pad);
    free(spread);
    return out;
}

static void a_convolution_is_its_definition_bit_for_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct conv *g = &cases[i];
        float *image = normals((int64_t)g->h * g->w * g->c, 1),
              *w = normals((int64_t)g->k * g->k * g->c * g->pad, 2);
        for (int level = 0; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            float *out = convolve(g, image, w);
            for (int p = 0; p < g->h * g->w; p++) {
                for (int f = 0; f < g->pad; f += 5)
                    assert_true(out[(int64_t)p * g->pad + f] ==
                                by_definition(g, image, w, p / g->w, p % g->w, f));
            }
            free(out);
        }
        free(image);
        free(w);
    }
    simd_force(simd_best());
}

/* A convolution is linear in its image and in its weights, so that <d, conv(x, w)> has the gradients that are looked for. */
static void gradients_are_those_of_a_linear_map(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct conv *g = &cases[i];
        int64_t in = (int64_t)g->h * g->w * g->c, out = (int64_t)g->h * g->w * g->pad,
                weights = (int64_t)g->k * g->k * g->c * g->pad;
        struct conv back = { g->h, g->w, g->pad, g->k, (g->c + 15) / 16 * 16 };
        float *x = normals(in, 1), *w = normals(weights, 2), *d = normals(out, 3);
        float *y = convolve(g, x, w), *grad = malloc((size_t)weights * sizeof *grad);
        float *spread = malloc((size_t)conv_spread_floats(g) * sizeof *spread),
              *turned = malloc((size_t)(g->k * g->k * g->pad * back.pad) * sizeof *turned);
        assert_true(grad && spread && turned);
        conv_spread(g, x, g->c, spread);
        conv_weights(g, spread, d, false, grad);
        conv_turn(g, w, back.pad, turned);
        float *below = convolve(&back, d, turned);
        double dy = 0, xg = 0, wg = 0;
        for (int64_t j = 0; j < out; j++)
            dy += (double)d[j] * (double)y[j];
        for (int64_t j = 0; j < weights; j++)
            wg += (double)grad[j] * (double)w[j];
        for (int64_t j = 0; j < in; j++)
            xg += (double)x[j] * (double)below[j / g->c * back.pad + j % g->c];
        assert_float_equal(wg, dy, 1e-3 * (1 + fabs(dy)));
        assert_float_equal(xg, dy, 1e-3 * (1 + fabs(dy)));
        /* twice the same image gives twice the gradient */
        float first = grad[weights - 1];
        conv_weights(g, spread, d, true, grad);
        assert_float_equal(grad[weights - 1], 2 * first, 1e-3f * (1 + fabsf(first)));
        free(x), free(w), free(d), free(y), free(grad), free(spread), free(turned), free(below);
    }
}

enum { PAD = 16, CHANNEL = 3 };

/* One channel of one window by definition. */
static void window_check(const float *x, int h, int w, int window, const float *max,
                         const float *mean)
{
    int ow = (w + 1) / 2, n = 0;
    float most = -INFINITY, sum = 0;

    for (int y = window / ow * 2; y < h && y < window / ow * 2 + 2; y++) {
        for (int u = window % ow * 2; u < w && u < window % ow * 2 + 2; u++, n++) {
            most = fmaxf(most, x[(y * w + u) * PAD + CHANNEL]);
            sum += x[(y * w + u) * PAD + CHANNEL];
        }
    }
    assert_true(max[window * PAD + CHANNEL] == most);
    assert_float_equal(mean[window * PAD + CHANNEL], sum / (float)n, 1e-6);
}

static double sum_of(const float *v, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)v[i];
    return sum;
}

static void pooling_takes_the_largest_or_the_mean_and_gives_it_back(void **state)
{
    static const int sides[][2] = { { 1, 1 }, { 1, 4 }, { 5, 3 }, { 6, 8 }, { 7, 2 } };

    (void)state;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        int h = sides[i][0], w = sides[i][1], windows = (h + 1) / 2 * ((w + 1) / 2);
        float *x = normals((int64_t)h * w * PAD, 4), max[64 * PAD], mean[64 * PAD], back[64 * PAD];
        uint8_t which[64 * PAD];
        pool_max(x, h, w, PAD, max, which);
        pool_mean(x, h, w, PAD, mean);
        for (int at_window = 0; at_window < windows; at_window++)
            window_check(x, h, w, at_window, max, mean);
        pool_max_backward(max, which, h, w, PAD, back);
        for (int j = 0; j < h * w * PAD; j++)
            assert_true(back[j] == 0.0f || back[j] == x[j]);
        assert_float_equal(sum_of(back, h * w * PAD), sum_of(max, windows * PAD), 1e-4);
        pool_mean_backward(max, h, w, PAD, back);
        assert_float_equal(sum_of(back, h * w * PAD), sum_of(max, windows * PAD), 1e-4);
        free(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_is_its_definition_bit_for_bit),
        cmocka_unit_test(gradients_are_those_of_a_linear_map),
        cmocka_unit_test(pooling_takes_the_largest_or_the_mean_and_gives_it_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
