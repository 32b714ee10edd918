/* observation_hash.c - value = mix(value, link) for each new observation. It is a unit of its own
 * so that both test searchers see the same sequence as one number, which a test can also compute
 * for itself. */
#include "search/contract/observation_hash.h"

#include "base/rng.h"

#include <string.h>

void observation_hash_init(struct observation_hash *c, uint64_t seed)
{
    c->value = rng_mix(seed, 1);
    hash_set_init(&c->links);
}

void observation_hash_fini(struct observation_hash *c)
{
    hash_set_fini(&c->links);
}

static void link_add(struct observation_hash *c, uint64_t link)
{
    if (hash_set_add(&c->links, link))
        c->value = rng_mix(c->value, link);
}

static uint64_t bits_of(double v)
{
    uint64_t bits = 0;

    if (v != v) /* all NaNs count as equal */
        return 1;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

void observation_hash_observe(struct observation_hash *c, const struct observation *o)
{
    uint64_t h = rng_mix((uint64_t)o->trial, (uint64_t)o->state);

    h = rng_mix(h, (uint64_t)(uint32_t)o->level << 32 | (uint32_t)o->max_level);
    h = rng_mix(rng_mix(h, bits_of(o->value)), bits_of(o->cost));
    h = rng_mix(h, o->error > 0 ? bits_of(o->error) : 0);
    for (size_t i = 0; i < ARRAY_LEN(o->more); i++)
        h = rng_mix(h, bits_of(o->more[i]));
    link_add(c, h);
}

void observation_hash_adopt(struct observation_hash *c, int64_t trial, uint64_t point_hash)
{
    link_add(c, rng_mix(rng_mix((uint64_t)trial, OBS_STATES), point_hash));
}
