/* test_testhash.c - the two test searchers do their one job: another order of the same observations is another study, and
 * the scheduler uses every one of its decisions. */
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/rng.h"
#include "search/contract/observation_hash.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"

#include <math.h>

static struct observation observation_of(int64_t trial, double value)
{
    return (struct observation){
        .trial = trial, .state = OBS_COMPLETED, .level = 1, .max_level = 1, .value = value
    };
}

static void any_swap_of_two_observations_changes_the_next_point(void **state)
{
    enum { N = 8 };
    struct space *s = space_new();
    struct search_setup setup = { .seed = 11 };
    double point[N * N][1];
    int n = 0;

    (void)state;
    spaces_float(s, "x", 0, 1, 0, false);
    for (int a = 0; a < N; a++) {
        for (int b = a; b < N; b++) {
            struct sampler *x = sampler_find("testhash")->open(s, &setup, NULL);
            if (b == a && a > 0) { /* once without a swap is enough */
                sampler_close(x);
                continue;
            }
            for (int i = 0; i < N; i++) {
                int at = i == a ? b : i == b ? a : i;
                struct observation o = observation_of(1 + at, at * 0.5);
                assert_int_equal(x->ops->observe(x, &o, NULL), 0);
            }
            assert_int_equal(x->ops->suggest(x, N + 1, 1, point[n], NULL), 1);
            for (int k = 0; k < n; k++)
                assert_false(space_points_equal(s, point[k], point[n]));
            n++;
            sampler_close(x);
        }
    }
    assert_int_equal(n, 1 + N * (N - 1) / 2);
    space_free(s);
}

static void every_field_of_an_observation_counts(void **state)
{
    struct observation base = { 5, OBS_RUNNING, 3, 9, 0.25, { 0 }, 100, 0 }, all[9];
    uint64_t value[ARRAY_LEN(all)];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        all[i] = base;
    all[1].trial = 6;
    all[2].state = OBS_COMPLETED;
    all[3].level = 4;
    all[4].max_level = 10;
    all[5].value = nextafter(0.25, 1);
    all[6].more[2] = 1;
    all[7].cost = 101;
    all[8].error = 0.1;
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct observation_hash c;
        observation_hash_init(&c, 1);
        observation_hash_observe(&c, &all[i]);
        value[i] = c.value;
        for (size_t k = 0; k < i; k++)
            assert_true(value[k] != value[i]);
        observation_hash_fini(&c);
    }
}

static void all_nans_are_one(void **state)
{
    struct observation a = observation_of(1, NAN), b = observation_of(1, -NAN);
    struct observation_hash x, y;

    (void)state;
    observation_hash_init(&x, 1);
    observation_hash_init(&y, 1);
    observation_hash_observe(&x, &a);
    observation_hash_observe(&y, &b);
    assert_true(x.value == y.value);
    observation_hash_observe(&x, &b);
    assert_true(x.value == y.value);
    observation_hash_fini(&x);
    observation_hash_fini(&y);
}

static void the_scheduler_uses_every_decision(void **state)
{
    struct search_setup setup = { .seed = 5 };
    struct scheduler *s = scheduler_find("testhash")->open(&setup, NULL);
    struct sched_resume out[400];
    int count[4] = { 0 };

    (void)state;
    for (int64_t trial = 1; trial <= 400; trial++) {
        int to = s->ops->start(s, trial, 0, 9, NULL);
        assert_int_equal(s->ops->start(s, trial, 0, 9, NULL), to); /* a repeat */
        struct observation o = { trial, OBS_RUNNING, to, 9, 0.5, { 0 }, 1, 0 };
        struct sched_decision d = { SCHED_DONE, 0 };
        assert_int_equal(s->ops->report(s, &o, &d, NULL), 0);
        count[d.action]++;
    }
    assert_true(count[SCHED_RUN_TO] > 100 && count[SCHED_PAUSE] > 60 && count[SCHED_STOP] > 30);
    int some = s->ops->resume(s, 400, false, out, NULL);
    assert_true(some > 10 && some < count[SCHED_PAUSE]);
    assert_int_equal(s->ops->resume(s, 400, false, out, NULL),
                     0); /* asking again changes nothing */
    int64_t retired[400];
    assert_int_equal(s->ops->retire(s, 400, false, retired, NULL), 0);
    int gone = s->ops->retire(s, 400, true, retired, NULL);
    int rest = s->ops->resume(s, 400, true, out, NULL);
    assert_true(gone > 10 && rest > 0);
    assert_int_equal(some + gone + rest, count[SCHED_PAUSE]);
    scheduler_close(s);
}

static void the_scheduler_knows_only_its_trials(void **state)
{
    struct search_setup setup = { .seed = 5 };
    struct scheduler *s = scheduler_find("testhash")->open(&setup, NULL);
    struct observation o = observation_of(3, 1);
    struct sched_decision d = { SCHED_DONE, 0 };
    struct err err = { 0 };

    (void)state;
    assert_int_equal(s->ops->report(s, &o, &d, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    scheduler_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_swap_of_two_observations_changes_the_next_point),
        cmocka_unit_test(every_field_of_an_observation_counts),
        cmocka_unit_test(all_nans_are_one),
        cmocka_unit_test(the_scheduler_uses_every_decision),
        cmocka_unit_test(the_scheduler_knows_only_its_trials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
