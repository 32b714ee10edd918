/* test_family_ladder.c - studies that spend rounds or rows: the ladders have the paper's lengths and only grow, rounds go on
 * in place and equal a fit that was given so many, rows are nested, those left out are not looked at, and the top is the
 * family's own. */
#include "tests/ml/fit_rig.h"

#include "base/mem.h"
#include "ml/model/fold_rows.h"
#include "ml/model/model.h"
#include "ml/model/split.h"

#include <math.h>

static const struct {
    const char *family;
    enum ml_task task;
    int classes;
    enum metric_id metric;
} cases[] = {
    { "boost", ML_BINARY, 2, METRIC_AUC },
    { "boost", ML_REGRESSION, 0, METRIC_RMSE },
    { "linear", ML_REGRESSION, 0, METRIC_RMSE },
    { "linear", ML_MULTICLASS, 3, METRIC_LOGLOSS },
    { "forest", ML_MULTICLASS, 3, METRIC_LOGLOSS },
    { "extra_trees", ML_REGRESSION, 0, METRIC_RMSE },
};

static void params_of(const struct family *f, double *p)
{
    family_defaults(f, p);
    if (strcmp(f->name, "boost") == 0) {
        p[BOOST_LEARNING_RATE] = 0.09;
        p[BOOST_LEAVES] = 5;
        p[BOOST_ROUNDS] = 150;
    } else if (strcmp(f->name, "linear") != 0) {
        p[FOREST_TREES] = 6;
    }
}

static struct rig *rig_of(size_t i, int64_t rows)
{
    return rig_new(rig_mixed(cases[i].task, rows, cases[i].classes, 4 + i), cases[i].task,
                   cases[i].metric, 3);
}

static struct fit_trial *trial_of(struct rig *r, const struct family *f, const double *params,
                                  enum family_resource resource)
{
    struct err err = { 0 };
    struct fit_trial *t = fit_trial_open(r->d, f, params, 42, false, &err);

    if (!t)
        fail_msg("%s", err.text);
    fit_trial_spends(t, resource);
    return t;
}

static struct fit_result reach(struct fit_trial *t, int level)
{
    struct ml_stop never = { 0 };
    struct err err = { 0 };
    struct fit_result res = { 0 };

    if (fit_trial_advance(t, level, &never, &err) != 1 || fit_trial_result(t, &res, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(res.level, level);
    return res;
}

static void assert_same(const struct fit_result *a, const struct fit_result *b)
{
    assert_memory_equal(&a->score, &b->score, sizeof a->score);
    assert_memory_equal(&a->select, &b->select, sizeof a->select);
    assert_int_equal(a->steps, b->steps);
}

static void check_step(enum family_resource has, const struct family_plan *below,
                       const struct family_plan *plan, double rows)
{
    assert_true(plan->cap >= below->cap && plan->check_every == below->check_every);
    if (has == FR_ROUNDS) { /* in place, by the same points of the curve */
        assert_true(plan->key == below->key && plan->folds == 0 && plan->share == 0);
        assert_int_equal(below->cap % plan->check_every, 0);
    } else if (plan->share > 0) {
        assert_true(plan->share >= below->share && plan->share * rows >= 2999);
        assert_true((plan->key == below->key) == (plan->share == below->share));
    }
}

static void check_ladder(const struct family *f, const struct family_shape *s)
{
    struct family_plan plan = { 0 }, below = { 0 }, top;
    double params[FAMILY_MAX_PARAMS];
    enum family_resource has = family_resource_of(f, s);
    int n = family_levels(f, s);
    int64_t cost = 0;

    family_defaults(f, params);
    assert_int_equal(n, has == FR_ROUNDS ? 81 : has == FR_ROWS ? 27 : MAX(f->levels, 1));
    for (int l = 1; l <= n; l++, below = plan) {
        int64_t before = cost;
        cost = family_level_cost(f, s, params, 0, l);
        family_level_plan(f, s, params, l, &plan);
        assert_true(family_level_bytes(f, s, params, l) > 0 && cost >= 1);
        assert_true(family_level_cost(f, s, params, l, MIN(l + 1, n)) >= 1);
        if (has != FR_AUTO && l > 1) {
            assert_true(cost >= before);
            check_step(has, &below, &plan, (double)s->rows);
        }
    }
    f->plan(params, f->levels, &top);
    assert_true(plan.cap == top.cap && plan.folds == top.folds && plan.key == top.key &&
                plan.share == 0);
}

static void ladders_are_long_and_costs_and_memory_only_grow_on_them(void **state)
{
    const struct family *f;

    (void)state;
    for (int i = 0; (f = family_at(i)); i++) {
        for (int64_t rows = 500; rows <= 5000000; rows *= 10) {
            struct family_shape s = { .rows = rows,
                                      .columns = 20,
                                      .encoded = 30,
                                      .outputs = 3,
                                      .folds = 5,
                                      .task = FT_MULTICLASS };
            for (int r = 0; r < FR_KINDS; r++) {
                s.resource = (enum family_resource)r;
                check_ladder(f, &s);
            }
        }
    }
}

static void names_of_resources_are_found_and_others_are_not(void **state)
{
    (void)state;
    for (int r = 0; r < FR_KINDS; r++)
        assert_int_equal(family_resource_find(family_resource_name[r]), r);
    assert_int_equal(family_resource_find(""), FR_AUTO);
    assert_int_equal(family_resource_find("epochs"), -1);
}

static void so_many_rounds_equal_a_fit_that_may_have_no_more(void **state)
{
    static const int stops[] = { 1, 3, 9, 27, 81 };
    const struct family *f = family_find("boost");

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct rig *r = rig_of(i, 400);
        double params[FAMILY_MAX_PARAMS], capped[FAMILY_MAX_PARAMS];
        struct family_plan plan;
        params_of(f, params);
        struct fit_trial *t = trial_of(r, f, params, FR_ROUNDS);
        for (size_t k = 0; k < ARRAY_LEN(stops); k++) {
            struct family_shape s = {
                .rows = 400, .outputs = 1, .folds = 3, .resource = FR_ROUNDS
            };
            struct err err = { 0 };
            struct buf b;
            struct fit_result res = reach(t, stops[k]);
            family_level_plan(f, &s, params, stops[k], &plan);
            assert_true(res.steps <= plan.cap && (plan.cap < 150) == (stops[k] < 81));
            memcpy(capped, params, sizeof capped);
            capped[BOOST_ROUNDS] = (double)plan.cap;
            struct fit_trial *own = trial_of(r, f, capped, FR_AUTO);
            struct fit_result same = reach(own, f->levels);
            assert_same(&res, &same);
            fit_trial_close(own);
            /* Paused: the next level goes on elsewhere from the bytes. */
            buf_init(&b, 1 << 24);
            assert_int_equal(fit_trial_save(t, &b, &err), 0);
            struct view in = { (const uint8_t *)b.data, b.len, 0 };
            fit_trial_close(t);
            t = trial_of(r, f, params, FR_ROUNDS);
            assert_int_equal(fit_trial_load(t, &in, &err), 0);
            buf_fini(&b);
        }
        fit_trial_close(t);
        rig_free(r);
    }
}

static void rows_of_a_smaller_share_are_in_a_larger_and_make_up_that_share(void **state)
{
    struct rig *r = rig_of(0, 9000);
    int64_t last = 0;

    (void)state;
    for (int l = 1; l <= 27; l++) {
        double share = l < 27 ? (double)l / 27 : 0, whole = l < 27 ? share : 1;
        int64_t n = 0;
        for (int64_t i = 0; i < 9000; i++) {
            bool is_in = row_is_in_share(r->d, i, share);
            assert_true(l == 1 || is_in || !row_is_in_share(r->d, i, (double)(l - 1) / 27));
            n += is_in;
        }
        assert_true(n >= last && fabs((double)n - 9000 * whole) <= 5 * sqrt(9000 * whole));
        last = n;
    }
    assert_int_equal(last, 9000);
    rig_free(r);
}

/* Targets of the training rows that a level does not take go round; of those that it takes, when `taken`. */
static void shuffle_targets(struct ml_data *d, double share, bool taken)
{
    int64_t last = -1;

    for (int64_t i = 0; i < d->rows; i++) {
        if (d->fold[i] == 0 || row_is_in_share(d, i, share) != taken)
            continue;
        if (last >= 0) {
            double y = d->y[i];
            d->y[i] = d->y[last];
            d->y[last] = y;
        }
        last = i;
    }
}

static void rows_left_out_are_not_looked_at(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct family *f = family_find(cases[i].family);
        struct fit_result res[3];
        for (int k = 0; k < 3; k++) { /* as it is, others changed, its own changed */
            struct rig *r = rig_of(i, 4500);
            double params[FAMILY_MAX_PARAMS];
            params_of(f, params);
            if (k > 0)
                shuffle_targets(r->d, 20.0 / 27, k == 2);
            struct fit_trial *t = trial_of(r, f, params, FR_ROWS);
            assert_int_equal(fit_trial_levels(t), 27);
            res[k] = reach(t, 20);
            fit_trial_close(t);
            rig_free(r);
        }
        assert_same(&res[0], &res[1]);
        assert_true(res[0].score != res[2].score);
    }
}

static void the_top_is_the_familys_own_whatever_came_before(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct family *f = family_find(cases[i].family);
        struct rig *r = rig_of(i, 4000);
        double params[FAMILY_MAX_PARAMS];
        params_of(f, params);
        struct fit_trial *own = trial_of(r, f, params, FR_AUTO),
                         *rows = trial_of(r, f, params, FR_ROWS);
        struct fit_result want = reach(own, f->levels), low = reach(rows, 1), got;
        assert_true(low.score != want.score);
        (void)reach(rows, 21);
        got = reach(rows, 27);
        assert_same(&want, &got);
        fit_trial_close(own);
        fit_trial_close(rows);
        rig_free(r);
    }
}

static void a_small_table_has_all_its_rows_at_every_level(void **state)
{
    const struct family *f = family_find("boost");
    struct rig *r = rig_of(0, 300);
    double params[FAMILY_MAX_PARAMS];

    (void)state;
    params_of(f, params);
    struct fit_trial *t = trial_of(r, f, params, FR_ROWS), *own = trial_of(r, f, params, FR_AUTO);
    struct fit_result one = reach(t, 1), two = reach(t, 26), top = reach(t, 27),
                      want = reach(own, f->levels);
    assert_same(&one, &two); /* fold 0, once */
    assert_same(&top, &want);
    assert_true(one.score != top.score);
    fit_trial_close(t);
    fit_trial_close(own);
    rig_free(r);
}

static void a_cut_between_shares_has_the_last_one_and_ships_it(void **state)
{
    const struct family *f = family_find("boost");
    struct rig *r = rig_of(0, 4500);
    double params[FAMILY_MAX_PARAMS];
    struct rig_stop stop;
    struct err err = { 0 };
    struct buf b;

    (void)state;
    params_of(f, params);
    struct fit_trial *t = trial_of(r, f, params, FR_ROWS);
    struct fit_result before = reach(t, 1), after;
    rig_stop_init(&stop, 1, 2);
    stop.stop.deadline_us = 3;
    assert_int_equal(fit_trial_advance(t, 27, &stop.stop, &err), 0);
    assert_int_equal(fit_trial_cut(t, &err), 0);
    assert_int_equal(fit_trial_result(t, &after, &err), 0);
    assert_true(after.cut);
    assert_same(&before, &after);
    buf_init(&b, 1 << 24);
    assert_int_equal(fit_trial_artifact(t, &b, &err), 0);
    buf_fini(&b);
    fit_trial_close(t);
    rig_free(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ladders_are_long_and_costs_and_memory_only_grow_on_them),
        cmocka_unit_test(names_of_resources_are_found_and_others_are_not),
        cmocka_unit_test(so_many_rounds_equal_a_fit_that_may_have_no_more),
        cmocka_unit_test(rows_of_a_smaller_share_are_in_a_larger_and_make_up_that_share),
        cmocka_unit_test(rows_left_out_are_not_looked_at),
        cmocka_unit_test(the_top_is_the_familys_own_whatever_came_before),
        cmocka_unit_test(a_small_table_has_all_its_rows_at_every_level),
        cmocka_unit_test(a_cut_between_shares_has_the_last_one_and_ships_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
