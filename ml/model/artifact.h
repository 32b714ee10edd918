/* artifact.h - the model file: one self-contained file, versioned and checksummed, safe to open
 * from a stranger.
 *
 * Layout, little-endian: magic "ASSAYMDL", u32 format, u32 minimum reader, u32 number of sections,
 * a table of {name[8], offset, length, sha256}, then the sections one after the other with nothing
 * between or after them:
 *
 * info    task, target, classes, family, metric, score
 * schema  the same and the inputs with their importance, as JSON text for people and the page
 *         (web/static/columns.js)
 * prep    the fitted preparation (ml/prep/prep.h)
 * model   the fold models: their number, then length and bytes of each
 *
 * The bytes are a pure function of the fitted parts: no time, host, path or duration. Called by
 * fit/, the worker, the CLI. */
#ifndef ML_MODEL_ARTIFACT_H
#define ML_MODEL_ARTIFACT_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/metric/metric.h"
#include "ml/model/artifact_head.h"
#include "ml/prep/prep.h"
#include "ml/table/frame.h"

#include <stdint.h>

struct artifact_info {
    enum ml_task task;
    const char *target;
    int n_classes;
    /* binary: {negative, positive} */
    const char *const *classes;
    const char *family;
    const char *metric;
    /* from validation; NaN = none */
    double score, score_se;
    /* everything, for people */
    const char *schema_json;
    int n_models;
};

/* What a file is written from. */
struct artifact_parts {
    enum ml_task task;
    const char *target;
    int n_classes;
    const char *const *classes;
    const char *family;
    const char *params_json;
    const char *metric;
    double score, score_se;
    const struct prep *prep;
    /* by input, as ml_data.monotone; NULL = none */
    const int8_t *monotone;
    int n_models;
    /* the bytes of model_ops.save */
    struct buf *models;
    /* each buffer is freed as soon as it is written */
    bool gives_models;
    /* shares of the inputs, written into "schema"; NULL = not known */
    const double *importance;
};
int artifact_write(const struct artifact_parts *p, struct buf *out, struct err *err);

/* one that was loaded */
struct artifact;
/* Checks every length and checksum. */
struct artifact *artifact_load(const void *bytes, size_t n, struct err *err);
/* The same for a file whose models do not fit into memory all at once. Only the model staged last
 * is held (none at first), and artifact_predict answers with that one alone. The bytes must outlive
 * the artifact. */
struct artifact *artifact_load_staged(const void *bytes, size_t n, struct err *err);
int artifact_stage(struct artifact *a, int model, struct err *err);
struct artifact *artifact_open(const char *path, struct err *err);
void artifact_close(struct artifact *a);
const struct artifact_info *artifact_info(const struct artifact *a);
/* Its inputs are the columns that a table to predict must have. */
const struct prep *artifact_prep(const struct artifact *a);
/* Predictions of rows [from, from + n): one float a row (binary: the probability of the positive
 * class; regression: the value), or n_classes floats. The mean over the models. Columns are matched
 * by name; a missing one is an error that names it. */
struct artifact_view;
struct artifact_view *artifact_view_new(const struct artifact *a, const struct frame *f,
                                        struct err *err);
void artifact_view_free(struct artifact_view *v);
int artifact_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err);
/* floats of a row: 1 or n_classes */
int artifact_outputs(const struct artifact *a);
int artifact_view_shuffle(struct artifact_view *v, int input, const int32_t *order,
                          struct err *err); /* prep_view_shuffle */
/* Explanations (model.h), as means over the models (explain_bag.h). ERR_CONFLICT: the family has
 * none. artifact_importance: out[inputs]; only their shares of the sum can be compared between
 * models. artifact_explain: out[n][inputs + 1], the SHAP values of each row for its output of[row]. */
int artifact_importance(const struct artifact *a, double *out, struct err *err);
int artifact_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err);

#endif
