/* artifact_private.h - private to artifact*.c: the container's numbers, known to the writer and the
 * reader. */
#ifndef ML_MODEL_ARTIFACT_PRIVATE_H
#define ML_MODEL_ARTIFACT_PRIVATE_H

#include "ml/model/artifact.h"
#include "ml/model/model.h"

/* ARTIFACT_UNIT: a bit beside the task: the unit of the target follows the classes, which readers of
 * format 1 do not know. Files without it stay of format 1. ARTIFACT_ADJUST: likewise the adjustments,
 * behind the unit, which readers of formats 1 to 3 do not know. The power of the mean is one of
 * them that readers of format 4 do not know. ARTIFACT_POOL: an ensemble is a pool, which readers of
 * formats 1 to 5 do not know; nothing follows. ARTIFACT_LIMITS: what the model may predict follows the
 * unit, which readers of formats 1 to 6 do not know. */
enum {
    ARTIFACT_PLAIN_FORMAT = 1,
    ARTIFACT_UNIT_FORMAT = 2,
    ARTIFACT_ENSEMBLE_FORMAT = 3,
    ARTIFACT_ADJUST_FORMAT = 4,
    ARTIFACT_POWER_FORMAT = 5,
    ARTIFACT_POOL_FORMAT = 6,
    ARTIFACT_LIMITS_FORMAT = 7,
    ARTIFACT_LIMITS = 0x10,
    ARTIFACT_POOL = 0x20,
    ARTIFACT_ADJUST = 0x40,
    ARTIFACT_UNIT = 0x80
};
enum { ARTIFACT_MAX_CLASSES = 1000, ARTIFACT_MAX_MODELS = 1024, ARTIFACT_MAX_TEXT = 1 << 20 };

struct artifact {
    struct artifact_info info;
    char *target, *family, *metric, *schema;
    char **classes;
    int n_classes;
    struct prep *prep;
    struct readings readings;
    struct adjust adjust;
    /* adjust.power in the form of a calibration, for the mean of the models */
    struct adjust bag;
    const struct model_ops *ops;
    struct predictor **models;
    int n_models;
    /* models has at most one entry, made from one of these: */
    bool is_staged;
    /* [info.n_models], within the caller's bytes */
    struct view *staged;
    int n_outputs;
    bool is_pool;
    /* NULL = the file has one model, or the bag of its folds; else there are no models here */
    struct ensemble *ensemble;
};

struct artifact_view {
    const struct artifact *artifact;
    struct prep_view *rows; /* NULL = an ensemble's */
    struct artifact_view **members;
};

/* ---- ensembles (artifact_ensemble.c, ensemble_explain.c) ---- */

struct ensemble {
    int n, n_columns;
    struct target_limits limits;
    double weight[ARTIFACT_MAX_MEMBERS];
    struct artifact *file[ARTIFACT_MAX_MEMBERS];
    /* [n_columns] a member that reads the column, and which of its columns it is */
    struct ensemble_column {
        int member, column;
    } * columns;
    /* [n][prep_columns of the member]: the ensemble's column */
    int *at[ARTIFACT_MAX_MEMBERS];
};

/* Reads the members from the section of models; each is a whole model file. */
int ensemble_read(struct artifact *a, struct view *in, struct err *err);
void ensemble_free(struct artifact *a);
int ensemble_view(struct artifact_view *v, const struct frame *f, struct err *err);
int ensemble_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err);
/* The weighted mean or the pool of the members, before it is calibrated. */
int ensemble_mix(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                 struct err *err);
const struct prep *ensemble_prep(const struct ensemble *e, int member);
/* The value held to what a member may predict. */
double ensemble_limited(const struct ensemble *e, double value);
int ensemble_shuffle(struct artifact_view *v, int column, const int32_t *order, struct err *err);
int ensemble_importance(const struct artifact *a, double *out, struct err *err);
int ensemble_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err);
/* What the values of artifact_explain of a single model add up to. */
enum explain_link artifact_link(const struct artifact *a);

#endif
