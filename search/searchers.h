/* searchers.h - the list of samplers and schedulers that a spec may name, in the order in which
 * help and docs/SPEC.md show them. The searchers themselves know nothing of this list. README.md
 * says how to add one. */
#ifndef SEARCH_SEARCHERS_H
#define SEARCH_SEARCHERS_H

#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"

const struct sampler_ops *sampler_find(const char *name); /* NULL = unknown */
const struct sampler_ops *sampler_at(int i);              /* NULL past the end */
const struct scheduler_ops *scheduler_find(const char *name);
const struct scheduler_ops *scheduler_at(int i);

#endif
