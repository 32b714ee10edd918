/* predictions_rig.h - predictions of a made-up model, for tests of what combines models. */
#ifndef TESTS_ML_PREDICTIONS_RIG_H
#define TESTS_ML_PREDICTIONS_RIG_H

#include "ml/ensemble/predictions.h"

/* All zero, the held rows dealt out to the folds in turn, without test rows. predictions_fini frees it. */
struct predictions predictions_blank(enum ml_task task, enum metric_id metric, int classes,
                                     int rows, int folds);

#endif
