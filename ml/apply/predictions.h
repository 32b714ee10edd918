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
/* "prediction", and of classes "p_<class>" for each. No line end. */
int predictions_header(struct buf *out, const struct artifact_info *info, struct err *err);
/* One row from what artifact_predict said of it, with its line end. Of two classes the positive one
 * is predicted where its probability is above the threshold. */
int predictions_row(struct buf *out, const struct artifact_info *info, double threshold,
                    const float *p, struct err *err);

struct predictions {
    const struct artifact *a;
    const struct frame *f;
    double threshold;
};
/* All rows of the frame: a whole CSV with its header, or the members "predictions" and, of classes,
 * "classes" and "probabilities" of a JSON object, without its braces. */
int predictions_csv(const struct predictions *p, struct buf *out, struct err *err);
int predictions_json(const struct predictions *p, struct buf *out, struct err *err);

#endif
