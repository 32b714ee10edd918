/* specnames.h - whether samplers, schedulers and families that a spec names are there, for programs
 * that start a controller of their own: it would refuse them only after the tables were uploaded. */
#ifndef CLI_SPECNAMES_H
#define CLI_SPECNAMES_H

#include "base/err.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"

#include <jansson.h>

/* The searcher of that name; NULL and an error at `where`, with the nearest name. */
const struct sampler_ops *specnames_sampler(const char *where, const char *name, struct err *err);
const struct scheduler_ops *specnames_scheduler(const char *where, const char *name,
                                                struct err *err);
/* All names of a spec that spec_parse takes. An error has the path of its key. */
int specnames_check(const json_t *spec, struct err *err);

#endif
