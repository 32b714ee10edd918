/* probe.c - a few calls that a study would make next, with trial numbers that no study reaches, hashed with their answers. */
#include "tests/search/probe.h"

#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"

enum { POINTS = 6, SMALL_SPACE = 60, STARTS = 12, MOST_CALLS = 1000 };
static const int64_t FIRST = 1000000000;

/* A value that follows from the trial and the level alone. */
static double value_of(int64_t trial, int level)
{
    return (double)(rng_mix((uint64_t)trial, (uint64_t)level) >> 11) * 0x1p-53;
}

uint64_t probe_sampler(struct sampler *s)
{
    double *point = mem_array((size_t)s->space->n + 1, sizeof *point);
    int n = space_search_size(s->space) <= SMALL_SPACE ? SMALL_SPACE + 1 : POINTS;
    uint64_t hash = 0;

    for (int k = 0; k < n; k++) {
        int rc = s->ops->suggest(s, FIRST + k, 1, point, NULL);
        assert_in_range(rc, 0, 1);
        hash = rng_mix(hash, rc == 1 ? space_hash(s->space, point) : 1);
        struct observation o = { .trial = FIRST + k,
                                 .state = k % 2 ? OBS_COMPLETED : OBS_RUNNING,
                                 .level = 1,
                                 .max_level = 1,
                                 .value = value_of(FIRST + k, 1),
                                 .cost = 1 };
        if (rc == 1 && k % 3)
            assert_int_equal(s->ops->observe(s, &o, NULL), 0);
    }
    mem_free(point);
    return hash;
}

/* A new trial runs as far as it may. */
static uint64_t probe_one(struct scheduler *s, int64_t trial, int family, int max_level)
{
    struct sched_decision d = { SCHED_RUN_TO, s->ops->start(s, trial, family, max_level, NULL) };
    uint64_t hash = (uint64_t)d.to;

    while (d.action == SCHED_RUN_TO) {
        struct observation o = { .trial = trial,
                                 .state = d.to == max_level ? OBS_COMPLETED : OBS_RUNNING,
                                 .level = d.to,
                                 .max_level = max_level,
                                 .value = value_of(trial, d.to) };
        assert_int_equal(s->ops->report(s, &o, &d, NULL), 0);
        hash = rng_mix(hash, (uint64_t)d.action << 32 | (uint32_t)d.to);
    }
    return hash;
}

uint64_t probe_scheduler(struct scheduler *s, const int *max_level, int n_groups)
{
    struct sched_resume resumed = { 0, 0 };
    uint64_t hash = 0;
    int64_t retired = 0;
    int n = 1;

    for (int k = 0; k < STARTS; k++) {
        int family = k % n_groups;
        hash = rng_mix(hash, probe_one(s, FIRST + k, family, max_level[family]));
        if (s->ops->resume(s, 1, k % 4 == 3, &resumed, NULL) == 1)
            hash = rng_mix(hash, (uint64_t)resumed.trial << 8 | (uint32_t)resumed.to);
    }
    for (int calls = 0; n > 0 && calls < MOST_CALLS; calls++) {
        n = s->ops->retire(s, 1, true, &retired, NULL);
        hash = rng_mix(hash, n == 1 ? (uint64_t)retired : 0);
        if (n == 0 && (n = s->ops->resume(s, 1, true, &resumed, NULL)) == 1)
            hash = rng_mix(hash, (uint64_t)resumed.trial << 8 | (uint32_t)resumed.to);
    }
    return hash;
}
