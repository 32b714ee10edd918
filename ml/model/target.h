/* target.h - what is to be predicted: one column of a table, read as class indices or as numbers.
 *
 * Owns the order of the classes, which artifacts and predictions use: binary {negative, positive};
 * multiclass sorted by text, or by value where the labels are numbers. Rows without a target are
 * NaN. Needs the table alone, so that the task can be guessed before a learning problem (data.h) is
 * opened. Called by data.c, by fit/ for tables other than the one trained on, and by the CLI's
 * baseline. */
#ifndef ML_MODEL_TARGET_H
#define ML_MODEL_TARGET_H

#include "base/err.h"
#include "ml/metric/metric.h"
#include "ml/table/frame.h"

/* At most so many classes. A numeric column of at most TARGET_FEW_WHOLE distinct whole numbers
 * holds classes. */
enum { TARGET_MAX_CLASSES = 1000, TARGET_FEW_WHOLE = 20 };

struct target_column {
    const struct frame *frame;
    const char *name;
    const char *positive; /* binary: the positive class; NULL or "" = the rarer one */
    enum ml_task task;
};

struct target {
    double *y; /* [rows of the frame] class index or value; NaN where it is missing. mem_try_free */
    int n_classes;  /* 0 for regression */
    char **classes; /* [n_classes] labels */
};

/* What `auto` means for a column: two distinct values = binary; text, or few whole numbers, =
 * multiclass; else regression. A column with one value only is an error that names it. */
int ml_task_infer(const struct frame *f, const char *name, enum ml_task *out, struct err *err);

/* Fills *out, which target_fini frees, also after an error. */
int target_read(const struct target_column *in, struct target *out, struct err *err);
void target_fini(struct target *t);

/* The target column of another table, in classes that are already known: y[rows of f], NaN where
 * the value is missing or a class that training never saw. A number matches the class whose label
 * reads as the same number. */
int target_read_as(const struct frame *f, const char *name, enum ml_task task, int n_classes,
                   const char *const *classes, double *y, struct err *err);

#endif
