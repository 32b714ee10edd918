/* test_column.c - moments and bins of a column against plain loops: missing and infinite values, rows left out, lengths
 * around the lanes, sums equal bit for bit on every instruction set and however the rows are cut into blocks. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/cpu/column.h"
#include "ml/cpu/simd.h"

#include <math.h>

enum { ROWS = 1003 };

static void column_fill(double *x, uint8_t *use, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed, 1);
    for (int i = 0; i < ROWS; i++) {
        uint32_t what = rng_below(&r, 40);
        x[i] = rng_normal(&r) * 3 + 100;
        x[i] = what == 0 ? (double)NAN : what == 1 ? (double)INFINITY : x[i];
        x[i] = what == 2 ? -(double)INFINITY : x[i];
        use[i] = (uint8_t)(rng_below(&r, 3) * 7);
    }
}

static void moments_are_those_of_a_plain_loop(void **state)
{
    double x[ROWS];
    uint8_t use[ROWS];

    (void)state;
    for (uint64_t seed = 0; seed < 30; seed++) {
        int n = seed < 18 ? (int)seed : ROWS;
        const uint8_t *in = seed % 2 ? use : NULL;
        struct column_moments m;
        struct column_total t, want = { .lo = INFINITY, .hi = -INFINITY };
        column_fill(x, use, seed);
        column_moments_init(&m, 99);
        column_moments_add(&m, x, in, n);
        column_moments_total(&m, &t);
        for (int i = 0; i < n; i++) {
            if (in && !in[i])
                continue;
            want.n++;
            want.missing += isnan(x[i]);
            want.above += isinf(x[i]) && x[i] > 0;
            want.below += isinf(x[i]) && x[i] < 0;
            if (!isfinite(x[i]))
                continue;
            want.lo = fmin(want.lo, x[i]);
            want.hi = fmax(want.hi, x[i]);
            want.sum += x[i] - 99;
            want.squares += (x[i] - 99) * (x[i] - 99);
        }
        assert_true(t.n == want.n && t.missing == want.missing);
        assert_true(t.above == want.above && t.below == want.below);
        assert_true(t.lo == want.lo && t.hi == want.hi);
        assert_float_equal(t.sum, want.sum, 1e-9 * (1 + fabs(want.sum)));
        assert_float_equal(t.squares, want.squares, 1e-9 * (1 + want.squares));
    }
}

static void sums_have_one_order(void **state)
{
    double x[ROWS];
    uint8_t use[ROWS];
    struct column_moments first;

    (void)state;
    column_fill(x, use, 100);
    for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
        for (int block = 8; block <= 1024; block *= 2) {
            struct column_moments m;
            simd_force((enum simd_level)level);
            column_moments_init(&m, 0.5);
            for (int from = 0; from < ROWS; from += block)
                column_moments_add(&m, x + from, use + from, MIN(block, ROWS - from));
            if (level == SIMD_PLAIN && block == 8)
                first = m;
            assert_memory_equal(&m, &first, sizeof m);
        }
    }
    simd_force(simd_best());
}

static void values_beyond_float_are_counted(void **state)
{
    static const double kinds[] = {
        0,    1,      -2,  3.5e38,           -1e300,           1e-39, -1e-300, 1e-37,
        -0.0, 3.3e38, NAN, (double)INFINITY, -(double)INFINITY
    };
    static const uint8_t is_out[] = { 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0 };
    double x[ROWS];

    (void)state;
    for (enum simd_level level = SIMD_PLAIN; level <= simd_best(); level++) {
        simd_force(level);
        for (int n = 0; n < 60; n++) {
            int64_t finite = 0, out = 0, got_finite, got_out;
            for (int i = 0; i < n; i++) {
                int k = (i * 7 + n) % (int)ARRAY_LEN(kinds);
                x[i] = kinds[k];
                finite += isfinite(x[i]) != 0;
                out += is_out[k];
            }
            column_outside(x, n, &got_finite, &got_out);
            assert_true(got_finite == finite && got_out == out);
        }
    }
    simd_force(simd_best());
}

static void bins_count_the_cuts_below(void **state)
{
    (void)state;
    for (int trial = 0; trial < 60; trial++) {
        int n_bins = trial < 4 ? trial + 1 : trial == 4 ? 255 : 1 + trial * 4;
        float cuts[256];
        uint8_t out[ROWS * 3];
        double x[ROWS];
        struct rng r;
        rng_init(&r, (uint64_t)trial, 2);
        for (int k = 0; k < 256; k++)
            cuts[k] = k < n_bins - 1 ? (float)(k * 2 - 100) : INFINITY;
        for (int i = 0; i < ROWS; i++) {
            uint32_t what = rng_below(&r, 30);
            x[i] = rng_normal(&r) * 150;
            x[i] = what < 10 ? rint(x[i]) : x[i]; /* on a cut */
            x[i] = what == 10 ? (double)NAN : what == 11 ? (double)INFINITY : x[i];
            x[i] = what == 12 ? -(double)INFINITY : what == 13 ? 1e300 : x[i];
        }
        simd_force((enum simd_level)MIN(trial % 3, (int)simd_best()));
        memset(out, 77, sizeof out);
        column_bins(cuts, n_bins, x, ROWS, out, 3);
        for (int i = 0; i < ROWS; i++) {
            int want = 0;
            while (want < n_bins - 1 && cuts[want] < (float)x[i])
                want++;
            assert_int_equal(out[i * 3], isnan(x[i]) ? 255 : want);
            assert_true(out[i * 3 + 1] == 77 && out[i * 3 + 2] == 77);
        }
    }
    simd_force(simd_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(moments_are_those_of_a_plain_loop),
        cmocka_unit_test(sums_have_one_order),
        cmocka_unit_test(values_beyond_float_are_counted),
        cmocka_unit_test(bins_count_the_cuts_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
