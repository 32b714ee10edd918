/* tpe_split.h - which trials TPE calls good and which bad. Private to the TPE sampler.
 *
 * The level modelled is the highest with at least max(d + 1, 8) values (d = parameters of a point), else the one with
 * most. Trials stand in the order: those with a value there (or above it only), best first; then those that came less far,
 * by level, then value; failed ones last and never good. The first ceil(n / 10), at most 25, are good. Running trials
 * count by the levels they reported. With several objectives the good ones come from the fronts (tpe_front.h), at most 50. */
#ifndef SEARCH_SAMPLERS_TPE_TPE_SPLIT_H
#define SEARCH_SAMPLERS_TPE_TPE_SPLIT_H

#include "search/contract/history.h"

struct tpe_split {
    int n; /* trials with a verdict */
    int n_good, n_bad, cap;
    int *good, *bad; /* rows, by trial */
    double thinned;  /* bad trials each of `bad` stands for */
    uint8_t *place;  /* per row: 1 = the best .. n_good; 0 = not good */
};

void tpe_split_init(struct tpe_split *s);
void tpe_split_fini(struct tpe_split *s);
/* False when there are fewer than `least` trials with a verdict. */
bool tpe_split_make(struct tpe_split *s, const struct history *h, int n_joint, int n_objectives,
                    int least, uint64_t seed);

#endif
