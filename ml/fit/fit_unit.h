/* fit_unit.h - opens a learning problem with the target in the unit in which it is learnt best.
 *
 * Where the target has a long right tail (target_unit_log), boosting of large and of small trees and a
 * linear model are fitted on the target and on its logarithm, on at most UNIT_ROWS rows of each fold's.
 * What the best of them has on the held-out rows, by the study's metric and in the unit of the table,
 * decides: the logarithm is taken unless it is clearly worse, where some targets are 0 only where it is
 * clearly better. The choice is a function of the problem alone, so every worker of a study makes the
 * same. */
#ifndef ML_FIT_FIT_UNIT_H
#define ML_FIT_FIT_UNIT_H

#include "ml/model/data.h"

/* ml_data_open, with spec->unit chosen. */
struct ml_data *fit_data_open(const struct ml_data_spec *spec, struct err *err);

#endif
