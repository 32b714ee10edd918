/* predictions_rig.c - makes blank predictions (predictions_rig.h). */
#include "tests/ml/predictions_rig.h"

#include "base/mem.h"

struct predictions predictions_blank(enum ml_task task, enum metric_id metric, int classes,
                                     int rows, int folds)
{
    int k = task == ML_MULTICLASS ? classes : 1;
    struct predictions p = {
        .task = task, .metric = metric, .outputs = k, .classes = classes, .folds = folds
    };

    p.held.n = rows;
    p.held.fold = mem_try_alloc((size_t)rows);
    p.held.y = mem_try_zalloc((size_t)rows * sizeof(double));
    p.held.p = mem_try_zalloc((size_t)(rows * k) * sizeof(float));
    for (int i = 0; i < rows; i++)
        p.held.fold[i] = (uint8_t)(i % folds);
    return p;
}
