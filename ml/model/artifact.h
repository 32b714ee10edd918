/* artifact.h - writes and reads the model file. It needs no other file, has a version and
 * checksums, and is safe to open even if a stranger made it.
 *
 * Layout, little-endian: magic "ASSAYMDL", u32 format, u32 minimum reader, u32 number of sections,
 * a table of {name[8], offset, length, sha256}, then the sections one after the other with nothing
 * between or after them:
 *
 * info    task, target, classes, family, metric, score, the unit in which the target was learnt
 *         (target_unit.h), and how columns that are not plain were read (readings.h)
 * schema  the contents of info, and the inputs with their importance, as JSON text for people and
 *         for the page (web/static/columns.js)
 * prep    the fitted preparation (ml/prep/prep.h)
 * model   the fold models: their number, then length and bytes of each
 *
 * Of an ensemble (format 3) the family is "ensemble", the section prep is empty, and model holds its
 * members: their number, the least and the most that a member may predict (numbers only, else
 * infinite), then of each its weight, length and bytes, which are a whole model file. It
 * predicts the weighted mean of what they predict.
 *
 * Format 4 is any of these with adjustments of the outputs (ml/adjust/adjust.h) in info. Probabilities
 * are calibrated model by model before the mean is taken, because single models is what they were
 * learnt from; of an ensemble the weighted mean is. A file without adjustments keeps its lower format.
 *
 * Format 5 is format 4 with a power of the mean of the models among the adjustments, behind the
 * threshold: 64-bit float, above 1. Of an ensemble that is calibrated, the members' powers do not
 * count.
 *
 * Format 6 is an ensemble, with or without adjustments, that predicts the log-linear pool of its
 * members' probabilities (ml/adjust/pool.h) instead of their mean. Weights may be below 0, and the members'
 * powers count in any case.
 *
 * Format 7 is a single model of numbers with the least and the most that it may predict
 * (target_limits.h) in info, behind the unit, less target_shift: two 64-bit floats. Files of lower
 * formats have no such limits.
 *
 * The bytes are a pure function of the fitted parts: no time, host, path or duration. Called by
 * fit/, the worker, the CLI. */
#ifndef ML_MODEL_ARTIFACT_H
#define ML_MODEL_ARTIFACT_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/adjust/adjust.h"
#include "ml/metric/metric.h"
#include "ml/model/artifact_head.h"
#include "ml/model/readings.h"
#include "ml/model/target_limits.h"
#include "ml/model/target_unit.h"
#include "ml/prep/prep.h"
#include "ml/table/frame.h"

#include <stdint.h>

#define ARTIFACT_ENSEMBLE "ensemble"
enum { ARTIFACT_MAX_MEMBERS = 64 };

struct artifact_info {
    enum ml_task task;
    const char *target;
    int n_classes;
    /* binary: {negative, positive} */
    const char *const *classes;
    const char *family;
    const char *metric;
    /* the score from validation and its standard error; NaN = none */
    double score, score_se;
    struct target_unit unit;
    struct target_limits limits;
    /* never NULL; a plain one changes nothing */
    const struct adjust *adjust;
    /* the section "schema" */
    const char *schema_json;
    int n_models;
};

/* A member of an ensemble: its model file, as bytes and loaded. */
struct artifact;
struct artifact_part {
    double weight;
    const struct artifact *file;
    const void *bytes;
    size_t len;
};

/* The parts from which a file is written. */
struct artifact_parts {
    enum ml_task task;
    const char *target;
    int n_classes;
    const char *const *classes;
    const char *family;
    const char *params_json;
    /* what becomes of the columns (pipeline.h); NULL = it is not said */
    const char *pipeline_json;
    const char *metric;
    double score, score_se;
    struct target_unit unit;
    /* how far predictions may go; of an ensemble, those of its members. NULL = any way */
    const struct target_limits *limits;
    /* NULL = none */
    const struct adjust *adjust;
    const struct prep *prep;
    /* the training table, for how its columns were read; NULL = all are plain */
    const struct frame *frame;
    /* [inputs], with the values of ml_data.monotone; NULL = no input has a constraint */
    const int8_t *monotone;
    int n_models;
    /* [n_models]: the bytes that model_ops.save wrote */
    struct buf *models;
    /* each buffer is freed as soon as it is written */
    bool gives_models;
    /* [prep_columns]: the importance of each column as a share of the sum, for "schema"; NULL = not
     * known */
    const double *importance;
    /* Of an ensemble (artifact_write_ensemble), in the place of models and prep; else 0. */
    const struct artifact_part *members;
    int n_members;
    bool is_pool;
};
int artifact_write(const struct artifact_parts *p, struct buf *out, struct err *err);

/* How the members of an ensemble predict together. */
struct artifact_together {
    /* the log-linear pool of classes; else the weighted mean */
    bool is_pool;
    /* how far members may go; NULL = as far as their own files let them */
    const struct target_limits *limits;
    const struct adjust *adjust;
    /* by the metric of the members */
    double score, se;
};
/* Writes the file of an ensemble of 2 to ARTIFACT_MAX_MEMBERS models of one problem. Weights are
 * above 0 and add up to 1; of a pool they are any but 0. */
int artifact_write_ensemble(const struct artifact_part *parts, int n,
                            const struct artifact_together *together, struct buf *out,
                            struct err *err);

/* a model file in memory */
struct artifact;
/* Loads a model file and checks every length and checksum. */
struct artifact *artifact_load(const void *bytes, size_t n, struct err *err);
/* Loads a file whose models do not fit into memory together. No model is in memory until
 * artifact_stage loads one, which replaces the one before. artifact_predict uses only that model.
 * The bytes must outlive the artifact. */
struct artifact *artifact_load_staged(const void *bytes, size_t n, struct err *err);
int artifact_stage(struct artifact *a, int model, struct err *err);
struct artifact *artifact_open(const char *path, struct err *err);
/* The adjustments of a file, whose models are not loaded. adjust_fini frees what *out holds. */
int artifact_adjust_read(const char *path, struct adjust *out, struct err *err);
void artifact_close(struct artifact *a);
const struct artifact_info *artifact_info(const struct artifact *a);
/* Returns the preparation; of an ensemble that of its first member. */
const struct prep *artifact_prep(const struct artifact *a);
/* The columns that a table needs for a prediction; of an ensemble those of any member. */
int artifact_columns(const struct artifact *a);
const char *artifact_column_name(const struct artifact *a, int c);
enum frame_type artifact_column_type(const struct artifact *a, int c);
/* An error if the model is of images and the table is not of such. */
int artifact_images_check(const struct artifact *a, const struct frame *f, struct err *err);
/* Whether it is an ensemble that is a pool. */
bool artifact_is_pool(const struct artifact *a);
/* The members of an ensemble, heaviest first; 0 = it is none. weight: NULL = not asked for. */
int artifact_members(const struct artifact *a);
const struct artifact *artifact_member(const struct artifact *a, int i, double *weight);
/* How a column of the training table was read; NULL = it is plain, or there was none. */
const struct reading *artifact_reading(const struct artifact *a, const char *column);
/* A table as the model sees it. Columns are matched by name; a missing column is an error that
 * names it. */
struct artifact_view;
struct artifact_view *artifact_view_new(const struct artifact *a, const struct frame *f,
                                        struct err *err);
void artifact_view_free(struct artifact_view *v);
/* Predicts rows [from, from + n) as the mean over the models. A row has one float (binary: the
 * probability of the positive class; regression: the value less target_shift(&info.unit), which
 * float may not hold) or n_classes floats. */
int artifact_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err);
/* Raises n rows of a mean of the models to the power that the file says (adjust.h), in place, as
 * artifact_predict does; but not where the models are staged, because there the caller takes the mean. */
void artifact_raise(const struct artifact *a, float *p, int64_t n);
/* Returns the number of floats per row: 1 or n_classes. */
int artifact_outputs(const struct artifact *a);
/* Shuffles one column (artifact_column_name), see prep_view_shuffle. */
int artifact_view_shuffle(struct artifact_view *v, int column, const int32_t *order,
                          struct err *err);
/* Both functions explain a model (model.h) by means over its fold models (explain_bag.h), in the
 * columns of the table: the inputs made of a column are added up (prep_by_column). The error
 * ERR_CONFLICT means that the family cannot be explained. Of an ensemble, members that
 * cannot be explained are left out; the base of a row is then what the values of the others leave of
 * the prediction. artifact_importance: out[artifact_columns];
 * between models, compare only the shares of the sum. artifact_explain: out[n][artifact_columns + 1],
 * the SHAP values of each row for its output of[row], the last one the base; where the unit is
 * TARGET_LOG they add up to the logarithm of the prediction before smearing. */
int artifact_importance(const struct artifact *a, double *out, struct err *err);
/* The weights of a linear model: out[artifact_outputs][prep_width + 1], of standardised dense columns
 * (prep_dense_term), the last one the score of the mean row; means over the fold models. Scores are
 * log-odds, scores before softmax, or the target less target_shift, or its logarithm where the unit is
 * TARGET_LOG. ERR_CONFLICT: the family has no such weights. */
int artifact_weights(const struct artifact *a, double *out, struct err *err);
int artifact_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err);

#endif
