/* gp.h - the Gaussian process sampler, and what a sampler that consists of several (duo.c) asks
 * it. */
#ifndef SEARCH_SAMPLERS_GP_GP_H
#define SEARCH_SAMPLERS_GP_GP_H

#include "search/contract/sampler.h"

extern const struct sampler_ops search_gp;

/* Whether it has enough results for a model, so that its next suggestion comes from the model and
 * not from the sequence of its start. */
bool gp_is_ready(struct sampler *s);
/* Whether trials seem to fail by chance, not for what they are (gp_luck.h). The model then leaves
 * failed trials out. */
bool gp_fails_by_chance(struct sampler *s);
int gp_trials(const struct sampler *s); /* number of trials proposed or adopted */
/* The share of the results' variance, as the model takes it, that is noise. Only while it is ready;
 * fits first if results have come, and so it is part of the calls that a replay repeats. */
double gp_noise_share(struct sampler *s);
/* From this share of noise on it is much, and what a result says is not to be trusted (gp.c). */
#define GP_MUCH_NOISE 0.17
/* What the model expects at n points, by the hyperparameters that were fitted last: nothing is fitted,
 * so no replay need repeat the call. Only while it is ready, and once the share of noise is known. */
void gp_means(struct sampler *s, const double *points, int n, double *means);

#endif
