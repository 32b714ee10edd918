/* fit_unit.h - opens a learning problem with the target in the unit in which it is learnt best.
 *
 * Where the target has a long right tail (target_unit_log), a small boosting model is fitted on the
 * target and on its logarithm, on at most UNIT_ROWS rows without fold 0; the one with the smaller
 * error on fold 0, by the study's metric and in the unit of the table, is taken. The choice is a
 * function of the problem alone, so every worker of a study makes the same. */
#ifndef ML_FIT_FIT_UNIT_H
#define ML_FIT_FIT_UNIT_H

#include "ml/model/data.h"

/* ml_data_open, with spec->unit chosen. */
struct ml_data *fit_data_open(const struct ml_data_spec *spec, struct err *err);

#endif
