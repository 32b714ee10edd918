/* bench_suggest.c - how long one suggestion takes after 100 .. 100,000 finished trials, and what a trial costs in memory:
 * every sampler (or those named) on a mixed space of ten parameters, one core, one trial at a time.
 *   bench_suggest [SAMPLER...] */
#include "base/mem.h"
#include "base/rng.h"
#include "search/contract/sampler.h"
#include "search/searchers.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DIMENSIONS = 10, ASKED = 50 };
static const int sizes[] = { 100, 1000, 2000, 10000, 100000 };

static double now_ms(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Floats, log floats, ints, a category with a child, an ordinal, steps. */
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

static double value_of(const struct space *s, const double *point, struct rng *r)
{
    double unit[DIMENSIONS], sum = 0;

    space_to_unit(s, point, unit);
    for (int i = 0; i < s->n; i++)
        sum -= unit[i] == unit[i] ? (unit[i] - 0.3) * (unit[i] - 0.3) : 0;
    return sum + 0.01 * rng_normal(r);
}

/* History is adopted (random points), so that a slow sampler's own past does not count. */
static void fill(struct sampler *s, int from, int to, struct rng *r)
{
    double unit[DIMENSIONS], point[DIMENSIONS];

    for (int trial = from; trial <= to; trial++) {
        for (int i = 0; i < s->space->n; i++)
            unit[i] = rng_unit(r);
        space_from_unit(s->space, unit, point);
        struct observation o = { .trial = trial, .state = OBS_COMPLETED };
        o.level = o.max_level = 1;
        o.value = value_of(s->space, point, r);
        CHECK(s->ops->adopt(s, trial, point, NULL) == 0);
        CHECK(s->ops->observe(s, &o, NULL) == 0);
    }
}

static void measure(const struct sampler_ops *ops, const struct space *space)
{
    struct search_setup setup = { .seed = 1 };
    struct sampler *s = ops->open(space, &setup, NULL);
    double point[DIMENSIONS];
    struct rng r;
    int trial = 1;

    rng_init(&r, 1, 1);
    CHECK(s);
    size_t before = mallinfo2().uordblks;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        double sum = 0, most = 0, first = 0; /* the first takes in what was adopted */
        fill(s, trial, sizes[k], &r);
        trial = sizes[k] + 1;
        for (int i = 0; i < ASKED; i++) {
            double start = now_ms();
            CHECK(s->ops->suggest(s, trial, 1, point, NULL) == 1);
            double took = now_ms() - start;
            struct observation o = { .trial = trial++, .state = OBS_COMPLETED };
            o.level = o.max_level = 1;
            o.value = value_of(space, point, &r);
            CHECK(s->ops->observe(s, &o, NULL) == 0);
            sum += took;
            first = i == 0 ? took : first;
            most = i == 0 ? 0 : MAX(most, took);
        }
        size_t bytes = (mallinfo2().uordblks + mallinfo2().hblkhd - before) / (size_t)trial;
        printf(
            "%-10s %7d trials  mean %8.3f ms  first %8.3f ms  then at most %8.3f ms  %5zu bytes a trial\n",
            ops->name, sizes[k], sum / ASKED, first, most, bytes);
        (void)fflush(stdout);
        if (sum / ASKED > 1000)
            break;
    }
    sampler_close(s);
}

int main(int argc, char **argv)
{
    struct space *space = mixed();

    for (int i = 0; sampler_at(i); i++) {
        bool is_named = argc < 2 && !sampler_at(i)->is_test_only;
        for (int a = 1; a < argc; a++)
            is_named = is_named || strcmp(argv[a], sampler_at(i)->name) == 0;
        if (is_named)
            measure(sampler_at(i), space);
    }
    space_free(space);
    return 0;
}
