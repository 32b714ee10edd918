/* test_gp_train.c - what a Gaussian process learns from: how the noise of trials that know their standard error compares,
 * that the others have the typical noise, and which of many trials are chosen. */
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

/* Whether all of `before` are in `now`, rows in any order. */
static bool holds_all(const struct gp_train *now, const struct gp_train *before)
{
    int found = 0;

    for (int i = 0; i < before->n; i++)
        for (int j = 0; j < now->n; j++)
            found += now->rows[j] == before->rows[i];
    return found == before->n;
}

/* Values rise and fall, so that every result moves the ranks of others. */
static void of_many_trials_the_set_grows_until_it_is_renewed(void **state)
{
    struct space *s = space_new();
    struct gp_train t = { 0 }, before = { 0 };
    struct history h;
    int renewed = 0;

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    history_init(&h, s);
    for (int trial = 1; trial <= 600; trial++) {
        tell(&h, s, trial, trial * 37 % 101 + trial / 1000.0, 0);
        gp_train_make(&t, &h, 1, false);
        assert_true(t.n <= GP_TARGETS);
        assert_true(t.n == trial || t.n >= GP_TARGETS * 3 / 5);
        if (holds_all(&t, &before))
            assert_int_equal(t.n, before.n + 1);
        else
            renewed++;
        (void)share_of(&t, &h, trial); /* the newest is in it */
        for (int i = 1; i < t.n; i++)
            assert_true(t.targets[i] <= t.targets[i - 1]);
        double best = 0; /* of all the history, and of the set */
        for (int i = 1; i <= trial; i++)
            best = MAX(best, i * 37 % 101 + i / 1000.0);
        assert_true(history_at(&h, t.rows[0], 0)->value == best);
        before = t;
    }
    assert_int_equal(renewed, 6); /* after 301, 360, 420, .. 600 */
    history_fini(&h);
    space_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_that_are_known_say_how_noise_compares),
        cmocka_unit_test(no_error_makes_a_trial_count_for_nothing_or_for_all),
        cmocka_unit_test(of_many_trials_the_set_grows_until_it_is_renewed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
