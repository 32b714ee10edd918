/* fit_private.h - what the files of the engine (fit.h) share.
 *
 * A trial trains runs. A run is one set of lanes, one for each fold, trained under one plan of the
 * ladder (family_plan). Levels whose plans have the same key continue one run; a level with another
 * key begins a new one. A run records points: at each check point the metric of every fitted fold.
 * A point counts once every fitted fold has it.
 *
 * fit.c           open, advance, cut
 * fit_epochs.c    how networks learned, epoch by epoch
 * fit_result.c    the result, progress, out-of-fold predictions
 * fit_together.c  several trials in the launches of one
 * fit_curve.c     points: metrics of folds, the end by patience, the chosen step, the score
 * fit_adjust.c    calibration, threshold and intervals, and the score with them
 * fit_sample.c    held-out rows from which adjustments are learnt
 * fit_power.c     how much surer the mean of its models should be
 * fit_memory.c    bytes held, and bytes to come
 * fit_save.c      checkpoints
 * fit_ship.c      the model file, test score, refit
 * fit_keep.c      the predictions that are kept beside the model file */
#ifndef ML_FIT_FIT_PRIVATE_H
#define ML_FIT_FIT_PRIVATE_H

#include "ml/adjust/adjust_fit.h"
#include "ml/fit/fit.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/split.h"

/* What was measured of one fold at one point: the selection metric, the study's metric and its
 * standard error. NaN = the metric is undefined there. */
struct fit_value {
    double select, score, se;
};

/* One set of lanes and the points recorded for them. Points are numbered from 0; fit_point_step
 * gives the step of each. */
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
    /* Time that training up to each point took, [cap]; 0 = another process did. since_us: spent on
     * the next one so far. Measured, so never saved. */
    int64_t *point_us, since_us;
    /* what the lanes note of their epochs */
    struct epoch_log logs[SPLIT_MAX_FOLDS];
    /* > 0: a cut came before the first check point, and point 0 stands at this step */
    int64_t odd_step;
    /* Predictions of the held-out rows, [n_held][n_outputs]: at the last point and at the best
     * one. */
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

/* fit_adjust.c: what is done to the outputs, and the score with that. */
struct fit_adjust {
    /* the result that it is of */
    const struct fit_run *run;
    int level, point, folds;
    /* it was learnt from every so-many-th row */
    int64_t every;
    struct adjust all, part[ADJUST_PARTS];
    /* the score is another one with it; of the first fold alone, too */
    bool has_score;
    double score, se, first_score;
};

struct fit_trial {
    /* The problem as it was given, and as the trial's parameters want it prepared: the same, or a
     * variant (ml/model/variant.h). */
    struct ml_data *given, *d;
    const struct family *f;
    const struct model_ops *ops;
    double params[FAMILY_MAX_PARAMS];
    uint64_t seed;
    bool is_holdout;
    enum family_resource resource;
    struct ml_reduce *reduce; /* fit_trial_joins; NULL = it is trained by this process alone */
    int folds;                /* 1 for holdout */
    enum metric_id select;
    /* of each fold only the held-out rows are kept */
    struct fold_rows rows[SPLIT_MAX_FOLDS];
    /* Targets of the held-out rows, by fold; their weights (NULL = all count 1), and the sums of
     * these. */
    double *y[SPLIT_MAX_FOLDS], *weight[SPLIT_MAX_FOLDS], size[SPLIT_MAX_FOLDS];
    /* level: the highest level reached, 0 = none. target: the one in training; equal to or below
     * level when none is. */
    int level, target;
    /* run: the lanes in training. before: the finished run of another key, kept until the new level
     * is reached, because a cut may fall back on it. */
    struct fit_run *run, *before;
    bool is_cut;
    /* after a cut: the run that gives the trial's result, and how many of its folds */
    struct fit_run *chosen;
    int chosen_folds;
    double test_score, test_se;
    /* fit_trial_keeps; NULL = nobody wants them */
    struct predictions *keeps;
    /* NULL = not asked for yet */
    struct fit_adjust *adjust;
    /* The model file was written and the lanes are closed: only results remain. */
    bool is_shipped;
    /* fit_forecast.growth, measured before the lanes were closed */
    double growth;
    /* own_bytes: everything that the trial has allocated apart from lanes and runs: row lists,
     * targets, prediction buffers. */
    int64_t fit_us, predict_ns_row, model_bytes, work_units, peak_bytes, own_bytes;
};

/* fit_curve.c */
/* The step of the free axis at which a point stands. */
int64_t fit_point_step(const struct fit_run *r, int point);
/* Appends the values of the fold's next point. */
void fit_point_put(struct fit_run *r, int fold, const struct fit_value *v);
/* Scores now[fold] and appends that. */
int fit_point_record(struct fit_trial *t, struct fit_run *r, int fold, struct err *err);
/* Chooses among the recorded points of the first `folds` folds. */
struct fit_choice fit_choose(const struct fit_trial *t, const struct fit_run *r, int folds);
/* The cross-fitted score and its standard error; NaN when the metric is undefined on all folds. */
void fit_cross_score(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                     double *score, double *se);
/* The point at which a fold is scored: the best one by the other folds. */
int fit_cross_point(const struct fit_trial *t, const struct fit_run *r, const struct fit_choice *c,
                    int fold);
/* Compares by the selection metric; NaN is worse than every number. */
bool fit_is_better(const struct fit_trial *t, double a, double b);
/* Row-weighted mean of the selection metric over the first `folds` folds, leaving out fold
 * `without` (-1 = none). */
double fit_fold_mean(const struct fit_trial *t, const struct fit_run *r, int point, int folds,
                     int without);

/* After a cut: makes the first `folds` folds of r what the trial's result comes from, if they are
 * better than what it comes from so far. Both are compared on the folds that both have: which folds a
 * score is of says more than how good it is. More folds ship more models, so fewer must be better by
 * a standard error. */
void fit_take_if_better(struct fit_trial *t, struct fit_run *r, int folds);

/* fit_memory.c: fit_forecast.growth. */
double fit_trial_growth(const struct fit_trial *t);

/* fit_result.c: the run that gives the trial's result now, and the point chosen in it. -1 when
 * there is no result yet. */
int fit_result_run(const struct fit_trial *t, struct fit_run **run, struct fit_choice *c);
/* The table and the folds, as the family's formulas want them. */
struct family_shape fit_shape(const struct fit_trial *t);
/* What the family does at a level of the ladder: steps, check points, patience, folds. */
void fit_plan(const struct fit_trial *t, int level, struct family_plan *out);
/* the same level on the family's own ladder, which may have more levels than the study's */
int fit_own_level(const struct fit_trial *t, int level);
/* A run without lanes yet. */
struct fit_run *fit_run_new(const struct fit_trial *t, int level);
/* How many folds the plan fits, at most those that the trial has. */
int fit_folds_of(const struct fit_trial *t, const struct family_plan *plan);
void fit_run_free(struct fit_trial *t, struct fit_run *r);
/* Closing a lane twice is legal. */
void fit_lane_close(const struct fit_trial *t, struct lane *l);
/* Closes all lanes of a run; NULL is legal. */
void fit_run_close_lanes(const struct fit_trial *t, struct fit_run *r);
/* Opens lanes until there are `folds` of them. */
int fit_run_open(struct fit_trial *t, struct fit_run *r, int folds, struct err *err);

/* fit.c: the steps of an advance, which fit_together.c takes for several trials at once. */
/* Makes the run of a level ready. Returns how many folds it fits, or -1. */
int fit_level_begin(struct fit_trial *t, int level, struct err *err);
/* Books the time of a slice, and the level once it is reached. */
void fit_level_end(struct fit_trial *t, int level, bool is_reached, int64_t us);
/* Sets the lanes to stop at `step`. False = all of them are there already. */
bool fit_lanes_aim(struct fit_run *r, int folds, int64_t step);
/* 1 = all lanes are at `step`, 0 = not yet, -1 = one failed. */
int fit_lanes_there(const struct fit_run *r, int folds, int64_t step, struct err *err);
/* Predictions of a fold's held-out rows at a step (0 = as the lane stands), in the unit of
 * ml_data.truth. */
int fit_predict_held(const struct fit_trial *t, const struct fit_run *r, int fold, int64_t step,
                     float *out, struct err *err);
/* Records the point for the folds that have reached it. When it is the best so far, its predictions
 * are kept. */
int fit_point_take(struct fit_trial *t, struct fit_run *r, int folds, int point, struct err *err);

/* fit_sample.c */
struct fit_sample {
    float *p;
    double *y, *weight;
    uint8_t *part;
    struct adjust_rows rows;
};
/* The part to which the i-th held-out row of a fold belongs: its fold, or where there is one fold, every
 * part in turn. */
static inline int fit_part_of(int folds, int64_t every, int fold, int64_t i)
{
    return folds > 1 ? fold % ADJUST_PARTS : (int)(i / every % ADJUST_PARTS);
}
/* Every so-many-th held-out row of the folds, as r->best predicts them. fit_sample_free, also after an
 * error. */
int fit_sample_take(struct fit_sample *s, const struct fit_trial *t, const struct fit_run *r,
                    int folds, int64_t every, struct err *err);
void fit_sample_free(struct fit_sample *s);

/* fit_power.c: finds a->power, from the n fold models that ship, as bytes, and the held-out rows of
 * their folds as they are predicted in r->best. a: the calibration that ships. */
int fit_power(const struct fit_trial *t, const struct fit_run *r, int n, const struct buf *models,
              struct adjust *a, struct err *err);

/* fit_blocks.c: the standard error of the score with whole groups as what is drawn, or rows where there
 * are very few groups; NaN = rows have no groups, or too many values. r->best has the predictions of the chosen step. */
double fit_group_error(const struct fit_trial *t, const struct fit_run *r,
                       const struct fit_choice *c);

/* fit_order.c: what fit_trial_blocks says of the order of the rows. r->best has the predictions of the
 * chosen step. */
double fit_order(const struct fit_trial *t, const struct fit_run *r, int folds);

/* fit_adjust.c */
/* Learns the adjustments of the result of r and c, unless t->adjust is of it already or the lanes are
 * closed. */
int fit_adjust_make(struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                    struct err *err);
void fit_adjust_free(struct fit_trial *t);
/* Brings r->best of the folds to the chosen step. */
int fit_predict_chosen(const struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                       struct err *err);
/* The score that is reported, with adjustments where they change it; *first: of the first fold. */
int fit_final_score(struct fit_trial *t, struct fit_run *r, const struct fit_choice *c,
                    double *value, double *se, double *first, struct err *err);
/* Adjusts the predictions of a fold's held-out rows [from, from + n) in place, each by what the rows of
 * other parts taught; and turns them into classes where a threshold decides about the metric. */
void fit_adjust_rows(const struct fit_trial *t, int fold, int64_t from, float *p, int64_t n);
void fit_adjust_decide(const struct fit_trial *t, int fold, int64_t from, float *p, int64_t n);

/* fit_keep.c */
/* Fills t->keeps with the held-out rows; it stays empty where a fold was not fitted. */
int fit_keep_held(struct fit_trial *t, struct err *err);

#endif
