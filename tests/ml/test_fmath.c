/* test_fmath.c - exp, log, tanh and the logistic function against long double, at the edges, and bit for bit against
 * values fixed here: every machine and compiler must give these. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "ml/math/fmath.h"

#include <math.h>

/* Error in units of the last place of the result. */
static double ulps_d(double got, long double want)
{
    double w = fabs((double)want);

    return (double)want == got ? 0
                               : (double)(fabsl((long double)got - want) /
                                          (long double)(nextafter(w, INFINITY) - w));
}

static double ulps(float got, double want)
{
    float w = fabsf((float)want);

    return (float)want == got
               ? 0
               : fabs((double)got - want) / ((double)nextafterf(w, INFINITY) - (double)w);
}

static void doubles_are_within_their_bounds(void **state)
{
    double most[4] = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 0);
    for (int i = 0; i < 1000000; i++) {
        double u = rng_unit(&r), e = -745 + u * 1454,
               l = ldexp(1 + u, (int)rng_below(&r, 2098) - 1074);
        double t = (u - 0.5) * ldexp(44, -(int)rng_below(&r, 40)),
               s = (u - 0.5) * ldexp(1480, -(int)rng_below(&r, 12));
        most[0] = fmax(most[0], ulps_d(fm_exp_d(e), expl((long double)e)));
        most[1] = fmax(most[1], ulps_d(fm_log_d(l), logl((long double)l)));
        most[2] = fmax(most[2], ulps_d(fm_tanh_d(t), tanhl((long double)t)));
        most[3] = fmax(most[3], ulps_d(fm_sigmoid_d(s), 1 / (1 + expl(-(long double)s))));
    }
    assert_true(most[0] <= 1 && most[1] <= 1 && most[2] <= 2.5 && most[3] <= 2.5);
}

static void floats_are_within_their_bounds(void **state)
{
    double most[4] = { 0 };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; i < 1000000; i++) {
        double u = rng_unit(&r);
        float e = (float)(-103 + u * 191), l = (float)ldexp(1 + u, (int)rng_below(&r, 270) - 148);
        float t = (float)((u - 0.5) * ldexp(24, -(int)rng_below(&r, 30)));
        float s = (float)((u - 0.5) * ldexp(200, -(int)rng_below(&r, 9)));
        most[0] = fmax(most[0], ulps(fm_exp(e), exp((double)e)));
        most[1] = fmax(most[1], ulps(fm_log(l), log((double)l)));
        most[2] = fmax(most[2], ulps(fm_tanh(t), tanh((double)t)));
        most[3] = fmax(most[3], ulps(fm_sigmoid(s), 1 / (1 + exp(-(double)s))));
    }
    assert_true(most[0] <= 1.05 && most[1] <= 1 && most[2] <= 2.5 && most[3] <= 2.5);
}

static void edges_are_where_they_belong(void **state)
{
    (void)state;
    assert_true(fm_exp_d(0) == 1 && fm_exp(0) == 1 && fm_log_d(1) == 0 && fm_log(1) == 0);
    assert_true(fm_exp_d(INFINITY) == INFINITY && fm_exp_d(-INFINITY) == 0 &&
                fm_exp_d(710) == INFINITY);
    assert_true(fm_exp_d(-745) > 0 && fm_exp_d(-746) == 0 && fm_exp_d(709.78) < INFINITY);
    assert_true(fm_exp(INFINITY) == INFINITY && fm_exp(-INFINITY) == 0 && fm_exp(88.7f) < INFINITY);
    assert_true(fm_log_d(0) == -INFINITY && isnan(fm_log_d(-1)) && fm_log_d(INFINITY) == INFINITY);
    assert_true(fm_log(0) == -INFINITY && isnan(fm_log(-1)) && fm_log(INFINITY) == INFINITY);
    assert_true(fm_tanh_d(1000) == 1 && fm_tanh_d(-1000) == -1 && fm_tanh_d(0) == 0 &&
                signbit(fm_tanh_d(-0.0)));
    assert_true(fm_tanh(100) == 1 && fm_tanh(-100) == -1 && fm_tanh(0) == 0);
    assert_true(fm_sigmoid_d(0) == 0.5 && fm_sigmoid(0) == 0.5f && fm_sigmoid_d(-740) > 0 &&
                fm_sigmoid_d(40) == 1);
    assert_true(isnan(fm_exp_d(NAN)) && isnan(fm_log_d(NAN)) && isnan(fm_tanh_d(NAN)) &&
                isnan(fm_sigmoid_d(NAN)));
    assert_true(isnan(fm_exp(NAN)) && isnan(fm_log(NAN)) && isnan(fm_tanh(NAN)) &&
                isnan(fm_sigmoid(NAN)));
}

/* FNV over the bits of 4096 results; the constants were taken once, with gcc -O2. */
static uint64_t digest(int which)
{
    uint64_t h = 14695981039346656037ull;

    for (int i = 0; i < 4096; i++) {
        double x = (i - 2048) * 0.011, p = ldexp(1 + i / 4096.0, i % 64 - 32);
        double d[] = { fm_exp_d(x), fm_log_d(p), fm_tanh_d(x), fm_sigmoid_d(x) };
        float f[] = { fm_exp((float)x), fm_log((float)p), fm_tanh((float)x), fm_sigmoid((float)x) };
        h = (h ^ (which < 4 ? fm_bits_d(d[which & 3]) : fm_bits(f[which & 3]))) * 1099511628211ull;
    }
    return h;
}

static void bits_are_the_same_everywhere(void **state)
{
    static const uint64_t want[8] = { 0x1c12751133e0a8b2ull, 0xe4b1949a058823d3ull,
                                      0x12227c192d6d495ull,  0x4e3a000a78b7a7b9ull,
                                      0x5cfb40e85a748349ull, 0xcbd288583288327full,
                                      0x10b3f41ef4fa2225ull, 0x530a4a4cea82c852ull };

    (void)state;
    for (int i = 0; i < 8; i++) {
        if (digest(i) != want[i])
            fail_msg("function %d: 0x%llxull", i, (unsigned long long)digest(i));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_are_within_their_bounds),
        cmocka_unit_test(floats_are_within_their_bounds),
        cmocka_unit_test(edges_are_where_they_belong),
        cmocka_unit_test(bits_are_the_same_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
