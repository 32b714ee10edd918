/* testhash.c - the test sampler: random points keyed by a hash of the exact sequence of
 * observations so far. It tests determinism: if the controller ever told it results in another
 * order, the study would change, and the test that compares leaderboards would fail. Offered only
 * with --dev. */
#include "search/contract/observation_hash.h"
#include "search/samplers/samplers.h"
#include "search/space/fresh_points.h"

#include "base/mem.h"

struct testhash {
    struct sampler base;
    struct fresh_points fresh;
    struct observation_hash observed;
};

static struct testhash *of(struct sampler *s)
{
    return (struct testhash *)s;
}

static struct sampler *testhash_open(const struct space *space, const struct search_setup *setup,
                                     struct err *err)
{
    struct testhash *t = mem_zalloc(sizeof *t);

    (void)err;
    t->base = (struct sampler){ &search_testhash_sampler, space, setup->seed };
    fresh_points_init(&t->fresh, space);
    observation_hash_init(&t->observed, setup->seed);
    return &t->base;
}

static void testhash_close(struct sampler *s)
{
    fresh_points_fini(&of(s)->fresh);
    observation_hash_fini(&of(s)->observed);
    mem_free(s);
}

static int testhash_suggest(struct sampler *s, int64_t first, int n, double *points,
                            struct err *err)
{
    struct testhash *t = of(s);

    (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (fresh_points_next(&t->fresh, t->observed.value, first + k, point) == 0)
            return k;
    }
    return n;
}

static int testhash_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)fresh_points_mark(&of(s)->fresh, point);
    observation_hash_adopt(&of(s)->observed, trial, space_hash(s->space, point));
    return 0;
}

static int testhash_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)err;
    observation_hash_observe(&of(s)->observed, o);
    return 0;
}

const struct sampler_ops search_testhash_sampler = {
    .name = "testhash",
    .help = "for tests: random points keyed by the sequence of all results so far",
    .is_test_only = true,
    .open = testhash_open,
    .close = testhash_close,
    .suggest = testhash_suggest,
    .adopt = testhash_adopt,
    .observe = testhash_observe,
};
