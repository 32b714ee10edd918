/* random.c - the random sampler: independent draws over the space, and no configuration twice while
 * there are unseen ones. Each point is keyed by (seed, trial number), so it does not depend on how
 * many are asked for at once. It learns nothing: its state is the set of points seen. */
#include "search/samplers/samplers.h"
#include "search/space/fresh_points.h"

#include "base/mem.h"

struct random_sampler {
    struct sampler base;
    struct fresh_points fresh;
};

static struct random_sampler *of(struct sampler *s)
{
    return (struct random_sampler *)s;
}

static struct sampler *random_open(const struct space *space, const struct search_setup *setup,
                                   struct err *err)
{
    struct random_sampler *r = mem_zalloc(sizeof *r);

    (void)err;
    r->base = (struct sampler){ &search_random, space, setup->seed };
    fresh_points_init(&r->fresh, space);
    r->fresh.fuse = setup->fuse;
    return &r->base;
}

static void random_close(struct sampler *s)
{
    fresh_points_fini(&of(s)->fresh);
    mem_free(s);
}

static int random_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (fresh_points_next(&of(s)->fresh, s->seed, first + k, point) == 0)
            return k;
    }
    return n;
}

static int random_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    (void)trial;
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)fresh_points_mark(&of(s)->fresh, point);
    return 0;
}

static int random_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)s, (void)o, (void)err;
    return 0;
}

const struct sampler_ops search_random = {
    .name = "random",
    .ignores_results = true,
    .help = "independent random configurations, none of them twice",
    .open = random_open,
    .close = random_close,
    .suggest = random_suggest,
    .adopt = random_adopt,
    .recall = random_adopt, /* a point is keyed by its trial: nothing else was used up */
    .observe = random_observe,
};
