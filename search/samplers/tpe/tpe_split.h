/* tpe_split.h - which trials TPE calls good and which bad. Private to the TPE sampler.
 *
 * One level is modelled: the highest that has at least max(d + 1, 8) values (d = parameters of a
 * point), otherwise the one with the most values. Trials are ranked in this order: first those with
 * a value at that level (or only above it), best first; then those that came less far, by level and
 * value; failed trials last, and they are never good. The first ceil(n / 10) trials are good, at
 * most 25. A running trial counts by the levels that it has reported. Where it is known that a share
 * of the values' variance is noise, up to three times as many are good, because the best tenth is
 * then the luckiest tenth: all of three times from a half upwards. Where failures are known to come
 * by chance, failed trials are left out and count nowhere.
 *
 * With several objectives the good trials come from the fronts (tpe_front.h), at most 50. */
#ifndef SEARCH_SAMPLERS_TPE_TPE_SPLIT_H
#define SEARCH_SAMPLERS_TPE_TPE_SPLIT_H

#include "search/contract/history.h"

struct tpe_split {
    int n; /* trials with a verdict */
    int n_good, n_bad, cap;
    int *good, *bad; /* rows, by trial */
    double thinned;  /* how many bad trials each entry of `bad` stands for */
    uint8_t *place;  /* per row: 1 = the best .. n_good; 0 = not good */
    double noise;    /* the share of noise in the values' variance, set by the caller; 0 = none */
    bool is_without_failed; /* set by the caller: failed trials are neither good nor bad */
};

void tpe_split_init(struct tpe_split *s);
void tpe_split_fini(struct tpe_split *s);
/* False if fewer than `least` trials have a verdict. */
bool tpe_split_make(struct tpe_split *s, const struct history *h, int n_joint, int n_objectives,
                    int least, uint64_t seed);

#endif
