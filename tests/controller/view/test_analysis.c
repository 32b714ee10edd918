/* test_analysis.c - what a study says of its trials: importance follows the cause of the scores and the trials that came
 * since, fronts are those of the leaderboard, and nothing of it is changed by restarts, errors or the lack of trials. */
#include "tests/rig.h"

#include "base/str.h"
#include "controller/view/analysis.h"

#include <event2/event.h>
#include <math.h>
#include <time.h>

#define STUDY(trials)                                                    \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':" #trials \
    "},'seed':7,'scheduler':'none','sampler':'random'}"
#define SPEC STUDY(60)
#define LONG STUDY(160)

static double num(const json_t *o, const char *key)
{
    return json_number_value(json_object_get(o, key));
}

static const char *text(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static json_t *importance(struct rig *r, const char *method)
{
    json_t *out = NULL;

    if (RIG_CALL(r, ctl_importance(r->ctl, "s", method, &out, &rig_err)) != 0)
        fail_msg("%s", rig_err.text);
    return out;
}

/* Boosting is better than the rest, and its learning rate decides how good it is. */
static double by_learning_rate(const char *config, int level)
{
    const char *at = strstr(config, "\"learning_rate\":");

    if (!strstr(config, "\"boost\"") || !at)
        return 0.5 + 0.01 * fake_score(config, level);
    return 0.9 - 0.1 * fabs(log10(strtod(at + strlen("\"learning_rate\":"), NULL)) + 1.2) +
           0.01 * fake_score(config, level);
}

static void run_with(struct rig *r, const char *spec, double (*score)(const char *, int))
{
    struct fake f;

    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);
    fake_open(&f, r, "s1", 4);
    f.score = score;
    for (int i = 0; i < 5000 && !study_is_final(rig_get(r, id)->row.state); i++) {
        if (f.n_trials == 0)
            (void)fake_ask(&f);
        for (int k = f.n_trials - 1; k >= 0; k--)
            (void)fake_step(&f, k);
        rig_pass(r, 1);
    }
    assert_true(study_is_final(rig_get(r, id)->row.state));
}

static void the_parameters_that_decide_come_first(void **state)
{
    struct rig r;

    (void)state;
    run_with(&r, LONG, by_learning_rate);
    for (int m = 0; m < ANALYSIS_METHODS; m++) {
        json_t *out = importance(&r, analysis_method_name[m]), *row = NULL;
        json_t *rows = json_object_get(out, "parameters");
        double sum = 0, last = 1;
        size_t i = 0;

        assert_string_equal(text(out, "method"), analysis_method_name[m]);
        assert_string_equal(text(out, "state"), "ready");
        const char *first = text(json_array_get(rows, 0), "name");
        bool is_family = strcmp(first, "family") == 0;
        assert_true(is_family || strcmp(first, "boost.learning_rate") == 0);
        if (m == ANALYSIS_FANOVA)
            assert_true(is_family);
        if (m == ANALYSIS_FANOVA || m == ANALYSIS_PED_ANOVA)
            assert_string_equal(text(json_array_get(rows, 1), "name"),
                                is_family ? "boost.learning_rate" : "family");
        json_array_foreach(rows, i, row)
        {
            double share = num(row, "importance");

            assert_true(share >= 0 && share <= last);
            assert_int_equal(str_starts(text(row, "name"), text(row, "family")), 1);
            sum += share;
            last = share;
        }
        assert_true(fabs(sum - 1) < 1e-9);
        assert_int_equal(json_is_number(json_object_get(out, "main_effects")), m == 1);
        json_decref(out);
    }
    rig_close(&r);
}

/* The same after a restart: nothing depends on when it was asked or in which order trials were read. */
static void a_restart_changes_no_importance(void **state)
{
    struct rig r;

    (void)state;
    run_with(&r, SPEC, fake_score);
    for (int m = 0; m < ANALYSIS_METHODS; m++) {
        json_t *a = importance(&r, analysis_method_name[m]), *b = NULL;

        rig_restart(&r);
        b = importance(&r, analysis_method_name[m]);
        assert_true(json_equal(a, b));
        json_decref(a);
        json_decref(b);
    }
    rig_close(&r);
}

static void importance_follows_the_trials_of_a_running_study(void **state)
{
    struct rig r;
    struct fake f;
    double seen = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    json_t *out = NULL;
    int64_t id = rig_study(&r, SPEC);
    out = importance(&r, NULL);
    assert_string_equal(text(out, "state"), "too_few");
    assert_int_equal(json_array_size(json_object_get(out, "parameters")), 0);
    json_decref(out);
    fake_open(&f, &r, "s1", 4);
    for (int i = 0; i < 2000 && !study_is_final(rig_get(&r, id)->row.state); i++) {
        if (f.n_trials == 0)
            (void)fake_ask(&f);
        for (int k = f.n_trials - 1; k >= 0; k--)
            (void)fake_step(&f, k);
        rig_pass(&r, 1);
        out = importance(&r, "ped_anova");
        assert_true(num(out, "trials") >= seen);
        assert_true(num(out, "trials") <= rig_get(&r, id)->n_board);
        seen = num(out, "trials");
        json_decref(out);
    }
    assert_true(seen >= 55); /* all but the baseline and what lies outside the space */
    rig_close(&r);
}

static void turns(struct loop *loop, int n)
{
    for (int i = 0; i < n; i++) {
        (void)event_base_loop(loop_base(loop), EVLOOP_ONCE | EVLOOP_NONBLOCK);
        struct timespec pause = { 0, 2000000 };
        (void)nanosleep(&pause, NULL);
    }
}

/* With a loop, rows come in slices and estimates from the pool; without one all is done at once. Both say the same. */
static void slices_and_the_pool_change_no_answer(void **state)
{
    struct rig r;
    struct loop *loop = NULL;
    int computing = 0;

    (void)state;
    run_with(&r, LONG, by_learning_rate);
    loop = loop_new(&r.clk, NULL);
    assert_non_null(loop);
    loop_pool_start(loop, 2);
    r.ctl->loop = loop;
    json_t *sliced[ANALYSIS_METHODS], *front = NULL;
    for (int m = 0; m < ANALYSIS_METHODS; m++) {
        sliced[m] = importance(&r, analysis_method_name[m]);
        for (int i = 0; i < 3000 && str_eq(text(sliced[m], "state"), "computing"); i++) {
            computing++;
            json_decref(sliced[m]);
            turns(loop, 2);
            sliced[m] = importance(&r, analysis_method_name[m]);
        }
    }
    assert_true(computing > 2);
    assert_int_equal(
        RIG_CALL(&r, ctl_pareto(r.ctl, "s", "predict_ns_row", "score", &front, &rig_err)), 0);
    assert_string_equal(text(front, "state"), "ready");
    rig_restart(&r); /* without a loop again */
    for (int m = 0; m < ANALYSIS_METHODS; m++) {
        json_t *at_once = importance(&r, analysis_method_name[m]);

        assert_true(json_equal(sliced[m], at_once));
        json_decref(sliced[m]);
        json_decref(at_once);
    }
    json_t *again = NULL;
    assert_int_equal(
        RIG_CALL(&r, ctl_pareto(r.ctl, "s", "predict_ns_row", "score", &again, &rig_err)), 0);
    assert_true(json_equal(front, again));
    json_decref(front);
    json_decref(again);
    loop_free(loop);
    rig_close(&r);
}

/* A study that goes while an estimate of it is made: what comes back is for nobody. */
static void an_estimate_for_a_study_that_is_gone_is_dropped(void **state)
{
    struct rig r;
    struct loop *loop = NULL;

    (void)state;
    run_with(&r, SPEC, fake_score);
    loop = loop_new(&r.clk, NULL);
    assert_non_null(loop);
    loop_pool_start(loop, 1);
    r.ctl->loop = loop;
    json_decref(importance(&r, "fanova"));
    assert_int_equal(RIG_CALL(&r, ctl_study_delete(r.ctl, "s", &rig_err)), 0);
    turns(loop, 100);
    int64_t id = rig_study(&r, SPEC);
    assert_null(rig_get(&r, id)->analysis);
    r.ctl->loop = NULL;
    rig_close(&r);
    loop_free(loop);
}

/* ---- fronts ---- */

static json_t *pareto(struct rig *r, const char *x, const char *y)
{
    json_t *out = NULL;

    if (RIG_CALL(r, ctl_pareto(r->ctl, "s", x, y, &out, &rig_err)) != 0)
        fail_msg("%s", rig_err.text);
    return out;
}

/* Larger is better; NaN = unknown. */
static double worth(const json_t *row, const char *fact)
{
    const json_t *v = json_object_get(row, fact);

    if (!json_is_number(v) || (!str_eq(fact, "score") && json_number_value(v) <= 0))
        return NAN;
    return str_eq(fact, "score") ? json_number_value(v) : -json_number_value(v);
}

static bool is_on_front(const json_t *all, const json_t *row, const char *x, const char *y)
{
    double a = worth(row, x), b = worth(row, y);
    json_t *other = NULL;
    size_t i = 0;

    if (isnan(a) || isnan(b))
        return false;
    json_array_foreach((json_t *)all, i, other)
    {
        double oa = worth(other, x), ob = worth(other, y);

        if (oa >= a && ob >= b && (oa > a || ob > b))
            return false;
    }
    return true;
}

static void fronts_are_what_the_leaderboard_says(void **state)
{
    struct rig r;
    json_t *board = NULL;

    (void)state;
    run_with(&r, SPEC, fake_score);
    assert_int_equal(RIG_CALL(&r, ctl_leaderboard(r.ctl, "s", 0, 1000, &board, &rig_err)), 0);
    const json_t *all = json_object_get(board, "rows");
    for (int x = 0; x < OBJ_VALUE_2; x++) {
        for (int y = 0; y < OBJ_VALUE_2; y++) {
            const char *nx = analysis_fact_name[x], *ny = analysis_fact_name[y];
            json_t *out = NULL, *row = NULL;
            size_t i = 0, want = 0;

            if (x == y)
                continue;
            out = pareto(&r, nx, ny);
            json_array_foreach((json_t *)all, i, row) want += is_on_front(all, row, nx, ny);
            assert_int_equal(json_array_size(json_object_get(out, "rows")), want);
            json_array_foreach(json_object_get(out, "rows"), i, row)
            {
                size_t rank = (size_t)num(row, "rank");

                assert_true(is_on_front(all, row, nx, ny));
                assert_true(json_equal(row, json_array_get(all, rank - 1)));
            }
            double volume = num(out, "volume");
            assert_true(volume >= 0 && volume <= 1);
            json_decref(out);
        }
    }
    json_decref(board);
    rig_close(&r);
}

static void bad_questions_get_one_clear_error(void **state)
{
    struct rig r;
    json_t *out = NULL;

    (void)state;
    run_with(&r, SPEC, fake_score);
#define FAILS(call, want, text_has)                      \
    do {                                                 \
        assert_int_equal(RIG_CALL(&r, call), -1);        \
        assert_int_equal(rig_err.code, want);            \
        assert_non_null(strstr(rig_err.text, text_has)); \
    } while (0)
    FAILS(ctl_importance(r.ctl, "s", "pedanova", &out, &rig_err), ERR_ARG, "ped_anova");
    FAILS(ctl_importance(r.ctl, "nobody", NULL, &out, &rig_err), ERR_NOTFOUND, "nobody");
    FAILS(ctl_pareto(r.ctl, "s", "fit_ms", NULL, &out, &rig_err), ERR_ARG, "fit_us");
    FAILS(ctl_pareto(r.ctl, "s", "score", "score", &out, &rig_err), ERR_ARG, "y");
    FAILS(ctl_pareto(r.ctl, "nobody", NULL, NULL, &out, &rig_err), ERR_NOTFOUND, "nobody");
#undef FAILS
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_parameters_that_decide_come_first),
        cmocka_unit_test(a_restart_changes_no_importance),
        cmocka_unit_test(importance_follows_the_trials_of_a_running_study),
        cmocka_unit_test(slices_and_the_pool_change_no_answer),
        cmocka_unit_test(an_estimate_for_a_study_that_is_gone_is_dropped),
        cmocka_unit_test(fronts_are_what_the_leaderboard_says),
        cmocka_unit_test(bad_questions_get_one_clear_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
