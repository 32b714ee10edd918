/* tpe_front.h - the good trials if there are several objectives. Private to the TPE sampler.
 *
 * As in Optuna's multi-objective TPE (Ozaki et al., GECCO 2020): whole non-dominated fronts are
 * good as long as they fit. Of the first front that does not fit, those trials are good that add
 * the most hypervolume, chosen one after the other. A long history is first thinned by a
 * tournament: of each block of trials that are neighbours in age, only the better ranks go on. */
#ifndef SEARCH_SAMPLERS_TPE_TPE_FRONT_H
#define SEARCH_SAMPLERS_TPE_TPE_FRONT_H

#include "search/contract/history.h"

/* Puts the best `want` of the n trials `rows` into out (room for `want`) and returns their number.
 * values: n x m, larger is better. */
int tpe_front_best(const double *values, const int *rows, int n, int m, int want, int *out);

#endif
