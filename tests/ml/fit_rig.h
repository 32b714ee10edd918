/* fit_rig.h - small tables made in memory for the tests of models and of the engine: columns are arrays, the last one is
 * the target. Also lanes trained, saved and predicted in one call, and a clock that stops work at random places. */
#ifndef TESTS_ML_FIT_RIG_H
#define TESTS_ML_FIT_RIG_H

#include "tests/unit.h"

#include "base/rng.h"
#include "ml/family/family_params.h"
#include "ml/fit/fit.h"
#include "ml/model/data.h"
#include "ml/model/model.h"

struct rig_table {
    int64_t rows;
    int n_cols;
    struct {
        char name[16];
        double *num; /* NULL = categorical */
        int32_t *codes;
        int n_levels;
    } cols[2048];
};

struct rig {
    struct frame *frame, *test_frame;
    struct ml_data *d;
};

struct rig_table *rig_table_new(int64_t rows);
void rig_table_free(struct rig_table *t);
double *rig_numbers(struct rig_table *t);               /* a new numeric column x0, x1 ..., zeros */
int32_t *rig_levels(struct rig_table *t, int n_levels); /* a new categorical column */
/* A table of `rows` with noise, a categorical column and missing values: kind is the task, classes for multiclass. */
struct rig_table *rig_mixed(enum ml_task task, int64_t rows, int classes, uint64_t seed);

struct frame *rig_frame(const struct rig_table *t); /* target = last column, called "y" */
struct rig *rig_new(struct rig_table *t, enum ml_task task, enum metric_id metric,
                    int folds); /* frees t */
void rig_free(struct rig *r);

/* A lane of a family trained to `steps`; free with rig_lane_close. */
struct lane rig_lane(const struct rig *r, const char *family, const double *params, int fold,
                     int64_t steps);
void rig_lane_train(const struct rig *r, const char *family, struct lane *l, int64_t steps,
                    const struct ml_stop *stop);
void rig_lane_close(const char *family, struct lane *l);
/* Its bytes after `steps` steps; mem via buf. */
struct buf rig_lane_bytes(const char *family, const struct lane *l, int64_t steps);
/* Loads the bytes of a model with each byte changed in turn, every second time cut off there too:
 * whoever is short is refused, and nothing is harmed (sanitizers see it). */
void rig_bytes_broken(const struct rig *r, const char *family, enum ml_task task,
                      const struct buf *b);
/* Predictions of the whole frame from bytes; heap (free). */
float *rig_predict(const struct rig *r, const char *family, const struct buf *bytes);

/* A stop that fires after a random number of looks, drawn anew by rig_stop_next. */
struct rig_stop {
    struct ml_stop stop;
    struct rng rng;
    int64_t looks;
    int most;
};
void rig_stop_init(struct rig_stop *s, uint64_t seed, int most);
void rig_stop_next(struct rig_stop *s);

#endif
