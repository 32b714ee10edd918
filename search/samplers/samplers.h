/* samplers.h - the samplers of this room by symbol, for the list in search/searchers.c and for
 * duo.c. */
#ifndef SEARCH_SAMPLERS_SAMPLERS_H
#define SEARCH_SAMPLERS_SAMPLERS_H

#include "search/contract/sampler.h"

extern const struct sampler_ops search_random;           /* random.c */
extern const struct sampler_ops search_grid;             /* grid.c */
extern const struct sampler_ops search_sobol;            /* quasi.c */
extern const struct sampler_ops search_halton;           /* quasi.c */
extern const struct sampler_ops search_families;         /* families.c */
extern const struct sampler_ops search_duo;              /* duo.c */
extern const struct sampler_ops search_local;            /* local.c */
extern const struct sampler_ops search_testhash_sampler; /* testhash.c */

#endif
