/* test_explain.c - explanations through the model file: SHAP values of real models add up to what the model predicts, an input
 * that decides is found by all three measures, one that is not read is worth exactly nothing, and shuffling leaves no trace. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/fit/permute.h"
#include "ml/model/artifact.h"
#include "ml/model/target.h"

#include <math.h>

/* What the next files do to their outputs; NULL = nothing. */
static const struct adjust *adjusts;

/* A model file of one model, or of two folds (steps of a path for linear). */
static struct artifact *shipped(const struct rig *r, const char *family, const double *params,
                                int n_models, int64_t steps)
{
    struct buf models[2], out;
    struct err err = { 0 };

    for (int i = 0; i < n_models; i++) {
        struct lane l = rig_lane(r, family, params, n_models == 1 ? FOLD_ALL : i, steps);
        models[i] = rig_lane_bytes(family, &l, l.steps_done);
        rig_lane_close(family, &l);
    }
    const struct artifact_parts parts = { .task = r->d->spec.task,
                                          .target = "y",
                                          .n_classes = r->d->n_classes,
                                          .classes = (const char *const *)r->d->classes,
                                          .family = family,
                                          .params_json = "{}",
                                          .metric = metric_info(r->d->spec.metric)->name,
                                          .score = NAN,
                                          .score_se = NAN,
                                          .adjust = adjusts,
                                          .prep = r->d->prep,
                                          .n_models = n_models,
                                          .models = models };
    buf_init(&out, ARTIFACT_MAX_BYTES);
    if (artifact_write(&parts, &out, &err) < 0)
        fail_msg("%s", err.text);
    struct artifact *a = artifact_load(out.data, out.len, &err);
    if (!a)
        fail_msg("%s", err.text);
    for (int i = 0; i < n_models; i++)
        buf_fini(&models[i]);
    buf_fini(&out);
    return a;
}

/* Of output k of every row. */
static double *explained(const struct artifact *a, const struct frame *f, int k)
{
    int64_t width = (int64_t)prep_inputs(artifact_prep(a)) + 1;
    double *out = mem_array((size_t)(f->rows * width), sizeof *out);
    int *of = mem_array((size_t)f->rows, sizeof *of);
    struct err err = { 0 };
    struct artifact_view *v = artifact_view_new(a, f, &err);

    for (int64_t i = 0; i < f->rows; i++)
        of[i] = k;
    if (!v || artifact_explain(v, 0, f->rows, of, out, &err) < 0)
        fail_msg("%s", err.text);
    artifact_view_free(v);
    mem_free(of);
    return out;
}

static float *predicted(const struct artifact *a, const struct frame *f)
{
    float *out = mem_array((size_t)(f->rows * artifact_outputs(a)), sizeof *out);
    struct err err = { 0 };
    struct artifact_view *v = artifact_view_new(a, f, &err);

    if (!v || artifact_predict(v, 0, f->rows, out, &err) < 0)
        fail_msg("%s", err.text);
    artifact_view_free(v);
    return out;
}

/* Raw scores to predictions, in double. */
static void link(enum ml_task task, bool is_log, int k, double *s)
{
    double sum = 0;

    if (task == ML_REGRESSION)
        s[0] = is_log ? exp(s[0]) : s[0];
    else if (task == ML_BINARY)
        s[0] = 1 / (1 + exp(-s[0]));
    for (int i = 0; i < k && task == ML_MULTICLASS; i++)
        sum += s[i] = exp(s[i]);
    for (int i = 0; i < k && task == ML_MULTICLASS; i++)
        s[i] /= sum;
}

static void assert_adds_up(const struct rig *r, const struct artifact *a, bool is_log)
{
    int k = artifact_outputs(a), inputs = prep_inputs(artifact_prep(a));
    double *phi[16] = { 0 };
    float *p = predicted(a, r->frame);

    for (int j = 0; j < k; j++)
        phi[j] = explained(a, r->frame, j);
    for (int64_t i = 0; i < r->frame->rows; i++) {
        double s[16] = { 0 };
        for (int j = 0; j < k; j++) {
            for (int c = 0; c <= inputs; c++)
                s[j] += phi[j][i * (inputs + 1) + c];
        }
        link(r->d->spec.task, is_log, k, s);
        for (int j = 0; j < k; j++) {
            double want = (double)p[i * k + j];
            if (fabs(s[j] - want) > 1e-6 * fmax(1, fabs(want)))
                fail_msg("row %d output %d: %.9g, predicted %.9g", (int)i, j, s[j], want);
        }
    }
    for (int j = 0; j < k; j++)
        mem_free(phi[j]);
    mem_free(p);
}

/* Poisson asks for counts. */
static void counts_take(const struct rig_table *t, int64_t row)
{
    double *y = t->cols[t->n_cols - 1].num;

    y[row] = floor(fmax(0, y[row] / 20));
}

static void values_and_base_add_up_to_the_score(void **state)
{
    static const struct {
        enum ml_task task;
        int classes;
        int param;
        double value;
    } cases[] = {
        { ML_REGRESSION, 0, BOOST_LEAVES, 31 },
        { ML_BINARY, 0, BOOST_RANDOM, 1 },
        { ML_BINARY, 0, BOOST_BINS, 0 },
        { ML_MULTICLASS, 4, BOOST_ROW_SAMPLE, 0.7 },
        { ML_REGRESSION, 0, BOOST_GROW, 1 },
        { ML_REGRESSION, 0, BOOST_OBJECTIVE, 4 },
        { ML_MULTICLASS, 3, BOOST_COL_SAMPLE, 0.5 },
        { ML_BINARY, 0, BOOST_CLASS_WEIGHT, 1 },
        { ML_REGRESSION, 0, BOOST_OBJECTIVE, 5 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double params[FAMILY_MAX_PARAMS] = { 0 };
        struct rig_table *t = rig_mixed(cases[i].task, 300, cases[i].classes, i);
        bool is_log = cases[i].param == BOOST_OBJECTIVE && cases[i].value == 5;
        for (int64_t row = 0; row < t->rows && is_log; row++)
            counts_take(t, row);
        struct rig *r = rig_new(t, cases[i].task, metric_default(cases[i].task), 2);
        family_defaults(family_find("boost"), params);
        params[BOOST_MIN_LEAF] = 3;
        params[cases[i].param] = cases[i].value;
        struct artifact *a = shipped(r, "boost", params, 1, 12);
        assert_adds_up(r, a, is_log);
        artifact_close(a);
        family_defaults(family_find("linear"), params);
        a = shipped(r, "linear", params, 1, 8);
        assert_adds_up(r, a, false);
        artifact_close(a);
        rig_free(r);
    }
}

/* Scores of a forest are shares of classes; predictions are those, but never quite 0 or 1. */
static void forests_add_up_too(void **state)
{
    static const char *const families[] = { "forest", "extra_trees" };
    static const enum ml_task tasks[] = { ML_REGRESSION, ML_BINARY, ML_MULTICLASS };

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        enum ml_task task = tasks[i % 3];
        double params[FAMILY_MAX_PARAMS] = { 0 };
        struct rig *r = rig_new(rig_mixed(task, 150, 4, i), task, metric_default(task), 2);
        family_defaults(family_find(families[i / 3]), params);
        struct artifact *a = shipped(r, families[i / 3], params, 1, 160);
        int k = artifact_outputs(a), inputs = prep_inputs(artifact_prep(a));
        float *p = predicted(a, r->frame);
        double gain[8] = { 0 }, off = 0;
        for (int j = 0; j < k; j++) {
            double *phi = explained(a, r->frame, j), *at = phi;
            for (int64_t row = 0; row < 150; row++) {
                double s = 0, want = (double)p[row * k + j];
                for (int c = 0; c <= inputs; c++)
                    s += *at++;
                off = fmax(off, fabs(s - want) / fmax(1, fabs(want)));
            }
            mem_free(phi);
        }
        assert_true(off < (task == ML_REGRESSION ? 1e-6 : 0.02));
        assert_int_equal(artifact_importance(a, gain, NULL), 0);
        assert_true(gain[0] > gain[3] && gain[0] > gain[4] && gain[3] > 0);
        mem_free(p);
        artifact_close(a);
        rig_free(r);
    }
}

/* Where the values add up to a probability: of a forest, and of a calibrated one. */
static double furthest(const struct artifact *a, const struct rig *r)
{
    int k = artifact_outputs(a), inputs = prep_inputs(artifact_prep(a));
    float *p = predicted(a, r->frame);
    double off = 0;

    for (int j = 0; j < k; j++) {
        double *phi = explained(a, r->frame, j), *at = phi;
        for (int64_t row = 0; row < r->frame->rows; row++) {
            double s = 0;
            for (int c = 0; c <= inputs; c++)
                s += *at++;
            off = fmax(off, fabs(s - (double)p[row * k + j]));
        }
        mem_free(phi);
    }
    mem_free(p);
    return off;
}

/* The same, with a calibration in the file; and the file predicts the calibrated probability. */
static void values_add_up_to_what_is_calibrated(void **state)
{
    static double share[] = { -1.2, -1.5, -1.1, -2 };
    static const struct adjust two = { .calibrates = true, .slope = 1.6, .offset = -0.3 }, four = {
        .calibrates = true, .slope = 0.7, .offset = 0.2, .classes = 4, .log_share = share
    };
    static const char *const families[] = { "boost", "linear", "forest" };

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(families); i++) {
        enum ml_task task = i % 2 ? ML_MULTICLASS : ML_BINARY;
        const char *family = families[i / 2];
        double params[FAMILY_MAX_PARAMS] = { 0 };
        struct rig *r = rig_new(rig_mixed(task, 250, 4, 3), task, metric_default(task), 2);
        int64_t steps = i / 2 == 1 ? 9 : 30;
        family_defaults(family_find(family), params);
        struct artifact *plain = shipped(r, family, params, 1, steps);
        adjusts = task == ML_BINARY ? &two : &four;
        struct artifact *one = shipped(r, family, params, 1, steps),
                        *bag = shipped(r, family, params, 2, steps);
        float *p = predicted(plain, r->frame), *q = predicted(one, r->frame);
        adjust_probabilities(adjusts, p, r->frame->rows);
        assert_memory_equal(p, q, (size_t)(250 * artifact_outputs(one)) * sizeof *p);
        adjusts = NULL;
        if (i / 2 < 2) {
            assert_adds_up(r, one, false);
            if (task == ML_BINARY)
                assert_adds_up(r, bag, false);
        } else if (furthest(one, r) > 0.02 || furthest(bag, r) > 0.02) {
            fail_msg("%s: %.4f, %.4f", family, furthest(one, r), furthest(bag, r));
        }
        mem_free(p);
        mem_free(q);
        artifact_close(plain);
        artifact_close(one);
        artifact_close(bag);
        rig_free(r);
    }
}

static void values_of_a_bag_add_up_to_what_it_predicts(void **state)
{
    static const struct {
        const char *family;
        enum ml_task task;
        int param;
        double value;
        bool is_log;
        int64_t steps;
    } cases[] = {
        { "boost", ML_REGRESSION, BOOST_LEAVES, 31, false, 10 },
        { "boost", ML_REGRESSION, BOOST_OBJECTIVE, 5, true, 10 },
        { "boost", ML_BINARY, BOOST_LEAVES, 31, false, 40 },
        { "linear", ML_BINARY, BOOST_LEAVES, 0, false, 9 },
        { "linear", ML_REGRESSION, BOOST_LEAVES, 0, false, 9 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double params[FAMILY_MAX_PARAMS] = { 0 };
        struct rig_table *t = rig_mixed(cases[i].task, 200, 0, 3);
        for (int64_t row = 0; row < t->rows && cases[i].is_log; row++)
            counts_take(t, row);
        struct rig *r = rig_new(t, cases[i].task, metric_default(cases[i].task), 2);
        family_defaults(family_find(cases[i].family), params);
        if (cases[i].value != 0)
            params[cases[i].param] = cases[i].value;
        struct artifact *a = shipped(r, cases[i].family, params, 2, cases[i].steps);
        assert_adds_up(r, a, cases[i].is_log);
        artifact_close(a);
        rig_free(r);
    }
}

/* A row that its models score far out, one of them at its own base, and all at once: nothing is lost, no sign turns. */
static void far_scores_of_a_bag_keep_sum_and_signs(void **state)
{
    static const double models[][2][3] = { /* {value, value, base} of two models */
                                           { { 900, -1, 2 }, { 30, 5, -1 } },
                                           { { -900, 1, 0 }, { -800, 0, 0 } },
                                           { { 3, -3, 1 }, { 1, 0.5, -1 } },
                                           { { 0, 0, 5 }, { 0, 0, -5 } },
                                           { { 2, 0, -1 }, { -2, 0, 1 } }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(models); i++) {
        for (int k = EXPLAIN_SAME; k <= EXPLAIN_LOG; k++) {
            struct explain_sums sums = { 0 };
            double out[3] = { 0 }, p = 0, q = 0, want, score;
            for (int m = 0; m < 2; m++) {
                const double *x = models[i][m];
                double s = fmin(fmax(x[0] + x[1] + x[2], -700), 700);
                explain_bag_add(k, x, 2, 1, &sums, out);
                q += 0.5 / (1 + exp(s));
                p += 0.5 * (k == EXPLAIN_SAME  ? x[0] + x[1] + x[2]
                            : k == EXPLAIN_LOG ? exp(s)
                                               : 1 / (1 + exp(-s)));
            }
            explain_bag_end(k, 2, 2, 1, &sums, out);
            score = out[0] + out[1] + out[2];
            want = k == EXPLAIN_SAME ? p : k == EXPLAIN_LOG ? log(p) : log(p / q);
            assert_true(isfinite(score));
            if (isfinite(want) && fabs(score - want) > 1e-6 * fmax(1, fabs(want)))
                fail_msg("case %zu, link %d: %.9g, expected %.9g", i, k, score, want);
            if (models[i][0][0] * models[i][1][0] > 0)
                assert_true(out[0] * models[i][0][0] > 0);
        }
    }
}

/* x0 and a level decide, x1 is noise that trees may split on, x2 is told to nobody. */
static struct rig *decided(int64_t rows)
{
    struct rig_table *t = rig_table_new(rows);
    double *x[3];
    struct rng g;

    rng_init(&g, 8, 0);
    for (int c = 0; c < 3; c++)
        x[c] = rig_numbers(t);
    int32_t *level = rig_levels(t, 3);
    double *y = rig_numbers(t);
    for (int64_t i = 0; i < rows; i++) {
        for (int c = 0; c < 3; c++)
            x[c][i] = rng_normal(&g);
        x[2][i] = i == 0; /* too rare for a leaf of 20 rows */
        level[i] = (int32_t)rng_below(&g, 3);
        y[i] = 3 * x[0][i] + (level[i] == 1 ? 2 : 0) + 0.1 * x[1][i];
    }
    return rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
}

static void what_decides_is_found_and_what_is_not_read_is_worth_nothing(void **state)
{
    double params[FAMILY_MAX_PARAMS] = { 0 }, gain[4] = { 0 }, score = 0;
    struct rig *r = decided(400);
    struct permuted got[4], again[4];
    struct permute_spec spec = { .target = "y", .repeats = 4, .seed = 5 };
    struct err err = { 0 };

    (void)state;
    family_defaults(family_find("boost"), params);
    params[BOOST_MIN_LEAF] = 20;
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    struct artifact *a = shipped(r, "boost", params, 1, 40);
    assert_int_equal(prep_inputs(artifact_prep(a)), 4);
    assert_int_equal(artifact_importance(a, gain, &err), 0);
    assert_true(gain[0] > gain[3] && gain[3] > gain[1] && gain[1] > 0 && gain[2] == 0);
    if (permute_importance(a, r->frame, &spec, &score, got, &err) < 0)
        fail_msg("%s", err.text);
    assert_true(got[0].drop > got[3].drop && got[3].drop > 10 * fabs(got[1].drop));
    assert_true(got[0].se > 0 && got[0].se < 0.2 * got[0].drop && !got[0].is_unused);
    assert_true(got[2].is_unused && got[2].drop == 0 && got[2].se == 0);
    assert_int_equal(permute_importance(a, r->frame, &spec, &score, again, &err), 0);
    assert_memory_equal(got, again, sizeof got);
    double *phi = explained(a, r->frame, 0);
    for (int64_t i = 0; i < 400; i++)
        assert_true(phi[i * 5 + 2] == 0);
    mem_free(phi);
    artifact_close(a);
    rig_free(r);
}

/* Shuffling x0, which is independent of all else, adds 2 w^2 to the squared error of y = w x0 + rest. */
static void a_shuffle_costs_what_it_must(void **state)
{
    double params[FAMILY_MAX_PARAMS] = { 0 }, score = 0;
    struct rig *r = decided(2000);
    struct permuted got[4];
    struct permute_spec spec = { .target = "y", .repeats = 3, .seed = 1 };
    struct err err = { 0 };

    (void)state;
    family_defaults(family_find("linear"), params);
    struct artifact *a = shipped(r, "linear", params, 1, 17);
    assert_int_equal(permute_importance(a, r->frame, &spec, &score, got, &err), 0);
    assert_true(score < 0.01);
    assert_float_equal((got[0].drop + score), sqrt(2 * 9), 0.15);
    assert_float_equal((got[3].drop + score), sqrt(2 * 4 * 2.0 / 9), 0.1);
    spec.rows = 10; /* all others stay as they are and out of the score */
    spec.repeats = 1;
    assert_int_equal(permute_importance(a, r->frame, &spec, &score, got, &err), 0);
    assert_true(isnan(got[0].se) && got[0].drop > 0);
    artifact_close(a);
    rig_free(r);
}

static void a_view_shuffled_back_is_as_it_was(void **state)
{
    double params[FAMILY_MAX_PARAMS] = { 0 };
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 90, 0, 2), ML_BINARY, METRIC_AUC, 2);
    struct err err = { 0 };
    int32_t order[90];
    float want[90], got[90];

    (void)state;
    family_defaults(family_find("boost"), params);
    struct artifact *a = shipped(r, "boost", params, 1, 10);
    struct artifact_view *v = artifact_view_new(a, r->frame, &err);
    assert_int_equal(artifact_predict(v, 0, 90, want, &err), 0);
    for (int i = 0; i < 90; i++)
        order[i] = 89 - i;
    for (int c = 0; c < prep_inputs(artifact_prep(a)); c++)
        assert_int_equal(artifact_view_shuffle(v, c, order, &err), 0);
    assert_int_equal(artifact_view_shuffle(v, 0, order, &err), 0);
    assert_int_equal(artifact_predict(v, 0, 90, got, &err), 0);
    int moved = 0;
    for (int i = 0; i < 90; i++)
        moved += got[i] != want[i];
    assert_true(moved > 10);
    assert_int_equal(artifact_predict(v, 40, 50, got, &err), 0); /* slices see the same rows */
    assert_int_equal(artifact_view_shuffle(v, 0, NULL, &err), 0);
    assert_int_equal(artifact_predict(v, 0, 90, got, &err), 0);
    assert_memory_equal(got, want, sizeof got);
    artifact_view_free(v);
    artifact_close(a);
    rig_free(r);
}

static void errors_say_what_is_missing(void **state)
{
    double params[FAMILY_MAX_PARAMS] = { 0 }, out[8], score = 0;
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 60, 0, 2), ML_BINARY, METRIC_AUC, 2);
    struct permute_spec spec = { .target = "nothing", .repeats = 1 };
    struct permuted got[7];
    struct err err = { 0 };

    (void)state;
    struct artifact *a = shipped(r, "baseline", params, 1, 1);
    assert_int_equal(artifact_importance(a, out, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    struct artifact_view *v = artifact_view_new(a, r->frame, &err);
    assert_int_equal(artifact_explain(v, 0, 1, &(int){ 0 }, out, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    artifact_view_free(v);
    assert_int_equal(permute_importance(a, r->frame, &spec, &score, got, &err), -1);
    assert_non_null(strstr(err.text, "\"nothing\""));
    spec.target = "x0"; /* numbers that are no class of the model */
    assert_int_equal(permute_importance(a, r->frame, &spec, &score, got, &err), -1);
    assert_non_null(strstr(err.text, "no row has a target"));
    spec.target = "y";
    assert_int_equal(permute_importance(a, r->frame, &spec, &score, got, &err), 0);
    assert_true(got[0].drop == 0 && !got[0].is_unused);
    artifact_close(a);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_base_add_up_to_the_score),
        cmocka_unit_test(forests_add_up_too),
        cmocka_unit_test(values_add_up_to_what_is_calibrated),
        cmocka_unit_test(values_of_a_bag_add_up_to_what_it_predicts),
        cmocka_unit_test(far_scores_of_a_bag_keep_sum_and_signs),
        cmocka_unit_test(what_decides_is_found_and_what_is_not_read_is_worth_nothing),
        cmocka_unit_test(a_shuffle_costs_what_it_must),
        cmocka_unit_test(a_view_shuffled_back_is_as_it_was),
        cmocka_unit_test(errors_say_what_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
