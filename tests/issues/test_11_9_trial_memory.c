/* test_11_9_trial_memory.c - issue 11 point 9: the controller grew by 1.35 kB a trial, of which most was the sampler's: every
 * point was kept three times, with room for the parameters of all families. A trial may take 600 bytes and eight for each
 * value of its configuration. Counted is what malloc says is in use, so the figure is the same in every run. */
#include "tests/rig.h"

#include "base/mem.h"
#include "search/searchers.h"

#include <math.h>

enum { TRIALS = 20000, PROMISE = 600, LISTS = 4 * 3 };

struct searchers {
    struct sampler *sampler;
    struct scheduler *scheduler;
    int64_t values; /* of all configurations */
};

static void tell(struct searchers *s, struct observation *o, enum obs_state state)
{
    struct sched_decision d = { 0 };

    o->state = state;
    assert_int_equal(s->scheduler->ops->report(s->scheduler, o, &d, NULL), 0);
    assert_int_equal(s->sampler->ops->observe(s->sampler, o, NULL), 0);
    if (state == OBS_RUNNING && d.action == SCHED_RUN_TO) {
        o->level = d.to;
        tell(s, o, d.to == o->max_level ? OBS_COMPLETED : OBS_RUNNING);
    }
}

/* A trial with a random configuration, from its start to its end. */
static void trial_run(struct searchers *s, const struct space *space, struct rng *rng,
                      int64_t trial)
{
    struct observation o = { .trial = trial, .max_level = 4, .value = rng_unit(rng), .cost = 5 };
    double *point = mem_array((size_t)space->n, sizeof *point);

    for (int i = 0; i < space->n; i++)
        point[i] = rng_unit(rng);
    space_from_unit(space, point, point);
    for (int i = 0; i < space->n; i++)
        s->values += !isnan(point[i]);
    assert_int_equal(s->sampler->ops->adopt(s->sampler, trial, point, NULL), 0);
    o.level = s->scheduler->ops->start(s->scheduler, trial, (int)point[0], o.max_level, NULL);
    assert_true(o.level >= 1);
    tell(s, &o, OBS_RUNNING);
    tell(s, &o, OBS_PRUNED);
    mem_free(point);
}

static void a_trial_takes_what_was_promised(void **state)
{
    struct search_setup setup = { .seed = 1, .n_objectives = 1 };
    struct searchers s = { 0 };
    struct rng rng;
    struct rig r;

    (void)state;
    rng_init(&rng, 1, 1);
    rig_open(&r);
    rig_dataset(&r, "d");
    int64_t id = rig_study(&r, "{'name':'s','dataset':'d','target':'y','budget':{'time':'10h'}}");
    const struct study *st = rig_get(&r, id);
    const struct space *space = st->space.space;
    double *points = mem_array((size_t)space->n, sizeof *points);
    int64_t before = mem_in_use();
    s.sampler = sampler_find(st->problem.search.sampler)->open(space, &setup, NULL);
    s.scheduler = scheduler_find(st->problem.search.scheduler)->open(&setup, NULL);
    for (int64_t trial = 1; trial <= TRIALS; trial++)
        trial_run(&s, space, &rng, trial);
    assert_int_equal(s.sampler->ops->suggest(s.sampler, TRIALS + 1, 1, points, NULL), 1);
    int64_t searched = (mem_in_use() - before) / TRIALS, values = s.values / TRIALS + 1;
    int64_t own = (int64_t)sizeof *st->trials + LISTS;
    printf("a trial: %d bytes of the searchers, %d of its own, %d values\n", (int)searched,
           (int)own, (int)values);
    assert_true(before == 0 || searched + own + own / 4 <= PROMISE + 8 * values);
    sampler_close(s.sampler);
    scheduler_close(s.scheduler);
    mem_free(points);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_trial_takes_what_was_promised) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
