/* searchers.h - the list of samplers and schedulers that a spec may name, in the order help shows them.
 * The searchers themselves know nothing of it; to add one, see README.md. */
#ifndef SEARCH_SEARCHERS_H
#define SEARCH_SEARCHERS_H

#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"

const struct sampler_ops *sampler_find(const char *name); /* NULL = unknown */
const struct sampler_ops *sampler_at(int i);              /* NULL past the end */
const struct scheduler_ops *scheduler_find(const char *name);
const struct scheduler_ops *scheduler_at(int i);

#endif
