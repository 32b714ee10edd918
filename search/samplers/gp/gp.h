/* gp.h - what a sampler made of several (duo.c) asks its Gaussian process. Private to these. */
#ifndef SEARCH_SAMPLERS_GP_GP_H
#define SEARCH_SAMPLERS_GP_GP_H

#include "search/contract/sampler.h"

extern const struct sampler_ops search_gp;

/* It has results enough for a model: what it suggests next comes from that, not from its start's sequence. */
bool gp_is_ready(struct sampler *s);
int gp_trials(const struct sampler *s); /* proposed or adopted */

#endif
