/* forest_rig.c - see forest_rig.h. */
#include "tests/ml/forest_rig.h"

#include "ml/model/models.h"

const char *const forest_families[2] = { "forest", "extra_trees" };
const enum ml_task forest_tasks[3] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };

struct rig *forest_table(enum ml_task task, int64_t rows, uint64_t seed)
{
    int classes = task == ML_MULTICLASS ? 4 : task == ML_BINARY ? 2 : 0;

    return rig_new(rig_mixed(task, rows, classes, seed), task, metric_default(task), 3);
}

void forest_params(const char *family, double *params)
{
    family_defaults(model_find(family)->family, params);
    params[FOREST_MAX_FEATURES] = 3;
}

int64_t forest_steps(const double *params, int64_t trees)
{
    struct forest_axis axes[FOREST_MAX_AXES];

    return trees * forest_axes(params, axes);
}

void assert_same_bufs(struct buf a, struct buf b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
}
