/* fit.h - the engine: trials over folds. A trial's folds advance together; along free axes one value is chosen for all
 * folds from the fold-mean curve (patience on the same curve at fixed check rounds, so slicing cannot change it).
 * Two numbers: `select` = the pooled optimum; `score` = cross-fitted (fold f scored at the value the other folds choose),
 * row-weighted over folds, standard error from rows. Never knows of studies, HTTP or JSON configs. */
#ifndef ML_FIT_FIT_H
#define ML_FIT_FIT_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/family/family.h"
#include "ml/model/data.h"
#include "ml/model/model.h"

#include <stdbool.h>
#include <stdint.h>

struct fit_result {
    int level;        /* reached */
    bool cut;         /* stopped by the deadline with its best so far */
    int folds;        /* that the score is of: a cut may leave fewer than all */
    double score, se; /* by data->spec.metric, cross-fitted; NaN when there is none yet */
    double select;    /* pooled optimum of the selection metric */
    int64_t steps;    /* chosen free-axis value (boosting rounds) */
    double free_params[FAMILY_MAX_PARAMS]; /* params with chosen free-axis values filled in */
    double test_score, test_se;            /* NaN unless fit_trial_test ran */
    int64_t predict_ns_row, model_bytes;   /* likewise; 0 = unknown */
    int64_t fit_us, work_units, peak_bytes;
    double growth;    /* fit_trial_growth; 0 = unknown */
    int curve_points; /* <= 256 */
    int64_t curve_step[256];
    double curve_value[256];
};

struct fit_trial; /* one trial with its fold lanes */

/* holdout: only fold 0. params: one per family parameter. */
struct fit_trial *fit_trial_open(struct ml_data *d, const struct family *f, const double *params,
                                 uint64_t seed, bool holdout, struct err *err);
void fit_trial_close(struct fit_trial *t);
/* What its levels spend; before the first of them, and before fit_trial_load. Left out: FR_AUTO. */
void fit_trial_spends(struct fit_trial *t, enum family_resource resource);
int fit_trial_levels(const struct fit_trial *t); /* of its ladder */
/* Trains to `level` of the ladder. 1 = reached, 0 = stopped by `stop` (call again to go on), -1 = failed (err says why). */
int fit_trial_advance(struct fit_trial *t, int level, const struct ml_stop *stop, struct err *err);
/* fit_trial_advance of up to FIT_TOGETHER trials of one family on one table. The first goes on whatever happens; the others
 * as long as the family trains them in the same launches (model.h: fuses). rc, errs: of each; a trial that could not come
 * along has 0. Time is shared among those that went. */
enum { FIT_TOGETHER = 16 };
bool fit_trial_fuses(
    const struct fit_trial *t); /* it does, as far as it is known before it has trained */
void fit_trials_advance(struct fit_trial *const *trials, const int *levels, int n,
                        const struct ml_stop *stop, int *rc, struct err *errs);
/* The deadline came: settle for the best so far. -1 when not one usable step exists on every fitted fold. */
int fit_trial_cut(struct fit_trial *t, struct err *err);
double fit_trial_progress(
    const struct fit_trial *t); /* 0..1 towards the level being trained, a guess */
int fit_trial_result(struct fit_trial *t, struct fit_result *out,
                     struct err *err); /* at a reached level or after a cut */
/* Out-of-fold predictions of the chosen free values: rows x n_outputs floats, NaN where a row is in no fitted fold. */
int fit_trial_oof(struct fit_trial *t, float *out, struct err *err);
int fit_trial_save(struct fit_trial *t, struct buf *out,
                   struct err *err); /* checkpoint; deterministic bytes; out may have a sink */
int fit_trial_load(struct fit_trial *t, struct view *in,
                   struct err *err); /* into a freshly opened one; ERR_VERSION for another format */
/* The shippable pipeline: preparation + the bag of fold models cut at the chosen value + schema + metrics. */
int fit_trial_artifact(struct fit_trial *t, struct buf *out, struct err *err);
/* What a finished trial would ship: scores the test rows (test_frame, or rows set apart), where there are any, with exactly
 * what the artifact would predict, and takes the artifact's size and how long it takes for a row. Costs an artifact and at
 * most some 5 ms of predictions beyond the test rows. */
int fit_trial_test(struct fit_trial *t, struct err *err);
/* A trial's last act: its artifact into out, then the same test on those bytes. Its lanes are closed in between, so that
 * model and lanes are not held at once; what is left of it are its results. */
int fit_trial_ship(struct fit_trial *t, struct buf *out, struct err *err);
int64_t fit_trial_bytes(const struct fit_trial *t);
/* What the next tree, or shipping what there is, will take on top. */
int64_t fit_trial_spare_bytes(const struct fit_trial *t);
/* What trees took against the family's formula (family_shape.growth), at a reached level; 0 = nothing to say. */
double fit_trial_growth(const struct fit_trial *t);
/* What the trial will hold while it is trained to `level`: by its own growth where a level was reached, else by `growth`
 * (of others; 0 = unknown). least: of this what rows and columns alone take, and its first tree. */
int64_t fit_trial_estimate(const struct fit_trial *t, int level, double growth);
/* The same once it has trees of this level, by their size and the end that is now in sight; 0 = it has none yet. */
int64_t fit_trial_revised(const struct fit_trial *t, double growth);
int64_t fit_trial_least_bytes(const struct fit_trial *t, int level, double growth);
/* What it will take until it should ask again, while it is trained to `level`: where the end is known (a number of trees, or
 * no trees at all) of the whole level, as soon as its first trees have told their size; where patience decides, a bit more
 * than it holds, until the end is in sight. ask: it should when fit_trial_bytes says more; the rest is for trees in growth.
 * Shipping comes on top: ship says what that will hold. */
int64_t fit_trial_next_bytes(const struct fit_trial *t, int level, double growth, int64_t *ask);
int64_t fit_trial_ship_bytes(const struct fit_trial *t);
/* Nearly so much a checkpoint takes now, and at most a model file (fit_trial_ship's ends at ARTIFACT_MAX_BYTES). */
int64_t fit_trial_file_bytes(const struct fit_trial *t);

/* Refit on all non-test rows with the free-axis value scaled to them (steps * n / n_train): holdout's last act. */
int fit_refit_artifact(struct ml_data *d, const struct family *f, const double *params,
                       uint64_t seed, int64_t steps, const struct ml_stop *stop, struct buf *out,
                       double *test_score, double *test_se, struct err *err);

#endif
