/* test_simulate.c - the simulated clock, with every registered sampler and scheduler over random tables: trials are counted
 * once, nothing trains twice, no worker idles while there is work, epochs count when they end, the same again is the
 * same. And the order of calls, seen by a sampler of the test's own. */
#include "tests/search/curve_family.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/lab/seeds.h"
#include "search/lab/simulate.h"
#include "search/searchers.h"

#include <math.h>

enum { EPOCHS = 27 };

/* Curves that rise to a level of their own; some cross, some fail. Every epoch takes `pace` seconds, or a random time. */
static struct tabular *curves(uint64_t seed, size_t n, float pace)
{
    struct space *s = space_new();
    struct rng r;

    rng_init(&r, seed, 99);
    spaces_float(s, "x", 0, 1, 0, false);
    spaces_float(s, "y", 0, 1, 0, false);
    spaces_choice(s, "z", 3, false);
    double *points = mem_array(n * 3, sizeof *points);
    float *data = mem_array(n * EPOCHS * 2, sizeof *data);
    for (size_t c = 0; c < n; c++) {
        float at = 0, step = pace > 0 ? pace : (float)(0.2 + 3 * rng_unit(&r));
        double *p = points + 3 * c, lag = 1 + 20 * rng_unit(&r);
        bool fails = rng_below(&r, 12) == 0;
        spaces_point(s, &r, p);
        for (int e = 0; e < EPOCHS; e++) {
            double v = (1 - fabs(p[0] - 0.3) - p[1] * p[1]) * (1 - exp(-(e + 1) / lag));
            at += step;
            data[2 * (c * EPOCHS + (size_t)e)] = fails && c > 0 ? NAN : (float)v;
            data[2 * (c * EPOCHS + (size_t)e) + 1] = at;
        }
    }
    struct tabular *t = tabular_curves_new("curves", s, false, points, n, EPOCHS, data, NULL);
    assert_non_null(t);
    return t;
}

static struct tabular *grid(uint64_t seed, int side)
{
    struct space *s = space_new();
    struct rng r;
    size_t n = (size_t)side * (size_t)side;
    float *v = mem_array(n, sizeof *v);

    rng_init(&r, seed, 98);
    spaces_int(s, "a", 0, side - 1, 0, false);
    spaces_choice(s, "b", side, false);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)rng_unit(&r);
    struct tabular *t = tabular_grid_new("grid", s, true, v, n, NULL);
    assert_non_null(t);
    return t;
}

static struct sim_conf conf_of(const struct tabular *t, const char *sampler, const char *scheduler)
{
    struct sim_conf c = { .table = t,
                          .sampler = sampler_find(sampler),
                          .scheduler = scheduler_find(scheduler),
                          .seed = test_seed(),
                          .workers = 4 };

    c.n_levels = tabular_ladder(t->epochs, 3, c.ladder);
    return c;
}

static struct sim_result run(const struct sim_conf *c)
{
    struct sim_result r;
    struct err err = { 0 };

    if (simulate(c, &r, &err) < 0) {
        print_error("%s + %s: %s\n", c->sampler->name, c->scheduler->name, err.text);
        fail();
    }
    return r;
}

static void check_books(const struct sim_conf *c, const struct sim_result *r)
{
    assert_true(r->started ==
                r->completed + r->stopped + r->failed + r->retired + r->paused + r->running);
    assert_true(fabs(r->busy + r->idle - c->workers * r->end) <= 1e-9 * (1 + r->busy));
    assert_true(r->idle_open == 0);
    for (size_t i = 1; i < r->n_trace; i++)
        assert_true(isnan(r->trace[i - 1]) || r->trace[i] >= r->trace[i - 1]);
    for (int k = 1; k < c->n_levels; k++)
        assert_true(r->reached[k] <= r->reached[k - 1]);
    assert_true(c->trials == 0 || r->started <= c->trials);
    /* One worker may meet a trial that fails and one that outlasts the clock. */
    assert_true(r->completed == 0 || !isnan(r->trace[r->n_trace - 1]));
}

static void every_pair_of_searchers_keeps_the_books(void **state)
{
    (void)state;
    struct tabular *t = curves(test_seed(), 60, 0);
    for (int i = 0; sampler_at(i); i++) {
        for (int k = 0; scheduler_at(k); k++) {
            struct sim_conf c = conf_of(t, sampler_at(i)->name, scheduler_at(k)->name);
            c.clock = 2 * t->mean_time;
            c.workers = 1 + (i + 3 * k) % 5;
            struct sim_result r = run(&c), again = run(&c);
            check_books(&c, &r);
            assert_true(r.end == c.clock);
            assert_memory_equal(r.trace, again.trace, r.n_trace * sizeof *r.trace);
            assert_true(r.started == again.started && r.busy == again.busy);
            sim_result_fini(&r);
            sim_result_fini(&again);
        }
    }
    tabular_free(t);
}

static void without_a_clock_every_trial_ends_and_nothing_trains_twice(void **state)
{
    (void)state;
    struct tabular *t = curves(test_seed() + 1, 60, 1);
    for (int k = 0; scheduler_at(k); k++) {
        for (int limit = 0; limit <= 40; limit += 40) {
            struct sim_conf c = conf_of(t, "random", scheduler_at(k)->name);
            c.trials = limit;
            struct sim_result r = run(&c);
            double trained = 0;
            for (int i = 0; i < c.n_levels; i++)
                trained += (double)r.reached[i] * (c.ladder[i] - (i > 0 ? c.ladder[i - 1] : 0));
            check_books(&c, &r);
            assert_int_equal(r.paused + r.running, 0);
            assert_int_equal(r.started, limit ? limit : 60); /* a table runs out, too */
            assert_int_equal(r.n_trace, r.started + 1);
            assert_true(fabs(r.busy - trained) < 1e-6);
            sim_result_fini(&r);
        }
    }
    tabular_free(t);
}

/* A scheduler that does not know of the clock does the same until it stops. */
static void a_shorter_clock_cuts_the_same_search_off(void **state)
{
    (void)state;
    struct tabular *t = curves(test_seed() + 2, 300, 0);
    for (int k = 0; scheduler_at(k); k++) {
        struct sim_conf c = conf_of(t, "random", scheduler_at(k)->name);
        c.clock = 2 * t->mean_time;
        struct sim_result half = run(&c);
        c.clock *= 2;
        struct sim_result whole = run(&c);
        for (int i = 0; i <= SIM_SHARES / 2; i++) {
            double a = half.trace[2 * i], b = whole.trace[i];
            assert_true(a == b || (isnan(a) && isnan(b)));
        }
        sim_result_fini(&half);
        sim_result_fini(&whole);
    }
    tabular_free(t);
}

/* Every epoch in unit time and no scheduler: what is best at any share can be said by hand. */
static void epochs_count_when_they_end(void **state)
{
    (void)state;
    struct tabular *t = curves(test_seed() + 3, 30, 1);
    struct sim_conf c = conf_of(t, "random", "none");
    c.workers = 30;
    c.clock = EPOCHS;
    struct sim_result r = run(&c);
    for (int i = 0; i <= SIM_SHARES; i++) {
        double best = NAN;
        int epoch = EPOCHS * i / SIM_SHARES;
        for (size_t k = 0; k < t->n; k++)
            best = fmax(best, tabular_best_until(t, k, epoch));
        assert_true(r.trace[i] == best || (isnan(best) && isnan(r.trace[i])));
    }
    sim_result_fini(&r);
    tabular_free(t);
}

/* ---- the order of calls, as a sampler sees it ---- */

static struct {
    int n;
    int64_t calls[4000]; /* +trial: suggested, -trial: observed at its end */
} seen;

static struct sampler_ops spy;

static struct sampler *spy_open(const struct space *space, const struct search_setup *setup,
                                struct err *err)
{
    struct sampler *s = sampler_find("random")->open(space, setup, err);

    s->ops = &spy;
    return s;
}

static int spy_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    assert_int_equal(n, 1);
    seen.calls[seen.n++] = first;
    return sampler_find("random")->suggest(s, first, n, points, err);
}

static int spy_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    if (o->state != OBS_RUNNING)
        seen.calls[seen.n++] = -o->trial;
    return sampler_find("random")->observe(s, o, err);
}

static void in_flight_the_oldest_is_told_and_one_more_asked(void **state)
{
    (void)state;
    spy = *sampler_find("random");
    spy.open = spy_open;
    spy.suggest = spy_suggest;
    spy.observe = spy_observe;
    struct tabular *t = grid(test_seed(), 20);
    for (int flight = 1; flight <= 32; flight += 31) {
        struct sim_conf c = conf_of(t, "random", "none");
        c.sampler = &spy;
        c.workers = flight;
        c.trials = 150;
        seen.n = 0;
        struct sim_result r = run(&c);
        int at = 0;
        for (int64_t i = 1; i <= flight; i++)
            assert_int_equal(seen.calls[at++], i);
        for (int64_t i = 1; i <= 150; i++) {
            assert_int_equal(seen.calls[at++], -i);
            if (i + flight <= 150)
                assert_int_equal(seen.calls[at++], i + flight);
        }
        assert_int_equal(at, seen.n);
        assert_int_equal(r.completed, 150);
        assert_int_equal(r.n_trace, 151);
        assert_int_equal(r.repeats, 0);
        sim_result_fini(&r);
    }
    tabular_free(t);
}

static void a_whole_grid_ends_at_its_best(void **state)
{
    (void)state;
    struct tabular *t = grid(test_seed() + 5, 7);
    for (int i = 0; sampler_at(i); i++) {
        struct sim_conf c = conf_of(t, sampler_at(i)->name, "none");
        struct sim_result r = run(&c);
        assert_int_equal(r.started, 49);
        assert_int_equal(r.repeats, 0);
        assert_true(tabular_regret(t, r.trace[49]) == 0);
        sim_result_fini(&r);
    }
    tabular_free(t);
}

static void random_search_meets_its_exact_expectation(void **state)
{
    double sum = 0, squares = 0;

    (void)state;
    struct tabular *t = grid(TEST_FIXED_SEED + 6, 30);
    for (int i = 0; i < 400; i++) {
        struct sim_conf c = conf_of(t, "random", "none");
        c.seed = rng_mix(TEST_FIXED_SEED, (uint64_t)i);
        c.trials = 20;
        struct sim_result r = run(&c);
        double regret = tabular_regret(t, r.trace[20]);
        sum += regret / 400;
        squares += regret * regret / 400;
        sim_result_fini(&r);
    }
    double se = sqrt((squares - sum * sum) / 400);
    assert_true(fabs(sum - tabular_random_regret(t, 20)) < 5 * se);
    tabular_free(t);
}

/* Mean regret at the end of `seeds` searches on a family. */
static double mean_regret(const struct curve_family *f, const char *scheduler, int seeds)
{
    double sum = 0;

    for (int i = 0; i < seeds; i++) {
        struct tabular *t = curve_family_new(f, 400, EPOCHS, TEST_FIXED_SEED + (uint64_t)i);
        struct sim_conf c = conf_of(t, "random", scheduler);
        c.workers = 8;
        c.clock = 4 * t->mean_time;
        struct sim_result r = run(&c);
        sum += tabular_regret(t, r.trace[SIM_SHARES]) / seeds;
        sim_result_fini(&r);
        tabular_free(t);
    }
    return sum;
}

/* What is promised of the default: misleading first epochs, crossing curves and slow giants may cost it some of its
 * lead, never all. */
static void the_default_scheduler_stands_misleading_curves(void **state)
{
    (void)state;
    for (int i = 0; curve_family_at(i); i++) {
        double whole = mean_regret(curve_family_at(i), "none", 24);
        double asha = mean_regret(curve_family_at(i), "asha", 24);
        if (asha >= whole)
            print_error("%s: %.3f, everything to the end %.3f\n", curve_family_at(i)->name, asha,
                        whole);
        assert_true(asha < whole);
    }
}

/* ---- searchers that break their contract ---- */

static struct scheduler_ops bad;

static struct scheduler *bad_open(const struct search_setup *setup, struct err *err)
{
    struct scheduler *s = scheduler_find("none")->open(setup, err);

    s->ops = &bad;
    return s;
}

static int bad_start(struct scheduler *s, int64_t trial, int family, int max_level, struct err *err)
{
    (void)s, (void)trial, (void)family, (void)err;
    return max_level + 1;
}

static int bad_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                      struct err *err)
{
    (void)s, (void)n, (void)idle, (void)err;
    *out = (struct sched_resume){ 77, 1 };
    return 1;
}

static void a_searcher_that_breaks_its_contract_is_told(void **state)
{
    (void)state;
    struct tabular *t = curves(test_seed(), 20, 1);
    for (int i = 0; i < 2; i++) {
        struct sim_conf broken = conf_of(t, "random", "none");
        struct sim_result none;
        struct err err = { 0 };
        bad = *scheduler_find("none");
        bad.open = bad_open;
        if (i == 0)
            bad.start = bad_start;
        else
            bad.resume = bad_resume;
        broken.scheduler = &bad;
        assert_int_equal(simulate(&broken, &none, &err), -1);
        assert_int_equal(err.code, ERR_CONFLICT);
    }
    struct sim_conf c = conf_of(t, "random", "none");
    struct sim_result r;
    c.workers = 0;
    assert_int_equal(simulate(&c, &r, NULL), -1);
    tabular_free(t);
}

/* The mean over the seeds is that of each seed's regret, and each is what a search of that seed alone has. */
static void the_regret_of_every_seed_is_there(void **state)
{
    struct tabular *t = grid(test_seed(), 12);
    struct sim_conf c = { .table = t,
                          .sampler = sampler_find("random"),
                          .scheduler = scheduler_find("none"),
                          .seed = 5,
                          .workers = 1,
                          .n_levels = 1,
                          .ladder = { 1 },
                          .noise = 1,
                          .trials = 40 };
    struct seeds_result all, one;

    (void)state;
    assert_int_equal(seeds_run(&c, 4, &all, NULL), 0);
    for (int k = 0; k < SEEDS_MARKS; k++) {
        double mean = 0;
        for (int i = 0; i < 4; i++)
            mean += all.each[i][k] / 4;
        assert_true(fabs(mean - all.regret[k]) < 1e-12);
    }
    c.seed = 7;
    assert_int_equal(seeds_run(&c, 1, &one, NULL), 0);
    assert_memory_equal(one.each[0], all.each[2], sizeof one.each[0]);
    assert_memory_not_equal(one.each[0], all.each[1], sizeof one.each[0]);
    seeds_result_fini(&one);
    seeds_result_fini(&all);
    tabular_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_searchers_keeps_the_books),
        cmocka_unit_test(without_a_clock_every_trial_ends_and_nothing_trains_twice),
        cmocka_unit_test(a_shorter_clock_cuts_the_same_search_off),
        cmocka_unit_test(epochs_count_when_they_end),
        cmocka_unit_test(in_flight_the_oldest_is_told_and_one_more_asked),
        cmocka_unit_test(a_whole_grid_ends_at_its_best),
        cmocka_unit_test(random_search_meets_its_exact_expectation),
        cmocka_unit_test(the_default_scheduler_stands_misleading_curves),
        cmocka_unit_test(a_searcher_that_breaks_its_contract_is_told),
        cmocka_unit_test(the_regret_of_every_seed_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
