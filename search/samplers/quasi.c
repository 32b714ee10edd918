/* quasi.c - the Sobol and Halton samplers: scrambled low-discrepancy sequences (space/sobol.c,
 * space/halton.c), led through the space by quasi_points.h. They learn nothing; their state is how
 * much of the sequence is used and which points were seen. They suit studies that want to cover a
 * space evenly: as a start for models, for an estimate of importance, or with a budget too small
 * for a model. */
#include "search/samplers/samplers.h"
#include "search/space/quasi_points.h"

#include "base/mem.h"

struct quasi {
    struct sampler base;
    struct quasi_points points;
};

static struct quasi *of(struct sampler *s)
{
    return (struct quasi *)s;
}

static struct sampler *quasi_new(const struct sampler_ops *ops, const struct sequence_ops *sequence,
                                 const struct space *space, uint64_t seed)
{
    struct quasi *q = mem_zalloc(sizeof *q);

    q->base = (struct sampler){ ops, space, seed };
    quasi_points_init(&q->points, space, sequence, seed);
    return &q->base;
}

static struct sampler *sobol_open(const struct space *space, const struct search_setup *setup,
                                  struct err *err)
{
    (void)err;
    return quasi_new(&search_sobol, &sequence_sobol, space, setup->seed);
}

static struct sampler *halton_open(const struct space *space, const struct search_setup *setup,
                                   struct err *err)
{
    (void)err;
    return quasi_new(&search_halton, &sequence_halton, space, setup->seed);
}

static void quasi_close(struct sampler *s)
{
    quasi_points_fini(&of(s)->points);
    mem_free(s);
}

static int quasi_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    (void)first, (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (quasi_points_next(&of(s)->points, point) == 0)
            return k;
    }
    return n;
}

static int quasi_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    (void)trial;
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)quasi_points_mark(&of(s)->points, point);
    return 0;
}

static int quasi_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)s, (void)o, (void)err;
    return 0;
}

const struct sampler_ops search_sobol = {
    .name = "sobol",
    .ignores_results = true,
    .help = "covers the space evenly: scrambled Sobol sequence, no configuration twice",
    .open = sobol_open,
    .close = quasi_close,
    .suggest = quasi_suggest,
    .adopt = quasi_adopt,
    .observe = quasi_observe,
};

const struct sampler_ops search_halton = {
    .name = "halton",
    .ignores_results = true,
    .help = "covers the space evenly: scrambled Halton sequence, no configuration twice",
    .open = halton_open,
    .close = quasi_close,
    .suggest = quasi_suggest,
    .adopt = quasi_adopt,
    .observe = quasi_observe,
};
