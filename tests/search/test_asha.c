/* test_asha.c - promotion worked out again by brute force from what was reported, in any order and with whatever goes wrong;
 * stopping only; what the lowest rungs must prove; ends of small studies. */
#include "search/searchers.h"
#include "tests/unit.h"

#include "tests/search/schedrun.h"

#include "base/base.h"

#include <math.h>

enum { ETA, MIN_LEVEL, PER_LEVEL, BRACKETS, STOP_ONLY, STRICT, TRUST, TOP, N };

static struct schedrun run_of(int max_level, int n_trials, double *options)
{
    const struct scheduler_ops *ops = scheduler_find("asha");

    assert_int_equal(ops->n_options, N);
    search_options_default(ops->options, N, options);
    options[TRUST] = 0;
    return (struct schedrun){ .ops = ops,
                              .setup = { .options = options },
                              .n_trials = n_trials,
                              .slots = 7,
                              .n_groups = 1,
                              .max_level = { max_level } };
}

/* ---- promotion, by brute force ---- */

/* Did trial a come to the level better than b? */
static bool is_better(const struct schedrun *r, int64_t a, int64_t b, int level)
{
    double x = r->trials[a].value[level], y = r->trials[b].value[level];

    if (isnan(x) != isnan(y))
        return isnan(y);
    return isnan(x) || x == y ? a < b : x > y;
}

/* A trial counts at a level when it came there, or failed on the way to it; one that was cancelled while it paused there
 * does not. */
static bool counts(const struct run_trial *t, int level)
{
    bool is_ended = t->state == RUN_ENDED;

    if (is_ended && t->end == OBS_FAILED && t->to == level)
        return true;
    return t->level >= level && !(is_ended && t->end == OBS_CANCELLED && t->to == level);
}

/* How many of n may go on from a level: floor(n / eta); from the last before the top, if it is not the first, floor(n / (eta
 * top)), but one out of 2 eta. Ladders of up to PER_LEVEL levels have a rung at each, longer ones at max / eta^k. */
static int limit_at(const struct schedrun *r, int max_level, int level, int n)
{
    int eta = (int)r->setup.options[ETA], top = (int)r->setup.options[TOP];
    bool is_short = max_level <= r->setup.options[PER_LEVEL];
    int last = is_short ? max_level - 1 : (2 * max_level + eta) / (2 * eta);
    bool has_below = is_short ? last > 1 : eta * eta <= max_level;

    if (level != last || !has_below || top == 1)
        return n / eta;
    return n >= 2 * eta ? MAX(n / (eta * top), 1) : n / (eta * top);
}

static bool is_short(const struct schedrun *r, const struct run_trial *t)
{
    return t->max_level > 1 && t->max_level <= r->setup.options[PER_LEVEL];
}

/* It waits at the first level of a short ladder, and is not among the best 1/eta of all that came to the first levels of
 * short ladders, where there is more than one. */
static bool is_behind(const struct schedrun *r, int64_t trial)
{
    const struct run_trial *t = &r->trials[trial];
    int n = 0, n_own = 0, better = 0;

    if (t->level != 1 || !is_short(r, t))
        return false;
    for (int64_t i = 1; i <= r->n_started; i++) {
        const struct run_trial *o = &r->trials[i];
        if (!is_short(r, o) || !counts(o, 1))
            continue;
        n++;
        n_own += o->family == t->family;
        better += o->value[1] > t->value[1];
    }
    return n > n_own && better >= MAX(n / (int)r->setup.options[ETA], 1);
}

/* It is among the best of all that came to its level, as many as may go on. */
static bool is_in_best(struct schedrun *r, int64_t trial)
{
    const struct run_trial *t = &r->trials[trial];
    int n = 0, rank = 0;

    for (int64_t i = 1; i <= r->n_started; i++) {
        if (r->trials[i].family != t->family || !counts(&r->trials[i], t->level))
            continue;
        n++;
        rank += i != trial && is_better(r, i, trial, t->level);
    }
    if (is_behind(r, trial)) {
        int eta = (int)r->setup.options[ETA], share = eta * (int)r->setup.options[TOP];
        return rank < (share > eta && n >= 2 * eta ? MAX(n / share, 1) : n / share);
    }
    return rank < limit_at(r, t->max_level, t->level, n);
}

static void promoted_is_in_best(struct schedrun *r, int64_t trial)
{
    assert_true(is_in_best(r, trial));
}

static void nobody_in_best_waits(struct schedrun *r)
{
    for (int64_t i = 1; i <= r->n_started; i++) {
        if (r->trials[i].state == RUN_PAUSED)
            assert_false(is_in_best(r, i));
    }
}

static void those_who_go_on_are_the_best_of_their_rung_and_none_of_them_waits(void **state)
{
    static struct schedrun r;
    double options[N];
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 4);
    for (int round = 0; round < 40; round++) {
        r = run_of(1 + (int)rng_below(&g, 81), 20 + (int)rng_below(&g, 150), options);
        options[ETA] = 2 + rng_below(&g, 3);
        options[TOP] = 1 + rng_below(&g, 4);
        r.slots = 1 + (int)rng_below(&g, 64);
        r.n_groups = 1 + (int)rng_below(&g, 2);
        r.max_level[1] = 4;
        r.fail = rng_below(&g, 100);
        r.cancel = rng_below(&g, 60);
        r.special = 60;
        r.replay = 50;
        r.on_resume = promoted_is_in_best;
        r.on_quiet = nobody_in_best_waits;
        schedrun_open(&r, rng_u64(&g));
        schedrun_all(&r);
        schedrun_close(&r);
    }
}

static void every_kind_of_study_ends_well(void **state)
{
    static struct schedrun r;
    double options[N];
    struct rng g;

    (void)state;
    rng_init(&g, test_seed(), 5);
    for (int round = 0; round < 60; round++) {
        r = run_of(1 + (int)rng_below(&g, 81), 20 + (int)rng_below(&g, 150), options);
        options[BRACKETS] = 1 + rng_below(&g, 4);
        options[STOP_ONLY] = rng_below(&g, 2);
        options[STRICT] = rng_below(&g, 2);
        options[TRUST] = rng_below(&g, 3) / 2.0;
        options[TOP] = 1 + rng_below(&g, 4);
        options[PER_LEVEL] = 6 * rng_below(&g, 2);
        r.slots = 1 + (int)rng_below(&g, 64);
        r.n_groups = 1 + (int)rng_below(&g, 3);
        r.max_level[1] = 1 + (int)rng_below(&g, 6);
        r.max_level[2] = r.max_level[0];
        schedrun_stormy(&r, &g);
        if (options[STOP_ONLY] != 0) {
            for (int t = 1; t <= r.n_started; t++)
                assert_int_equal(r.trials[t].resumed, 0);
        }
        schedrun_close(&r);
    }
}

static void the_second_third_result_resumes_the_best_of_before(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(9, 100, options);
    schedrun_open(&r, 1);
    for (int i = 0; i < 6; i++)
        assert_int_equal(schedrun_start(&r, 0), 1);
    assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, 1, 5).action, SCHED_PAUSE);
    assert_int_equal(schedrun_report(&r, 2, OBS_RUNNING, 1, 3).action, SCHED_PAUSE);
    assert_int_equal(schedrun_resume(&r, false), 0);
    assert_int_equal(schedrun_report(&r, 3, OBS_RUNNING, 1, 4).action, SCHED_PAUSE);
    assert_int_equal(schedrun_resume(&r, false), 1); /* the best of three */
    assert_int_equal(r.trials[1].to, 3);
    assert_int_equal(schedrun_report(&r, 4, OBS_RUNNING, 1, 2).action, SCHED_PAUSE);
    assert_int_equal(schedrun_report(&r, 5, OBS_RUNNING, 1, 6).action, SCHED_RUN_TO); /* at once */
    assert_int_equal(schedrun_resume(&r, false), 0);
    assert_int_equal(schedrun_report(&r, 6, OBS_FAILED, 0, NAN).action, SCHED_DONE); /* the sixth */
    assert_int_equal(schedrun_resume(&r, false), 0); /* 5 and 1 are the best two */
    struct sched_rung row = schedrun_row(&r, 0, 0, 0);
    assert_int_equal(row.n_promoted, 2);
    assert_int_equal(row.n_waiting, 3);
    assert_int_equal(row.n_done, 1);
    assert_float_equal(row.best, 6, 0);
    schedrun_close(&r);
}

static void strict_never_lets_more_than_its_share_go_on(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    for (int strict = 0; strict <= 1; strict++) {
        r = run_of(9, 100, options);
        options[STRICT] = strict;
        schedrun_open(&r, 1);
        for (int i = 1; i <= 60; i++) { /* each better than all before */
            schedrun_start(&r, 0);
            schedrun_report(&r, i, OBS_RUNNING, 1, i);
            int64_t n = schedrun_row(&r, 0, 0, 0).n_promoted;
            assert_true(strict ? n == i / 3 : n == MAX(i - 2, 0));
        }
        schedrun_close(&r);
    }
}

static void stop_only_compares_with_all_that_came(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(9, 100, options);
    options[STOP_ONLY] = 1;
    schedrun_open(&r, 1);
    for (int i = 0; i < 6; i++)
        schedrun_start(&r, 0);
    assert_int_equal(schedrun_report(&r, 1, OBS_RUNNING, 1, 5).action, SCHED_RUN_TO);
    assert_int_equal(schedrun_report(&r, 2, OBS_RUNNING, 1, 4).action, SCHED_STOP);
    assert_int_equal(schedrun_report(&r, 3, OBS_RUNNING, 1, 6).action, SCHED_RUN_TO);
    assert_int_equal(schedrun_report(&r, 4, OBS_RUNNING, 1, 5.5).action, SCHED_STOP);
    assert_int_equal(schedrun_report(&r, 5, OBS_RUNNING, 1, 1).action, SCHED_STOP);
    assert_int_equal(schedrun_report(&r, 6, OBS_RUNNING, 1, 5.5).action, SCHED_STOP);
    schedrun_close(&r);
}

/* ---- proof ---- */

static double misleading(struct schedrun *r, int64_t trial, int level)
{
    uint32_t draw[4];

    rng_at(r->setup.seed, (uint32_t)(level < 3), 0, (uint64_t)trial, draw);
    return draw[0] / 4294967296.0 + level * 1e-3;
}

static double telling(struct schedrun *r, int64_t trial, int level)
{
    uint32_t draw[4];

    rng_at(r->setup.seed, 1, 0, (uint64_t)trial, draw);
    return draw[0] / 4294967296.0 + level * 1e-3;
}

/* The share of trials 50..199 that came past a level. */
static double share_past(double (*value)(struct schedrun *, int64_t, int), double trust, int level)
{
    static struct schedrun r;
    double options[N];
    int n = 0;

    r = run_of(81, 200, options);
    options[TRUST] = trust;
    r.value = value;
    schedrun_open(&r, 11);
    schedrun_all(&r);
    for (int t = 50; t <= 199; t++)
        n += r.trials[t].level > level;
    schedrun_close(&r);
    return n / 150.0;
}

static void a_rung_that_misleads_stops_nobody_and_one_that_tells_does(void **state)
{
    (void)state;
    assert_true(share_past(misleading, 0.5, 1) > 0.95); /* level 1 says nothing of level 3 */
    assert_true(share_past(misleading, 0.5, 3) < 0.6);  /* level 3 says all of level 9 */
    assert_true(share_past(telling, 0.5, 1) < 0.55);
    assert_true(share_past(misleading, 0, 1) < 0.55); /* no proof asked for */
}

static void with_many_workers_only_as_many_pass_as_a_proof_needs(void **state)
{
    static struct schedrun r;
    double options[N];
    int n = 0;

    (void)state;
    r = run_of(81, 64, options);
    options[TRUST] = 0.5;
    schedrun_open(&r, 1);
    for (int i = 0; i < 64; i++)
        assert_int_equal(schedrun_start(&r, 0), 1);
    for (int t = 64; t >= 1; t--) /* worse and worse: by rank alone one would pass */
        n += schedrun_report(&r, t, OBS_RUNNING, 1, t).action == SCHED_RUN_TO;
    assert_in_range(n, 12, 20); /* twelve and a few scouts */
    schedrun_close(&r);
}

/* A family whose best is nowhere near the other's sends one of its first six, not of three; the other is not held up. */
static void a_ladder_behind_the_others_sends_fewer(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(3, 100, options);
    r.n_groups = 2;
    r.max_level[1] = 2;
    schedrun_open(&r, 1);
    for (int i = 0; i < 12; i++)
        assert_int_equal(schedrun_start(&r, i % 2), 1);
    for (int t = 1; t <= 12; t++) {
        bool is_behind = r.trials[t].family == 1;

        schedrun_report(&r, t, OBS_RUNNING, 1, is_behind ? 1 - t / 100.0 : 2 - t / 100.0);
        while (schedrun_resume(&r, false))
            ;
        if (t < 12)
            assert_int_equal(schedrun_row(&r, 1, 0, 0).n_promoted, 0);
    }
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_promoted, 2);
    assert_int_equal(schedrun_row(&r, 1, 0, 0).n_promoted, 1);
    assert_int_equal(r.trials[2].to, 2); /* its best */
    schedrun_close(&r);
}

/* The same values, but a level of the family that seems behind is a part of a fit: it is not compared, and sends one in
 * three as if it were alone. */
static void a_ladder_of_parts_is_compared_with_no_other(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(3, 100, options);
    r.n_groups = 2;
    r.max_level[1] = 3;
    r.setup.partial = 2; /* group 1 */
    schedrun_open(&r, 1);
    for (int i = 0; i < 12; i++)
        assert_int_equal(schedrun_start(&r, i % 2), 1);
    for (int t = 1; t <= 12; t++) {
        bool is_part = r.trials[t].family == 1;

        schedrun_report(&r, t, OBS_RUNNING, 1, is_part ? 1 - t / 100.0 : 2 - t / 100.0);
        while (schedrun_resume(&r, false))
            ;
    }
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_promoted, 2);
    assert_int_equal(schedrun_row(&r, 1, 0, 0).n_promoted, 2);
    schedrun_close(&r);
}

/* Trials of a family that is held pause wherever they come, and go on when it is held no longer. */
static void a_held_family_waits_at_its_rungs(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(3, 100, options);
    r.n_groups = 2;
    r.max_level[1] = 3;
    schedrun_open(&r, 1);
    r.ops->hold(r.s, 2); /* group 1 */
    for (int i = 0; i < 12; i++)
        assert_int_equal(schedrun_start(&r, i % 2), 1);
    for (int t = 1; t <= 12; t++)
        schedrun_report(&r, t, OBS_RUNNING, 1, -t);
    while (schedrun_resume(&r, false))
        ;
    assert_int_equal(schedrun_row(&r, 0, 0, 0).n_promoted, 2);
    assert_int_equal(schedrun_row(&r, 1, 0, 0).n_promoted, 0);
    r.ops->hold(r.s, 0);
    while (schedrun_resume(&r, false))
        ;
    assert_int_equal(schedrun_row(&r, 1, 0, 0).n_promoted, 2);
    schedrun_close(&r);
}

/* ---- ends ---- */

static void even_few_trials_give_one_that_is_fully_trained(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    for (int n = 1; n <= 12; n++) {
        int n_top = 0;
        r = run_of(27, n, options);
        schedrun_open(&r, (uint64_t)n);
        schedrun_all(&r);
        for (int t = 1; t <= n; t++)
            n_top += r.trials[t].level == 27;
        assert_true(n_top >= 1 && n_top <= 1 + n / 3);
        schedrun_close(&r);
    }
}

static void hopeless_trials_are_given_up_while_the_study_goes_on(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(9, 300, options);
    schedrun_open(&r, 1);
    for (int i = 1; i <= 300; i++) {
        schedrun_start(&r, 0);
        schedrun_report(&r, i, OBS_RUNNING, 1, i * 7919 % 1009);
        for (int64_t t; (t = schedrun_retire(&r, false)) > 0;) {
            int rank = 0;
            for (int k = 1; k <= i; k++)
                rank += is_better(&r, k, t, 1);
            assert_true(3 * rank > i + 5 * sqrt(i)); /* far below the best third */
        }
    }
    assert_in_range(schedrun_row(&r, 0, 0, 0).n_waiting, 1, 90);
    schedrun_close(&r);
}

static void brackets_get_trials_by_their_weights(void **state)
{
    static struct schedrun r;
    double options[N];

    (void)state;
    r = run_of(9, RUN_MAX_TRIALS, options);
    options[BRACKETS] = 3;
    schedrun_open(&r, 5);
    for (int i = 0; i < RUN_MAX_TRIALS; i++)
        schedrun_start(&r, 0);
    /* eta^(k-1) / k: 9/3, 3/2, 1 of 5.5 */
    assert_in_range(schedrun_row(&r, 0, 0, 0).n_running, 170, 266);
    assert_in_range(schedrun_row(&r, 0, 1, 0).n_running, 73, 145);
    assert_in_range(schedrun_row(&r, 0, 2, 0).n_running, 42, 105);
    assert_int_equal(schedrun_row(&r, 0, 1, 0).level, 3);
    assert_int_equal(schedrun_row(&r, 0, 2, 0).level, 9);
    schedrun_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(those_who_go_on_are_the_best_of_their_rung_and_none_of_them_waits),
        cmocka_unit_test(every_kind_of_study_ends_well),
        cmocka_unit_test(the_second_third_result_resumes_the_best_of_before),
        cmocka_unit_test(strict_never_lets_more_than_its_share_go_on),
        cmocka_unit_test(stop_only_compares_with_all_that_came),
        cmocka_unit_test(a_rung_that_misleads_stops_nobody_and_one_that_tells_does),
        cmocka_unit_test(with_many_workers_only_as_many_pass_as_a_proof_needs),
        cmocka_unit_test(a_ladder_behind_the_others_sends_fewer),
        cmocka_unit_test(a_ladder_of_parts_is_compared_with_no_other),
        cmocka_unit_test(a_held_family_waits_at_its_rungs),
        cmocka_unit_test(even_few_trials_give_one_that_is_fully_trained),
        cmocka_unit_test(hopeless_trials_are_given_up_while_the_study_goes_on),
        cmocka_unit_test(brackets_get_trials_by_their_weights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
