/* test_honest.c - validation says what test rows will say. Rows of one group in several folds, and
 * folds that ignore the order of time, promise far too much; with groups and time they do not.
 * Labels that were shuffled leave every family at chance, whichever way rows are split; and scores err
 * by what they say. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "ml/model/artifact.h"
#include "ml/model/fold_rows.h"
#include "ml/model/models.h"
#include "ml/model/split.h"

#include <math.h>
#include <string.h>

static struct rig *open_by(struct rig_table *t, enum ml_task task, const struct ml_rows_spec *by,
                           double test)
{
    struct rig *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };

    r->frame = rig_frame(t);
    rig_table_free(t);
    struct ml_data_spec spec = { .frame = r->frame,
                                 .target = "y",
                                 .positive = task == ML_BINARY ? "1" : "",
                                 .task = task,
                                 .metric = task == ML_REGRESSION ? METRIC_RMSE : METRIC_AUC,
                                 .test_fraction = test,
                                 .folds = 5,
                                 .split_seed = 3,
                                 .by = *by };
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    return r;
}

static struct fit_result fitted(struct rig *r, const char *family, struct fit_trial **keep)
{
    const struct family *f = family_find(family);
    double params[FAMILY_MAX_PARAMS];
    struct fit_result out;
    struct err err = { 0 };

    family_defaults(f, params);
    struct fit_trial *t = fit_trial_open(r->d, f, params, 42, false, &err);
    if (!t || fit_trial_advance(t, fit_trial_levels(t), NULL, &err) != 1 ||
        fit_trial_test(t, &err) < 0 || fit_trial_result(t, &out, &err) < 0)
        fail_msg("%s: %s", family, err.text);
    if (keep)
        *keep = t;
    else
        fit_trial_close(t);
    return out;
}

/* ---- groups ---- */

enum { PER = 20 };

/* Rows of a group have nearly the same four numbers and the same large effect, which no other
 * group tells anything about. The last quarter of the groups is for the test: rows without a
 * target in the training table. */
static struct rig_table *grouped(int64_t groups, uint64_t seed)
{
    struct rig_table *t = rig_table_new(groups * PER);
    double *x[4], *id = rig_numbers(t), effect = 0, about[4] = { 0 };
    struct rng r;

    for (int c = 0; c < 4; c++)
        x[c] = rig_numbers(t);
    double *z = rig_numbers(t), *y = rig_numbers(t);
    rng_init(&r, seed, 0);
    for (int64_t i = 0; i < t->rows; i++) {
        if (i % PER == 0) {
            effect = 2.2 * rng_normal(&r);
            for (int c = 0; c < 4; c++)
                about[c] = rng_normal(&r);
        }
        id[i] = floor((double)i / PER);
        for (int c = 0; c < 4; c++)
            x[c][i] = about[c] + 0.02 * rng_normal(&r);
        z[i] = rng_normal(&r);
        y[i] = effect + 0.5 * z[i] + 0.6 * rng_normal(&r);
    }
    return t;
}

/* What the issue saw: validation .67, test 2.25. */
static void folds_that_divide_groups_promise_too_much_and_groups_do_not(void **state)
{
    /* The test rows of both are whole groups; the first study divides the others. */
    struct rig *honest =
        open_by(grouped(160, 1), ML_REGRESSION, &(struct ml_rows_spec){ .groups = "x0" }, 0.25);
    struct rig_table *t = grouped(160, 1);
    int64_t kept = 0;

    (void)state;
    for (int64_t i = 0; i < t->rows; i++) { /* the same test rows, and an id that says nothing */
        bool is_test = honest->d->fold[i] == SPLIT_TEST;
        for (int c = 0; c < t->n_cols && !is_test; c++)
            t->cols[c].num[kept] = c == 0 ? 0 : t->cols[c].num[i];
        kept += !is_test;
    }
    t->rows = kept;
    struct rig *naive = open_by(t, ML_REGRESSION, &(struct ml_rows_spec){ 0 }, 0);
    struct fit_result a = fitted(naive, "boost", NULL), b = fitted(honest, "boost", NULL);
    print_message("groups: naive %.2f, with groups %.2f, test %.2f\n", a.score, b.score,
                  b.test_score);
    assert_true(a.score < 0.9 && b.test_score > 2);
    assert_true(fabs(b.score - b.test_score) < 0.35);
    rig_free(naive);
    rig_free(honest);
}

/* ---- time ---- */

/* The level of the target wanders and comes back (about every 80 rows); the trees know any row by
 * its neighbours in time. */
static struct rig_table *wandering(int64_t rows, uint64_t seed)
{
    struct rig_table *t = rig_table_new(rows);
    double *when = rig_numbers(t), *x = rig_numbers(t), *y = rig_numbers(t), level = 0;
    struct rng r;

    rng_init(&r, seed, 0);
    for (int64_t i = 0; i < rows; i++) {
        level = 0.9875 * level + 0.32 * rng_normal(&r);
        when[i] = (double)i;
        x[i] = rng_normal(&r);
        y[i] = level + 0.5 * x[i] + 0.5 * rng_normal(&r);
    }
    return t;
}

/* What the issue saw: validation .69, test 3.50. */
static void ignoring_the_order_of_time_promises_too_much_and_time_does_not(void **state)
{
    struct rig *honest =
        open_by(wandering(3000, 2), ML_REGRESSION,
                &(struct ml_rows_spec){ .time = "x0", .time_is_input = true }, 0.25);
    struct rig_table *t = wandering(3000, 2);
    struct fit_trial *kept = NULL;
    struct err err = { 0 };
    struct buf b;

    (void)state;
    t->rows = 2250;
    struct rig *naive = open_by(t, ML_REGRESSION, &(struct ml_rows_spec){ 0 }, 0);
    struct fit_result a = fitted(naive, "boost", NULL), c = fitted(honest, "boost", &kept);
    print_message("time: naive %.2f, with time %.2f, test %.2f\n", a.score, c.score, c.test_score);
    assert_true(a.score < 1 && c.test_score > 1.7);
    assert_true(fabs(c.score - c.test_score) < 0.5);

    /* the newest fold's model ships, and rows that no fold holds out have no prediction */
    buf_init(&b, 1 << 26);
    assert_int_equal(fit_trial_artifact(kept, &b, &err), 0);
    struct artifact *file = artifact_load(b.data, b.len, &err);
    assert_int_equal(artifact_info(file)->n_models, 1);
    artifact_close(file);
    buf_fini(&b);
    float oof[3000];
    assert_int_equal(fit_trial_oof(kept, oof, &err), 0);
    for (int64_t i = 0; i < 3000; i++)
        assert_int_equal(isnan(oof[i]), i < 375 || i >= 2250);
    fit_trial_close(kept);
    rig_free(naive);
    rig_free(honest);
}

/* Ridge regression adds up what folds share: forward in time it must still be what a lane that
 * trains alone on the past gives. */
static void linear_models_see_only_the_past(void **state)
{
    const struct ml_rows_spec by = { .time = "x0", .gap = 25, .time_is_input = true };
    struct rig *r = open_by(wandering(800, 2), ML_REGRESSION, &by, 0);
    struct rig_table *t = wandering(800, 2);
    const struct family *f = family_find("linear");
    double params[FAMILY_MAX_PARAMS];
    const struct model_ops *ops = model_find("linear");
    float a[800] = { 0 }, b[800] = { 0 };
    struct err err = { 0 };

    (void)state;
    /* the future is made nonsense: what fold 2 predicts must not change */
    double *y = t->cols[t->n_cols - 1].num;
    for (int i = 0; i < 800; i++) {
        if (!row_is_trained(r->d, i, 2) && r->d->fold[i] != 2)
            y[i] = -1e4;
    }
    struct rig *other = open_by(t, ML_REGRESSION, &by, 0);
    family_defaults(f, params);
    for (int k = 0; k < 2; k++) {
        struct rig *at = k ? other : r;
        struct lane l = rig_lane(at, "linear", params, 2, 5);
        assert_int_equal(ops->predict_held(at->d, &l, k ? b : a, &err), 0);
        rig_lane_close("linear", &l);
    }
    int held = 0;
    for (int i = 0; i < 800; i++)
        held += r->d->fold[i] == 2;
    assert_int_equal(held, 133);
    for (int i = 0; i < held; i++)
        assert_float_equal(a[i], b[i], 1e-5);
    rig_free(r);
    rig_free(other);
}

/* ---- chance ---- */

/* Labels that depend on nothing; groups and weights that do not either. */
static void shuffled_labels_leave_every_family_at_chance(void **state)
{
    static const struct ml_rows_spec ways[] = {
        { 0 },
        { .groups = "x0" },
        { .groups = "x0", .weights = "x1" },
        { .time = "x0", .gap = 3, .time_is_input = true },
        { .time = "x0", .weights = "x1" },
    };
    static const char *const families[] = { "linear", "boost", "forest", "extra_trees", "mlp" };

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
        struct rig_table *t = rig_table_new(600);
        double *group = rig_numbers(t), *weight = rig_numbers(t), *x = rig_numbers(t);
        int32_t *level = rig_levels(t, 12);
        double *y = rig_numbers(t);
        struct rng r;
        rng_init(&r, 77, 0);
        for (int i = 0; i < 600; i++) {
            group[i] = rng_below(&r, 60);
            weight[i] = 0.5 + rng_unit(&r);
            x[i] = rng_normal(&r);
            level[i] = (int32_t)rng_below(&r, 12);
            y[i] = rng_below(&r, 2);
        }
        struct rig *rig = open_by(t, ML_BINARY, &ways[w], 0);
        for (size_t f = 0; f < ARRAY_LEN(families); f++) {
            if (f >= 2 && w % 2 == 1) /* the slow families see some of the ways */
                continue;
            struct fit_result out = fitted(rig, families[f], NULL);
            if (!(fabs(out.score - 0.5) < 4 * out.se) || !(out.se < 0.05))
                fail_msg("way %zu, %s: %.3f +- %.3f", w, families[f], out.score, out.se);
        }
        rig_free(rig);
    }
}

/* ---- the error of a score ---- */

/* The spread of scores over tables that are drawn anew, beside the error that each score says: rows of a
 * group, and of a stretch of time, err together, so that 20 of them tell little more than one. */
static void errors_are_those_of_tables_drawn_anew(void **state)
{
    enum { TABLES = 16 };
    static const struct ml_rows_spec ways[] = { { .groups = "x0" },
                                                { .time = "x0", .time_is_input = true } };

    (void)state;
    for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
        double mean = 0, square = 0, said = 0;
        for (uint64_t seed = 1; seed <= TABLES; seed++) {
            struct rig *r = open_by(w == 0 ? grouped(100, seed) : wandering(2000, seed),
                                    ML_REGRESSION, &ways[w], 0);
            struct fit_result out = fitted(r, "linear", NULL);
            mean += out.score / TABLES;
            square += out.score * out.score / TABLES;
            said += out.se * out.se / TABLES;
            rig_free(r);
        }
        double spread = sqrt((square - mean * mean) * TABLES / (TABLES - 1));
        print_message("%s: scores spread by %.3f, errors say %.3f\n",
                      ways[w].groups ? "groups" : "time", spread, sqrt(said));
        assert_true(sqrt(said) > 0.6 * spread && sqrt(said) < 1.7 * spread);
    }
}

/* ---- blocks ---- */

/* Groups are never divided between blocks, and a fold of time is one; of fewer than five such blocks
 * rows are dealt out, so that there always are some. */
static void blocks_are_of_what_errs_together(void **state)
{
    static const struct {
        bool is_time;
        int units; /* groups, or moments */
        int blocks;
    } cases[] = { { false, 160, 30 }, { false, 6, 5 }, { false, 2, 32 },
                  { true, 600, 5 },   { true, 2, 32 }, { true, 4, 30 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig_table *t = rig_table_new(600);
        double *of = rig_numbers(t), *x = rig_numbers(t), *y = rig_numbers(t), value[FIT_BLOCKS];
        struct fit_trial *trial = NULL;
        struct rng r;
        rng_init(&r, 5, 0);
        for (int k = 0; k < 600; k++) {
            of[k] = floor((double)k * cases[i].units / 600);
            x[k] = rng_normal(&r);
            y[k] = x[k] + rng_normal(&r);
        }
        const struct ml_rows_spec by = { .groups = cases[i].is_time ? NULL : "x0",
                                         .time = cases[i].is_time ? "x0" : NULL };
        struct rig *rig = open_by(t, ML_REGRESSION, &by, 0);
        struct fit_result out = fitted(rig, "linear", &trial);
        if (fit_trial_blocks(trial, value, NULL) != cases[i].blocks || !(out.se > 0))
            fail_msg("case %zu: %d blocks, error %g", i, fit_trial_blocks(trial, value, NULL),
                     out.se);
        fit_trial_close(trial);
        rig_free(rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folds_that_divide_groups_promise_too_much_and_groups_do_not),
        cmocka_unit_test(ignoring_the_order_of_time_promises_too_much_and_time_does_not),
        cmocka_unit_test(linear_models_see_only_the_past),
        cmocka_unit_test(shuffled_labels_leave_every_family_at_chance),
        cmocka_unit_test(errors_are_those_of_tables_drawn_anew),
        cmocka_unit_test(blocks_are_of_what_errs_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
