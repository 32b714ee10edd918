/* test_exact_math.c - our log and exp against libm's, over the whole range, and each undoing the other. */
#include "tests/unit.h"

#include "base/rng.h"
#include "base/simd.h"
#include "search/space/exact_math.h"

#include <math.h>

static double gap(double a, double b)
{
    return fabs(a - b) / fmax(fabs(b), 1e-300);
}

static void log_agrees_with_libm(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; i < 200000; i++) {
        double x = ldexp(0.5 + rng_unit(&r) / 2, (int)rng_below(&r, 2000) - 1000);
        assert_true(gap(search_log(x), log(x)) < 1e-15);
        double near = 1 + (rng_unit(&r) - 0.5) * 1e-6;
        assert_true(fabs(search_log(near) - log(near)) < 1e-21 + 4e-16 * fabs(log(near)));
    }
    assert_true(search_log(1) == 0);
}

static void exp_agrees_with_libm(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int i = 0; i < 200000; i++) {
        double x = (rng_unit(&r) * 2 - 1) * 700;
        assert_true(gap(search_exp(x), exp(x)) < 1e-15);
        assert_true(gap(search_exp(x / 1000), exp(x / 1000)) < 1e-15);
    }
    assert_true(search_exp(0) == 1);
    assert_true(search_exp(-1e9) == 0);
    assert_true(isinf(search_exp(1e9)));
}

static void exp_of_many_has_the_same_bits(void **state)
{
    enum { N = 1003 };
    double x[N], y[N], want[N];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 3);
    for (int round = 0; round < 100; round++) {
        double range = round % 2 ? 700 : 40;
        for (int i = 0; i < N; i++) {
            x[i] = i == 0 ? range : i == 1 ? -range : (rng_unit(&r) * 2 - 1) * range;
            want[i] = search_exp(x[i]);
        }
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            search_exp_each(x, y, N - round % 8);
            assert_memory_equal(y, want, (size_t)(N - round % 8) * sizeof *y);
        }
    }
    simd_force(simd_best());
}

static void log_of_many_has_the_same_bits(void **state)
{
    enum { N = 1003 };
    double x[N], y[N], want[N];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 4);
    for (int round = 0; round < 100; round++) {
        for (int i = 0; i < N; i++) {
            int e = round % 2 ? (int)rng_below(&r, 2044) - 1021 : (int)rng_below(&r, 3) - 1;
            x[i] = i < 3 ? nextafter(sqrt(0.5), i - 1) : ldexp(1 + rng_unit(&r), e);
            want[i] = search_log(x[i]);
        }
        for (int level = SIMD_PLAIN; level <= (int)simd_best(); level++) {
            simd_force((enum simd_level)level);
            search_log_each(x, y, N - round % 8);
            assert_memory_equal(y, want, (size_t)(N - round % 8) * sizeof *y);
        }
    }
    simd_force(simd_best());
}

static void exp_is_monotone_on_a_fine_grid(void **state)
{
    double last = 0;

    (void)state;
    for (int i = 0; i < 200000; i++) {
        double y = search_exp(-3 + i * 3e-5);
        assert_true(y > last);
        last = y;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(log_agrees_with_libm),
        cmocka_unit_test(exp_agrees_with_libm),
        cmocka_unit_test(exp_of_many_has_the_same_bits),
        cmocka_unit_test(log_of_many_has_the_same_bits),
        cmocka_unit_test(exp_is_monotone_on_a_fine_grid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
