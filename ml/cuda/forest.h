/* forest.h - private to the device's forests (contract: ml/ops/ops_forest.h): the launchers of
 * forest.cu that forest.c calls.
 *
 * All trees of a call grow at once, level by level. cuda_forest_start puts each tree's rows and its
 * root into the first queue. cuda_forest_level then takes one level: a block per open node of any
 * tree adds up the node's rows, looks at its columns (one warp a column), splits the rows, and puts
 * the two children into the next level's queue. */
#ifndef ML_CUDA_FOREST_H
#define ML_CUDA_FOREST_H

#include "ml/cuda/cuda.h"
#include "ml/cuda/forest_view.h"

#ifdef __cplusplus
extern "C" {
#endif
int cuda_forest_start(struct ml_ctx *c, const struct rf_view *v, struct err *err);
int cuda_forest_level(struct ml_ctx *c, const struct rf_view *v, int level, struct err *err);
#ifdef __cplusplus
}
#endif
#endif
