/* linear_file.h - the bytes of a linear model. Included by linear.c and linear_bytes.c. */
#ifndef ML_LINEAR_LINEAR_FILE_H
#define ML_LINEAR_LINEAR_FILE_H

#include "base/buf.h"
#include "ml/model/model.h"

/* The head of the model bytes, beyond outputs and columns, which are only checked. */
struct linear_head {
    uint32_t format, steps;
    double mean, spread;
};
int linear_head_load(struct view *in, int outputs, int cols, struct linear_head *h,
                     struct err *err);
/* The weights of the next step, n = [cols + 1][lanes]. */
int linear_weights_load(struct view *in, const struct linear_head *h, double *w, int64_t n,
                        int outputs, int lanes, struct err *err);
int linear_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err);
int linear_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err);

#endif
