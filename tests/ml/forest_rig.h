/* forest_rig.h - what the tests of forests share: small tables of every task, parameters, steps of the grid. */
#ifndef TESTS_ML_FOREST_RIG_H
#define TESTS_ML_FOREST_RIG_H

#include "tests/ml/fit_rig.h"

#include "ml/forest/forest_model.h"

extern const char *const forest_families[2];
extern const enum ml_task forest_tasks[3];

struct rig *forest_table(enum ml_task task, int64_t rows, uint64_t seed); /* three folds */
void forest_params(const char *family,
                   double *params); /* defaults, but half of the columns looked at */
int64_t forest_steps(const double *params, int64_t trees); /* of a lane with so many trees */
void assert_same_bufs(struct buf a, struct buf b);         /* frees both */

#endif
