/* pool_margins.h - what a pool's weights are learnt from (pool_fit.h).
 *
 * Of a row count its margins: for each model and each class that did not come the logarithm of its
 * probability less that of the class that came. With z = weights x margins the loss of the row is
 * log(1 + sum of exp(z)).
 *
 * Of more than POOL_WIDE classes the POOL_KEPT of the largest z at some weights have margins,
 * and the rest have one together: log(sum of exp(z)) over them, as a linear function of the weights
 * that has its value and its slope at those weights. So the loss and its slope are exact there. Of 200
 * classes most have next to none of the probability, and with margins for all of them there was time to
 * look at a few hundred rows only. */
#ifndef ML_ENSEMBLE_POOL_MARGINS_H
#define ML_ENSEMBLE_POOL_MARGINS_H

#include "ml/ensemble/predictions.h"

#include <stdint.h>

/* Models that are looked at, the first ones. */
enum { POOL_MOST_MODELS = 24 };

/* What a pool is fitted to. */
struct pool_fit {
    /* [models] of classes, all of the same rows */
    const struct predictions *const *models;
    int n_models;
    /* [held.n] 1 = the row is used; NULL = all are. Of many rows a random part is used. */
    const uint8_t *use;
    /* members at most */
    int most;
    uint64_t seed;
};

enum { POOL_KEPT = 15, POOL_WIDE = 40 };

struct margins {
    int n_models;
    /* of a row and model */
    int others;
    int64_t n;
    /* [n][n_models][others] */
    float *x;
    /* [n] what is added to the z of the rest, which is the last of a row; NULL = there is no rest */
    double *shift;
    /* [n] what a row counts, their mean is 1; NULL = all alike */
    double *weight;
    /* [others] scratch */
    double *z;
    /* What each model would weigh if the rows did not say: in proportion to 1 / (its loss alone)^2, with the
     * sum 1. Equal weights drew models up that are worse by far, where few rows have a loss to say so. */
    double prior[POOL_MOST_MODELS];
    /* the rows that are looked at [n], and the models which[n_models] */
    const struct pool_fit *f;
    const int *which;
    int64_t *rows;
};

/* At most `most` margins, of the models which[0..n), which must live as long. The rest is taken at the
 * prior weights. Fails without memory; margins_fini in any case. */
int margins_init(struct margins *m, const struct pool_fit *f, const int *which, int n, int most,
                 struct err *err);
/* Takes the rest at these weights [n_models]; nothing to do where there is none. */
void margins_move(struct margins *m, const double *weight);
void margins_fini(struct margins *m);

#endif
