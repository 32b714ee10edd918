/* test_boost_bound.c - monotone constraints: no prediction goes against one, whatever the data, loss, growth and noise; they
 * cost nothing where the data agree; what cannot have them is one error. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/boost/boost.h"
#include "ml/model/models.h"

#include <math.h>

enum { ROWS = 300, SWEEP = 60, LINES = 12, COLS = 4 };

/* x0 increasing, x1 decreasing, x2 free, x3 levels; the truth is against both constraints here and there. */
static struct rig_table *table(int64_t rows, uint64_t seed, enum ml_task task, bool is_count)
{
    struct rig_table *t = rig_table_new(rows);
    double *x[3];
    struct rng r;

    rng_init(&r, seed, 1);
    for (int c = 0; c < 3; c++)
        x[c] = rig_numbers(t);
    int32_t *level = rig_levels(t, 6);
    double *y = rig_numbers(t);
    for (int64_t i = 0; i < rows; i++) {
        for (int c = 0; c < 3; c++)
            x[c][i] = rng_below(&r, 12) == 0 ? (double)NAN : rng_normal(&r);
        level[i] = (int32_t)rng_below(&r, 6);
        double a = isnan(x[0][i]) ? 1 : x[0][i], b = isnan(x[1][i]) ? 1 : x[1][i];
        double s =
            sin(2 * a) + 0.3 * a + cos(3 * b) - 0.2 * b + level[i] % 2 * a + 0.5 * rng_normal(&r);
        y[i] = task == ML_BINARY ? s > 0.5 : is_count ? floor(fabs(4 * s)) : 50 * s;
    }
    return t;
}

/* LINES random rows, each SWEEP times with one column from low to high. */
static struct frame *sweep_frame(int column, uint64_t seed)
{
    struct rig_table *t = table(SWEEP * LINES, seed, ML_REGRESSION, false);

    for (int line = 0; line < LINES; line++) {
        for (int i = 0; i < SWEEP; i++) {
            int64_t at = line * SWEEP + i;
            for (int c = 0; c < 3; c++)
                t->cols[c].num[at] =
                    c == column ? 3.0 * (2.0 * i / (SWEEP - 1) - 1) : t->cols[c].num[line * SWEEP];
            t->cols[3].codes[at] = t->cols[3].codes[line * SWEEP];
        }
    }
    struct frame *f = rig_frame(t);
    rig_table_free(t);
    return f;
}

static struct rig *rig_bounded(struct rig_table *t, enum ml_task task, bool is_bounded)
{
    static const struct ml_monotone both[] = { { "x0", 1 }, { "x1", -1 } };
    struct rig *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };

    r->frame = rig_frame(t);
    rig_table_free(t);
    struct ml_data_spec spec = { .frame = r->frame,
                                 .target = "y",
                                 .positive = task == ML_BINARY ? "1" : "",
                                 .task = task,
                                 .metric = metric_default(task),
                                 .folds = 2,
                                 .split_seed = 3,
                                 .monotone = both,
                                 .n_monotone = is_bounded ? 2 : 0 };
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    return r;
}

static float *predict(const struct rig *r, const struct buf *b, const struct frame *f)
{
    const struct model_ops *ops = model_find("boost");
    struct err err = { 0 };
    struct view in = { (const uint8_t *)b->data, b->len, 0 };
    struct prep_view *v = prep_view_new(r->d->prep, f, &err);
    struct predictor *p =
        ops->predictor_load(r->d->prep, r->d->n_outputs, r->d->spec.task, &in, &err);
    float *out = malloc((size_t)f->rows * sizeof *out);

    assert_non_null(p);
    assert_int_equal(ops->predict(p, v, 0, f->rows, out, &err), 0);
    ops->predictor_free(p);
    prep_view_free(v);
    return out;
}

/* Steps of a sweep that go against the direction. */
static int violations(const struct rig *r, const struct buf *b, int column, int direction)
{
    struct frame *f = sweep_frame(column, 77);
    float *p = predict(r, b, f);
    int n = 0;

    for (int line = 0; line < LINES; line++) {
        for (int i = 1; i < SWEEP; i++) {
            float a = p[line * SWEEP + i - 1], c = p[line * SWEEP + i];
            n += direction > 0 ? c < a : c > a;
        }
    }
    free(p);
    frame_close(f);
    return n;
}

static int violations_of(const struct rig *r, const double *params)
{
    struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 12);
    struct buf b = rig_lane_bytes("boost", &l, 12);
    int n = violations(r, &b, 0, 1) + violations(r, &b, 1, -1);

    buf_fini(&b);
    rig_lane_close("boost", &l);
    return n;
}

static const struct {
    const char *what;
    int param;
    double value;
} settings[] = {
    { "defaults", -1, 0 },
    { "level by level", BOOST_GROW, 1 },
    { "random cuts", BOOST_RANDOM, 1 },
    { "sampled rows", BOOST_ROW_SAMPLE, 0.6 },
    { "no penalty", BOOST_L2, 0 },
    { "l1", BOOST_L1, 0.9 },
    { "full steps", BOOST_LEARNING_RATE, 1 },
    { "63 bins", BOOST_BINS, 0 },
};

static void params_of(enum boost_loss loss, size_t setting, double *params)
{
    family_defaults(family_find("boost"), params);
    params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
    params[BOOST_OBJECTIVE] = loss;
    params[BOOST_ALPHA] = 0.8;
    params[BOOST_MIN_LEAF] = 2;
    params[BOOST_LEARNING_RATE] = 0.4;
    if (settings[setting].param >= 0)
        params[settings[setting].param] = settings[setting].value;
}

static int against(enum boost_loss loss, size_t setting, bool is_bounded)
{
    enum ml_task task = loss == BOOST_LOGISTIC ? ML_BINARY : ML_REGRESSION;
    double params[FAMILY_MAX_PARAMS];
    struct rig *r = rig_bounded(
        table(ROWS, (uint64_t)loss * 100 + setting, task, loss == BOOST_POISSON), task, is_bounded);

    params_of(loss, setting, params);
    int n = violations_of(r, params);
    rig_free(r);
    return n;
}

static void no_prediction_goes_against_a_constraint(void **state)
{
    static const enum boost_loss losses[] = { BOOST_LOGISTIC, BOOST_SQUARED,  BOOST_ABSOLUTE,
                                              BOOST_HUBER,    BOOST_QUANTILE, BOOST_POISSON };
    int free_ones = 0;

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(losses); k++) {
        for (size_t s = 0; s < ARRAY_LEN(settings); s++) {
            int n = against(losses[k], s, true);
            if (n > 0)
                fail_msg("loss %d, %s: %d steps against the constraint", (int)losses[k],
                         settings[s].what, n);
            free_ones += against(losses[k], s, false);
        }
    }
    assert_true(free_ones > 1000); /* or this test would show nothing */
}

static double mean_square(const struct rig *r, const double *params)
{
    struct lane l = rig_lane(r, "boost", params, 0, 60);
    double *y = malloc(2000 * sizeof *y), sum = 0;
    float *p = malloc(2000 * sizeof *p);
    int64_t n = 0;
    struct err err = { 0 };

    assert_int_equal(model_find("boost")->predict_held(r->d, &l, p, &err), 0);
    for (int64_t i = 0; i < r->d->rows; i++) {
        if (r->d->fold[i] == 0) {
            sum += pow((double)p[n] - r->d->y[i], 2);
            n++;
        }
    }
    free(y), free(p);
    rig_lane_close("boost", &l);
    return sum / (double)n;
}

/* Where the truth agrees with them, constraints only take noise away. */
static void constraints_that_are_true_cost_nothing(void **state)
{
    double error[2];

    (void)state;
    for (int bounded = 0; bounded < 2; bounded++) {
        struct rig_table *t = rig_table_new(2000);
        double *x0 = rig_numbers(t), *x1 = rig_numbers(t), *y = rig_numbers(t);
        double params[FAMILY_MAX_PARAMS];
        struct rng g;
        rng_init(&g, 31, 1);
        for (int i = 0; i < 2000; i++) {
            x0[i] = rng_normal(&g);
            x1[i] = rng_normal(&g);
            y[i] = tanh(2 * x0[i]) * 3 - exp(x1[i]) + rng_normal(&g);
        }
        struct rig *r = rig_bounded(t, ML_REGRESSION, bounded);
        family_defaults(family_find("boost"), params);
        error[bounded] = mean_square(r, params);
        rig_free(r);
    }
    assert_true(error[1] < error[0]);
    assert_true(error[1] < 1.8); /* the noise is 1 */
}

/* By hand: two leaves whose means go the wrong way have no split; the right way gives the means. */
static void a_pair_of_leaves_keeps_its_order(void **state)
{
    (void)state;
    for (int up = 0; up < 2; up++) {
        struct rig_table *t = rig_table_new(20);
        double *x0 = rig_numbers(t), *x1 = rig_numbers(t), *y = rig_numbers(t),
               params[FAMILY_MAX_PARAMS];
        for (int i = 0; i < 20; i++) {
            x0[i] = i >= 10;
            x1[i] = i % 2;
            y[i] = (i >= 10) == up ? 5 : 1;
        }
        struct rig *r = rig_bounded(t, ML_REGRESSION, true);
        family_defaults(family_find("boost"), params);
        params[BOOST_LEARNING_RATE] = 1;
        params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
        params[BOOST_MIN_LEAF] = 1;
        params[BOOST_L2] = 0;
        params[BOOST_LEAVES] = 2;
        struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 1);
        struct buf b = rig_lane_bytes("boost", &l, 1);
        float *p = rig_predict(r, "boost", &b);
        assert_float_equal(p[0], (up ? 1 : 3), 1e-4);
        assert_float_equal(p[19], (up ? 5 : 3), 1e-4);
        free(p);
        buf_fini(&b);
        rig_lane_close("boost", &l);
        rig_free(r);
    }
}

/* With bounds that bind nothing the scan finds what the plain one finds. */
static void a_scan_without_bounds_is_the_plain_one(void **state)
{
    struct rng g;

    (void)state;
    rng_init(&g, 5, 5);
    for (int round = 0; round < 200; round++) {
        int64_t hist[HIST_PITCH] = { 0 };
        struct scan_node nd = { .l1 = rng_below(&g, 3) * 10,
                                .l2 = 1 + rng_below(&g, 50),
                                .min_h = 1 + rng_below(&g, 20),
                                .cat_l2 = 10,
                                .cat_smooth = 10,
                                .max_onehot = (int)rng_below(&g, 12) };
        int n_bins = 2 + (int)rng_below(&g, 40);
        for (int b = 0; b <= n_bins; b++) {
            int at = b < n_bins ? b : HIST_MISSING;
            if (rng_below(&g, 3) == 0)
                continue;
            int64_t grad = (int64_t)rng_below(&g, 2000) - 1000;
            hist[at] = grad * (INT64_C(1) << 32) + (int64_t)rng_below(&g, 100);
            nd.total += hist[at];
        }
        struct scan_bounds none = { .lo = -HUGE_VAL, .hi = HUGE_VAL };
        none.own = scan_bounded_own(&nd, &none);
        assert_float_equal(none.own, scan_own(&nd), 1e-6 * (1 + fabs(scan_own(&nd))));
        for (int kind = 0; kind < 3; kind++) {
            struct scan_best a = { .score = -1 }, b = { .score = -1 };
            uint32_t u = rng_u32(&g);
            if (kind == 0) {
                scan_numeric(&nd, hist, n_bins, &a);
                scan_bounded_numeric(&nd, &none, hist, n_bins, &b);
            } else if (kind == 1) {
                scan_categorical(&nd, hist, n_bins, &a);
                scan_bounded_categorical(&nd, &none, hist, n_bins, &b);
            } else {
                scan_random(&nd, hist, n_bins, u, &a);
                scan_bounded_random(&nd, &none, hist, n_bins, u, &b);
            }
            double gain = a.score - scan_own(&nd), near = 1e-6 * (1 + fabs(a.score));
            if (gain > near) {
                assert_float_equal(b.score, gain, near);
                assert_true(a.left == b.left ||
                            fabs(scan_score(&nd, b.left, nd.l2) - a.score) < near ||
                            a.is_categorical);
            } else {
                assert_true(b.score < 2 * near);
            }
        }
    }
}

/* ---- what cannot be ---- */

static void refused(const struct frame *f, enum ml_task task, const char *column)
{
    struct ml_monotone m = { column, 1 };
    struct ml_data_spec spec = { .frame = f,
                                 .target = "y",
                                 .positive = "",
                                 .task = task,
                                 .metric = metric_default(task),
                                 .folds = 2,
                                 .monotone = &m,
                                 .n_monotone = 1 };
    struct err err = { 0 };

    assert_null(ml_data_open(&spec, &err));
    assert_string_equal(err.where, "monotone");
}

static void constraints_that_cannot_be_are_one_error(void **state)
{
    struct rig_table *t = table(ROWS, 1, ML_REGRESSION, false),
                     *many = rig_mixed(ML_MULTICLASS, ROWS, 3, 1);
    struct frame *f = rig_frame(t), *g = rig_frame(many);

    (void)state;
    refused(f, ML_REGRESSION, "x3"); /* levels */
    refused(f, ML_REGRESSION, "nothing");
    refused(f, ML_REGRESSION, "y");
    refused(g, ML_MULTICLASS, "x0");
    rig_table_free(t);
    rig_table_free(many);
    frame_close(f);
    frame_close(g);
}

static void families_that_cannot_keep_constraints_refuse_them(void **state)
{
    struct rig *r = rig_bounded(table(ROWS, 1, ML_REGRESSION, false), ML_REGRESSION, true);
    const struct family *f;

    (void)state;
    for (int i = 0; (f = family_at(i)); i++) {
        double params[FAMILY_MAX_PARAMS] = { 0 };
        struct err err = { 0 };
        family_defaults(f, params);
        struct fit_trial *t = fit_trial_open(r->d, f, params, 1, true, &err);
        assert_int_equal(t != NULL, f->keeps_monotone);
        if (!t)
            assert_string_equal(err.where, "monotone");
        fit_trial_close(t);
    }
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_prediction_goes_against_a_constraint),
        cmocka_unit_test(constraints_that_are_true_cost_nothing),
        cmocka_unit_test(a_pair_of_leaves_keeps_its_order),
        cmocka_unit_test(a_scan_without_bounds_is_the_plain_one),
        cmocka_unit_test(constraints_that_cannot_be_are_one_error),
        cmocka_unit_test(families_that_cannot_keep_constraints_refuse_them),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
