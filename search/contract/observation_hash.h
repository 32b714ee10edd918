/* observation_hash.h - one number that stands for the exact sequence of observations received. The
 * two searchers for tests (testhash.c, testhash_sched.c) decide by it. A repeated observation does
 * not change it; the same observations in another order give another number. */
#ifndef SEARCH_CONTRACT_OBSERVATION_HASH_H
#define SEARCH_CONTRACT_OBSERVATION_HASH_H

#include "search/contract/sampler.h"
#include "search/space/hash_set.h"

struct observation_hash {
    uint64_t value;
    struct hash_set links; /* the observations that it is made of, to recognise repeats */
};

void observation_hash_init(struct observation_hash *c, uint64_t seed);
void observation_hash_fini(struct observation_hash *c);
void observation_hash_observe(struct observation_hash *c, const struct observation *o);
void observation_hash_adopt(struct observation_hash *c, int64_t trial, uint64_t point_hash);

#endif
