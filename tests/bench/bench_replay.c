/* bench_replay.c - how long a start needs to rebuild the searchers of a study by making their calls again: each sampler on
 * a mixed space of ten parameters, each scheduler on ladders of nine levels, 16 trials in flight. Processor time of one
 * core; what the same calls took in the study's life stands beside it.
 *   bench_replay [TRIALS=20000] [NAME...] */
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DIMENSIONS = 10, FLIGHT = 16, LEVELS = 9, BATCH = 64, DEAR = 2000 };

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double value_of(int64_t trial, int level)
{
    return (double)(rng_mix((uint64_t)trial, (uint64_t)level) >> 11) * 0x1p-53;
}

/* ---- samplers ---- */

static struct space *mixed(void)
{
    char *texts[] = { "a", "b", "c", "d", "e" };
    struct param params[DIMENSIONS] = {
        { .name = "lr", .kind = PARAM_FLOAT, .lo = 1e-5, .hi = 1, .is_log = true, .def = 0.1 },
        { .name = "l2", .kind = PARAM_FLOAT, .lo = 1e-8, .hi = 10, .is_log = true, .def = 1 },
        { .name = "dropout", .kind = PARAM_FLOAT, .hi = 0.9 },
        { .name = "momentum", .kind = PARAM_FLOAT, .hi = 1 },
        { .name = "leaves", .kind = PARAM_INT, .lo = 2, .hi = 1024, .is_log = true, .def = 31 },
        { .name = "depth", .kind = PARAM_INT, .lo = 1, .hi = 16, .def = 6 },
        { .name = "kind", .kind = PARAM_CATEGORICAL, .n_choices = 5, .choices = texts },
        { .name = "size", .kind = PARAM_ORDINAL, .n_choices = 5, .choices = texts },
        { .name = "share", .kind = PARAM_FLOAT, .lo = 0.1, .hi = 1, .step = 0.1, .def = 1 },
        { .name = "slope", .kind = PARAM_FLOAT, .lo = -1, .hi = 1, .parent_mask = 7 },
    };
    struct space *s = space_new();

    for (int i = 0; i < DIMENSIONS; i++) {
        params[i].parent = params[i].parent_mask ? 6 : -1;
        CHECK(space_add(s, &params[i], NULL) == i);
    }
    return s;
}

/* n trials, each observed when 16 more were proposed; points are filled in, or recalled. */
static struct sampler *sampler_live(const struct sampler_ops *ops, const struct space *space, int n,
                                    double *points, bool by_recall)
{
    struct search_setup setup = { .seed = 1 };
    struct sampler *s = ops->open(space, &setup, NULL);
    double again[DIMENSIONS];

    for (int k = 0; k < n; k++) {
        double *point = points + (size_t)k * DIMENSIONS;
        if (by_recall && ops->recall)
            CHECK(ops->recall(s, k + 1, point, NULL) == 0);
        else
            CHECK(ops->suggest(s, k + 1, 1, by_recall ? again : point, NULL) == 1);
        struct observation o = { .trial = k + 1 - FLIGHT,
                                 .state = OBS_COMPLETED,
                                 .level = 1,
                                 .max_level = 1,
                                 .value = value_of(k + 1 - FLIGHT, 1),
                                 .cost = 1 };
        if (o.trial > 0)
            CHECK(ops->observe(s, &o, NULL) == 0);
    }
    return s;
}

static void measure_sampler(const struct sampler_ops *ops, int n)
{
    struct space *space = mixed();
    double *points = mem_array((size_t)n * DIMENSIONS, sizeof *points);
    double start = now_ms();
    struct sampler *first = sampler_live(ops, space, n, points, false);
    double lived = now_ms() - start;

    start = now_ms();
    struct sampler *second = sampler_live(ops, space, n, points, true);
    double replayed = now_ms() - start;
    printf("sampler   %-9s %7d trials: lived %9.1f ms, replayed %9.1f ms\n", ops->name, n, lived,
           replayed);
    sampler_close(first);
    sampler_close(second);
    mem_free(points);
    space_free(space);
}

/* ---- schedulers ---- */

/* A study of n trials that reports each level it is sent to; decisions depend on nothing but the calls, so a second
 * life makes the same calls. */
static void scheduler_live(const struct scheduler_ops *ops, int n)
{
    struct search_setup setup = { .seed = 1 };
    struct scheduler *s = ops->open(&setup, NULL);
    struct sched_resume resumed = { 0, 0 };
    int started = 0;

    for (;;) {
        int64_t trial = 0, retired[BATCH];
        struct sched_decision d = { SCHED_RUN_TO, 0 };

        if (ops->resume(s, 1, started == n, &resumed, NULL) == 1) {
            trial = resumed.trial;
            d.to = resumed.to;
        } else if (started < n) {
            trial = ++started;
            d.to = ops->start(s, trial, 0, LEVELS, NULL);
        } else {
            break;
        }
        while (d.action == SCHED_RUN_TO) {
            struct observation o = { .trial = trial,
                                     .state = d.to == LEVELS ? OBS_COMPLETED : OBS_RUNNING,
                                     .level = d.to,
                                     .max_level = LEVELS,
                                     .value = value_of(trial, d.to) };
            CHECK(ops->report(s, &o, &d, NULL) == 0);
        }
        while (ops->retire(s, BATCH, started == n, retired, NULL) == BATCH)
            continue;
    }
    scheduler_close(s);
}

static void measure_scheduler(const struct scheduler_ops *ops, int n)
{
    double start = now_ms();

    scheduler_live(ops, n);
    printf("scheduler %-9s %7d trials: replayed %9.1f ms\n", ops->name, n, now_ms() - start);
}

static bool is_picked(const char *name, char **names, int n)
{
    for (int i = 0; i < n; i++) {
        if (str_eq(names[i], name))
            return true;
    }
    return n == 0;
}

int main(int argc, char **argv)
{
    const char *given = getenv("TRIALS");
    int n = given ? (int)strtol(given, NULL, 10) : 20000;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int i = 0; sampler_at(i); i++) {
        const struct sampler_ops *ops = sampler_at(i);
        bool is_dear = str_eq(ops->name, "gp"); /* milliseconds a suggestion, however many trials */
        if (is_picked(ops->name, argv + 1, argc - 1))
            measure_sampler(ops, is_dear ? MIN(n, DEAR) : n);
    }
    for (int i = 0; scheduler_at(i); i++) {
        if (is_picked(scheduler_at(i)->name, argv + 1, argc - 1))
            measure_scheduler(scheduler_at(i), n);
    }
    return 0;
}
