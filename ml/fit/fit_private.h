/* fit_private.h - what the files of the engine (fit.h) share.
 *
 * A trial trains runs. A run is one set of lanes, one a fold, trained under one plan of the ladder
 * (family_plan); levels whose plans have the same key continue one run, another key begins a new
 * one. A run records points: at each check point the metric of every fitted fold. A point counts
 * once every fitted fold has it.
 *
 * fit.c           open, advance, cut
 * fit_result.c    the result, progress, out-of-fold predictions
 * fit_together.c  several trials in the launches of one
 * fit_curve.c     points: metrics of folds, where patience ends, the chosen step, the cross-fitted score
 * fit_memory.c    bytes held, and bytes to come
 * fit_save.c      checkpoints
 * fit_ship.c      the model file, test score, refit */
#ifndef ML_FIT_FIT_PRIVATE_H
#define ML_FIT_FIT_PRIVATE_H

#include "ml/fit/fit.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/split.h"

/* One fold at one point. NaN = the metric is undefined there. */
struct fit_value {
    double select, score, se;
};

struct fit_run {
    struct family_plan plan;
    /* the level that its lanes were opened for; it may have reached a higher one */
    int level;
    /* lanes opened: those of folds 0 to n_lanes - 1 */
    int n_lanes;
    struct lane lanes[SPLIT_MAX_FOLDS];
    /* points recorded for each fold */
    int n_values[SPLIT_MAX_FOLDS];
    /* Indexed [point * SPLIT_MAX_FOLDS + fold]; room for cap points. */
    struct fit_value *values; /* [cap][SPLIT_MAX_FOLDS] */
    int cap;
    /* > 0: a cut came before the first check point, and point 0 stands at this step */
    int64_t odd_step;
    /* Predictions of the held-out rows, [n_held][n_outputs]: at the last point and at the best one. */
    float *now[SPLIT_MAX_FOLDS], *best[SPLIT_MAX_FOLDS];
    /* The steps that now and best are of; 0 = of none. */
    int64_t now_step[SPLIT_MAX_FOLDS], best_step[SPLIT_MAX_FOLDS];
};

/* What the points of a run say for its first `folds` folds. */
struct fit_choice {
    /* points that every one of the folds has, up to the end by patience */
    int folds, points;
    /* the best point; -1 = none */
    int best;
    /* patience or the last step has ended the run */
    bool is_final;
    double select;
};

struct fit_trial {
    struct ml_data *d;
    const struct family *f;
    const struct model_ops *ops;
    double params[FAMILY_MAX_PARAMS];
    uint64_t seed;
    bool is_holdout;
    enum family_resource resource;
    int folds; /* 1 for holdout */
    enum metric_id select;
    /* of each fold only the held-out rows are kept */
    struct fold_rows rows[SPLIT_MAX_FOLDS];
    /* Targets of the held-out rows, by fold. */
    double *y[SPLIT_MAX_FOLDS];
    /* levels: the one reached, the one in training */
    int level, target;
    /* before: the finished run of another key, kept until the new level is reached, in case of a
     * cut */
    struct fit_run *run, *before;
    bool is_cut;
    /* after a cut: the run whose result is the trial's */
    struct fit_run *chosen;
    int chosen_folds;
    double test_score, test_se;
    /* the model file was written and the lanes are closed */
    bool is_shipped;
    /* measured before the lanes were closed */
    double growth;
    int64_t fit_us, predict_ns_row, model_bytes, work_units, peak_bytes, own_bytes;
};

/* fit_curve.c */
int64_t fit_point_step(const struct fit_run *r, int point);
/* Appends the values of the fold's next point. */
void fit_point_put(struct fit_run *r, int fold, const struct fit_value *v);
/* Scores now[fold] and appends that. */
int fit_point_record(struct fit_trial *t, struct fit_run *r, int fold, struct err *err);
struct fit_choice fit_choose(const struct fit_trial *t, const struct fit_run *r, int folds);
void fit_cross_score(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                     double *score, double *se);
/* Compares by the selection metric; NaN is worse than every number. */
bool fit_is_better(const struct fit_trial *t, double a, double b);
/* Row-weighted mean of the selection metric over the first `folds` folds, leaving out fold
 * `without` (-1 = none). */
double fit_fold_mean(const struct fit_trial *t, const struct fit_run *r, int point, int folds,
                     int without);

/* fit_result.c: the run and the choice that give the trial's result now. -1 when there is no result
 * yet. */
int fit_speaker(const struct fit_trial *t, struct fit_run **run, struct fit_choice *c);
struct family_shape fit_shape(const struct fit_trial *t);
void fit_plan(const struct fit_trial *t, int level, struct family_plan *out);
/* the same level on the family's own ladder */
int fit_own_level(const struct fit_trial *t, int level);
struct fit_run *fit_run_new(const struct fit_trial *t, int level);
int fit_folds_of(const struct fit_trial *t, const struct family_plan *plan);
void fit_run_free(struct fit_trial *t, struct fit_run *r);
/* may be called again */
void fit_lane_close(const struct fit_trial *t, struct lane *l);
/* NULL is legal */
void fit_run_close_lanes(const struct fit_trial *t, struct fit_run *r);
/* Opens lanes until there are `folds` of them. */
int fit_run_open(struct fit_trial *t, struct fit_run *r, int folds, struct err *err);

/* fit.c: the steps of an advance, which fit_together.c takes for several trials at once. */
/* Makes the run of a level ready. Returns how many folds it fits, or -1. */
int fit_level_begin(struct fit_trial *t, int level, struct err *err);
void fit_level_end(struct fit_trial *t, int level, bool is_reached, int64_t us);
/* Sets the lanes to stop at `step`. False = all of them are there already. */
bool fit_lanes_aim(struct fit_run *r, int folds, int64_t step);
/* 1 = all lanes are at `step`, 0 = not yet, -1 = one failed. */
int fit_lanes_there(const struct fit_run *r, int folds, int64_t step, struct err *err);
/* Records the point for the folds that have reached it. When it is the best so far, its predictions
 * are kept. */
int fit_point_take(struct fit_trial *t, struct fit_run *r, int folds, int point, struct err *err);

#endif
