/* test_spec.c - the search spec: every key lands in its field, what is written reads back the same, and each of a table of
 * bad specs gets one error with the path of the key. */
#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "proto/spec.h"
#include "proto/yaml.h"

#include <math.h>

static int parse(struct spec *s, const char *yaml, struct err *err)
{
    json_t *j = yamlx_load(yaml, strlen(yaml), "spec", err);

    if (!j)
        fail_msg("%s", err->text);
    int rc = spec_parse(s, j, err);
    json_decref(j);
    return rc;
}

static const char MINIMAL[] = "dataset: adult\ntarget: income\n";

static void two_keys_are_enough(void **state)
{
    struct err err = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(parse(&s, MINIMAL, &err), 0);
    assert_string_equal(s.name, "adult");
    assert_string_equal(s.dataset, "adult");
    assert_string_equal(s.target, "income");
    assert_int_equal(s.task, TASK_AUTO);
    assert_string_equal(s.metric, "");
    assert_int_equal(s.validation, VAL_AUTO);
    assert_int_equal(s.folds, 5);
    assert_true(s.holdout_fraction == 0.2);
    assert_int_equal(s.budget_time_ms, 600000);
    assert_int_equal(s.budget_trials, 0);
    assert_string_equal(s.sampler, "auto");
    assert_string_equal(s.scheduler, "auto");
    assert_int_equal(s.parallel, 0);
    assert_int_equal(s.seed, 0);
    assert_null(s.space);
    assert_null(s.columns);
    assert_false(spec_is_deterministic(&s));
    spec_fini(&s);
}

static void every_key_lands_in_its_field(void **state)
{
    struct err err = { 0 };
    struct spec s;
    int rc = parse(&s,
                   "name: my-study\ndataset: adult\ntarget: income\n"
                   "columns: {zip: categorical, id: ignore, age: numeric}\n"
                   "positive: '>50K'\ntask: binary\nmetric: logloss\n"
                   "validation: {kind: holdout, fraction: 0.3}\ntest: {fraction: 0.25}\n"
                   "budget: {time: 90s, trials: 500, trial_time: 1500ms, trial_memory: 8GiB}\n"
                   "stop: {score: 0.95, no_gain_trials: 100}\npriority: -3\n"
                   "sampler: {kind: tpe, startup: 20}\nscheduler: {kind: hyperband, eta: 3}\n"
                   "seed: 9007199254740992\ndeterministic: false\nparallel: 8\nresource: rows\n"
                   "space:\n  - {family: boost, rounds: 2000}\n  - {family: linear}\n"
                   "enqueue:\n  - {family: boost, leaves: 31}\n",
                   &err);

    (void)state;
    if (rc < 0)
        fail_msg("%s", err.text);
    assert_string_equal(s.name, "my-study");
    assert_int_equal(json_object_size(s.columns), 3);
    assert_string_equal(s.positive, ">50K");
    assert_int_equal(s.task, TASK_BINARY);
    assert_string_equal(s.metric, "logloss");
    assert_int_equal(s.validation, VAL_HOLDOUT);
    assert_true(s.holdout_fraction == 0.3);
    assert_true(s.test_fraction == 0.25);
    assert_int_equal(s.budget_time_ms, 90000);
    assert_int_equal(s.budget_trials, 500);
    assert_int_equal(s.trial_time_ms, 1500);
    assert_int_equal(s.trial_memory_bytes, INT64_C(8) << 30);
    assert_true(s.has_stop_score && s.stop_score == 0.95);
    assert_int_equal(s.stop_no_gain_trials, 100);
    assert_int_equal(s.priority, -3);
    assert_string_equal(s.sampler, "tpe");
    assert_int_equal(json_integer_value(json_object_get(s.sampler_options, "startup")), 20);
    assert_string_equal(s.scheduler, "hyperband");
    assert_int_equal(json_object_size(s.scheduler_options), 1);
    assert_int_equal(s.seed, INT64_C(1) << 53);
    assert_int_equal(s.deterministic, TRI_OFF);
    assert_int_equal(s.parallel, 8);
    assert_int_equal(s.resource, RES_ROWS);
    assert_int_equal(json_array_size(s.space), 2);
    assert_int_equal(json_array_size(s.enqueue), 1);
    spec_fini(&s);
    spec_fini(&s); /* twice is legal */
}

static void words_and_objects_mean_the_same(void **state)
{
    static const struct {
        const char *a, *b;
    } pairs[] = {
        { "validation: kfold", "validation: {kind: kfold, folds: 5}" },
        { "validation: holdout", "validation: {kind: holdout, fraction: 0.2}" },
        { "validation: auto", "validation: {kind: auto}" },
        { "validation: auto", "validation: {}" },
        { "validation: auto", "validation: null" },
        { "test: none", "test: null" },
        { "sampler: tpe", "sampler: {kind: tpe}" },
        { "budget: {time: 10m}", "budget: {time: 600}" },
        { "budget: {time: 0.5}", "budget: {time: 500ms}" },
        { "budget: {trials: 3, time: 0}", "budget: {trials: 3}" },
        { "budget: {trials: 3, trial_memory: 1024}", "budget: {trials: 3, trial_memory: 1KiB}" },
        { "budget: {}", "budget: {time: 10m}" },
        { "space: auto", "space: null" },
        { "parallel: auto", "" },
        { "deterministic: auto", "" },
        { "metric: auto", "" },
        { "objectives: [auc]", "metric: auc" },
        { "objectives: [score]", "" },
        { "objectives: [{metric: auc}, {metric: predict_time}]",
          "metric: auc\nobjectives: [score, predict_time]" },
        { "metric: auc\nobjectives: [model_bytes, auc]", "objectives: [model_bytes, auc]" },
        { "task: auto", "" },
        { "columns: {}", "" },
        { "stop: {}", "" },
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct spec a, b;
        struct err err = { 0 };
        (void)snprintf(text, sizeof text, "%s%s", MINIMAL, pairs[i].a);
        if (parse(&a, text, &err) < 0)
            fail_msg("%s: %s", pairs[i].a, err.text);
        (void)snprintf(text, sizeof text, "%s%s", MINIMAL, pairs[i].b);
        if (parse(&b, text, &err) < 0)
            fail_msg("%s: %s", pairs[i].b, err.text);
        json_t *x = spec_json_new(&a), *y = spec_json_new(&b);
        if (!json_equal(x, y))
            fail_msg("%s is not %s", pairs[i].a, pairs[i].b);
        json_decref(x);
        json_decref(y);
        spec_fini(&a);
        spec_fini(&b);
    }
}

static void determinism_follows_the_budget(void **state)
{
    static const struct {
        const char *extra;
        bool want;
    } cases[] = {
        { "budget: {trials: 10}", true },
        { "budget: {time: 10s}", false },
        { "budget: {trials: 10, time: 10s}", false },
        { "budget: {trials: 10, trial_time: 5s}", false },
        { "budget: {trials: 10}\ndeterministic: false", false },
        { "budget: {trials: 10}\ndeterministic: true", true },
        { "budget: {trials: 10}\nobjectives: [auc, model_bytes]", true },
        { "budget: {trials: 10}\nobjectives: [auc, model_bytes, predict_time]", false },
        { "budget: {trials: 10}\nobjectives: [fit_time, score]", false },
    };
    char text[300];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        struct spec s;
        (void)snprintf(text, sizeof text, "%s%s", MINIMAL, cases[i].extra);
        assert_int_equal(parse(&s, text, &err), 0);
        assert_int_equal(spec_is_deterministic(&s), cases[i].want);
        spec_fini(&s);
    }
}

/* ---- there and back ---- */

static void random_searcher(struct rng *r, char *kind, json_t **options)
{
    str_copy(kind, 32, rng_below(r, 2) ? "tpe" : "random");
    if (rng_below(r, 2))
        *options = json_pack("{s:i,s:f}", "a", (int)rng_below(r, 9), "b", rng_unit(r));
}

static void random_limits(struct rng *r, struct spec *s)
{
    s->budget_trials = 1 + rng_below(r, 1000);
    s->budget_time_ms = rng_below(r, 2) ? 0 : 1 + rng_below(r, 1u << 30);
    s->trial_time_ms = rng_below(r, 2) ? 0 : 1 + rng_below(r, 1u << 30);
    s->trial_memory_bytes = rng_below(r, 2) ? 0 : (int64_t)(rng_u64(r) >> 1);
    s->has_stop_score = rng_below(r, 2);
    s->stop_score = s->has_stop_score ? rng_normal(r) : 0;
    s->stop_no_gain_trials = (int64_t)rng_below(r, 4) - 1;
    s->deterministic = (enum spec_tri)rng_below(r, 3);
    if (s->deterministic == TRI_ON)
        s->budget_time_ms = s->trial_time_ms = 0;
}

static void random_spec(struct rng *r, struct spec *s)
{
    spec_init(s);
    str_copy(s->name, sizeof s->name, "n-1");
    str_copy(s->dataset, sizeof s->dataset, "data.v2");
    str_copy(s->target, sizeof s->target, "the \"target\" ü");
    if (rng_below(r, 2))
        s->columns = json_pack("{s:s,s:s}", "a", "ignore", "b.c", "numeric");
    s->task = (enum spec_task)rng_below(r, 4);
    if (s->task != TASK_MULTICLASS && rng_below(r, 2))
        s->monotone = json_pack("{s:s,s:s}", "a", "increasing", "b.c", "decreasing");
    uint32_t by = rng_below(r, 3);
    if (by == 1) {
        str_copy(s->groups, sizeof s->groups, "who");
        s->groups_are_input = rng_below(r, 2);
    } else if (by == 2) {
        str_copy(s->time_column, sizeof s->time_column, "when");
        s->time_gap = rng_below(r, 2) ? 0 : rng_unit(r) * 1e6;
        s->time_is_input = rng_below(r, 2);
    }
    if (rng_below(r, 2))
        str_copy(s->weights, sizeof s->weights, "w");
    if (s->task != TASK_REGRESSION && rng_below(r, 2))
        str_copy(s->positive, sizeof s->positive, "yes");
    if (rng_below(r, 2))
        str_copy(s->metric, sizeof s->metric, s->task == TASK_REGRESSION ? "mae" : "f1");
    s->validation = (enum spec_validation)rng_below(r, 3);
    if (s->validation == VAL_KFOLD)
        s->folds = 2 + (int)rng_below(r, 19);
    if (s->validation == VAL_HOLDOUT)
        s->holdout_fraction = 0.01 + rng_unit(r) * 0.49;
    uint32_t test = rng_below(r, 3);
    if (test == 1)
        str_copy(s->test_dataset, sizeof s->test_dataset, "held");
    if (test == 2)
        s->test_fraction = 0.01 + rng_unit(r) * 0.8;
    random_limits(r, s);
    s->priority = (int)rng_below(r, 2001) - 1000;
    random_searcher(r, s->sampler, &s->sampler_options);
    random_searcher(r, s->scheduler, &s->scheduler_options);
    s->seed = rng_u64(r) >> 11;
    s->parallel = (int)rng_below(r, 4097);
    s->resource = (enum spec_resource)rng_below(r, 3);
    if (rng_below(r, 2))
        s->space = json_pack("[{s:s,s:{s:[f,f]}}]", "family", "boost", "lr", "log", 0.1, 0.5);
    if (rng_below(r, 2))
        s->enqueue = json_pack("[{s:s}]", "family", "linear");
    if (rng_below(r, 2))
        str_copy(s->warm_start, sizeof s->warm_start, rng_below(r, 2) ? "earlier.one" : "17");
}

static void columns_that_divide_or_weigh_rows_are_read(void **state)
{
    struct err err = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(
        parse(&s, "dataset: d\ntarget: t\ntime: {column: day, gap: 7d}\nweights: w\n", &err), 0);
    assert_string_equal(s.time_column, "day");
    assert_true(s.time_gap == 7 * 86400);
    assert_true(s.time_is_input);
    assert_string_equal(s.weights, "w");
    spec_fini(&s);
    assert_int_equal(parse(&s, "dataset: d\ntarget: t\ntime: day\n", &err), 0);
    assert_true(s.time_gap == 0 && s.time_is_input);
    spec_fini(&s);
    assert_int_equal(parse(&s, "dataset: d\ntarget: t\ngroups: who\n", &err), 0);
    assert_string_equal(s.groups, "who");
    assert_false(s.groups_are_input);
    spec_fini(&s);
}

static void what_is_written_reads_back_the_same(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 7);
    for (int round = 0; round < 500; round++) {
        struct err err = { 0 };
        struct spec a, b;
        random_spec(&r, &a);
        json_t *x = spec_json_new(&a);
        char *text = jsonx_dump(x);
        json_t *wire = jsonx_load(text, strlen(text), "wire", &err);
        if (spec_parse(&b, wire, &err) < 0)
            fail_msg("%s: %s", text, err.text);
        json_t *y = spec_json_new(&b);
        assert_true(json_equal(x, y));
        assert_int_equal(a.seed, b.seed);
        assert_int_equal(a.budget_time_ms, b.budget_time_ms);
        assert_int_equal(a.trial_memory_bytes, b.trial_memory_bytes);
        assert_true(a.holdout_fraction == b.holdout_fraction && a.test_fraction == b.test_fraction);
        assert_true(a.stop_score == b.stop_score && a.has_stop_score == b.has_stop_score);
        assert_int_equal(spec_is_deterministic(&a), spec_is_deterministic(&b));
        json_decref(x);
        json_decref(y);
        json_decref(wire);
        mem_free(text);
        spec_fini(&a);
        spec_fini(&b);
    }
}

static void a_dataset_given_by_hash_names_the_study_by_its_start(void **state)
{
    struct err err = { 0 };
    struct spec s;

    (void)state;
    assert_int_equal(
        parse(&s,
              "dataset: 0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\n"
              "target: y\n",
              &err),
        0);
    assert_string_equal(s.name, "study-0123456789ab");
    spec_fini(&s);
}

/* ---- bad ones ---- */

static const struct {
    const char *extra, *where, *text; /* added to MINIMAL; text: a part of the message */
} bad_specs[] = {
    { "nme: x", "nme", "did you mean name" },
    { "budget: {tiem: 10m}", "budget.tiem", "did you mean time" },
    { "validation: {kind: kfold, fold: 3}", "validation.fold", "folds" },
    { "test: {fractoin: 0.2}", "test.fractoin", "fraction" },
    { "stop: {scor: 1}", "stop.scor", "score" },
    { "zebra: 1", "zebra", "unknown key" },
    { "name: '../x'", "name", "cannot be a name" },
    { "name: ''", "name", "cannot be a name" },
    { "name: 7", "name", "text" },
    { "positive: [a]", "positive", "text" },
    { "monotone: [a]", "monotone", "object" },
    { "monotone: {age: up}", "monotone.age", "increasing" },
    { "monotone: {age: 1}", "monotone.age", "" },
    { "monotone: {age: null}", "monotone.age", "increasing" },
    { "monotone: {income: increasing}", "monotone.income", "target" },
    { "monotone: {age: increasing}\ntask: multiclass", "monotone", "multiclass" },
    { "groups: income", "groups", "target" },
    { "groups: ''", "groups", "name of a column" },
    { "groups: 7", "groups", "{column: NAME, ...}" },
    { "groups: {colum: a}", "groups.colum", "column" },
    { "groups: {input: true}", "groups.column", "required" },
    { "groups: {column: a, input: 1}", "groups.input", "true or false" },
    { "groups: a\ntime: b", "groups", "cannot be used together with time" },
    { "columns: {a: ignore}\ngroups: a", "groups", "ignored" },
    { "time: {column: income}", "time.column", "target" },
    { "time: {column: a, gap: -1}", "time.gap", "from 0" },
    { "time: {column: a, gap: week}", "time.gap", "" },
    { "time: {column: a, gap: [1]}", "time.gap", "duration" },
    { "weights: {column: a}", "weights", "name of a column" },
    { "groups: a\nweights: a", "weights", "already the column of groups" },
    { "sample_weight: a", "sample_weight", "weights" },
    { "positive: yes\ntask: regression", "positive", "regression" },
    { "columns: [a]", "columns", "object" },
    { "columns: {a: number}", "columns.a", "numeric" },
    { "columns: {a: null}", "columns.a", "numeric" },
    { "columns: {a: 1}", "columns.a", "text" },
    { "columns: {income: ignore}", "columns", "target" },
    { "task: clasification", "task", "multiclass" },
    { "task: [binary]", "task", "text" },
    { "metric: acuracy", "metric", "accuracy" },
    { "metric: 7", "metric", "text" },
    { "metric: auc\ntask: regression", "metric", "regression" },
    { "metric: rmse\ntask: binary", "metric", "binary" },
    { "objectives: auc", "objectives", "list" },
    { "objectives: []", "objectives", "one must be the metric" },
    { "objectives: [predict_time, model_bytes]", "objectives", "one must be the metric" },
    { "objectives: [auc, prdict_time]", "objectives[1]", "did you mean predict_time" },
    { "objectives: [auc, auc]", "objectives[1]", "twice" },
    { "objectives: [auc, logloss]", "objectives[1]", "the metric, which is auc" },
    { "metric: auc\nobjectives: [accuracy, fit_time]", "objectives[0]",
      "the metric, which is auc" },
    { "task: regression\nobjectives: [auc, fit_time]", "objectives[0]", "regression" },
    { "objectives: [auc, 7]", "objectives[1]", "word" },
    { "objectives: [{name: auc}]", "objectives[0].name", "unknown key" },
    { "objectives: [{}]", "objectives[0].metric", "required" },
    { "objectives: [auc, fit_time, predict_time, model_bytes, score]", "objectives", "4" },
    { "objectives: [auc, predict_time]\nbudget: {trials: 5}\ndeterministic: true", "objectives[1]",
      "seconds" },
    { "validation: cv", "validation", "kfold" },
    { "validation: 5", "validation", "text" },
    { "validation: {kind: kfold, folds: 1}", "validation.folds", "2" },
    { "validation: {kind: kfold, folds: 21}", "validation.folds", "20" },
    { "validation: {kind: kfold, folds: 2.5}", "validation.folds", "whole" },
    { "validation: {folds: 5}", "validation.folds", "kfold" },
    { "validation: {kind: kfold, fraction: 0.2}", "validation.fraction", "holdout" },
    { "validation: {kind: holdout, fraction: 0}", "validation.fraction", "0.01" },
    { "validation: {kind: holdout, fraction: 0.6}", "validation.fraction", "0.5" },
    { "validation: {kind: holdout, fraction: x}", "validation.fraction", "number" },
    { "validation: {kind: 7}", "validation.kind", "text" },
    { "test: some", "test", "none" },
    { "test: 0.25", "test", "text" },
    { "test: {}", "test", "needs" },
    { "test: {fraction: 1}", "test.fraction", "0.9" },
    { "test: {fraction: -0.1}", "test.fraction", "0.01" },
    { "test: {dataset: a b}", "test.dataset", "cannot be a name" },
    { "test: {dataset: d, fraction: 0.2}", "test", "not both" },
    { "budget: 10m", "budget", "object" },
    { "budget: {time: ten}", "budget.time", "duration" },
    { "budget: {time: -1}", "budget.time", "year" },
    { "budget: {time: 1e12}", "budget.time", "year" },
    { "budget: {time: 9999999d}", "budget.time", "" },
    { "budget: {time: [1]}", "budget.time", "duration" },
    { "budget: {trials: -1}", "budget.trials", "0" },
    { "budget: {trials: 1.5}", "budget.trials", "whole" },
    { "budget: {trials: '5'}", "budget.trials", "whole" },
    { "budget: {trial_memory: 8 elephants}", "budget.trial_memory", "size" },
    { "budget: {trial_memory: -1}", "budget.trial_memory", "0" },
    { "budget: {trial_memory: true}", "budget.trial_memory", "whole" },
    { "stop: {score: high}", "stop.score", "number" },
    { "stop: {no_gain_trials: -1}", "stop.no_gain_trials", "0" },
    { "stop: 3", "stop", "object" },
    { "priority: 1001", "priority", "1000" },
    { "sampler: 7", "sampler", "must be a name or {kind" },
    { "warm_start: 0", "warm_start", "1" },
    { "warm_start: [a]", "warm_start", "text" },
    { "warm_start: \"a b\"", "warm_start", "cannot be a name" },
    { "sampler: {startup: 3}", "sampler.kind", "required" },
    { "sampler: {kind: tpe, startup: many}", "sampler.startup", "number" },
    { "resource: epochs", "resource", "rounds" },
    { "resource: {kind: rows}", "resource", "" },
    { "scheduler: {kind: [a]}", "scheduler.kind", "text" },
    { "scheduler: {kind: a, b: {c: 1}}", "scheduler.b", "number" },
    { "seed: -1", "seed", "0" },
    { "seed: 9007199254740993", "seed", "9007199254740992" },
    { "seed: abc", "seed", "whole" },
    { "deterministic: maybe", "deterministic", "auto" },
    { "deterministic: 1", "deterministic", "auto" },
    { "deterministic: true\nbudget: {time: 10s}", "deterministic", "seconds" },
    { "deterministic: true\nbudget: {trials: 5, trial_time: 1s}", "deterministic", "seconds" },
    { "deterministic: true", "deterministic", "budget.trials" },
    { "parallel: 0", "parallel", "1" },
    { "parallel: 5000", "parallel", "4096" },
    { "parallel: many", "parallel", "whole" },
    { "space: all", "space", "list" },
    { "space: {}", "space", "list" },
    { "space: []", "space", "empty" },
    { "space: [boost]", "space[0]", "object" },
    { "space: [{family: boost}, {rounds: 7}]", "space[1].family", "required" },
    { "space: [{family: 7}]", "space[0].family", "text" },
    { "enqueue: [7]", "enqueue[0]", "object" },
    { "enqueue: []", "enqueue", "empty" },
    { "enqueue: yes", "enqueue", "list" },
};

static void bad_specs_get_one_error_with_the_path(void **state)
{
    char text[400];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad_specs); i++) {
        struct err err = { 0 };
        struct spec s;
        (void)snprintf(text, sizeof text, "%s%s", MINIMAL, bad_specs[i].extra);
        if (parse(&s, text, &err) == 0)
            fail_msg("accepted: %s", bad_specs[i].extra);
        assert_int_equal(err.code, ERR_ARG);
        if (!str_eq(err.where, bad_specs[i].where))
            fail_msg("%s: at \"%s\"", bad_specs[i].extra, err.where);
        if (!strstr(err.text, bad_specs[i].text))
            fail_msg("%s: says \"%s\"", bad_specs[i].extra, err.text);
    }
}

static void a_spec_needs_dataset_and_target(void **state)
{
    static const struct {
        const char *text, *where;
    } cases[] = {
        { "[]", "" },
        { "7", "" },
        { "null", "" },
        { "{}", "dataset" },
        { "target: y", "dataset" },
        { "dataset: d", "target" },
        { "dataset: d\ntarget: ''", "target" },
        { "dataset: a/b.csv\ntarget: y", "dataset" },
        { "dataset: null\ntarget: y", "dataset" },
        { "dataset: d\ntarget: 7", "target" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        struct spec s;
        if (parse(&s, cases[i].text, &err) == 0)
            fail_msg("accepted: %s", cases[i].text);
        if (!str_eq(err.where, cases[i].where))
            fail_msg("%s: at \"%s\"", cases[i].text, err.where);
    }
}

static void objectives_and_constraints_of_an_own_space_come_back(void **state)
{
    static const char text[] =
        "{\"space\":{\"x\":[0,1]},\"goal\":\"maximize\",\"budget\":{\"trials\":3},"
        "\"objectives\":[\"a\",{\"metric\":\"b\",\"goal\":\"minimize\"}],"
        "\"constraints\":[\"x < 0.5\"]}";
    json_t *given = json_loads(text, 0, NULL);
    struct spec s, again;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(spec_parse(&s, given, &err), 0);
    assert_int_equal(s.n_objectives, 2);
    assert_int_equal(s.objectives[0], OBJ_SCORE);
    assert_int_equal(s.objectives[1], OBJ_VALUE_2);
    assert_string_equal(s.metric, "a");
    assert_true(s.larger_is_better && s.objective_larger[0] && !s.objective_larger[1]);
    json_t *written = spec_json_new(&s);
    assert_int_equal(spec_parse(&again, written, &err), 0);
    json_t *twice = spec_json_new(&again);
    assert_true(json_equal(written, twice));
    assert_int_equal(json_array_size(json_object_get(twice, "constraints")), 1);
    json_decref(twice);
    json_decref(written);
    json_decref(given);
    spec_fini(&again);
    spec_fini(&s);
}

static void wrong_objectives_of_an_own_space_name_the_key(void **state)
{
    static const struct {
        const char *more, *where;
    } cases[] = {
        { "\"objectives\":[]", "objectives" },
        { "\"objectives\":[\"a\",\"a\"]", "objectives[1]" },
        { "\"objectives\":[\"a\",\"b\",\"c\",\"d\",\"e\"]", "objectives" },
        { "\"objectives\":[7]", "objectives[0]" },
        { "\"objectives\":[{\"metric\":\"a\",\"goal\":\"up\"}]", "objectives[0].goal" },
        { "\"objectives\":[{\"name\":\"a\"}]", "objectives[0].name" },
        { "\"metric\":\"z\",\"objectives\":[\"a\",\"b\"]", "objectives[0]" },
        { "\"levels\":2,\"objectives\":[\"a\",\"b\"]", "levels" },
        { "\"constraints\":[1]", "constraints[0]" },
        { "\"constraints\":\"x < 1\"", "constraints" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[300];
        struct spec s;
        struct err err = { 0 };

        (void)snprintf(text, sizeof text, "{\"space\":{\"x\":[0,1]},%s}", cases[i].more);
        json_t *given = json_loads(text, 0, NULL);
        assert_non_null(given);
        assert_int_equal(spec_parse(&s, given, &err), -1);
        if (strcmp(err.where, cases[i].where) != 0)
            fail_msg("%s: %s (%s)", text, err.where, err.text);
        json_decref(given);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_keys_are_enough),
        cmocka_unit_test(every_key_lands_in_its_field),
        cmocka_unit_test(words_and_objects_mean_the_same),
        cmocka_unit_test(determinism_follows_the_budget),
        cmocka_unit_test(columns_that_divide_or_weigh_rows_are_read),
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(a_dataset_given_by_hash_names_the_study_by_its_start),
        cmocka_unit_test(bad_specs_get_one_error_with_the_path),
        cmocka_unit_test(a_spec_needs_dataset_and_target),
        cmocka_unit_test(objectives_and_constraints_of_an_own_space_come_back),
        cmocka_unit_test(wrong_objectives_of_an_own_space_name_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
