/* artifact.h - the model file: one self-contained file, versioned and checksummed, safe to open from a stranger.
 * Layout (little-endian): magic "ASSAYMDL", u32 format, u32 minimum reader, u32 sections, table of {name[8], offset,
 * length, sha256}, then the sections one after the other, nothing between or after them: "info" (task, target, classes,
 * family, metric, score), "schema" (the same and the inputs with their shares of importance as JSON text, for people and
 * the page, web/static/columns.js), "prep", "model" (n fold models, length and bytes of each). Holds no time, host, path
 * or duration. */
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
    const char *const *classes; /* binary: {negative, positive} */
    const char *family;
    const char *metric;
    double score, score_se;  /* validation; NaN = none */
    const char *schema_json; /* everything, for people */
    int n_models;
};

struct artifact_parts { /* for writing */
    enum ml_task task;
    const char *target;
    int n_classes;
    const char *const *classes;
    const char *family;
    const char *params_json;
    const char *metric;
    double score, score_se;
    const struct prep *prep;
    const int8_t *monotone; /* by input, as ml/model/data.h; NULL = none */
    int n_models;
    struct buf *models;       /* model_ops->save bytes */
    bool gives_models;        /* each is freed as soon as it is written */
    const double *importance; /* shares of the prep's inputs, told in "schema"; NULL = not known */
};
int artifact_write(const struct artifact_parts *p, struct buf *out, struct err *err);

struct artifact; /* loaded */
struct artifact *artifact_load(const void *bytes, size_t n,
                               struct err *err); /* every length and checksum checked */
/* The same for a bag that is larger than there is memory for twice: only one of its info.n_models is held, the one staged last
 * (none at first), and predicts alone. The bytes must outlive it. */
struct artifact *artifact_load_staged(const void *bytes, size_t n, struct err *err);
int artifact_stage(struct artifact *a, int model, struct err *err);
struct artifact *artifact_open(const char *path, struct err *err);
void artifact_close(struct artifact *a);
const struct artifact_info *artifact_info(const struct artifact *a);
const struct prep *artifact_prep(
    const struct artifact *a); /* its inputs: what a table to predict must have */
/* Predictions of rows [from, from+n): 1 float a row (binary: of the positive class; regression) or n_classes; the mean of
 * the bag. Columns matched by name; a missing one is an error naming it. */
struct artifact_view;
struct artifact_view *artifact_view_new(const struct artifact *a, const struct frame *f,
                                        struct err *err);
void artifact_view_free(struct artifact_view *v);
int artifact_predict(const struct artifact_view *v, int64_t from, int64_t n, float *out,
                     struct err *err);
int artifact_outputs(const struct artifact *a); /* floats of a row: 1 or n_classes */
int artifact_view_shuffle(struct artifact_view *v, int input, const int32_t *order,
                          struct err *err); /* prep_view_shuffle */
/* Explanations (model.h), means over the bag (explain_bag.h). ERR_CONFLICT: the family has none. out: [inputs] importances, shares of their
 * sum are what can be compared; and [n][inputs + 1] SHAP values of rows, of each for the output of[row]. */
int artifact_importance(const struct artifact *a, double *out, struct err *err);
int artifact_explain(const struct artifact_view *v, int64_t from, int64_t n, const int *of,
                     double *out, struct err *err);

#endif
