/* fit.h - the engine: one trial of one family, trained over the folds of a table.
 *
 * A trial has one lane (model.h) for each fold. All lanes advance together along the family's free
 * axis (boosting rounds, points of a path, trees). At fixed check points the rows that each fold
 * holds out are scored; the mean curve over the folds chooses one step for all of them and ends the
 * training by patience. Check points are the same however the work is cut into slices, so slicing
 * cannot change a result.
 *
 * Two numbers come out. `select` is the best point of the mean curve; it is optimistic, because the
 * same rows chose it. `score` is cross-fitted: fold f is scored at the step that the other folds
 * would choose, weighted by rows, with a standard error over rows.
 *
 * Knows nothing of studies, HTTP or JSON configurations. Callers: the worker, `assay explain` and
 * benches. One thread works on a trial. */
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
    /* the level of the ladder that was reached */
    int level;
    bool cut; /* stopped by the deadline with its best so far */
    /* folds that the score is of: a cut may leave fewer than all */
    int folds;
    double score, se; /* by data->spec.metric, cross-fitted; NaN when there is none yet */
    /* value of the selection metric at the best point of the mean curve; optimistic */
    double select;
    /* the chosen step of the free axis (boosting rounds) */
    int64_t steps;
    /* the parameters, with what was chosen along the free axis filled in */
    double free_params[FAMILY_MAX_PARAMS];
    /* NaN unless fit_trial_test or fit_trial_ship ran */
    double test_score, test_se;
    /* Likewise; 0 = unknown. predict_ns_row: nanoseconds to predict one row. */
    int64_t predict_ns_row, model_bytes; /* likewise; 0 = unknown */
    /* Wall time in microseconds; cost units (family.cost); bytes. */
    int64_t fit_us, work_units, peak_bytes;
    /* fit_trial_growth; 0 = unknown */
    double growth;
    /* at most 256 */
    int curve_points;
    int64_t curve_step[256];
    double curve_value[256];
};

/* one trial with its lanes, one a fold */
struct fit_trial;

/* holdout: only fold 0 is trained. params: one value for each parameter of the family, in its
 * order. */
struct fit_trial *fit_trial_open(struct ml_data *d, const struct family *f, const double *params,
                                 uint64_t seed, bool holdout, struct err *err);
void fit_trial_close(struct fit_trial *t);
/* What a level of the ladder spends: rounds, rows or the family's own. To be called before the
 * first level and before fit_trial_load; without it FR_AUTO holds. */
void fit_trial_spends(struct fit_trial *t, enum family_resource resource);
/* levels of its ladder */
int fit_trial_levels(const struct fit_trial *t);
/* Trains to `level` of the ladder. Returns 1 when it is reached, 0 when `stop` ended the slice
 * (call again to go on), -1 when the trial failed (err says why). */
int fit_trial_advance(struct fit_trial *t, int level, const struct ml_stop *stop, struct err *err);
/* fit_trial_advance for up to FIT_TOGETHER trials of one family on one table. The first trial
 * advances in any case; the others do as long as the family can train them in the same launches of
 * the device (model.h: fuses). rc and errs: one for each trial; a trial that could not join has rc
 * 0. The time spent is divided evenly among the trials that advanced. */
enum { FIT_TOGETHER = 16 };
/* Whether the trial can join others, as far as is known before it has trained. */
bool fit_trial_fuses(const struct fit_trial *t);
void fit_trials_advance(struct fit_trial *const *trials, const int *levels, int n,
                        const struct ml_stop *stop, int *rc, struct err *errs);
/* The deadline has come: the best result so far becomes the trial's result. Fails when not every
 * fitted fold has a usable step. */
int fit_trial_cut(struct fit_trial *t, struct err *err);
/* 0 to 1 towards the level in training; an estimate */
double fit_trial_progress(const struct fit_trial *t);
/* Valid at a reached level or after a cut. */
int fit_trial_result(struct fit_trial *t, struct fit_result *out, struct err *err);
/* Out-of-fold predictions at the chosen step: rows x n_outputs floats, NaN where a row is held out
 * by no fitted fold. */
int fit_trial_oof(struct fit_trial *t, float *out, struct err *err);
/* A checkpoint. Equal trials give equal bytes. `out` may have a sink that takes bytes as they come. */
int fit_trial_save(struct fit_trial *t, struct buf *out, struct err *err);
/* Reads a checkpoint into a freshly opened trial. ERR_VERSION for another format. */
int fit_trial_load(struct fit_trial *t, struct view *in, struct err *err);
/* The model file: preparation, the fold models cut at the chosen step, schema and metrics. */
int fit_trial_artifact(struct fit_trial *t, struct buf *out, struct err *err);
/* Measures what a finished trial would ship: scores the test rows (test_frame, or the rows set
 * apart), where there are any, with exactly what the model file would predict, and notes the file's
 * size and the time a row takes. Costs one model file and at most about 5 ms of predictions beyond
 * the test rows. */
int fit_trial_test(struct fit_trial *t, struct err *err);
/* The trial's last act: writes its model file into out and runs fit_trial_test on those bytes. Its
 * lanes are closed one by one meanwhile, so that model and lanes are never in memory together. Only
 * its results remain. */
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

/* Refits on all rows but the test rows, with the chosen step scaled to their number (steps * n /
 * n_train). The last act of a holdout study. */
int fit_refit_artifact(struct ml_data *d, const struct family *f, const double *params,
                       uint64_t seed, int64_t steps, const struct ml_stop *stop, struct buf *out,
                       double *test_score, double *test_se, struct err *err);

#endif
