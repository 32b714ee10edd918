/* chain.h - one number that stands for the exact sequence of observations received: what the two test searchers decide
 * by. A repeated observation does not move it; any other order of the same ones gives another number. */
#ifndef SEARCH_CONTRACT_CHAIN_H
#define SEARCH_CONTRACT_CHAIN_H

#include "search/contract/sampler.h"
#include "search/space/seen.h"

struct chain {
    uint64_t value;
    struct seen links; /* what it is made of, to know repeats */
};

void chain_init(struct chain *c, uint64_t seed);
void chain_fini(struct chain *c);
void chain_observe(struct chain *c, const struct observation *o);
void chain_adopt(struct chain *c, int64_t trial, uint64_t point_hash);
int chain_save(const struct chain *c, struct buf *out, struct err *err);
int chain_load(struct chain *c, struct view *in, struct err *err);

#endif
