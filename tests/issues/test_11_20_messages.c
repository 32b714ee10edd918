/* test_11_20_messages.c - errors that left strangers without a way out, or sent them a wrong one (lr: "did you mean l1"). Each
 * row is a spec, the key that is wrong in it, and what the message must say. */
#include "tests/unit.h"

#include "controller/decide/searchers.h"
#include "controller/problem/space.h"
#include "proto/spec.h"
#include "proto/yaml.h"

#include "base/str.h"

#define BASE "dataset: d\ntarget: y\n"

/* As a controller would look at it before its table is known. */
static int check(const char *text, struct err *err)
{
    struct space_for need = { FT_ANY, "", false, false, true, NULL, false };
    struct study_space space = { 0 };
    struct spec spec;
    json_t *json = yamlx_load(text, strlen(text), "s.yaml", err), *v = NULL;
    struct config c;
    size_t i = 0;
    int rc = json ? spec_parse(&spec, json, err) : -1;

    json_decref(json);
    if (rc < 0)
        return -1;
    rc = searchers_check(&spec, false, err);
    if (rc == 0)
        rc = study_space_build(&space, spec.space, &need, err);
    if (rc == 0)
        study_space_fini(&space);
    json_array_foreach(spec.enqueue, i, v)
    {
        if (rc == 0)
            rc = config_parse(&c, v, "enqueue", NULL, err);
    }
    spec_fini(&spec);
    return rc;
}

struct row {
    const char *spec, *where, *says;
};

static void expect(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct err err = { 0 };
        char text[600];

        (void)snprintf(text, sizeof text, BASE "%s\n", rows[i].spec);
        if (check(text, &err) == 0)
            fail_msg("\"%s\" was taken", rows[i].spec);
        if (!strstr(err.text, rows[i].says) || (rows[i].where && !str_eq(err.where, rows[i].where)))
            fail_msg("\"%s\": at \"%s\": %s\n  wanted at \"%s\": %s", rows[i].spec, err.where,
                     err.text, rows[i].where ? rows[i].where : "", rows[i].says);
        for (const char *p = err.text; *p; p++)
            assert_true((unsigned char)*p >= ' ');
    }
}

static void parameters_by_the_names_of_other_libraries(void **state)
{
    static const struct row rows[] = {
        { "space: [{family: boost, lr: 0.1}]", "space[0].lr", "did you mean learning_rate?" },
        { "space: [{family: boost, eta: 0.1}]", "space[0].eta", "did you mean learning_rate?" },
        { "space: [{family: boost, leaf: 5}]", "space[0].leaf", "did you mean leaves?" },
        { "space: [{family: forest, leaf: 5}]", "space[0].leaf", "did you mean min_leaf?" },
        { "space: [{family: boost, num_leaves: 5}]", "space[0].num_leaves",
          "did you mean leaves?" },
        { "space: [{family: boost, n_estimators: 5}]", "space[0].n_estimators",
          "did you mean rounds?" },
        { "space: [{family: forest, n_estimators: 5}]", "space[0].n_estimators",
          "did you mean trees?" },
        { "space: [{family: boost, max_depth: 5}]", "space[0].max_depth", "did you mean depth?" },
        { "space: [{family: boost, min_child_weight: 5}]", "space[0].min_child_weight",
          "min_hessian?" },
        { "space: [{family: boost, subsample: 1}]", "space[0].subsample",
          "did you mean row_sample?" },
        { "space: [{family: boost, colsample_bytree: 1}]", "space[0].colsample_bytree",
          "col_sample?" },
        { "space: [{family: boost, reg_lambda: 1}]", "space[0].reg_lambda", "did you mean l2?" },
        { "space: [{family: boost, Learning-Rate: 1}]", "space[0].Learning-Rate",
          "learning_rate?" },
        { "space: [{family: linear, c: 1}]", "space[0].c", "did you mean C?" },
        { "space: [{family: boost, colour: 1}]", "space[0].colour",
          "it has learning_rate, rounds" },
        { "enqueue: [{family: boost, lr: 0.1}]", "enqueue.lr", "did you mean learning_rate?" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void families_are_listed(void **state)
{
    static const struct row rows[] = {
        { "space: [{family: random_forest}]", "space[0].family",
          "did you mean forest; there are baseline, linear, boost, forest, extra_trees" },
        { "space: [{family: RandomForest}]", "space[0].family", "did you mean forest" },
        { "space: [{family: lightgbm}]", "space[0].family", "did you mean boost" },
        { "space: [{family: XGBoost}]", "space[0].family", "did you mean boost" },
        { "space: [{family: logistic_regression}]", "space[0].family", "did you mean linear" },
        { "space: [{family: ExtraTrees}]", "space[0].family", "did you mean extra_trees" },
        { "space: [{family: svm}]", "space[0].family", "there are baseline, linear" },
        { "enqueue: [{family: rf}]", "enqueue.family", "did you mean forest" },
        { "space: [forest]", "space[0]", "write {family: forest}" },
        { "space: forest", "space", "write space: [{family: forest}]" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void words_in_any_case_and_by_other_names(void **state)
{
    static const struct row rows[] = {
        { "metric: roc_auc", "metric", "did you mean auc?" },
        { "metric: AUC", "metric", "did you mean auc?" },
        { "metric: RMSE", "metric", "did you mean rmse?" },
        { "metric: log_loss", "metric", "did you mean logloss?" },
        { "metric: cross-entropy", "metric", "did you mean logloss?" },
        { "metric: mse", "metric", "did you mean rmse?" },
        { "metric: f1_score", "metric", "did you mean f1?" },
        { "metric: zebra", "metric", "is not one of auto, auc, average_precision" },
        { "objectives: [ROC_AUC, predict_time]", "objectives[0]", "did you mean auc?" },
        { "objectives: [auc, latency]", "objectives[1]", "did you mean predict_time?" },
        { "task: classification", "task", "did you mean binary or multiclass?" },
        { "task: Regression", "task", "did you mean regression?" },
        { "validation: cv", "validation", "did you mean kfold?" },
        { "columns: {zip: category}", "columns.zip", "did you mean categorical?" },
        { "columns: {id: drop}", "columns.id", "did you mean ignore?" },
        { "resource: row", "resource", "did you mean rows?" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void values_in_the_shape_of_other_tools(void **state)
{
    static const struct row rows[] = {
        { "test: 0.2", "test", "write test: {fraction: 0.2}" },
        { "test: holdout.csv", "test", "test: {dataset: holdout.csv}" },
        { "validation: 5", "validation", "write validation: {kind: kfold, folds: 5}" },
        { "validation: 0.25", "validation", "write validation: {kind: holdout, fraction: 0.25}" },
        { "budget: 60s", "budget", "write budget: {time: 60s}" },
        { "budget: 200", "budget", "write budget: {trials: 200} or budget: {time: 200s}" },
        { "stop: 0.95", "stop", "write stop: {score: 0.95}" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void ranges_by_the_names_of_other_tools(void **state)
{
    static const struct {
        const char *kind, *says;
    } kinds[] = {
        { "loguniform", "did you mean log?" },
        { "log_uniform", "did you mean log?" },
        { "LogUniform", "did you mean log?" },
        { "randint", "did you mean int?" },
        { "categorical", "did you mean choice" },
        { "values", "did you mean choice?" },
        { "zebra", "{log: [..]}" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        char spec[200], where[120];
        struct row row = { spec, where, kinds[i].says };

        (void)snprintf(spec, sizeof spec,
                       "space: [{family: boost, learning_rate: {%s: [0.01, 0.1]}}]", kinds[i].kind);
        (void)snprintf(where, sizeof where, "space[0].learning_rate.%s", kinds[i].kind);
        expect(&row, 1);
    }
}

static void keys_find_what_was_meant(void **state)
{
    static const struct row rows[] = {
        { "stop: {no_gain: 5}", "stop.no_gain", "did you mean no_gain_trials?" },
        { "stop: {patience: 5}", "stop.patience", "did you mean no_gain_trials?" },
        { "time: 10m", "time", "did you mean budget: {time: 10m}?" },
        { "n_trials: 50", "n_trials", "did you mean budget: {trials: 100}?" },
        { "random_state: 1", "random_state", "did you mean seed?" },
        { "cv: 5", "cv", "did you mean validation: {kind: kfold, folds: 5}?" },
        { "models: []", "models", "did you mean space?" },
        { "budget: {timeout: 5s}", "budget.timeout", "did you mean time?" },
        { "budget: {n_trials: 5}", "budget.n_trials", "did you mean trials?" },
        { "validation: {kind: kfold, n_splits: 5}", "validation.n_splits", "did you mean folds?" },
        { "test: {size: 0.2}", "test.size", "did you mean fraction?" },
        { "zebra: 1", "zebra", "there are name, dataset, target" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void searchers_and_their_options(void **state)
{
    static const struct row rows[] = {
        { "sampler: {kind: tpe, n_startup_trials: 5}", "sampler.n_startup_trials",
          "none are taken here" },
        { "scheduler: {kind: median, n_startup_trials: 5}", "scheduler.n_startup_trials",
          "did you mean startup?" },
        { "scheduler: {kind: asha, reduction_factor: 3}", "scheduler.reduction_factor",
          "did you mean eta?" },
        { "scheduler: {kind: asha, grace_period: 3}", "scheduler.grace_period",
          "did you mean min_level?" },
        { "scheduler: {kind: asha, zebra: 3}", "scheduler.zebra", "there are eta, min_level" },
        { "sampler: bayesian", "sampler", "did you mean gp?" },
        { "sampler: TPE", "sampler", "did you mean tpe?" },
        { "sampler: zebra", "sampler", "there are auto, random" },
        { "scheduler: successive_halving", "scheduler", "did you mean sha?" },
        { "scheduler: HyperBand", "scheduler", "did you mean hyperband?" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void yaml_is_told_in_words(void **state)
{
    static const struct row rows[] = {
        { "budget:\n\ttrials: 5", NULL,
          "s.yaml: line 4, column 1: a tab: YAML is indented with spaces" },
        { "name: größe\nbudget:\n \ttrials: 5", NULL, "a tab: YAML is indented with spaces" },
        { "name: @home", NULL,
          "line 3, column 7: text that begins with this character needs quotes" },
        { "name: a: b", NULL, "needs quotes" },
        { "space: [{family: boost}", NULL, "closing ']' is missing" },
        { "space: [{family: boost]", NULL, "closing '}' is missing" },
        { "name: \"open", NULL, "a quote is not closed" },
    };

    (void)state;
    expect(rows, ARRAY_LEN(rows));
}

static void names_are_near_by_letters_case_and_parts(void **state)
{
    static const char *const names[] = { "learning_rate",  "l1",   "l2", "min_leaf",
                                         "no_gain_trials", "time", "auc" };
    static const struct {
        const char *s, *want;
    } cases[] = {
        { "lr", NULL },
        { "l3", NULL },
        { "AUC", "auc" },
        { "LearningRate", "learning_rate" },
        { "learning", "learning_rate" },
        { "leaf", "min_leaf" },
        { "no_gain", "no_gain_trials" },
        { "no-gain-trial", "no_gain_trials" },
        { "max_time", "time" },
        { "times", "time" },
        { "_", NULL },
        { "", NULL },
        { "no", NULL },
        { "zebra", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *got = str_nearest(cases[i].s, names, ARRAY_LEN(names));
        if (!str_eq(got, cases[i].want))
            fail_msg("%s: %s, not %s", cases[i].s, got ? got : "none",
                     cases[i].want ? cases[i].want : "none");
    }
}

static void lists_are_cut_at_a_name(void **state)
{
    static const char *const names[] = { "alpha", "beta", "gamma" };
    char out[40];

    (void)state;
    str_list(names, 3, out, sizeof out);
    assert_string_equal(out, "alpha, beta, gamma");
    str_list(names, 3, out, 18);
    assert_string_equal(out, "alpha, beta, ...");
    str_list(names, 0, out, sizeof out);
    assert_string_equal(out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_by_the_names_of_other_libraries),
        cmocka_unit_test(families_are_listed),
        cmocka_unit_test(words_in_any_case_and_by_other_names),
        cmocka_unit_test(values_in_the_shape_of_other_tools),
        cmocka_unit_test(ranges_by_the_names_of_other_tools),
        cmocka_unit_test(keys_find_what_was_meant),
        cmocka_unit_test(searchers_and_their_options),
        cmocka_unit_test(yaml_is_told_in_words),
        cmocka_unit_test(names_are_near_by_letters_case_and_parts),
        cmocka_unit_test(lists_are_cut_at_a_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
