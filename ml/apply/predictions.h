/* predictions.h - what a saved model says of rows, as CSV or as JSON. Both have the same digits: of
 * a probability 9 (a float comes back from them), of a number as many as it needs. Called by
 * cli/cmd_predict.c and controller/predictor/. */
#ifndef ML_APPLY_PREDICTIONS_H
#define ML_APPLY_PREDICTIONS_H

#include "base/buf.h"
#include "base/err.h"
#include "ml/model/artifact.h"
#include "ml/table/frame.h"

/* Rows that are predicted at a time. */
enum { PREDICTIONS_BATCH = 4096 };

/* One CSV cell: prefix and text, quoted if the text has a comma, a quote or a line break. */
int predictions_cell(struct buf *out, const char *prefix, const char *text, struct err *err);
/* What a user asks for beside the predictions. */
struct predictions_how {
    /* of two classes, the positive one is predicted where its probability is above this; NaN = the
     * model's own threshold */
    double threshold;
    /* of numbers, the share of rows that the interval around a prediction is to hold; 0 = no
     * intervals */
    double interval;
};
/* An error where the model cannot do what is asked for. The names are those of its options, for the
 * error. */
int predictions_check(const struct artifact_info *info, const struct predictions_how *how,
                      const char *threshold_name, const char *interval_name, struct err *err);
/* "prediction"; with intervals ",lower,upper"; and of classes "p_<class>" for each. No line end. */
int predictions_header(struct buf *out, const struct artifact_info *info,
                       const struct predictions_how *how, struct err *err);
/* One row from what artifact_predict said of it, with its line end. */
int predictions_row(struct buf *out, const struct artifact_info *info,
                    const struct predictions_how *how, const float *p, struct err *err);

struct predictions {
    const struct artifact *a;
    const struct frame *f;
    struct predictions_how how;
};
/* All rows of the frame: a whole CSV with its header, or the members "predictions" and, of classes,
 * "classes" and "probabilities", with intervals "interval", "lower" and "upper", of a JSON object, without its braces. */
int predictions_csv(const struct predictions *p, struct buf *out, struct err *err);
int predictions_json(const struct predictions *p, struct buf *out, struct err *err);

#endif
