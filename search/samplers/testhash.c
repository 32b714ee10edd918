/* testhash.c - the test sampler: random points keyed by a hash of the exact sequence of observations so far. It is the
 * touchstone of determinism: if the controller ever told it of results in another order, the study would change, and
 * the test that compares leaderboards would see it. Offered only with --dev. */
#include "search/contract/chain.h"
#include "search/contract/state.h"
#include "search/samplers/samplers.h"
#include "search/space/draw.h"

#include "base/mem.h"

enum { VERSION = 1 };

struct testhash {
    struct sampler base;
    struct draw draw;
    struct chain chain;
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
    draw_init(&t->draw, space);
    chain_init(&t->chain, setup->seed);
    return &t->base;
}

static void testhash_close(struct sampler *s)
{
    draw_fini(&of(s)->draw);
    chain_fini(&of(s)->chain);
    mem_free(s);
}

static int testhash_suggest(struct sampler *s, int64_t first, int n, double *points,
                            struct err *err)
{
    struct testhash *t = of(s);

    (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (draw_unseen(&t->draw, t->chain.value, first + k, point) == 0)
            return k;
    }
    return n;
}

static int testhash_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)draw_mark(&of(s)->draw, point);
    chain_adopt(&of(s)->chain, trial, space_hash(s->space, point));
    return 0;
}

static int testhash_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)err;
    chain_observe(&of(s)->chain, o);
    return 0;
}

static struct state_head head_of(const struct sampler *s)
{
    return (struct state_head){ s->ops->name, VERSION, space_fingerprint(s->space), s->seed };
}

static int testhash_save(const struct sampler *s, struct buf *out, struct err *err)
{
    const struct testhash *t = (const struct testhash *)s;
    struct state_head head = head_of(s);

    if (state_put(out, &head, err) < 0 || seen_save(&t->draw.seen, out, err) < 0)
        return -1;
    return chain_save(&t->chain, out, err);
}

static int testhash_load(struct sampler *s, struct view *in, struct err *err)
{
    struct state_head head = head_of(s);

    if (state_check(in, &head, err) < 0 || seen_load(&of(s)->draw.seen, in, err) < 0 ||
        chain_load(&of(s)->chain, in, err) < 0)
        return -1;
    return state_end(in, err);
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
    .save = testhash_save,
    .load = testhash_load,
};
