/* spec_near.c - finds what a person probably meant by a key or a word that a spec does not have:
 * typing errors, names from other tools (n_trials, roc_auc), and values in the shape of other tools
 * (`test: 0.2`). Nothing here is accepted as input; it only chooses the words of the error. */
#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

#define TIME    "budget: {time: 10m}"
#define TRIALS  "budget: {trials: 100}"
#define FOLDS   "validation: {kind: kfold, folds: 5}"
#define HOLDOUT "validation: {kind: holdout, fraction: 0.2}"
#define TEST    "test: {fraction: 0.2}"
#define NO_GAIN "stop: {no_gain_trials: 50}"

/* Names from other tools, and the key of ours or, if one key is not enough, how to write it. */
static const struct str_alias root_keys[] = {
    { "timeout", TIME },
    { "time_limit", TIME },
    { "time_budget", TIME },
    { "max_time", TIME },
    { "max_runtime", TIME },
    { "trials", TRIALS },
    { "n_trials", TRIALS },
    { "max_trials", TRIALS },
    { "num_trials", TRIALS },
    { "max_evals", TRIALS },
    { "n_iter", TRIALS },
    { "folds", FOLDS },
    { "n_folds", FOLDS },
    { "n_splits", FOLDS },
    { "cv", FOLDS },
    { "cross_validation", FOLDS },
    { "holdout", HOLDOUT },
    { "valid", "validation" },
    { "test_size", TEST },
    { "test_fraction", TEST },
    { "test_data", "test: {dataset: NAME}" },
    { "early_stopping", NO_GAIN },
    { "patience", NO_GAIN },
    { "no_gain_trials", NO_GAIN },
    { "random_state", "seed" },
    { "random_seed", "seed" },
    { "label", "target" },
    { "y", "target" },
    { "class", "target" },
    { "outcome", "target" },
    { "response", "target" },
    { "data", "dataset" },
    { "file", "dataset" },
    { "path", "dataset" },
    { "table", "dataset" },
    { "csv", "dataset" },
    { "train", "dataset" },
    { "train_data", "dataset" },
    { "families", "space" },
    { "family", "space" },
    { "models", "space" },
    { "model", "space" },
    { "estimators", "space" },
    { "algorithms", "space" },
    { "search_space", "space" },
    { "parameters", "space" },
    { "params", "space" },
    { "hyperparameters", "space" },
    { "n_jobs", "parallel" },
    { "jobs", "parallel" },
    { "workers", "parallel" },
    { "concurrency", "parallel" },
    { "pruner", "scheduler" },
    { "searcher", "sampler" },
    { "optimizer", "sampler" },
    { "tuner", "sampler" },
    { "algorithm", "sampler" },
    { "strategy", "sampler" },
    { "scoring", "metric" },
    { "score", "metric" },
    { "eval_metric", "metric" },
    { "objective", "objectives" },
    { "monotone_constraints", "monotone" },
    { "monotonic", "monotone" },
    { "pos_label", "positive" },
    { "group", "groups" },
    { "group_column", "groups" },
    { "time_column", "time: {column: NAME}" },
    { "date_column", "time: {column: NAME}" },
    { "gap", "time: {column: NAME, gap: 7d}" },
    { "weight", "weights" },
    { "sample_weight", "weights" },
    { "positive_class", "positive" },
    { "problem_type", "task" },
    { "problem", "task" },
    { "dtypes", "columns" },
    { "types", "columns" },
    { "column_types", "columns" },
    { "title", "name" },
    { "initial", "enqueue" },
    { "initial_points", "enqueue" },
    { "points_to_evaluate", "enqueue" },
};
static const struct str_alias budget_keys[] = {
    { "timeout", "time" },      { "seconds", "time" },
    { "runtime", "time" },      { "evals", "trials" },
    { "iterations", "trials" }, { "memory", "trial_memory" },
    { "limit", "trials" },      { "max_memory", "trial_memory" },
};
static const struct str_alias stop_keys[] = {
    { "patience", "no_gain_trials" },
    { "early_stopping", "no_gain_trials" },
    { "n_iter_no_change", "no_gain_trials" },
    { "trials", "no_gain_trials" },
    { "threshold", "score" },
    { "target", "score" },
    { "value", "score" },
    { "goal", "score" },
};
static const struct str_alias validation_keys[] = {
    { "n_splits", "folds" },     { "k", "folds" },       { "cv", "folds" },
    { "test_size", "fraction" }, { "size", "fraction" }, { "share", "fraction" },
    { "ratio", "fraction" },     { "type", "kind" },     { "method", "kind" },
    { "strategy", "kind" },
};
static const struct str_alias test_keys[] = {
    { "size", "fraction" },  { "test_size", "fraction" }, { "ratio", "fraction" },
    { "share", "fraction" }, { "split", "fraction" },     { "file", "dataset" },
    { "path", "dataset" },   { "data", "dataset" },       { "table", "dataset" },
};
/* The objects of a spec that have lists of their own; keys of other objects are only compared with
 * the keys that are allowed there. */
static const struct {
    const char *path;
    const struct str_alias *aliases;
    size_t n;
} objects[] = {
    { "budget", budget_keys, ARRAY_LEN(budget_keys) },
    { "stop", stop_keys, ARRAY_LEN(stop_keys) },
    { "validation", validation_keys, ARRAY_LEN(validation_keys) },
    { "test", test_keys, ARRAY_LEN(test_keys) },
};

/* Words of other tools for values: metrics, tasks, kinds of validation and of columns,
 * objectives. */
static const struct str_alias words[] = {
    { "roc_auc", "auc" },
    { "roc", "auc" },
    { "auroc", "auc" },
    { "area_under_curve", "auc" },
    { "log_loss", "logloss" },
    { "cross_entropy", "logloss" },
    { "crossentropy", "logloss" },
    { "neg_log_loss", "logloss" },
    { "deviance", "logloss" },
    { "acc", "accuracy" },
    { "error_rate", "accuracy" },
    { "bacc", "balanced_accuracy" },
    { "f1_score", "f1" },
    { "map", "average_precision" },
    { "average_precision_score", "average_precision" },
    { "pr_auc", "average_precision" },
    { "auprc", "average_precision" },
    { "aucpr", "average_precision" },
    { "brier_score", "brier" },
    { "brier_score_loss", "brier" },
    { "matthews", "mcc" },
    { "matthews_corrcoef", "mcc" },
    { "kappa", "quadratic_kappa" },
    { "qwk", "quadratic_kappa" },
    { "cohen_kappa", "quadratic_kappa" },
    { "cohen_kappa_score", "quadratic_kappa" },
    { "mean_absolute_percentage_error", "mape" },
    { "root_mean_squared_log_error", "rmsle" },
    { "msle", "rmsle" },
    { "tweedie", "tweedie_deviance" },
    { "f_score", "f1" },
    { "mse", "rmse" },
    { "root_mean_squared_error", "rmse" },
    { "mean_squared_error", "rmse" },
    { "squared_error", "rmse" },
    { "rms", "rmse" },
    { "mean_absolute_error", "mae" },
    { "absolute_error", "mae" },
    { "r_squared", "r2" },
    { "r2_score", "r2" },
    { "poisson", "poisson_deviance" },
    { "quantile", "pinball_50" },
    { "pinball", "pinball_50" },
    { "median_absolute_error", "mae" },
    { "classification", "binary or multiclass" },
    { "classifier", "binary or multiclass" },
    { "regressor", "regression" },
    { "numbers", "regression" },
    { "cv", "kfold" },
    { "cross_validation", "kfold" },
    { "crossval", "kfold" },
    { "stratified", "kfold" },
    { "split", "holdout" },
    { "train_test_split", "holdout" },
    { "category", "categorical" },
    { "cat", "categorical" },
    { "factor", "categorical" },
    { "string", "categorical" },
    { "datetime", "date" },
    { "timestamp", "date" },
    { "tags", "list" },
    { "object", "categorical" },
    { "number", "numeric" },
    { "num", "numeric" },
    { "float", "numeric" },
    { "int", "numeric" },
    { "integer", "numeric" },
    { "drop", "ignore" },
    { "skip", "ignore" },
    { "exclude", "ignore" },
    { "id", "ignore" },
    { "up", "increasing" },
    { "down", "decreasing" },
    { "latency", "predict_time" },
    { "inference_time", "predict_time" },
    { "train_time", "fit_time" },
    { "size", "model_bytes" },
    { "model_size", "model_bytes" },
};

const char *spec_word_near(const char *word, const char *const *known, size_t n)
{
    return str_nearest_or(word, known, n, words, ARRAY_LEN(words));
}

/* The error for a key that the object at `path` does not have (NULL = the spec itself): names the
 * key that was probably meant, or else all keys. */
static int unknown_key(const char *path, const char *key, const char *const *keys, size_t n,
                       struct err *err)
{
    const struct str_alias *aliases = root_keys;
    size_t n_aliases = path ? 0 : ARRAY_LEN(root_keys);
    char where[120], list[300];

    for (size_t i = 0; path && i < ARRAY_LEN(objects); i++) {
        if (str_eq(path, objects[i].path)) {
            aliases = objects[i].aliases;
            n_aliases = objects[i].n;
        }
    }
    const char *near = str_nearest_or(key, keys, n, aliases, n_aliases);
    jsonx_path(where, sizeof where, path, key);
    if (near)
        return err_at(err, where, "unknown key; did you mean %s?", near);
    str_list(keys, n, list, sizeof list);
    return err_at(err, where, "unknown key; there are %s", list);
}

int spec_only(const json_t *o, const char *path, const char *const *keys, size_t n, struct err *err)
{
    const char *key = NULL;
    json_t *v = NULL;

    if (!json_is_object(o))
        return jsonx_only(o, path, keys, n, err);
    json_object_foreach((json_t *)o, key, v)
    {
        size_t i = 0;

        while (i < n && !str_eq(key, keys[i]))
            i++;
        if (i == n)
            return unknown_key(path, key, keys, n, err);
    }
    return 0;
}

/* A number as a person would write it: 0.2, 5. */
static const char *number(const json_t *v, char *out, size_t size)
{
    (void)snprintf(out, size, "%g", json_number_value(v));
    return out;
}

int spec_shape_check(const json_t *o, const char *key, struct err *err)
{
    const json_t *v = json_object_get(o, key);
    const char *text = json_string_value(v);
    double x = json_number_value(v);
    char n[40];

    if (!v || json_is_object(v) || json_is_null(v) || (text && strlen(text) > 200))
        return 0;
    if (str_eq(key, "test") && json_is_number(v))
        return err_at(err, key, "must be the text none or an object: write test: {fraction: %s}",
                      number(v, n, sizeof n));
    if (str_eq(key, "test") && text && !str_eq(text, "none"))
        return err_at(err, key, "\"%s\" is not none; a table is written test: {dataset: %s}", text,
                      text);
    if (str_eq(key, "validation") && json_is_number(v))
        return err_at(
            err, key,
            x < 1
                ? "must be text or an object, not a number: write validation: {kind: holdout, fraction: %s}"
                : "must be text or an object, not a number: write validation: {kind: kfold, folds: %s}",
            number(v, n, sizeof n));
    if (str_eq(key, "budget") && json_is_number(v))
        return err_at(err, key,
                      "must be an object: write budget: {trials: %s} or budget: {time: %ss}",
                      number(v, n, sizeof n), n);
    if (str_eq(key, "budget") && text)
        return err_at(err, key, "must be an object: write budget: {time: %s}", text);
    if (str_eq(key, "stop") && (json_is_number(v) || text))
        return err_at(err, key,
                      "must be an object: write stop: {score: 0.95} or stop: {no_gain_trials: 50}");
    if (str_eq(key, "space") && text && !str_eq(text, "auto"))
        return err_at(err, key, "must be auto or a list: write space: [{family: %s}]", text);
    return 0;
}
