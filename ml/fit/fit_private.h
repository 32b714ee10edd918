/* fit_private.h - what the files of the engine share. A trial holds runs: one set of fold lanes trained at one key of the
 * ladder (family_plan), with the curve of its check points. A point counts once every fitted fold has it.
 *
 * fit.c        open, advance, cut
 * fit_result.c what it says of itself: result, progress, out-of-fold
 * fit_together.c  several trials in the launches of one
 * fit_curve.c  points: metrics of folds, where patience ends, the chosen step, cross-fitted score
 * fit_memory.c bytes held and to come
 * fit_save.c   checkpoints
 * fit_ship.c   artifact, test score, refit */
#ifndef ML_FIT_FIT_PRIVATE_H
#define ML_FIT_FIT_PRIVATE_H

#include "ml/fit/fit.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/split.h"

struct fit_value { /* of one fold at one point; NaN = undefined there */
    double select, score, se;
};

struct fit_run {
    struct family_plan plan;
    int level;   /* that its lanes were opened for */
    int n_lanes; /* opened: fold 0 up to here */
    struct lane lanes[SPLIT_MAX_FOLDS];
    int n_values[SPLIT_MAX_FOLDS]; /* points recorded per fold */
    struct fit_value *values;      /* [cap][SPLIT_MAX_FOLDS] */
    int cap;
    int64_t odd_step; /* > 0: a cut before the first check point made point 0 here */
    float *now[SPLIT_MAX_FOLDS],
        *best[SPLIT_MAX_FOLDS]; /* held-out predictions at the last and at the best point */
    int64_t now_step[SPLIT_MAX_FOLDS], best_step[SPLIT_MAX_FOLDS];
};

struct fit_choice {    /* what the points of a run say for its first `folds` folds */
    int folds, points; /* complete points that count */
    int best;          /* -1 = none */
    bool is_final;     /* patience or the cap ended it */
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
    struct fold_rows rows[SPLIT_MAX_FOLDS]; /* only held is kept */
    double *y[SPLIT_MAX_FOLDS];
    int level, target;            /* reached, in training */
    struct fit_run *run, *before; /* before: a finished level with another key, kept for a cut */
    bool is_cut;
    struct fit_run *chosen; /* after a cut: which run speaks */
    int chosen_folds;
    double test_score, test_se;
    bool is_shipped; /* its lanes are closed */
    double growth;   /* kept when they were */
    int64_t fit_us, predict_ns_row, model_bytes, work_units, peak_bytes, own_bytes;
};

/* fit_curve.c */
int64_t fit_point_step(const struct fit_run *r, int point);
void fit_point_put(struct fit_run *r, int fold,
                   const struct fit_value *v); /* the fold's next point */
int fit_point_record(struct fit_trial *t, struct fit_run *r, int fold,
                     struct err *err); /* the same, from now[fold] */
struct fit_choice fit_choose(const struct fit_trial *t, const struct fit_run *r, int folds);
void fit_cross_score(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                     double *score, double *se);
bool fit_is_better(const struct fit_trial *t, double a,
                   double b); /* by the selection metric; NaN loses */
double fit_fold_mean(const struct fit_trial *t, const struct fit_run *r, int point, int folds,
                     int without);

/* fit_result.c: the run, folds and choice that speak for the trial now; -1 when there is none. */
int fit_speaker(const struct fit_trial *t, struct fit_run **run, struct fit_choice *c);
struct family_shape fit_shape(const struct fit_trial *t);
void fit_plan(const struct fit_trial *t, int level, struct family_plan *out);
int fit_own_level(const struct fit_trial *t, int level); /* on the family's own ladder */
struct fit_run *fit_run_new(const struct fit_trial *t, int level);
int fit_folds_of(const struct fit_trial *t, const struct family_plan *plan);
void fit_run_free(struct fit_trial *t, struct fit_run *r);
void fit_lane_close(const struct fit_trial *t, struct lane *l);         /* once more is legal */
void fit_run_close_lanes(const struct fit_trial *t, struct fit_run *r); /* NULL is legal */
int fit_run_open(struct fit_trial *t, struct fit_run *r, int folds,
                 struct err *err); /* lanes up to fold `folds` */

/* What fit.c and fit_together.c do alike. */
int fit_level_begin(struct fit_trial *t, int level,
                    struct err *err); /* a run with its lanes open; returns how many, or -1 */
void fit_level_end(struct fit_trial *t, int level, bool is_reached, int64_t us);
/* Sets lanes to stop at `step`; false = they are there. */
bool fit_lanes_aim(struct fit_run *r, int folds, int64_t step);
int fit_lanes_there(const struct fit_run *r, int folds, int64_t step,
                    struct err *err); /* 1 all there, 0 not yet, -1 one failed */
/* Records the point for folds that have reached it; keeps the predictions when it is the best so far. */
int fit_point_take(struct fit_trial *t, struct fit_run *r, int folds, int point, struct err *err);

#endif
