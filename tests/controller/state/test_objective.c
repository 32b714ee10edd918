/* test_objective.c - several objectives: the front is the one a plain comparison gives, the leaderboard marks it, its models
 * are kept, the sampler hears of costs, and what ranks by one number refuses. */
#include "tests/rig.h"

#include "base/rng.h"
#include "controller/state/objective.h"

#include <math.h>

#define BASE "'name':'s','dataset':'d','target':'y','seed':7,'validation':'kfold'"

static int64_t start(struct rig *r, const char *more)
{
    char spec[400];

    snprintf(spec, sizeof spec, "{" BASE ",%s}", more);
    rig_open(r);
    rig_dataset(r, "d");
    return rig_study(r, spec);
}

static json_t *rows_of(struct rig *r, int64_t id)
{
    json_t *board = NULL;
    char ref[30];

    snprintf(ref, sizeof ref, "%lld", (long long)id);
    assert_int_equal(RIG_CALL(r, ctl_leaderboard(r->ctl, ref, 0, 1000, &board, &rig_err)), 0);
    json_t *rows = json_incref(json_object_get(board, "rows"));
    json_decref(board);
    return rows;
}

static double cost(const json_t *row, const char *key)
{
    double v = json_number_value(json_object_get(row, key));

    assert_true(v > 0); /* every completed trial says what it costs */
    return v;
}

static bool beats(const json_t *a, const json_t *b, const char *const *costs, int n)
{
    double x = json_number_value(json_object_get(a, "score")),
           y = json_number_value(json_object_get(b, "score"));
    bool is_better = x > y;

    if (x < y)
        return false;
    for (int i = 0; i < n; i++) {
        if (cost(a, costs[i]) > cost(b, costs[i]))
            return false;
        is_better = is_better || cost(a, costs[i]) < cost(b, costs[i]);
    }
    return is_better;
}

static bool is_beaten(const json_t *rows, const json_t *row, const char *const *costs, int n)
{
    json_t *other = NULL;
    size_t i = 0;

    json_array_foreach((json_t *)rows, i, other)
    {
        if (beats(other, row, costs, n))
            return true;
    }
    return false;
}

static const struct {
    const char *spec;
    int n;
    const char *costs[3];
} cases[] = {
    { "'budget':{'trials':120},'objectives':['score','model_bytes']", 1, { "model_bytes" } },
    { "'budget':{'trials':120},'objectives':['auc','predict_time']", 1, { "predict_ns_row" } },
    { "'budget':{'trials':120},'objectives':['predict_time','auc','model_bytes'],'sampler':'random'",
      2,
      { "predict_ns_row", "model_bytes" } },
};

static void the_front_is_marked_and_its_models_are_kept(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        struct rig r;
        int64_t id = start(&r, cases[k].spec);
        json_t *rows = NULL, *row = NULL, *pareto = NULL;
        size_t i = 0, front = 0;

        rig_run(&r, id, 3, 5 + k, 60, 0);
        rows = rows_of(&r, id);
        assert_true(json_array_size(rows) > 100);
        json_array_foreach(rows, i, row)
        {
            bool is_front = !is_beaten(rows, row, cases[k].costs, cases[k].n);

            assert_int_equal(json_is_true(json_object_get(row, "front")), is_front);
            if (is_front)
                assert_true(json_is_true(json_object_get(row, "artifact")));
            front += is_front;
        }
        assert_true(front > 1 && front < json_array_size(rows));
        assert_int_equal(RIG_CALL(&r, ctl_pareto(r.ctl, "s", NULL, NULL, &pareto, &rig_err)), 0);
        assert_int_equal(json_array_size(json_object_get(pareto, "rows")), front);
        assert_int_equal(json_array_size(json_object_get(pareto, "facts")), cases[k].n + 1);
        json_array_foreach(json_object_get(pareto, "rows"), i, row)
            assert_false(is_beaten(rows, row, cases[k].costs, cases[k].n));
        json_decref(pareto);
        json_decref(rows);
        rig_close(&r);
    }
}

/* Costs that come with the results decide what is tried next, or the search is of one objective in truth. */
static void the_sampler_hears_of_costs(void **state)
{
    struct rig one, two;
    int64_t a = start(&one, "'budget':{'trials':60}"),
            b = start(&two, "'budget':{'trials':60},'objectives':['score','model_bytes'],"
                            "'scheduler':'none'");
    int differ = 0;

    (void)state;
    assert_string_equal(rig_get(&two, b)->problem.search.sampler, "tpe");
    assert_string_equal(rig_get(&two, b)->problem.search.scheduler, "none");
    rig_run(&one, a, 2, 1, 0, 0);
    rig_run(&two, b, 2, 1, 0, 0);
    for (int i = 0; i < 60; i++)
        differ += rig_get(&one, a)->trials[i].config != rig_get(&two, b)->trials[i].config;
    assert_true(differ > 10);
    rig_close(&one);
    rig_close(&two);
}

static void auto_searchers_suit_several_objectives(void **state)
{
    struct rig r;
    int64_t id = start(&r, "'budget':{'trials':60},'objectives':['score','fit_time']");
    const struct search_choice *c = &rig_get(&r, id)->problem.search;

    (void)state;
    assert_string_equal(c->sampler, "tpe");
    assert_string_equal(c->scheduler, "none");
    assert_non_null(strstr(c->scheduler_why, "objectives"));
    assert_false(rig_get(&r, id)->is_deterministic); /* seconds are not the same twice */
    rig_close(&r);
}

static void searchers_of_one_number_refuse_several_objectives(void **state)
{
    static const struct {
        const char *spec, *where, *text;
    } bad[] = {
        { "'sampler':'gp'", "sampler", "use tpe" },
        { "'sampler':'bohb'", "sampler", "use tpe" },
        { "'sampler':{'kind':'local'}", "sampler", "use tpe" },
        { "'scheduler':'asha'", "scheduler", "use none" },
        { "'scheduler':{'kind':'hyperband','eta':4}", "scheduler", "use none" },
        { "'scheduler':'median'", "scheduler", "use none" },
        { "'deterministic':true", "objectives[1]", "seconds" },
    };
    char text[400];
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(text, sizeof text,
                 "{" BASE ",'budget':{'trials':9},'objectives':['auc','predict_time'],%s}",
                 bad[i].spec);
        json_t *spec = rig_json(text), *out = NULL;
        assert_int_equal(RIG_CALL(&r, ctl_study_create(r.ctl, spec, "o", false, &out, &rig_err)),
                         -1);
        assert_int_equal(rig_err.code, ERR_ARG);
        assert_string_equal(rig_err.where, bad[i].where);
        assert_non_null(strstr(rig_err.text, bad[i].text));
        json_decref(spec);
    }
    rig_close(&r);
}

/* Worths and domination say the same of any two records, what is unknown included. */
static void domination_is_worth_compared(void **state)
{
    struct study st = { .spec = { .n_objectives = 3,
                                  .objectives = { OBJ_PREDICT_TIME, OBJ_SCORE, OBJ_FIT_TIME } } };
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 1);
    for (int round = 0; round < 2000; round++) {
        struct trial_mem t[2];
        double w[2][SPEC_MAX_OBJECTIVES];
        bool is_no_worse = true, is_better = false;

        for (int i = 0; i < 2; i++) {
            t[i] = (struct trial_mem){ .score = rng_below(&r, 3),
                                       .fit_us = rng_below(&r, 3),
                                       .predict_ns = rng_below(&r, 3) };
            objective_all(&st, &t[i], w[i]);
            assert_true(isnan(w[i][3]));
        }
        for (int k = 0; k < 3; k++) {
            double x = isnan(w[0][k]) ? -INFINITY : w[0][k],
                   y = isnan(w[1][k]) ? -INFINITY : w[1][k];

            is_no_worse = is_no_worse && x >= y;
            is_better = is_better || x > y;
        }
        assert_int_equal(objective_dominates(&st, &t[0], &t[1]), is_no_worse && is_better);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_front_is_marked_and_its_models_are_kept),
        cmocka_unit_test(the_sampler_hears_of_costs),
        cmocka_unit_test(auto_searchers_suit_several_objectives),
        cmocka_unit_test(searchers_of_one_number_refuse_several_objectives),
        cmocka_unit_test(domination_is_worth_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
