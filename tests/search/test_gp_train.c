/* test_gp_train.c - what a Gaussian process learns from: how the noise of trials that know their standard error compares,
 * and that the others have the typical noise. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "search/samplers/gp/gp_train.h"

#include <math.h>

static void tell(struct history *h, const struct space *s, int64_t trial, double value,
                 double error)
{
    struct observation o = { .trial = trial,
                             .state = isnan(value) ? OBS_FAILED : OBS_COMPLETED,
                             .level = 1,
                             .max_level = 1,
                             .value = value,
                             .error = error };
    double point[1] = { (double)trial / 100 };

    assert_true(s->n == 1);
    (void)history_add(h, trial, point);
    assert_true(history_observe(h, &o));
}

static double share_of(const struct gp_train *t, const struct history *h, int64_t trial)
{
    for (int i = 0; i < t->n; i++) {
        if (h->rows[t->rows[i]].trial == trial)
            return t->shares[i];
    }
    fail();
    return 0;
}

/* The mean of the known variances, .01 .04 and .04, is .03. */
static void errors_that_are_known_say_how_noise_compares(void **state)
{
    struct space *s = space_new();
    struct gp_train t;
    struct history h;

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    history_init(&h, s);
    tell(&h, s, 1, 0.5, 0.1);
    tell(&h, s, 2, 0.7, 0.2);
    tell(&h, s, 3, 0.6, 0.2);
    tell(&h, s, 4, 0.4, 0);
    tell(&h, s, 5, 0.3, NAN);
    tell(&h, s, 6, NAN, 0);
    gp_train_make(&t, &h, 1, false);
    assert_int_equal(t.n, 6);
    assert_true(fabs(share_of(&t, &h, 1) - 1 / 3.0) < 1e-6);
    assert_true(fabs(share_of(&t, &h, 2) - 4 / 3.0) < 1e-6);
    for (int64_t trial = 4; trial <= 6; trial++)
        assert_true(share_of(&t, &h, trial) == 1);
    history_fini(&h);
    space_free(s);
}

static void no_error_makes_a_trial_count_for_nothing_or_for_all(void **state)
{
    struct space *s = space_new();
    struct gp_train t;
    struct history h;

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    history_init(&h, s);
    for (int64_t trial = 1; trial <= 40; trial++)
        tell(&h, s, trial, (double)trial, trial == 1 ? 1e-9 : trial == 2 ? 1e6 : 1);
    gp_train_make(&t, &h, 1, false);
    assert_true(share_of(&t, &h, 1) == 1.0 / 16 && share_of(&t, &h, 2) == 16);
    assert_true(share_of(&t, &h, 3) == 1.0 / 16); /* beside the one of 1e6 */
    history_fini(&h);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_that_are_known_say_how_noise_compares),
        cmocka_unit_test(no_error_makes_a_trial_count_for_nothing_or_for_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
