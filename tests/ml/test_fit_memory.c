/* test_fit_memory.c - estimates of what a trial holds: what a level measured is right for the next one, what a trial says in
 * the middle of a level is near its end, promises are kept and used, and nothing is left of a trial that was shipped. */
#include "tests/ml/forest_rig.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/fit/fit.h"
#include "ml/model/model.h"
#include "ml/model/models.h"

#include <math.h>

static const char *const families[] = { "forest", "extra_trees", "boost" };

static struct fit_trial *trial_of(struct rig *r, const char *family, double *params)
{
    const struct family *f = family_find(family);
    struct err err = { 0 };

    family_defaults(f, params);
    if (f == family_find("boost")) {
        params[BOOST_ROUNDS] = 60;
        params[BOOST_LEARNING_RATE] = 0.1;
    } else {
        params[FOREST_TREES] = 16;
    }
    struct fit_trial *t = fit_trial_open(r->d, f, params, 1, false, &err);
    assert_non_null(t);
    return t;
}

static double near_of(double a, double b)
{
    return fabs(a / b - 1);
}

/* Purity is a matter of the labels: whatever the formula says of it, a fold and a quarter of the trees tell the rest. */
static void a_level_says_what_the_next_one_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(families); i++) {
        struct rig *r = forest_table(forest_tasks[i / ARRAY_LEN(families)], 2000, i);
        const char *family = families[i % ARRAY_LEN(families)];
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct fit_trial *t = trial_of(r, family, params);
        assert_true(fit_trial_forecast(t, 1, 0).growth == 0);
        int64_t blind = fit_trial_forecast(t, 2, 0).estimate;
        assert_int_equal(blind, fit_trial_forecast(t, 2, 1).estimate);
        assert_true(fit_trial_forecast(t, 2, 0.1).estimate < blind);
        assert_true(fit_trial_forecast(t, 2, 1).least < blind);
        assert_int_equal(fit_trial_advance(t, 1, NULL, &err), 1);
        double growth = fit_trial_forecast(t, 1, 0).growth;
        int64_t said =
            fit_trial_forecast(t, 2, 7).estimate; /* its own goes before what others took */
        assert_true(growth > 0);
        assert_int_equal(fit_trial_advance(t, 2, NULL, &err), 1);
        if (near_of(fit_trial_forecast(t, 1, 0).growth, growth) > 0.2)
            fail_msg("%s %zu: %.2f after %.2f", family, i, fit_trial_forecast(t, 1, 0).growth,
                     growth);
        if (near_of((double)said, (double)fit_trial_forecast(t, 2, 1).estimate) > 0.2)
            fail_msg("%s %zu: %.0f after %.0f", family, i,
                     (double)fit_trial_forecast(t, 2, 1).estimate, (double)said);
        fit_trial_close(t);
        rig_free(r);
    }
}

static int64_t ticks;
static int64_t tick(void *ctx)
{
    (void)ctx;
    return ++ticks;
}

static void its_own_first_trees_say_what_the_level_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * 2; i++) {
        struct rig *r = forest_table(forest_tasks[i / 2], 2000, i);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct fit_trial *t = trial_of(r, families[i % 2], params);
        struct ml_stop stop = { .now_us = tick, .deadline_us = 0 };
        int64_t first = 0;
        assert_int_equal(fit_trial_forecast(t, 2, 1).revised, 0);
        for (int rc = 0; rc == 0;) {
            stop.deadline_us = ticks + 20;
            rc = fit_trial_advance(t, 2, &stop, &err);
            assert_true(rc >= 0);
            if (rc == 0 && first == 0)
                first = fit_trial_forecast(t, 2, 1).revised;
        }
        assert_true(first > 0);
        if (near_of((double)first, (double)fit_trial_forecast(t, 2, 1).estimate) > 0.2)
            fail_msg("%s %zu: %.0f, at the end %.0f", families[i % 2], i, (double)first,
                     (double)fit_trial_forecast(t, 2, 1).estimate);
        fit_trial_close(t);
        rig_free(r);
    }
}

static void a_shipped_trial_holds_no_trees(void **state)
{
    struct rig *r = forest_table(ML_REGRESSION, 1000, 3);
    double params[FAMILY_MAX_PARAMS];
    struct err err = { 0 };
    struct buf out;

    (void)state;
    buf_init(&out, 1u << 28);
    struct fit_trial *t = trial_of(r, "forest", params);
    assert_int_equal(fit_trial_advance(t, 2, NULL, &err), 1);
    int64_t held = fit_trial_bytes(t), spare = fit_trial_spare_bytes(t);
    double growth = fit_trial_forecast(t, 1, 0).growth;
    assert_int_equal(fit_trial_ship(t, &out, &err), 0);
    assert_true(spare >= (int64_t)out.len / r->d->k_folds); /* a fold's file beside all lanes */
    assert_true(fit_trial_bytes(t) < held / 2);
    assert_int_equal(fit_trial_spare_bytes(t), 0);
    assert_true(fit_trial_forecast(t, 1, 0).growth == growth);
    fit_trial_close(t);
    buf_fini(&out);
    rig_free(r);
}

enum { HEAD_BYTES = 10000 }; /* of a model file, beside its models */

/* step: the most by which it grew from one question to the next. */
struct asker {
    const struct fit_trial *t;
    int64_t promise, seen, step;
};

static int64_t until_it_asks(void *ctx)
{
    struct asker *a = ctx;
    int64_t bytes = fit_trial_bytes(a->t);

    if (a->seen > 0 && bytes - a->seen > a->step)
        a->step = bytes - a->seen;
    a->seen = bytes;
    return bytes > a->promise ? 1 : 0;
}

/* Trains it like a worker; the promises of its own trees, each used but for a bit as it asks for the next. The last one is. */
static double trained_by_promises(struct fit_trial *t, int level, int *n, int64_t *step)
{
    struct asker a = { .t = t };
    struct ml_stop stop = { .now_us = until_it_asks, .ctx = &a, .deadline_us = 1 };
    struct err err = { 0 };

    for (int rc = 0; rc == 0; ++*n) {
        struct fit_forecast f = fit_trial_forecast(t, level, 0);
        a.promise = f.ask;
        assert_true(f.next >= f.ask);
        assert_true(*n < 200);
        assert_true(a.promise > fit_trial_bytes(t)); /* or it would never get on */
        rc = fit_trial_advance(t, level, &stop, &err);
        assert_true(rc >= 0);
        double used = (double)fit_trial_bytes(t) / (double)a.promise;
        if (rc == 0 && *n > 0 && (used < 1 || used > 1.1))
            fail_msg("promise %d of %.0f bytes: %.2f of it used", *n, (double)a.promise, used);
    }
    *step = a.step;
    return (double)a.promise;
}

static void what_it_was_promised_is_what_it_takes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(families); i++) {
        struct rig *r = forest_table(forest_tasks[i / ARRAY_LEN(families)], 1000, i);
        const char *family = families[i % ARRAY_LEN(families)];
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct fit_trial *t = trial_of(r, family, params), *whole = NULL;
        int64_t step = 0;
        int n = 0;
        fit_trial_close(t);
        if (params[FOREST_TREES] == 16)
            params[FOREST_TREES] = 40;
        t = fit_trial_open(r->d, family_find(family), params, 1, false, &err);
        whole = fit_trial_open(r->d, family_find(family), params, 1, false, &err);
        double last = trained_by_promises(t, 2, &n, &step), held = (double)fit_trial_bytes(t);
        /* it asks between rounds: the last one, too, ends before anyone could see that it took more */
        if (held > last + (double)step || held < last / 1.25)
            fail_msg("%s %zu: %.0f bytes after a promise of %.0f", family, i, held, last);
        assert_true(n > 1);
        assert_int_equal(fit_trial_advance(whole, 2, NULL, &err), 1);
        assert_int_equal(fit_trial_bytes(whole), fit_trial_bytes(t));
        fit_trial_close(whole);
        fit_trial_close(t);
        rig_free(r);
    }
}

/* Of forests on noise most is cut off before it is shipped. */
static void shipping_takes_what_is_said_of_it(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(forest_tasks) * ARRAY_LEN(families); i++) {
        struct rig *r = forest_table(forest_tasks[i / ARRAY_LEN(families)], 1000, i);
        const char *family = families[i % ARRAY_LEN(families)];
        const struct model_ops *ops = model_find(family);
        double params[FAMILY_MAX_PARAMS];
        struct err err = { 0 };
        struct buf out;
        struct fit_trial *t = trial_of(r, family, params);
        buf_init(&out, 1u << 28);
        assert_int_equal(fit_trial_advance(t, 2, NULL, &err), 1);
        double said = (double)fit_trial_ship_bytes(t), held = (double)fit_trial_bytes(t);
        int64_t most = fit_trial_file_bytes(t);
        assert_int_equal(fit_trial_ship(t, &out, &err), 0);
        assert_true((int64_t)out.len < most + HEAD_BYTES);
        double file = (double)out.len, folds = r->d->k_folds,
               loaded = file * (1 + ops->load_share / ops->file_share / folds),
               took = MAX(held + file / folds, (double)fit_trial_bytes(t) + loaded);
        if (near_of(said, took) > 0.2)
            fail_msg("%s %zu: %.0f bytes, not %.0f", family, i, took, said);
        fit_trial_close(t);
        buf_fini(&out);
        rig_free(r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_level_says_what_the_next_one_takes),
        cmocka_unit_test(its_own_first_trees_say_what_the_level_takes),
        cmocka_unit_test(what_it_was_promised_is_what_it_takes),
        cmocka_unit_test(shipping_takes_what_is_said_of_it),
        cmocka_unit_test(a_shipped_trial_holds_no_trees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
