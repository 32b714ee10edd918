/* test_boost_loss.c - each loss of boosting: gradients against differences, first scores and leaf values known by hand,
 * what the loss is chosen for (outliers, quantiles, counts, rare classes), and targets it does not suit. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/boost/boost.h"
#include "ml/cpu/grad.h"
#include "ml/model/models.h"

#include <math.h>

enum { N = 600 };

static void params_by_hand(enum boost_loss loss, double alpha, double *p)
{
    family_defaults(family_find("boost"), p);
    p[BOOST_ROW_SAMPLE] = p[BOOST_COL_SAMPLE] = 1;
    p[BOOST_LEARNING_RATE] = 1;
    p[BOOST_MIN_LEAF] = 1;
    p[BOOST_L2] = 0;
    p[BOOST_LEAVES] = 2;
    p[BOOST_OBJECTIVE] = loss;
    p[BOOST_ALPHA] = alpha;
}

static float *fit_all(struct rig *r, const double *params, int64_t steps)
{
    struct lane l = rig_lane(r, "boost", params, FOLD_ALL, steps);
    struct buf b = rig_lane_bytes("boost", &l, steps);
    float *p = rig_predict(r, "boost", &b);

    buf_fini(&b);
    rig_lane_close("boost", &l);
    return p;
}

/* Two groups of 10 rows; x tells which, so that there is one split to find. */
static struct rig *two_groups(const double *low, const double *high)
{
    struct rig_table *t = rig_table_new(20);
    double *x = rig_numbers(t), *y = rig_numbers(t);

    for (int i = 0; i < 20; i++) {
        x[i] = i >= 10;
        y[i] = i < 10 ? low[i] : high[i - 10];
    }
    return rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
}

static const double low[10] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 200 },
                    high[10] = { 53, 58, 59, 57, 59, 53, 52, 53, 58, 54 };

static void choices_and_losses_are_in_one_order(void **state)
{
    static const char *const names[] = { "auto",     "huber",   "squared",  "absolute",
                                         "quantile", "poisson", "logistic", "softmax" };
    const struct family_param *p = &family_find("boost")->params[BOOST_OBJECTIVE];

    (void)state;
    assert_int_equal(family_choice_count(p), BOOST_LOSSES);
    for (int i = 0; i < BOOST_LOSSES; i++)
        assert_int_equal(family_choice_find(p, names[i]), i);
}

/* ---- derivatives ---- */

static double loss_of(enum boost_loss loss, double s, double y, double a)
{
    double e = s - y;

    switch (loss) {
    case BOOST_QUANTILE:
        return e > 0 ? (1 - a) * e : -a * e;
    case BOOST_HUBER:
        return fabs(e) <= a ? e * e / 2 : a * fabs(e) - a * a / 2;
    case BOOST_POISSON:
        return exp(s) - y * s;
    default:
        return e * e / 2;
    }
}

static void gradients_are_the_derivatives_of_the_loss(void **state)
{
    static const float f[] = { -4, -1.5f, -0.1f, 0.2f, 0.3f, 2, 5 };
    static const enum boost_loss losses[] = { BOOST_QUANTILE, BOOST_HUBER, BOOST_POISSON };
    float y[7], w[7] = { 1, 1, 1, 1, 1, 1, 0 }, g[7], h[7];
    const double step = 1e-4;

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(losses); k++) {
        for (int i = 0; i < 7; i++)
            y[i] = i % 3 == 0 ? 1.0f : 0.0f;
        if (losses[k] == BOOST_QUANTILE)
            grad_quantile(f, y, w, 7, 0.7f, g);
        else if (losses[k] == BOOST_HUBER)
            grad_huber(f, y, w, 7, 0.7f, g);
        else
            grad_poisson(f, y, w, 7, g, h);
        for (int i = 0; i < 6; i++) {
            double a = loss_of(losses[k], (double)f[i] - step, (double)y[i], 0.7),
                   b = loss_of(losses[k], (double)f[i], (double)y[i], 0.7),
                   c = loss_of(losses[k], (double)f[i] + step, (double)y[i], 0.7);
            assert_float_equal(g[i], (c - a) / (2 * step), 1e-3);
            if (losses[k] == BOOST_POISSON)
                assert_float_equal(h[i], (a - 2 * b + c) / (step * step), 1e-2);
        }
        assert_true(g[6] == 0);
    }
}

/* ---- by hand ---- */

static void the_first_score_is_the_best_constant(void **state)
{
    static const struct {
        enum boost_loss loss;
        double alpha, want;
    } cases[] = {
        { BOOST_SQUARED, 0.9, 39.6 }, { BOOST_POISSON, 0.9, 39.6 }, { BOOST_ABSOLUTE, 0.9, 52.5 },
        { BOOST_HUBER, 0.9, 52.5 },   { BOOST_QUANTILE, 0.9, 59 },  { BOOST_QUANTILE, 0.25, 4.75 },
    };
    struct rig *r = two_groups(low, high);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double params[FAMILY_MAX_PARAMS];
        params_by_hand(cases[i].loss, cases[i].alpha, params);
        float *p = fit_all(r, params, 0);
        assert_float_equal(p[0], cases[i].want, 1e-4);
        assert_true(p[0] == p[19]);
        free(p);
    }
    rig_free(r);
}

/* Squared: means. Absolute: medians. Poisson: means, with the log between. */
static void leaves_take_the_best_value_for_the_loss(void **state)
{
    static const double calm[10] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 0 };
    static const struct {
        enum boost_loss loss;
        double alpha, left, right, within;
    } cases[] = {
        { BOOST_SQUARED, 0.9, 3.6, 55.6, 1e-4 },  { BOOST_POISSON, 0.9, 3.6, 55.6, 1e-3 },
        { BOOST_ABSOLUTE, 0.9, 3.5, 55.5, 1e-4 }, { BOOST_QUANTILE, 0.9, 6.3, 59, 1e-4 },
        { BOOST_QUANTILE, 0.1, 0.9, 52.9, 1e-4 },
    };
    struct rig *r = two_groups(calm, high);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double params[FAMILY_MAX_PARAMS];
        params_by_hand(cases[i].loss, cases[i].alpha, params);
        float *p = fit_all(r, params, 1);
        for (int k = 0; k < 20; k++)
            assert_float_equal(p[k], (k < 10 ? cases[i].left : cases[i].right), cases[i].within);
        free(p);
    }
    rig_free(r);
}

/* The leaf of the outlier: its median, and the mean of what is left with every row cut at the round's distance. */
static void huber_cuts_what_is_far(void **state)
{
    struct rig *r = two_groups(low, high);
    double params[FAMILY_MAX_PARAMS], e[20], sum = 0;

    (void)state;
    params_by_hand(BOOST_HUBER, 0.9, params);
    float *p = fit_all(r, params, 1);
    for (int i = 0; i < 20; i++)
        e[i] = fabs((i < 10 ? low[i] : high[i - 10]) - 52.5);
    double far = 51.5; /* the .9 quantile of |y - 52.5|: rank 17.1 of 51.5 51.5 147.5 */
    int below = 0;
    for (int i = 0; i < 20; i++)
        below += e[i] <= far;
    assert_int_equal(below, 19);
    for (int i = 0; i < 10; i++) /* the median of the leaf is 4.5 */
        sum += fmax(-far, fmin(far, low[i] - 4.5));
    assert_float_equal(p[0], 4.5 + sum / 10, 1e-3);
    free(p);
    rig_free(r);
}

static void penalties_shrink_every_leaf_towards_no_step(void **state)
{
    static const enum boost_loss losses[] = { BOOST_SQUARED, BOOST_ABSOLUTE, BOOST_HUBER,
                                              BOOST_QUANTILE, BOOST_POISSON };
    struct rig *r = two_groups(low, high);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
        double params[FAMILY_MAX_PARAMS];
        params_by_hand(losses[i], 0.5, params);
        float *none = fit_all(r, params, 0), *full = fit_all(r, params, 1);
        params[BOOST_L2] = 10;
        float *half = fit_all(r, params, 1);
        params[BOOST_L2] = 0;
        params[BOOST_L1] = 3;
        float *less = fit_all(r, params, 1);
        for (int k = 0; k < 20; k += 19) {
            assert_true(fabsf(half[k] - none[k]) < fabsf(full[k] - none[k]));
            assert_true((half[k] - none[k]) * (full[k] - none[k]) > 0);
            assert_true(fabsf(less[k] - none[k]) <= fabsf(full[k] - none[k]));
        }
        if (losses[i] == BOOST_ABSOLUTE) /* 10 rows and l2 = 10: half the way */
            assert_float_equal(half[19] - none[19], 0.5f * (full[19] - none[19]), 1e-4);
        free(none), free(full), free(half), free(less);
    }
    rig_free(r);
}

/* ---- what they are for ---- */

static double mean_distance(const float *p, const double *y, const uint8_t *skip)
{
    double sum = 0, n = 0;

    for (int i = 0; i < N; i++) {
        sum += skip[i] ? 0 : fabs((double)p[i] - y[i]);
        n += !skip[i];
    }
    return sum / n;
}

static void gross_errors_do_not_bend_absolute_and_huber(void **state)
{
    struct rig_table *t = rig_table_new(N);
    double *x = rig_numbers(t), *y = rig_numbers(t), truth[N], params[FAMILY_MAX_PARAMS];
    uint8_t is_gross[N];
    float *p[3];
    static const enum boost_loss losses[] = { BOOST_SQUARED, BOOST_ABSOLUTE, BOOST_HUBER };
    struct rng g;

    (void)state;
    rng_init(&g, 21, 1);
    for (int i = 0; i < N; i++) {
        x[i] = rng_unit(&g) * 6;
        truth[i] = sin(x[i]) * 10;
        is_gross[i] = rng_below(&g, 12) == 0;
        y[i] = truth[i] + (is_gross[i] ? 500 : rng_normal(&g));
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_MAE, 2);
    for (int k = 0; k < 3; k++) {
        params_by_hand(losses[k], 0.8, params);
        params[BOOST_LEARNING_RATE] = 0.2;
        params[BOOST_LEAVES] = 8;
        params[BOOST_MIN_LEAF] = 20;
        p[k] = fit_all(r, params, 40);
    }
    double squared = mean_distance(p[0], truth, is_gross);
    assert_true(mean_distance(p[1], truth, is_gross) < squared / 10);
    assert_true(mean_distance(p[2], truth, is_gross) < squared / 5);
    for (int k = 0; k < 3; k++)
        free(p[k]);
    rig_free(r);
}

static void quantiles_cover_their_share(void **state)
{
    static const double alphas[] = { 0.1, 0.5, 0.9 };
    struct rig_table *t = rig_table_new(N);
    double *x = rig_numbers(t), *y = rig_numbers(t), copy[N], params[FAMILY_MAX_PARAMS];
    struct rng g;

    (void)state;
    rng_init(&g, 22, 1);
    for (int i = 0; i < N; i++) {
        x[i] = rng_unit(&g);
        copy[i] = y[i] = 1e6 + 100 * (0.2 + 3 * x[i]) * rng_normal(&g);
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_MAE, 2);
    for (size_t a = 0; a < ARRAY_LEN(alphas); a++) {
        double below = 0;
        params_by_hand(BOOST_QUANTILE, alphas[a], params);
        params[BOOST_LEARNING_RATE] = 0.1;
        params[BOOST_MIN_LEAF] = 60;
        float *p = fit_all(r, params, 60);
        /* the target lies far from 0, so predictions are less the shift of its unit */
        for (int i = 0; i < N; i++)
            below += copy[i] < (double)p[i] + target_shift(&r->d->unit);
        assert_float_equal(below / N, alphas[a], 0.04);
        free(p);
    }
    rig_free(r);
}

static void counts_are_never_predicted_below_none(void **state)
{
    struct rig_table *t = rig_table_new(N);
    double *x = rig_numbers(t), *y = rig_numbers(t), mean[N], params[FAMILY_MAX_PARAMS], worst = 0;
    struct rng g;

    (void)state;
    rng_init(&g, 23, 1);
    for (int i = 0; i < N; i++) {
        x[i] = i % 6;
        mean[i] = pow(4, i % 6) / 8; /* 0.125 to 128: rates over three decades */
        double limit = exp(-fmin(mean[i], 50)), u = 1;
        for (y[i] = -1; mean[i] <= 50 && u > limit; y[i]++) /* Knuth's Poisson draw */
            u *= rng_unit(&g);
        y[i] = mean[i] <= 50 ? fmax(y[i], 0) : floor(mean[i] + sqrt(mean[i]) * rng_normal(&g));
    }
    struct rig *r = rig_new(t, ML_REGRESSION, METRIC_RMSE, 2);
    params_by_hand(BOOST_POISSON, 0.5, params);
    params[BOOST_LEARNING_RATE] = 0.3;
    params[BOOST_LEAVES] = 6;
    float *p = fit_all(r, params, 40);
    for (int i = 0; i < N; i++) {
        assert_true(p[i] > 0);
        worst = fmax(worst, fabs(log((double)p[i] / mean[i])));
    }
    assert_true(worst <
                0.4); /* of 100 rows at the lowest rate: an error of 0.3 is two standard ones */
    free(p);
    rig_free(r);
}

static struct rig *rare_class(int classes, int rare)
{
    struct rig_table *t = rig_table_new(N);
    double *x = rig_numbers(t), *y = rig_numbers(t);
    struct rng g;

    rng_init(&g, 24, (uint64_t)classes);
    for (int i = 0; i < N; i++) {
        y[i] = i < rare ? classes - 1 : i % (classes - 1);
        x[i] = y[i] + rng_normal(&g);
    }
    enum ml_task task = classes == 2 ? ML_BINARY : ML_MULTICLASS;
    return rig_new(t, task, metric_default(task), 2);
}

static void balanced_classes_start_even_and_find_the_rare_one(void **state)
{
    (void)state;
    for (int classes = 2; classes <= 4; classes += 2) {
        struct rig *r = rare_class(classes, 30);
        double params[FAMILY_MAX_PARAMS], found[2] = { 0 };
        int k = r->d->n_outputs;
        for (int balanced = 0; balanced < 2; balanced++) {
            family_defaults(family_find("boost"), params);
            params[BOOST_CLASS_WEIGHT] = balanced;
            float *p = fit_all(r, params, 0);
            if (balanced)
                assert_float_equal(p[k - 1], 1.0 / classes, 1e-3);
            free(p);
            p = fit_all(r, params, 15);
            for (int i = 0; i < 30; i++)
                found[balanced] += (double)p[(i + 1) * k - 1];
            free(p);
        }
        assert_true(found[1] > found[0] + 3);
        rig_free(r);
    }
}

static void a_class_of_two_rows_is_safe_at_any_weight(void **state)
{
    (void)state;
    for (int classes = 2; classes <= 4; classes += 2) {
        struct rig *r = rare_class(classes, 2);
        double params[FAMILY_MAX_PARAMS];
        family_defaults(family_find("boost"), params);
        params[BOOST_MIN_LEAF] = 1;
        params[BOOST_ROW_SAMPLE] = params[BOOST_COL_SAMPLE] = 1;
        params[BOOST_CLASS_WEIGHT] = 1;
        for (int fold = FOLD_ALL; fold < 2; fold++) {
            struct lane l = rig_lane(r, "boost", params, fold, 30);
            struct buf b = rig_lane_bytes("boost", &l, 30);
            float *p = rig_predict(r, "boost", &b);
            for (int i = 0; i < N * r->d->n_outputs; i++)
                assert_true(p[i] >= 0 && p[i] <= 1);
            free(p);
            buf_fini(&b);
            rig_lane_close("boost", &l);
        }
        rig_free(r);
    }
}

/* ---- rows of no weight ---- */

/* Rows of weight 0 among the training rows: what they say of the target must not matter. */
static void rows_of_no_weight_say_nothing(void **state)
{
    static const enum boost_loss losses[] = { BOOST_SQUARED, BOOST_ABSOLUTE, BOOST_HUBER,
                                              BOOST_QUANTILE, BOOST_POISSON };
    struct rig *r = rig_new(rig_mixed(ML_REGRESSION, 300, 0, 4), ML_REGRESSION, METRIC_RMSE, 2);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
        double params[FAMILY_MAX_PARAMS];
        struct buf b[2];
        params_by_hand(losses[i], 0.7, params);
        params[BOOST_LEAVES] = 12;
        for (int k = 0; k < 2; k++) {
            struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 0);
            struct boost_lane *state_of = l.state;
            for (int row = 0; row < 300; row += 3) {
                state_of->w[row] = 0;
                state_of->y[row] +=
                    k ? 0.1f : 0; /* far enough to show, too near for huber's distance */
            }
            rig_lane_train(r, "boost", &l, losses[i] == BOOST_HUBER ? 1 : 10, NULL);
            b[k] = rig_lane_bytes("boost", &l, l.steps_done);
            rig_lane_close("boost", &l);
        }
        if (losses[i] != BOOST_HUBER) {
            assert_int_equal(b[0].len, b[1].len);
            assert_memory_equal(b[0].data, b[1].data, b[0].len);
        }
        buf_fini(&b[0]);
        buf_fini(&b[1]);
    }
    rig_free(r);
}

static void no_weight_at_all_gives_the_first_score(void **state)
{
    (void)state;
    for (int loss = BOOST_AUTO + 1; loss < BOOST_LOSSES; loss++) {
        enum ml_task task = loss == BOOST_LOGISTIC  ? ML_BINARY
                            : loss == BOOST_SOFTMAX ? ML_MULTICLASS
                                                    : ML_REGRESSION;
        struct rig *r = rig_new(rig_mixed(task, 300, 3, 4), task, metric_default(task), 2);
        double params[FAMILY_MAX_PARAMS];
        params_by_hand((enum boost_loss)loss, 0.7, params);
        if (loss == BOOST_POISSON) { /* the table may have numbers below 0 */
            rig_free(r);
            continue;
        }
        struct lane l = rig_lane(r, "boost", params, FOLD_ALL, 0);
        struct boost_lane *state_of = l.state;
        memset(state_of->w, 0, 300 * sizeof *state_of->w);
        rig_lane_train(r, "boost", &l, 3, NULL);
        struct buf b = rig_lane_bytes("boost", &l, 3), none = rig_lane_bytes("boost", &l, 0);
        float *p = rig_predict(r, "boost", &b), *q = rig_predict(r, "boost", &none);
        assert_memory_equal(p, q, (size_t)(300 * r->d->n_outputs) * sizeof *p);
        free(p), free(q);
        buf_fini(&b);
        buf_fini(&none);
        rig_lane_close("boost", &l);
        rig_free(r);
    }
}

/* ---- what does not fit ---- */

static void refused(struct rig *r, enum boost_loss loss)
{
    struct lane l = { .fold = 0, .seed = 1, .level = 3 };
    struct err err = { 0 };

    params_by_hand(loss, 0.5, l.params);
    assert_int_equal(model_find("boost")->open(r->d, &l, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_string_equal(err.where, "objective");
    assert_null(l.state);
}

static void a_loss_that_does_not_suit_the_target_is_one_error(void **state)
{
    struct rig *binary = rig_new(rig_mixed(ML_BINARY, 60, 2, 1), ML_BINARY, METRIC_AUC, 2),
               *many =
                   rig_new(rig_mixed(ML_MULTICLASS, 60, 3, 1), ML_MULTICLASS, METRIC_LOGLOSS, 2),
               *numbers = two_groups(low, high);

    (void)state;
    for (int loss = BOOST_AUTO + 1; loss < BOOST_LOSSES; loss++) {
        if (loss != BOOST_LOGISTIC)
            refused(binary, (enum boost_loss)loss);
        if (loss != BOOST_SOFTMAX)
            refused(many, (enum boost_loss)loss);
        if (loss >= BOOST_LOGISTIC)
            refused(numbers, (enum boost_loss)loss);
    }
    rig_free(binary);
    rig_free(many);
    rig_free(numbers);
}

static void poisson_refuses_what_cannot_be_a_count(void **state)
{
    static const double wrong[] = { -1, -1e-9, 1e16 };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        double with[10];
        memcpy(with, low, sizeof with);
        with[4] = wrong[i];
        struct rig *r = two_groups(with, high);
        struct lane l = { .fold = FOLD_ALL, .seed = 1, .level = 3 };
        struct err err = { 0 };
        params_by_hand(BOOST_POISSON, 0.5, l.params);
        assert_int_equal(model_find("boost")->open(r->d, &l, &err), -1);
        assert_string_equal(err.where, "objective");
        assert_non_null(strstr(err.text, "row 5"));
        rig_free(r);
    }
}

static void the_metric_chooses_the_loss_where_it_is_natural(void **state)
{
    (void)state;
    assert_int_equal(boost_loss_auto(ML_REGRESSION, METRIC_RMSE), BOOST_SQUARED);
    assert_int_equal(boost_loss_auto(ML_REGRESSION, METRIC_R2), BOOST_SQUARED);
    assert_int_equal(boost_loss_auto(ML_REGRESSION, METRIC_MAE), BOOST_ABSOLUTE);
    assert_int_equal(boost_loss_auto(ML_REGRESSION, METRIC_POISSON), BOOST_POISSON);
    assert_int_equal(boost_loss_auto(ML_REGRESSION, METRIC_PINBALL_90), BOOST_QUANTILE);
    assert_int_equal(boost_loss_auto(ML_BINARY, METRIC_AUC), BOOST_LOGISTIC);
    assert_int_equal(boost_loss_auto(ML_MULTICLASS, METRIC_AUC), BOOST_SOFTMAX);
}

/* Unless it is asked for by name: then alpha says which. */
static void the_metric_chooses_the_quantile(void **state)
{
    struct rig *r =
        rig_new(rig_mixed(ML_REGRESSION, 300, 0, 4), ML_REGRESSION, METRIC_PINBALL_25, 2);

    (void)state;
    for (int by_name = 0; by_name < 2; by_name++) {
        double params[FAMILY_MAX_PARAMS];
        family_defaults(family_find("boost"), params);
        params[BOOST_OBJECTIVE] = by_name ? BOOST_QUANTILE : BOOST_AUTO;
        params[BOOST_ALPHA] = 0.6;
        struct lane l = rig_lane(r, "boost", params, 0, 0);
        const struct boost_lane *b = l.state;
        assert_int_equal(b->loss, BOOST_QUANTILE);
        assert_float_equal(b->alpha, by_name ? 0.6 : 0.25, 0);
        rig_lane_close("boost", &l);
    }
    rig_free(r);
}

static void balanced_classes_need_classes(void **state)
{
    struct rig *r = rig_new(rig_mixed(ML_REGRESSION, 300, 0, 4), ML_REGRESSION, METRIC_RMSE, 2);
    struct lane l = { .fold = 0, .level = 3 };
    struct err err = { 0 };

    (void)state;
    family_defaults(family_find("boost"), l.params);
    l.params[BOOST_CLASS_WEIGHT] = 1;
    assert_int_equal(model_find("boost")->open(r->d, &l, &err), -1);
    assert_string_equal(err.where, "class_weight");
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_and_losses_are_in_one_order),
        cmocka_unit_test(gradients_are_the_derivatives_of_the_loss),
        cmocka_unit_test(the_first_score_is_the_best_constant),
        cmocka_unit_test(leaves_take_the_best_value_for_the_loss),
        cmocka_unit_test(huber_cuts_what_is_far),
        cmocka_unit_test(penalties_shrink_every_leaf_towards_no_step),
        cmocka_unit_test(gross_errors_do_not_bend_absolute_and_huber),
        cmocka_unit_test(quantiles_cover_their_share),
        cmocka_unit_test(counts_are_never_predicted_below_none),
        cmocka_unit_test(balanced_classes_start_even_and_find_the_rare_one),
        cmocka_unit_test(a_class_of_two_rows_is_safe_at_any_weight),
        cmocka_unit_test(rows_of_no_weight_say_nothing),
        cmocka_unit_test(no_weight_at_all_gives_the_first_score),
        cmocka_unit_test(a_loss_that_does_not_suit_the_target_is_one_error),
        cmocka_unit_test(poisson_refuses_what_cannot_be_a_count),
        cmocka_unit_test(the_metric_chooses_the_loss_where_it_is_natural),
        cmocka_unit_test(the_metric_chooses_the_quantile),
        cmocka_unit_test(balanced_classes_need_classes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
