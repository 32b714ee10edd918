/* test_normal.c - the normal distribution against libm and numerical integration, into the far tail. */
#include "tests/unit.h"

#include "base/rng.h"
#include "search/space/normal.h"

#include <math.h>
#include <stdbool.h>

static bool is_near(double got, double want, double relative)
{
    return fabs(got - want) <= relative * fabs(want);
}

static void pdf_and_cdf_agree_with_libm(void **state)
{
    (void)state;
    for (int i = -2700; i <= 2700; i++) {
        double z = 0.0137 * i;
        assert_true(is_near(normal_pdf(z), exp(-0.5 * z * z) / sqrt(8 * atan(1)), 1e-12));
        assert_true(is_near(normal_cdf(z), 0.5 * erfc(-z / sqrt(2)), 1e-11));
    }
    assert_true(normal_cdf(-1e300) == 0 && normal_cdf(1e300) == 1);
}

static void the_quantile_undoes_the_cdf(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int i = 0; i < 20000; i++) {
        double z = 16 * rng_unit(&r) - 8, p = normal_cdf(z);
        double loss = p > 0.5 ? 1e-15 / normal_pdf(z) : 0; /* what 1 - p cannot hold */
        assert_true(p == 1 || fabs(normal_quantile(p) - z) < 1e-9 + loss);
    }
}

/* E max(0, Z + z) as an integral over the part of Z where it is positive: Simpson's rule over 12 decay lengths. */
static double ei_by_integration(double z)
{
    int n = 4000;
    double lo = -z, width = z > -2 ? 12 + fmax(z, 0) : 40 / -z, h = width / n, sum = 0;

    if (z > 8)
        lo = -8;
    for (int i = 0; i <= n; i++) {
        double t = lo + i * h, f = (t + z) * exp(-0.5 * (t * t - (z < 0 ? z * z : 0)));
        sum += f * (i == 0 || i == n ? 1 : i % 2 ? 4 : 2);
    }
    return log(sum * h / 3 / sqrt(8 * atan(1))) - (z < 0 ? 0.5 * z * z : 0);
}

static void log_ei_is_the_log_of_the_integral(void **state)
{
    (void)state;
    for (int i = -3468; i <= 404; i++) {
        double z = 0.0173 * i;
        assert_true(fabs(normal_log_ei(z) - ei_by_integration(z)) < 1e-7);
    }
}

static void log_ei_rises_and_is_finite_far_out(void **state)
{
    double last = normal_log_ei(-1e150);

    (void)state;
    assert_true(isfinite(last));
    double z = -1e150;
    while (z < -1e-3) { /* over the seam of the two methods too */
        double now = normal_log_ei(z);
        assert_true(isfinite(now) && now >= last);
        last = now;
        z *= 0.97;
    }
    for (int i = 0; i < 40000; i++) {
        double now = normal_log_ei(1e-3 * i);
        assert_true(now > last);
        last = now;
    }
    assert_true(fabs(normal_log_ei(50) - log(50)) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pdf_and_cdf_agree_with_libm),
        cmocka_unit_test(the_quantile_undoes_the_cdf),
        cmocka_unit_test(log_ei_is_the_log_of_the_integral),
        cmocka_unit_test(log_ei_rises_and_is_finite_far_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
