/* probe.h - what a sampler or a scheduler would decide next, as one number: equal numbers mean searchers in the same
 * state, as far as decisions can tell. Asking uses the searcher up: close it afterwards, or build it again. */
#ifndef TESTS_SEARCH_PROBE_H
#define TESTS_SEARCH_PROBE_H

#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"

uint64_t probe_sampler(struct sampler *s);
/* max_level: of each group's ladder. */
uint64_t probe_scheduler(struct scheduler *s, const int *max_level, int n_groups);

#endif
