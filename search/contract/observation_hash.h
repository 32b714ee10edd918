/* observation_hash.h - one number that stands for the exact sequence of observations received: what the two test searchers decide
 * by. A repeated observation does not move it; any other order of the same ones gives another number. */
#ifndef SEARCH_CONTRACT_OBSERVATION_HASH_H
#define SEARCH_CONTRACT_OBSERVATION_HASH_H

#include "search/contract/sampler.h"
#include "search/space/hash_set.h"

struct observation_hash {
    uint64_t value;
    struct hash_set links; /* what it is made of, to know repeats */
};

void observation_hash_init(struct observation_hash *c, uint64_t seed);
void observation_hash_fini(struct observation_hash *c);
void observation_hash_observe(struct observation_hash *c, const struct observation *o);
void observation_hash_adopt(struct observation_hash *c, int64_t trial, uint64_t point_hash);

#endif
