/* model.h - the lane-based interface of every model family, and the registry of them. A family trains an array of
 * lanes, each one (trial, fold) with its own parameters, seed and stop flag, on data they share. The engine above
 * (fit.h) owns trials, folds, curves and scores; a family knows rows, parameters and predictions only.
 *
 * Rules: a lane that diverges or runs out of memory fails alone (lane->failed). Randomness is keyed by (seed, what it
 * decides). Fused equals alone, any number of threads, any slicing by `stop`: bit for bit (numeric class `cpu`). */
#ifndef ML_MODEL_MODEL_H
#define ML_MODEL_MODEL_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/family/family.h"
#include "ml/model/data.h"
#include "ml/model/explain_bag.h"

#include <stdbool.h>
#include <stdint.h>

enum { FOLD_ALL = -1 }; /* a lane that trains on every non-test row: refit */

/* Work stops between steps of at most 50 ms when now_us() >= deadline_us or *cancel != 0. */
struct ml_stop {
    int64_t (*now_us)(void *ctx); /* NULL = no deadline */
    void *ctx;
    int64_t deadline_us;
    const volatile int *cancel; /* may be NULL */
};
bool ml_stop_now(const struct ml_stop *s);

struct lane {
    int fold;      /* rows with data->fold == fold are held out; FOLD_ALL */
    uint64_t seed; /* of the trial; families mix the fold in */
    double params[FAMILY_MAX_PARAMS];
    int level;          /* of the family's own ladder, which it is training for */
    double share;       /* of the training rows (family_plan); 0 = all */
    int64_t steps_done; /* free-axis steps finished (boosting rounds); 1 for single fits */
    int64_t max_steps;  /* never more; 0 = the family's own */
    bool is_done;       /* nothing more to gain at this level, or max_steps reached */
    bool failed;
    struct err why;
    void *state; /* the family's */
};

struct explain_rows { /* rows [from, from + n) of a view, and of each the output to explain */
    const struct prep_view *v;
    int64_t from, n;
    const int *of; /* [n] */
};

struct model_ops {
    const struct family *family;
    /* A lane ready to train at lane->level from scratch. */
    int (*open)(struct ml_data *d, struct lane *l, struct err *err);
    void (*close)(struct lane *l);
    /* Trains lanes (of one trial, but see fuses) by up to `steps` more steps each, until done or stopped; returns with whole
     * steps only. */
    int (*advance)(struct ml_data *d, struct lane *lanes, int n, int64_t steps,
                   const struct ml_stop *stop, struct err *err);
    /* Whether `advance` also takes this lane together with those of other trials for which this says so: they grow in the
     * same launches of a device. Where it turns out that the device cannot, such a call does nothing and this says no from
     * then on. NULL = never. */
    bool (*fuses)(const struct ml_data *d, const struct lane *l);
    /* The point at which the lane stands is the best of the curve so far: predict_held_at and save may ask for it later, when
     * the lane has gone on. NULL = the family can go back to any step. */
    int (*keep)(struct lane *l, struct err *err);
    /* Scores of the held-out rows in ascending row order after the steps done so far: link scale converted to
     * probabilities or target units; out: n_held x n_outputs floats. Incremental inside the family. */
    int (*predict_held)(struct ml_data *d, const struct lane *l, float *out, struct err *err);
    /* The same after the first `steps` of the steps done: slower, equal bits. */
    int (*predict_held_at)(struct ml_data *d, const struct lane *l, int64_t steps, float *out,
                           struct err *err);
    /* The fitted lane cut to its first `steps` steps, as bytes: a checkpoint (steps = all; bins routed) and the model section
     * of an artifact are this one form. */
    int (*save)(const struct lane *l, int64_t steps, struct buf *out, struct err *err);
    /* A checkpoint of all steps done, where it holds more than the model does (the state of an optimiser); NULL = save. */
    int (*save_training)(const struct lane *l, struct buf *out, struct err *err);
    int (*load)(struct ml_data *d, struct lane *l, struct view *in,
                struct err *err);                 /* to continue training, bit for bit */
    int64_t (*bytes)(const struct lane *l);       /* memory held now */
    int64_t (*model_bytes)(const struct lane *l); /* of it trees and the like; NULL = little */
    double file_share; /* the model's file, of model_bytes, where nothing is cut off */
    double load_share; /* what is loaded of it */
    double grow_share; /* what a tree takes while it is grown, of its model_bytes; 0 = little */

    /* Inference from saved bytes alone, for artifacts. */
    struct predictor *(*predictor_load)(const struct prep *prep, int n_outputs, enum ml_task task,
                                        struct view *in, struct err *err);
    void (*predictor_free)(struct predictor *p);
    int (*predict)(const struct predictor *p, const struct prep_view *v, int64_t from, int64_t n,
                   float *out, struct err *err);

    /* Explanation, NULL = the family has none. What the model itself holds important, added to out[prep_inputs]: gains of
     * splits, weights of standardised columns; >= 0, 0 = the input is not used. */
    int (*importance)(const struct predictor *p, const struct prep *prep, double *out,
                      struct err *err);
    /* SHAP values of rows: out[row][inputs + 1], the last one the base; they add up to the raw score: log-odds, scores before softmax, shares of forests, target units. */
    int (*explain)(const struct predictor *p, const struct prep *prep,
                   const struct explain_rows *rows, double *out, struct err *err);
    enum explain_link (*explain_link)(const struct predictor *p); /* NULL = EXPLAIN_SAME */
};

/* Trains lanes that share one workspace, one after another: each by up to `steps` more steps and no more than it may take.
 * busy: the state of the lane whose step lies half done in the workspace and must go on first; NULL = none. train brings a
 * lane to `target` steps and returns false when it was stopped; then no other lane is begun. */
typedef bool lane_train_fn(void *ctx, struct lane *l, int64_t target, const struct ml_stop *stop);
void lanes_in_turn(struct lane *lanes, int n, const void *busy, int64_t steps, lane_train_fn *train,
                   void *ctx, const struct ml_stop *stop);

int model_task(const struct ml_data *d);                             /* FT_ */
struct family_shape model_shape(const struct ml_data *d, int folds); /* what formulas depend on */

#endif
