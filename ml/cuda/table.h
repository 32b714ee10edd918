/* table.h - the bins of a table on the device, row-major like the host's. Made once per table by
 * boost.c; forest.c uses the same copy. */
#ifndef ML_CUDA_TABLE_H
#define ML_CUDA_TABLE_H

#include "ml/cuda/cuda.h"

struct ml_boost_table {
    struct ml_ctx *c;
    int64_t rows, stride;
    int cols, has_categorical;
    uint8_t *bins, *is_categorical;
    int32_t *n_bins;
};

#endif
