/* target.h - the target column as classes and numbers. */
#ifndef ML_MODEL_TARGET_H
#define ML_MODEL_TARGET_H

#include "ml/model/data.h"

enum { DATA_MAX_CLASSES = 1000, DATA_FEW_WHOLE = 20 };

/* Fills d->y, classes and n_classes from spec (y: NaN where the target is missing). */
int data_target(struct ml_data *d, struct err *err);

/* The target of another table in classes already known: y[f->rows], NaN = missing, or a class that training never saw. Numbers
 * match classes that read as the same number. */
int data_target_of(const struct frame *f, const char *target, enum ml_task task, int n_classes,
                   const char *const *classes, double *y, struct err *err);

#endif
