/* model.h - the contract of a model family.
 *
 * A family trains an array of lanes. A lane is one fold of one trial: its own parameters, seed and
 * state, on data that all lanes share (data.h). The engine (ml/fit/fit.h) owns trials, folds,
 * curves and scores; a family knows rows, parameters and predictions only.
 *
 * Rules that every family keeps:
 *
 * - A lane that diverges or runs out of memory fails alone (lane.failed); the others go on.
 * - Random draws are keyed by (seed, what they decide), never by the order of work.
 * - The result of a lane is the same bit for bit alone or trained together with others, for any
 *   number of threads, and for any slicing by `stop` (numeric class `cpu`). */
#ifndef ML_MODEL_MODEL_H
#define ML_MODEL_MODEL_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/family/family.h"
#include "ml/model/data.h"
#include "ml/model/epoch_log.h"
#include "ml/model/explain_bag.h"

#include <stdbool.h>
#include <stdint.h>

/* lane.fold of a lane that trains on all rows but the test rows: a refit */
enum { FOLD_ALL = -1 };

/* When to stop: a family looks between pieces of work of at most 50 ms. now_us and deadline_us:
 * microseconds of one clock. */
struct ml_stop {
    int64_t (*now_us)(void *ctx); /* NULL = no deadline */
    void *ctx;
    int64_t deadline_us;
    const volatile int *cancel; /* may be NULL */
};
bool ml_stop_now(const struct ml_stop *s);

struct ml_reduce;
struct lane {
    /* Rows with ml_data.fold equal to it are held out; or FOLD_ALL. */
    int fold;
    /* the trial's; families mix the fold into their keys */
    uint64_t seed;
    double params[FAMILY_MAX_PARAMS];
    /* the level of the family's own ladder that it trains for */
    int level;
    /* the share of the training rows that it trains on (family_plan); 0 = all */
    double share;
    /* steps of the free axis that are finished (boosting rounds); 1 for families that fit at
     * once */
    int64_t steps_done;
    /* It never trains further; 0 = as far as the family goes. */
    int64_t max_steps;
    /* max_steps is reached, or further steps would gain nothing */
    bool is_done;
    bool failed;
    struct err why;
    /* of a family with epochs, where somebody wants to know: each epoch is noted as it ends */
    struct epoch_log *log;
    /* of a trial that several processes train together: the end of this one (ml/ops/ops_reduce.h);
     * NULL = it is alone. Borrowed. */
    struct ml_reduce *reduce;
    /* belongs to the family */
    void *state;
};

/* Rows [from, from + n) of a view, and for each the output that is to be explained. */
struct explain_rows {
    const struct prep_view *v;
    int64_t from, n;
    const int *of; /* [n] */
};

struct model_ops {
    const struct family *family;
    /* Its steps are epochs, and its lanes note each of them in lane.log. */
    bool has_epochs;
    /* Makes a lane ready to train at lane->level, from scratch. */
    int (*open)(struct ml_data *d, struct lane *l, struct err *err);
    void (*close)(struct lane *l);
    /* Trains lanes (of one trial, but see fuses) by up to `steps` more steps each, until done or
     * stopped. Returns with whole steps only. */
    int (*advance)(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                   const struct ml_stop *stop, struct err *err);
    /* Whether `advance` also takes this lane together with lanes of other trials for which this is
     * true: they are trained in the same launches of a device. Where the device turns out not to be
     * able to, such a call does nothing, and this is false from then on. NULL = never. */
    bool (*fuses)(const struct ml_data *d, const struct lane *l);
    /* Called when the point at which the lane stands is the best of the curve so far:
     * predict_held_at and save may ask for it later, when the lane has gone on. NULL = the family
     * can go back to any step. */
    int (*keep)(struct lane *l, struct err *err);
    /* Predictions of the held-out rows, in ascending row order, after the steps done so far:
     * probabilities or target units. out: n_held x n_outputs floats. The family keeps running sums,
     * so that a call costs the new steps only. */
    int (*predict_held)(struct ml_data *d, const struct lane *l, float *out, struct err *err);
    /* The same after the first `steps` of the steps done: slower, equal bits. */
    int (*predict_held_at)(struct ml_data *d, const struct lane *l, int64_t steps, float *out,
                           struct err *err);
    /* The lane's model cut to its first `steps` steps, as bytes. Checkpoints (all steps) and the
     * model section of a model file have this one form. */
    int (*save)(const struct lane *l, int64_t steps, struct buf *out, struct err *err);
    /* A checkpoint of all steps done, where it holds more than the model does (the state of an
     * optimiser). NULL = save. */
    int (*save_training)(const struct lane *l, struct buf *out, struct err *err);
    /* Continues from saved bytes, bit for bit. */
    int (*load)(struct ml_data *d, struct lane *l, struct view *in, struct err *err);
    /* memory held now */
    int64_t (*bytes)(const struct lane *l);
    /* the part of it that trees and the like take; NULL = little */
    int64_t (*model_bytes)(const struct lane *l);
    /* What follows from model_bytes, as factors of it: the size of the model's file where nothing
     * is cut off; the memory of the loaded model; and what a tree takes while it is grown, against
     * its own model_bytes (0 = little). */
    double file_share;
    double load_share;
    double grow_share;

    /* Inference from saved bytes alone: model files. */
    struct predictor *(*predictor_load)(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err);
    void (*predictor_free)(struct predictor *p);
    int (*predict)(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err);

    /* Explanations; NULL = the family has none. importance: what the model itself holds important,
     * added to out[prep_inputs]: gains of splits, weights of standardised columns. Never negative;
     * 0 = the input is not used. */
    int (*importance)(const struct predictor *p, const struct prep *prep, double *out,
                      struct err *err);
    /* Weights of a linear score: out[outputs][prep_width + 1], of standardised dense columns, the last
     * one the score of the mean row. NULL = the score is not linear. */
    void (*weights)(const struct predictor *p, double *out);
    /* SHAP values of rows: out[row][inputs + 1], the last one the base. They add up to the raw
     * score: log-odds, scores before softmax, shares of forests, target units. */
    int (*explain)(const struct predictor *p, const struct prep *prep,
                   const struct explain_rows *rows, double *out, struct err *err);
    enum explain_link (*explain_link)(const struct predictor *p); /* NULL = EXPLAIN_SAME */
};

/* Trains lanes that share one workspace, one after another: each by up to `steps` more steps and no
 * more than its max_steps. busy: the state of the lane whose step lies half done in the workspace
 * and must go on first; NULL = none. train brings a lane to `target` steps; false = it was stopped,
 * and then no further lane is begun. */
typedef bool lane_train_fn(void *ctx, struct lane *l, int64_t target, const struct ml_stop *stop);
void lanes_in_turn(struct lane *lanes, int n, const void *busy, int64_t steps, lane_train_fn *train,
                   void *ctx, const struct ml_stop *stop);

int model_task(const struct ml_data *d); /* FT_ */
/* what cost and memory formulas depend on */
struct family_shape model_shape(const struct ml_data *d, int folds);

#endif
