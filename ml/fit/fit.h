/* fit.h - one trial of one family, trained over the folds of a table: the engine of the worker.
 *
 * A trial has one lane (model.h) for each fold. All lanes advance together along the family's free
 * axis (boosting rounds, points of a penalty path, trees). At fixed check points the rows that each
 * fold holds out are scored. The mean curve over the folds chooses one step for all of them, and
 * ends the training by patience: when no point has improved on the best one for so many steps.
 * Check points are the same however the work is cut into slices, so slicing cannot change a result.
 *
 * Two numbers come out. `select` is the best point of the mean curve; it is optimistic, because the
 * same rows chose it. `score` is cross-fitted: fold f is scored at the step that the other folds
 * would choose, weighted by rows, with a standard error over rows, or over groups or folds where rows
 * of one err together (fit_blocks.c). Probabilities are calibrated for
 * it, and the threshold of two classes is tuned, by what the other folds taught (fit_adjust.c).
 *
 * Knows nothing of studies, HTTP or JSON configurations. Callers: the worker, `assay explain` and
 * benches. One thread works on a trial. */
#ifndef ML_FIT_FIT_H
#define ML_FIT_FIT_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/adjust/adjust.h"
#include "ml/ensemble/predictions.h"
#include "ml/family/family.h"
#include "ml/model/data.h"
#include "ml/model/model.h"

#include <stdbool.h>
#include <stdint.h>

/* The most blocks of rows that a score is told for (fit_blocks.c). */
enum { FIT_BLOCKS = 32 };

struct fit_result {
    /* the level of the ladder that was reached */
    int level;
    /* stopped by the deadline, with its best result so far */
    bool cut;
    /* folds that the score is of: a cut may leave fewer than all */
    int folds;
    /* of the first fold alone, by the study's metric, at the chosen step; NaN = undefined there */
    double first_score;
    double score, se; /* by data->spec.metric, cross-fitted; NaN when there is none yet */
    /* value of the selection metric at the best point of the mean curve; optimistic */
    double select;
    /* the chosen step of the free axis (boosting rounds) */
    int64_t steps;
    /* the parameters, with what was chosen along the free axis filled in */
    double free_params[FAMILY_MAX_PARAMS];
    /* NaN unless fit_trial_test or fit_trial_ship ran. */
    double test_score, test_se;
    /* Also from fit_trial_test or fit_trial_ship; 0 = unknown. Nanoseconds to predict one row;
     * bytes of the model file. */
    int64_t predict_ns_row, model_bytes; /* likewise; 0 = unknown */
    /* Wall time in microseconds; cost units (family.cost); bytes. */
    int64_t fit_us, work_units, peak_bytes;
    /* fit_forecast.growth; 0 = unknown */
    double growth;
    /* The mean curve of the selection metric over the fitted folds; of a longer one, evenly spaced
     * points and the last. */
    int curve_points;
    int64_t curve_step[256];
    double curve_value[256];
    /* What fit_trial_blocks said, where the caller asked it; else 0. */
    int n_blocks;
    double block[FIT_BLOCKS], order;
};

/* How the networks of a trial learned since its folds last began anew. No epochs: a family without
 * them, or the first one has not ended. NaN = not known. */
enum { FIT_EPOCHS = 256 };
struct fit_epochs {
    /* the level that the folds began with, and how many folds there are */
    int level, folds;
    /* of value: the one that chooses between epochs */
    enum metric_id metric;
    int n;
    int64_t epoch[FIT_EPOCHS];
    /* means over the folds: training loss, metric of the held-out rows, length of the gradient */
    double loss[FIT_EPOCHS], value[FIT_EPOCHS], norm[FIT_EPOCHS];
    /* learning rate at the end of the epoch; rows trained a second, by the clock */
    double rate[FIT_EPOCHS], speed[FIT_EPOCHS];
};

/* One trial with its lanes, one for each fold. */
struct fit_trial;

/* holdout: only fold 0 is trained. params: one value for each parameter of the family, in its
 * order. */
struct fit_trial *fit_trial_open(struct ml_data *d, const struct family *f, const double *params,
                                 uint64_t seed, bool holdout, struct err *err);
/* Frees the trial and its lanes. NULL is legal. */
void fit_trial_close(struct fit_trial *t);
/* The table as the trial's parameters want it prepared: the one that it was opened with, or a variant
 * of it (ml/model/variant.h). */
struct ml_data *fit_trial_data(const struct fit_trial *t);
/* What a level of the ladder spends: rounds, rows or the family's own. To be called before the
 * first level and before fit_trial_load; without it FR_AUTO holds. */
void fit_trial_spends(struct fit_trial *t, enum family_resource resource);
/* Several processes train this trial together, each of them calling the same functions for the same
 * levels; r is the end of this one and outlives the trial. Only networks can (the parameter
 * `devices`). To be called before the first level and before fit_trial_load. */
void fit_trial_joins(struct fit_trial *t, struct ml_reduce *r);
/* The number of levels of its ladder, and the last one that is complete; 0 = none. */
int fit_trial_levels(const struct fit_trial *t);
int fit_trial_level(const struct fit_trial *t);
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
/* Whether the last point of the run in training took away a quarter of the loss that the point before
 * had (for scores whose best is 1: of their distance from it), or a twentieth and more than that point
 * did. Points are those of the fold that was trained last. */
bool fit_trial_is_steep(const struct fit_trial *t);
/* What the score of the run in training would become if it went on for `more` times the time that it had,
 * and got better as fast as in the latter half of that time. Curves of scores rise ever more slowly, so it
 * will hardly become better. NaN = that is not known: there are too few points, it is steep, or points are
 * chosen by another metric. */
double fit_trial_reach(const struct fit_trial *t, double more);
/* From 0 to 1: how much of the level in training is done. An estimate. */
double fit_trial_progress(const struct fit_trial *t);
/* Valid at a reached level or after a cut. */
int fit_trial_result(struct fit_trial *t, struct fit_result *out, struct err *err);
/* At most `most` epochs, spread evenly; most: 3 to FIT_EPOCHS. */
void fit_trial_epochs(const struct fit_trial *t, int most, struct fit_epochs *out);
/* The score block by block of rows (fit_blocks.c): fills out[FIT_BLOCKS] and returns how many there
 * are; 0 = not known, or too many rows. Their mean is the score. Trials of the same folds have the
 * same rows in each block. Called before fit_trial_ship.
 * *order (NULL = not asked): by how many standard errors of chance the held-out rows are ranked as
 * their targets are (fit_order.c); 0 = not known: several classes, rows that err together, no blocks. */
int fit_trial_blocks(struct fit_trial *t, double *out, double *order);
/* Out-of-fold predictions at the chosen step, in the unit of ml_data.truth: rows x n_outputs floats,
 * NaN where a row is held out by no fitted fold. Probabilities are calibrated by what other rows
 * taught. */
int fit_trial_oof(struct fit_trial *t, float *out, struct err *err);
/* A checkpoint. Equal trials give equal bytes. `out` may have a sink that takes bytes as they
 * come. */
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
/* To be called before fit_trial_ship, which then fills *out with the trial's predictions out of fold
 * and for the test rows. It stays empty (held.n 0) where not all folds were fitted. The caller frees
 * what it holds, also after an error. */
void fit_trial_keeps(struct fit_trial *t, struct predictions *out);
/* ---- memory, in bytes ---- */

/* What the trial holds now. */
int64_t fit_trial_bytes(const struct fit_trial *t);
/* What the next tree, or shipping what there is, will take on top of that. */
int64_t fit_trial_spare_bytes(const struct fit_trial *t);

/* Forecasts for the training of a trial to one level of its ladder. */
struct fit_forecast {
    /* Bytes that trees took at the level reached, divided by those of the family's formula
     * (family_shape.growth); 0 = not known yet. */
    double growth;
    /* What rows, columns and the first tree take: it cannot do with less. */
    int64_t least;
    /* What it will hold at most, by the formula and the growth. */
    int64_t estimate;
    /* The same from the trees that the level in training has so far; 0 = it has none yet. Neither
     * of the two replaces the other: a trial that is admitted again after waiting has trees of its
     * level already. */
    int64_t revised;
    /* next: what it may be promised until it asks again, which it should do when fit_trial_bytes is
     * above `ask`. next - ask is for the tree that grows meanwhile. If the number of trees is known,
     * next covers the whole level once the first trees have shown their size; if patience ends the
     * level, a bit more than what is held, until the end is in sight. Shipping comes on top
     * (fit_trial_ship_bytes). */
    int64_t next, ask;
};
/* growth: of the study's other trials, used until the trial has reached a level itself; 0 =
 * unknown. */
struct fit_forecast fit_trial_forecast(const struct fit_trial *t, int level, double growth);
/* What the trial will hold at most while it ships. Saves a few trees as a sample. */
int64_t fit_trial_ship_bytes(const struct fit_trial *t);
/* An upper bound of its model file (fit_trial_ship ends at ARTIFACT_MAX_BYTES), and nearly the size
 * of a checkpoint now. */
int64_t fit_trial_file_bytes(const struct fit_trial *t);

/* Refits on all rows but the test rows, with the chosen step scaled to their number (steps * n /
 * n_train). The last act of a holdout study. */
struct fit_refit {
    const struct family *family;
    const double *params;
    uint64_t seed;
    int64_t steps;
    /* what its trial learnt from the rows it held out; NULL = nothing is known. A refit holds out no
     * rows of its own. */
    const struct adjust *adjust;
};
int fit_refit_artifact(struct ml_data *d, const struct fit_refit *how, const struct ml_stop *stop,
                       struct buf *out, double *test_score, double *test_se, struct err *err);

#endif
