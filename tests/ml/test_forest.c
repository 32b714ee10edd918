/* test_forest.c - random forests and extra trees as families: one forest answers for every number of trees, depth, split size,
 * impurity and number of leaves as the separate fit does, bit for bit; nothing depends on slicing, checkpoints, other lanes
 * or the instruction set; held-out predictions are what the saved bytes predict. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/forest_model.h"

#include <math.h>
#include <string.h>

static const char *const families[] = { "forest", "extra_trees" };
static const enum ml_task tasks[] = { ML_BINARY, ML_MULTICLASS, ML_REGRESSION };

static struct rig *mixed(enum ml_task task, int64_t rows, uint64_t seed)
{
    int classes = task == ML_MULTICLASS ? 4 : task == ML_BINARY ? 2 : 0;

    return rig_new(rig_mixed(task, rows, classes, seed), task, metric_default(task), 3);
}

static void assert_same_bytes(struct buf a, struct buf b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
}

/* Steps of a lane with these parameters after so many trees, all prunings. */
static int64_t steps_of(const double *params, int64_t trees)
{
    struct forest_axis axes[FOREST_MAX_AXES];

    return trees * forest_axes(params, axes);
}

/* ---- the grid ---- */

/* Eight tree counts, five depths, four split sizes: a fit of its own for each of the 160 gives the bits that the one fit has. */
static void each_answer_of_the_grid_equals_its_own_fit(void **state)
{
    static const int64_t counts[8] = { 1, 2, 3, 4, 6, 8, 10, 12 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tasks) * ARRAY_LEN(families); i++) {
        const char *family = families[i % 2];
        const struct model_ops *ops = model_find(family);
        struct rig *r = mixed(tasks[i / 2], 240, i);
        double params[FAMILY_MAX_PARAMS];
        struct forest_axis axes[FOREST_MAX_AXES];
        size_t width = 240 * (size_t)r->d->n_outputs;
        float *one = mem_zalloc(width * sizeof *one), *own = mem_zalloc(width * sizeof *own);
        struct err err = { 0 };
        family_defaults(ops->family, params);
        assert_int_equal(forest_axes(params, axes), 20);
        struct lane grid = rig_lane(r, family, params, 0, 0);
        for (int c = 0; c < 8; c++) {
            rig_lane_train(r, family, &grid, steps_of(params, counts[c]), NULL);
            for (int a = 0; a < 20; a++) {
                int64_t step = (counts[c] - 1) * 20 + a + 1;
                double fixed[FAMILY_MAX_PARAMS];
                memcpy(fixed, params, sizeof fixed);
                ops->family->choose(fixed, 1, step);
                assert_int_equal(fixed[FOREST_TREES], counts[c]);
                struct lane l = rig_lane(r, family, fixed, 0, counts[c]);
                assert_int_equal(ops->predict_held_at(r->d, &grid, step, one, &err), 0);
                assert_int_equal(ops->predict_held(r->d, &l, own, &err), 0);
                assert_memory_equal(one, own, width * sizeof *one);
                assert_same_bytes(rig_lane_bytes(family, &grid, step),
                                  rig_lane_bytes(family, &l, counts[c]));
                rig_lane_close(family, &l);
            }
        }
        rig_lane_close(family, &grid);
        mem_free(one);
        mem_free(own);
        rig_free(r);
    }
}

/* ---- slices, checkpoints, neighbours, instruction sets ---- */

static void default_params(const char *family, double *params)
{
    family_defaults(model_find(family)->family, params);
    params[FOREST_MAX_FEATURES] = 3;
}

static void slices_do_not_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(tasks) * ARRAY_LEN(families); i++) {
        const char *family = families[i % 2];
        struct rig *r = mixed(tasks[i / 2], 400, i);
        double params[FAMILY_MAX_PARAMS];
        default_params(family, params);
        int64_t steps = steps_of(params, 6);
        struct lane whole = rig_lane(r, family, params, 0, steps);
        struct lane sliced = rig_lane(r, family, params, 0, 0);
        struct rig_stop stop;
        int pieces = 0;
        rig_stop_init(&stop, i, 2);
        for (; sliced.steps_done < steps; pieces++) {
            rig_stop_next(&stop);
            rig_lane_train(r, family, &sliced, steps, &stop.stop);
        }
        assert_true(pieces > 3);
        assert_same_bytes(rig_lane_bytes(family, &whole, steps),
                          rig_lane_bytes(family, &sliced, steps));
        rig_lane_close(family, &whole);
        rig_lane_close(family, &sliced);
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_of_the_grid_equals_its_own_fit),
        cmocka_unit_test(slices_do_not_show),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
