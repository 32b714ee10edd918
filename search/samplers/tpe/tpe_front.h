/* tpe_front.h - the good trials when several objectives are wanted. Private to the TPE sampler.
 *
 * As in Optuna (multi-objective TPE, Ozaki et al., GECCO 2020): whole non-dominated fronts as long as they fit, of the next
 * one those that add most hypervolume, one after the other. A long history is first thinned by a tournament: of each
 * block of neighbours in age the better ranks go on. */
#ifndef SEARCH_SAMPLERS_TPE_TPE_FRONT_H
#define SEARCH_SAMPLERS_TPE_TPE_FRONT_H

#include "search/contract/history.h"

/* Of the n trials `rows`, those with the first `want` places: their rows into out (room for `want`), returns how many.
 * values: n x m, larger is better. */
int tpe_front_best(const double *values, const int *rows, int n, int m, int want, int *out);

#endif
