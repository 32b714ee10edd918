/* tpe.h - the samplers of this room, by symbol: for the list in search/searchers.c and for
 * duo.c. */
#ifndef SEARCH_SAMPLERS_TPE_TPE_H
#define SEARCH_SAMPLERS_TPE_TPE_H

#include "search/contract/sampler.h"

extern const struct sampler_ops search_tpe;  /* tpe.c */
extern const struct sampler_ops search_bohb; /* bohb.c */

/* For who knows more: the share of noise in the variance of the values (tpe_split.h), from now on. */
void tpe_heed_noise(struct sampler *tpe, double share);
/* The same for failures: whether they are left out, from now on, because they come by chance. */
void tpe_heed_failures(struct sampler *tpe, bool are_chance);
/* Whether another sampler chooses most of the points, from now on: then, where many trials fail, TPE
 * chooses among fewer candidates. Alone it would be worse after 50 trials. */
void tpe_heed_partner(struct sampler *tpe, bool has_partner);
/* What another model expects at n points of the space, larger is better, in any unit. */
typedef void tpe_opinion(struct sampler *of_whom, const double *points, int n, double *out);
/* From now on TPE hears the other model on its candidates; NULL: on none. */
void tpe_heed_opinion(struct sampler *tpe, tpe_opinion *ask, struct sampler *of_whom);

#endif
