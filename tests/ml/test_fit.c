/* test_fit.c - the engine's promises: choices along the curve are fixed points, slicing and checkpoints change no bit,
 * levels reached one by one equal levels reached at once, a cut leaves something usable, and what ships predicts exactly
 * what was scored. The last tests train on real tables where those are beside the repository, else they skip. */
#include "tests/ml/fit_rig.h"

#include "base/base.h"
#include "base/gz.h"
#include "base/mem.h"
#include "ml/fit/fit_private.h"
#include "ml/model/artifact.h"
#include "ml/model/target.h"
#include "ml/read/csv.h"

#include <math.h>
#include <unistd.h>

/* ---- choices, from made-up curves ---- */

struct made { /* a trial that only judges */
    struct fit_trial t;
    struct ml_data d;
    struct fit_run r;
};

static struct made *made_new(int folds, int points, const double *curve, int64_t every,
                             int64_t patience, int64_t cap)
{
    struct made *m = mem_zalloc(sizeof *m);

    m->d.spec.metric = METRIC_LOGLOSS;
    m->t.d = &m->d;
    m->t.select = METRIC_LOGLOSS;
    m->r.plan = (struct family_plan){ .check_every = every, .patience = patience, .cap = cap };
    for (int f = 0; f < folds; f++) {
        m->t.rows[f].n_held = 10;
        m->t.size[f] = (double)m->t.rows[f].n_held;
        for (int p = 0; p < points; p++) {
            struct fit_value v = { curve[p * folds + f], 100 + curve[p * folds + f], 1 };
            fit_point_put(&m->r, f, &v);
        }
    }
    return m;
}

static void made_free(struct made *m)
{
    mem_free(m->r.values);
    mem_free(m->r.point_us);
    mem_free(m);
}

static void patience_ends_at_fixed_check_points(void **state)
{
    static const double curve[] = { 9, 8, 7, 7.5, 7.4, 7.3, 6, 5 };
    struct made *m = made_new(1, 8, curve, 10, 30, 1000);
    struct fit_choice c = fit_choose(&m->t, &m->r, 1);

    (void)state;
    assert_int_equal(c.best, 2);   /* the better points after the end do not count */
    assert_int_equal(c.points, 6); /* 60 - 30 = patience */
    assert_true(c.is_final);
    made_free(m);
    m = made_new(1, 5, curve, 10, 30, 1000);
    assert_false(fit_choose(&m->t, &m->r, 1).is_final);
    made_free(m);
    m = made_new(1, 5, curve, 10, 300, 45); /* the cap is the last check point */
    c = fit_choose(&m->t, &m->r, 1);
    assert_true(c.is_final);
    assert_int_equal(fit_point_step(&m->r, 4), 45);
    made_free(m);
}

static void a_point_counts_when_every_fold_has_it(void **state)
{
    static const double curve[] = { 5, 9, 4, 8, 3, 7 };
    struct made *m = made_new(2, 3, curve, 1, 5, 100);

    (void)state;
    m->r.n_values[1] = 2;
    assert_int_equal(fit_choose(&m->t, &m->r, 2).points, 2);
    assert_int_equal(fit_choose(&m->t, &m->r, 1).points, 3);
    made_free(m);
}

static void the_score_of_a_fold_is_chosen_by_the_others(void **state)
{
    /* Fold 0 alone would take point 1, fold 1 and 2 take point 0; pooled takes point 0. */
    static const double curve[] = { 3, 1, 1, 0, 2, 2 };
    struct made *m = made_new(3, 2, curve, 1, 1, 2);
    double score, se;

    (void)state;
    struct fit_choice c = fit_choose(&m->t, &m->r, 3);
    assert_int_equal(c.best, 1); /* means 5/3 and 4/3 */
    fit_cross_score(&m->t, &m->r, &c, &score, &se);
    /* fold 0: others say point 0 (1 < 2): 103; fold 1: others 2 and 1 -> point 1: 102; fold 2 likewise: 102 */
    assert_float_equal(score, (103 + 102 + 102) / 3.0, 1e-9);
    assert_float_equal(se, sqrt(3.0) / 3, 1e-9);
    made_free(m);
}

/* Fold 0 is an easy one: its values are 5 lower than the others'. A run on fold 0 that was trained to the end stands beside
 * one on all folds that was cut. The errors of folds are 1. */
static void a_lucky_fold_is_no_reason_to_ship_it_alone(void **state)
{
    static const struct {
        double alone, in_all; /* values of fold 0 */
        int folds;
    } both[] = { { 10, 10, 3 }, { 9.1, 10, 3 }, { 8.9, 10, 1 }, { 11, 10, 3 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        for (int first = 0; first < 2; first++) { /* in either order */
            double in_all[] = { both[i].in_all, both[i].in_all + 5, both[i].in_all + 5 };
            struct made *m = made_new(3, 1, in_all, 1, 5, 100),
                        *alone = made_new(1, 1, &both[i].alone, 1, 5, 100);
            fit_take_if_better(&m->t, first ? &alone->r : &m->r, first ? 1 : 3);
            fit_take_if_better(&m->t, first ? &m->r : &alone->r, first ? 3 : 1);
            assert_int_equal(m->t.chosen_folds, both[i].folds);
            assert_ptr_equal(m->t.chosen, both[i].folds == 1 ? &alone->r : &m->r);
            made_free(m);
            made_free(alone);
        }
    }
}

/* ---- whole trials ---- */

static const struct {
    const char *family;
    enum ml_task task;
    int classes;
    enum metric_id metric;
} cases[] = {
    { "boost", ML_BINARY, 2, METRIC_AUC },
    { "boost", ML_MULTICLASS, 3, METRIC_ACCURACY },
    { "boost", ML_REGRESSION, 0, METRIC_RMSE },
    { "linear", ML_BINARY, 2, METRIC_F1 },
    { "linear", ML_REGRESSION, 0, METRIC_R2 },
    { "linear", ML_MULTICLASS, 3, METRIC_LOGLOSS },
    { "baseline", ML_REGRESSION, 0, METRIC_MAE },
    { "baseline", ML_MULTICLASS, 3, METRIC_LOGLOSS },
    { "forest", ML_BINARY, 2, METRIC_AUC },
    { "extra_trees", ML_MULTICLASS, 3, METRIC_ACCURACY },
    { "forest", ML_REGRESSION, 0, METRIC_RMSE },
};

static void params_of(const struct family *f, double *p)
{
    family_defaults(f, p);
    if (strcmp(f->name, "boost") == 0) {
        p[BOOST_LEARNING_RATE] = 0.06;
        p[BOOST_LEAVES] = 6;
        p[BOOST_MIN_LEAF] = 5;
        p[BOOST_ROUNDS] = 70;
    }
}

static struct rig *rig_of(size_t i)
{
    return rig_new(rig_mixed(cases[i].task, 300, cases[i].classes, 4), cases[i].task,
                   cases[i].metric, 3);
}

static struct fit_trial *trial_of(struct rig *r, size_t i, bool holdout)
{
    const struct family *f = family_find(cases[i].family);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };

    params_of(f, params);
    struct fit_trial *t = fit_trial_open(r->d, f, params, 42, holdout, &err);
    if (!t)
        fail_msg("%s", err.text);
    return t;
}

static void reach(struct fit_trial *t, int level)
{
    struct err err = { 0 };

    if (fit_trial_advance(t, level, NULL, &err) != 1)
        fail_msg("%s", err.text);
}

static struct buf saved(struct fit_trial *t)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, 1u << 28);
    if (fit_trial_save(t, &b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static struct buf shipped(struct fit_trial *t)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, 1u << 28);
    if (fit_trial_artifact(t, &b, &err) < 0)
        fail_msg("%s", err.text);
    return b;
}

static void assert_same_bytes(struct buf a, struct buf b)
{
    assert_int_equal(a.len, b.len);
    assert_memory_equal(a.data, b.data, a.len);
    buf_fini(&a);
    buf_fini(&b);
}

static void assert_same_result(struct fit_trial *a, struct fit_trial *b)
{
    struct fit_result x, y;
    struct err err = { 0 };

    assert_int_equal(fit_trial_result(a, &x, &err), 0);
    assert_int_equal(fit_trial_result(b, &y, &err), 0);
    assert_memory_equal(&x.score, &y.score, sizeof x.score);
    assert_memory_equal(&x.se, &y.se, sizeof x.se);
    assert_memory_equal(&x.select, &y.select, sizeof x.select);
    assert_int_equal(x.steps, y.steps);
    assert_int_equal(x.curve_points, y.curve_points);
    assert_memory_equal(x.curve_value, y.curve_value, sizeof x.curve_value);
    assert_memory_equal(x.free_params, y.free_params, sizeof x.free_params);
    assert_same_bytes(shipped(a), shipped(b));
}

static void slicing_changes_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *r = rig_of(i);
        struct fit_trial *whole = trial_of(r, i, false), *cut = trial_of(r, i, false);
        struct rig_stop stop;
        struct err err = { 0 };
        int levels = family_find(cases[i].family)->levels, rc = 0;
        reach(whole, levels);
        rig_stop_init(&stop, test_seed(), 200);
        for (int tries = 0; rc == 0 && tries < 100000; tries++) {
            rc = fit_trial_advance(cut, levels, &stop.stop, &err);
            rig_stop_next(&stop);
        }
        assert_int_equal(rc, 1);
        assert_same_result(whole, cut);
        assert_same_bytes(saved(whole), saved(cut));
        fit_trial_close(whole);
        fit_trial_close(cut);
        rig_free(r);
    }
}

static void a_loaded_trial_goes_on_with_equal_bits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *r = rig_of(i);
        struct fit_trial *whole = trial_of(r, i, false), *now = trial_of(r, i, false);
        struct rig_stop stop;
        struct err err = { 0 };
        int levels = family_find(cases[i].family)->levels, rc = 0;
        reach(whole, levels);
        rig_stop_init(&stop, test_seed() + 1, 1500);
        for (int tries = 0; rc == 0 && tries < 1000; tries++) {
            rc = fit_trial_advance(now, levels, &stop.stop, &err);
            rig_stop_next(&stop);
            struct buf b = saved(now); /* a crash after every slice */
            struct view in = { (const uint8_t *)b.data, b.len, 0 };
            fit_trial_close(now);
            now = trial_of(r, i, false);
            assert_int_equal(fit_trial_load(now, &in, &err), 0);
            assert_same_bytes(saved(now), b);
        }
        assert_int_equal(rc, 1);
        assert_same_result(whole, now);
        fit_trial_close(whole);
        fit_trial_close(now);
        rig_free(r);
    }
}

/* A forest's first level, on one fold of five. Once its next has begun, what was done of that is kept. */
static void a_level_soon_done_again_leaves_no_model_behind(void **state)
{
    const struct family *f = family_find("forest");
    struct rig *r = rig_new(rig_mixed(ML_BINARY, 300, 2, 4), ML_BINARY, METRIC_AUC, 5);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct rig_stop stop;

    (void)state;
    params_of(f, params);
    struct fit_trial *whole = fit_trial_open(r->d, f, params, 42, false, &err);
    struct fit_trial *first = fit_trial_open(r->d, f, params, 42, false, &err);
    struct fit_trial *later = fit_trial_open(r->d, f, params, 42, false, &err);
    reach(whole, 2);
    reach(first, 1);
    struct buf b = saved(first);
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    assert_true(b.len < 500);
    assert_int_equal(fit_trial_load(later, &in, &err), 0);
    reach(later, 2);
    assert_same_result(whole, later);
    buf_fini(&b);
    rig_stop_init(&stop, 1, 2);
    stop.stop.deadline_us = 20;
    assert_int_equal(fit_trial_advance(first, 2, &stop.stop, &err), 0);
    b = saved(first);
    assert_true(b.len > 5000);
    buf_fini(&b);
    fit_trial_close(whole);
    fit_trial_close(first);
    fit_trial_close(later);
    rig_free(r);
}

static void levels_one_by_one_equal_the_top_at_once(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        struct rig *r = rig_of(0);
        const struct family *f = family_find("boost");
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct fit_result at[3];
        params_of(f, params);
        params[BOOST_LEARNING_RATE] = slow ? 0.05 : 0.2;
        struct fit_trial *once = fit_trial_open(r->d, f, params, 7, false, &err);
        struct fit_trial *steps = fit_trial_open(r->d, f, params, 7, false, &err);
        reach(once, 3);
        for (int level = 1; level <= 3; level++) {
            reach(steps, level);
            assert_int_equal(fit_trial_result(steps, &at[level - 1], &err), 0);
            assert_int_equal(at[level - 1].level, level);
        }
        assert_same_result(once, steps);
        if (!slow) /* nothing more to learn at the top */
            assert_memory_equal(&at[1].score, &at[2].score, sizeof(double));
        else
            assert_true(at[1].score != at[2].score);
        assert_true(at[0].free_params[BOOST_LEARNING_RATE] == (slow ? 0.1 : 0.2));
        assert_true(at[2].free_params[BOOST_LEARNING_RATE] == (slow ? 0.05 : 0.2));
        fit_trial_close(once);
        fit_trial_close(steps);
        rig_free(r);
    }
}

static void a_cut_keeps_the_best_so_far(void **state)
{
    int usable = 0, nothing = 0;

    (void)state;
    for (int look = 1; look < 3000; look = look * 3 / 2 + 1) {
        struct rig *r = rig_of(1);
        struct fit_trial *t = trial_of(r, 1, false);
        struct rig_stop stop;
        struct err err = { 0 };
        struct fit_result res;
        rig_stop_init(&stop, 1, 2);
        stop.stop.deadline_us = look;
        int rc = fit_trial_advance(t, 3, &stop.stop, &err);
        if (rc == 0 && fit_trial_cut(t, &err) < 0) {
            assert_int_equal(err.code, ERR_TIMEOUT);
            assert_int_equal(fit_trial_result(t, &res, &err), -1);
            nothing++;
        } else {
            float *oof = malloc((size_t)(r->d->rows * r->d->n_outputs) * sizeof *oof);
            assert_int_equal(fit_trial_result(t, &res, &err), 0);
            assert_int_equal(res.cut, rc == 0);
            assert_true(res.steps >= 1 && !isnan(res.score));
            assert_int_equal(fit_trial_oof(t, oof, &err), 0);
            for (int64_t k = 0; k < r->d->rows * r->d->n_outputs; k++)
                assert_false(isnan(oof[k]));
            struct buf b = shipped(t);
            buf_fini(&b);
            free(oof);
            usable++;
        }
        fit_trial_close(t);
        rig_free(r);
    }
    assert_true(usable >= 3 && nothing >= 3);
}

static void a_cut_in_the_next_level_still_has_the_last_one(void **state)
{
    struct rig *r = rig_of(0);
    struct fit_trial *t = trial_of(r, 0, false);
    struct rig_stop stop;
    struct err err = { 0 };
    struct fit_result before, after;

    (void)state;
    reach(t, 2);
    assert_int_equal(fit_trial_result(t, &before, &err), 0);
    rig_stop_init(&stop, 1, 2);
    stop.stop.deadline_us = 20; /* the slower level has hardly begun */
    assert_int_equal(fit_trial_advance(t, 3, &stop.stop, &err), 0);
    assert_int_equal(fit_trial_result(t, &after, &err), 0); /* still the level that was reached */
    assert_true(after.select == before.select && !after.cut);
    assert_int_equal(fit_trial_cut(t, &err), 0);
    assert_int_equal(fit_trial_result(t, &after, &err), 0);
    assert_true(after.cut && after.select == before.select && after.steps == before.steps);
    assert_true(after.free_params[BOOST_LEARNING_RATE] == 0.1);
    fit_trial_close(t);
    rig_free(r);
}

static void out_of_fold_rows_are_the_fitted_folds_own(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        for (int holdout = 0; holdout < 2; holdout++) {
            struct rig *r = rig_of(i);
            struct fit_trial *t = trial_of(r, i, holdout);
            struct err err = { 0 };
            struct fit_result res;
            double score, se, *y = malloc(300 * sizeof *y);
            int k = r->d->n_outputs;
            float *oof = malloc((size_t)(300 * k) * sizeof *oof),
                  *own = malloc((size_t)(300 * k) * sizeof *own);
            reach(t, family_find(cases[i].family)->levels);
            assert_int_equal(fit_trial_result(t, &res, &err), 0);
            assert_int_equal(fit_trial_oof(t, oof, &err), 0);
            int64_t n = 0;
            for (int64_t row = 0; row < 300; row++) {
                assert_int_equal(isnan(oof[row * k]), holdout && r->d->fold[row] != 0);
                if (r->d->fold[row] != 0)
                    continue;
                y[n] = r->d->y[row];
                memcpy(own + n++ * k, oof + row * k, (size_t)k * sizeof *own);
            }
            fit_adjust_decide(t, 0, 0, own, n);
            assert_int_equal(metric_score(cases[i].metric, cases[i].task, own, y, n,
                                          MAX(1, r->d->n_classes), &score, &se, &err),
                             0);
            if (holdout) /* one fold: its score at the chosen step is the trial's, but for its weight */
                assert_true(fabs(score - res.score) <= 4e-16 * fabs(score));
            free(y), free(oof), free(own);
            fit_trial_close(t);
            rig_free(r);
        }
    }
}

/* Rows of another table with the same columns, and the artifact's own predictions of them. */
static void the_test_score_is_what_the_artifact_predicts(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *r = rig_of(i);
        struct rig_table *more = rig_mixed(cases[i].task, 200, cases[i].classes, 77);
        struct err err = { 0 };
        struct fit_result res;
        double score, se, y[200];
        int k = r->d->n_outputs, target = more->n_cols - 1;
        float *pred = malloc((size_t)(200 * k) * sizeof *pred);
        r->test_frame = rig_frame(more);
        r->d->spec.test_frame = r->test_frame;
        struct fit_trial *t = trial_of(r, i, false);
        reach(t, family_find(cases[i].family)->levels);
        assert_int_equal(fit_trial_test(t, &err), 0);
        assert_int_equal(fit_trial_result(t, &res, &err), 0);
        struct buf b = shipped(t);
        struct artifact *a = artifact_load(b.data, b.len, &err);
        assert_non_null(a);
        struct artifact_view *v = artifact_view_new(a, r->test_frame, &err);
        assert_int_equal(artifact_predict(v, 0, 200, pred, &err), 0);
        memcpy(y, more->cols[target].num, sizeof y);
        adjust_decide(artifact_info(a)->adjust, cases[i].metric, cases[i].task, pred, 200);
        assert_int_equal(metric_score(cases[i].metric, cases[i].task, pred, y, 200,
                                      MAX(1, r->d->n_classes), &score, &se, &err),
                         0);
        assert_memory_equal(&score, &res.test_score, sizeof score);
        assert_int_equal(res.model_bytes, b.len);
        assert_true(res.predict_ns_row > 0);
        r->d->spec.test_frame = NULL; /* without test rows: the same size, and no score */
        assert_int_equal(fit_trial_test(t, &err), 0);
        assert_int_equal(fit_trial_result(t, &res, &err), 0);
        assert_true(isnan(res.test_score) && res.predict_ns_row > 0);
        assert_int_equal(res.model_bytes, b.len);
        r->d->spec.test_frame =
            r->test_frame; /* its last act: the same file, the same score, and no lanes are left */
        struct fit_result last;
        struct buf out;
        buf_init(&out, ARTIFACT_MAX_BYTES);
        double growth = fit_trial_forecast(t, 1, 0).growth;
        assert_int_equal(fit_trial_ship(t, &out, &err), 0);
        assert_int_equal(out.len, b.len);
        assert_memory_equal(out.data, b.data, b.len);
        assert_int_equal(fit_trial_result(t, &last, &err), 0);
        assert_memory_equal(&score, &last.test_score, sizeof score);
        assert_true(last.growth == growth && last.steps == res.steps && last.score == res.score);
        assert_int_equal(fit_trial_spare_bytes(t), 0);
        buf_fini(&out);
        artifact_view_free(v);
        artifact_close(a);
        buf_fini(&b);
        free(pred);
        rig_table_free(more);
        fit_trial_close(t);
        rig_free(r);
    }
}

static void a_refit_uses_all_rows_and_more_rounds(void **state)
{
    struct rig *r = rig_of(2);
    const struct family *f = family_find("boost");
    double params[FAMILY_MAX_PARAMS], test, se;
    struct err err = { 0 };
    struct buf a, b;
    struct rig_stop stop;
    const struct fit_refit how = { .family = f, .params = params, .seed = 5, .steps = 20 };

    (void)state;
    params_of(f, params);
    buf_init(&a, 1u << 28);
    buf_init(&b, 1u << 28);
    assert_int_equal(fit_refit_artifact(r->d, &how, NULL, &a, &test, &se, &err), 0);
    assert_int_equal(fit_refit_artifact(r->d, &how, NULL, &b, &test, &se, &err), 0);
    assert_true(isnan(test));
    assert_same_bytes(a, b);
    buf_init(&b, 1u << 28);
    rig_stop_init(&stop, 1, 2);
    stop.stop.deadline_us = 30;
    assert_int_equal(fit_refit_artifact(r->d, &how, &stop.stop, &b, &test, &se, &err), -1);
    assert_int_equal(err.code, ERR_TIMEOUT);
    buf_fini(&b);
    rig_free(r);
}

static void broken_checkpoints_are_refused(void **state)
{
    struct rig *r = rig_of(0);
    struct fit_trial *t = trial_of(r, 0, false);
    struct err err = { 0 };

    (void)state;
    reach(t, 1);
    struct buf b = saved(t);
    for (size_t n = 0; n < b.len; n += 1 + b.len / 200) { /* truncated anywhere */
        struct fit_trial *u = trial_of(r, 0, false);
        struct view in = { (const uint8_t *)b.data, n, 0 };
        assert_int_equal(fit_trial_load(u, &in, &err), -1);
        reach(u, 1); /* as good as new */
        fit_trial_close(u);
    }
    b.data[0] = 9; /* another format */
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    struct fit_trial *u = trial_of(r, 0, false);
    assert_int_equal(fit_trial_load(u, &in, &err), -1);
    assert_int_equal(err.code, ERR_VERSION);
    fit_trial_close(u);
    fit_trial_close(t);
    buf_fini(&b);
    rig_free(r);
}

static void tiny_tables_give_a_score(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rig *r = rig_new(rig_mixed(cases[i].task, 9, cases[i].classes, 4), cases[i].task,
                                cases[i].metric, 5);
        struct fit_trial *t = trial_of(r, i, false);
        struct fit_result res;
        struct err err = { 0 };
        reach(t, family_find(cases[i].family)->levels);
        assert_int_equal(fit_trial_result(t, &res, &err), 0);
        struct buf b = shipped(t);
        buf_fini(&b);
        fit_trial_close(t);
        rig_free(r);
    }
}

static void the_memory_estimate_is_near_the_truth(void **state)
{
    static const struct {
        enum ml_task task;
        int classes, rounds;
        int64_t rows;
    } shapes[] = { { ML_BINARY, 2, 50, 6000 },
                   { ML_MULTICLASS, 5, 30, 6000 },
                   { ML_REGRESSION, 0, 100, 20000 } };
    const struct family *f = family_find("boost");

    (void)state;
    for (size_t i = 0; i < TEST_ROUNDS(ARRAY_LEN(shapes), 2); i++) {
        struct rig *r = rig_new(rig_mixed(shapes[i].task, shapes[i].rows, shapes[i].classes, 4),
                                shapes[i].task, metric_default(shapes[i].task), 5);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        family_defaults(f, params);
        params[BOOST_ROUNDS] = shapes[i].rounds;
        params[BOOST_LEARNING_RATE] = 0.01; /* so that the cap ends it */
        struct fit_trial *t = fit_trial_open(r->d, f, params, 1, false, &err);
        reach(t, 3);
        struct family_shape s = model_shape(r->d, 5);
        double ratio = (double)f->host_bytes(&s, params, 3) / (double)fit_trial_bytes(t);
        assert_true(ratio > 0.8 && ratio < 1.25);
        fit_trial_close(t);
        rig_free(r);
    }
}

/* ---- real tables ---- */

struct text {
    char *data;
    size_t n, at;
};

static long text_source(void *ctx, void *out, size_t n, struct err *err)
{
    struct text *t = ctx;
    size_t m = MIN(n, t->n - t->at);

    (void)err;
    memcpy(out, t->data + t->at, m);
    t->at += m;
    return (long)m;
}

static struct frame *text_frame(struct text *t, const char *name)
{
    struct csv_opts opts = { .name = name };
    struct err err = { 0 };
    char path[512], hash[SHA256_HEX];

    test_path(path, sizeof path, name);
    if (csv_to_frame(text_source, t, &opts, path, hash, &err) < 0)
        fail_msg("%s", err.text);
    struct frame *f = frame_open(path, &err);
    unlink(path);
    assert_non_null(f);
    return f;
}

/* Splits by the rule of the datasets' README. false = not here. */
static bool real_table(const char *file, struct frame **train, struct frame **test)
{
    struct err err = { 0 };
    char path[256];
    struct text part[2] = { { 0 } };
    size_t n = 0, cap = 1 << 20;
    char *all = malloc(cap);
    long got;

    snprintf(path, sizeof path, "../shared/datasets/%s", file);
    struct gz *g = gz_open(path, &err);
    if (!g) {
        free(all);
        return false;
    }
    while ((got = gz_read(g, all + n, cap - n, &err)) > 0) {
        n += (size_t)got;
        if (n == cap)
            all = realloc(all, cap *= 2);
    }
    gz_close(g);
    for (int k = 0; k < 2; k++)
        part[k].data = malloc(n + 1);
    uint32_t row = 0;
    bool is_head = true;
    for (size_t at = 0; at < n; is_head = false) {
        const char *end = memchr(all + at, '\n', n - at);
        size_t len = end ? (size_t)(end - all) - at + 1 : n - at;
        for (int k = 0; k < 2; k++) {
            if (is_head || (row * 2654435761u < 1u << 30) == k) {
                memcpy(part[k].data + part[k].n, all + at, len);
                part[k].n += len;
            }
        }
        row += !is_head;
        at += len;
    }
    *train = text_frame(&part[0], "train");
    *test = text_frame(&part[1], "test");
    free(part[0].data), free(part[1].data), free(all);
    return true;
}

static const struct {
    const char *file, *family;
    enum metric_id metric;
    double at_least, at_most; /* of the score on rows never seen */
} real[] = {
    { "iris.csv", "linear", METRIC_LOGLOSS, 0, 0.25 },
    { "iris.csv", "boost", METRIC_LOGLOSS, 0, 0.35 },
    { "wine.csv", "linear", METRIC_LOGLOSS, 0, 0.25 },
    { "wine.csv", "boost", METRIC_ACCURACY, 0.93, 1 },
    { "breast_cancer_wdbc.csv", "linear", METRIC_AUC, 0.985, 1 },
    { "breast_cancer_wdbc.csv", "boost", METRIC_AUC, 0.98, 1 },
    { "concrete.csv", "linear", METRIC_RMSE, 0, 11.5 },
    { "concrete.csv", "boost", METRIC_RMSE, 0, 6.0 },
    { "abalone.csv", "boost", METRIC_RMSE, 0, 2.3 },
    { "sylvine.csv", "boost", METRIC_AUC, 0.98, 1 },
    { "mammography.csv", "boost", METRIC_AUC, 0.93, 1 },
    { "satimage.csv", "boost", METRIC_ACCURACY, 0.915, 1 },
    { "california_housing.csv.gz", "boost", METRIC_RMSE, 0, 47500 },
    { "adult.csv.gz", "boost", METRIC_AUC, 0.925, 1 },
    { "bank_marketing.csv.gz", "boost", METRIC_AUC, 0.936, 1 },
};

static void defaults_are_good_on_real_tables(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEST_ROUNDS(ARRAY_LEN(real), 4); i++) { /* scores, not memory */
        struct frame *train = NULL, *test = NULL;
        struct err err = { 0 };
        struct fit_result res;
        double params[FAMILY_MAX_PARAMS] = { 0 };
        if (!real_table(real[i].file, &train, &test) || !train || !test) {
            skip();
            return;
        }
        struct ml_data_spec spec = { .frame = train,
                                     .test_frame = test,
                                     .target = train->cols[train->n_cols - 1].name,
                                     .positive = "",
                                     .metric = real[i].metric,
                                     .folds = 5,
                                     .split_seed = 1 };
        assert_int_equal(ml_task_infer(train, spec.target, &spec.task, &err), 0);
        if (real[i].metric == METRIC_RMSE) /* abalone counts rings */
            spec.task = ML_REGRESSION;
        struct ml_data *d = ml_data_open(&spec, &err);
        if (!d)
            fail_msg("%s: %s", real[i].file, err.text);
        const struct family *f = family_find(real[i].family);
        family_defaults(f, params);
        struct fit_trial *t = fit_trial_open(d, f, params, 1, false, &err);
        reach(t, f->levels);
        assert_int_equal(fit_trial_test(t, &err), 0);
        assert_int_equal(fit_trial_result(t, &res, &err), 0);
        if (!(res.test_score >= real[i].at_least && res.test_score <= real[i].at_most))
            fail_msg("%s %s: %g is not in %g..%g", real[i].family, real[i].file, res.test_score,
                     real[i].at_least, real[i].at_most);
        fit_trial_close(t);
        ml_data_close(d);
        frame_close(train);
        frame_close(test);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patience_ends_at_fixed_check_points),
        cmocka_unit_test(a_point_counts_when_every_fold_has_it),
        cmocka_unit_test(the_score_of_a_fold_is_chosen_by_the_others),
        cmocka_unit_test(a_lucky_fold_is_no_reason_to_ship_it_alone),
        cmocka_unit_test(slicing_changes_no_bit),
        cmocka_unit_test(a_loaded_trial_goes_on_with_equal_bits),
        cmocka_unit_test(a_level_soon_done_again_leaves_no_model_behind),
        cmocka_unit_test(levels_one_by_one_equal_the_top_at_once),
        cmocka_unit_test(a_cut_keeps_the_best_so_far),
        cmocka_unit_test(a_cut_in_the_next_level_still_has_the_last_one),
        cmocka_unit_test(out_of_fold_rows_are_the_fitted_folds_own),
        cmocka_unit_test(the_test_score_is_what_the_artifact_predicts),
        cmocka_unit_test(a_refit_uses_all_rows_and_more_rounds),
        cmocka_unit_test(broken_checkpoints_are_refused),
        cmocka_unit_test(tiny_tables_give_a_score),
        cmocka_unit_test(the_memory_estimate_is_near_the_truth),
        cmocka_unit_test(defaults_are_good_on_real_tables),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
