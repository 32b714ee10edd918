/* variant.h - a learning problem prepared in another way: what a trial trains on whose configuration
 * chooses something of the preparation (ml/prep/choice.h).
 *
 * A variant shares rows, target and folds with the problem and has a preparation and matrices of
 * its own. Trials with equal choices share one. It is made at the first call; two choices that come
 * to the same preparation share one as well. A few that no trial uses are kept, the oldest go
 * first. */
#ifndef ML_MODEL_VARIANT_H
#define ML_MODEL_VARIANT_H

#include "ml/model/data.h"

/* Variants that are kept although no trial uses them. */
enum { VARIANTS_IDLE = 4 };

/* What the parameters of a configuration say about the preparation. */
struct prep_choice ml_choice_of(const struct family *f, const double *params);
/* The problem as the choice wants it: d itself where that is what the data suggests. It is in use
 * until ml_variant_put. Any thread may call. */
struct ml_data *ml_variant_get(struct ml_data *d, const struct prep_choice *choice,
                               struct err *err);
/* v: from ml_variant_get on the same d. */
void ml_variant_put(struct ml_data *d, struct ml_data *v);
/* Closes all variants that are not in use. Returns how many. */
int ml_variants_shed(struct ml_data *d);
/* How many there are, in use or not, beside d itself. */
int ml_variants(struct ml_data *d);

#endif
