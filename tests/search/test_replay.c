/* test_replay.c - a restart rebuilds what a study's searchers knew: every sampler and scheduler of the registry, with random
 * options, after random calls in any order, decides the same when it is made anew from a journal of the calls that gave
 * something. Calls that gave nothing stand in no journal, so they must change nothing. */
#include "tests/search/probe.h"
#include "tests/search/schedrun.h"
#include "tests/search/spaces.h"
#include "tests/unit.h"

#include "base/mem.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"

#include <math.h>

enum { MAX_P = 8, CALLS = 60, MOST_POINTS = 5, LEVELS = 6 };

/* What a journal keeps of a call. */
struct said {
    enum { SAID_SUGGEST, SAID_ADOPT, SAID_OBSERVE } what;
    int64_t trial;
    double point[MAX_P];
    struct observation o;
};
struct life {
    const struct sampler_ops *ops;
    const struct space *space;
    struct search_setup setup;
    struct sampler *s;
    struct said said[CALLS * MOST_POINTS];
    int n_said;
    int64_t next;                       /* trial */
    int level[CALLS * MOST_POINTS + 2]; /* by trial; LEVELS = ended */
};

/* ---- setups ---- */

static void random_options(const struct search_option *rows, int n, struct rng *r, double *out)
{
    for (int i = 0; i < n; i++) {
        double most = MIN(rows[i].hi, 3 * rows[i].def + 1), span = MAX(most - rows[i].lo, 0);

        out[i] = rng_below(r, 2) ? rows[i].def : rows[i].lo + span * rng_unit(r);
        if (rows[i].is_int)
            out[i] = floor(out[i]);
    }
}

static struct search_setup random_setup(struct rng *r, bool ranks_by_one, const double *options)
{
    return (struct search_setup){ .seed = rng_u64(r),
                                  .options = options,
                                  .budget_trials = rng_below(r, 2) ? 0 : 30 + rng_below(r, 100),
                                  .parallel = (int)rng_below(r, 3) * 16,
                                  .n_objectives = ranks_by_one ? 1 : 1 + (int)rng_below(r, 3),
                                  .fuse = (int)rng_below(r, 3) * 3 };
}

/* ---- one life ---- */

static void ask(struct life *l, int n)
{
    double points[MOST_POINTS * MAX_P + 1];
    int got = l->ops->suggest(l->s, l->next, n, points, NULL);

    assert_in_range(got, 0, n);
    for (int k = 0; k < got; k++) {
        struct said *s = &l->said[l->n_said++];
        *s = (struct said){ .what = SAID_SUGGEST, .trial = l->next++ };
        memcpy(s->point, points + k * l->space->n, (size_t)l->space->n * sizeof *points);
    }
}

static void adopt(struct life *l, struct rng *r)
{
    struct said *s = &l->said[l->n_said++];

    *s = (struct said){ .what = SAID_ADOPT, .trial = l->next++ };
    spaces_point(l->space, r, s->point);
    assert_int_equal(l->ops->adopt(l->s, s->trial, s->point, NULL), 0);
}

static double random_value(struct rng *r)
{
    static const double odd[] = { NAN, INFINITY, -INFINITY, 0, 1e300, 5e-324 };

    return rng_below(r, 8) ? rng_normal(r) : odd[rng_below(r, ARRAY_LEN(odd))];
}

/* A trial's next report or its end; now and then one of a trial nobody heard of, or of one that ended. */
static void tell(struct life *l, struct rng *r)
{
    int64_t trial = 1 + (int64_t)rng_below(r, (uint32_t)l->next);
    int level = l->level[trial] + 1;
    struct said *s = &l->said[l->n_said++];

    *s = (struct said){ .what = SAID_OBSERVE };
    s->o = (struct observation){ .trial = trial,
                                 .state = OBS_RUNNING,
                                 .level = MIN(level, LEVELS),
                                 .max_level = LEVELS,
                                 .value = random_value(r),
                                 .more = { random_value(r), rng_unit(r), 0 },
                                 .cost = level };
    if (level >= LEVELS || rng_below(r, 3) == 0)
        s->o.state = rng_below(r, 2) ? OBS_COMPLETED : (enum obs_state)rng_below(r, OBS_STATES);
    l->level[trial] = s->o.state == OBS_RUNNING ? MIN(level, LEVELS) : LEVELS;
    assert_int_equal(l->ops->observe(l->s, &s->o, NULL), 0);
}

static void live(struct life *l, struct rng *r, int calls)
{
    for (int i = 0; i < calls; i++) {
        uint32_t what = rng_below(r, 10);

        if (what < 4)
            ask(l, rng_below(r, 3) ? 1 : 1 + (int)rng_below(r, MOST_POINTS));
        else if (what == 4)
            adopt(l, r);
        else
            tell(l, r);
    }
}

/* ---- another one ---- */

/* by_recall: the calls as a restart gives them, else as they were given, but one by one. */
static struct sampler *rebuilt(const struct life *l, bool by_recall)
{
    struct sampler *s = l->ops->open(l->space, &l->setup, NULL);
    double point[MAX_P + 1];

    for (int i = 0; i < l->n_said; i++) {
        const struct said *said = &l->said[i];

        if (said->what == SAID_OBSERVE) {
            assert_int_equal(l->ops->observe(s, &said->o, NULL), 0);
        } else if (said->what == SAID_ADOPT) {
            assert_int_equal(l->ops->adopt(s, said->trial, said->point, NULL), 0);
        } else if (by_recall && l->ops->recall) {
            assert_int_equal(l->ops->recall(s, said->trial, said->point, NULL), 0);
        } else {
            assert_int_equal(l->ops->suggest(s, said->trial, 1, point, NULL), 1);
            assert_true(space_points_equal(l->space, point, said->point));
        }
    }
    return s;
}

static void live_and_rebuild(const struct sampler_ops *ops, const struct space *space,
                             struct rng *r)
{
    static struct life l;
    double options[SEARCH_MAX_OPTIONS];

    l = (struct life){ .ops = ops, .space = space, .next = 1 };
    random_options(ops->options, ops->n_options, r, options);
    l.setup = random_setup(r, ops->ranks_by_one, options);
    l.s = ops->open(space, &l.setup, NULL);
    if (!l.s) /* a Gaussian process takes no large spaces, and says so */
        return;
    live(&l, r, (int)rng_below(r, CALLS));
    struct sampler *again = rebuilt(&l, false), *recalled = rebuilt(&l, true);
    uint64_t want = probe_sampler(l.s);
    if (probe_sampler(again) != want || probe_sampler(recalled) != want)
        fail_msg("%s: another state after a restart", ops->name);
    sampler_close(again);
    sampler_close(recalled);
    sampler_close(l.s);
}

static void rebuild_all(uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed, 1);
    for (int round = 0; round < 40; round++) {
        struct space *s = spaces_random(&r, round % 4 ? MAX_P : 3, rng_below(&r, 2));
        for (int i = 0; sampler_at(i); i++)
            live_and_rebuild(sampler_at(i), s, &r);
        space_free(s);
    }
}

static void samplers_are_rebuilt_as_they_were(void **state)
{
    (void)state;
    rebuild_all(test_seed());
}

/* In each of these lives `duo` looks at a branch of which every point was seen. That closes the
 * branch, which a restart once forgot. */
static void branches_without_a_point_left_stay_closed(void **state)
{
    static const uint64_t seeds[] = { 475140, 506816, 478766057 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(seeds); i++)
        rebuild_all(seeds[i]);
}

/* ---- schedulers ---- */

static void schedulers_are_rebuilt_as_they_were(void **state)
{
    static struct schedrun run;
    double options[SEARCH_MAX_OPTIONS];
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int i = 0; scheduler_at(i); i++) {
        const struct scheduler_ops *ops = scheduler_at(i);
        for (int round = 0; round < 15; round++) {
            random_options(ops->options, ops->n_options, &r, options);
            run = (struct schedrun){ .ops = ops,
                                     .setup = random_setup(&r, true, options),
                                     .n_trials = 20 + (int)rng_below(&r, 60),
                                     .slots = 1 + (int)rng_below(&r, 20),
                                     .n_groups = 1 + (int)rng_below(&r, 3),
                                     .max_level = { 1 + (int)rng_below(&r, 81), 9, 1 } };
            schedrun_stormy(&run, &r);
            schedrun_replay(&run);
            schedrun_close(&run);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samplers_are_rebuilt_as_they_were),
        cmocka_unit_test(branches_without_a_point_left_stay_closed),
        cmocka_unit_test(schedulers_are_rebuilt_as_they_were),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
