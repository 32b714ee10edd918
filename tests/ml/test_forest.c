/* test_forest.c - random forests and extra trees as families: one forest answers for every number of trees, depth, split size,
 * as the separate fit does, bit for bit; nothing depends on slicing, checkpoints, other lanes
 * or the instruction set; held-out predictions are what the saved bytes predict. */
#include "tests/ml/forest_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/simd.h"
#include "ml/model/models.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- the grid ---- */

/* Eight tree counts, five depths, four split sizes: a fit of its own for each of the 160 gives the bits that the one fit has. */
static void each_answer_of_the_grid_equals_its_own_fit(void **state)
{
    static const int64_t counts[8] = { 1, 2, 3, 4, 6, 8, 10, 12 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        const struct model_ops *ops = model_find(family);
        struct rig *r = forest_table(forest_tasks[i / 2], 240, i);
        double params[FAMILY_MAX_PARAMS];
        struct forest_axis axes[FOREST_MAX_AXES];
        size_t width = 240 * (size_t)r->d->n_outputs;
        float *one = mem_zalloc(width * sizeof *one), *own = mem_zalloc(width * sizeof *own);
        struct err err = { 0 };
        family_defaults(ops->family, params);
        assert_int_equal(forest_axes(params, axes), 20);
        struct lane grid = rig_lane(r, family, params, 0, 0);
        for (int c = 0; c < 8; c++) {
            rig_lane_train(r, family, &grid, forest_steps(params, counts[c]), NULL);
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
                assert_same_bufs(rig_lane_bytes(family, &grid, step),
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

static void slices_do_not_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        struct rig *r = forest_table(forest_tasks[i / 2], 400, i);
        double params[FAMILY_MAX_PARAMS];
        forest_params(family, params);
        int64_t steps = forest_steps(params, 6);
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
        assert_same_bufs(rig_lane_bytes(family, &whole, steps),
                         rig_lane_bytes(family, &sliced, steps));
        rig_lane_close(family, &whole);
        rig_lane_close(family, &sliced);
        rig_free(r);
    }
}

static void a_saved_forest_goes_on_with_equal_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        const struct model_ops *ops = model_find(family);
        struct rig *r = forest_table(forest_tasks[i / 2], 300, i);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        forest_params(family, params);
        int64_t steps = forest_steps(params, 9);
        struct lane whole = rig_lane(r, family, params, 1, steps);
        struct lane now = rig_lane(r, family, params, 1, forest_steps(params, 4));
        struct buf b = rig_lane_bytes(family, &now, now.steps_done);
        struct view in = { (const uint8_t *)b.data, b.len, 0 };
        rig_lane_close(family, &now);
        now =
            rig_lane(r, family, params, 1, forest_steps(params, 2)); /* load drops what was there */
        assert_int_equal(ops->load(r->d, &now, &in, &err), 0);
        assert_int_equal(in.pos, in.len);
        assert_int_equal(now.steps_done, forest_steps(params, 4));
        rig_lane_train(r, family, &now, steps, NULL);
        size_t width = 300 * (size_t)r->d->n_outputs;
        float *x = mem_zalloc(width * sizeof *x), *y = mem_zalloc(width * sizeof *y);
        assert_int_equal(ops->predict_held(r->d, &whole, x, &err), 0);
        assert_int_equal(ops->predict_held(r->d, &now, y, &err), 0);
        assert_memory_equal(x, y, width * sizeof *x);
        assert_same_bufs(rig_lane_bytes(family, &whole, steps),
                         rig_lane_bytes(family, &now, steps));
        buf_fini(&b);
        mem_free(x);
        mem_free(y);
        rig_lane_close(family, &whole);
        rig_lane_close(family, &now);
        rig_free(r);
    }
}

/* Three folds in one call, stopped at random places: they share a workspace, and whose tree is half grown is in it. */
static void lanes_together_equal_lanes_alone(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        const struct model_ops *ops = model_find(family);
        struct rig *r = forest_table(forest_tasks[i / 2], 400, i);
        double params[FAMILY_MAX_PARAMS];
        struct rig_stop stop;
        struct err err = { 0 };
        forest_params(family, params);
        int64_t steps = forest_steps(params, 5);
        struct lane lanes[3];
        for (int f = 0; f < 3; f++)
            lanes[f] = rig_lane(r, family, params, f, 0);
        rig_stop_init(&stop, i, 2);
        for (bool is_behind = true; is_behind;) {
            is_behind = false;
            for (int f = 0; f < 3; f++) {
                lanes[f].max_steps = steps;
                lanes[f].is_done = lanes[f].steps_done >= steps;
            }
            assert_int_equal(ops->advance(r->d, lanes, 3, steps, &stop.stop, &err), 0);
            for (int f = 0; f < 3; f++)
                is_behind = is_behind || lanes[f].steps_done < steps;
            rig_stop_next(&stop);
        }
        for (int f = 2; f >= 0; f--) {
            struct lane alone = rig_lane(r, family, params, f, steps);
            assert_same_bufs(rig_lane_bytes(family, &alone, steps),
                             rig_lane_bytes(family, &lanes[f], steps));
            rig_lane_close(family, &alone);
            rig_lane_close(family, &lanes[f]);
        }
        rig_free(r);
    }
}

struct job {
    const struct rig *r;
    const char *family;
    const double *params;
    struct lane *lanes;
    int n, first, every;
};

static void *job_run(void *arg)
{
    const struct job *j = arg;
    const struct model_ops *ops = model_find(j->family);

    for (int i = j->first; i < j->n; i += j->every) {
        struct lane *l = &j->lanes[i];
        *l = (struct lane){ .fold = i % 3, .seed = (uint64_t)i / 3, .level = 2 };
        memcpy(l->params, j->params, sizeof l->params);
        l->max_steps = forest_steps(j->params, 3);
        if (ops->open(j->r->d, l, &l->why) < 0 ||
            ops->advance(j->r->d, l, 1, l->max_steps, NULL, &l->why) < 0)
            l->failed = true;
    }
    return NULL;
}

enum { LANES = 7 };

/* The bytes of seven lanes trained on so many threads; the bins they share are made by whoever comes first. */
static void train_on(int threads, const char *family, const double *params, struct buf *out)
{
    struct rig *r = forest_table(ML_MULTICLASS, 300, 5);
    struct lane lanes[LANES];
    struct job jobs[LANES];
    pthread_t ids[LANES];

    for (int t = 0; t < threads; t++) {
        jobs[t] = (struct job){ r, family, params, lanes, LANES, t, threads };
        assert_int_equal(pthread_create(&ids[t], NULL, job_run, &jobs[t]), 0);
    }
    for (int t = 0; t < threads; t++)
        assert_int_equal(pthread_join(ids[t], NULL), 0);
    for (int l = 0; l < LANES; l++) {
        assert_false(lanes[l].failed);
        out[l] = rig_lane_bytes(family, &lanes[l], lanes[l].steps_done);
        rig_lane_close(family, &lanes[l]);
    }
    rig_free(r);
}

static void threads_do_not_show(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_families); i++) {
        for (int threads = 2; threads <= LANES; threads += LANES - 2) {
            struct buf one[LANES], many[LANES];
            double params[FAMILY_MAX_PARAMS];
            forest_params(forest_families[i], params);
            train_on(1, forest_families[i], params, one);
            train_on(threads, forest_families[i], params, many);
            for (int l = 0; l < LANES; l++)
                assert_same_bufs(one[l], many[l]);
        }
    }
}

static void every_instruction_set_grows_the_same(void **state)
{
    enum simd_level best = simd_level();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        struct rig *r = forest_table(forest_tasks[i / 2], 600, i);
        double params[FAMILY_MAX_PARAMS];
        forest_params(family, params);
        int64_t steps = forest_steps(params, 4);
        simd_force(SIMD_PLAIN);
        struct lane plain = rig_lane(r, family, params, 0, steps);
        for (int level = SIMD_PLAIN + 1; level <= (int)best; level++) {
            simd_force((enum simd_level)level);
            struct lane fast = rig_lane(r, family, params, 0, steps);
            assert_same_bufs(rig_lane_bytes(family, &plain, steps),
                             rig_lane_bytes(family, &fast, steps));
            rig_lane_close(family, &fast);
        }
        simd_force(best);
        rig_lane_close(family, &plain);
        rig_free(r);
    }
}

static void held_out_predictions_equal_inference(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        const char *family = forest_families[i % 2];
        struct rig *r = forest_table(forest_tasks[i / 2], 350, i);
        size_t k = (size_t)r->d->n_outputs;
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        forest_params(family, params);
        struct lane l = rig_lane(r, family, params, 0, forest_steps(params, 7));
        float *held = mem_zalloc(350 * k * sizeof *held);
        for (int64_t step = 3; step <= l.steps_done; step += 23) {
            struct buf b = rig_lane_bytes(family, &l, step);
            float *all = rig_predict(r, family, &b);
            assert_int_equal(model_find(family)->predict_held_at(r->d, &l, step, held, &err), 0);
            for (size_t row = 0, h = 0; row < 350; row++) {
                if (r->d->fold[row] == 0)
                    assert_memory_equal(all + row * k, held + h++ * k, k * sizeof *all);
            }
            buf_fini(&b);
            free(all);
        }
        mem_free(held);
        rig_lane_close(family, &l);
        rig_free(r);
    }
}

/* ---- out of bag ---- */

/* Tree by tree: the forest of one tree predicts the rows that its draw left out. */
static void out_of_bag_is_the_mean_of_trees_that_did_not_see_the_row(void **state)
{
    enum { TREES = 12, ROWS = 200 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks); i++) {
        struct rig *r = forest_table(forest_tasks[i], ROWS, i);
        size_t k = (size_t)r->d->n_outputs;
        double params[FAMILY_MAX_PARAMS], *sum = mem_array(ROWS * k, sizeof *sum);
        int votes[ROWS] = { 0 }, none = 0;
        uint16_t weights[ROWS];
        struct err err = { 0 };
        forest_params("forest", params);
        params[FOREST_DEPTH] = 4;
        params[FOREST_MIN_SPLIT] = 30; /* so that no probability is raised */
        params[FOREST_MIN_LEAF] = 15;
        struct lane l = rig_lane(r, "forest", params, FOLD_ALL, TREES);
        const struct forest_lane *fl = l.state;
        for (int t = 0; t < TREES; t++) {
            struct rf_flat flat;
            float *acc = mem_array(ROWS * k, sizeof *acc);
            rf_draw(&fl->p, fl->seed, t, ROWS, weights);
            assert_int_equal(rf_flat_read(&flat, fl->trees[t].data, fl->trees[t].len, (int)k,
                                          fl->head.cols, false, NULL, &err),
                             0);
            rf_walk(&flat, (int)k, fl->bins->bins, fl->bins->stride, NULL, ROWS, acc);
            for (size_t row = 0; row < ROWS; row++) {
                votes[row] += weights[row] == 0;
                for (size_t c = 0; c < k && weights[row] == 0; c++)
                    sum[row * k + c] += (double)acc[row * k + c];
            }
            rf_flat_fini(&flat);
            mem_free(acc);
        }
        float *out = mem_array(ROWS * k, sizeof *out);
        assert_int_equal(forest_oob(r->d, &l, TREES, out, &err), 0);
        for (size_t j = 0; j < ROWS * k; j++) {
            int n = votes[j / k];
            double want = sum[j] / n;
            none += n == 0;
            assert_int_equal(isnan(out[j]), n == 0);
            if (forest_tasks[i] == ML_REGRESSION)
                want = fl->head.mean + fl->head.scale * want;
            if (n && (want > 0.01 && want < 0.99))
                assert_true(fabs((double)out[j] - want) <= 0.02 * fabs(want));
        }
        assert_true(none < ROWS / 4);
        mem_free(sum);
        mem_free(out);
        rig_lane_close("forest", &l);
        rig_free(r);
    }
}

/* ---- hard tables ---- */

static void odd_tables_train(void **state)
{
    static const struct {
        int64_t rows;
        int cols, levels;
        enum ml_task task;
        double missing, scale;
    } cases[] = {
        { 4, 1, 0, ML_BINARY, 0, 1 },           { 5, 1, 0, ML_REGRESSION, 0, 1 },
        { 60, 3, 0, ML_REGRESSION, 0, 1e30 },   { 60, 3, 0, ML_REGRESSION, 0, 1e300 },
        { 60, 3, 0, ML_REGRESSION, 0, 1e-300 }, { 60, 2, 0, ML_BINARY, 0.95, 1 },
        { 60, 2000, 0, ML_MULTICLASS, 0.2, 1 }, { 40, 3, 0, ML_MULTICLASS, 0.5, 1 },
        { 200, 2, 32, ML_BINARY, 0.3, 1 },      { 200, 2, 32, ML_REGRESSION, 0.3, 1 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases) * ARRAY_LEN(forest_families); i++) {
        size_t at = i / 2;
        int64_t rows = cases[at].rows;
        struct rig_table *t = rig_table_new(rows);
        struct rng g;
        rng_init(&g, 3, at);
        for (int c = 0; c < cases[at].cols; c++) {
            double *x = rig_numbers(t);
            for (int64_t k = 0; k < rows; k++)
                x[k] = rng_unit(&g) < cases[at].missing ? (double)NAN : rng_normal(&g);
        }
        int32_t *level = cases[at].levels ? rig_levels(t, cases[at].levels) : NULL;
        for (int64_t k = 0; level && k < rows; k++)
            level[k] = (int32_t)rng_below(&g, (uint32_t)cases[at].levels);
        double *y = rig_numbers(t), params[FAMILY_MAX_PARAMS];
        for (int64_t k = 0; k < rows; k++) /* one class has two rows */
            y[k] = cases[at].task == ML_REGRESSION   ? cases[at].scale * rng_normal(&g)
                   : cases[at].task == ML_MULTICLASS ? (k < 2 ? 2 : (double)(int)(k % 2))
                                                     : (double)(k < 2 || k % 7 == 0);
        struct rig *r = rig_new(t, cases[at].task, metric_default(cases[at].task), 2);
        family_defaults(family_find(forest_families[i % 2]), params);
        struct lane l = rig_lane(r, forest_families[i % 2], params, 0, forest_steps(params, 5));
        struct buf b = rig_lane_bytes(forest_families[i % 2], &l, l.steps_done);
        float *p = rig_predict(r, forest_families[i % 2], &b);
        for (int64_t k = 0; k < rows * r->d->n_outputs && fabs(cases[at].scale) < 1e38; k++)
            assert_true(isfinite(p[k]));
        free(p);
        buf_fini(&b);
        rig_lane_close(forest_families[i % 2], &l);
        rig_free(r);
    }
}

/* ---- through the engine ---- */

static void the_engine_takes_the_best_pruning_of_all_trees(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks); i++) {
        struct rig *r = forest_table(forest_tasks[i], 150, i);
        const struct family *f = family_find("extra_trees");
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct fit_result grid, one;
        struct rng rng;
        family_defaults(f, params);
        struct fit_trial *t = fit_trial_open(r->d, f, params, 9, false, &err);
        assert_int_equal(fit_trial_advance(t, 2, NULL, &err), 1);
        assert_int_equal(fit_trial_result(t, &grid, &err), 0);
        assert_int_equal(grid.curve_points, 8);
        assert_true(grid.free_params[FOREST_TREES] == 300);
        fit_trial_close(t);
        rng_init(&rng, i, 1);
        for (int k = 0; k < TEST_ROUNDS(8, 3); k++) { /* the first one is the chosen one */
            double own[FAMILY_MAX_PARAMS];
            memcpy(own, params, sizeof own);
            f->choose(own, 2, k ? (300 - 1) * 20 + 1 + rng_below(&rng, 20) : grid.steps);
            if (k == 0)
                assert_memory_equal(own, grid.free_params, (size_t)f->n_params * sizeof *own);
            t = fit_trial_open(r->d, f, own, 9, false, &err);
            assert_int_equal(fit_trial_advance(t, 2, NULL, &err), 1);
            assert_int_equal(fit_trial_result(t, &one, &err), 0);
            double lead =
                forest_tasks[i] == ML_BINARY ? grid.select - one.select : one.select - grid.select;
            assert_true(k ? lead >= 0 : lead == 0);
            fit_trial_close(t);
        }
        rig_free(r);
    }
}

static void a_refit_takes_the_chosen_point(void **state)
{
    struct rig *r = forest_table(ML_BINARY, 200, 1);
    const struct family *f = family_find("forest");
    double params[FAMILY_MAX_PARAMS], chosen[FAMILY_MAX_PARAMS], se;
    struct err err = { 0 };
    struct buf a, b;
    int64_t step = (53 - 1) * 20 + 7 + 1;
    const struct fit_refit how = { .family = f, .params = params, .seed = 4, .steps = step },
                           merged = { .family = f, .params = chosen, .seed = 4, .steps = step };

    (void)state;
    family_defaults(f, params);
    family_defaults(f, chosen);
    f->choose(chosen, 2, step); /* as a controller has merged it */
    buf_init(&a, 1u << 28);
    buf_init(&b, 1u << 28);
    assert_int_equal(fit_refit_artifact(r->d, &how, NULL, &a, &se, &se, &err), 0);
    assert_int_equal(fit_refit_artifact(r->d, &merged, NULL, &b, &se, &se, &err), 0);
    assert_same_bufs(a, b);
    rig_free(r);
}

static void the_memory_estimate_is_near_the_truth(void **state)
{
    static const double least[] = { 0.6, 0.6,
                                    0.85 }, /* how pure classes are only the table knows */
        most[] = { 1.6, 1.6, 1.15 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(forest_families); i++) {
        struct rig *r = forest_table(forest_tasks[i / 2], 3000, i);
        const struct family *f = family_find(forest_families[i % 2]);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        family_defaults(f, params);
        params[FOREST_TREES] = 12;
        struct fit_trial *t = fit_trial_open(r->d, f, params, 1, false, &err);
        assert_int_equal(fit_trial_advance(t, 2, NULL, &err), 1);
        struct family_shape s = model_shape(r->d, 3);
        double ratio = (double)f->host_bytes(&s, params, 2) / (double)fit_trial_bytes(t);
        if (!(ratio > least[i / 2] && ratio < most[i / 2]))
            fail_msg("%s, task %d: %.2f", f->name, (int)forest_tasks[i / 2], ratio);
        fit_trial_close(t);
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_of_the_grid_equals_its_own_fit),
        cmocka_unit_test(slices_do_not_show),
        cmocka_unit_test(a_saved_forest_goes_on_with_equal_bits),
        cmocka_unit_test(lanes_together_equal_lanes_alone),
        cmocka_unit_test(threads_do_not_show),
        cmocka_unit_test(every_instruction_set_grows_the_same),
        cmocka_unit_test(held_out_predictions_equal_inference),
        cmocka_unit_test(out_of_bag_is_the_mean_of_trees_that_did_not_see_the_row),
        cmocka_unit_test(odd_tables_train),
        cmocka_unit_test(the_engine_takes_the_best_pruning_of_all_trees),
        cmocka_unit_test(a_refit_takes_the_chosen_point),
        cmocka_unit_test(the_memory_estimate_is_near_the_truth),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
