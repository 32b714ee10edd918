/* data_target.h - private to data*.c: the target column as classes and numbers. */
#ifndef ML_DATA_TARGET_H
#define ML_DATA_TARGET_H

#include "ml/data.h"

enum { DATA_MAX_CLASSES = 1000, DATA_FEW_WHOLE = 20 };

/* Fills d->y, classes and n_classes from spec (y: NaN where the target is missing). */
int data_target(struct ml_data *d, struct err *err);

#endif
