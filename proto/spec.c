/* spec.c - reads the search spec from JSON. It is strict: the keys of each object are listed once,
 * an unknown key is an error that names the nearest known one, and every value is checked against
 * its range. So no other code sees a spec that is wrong in itself. What needs more knowledge is
 * checked by the controller: whether the dataset exists, whether metric and task fit it, the
 * families and parameters in `space` and `enqueue`, and the names and options of samplers and
 * schedulers (only their shapes are checked here).
 *
 * Many keys take a word or an object (`test: none`, `validation: {kind: kfold, folds: 5}`); each
 * has a parser below. Metric, objectives and constraints are in spec_goal.c, columns that
 * divide or weigh the rows in spec_rows.c, writing is in spec_write.c, and docs/SPEC.md explains every key. */
#include "proto/spec.h"

#include "proto/command.h"
#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Ceilings against typing errors and against specs made to exhaust memory, far above real use.
 * SEED_MAX: the largest whole numbers that every JSON program keeps. */
#define YEAR_MS  (366 * INT64_C(86400000))
#define SEED_MAX (INT64_C(1) << 53)

enum {
    FOLDS_MAX = 20,
    PARALLEL_MAX = 4096,
    PRIORITY_MAX = 1000,
    LIST_MAX = 10000,
    FAMILIES_MAX = 64,
    COLUMNS_MAX = 100000,
    OPTIONS_MAX = 16,
    DEFAULT_TIME_MS = 600000
};

const char *const spec_task_name[] = { "auto", "binary", "multiclass", "regression" };
const char *const spec_resource_name[] = { "auto", "rounds", "rows" };
const char *const spec_column_types[SPEC_COLUMN_TYPES] = {
    "numeric",  "categorical", "label",    "ignore",   "date", "date_dmy", "date_mdy",
    "date_ymd", "epoch_s",     "epoch_ms", "yyyymmdd", "text", "list",
};

void spec_init(struct spec *s)
{
    *s = (struct spec){
        .folds = 5,
        .holdout_fraction = 0.2,
        .stop_no_gain_trials = -1,
        .time_is_input = true,
        .ensemble = SPEC_ENSEMBLE,
    };
    str_copy(s->metric_where, sizeof s->metric_where, "metric");
    str_copy(s->sampler, sizeof s->sampler, "auto");
    str_copy(s->scheduler, sizeof s->scheduler, "auto");
}

void spec_fini(struct spec *s)
{
    json_decref(s->columns);
    json_decref(s->monotone);
    json_decref(s->sampler_options);
    json_decref(s->scheduler_options);
    json_decref(s->space);
    json_decref(s->enqueue);
    json_decref(s->command);
    json_decref(s->constraints);
    s->command = NULL;
    s->columns = s->monotone = NULL;
    s->sampler_options = s->scheduler_options = s->space = s->enqueue = NULL;
}

/* ---- small parsers of one value ---- */

/* The text at `key`, or NULL if it is absent or not text. */
static const char *word_at(const json_t *o, const char *key)
{
    return json_string_value(json_object_get(o, key));
}

static int bad_word(const char *where, const char *word, const char *const *known, size_t n,
                    struct err *err)
{
    const char *near = spec_word_near(word, known, n);
    char list[260];

    if (near)
        return err_at(err, where, "\"%.40s\" is not known; did you mean %s?", word, near);
    str_list(known, n, list, sizeof list);
    return err_at(err, where, "\"%.40s\" is not one of %s", word, list);
}

int spec_word_parse(const json_t *o, const char *path, const char *key, const char *const *known,
                    size_t n, int *out, struct err *err)
{
    const char *word = NULL;
    char where[120];
    int rc = jsonx_str(o, path, key, JSONX_OPTIONAL, 64, &word, err);

    if (rc <= 0)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (str_eq(word, known[i])) {
            *out = (int)i;
            return 1;
        }
    }
    jsonx_path(where, sizeof where, path, key);
    return bad_word(where, word, known, n, err);
}

static int name_parse(const json_t *o, const char *path, const char *key, enum jsonx_need need,
                      char *out, size_t size, struct err *err)
{
    const char *name = NULL;
    char where[120];
    int rc = jsonx_str(o, path, key, need, size - 1, &name, err);

    if (rc <= 0)
        return rc;
    if (!str_name_ok(name)) {
        jsonx_path(where, sizeof where, path, key);
        return err_at(
            err, where,
            "\"%.60s\" cannot be a name: a name has up to 120 letters, digits, . _ or -, and "
            "does not begin with . or -",
            name);
    }
    str_copy(out, size, name);
    return 1;
}

static int text_parse(const json_t *o, const char *key, enum jsonx_need need, char *out,
                      size_t size, struct err *err)
{
    const char *text = NULL;
    int rc = jsonx_str(o, NULL, key, need, size - 1, &text, err);

    if (rc <= 0)
        return rc;
    if (need == JSONX_REQUIRED && !*text)
        return err_at(err, key, "must not be empty");
    str_copy(out, size, text);
    return 1;
}

int spec_duration_parse(const json_t *o, const char *path, const char *key, int64_t *out,
                        struct err *err)
{
    const json_t *v = json_object_get(o, key);
    struct err why = { 0 };
    char where[120];
    int64_t ms = 0;

    if (!v || json_is_null(v))
        return 0;
    jsonx_path(where, sizeof where, path, key);
    if (json_is_number(v)) {
        double s = json_number_value(v);
        if (!(s >= 0 && s <= YEAR_MS / 1000.0))
            return err_at(err, where, "must be from 0 to a year");
        ms = (int64_t)ceil(s * 1000);
    } else if (json_is_string(v)) {
        if (str_duration_ms(json_string_value(v), &ms, &why) < 0)
            return err_at(err, where, "%s", why.text);
    } else {
        return err_at(err, where, "must be a duration like 60s or 10m");
    }
    if (ms < 0 || ms > YEAR_MS)
        return err_at(err, where, "must be from 0 to a year");
    *out = ms;
    return 1;
}

int spec_bytes_parse(const json_t *o, const char *path, const char *key, int64_t *out,
                     struct err *err)
{
    struct err why = { 0 };
    char where[120];

    if (!word_at(o, key))
        return jsonx_i64(o, path, key, JSONX_OPTIONAL, 0, INT64_MAX, out, err);
    jsonx_path(where, sizeof where, path, key);
    if (str_bytes(word_at(o, key), out, &why) < 0 || *out < 0)
        return err_at(err, where, "%s", why.text);
    return 1;
}

static int fraction_parse(const json_t *o, const char *path, double *out, struct err *err)
{
    char where[120];
    double v = 0;
    int rc = jsonx_f64(o, path, "fraction", JSONX_OPTIONAL, &v, err);

    if (rc <= 0)
        return rc;
    if (!(v >= 0.01 && v <= 0.9)) {
        jsonx_path(where, sizeof where, path, "fraction");
        return err_at(err, where, "must be from 0.01 to 0.9, not %g", v);
    }
    *out = v;
    return 1;
}

/* ---- one parser per key that takes a word or an object ---- */

static int columns_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *columns = NULL, *v = NULL;
    const char *name = NULL;
    int rc = jsonx_obj(o, NULL, "columns", JSONX_OPTIONAL, &columns, err);

    if (rc <= 0)
        return rc;
    if (json_object_size(columns) > COLUMNS_MAX)
        return err_at(err, "columns", "names more than %d columns", COLUMNS_MAX);
    json_object_foreach(columns, name, v)
    {
        struct column_said said;
        if (column_said("columns", name, v, &said, err) < 0)
            return -1;
        column_said_fini(&said);
    }
    if (json_object_size(columns) > 0)
        s->columns = json_deep_copy(columns);
    return 0;
}

static int validation_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const kinds[] = { "auto", "kfold", "holdout" };
    static const char *const keys[] = { "kind", "folds", "fraction" };
    json_t *v = json_object_get(o, "validation");
    int64_t folds = s->folds;
    int kind = 0, has_folds = 0, has_fraction = 0;

    if (spec_shape_check(o, "validation", err) < 0)
        return -1;
    if (!json_is_object(v)) {
        if (spec_word_parse(o, NULL, "validation", kinds, ARRAY_LEN(kinds), &kind, err) < 0)
            return -1;
        s->validation = (enum spec_validation)kind;
        return 0;
    }
    if (ONLY(v, "validation", keys, err) < 0 ||
        spec_word_parse(v, "validation", "kind", kinds, ARRAY_LEN(kinds), &kind, err) < 0 ||
        (has_folds =
             jsonx_i64(v, "validation", "folds", JSONX_OPTIONAL, 2, FOLDS_MAX, &folds, err)) < 0 ||
        (has_fraction = fraction_parse(v, "validation", &s->holdout_fraction, err)) < 0)
        return -1;
    if (has_fraction && s->holdout_fraction > 0.5)
        return err_at(err, "validation.fraction", "must be from 0.01 to 0.5, not %g",
                      s->holdout_fraction);
    if (has_folds && kind != VAL_KFOLD)
        return err_at(err, "validation.folds", "belongs to kind: kfold");
    if (has_fraction && kind != VAL_HOLDOUT)
        return err_at(err, "validation.fraction", "belongs to kind: holdout");
    s->validation = (enum spec_validation)kind;
    s->folds = (int)folds;
    return 0;
}

static int test_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const words[] = { "none" };
    static const char *const keys[] = { "dataset", "fraction" };
    json_t *v = json_object_get(o, "test");
    int ignored = 0;

    if (spec_shape_check(o, "test", err) < 0)
        return -1;
    if (!json_is_object(v))
        return spec_word_parse(o, NULL, "test", words, ARRAY_LEN(words), &ignored, err) < 0 ? -1
                                                                                            : 0;
    if (ONLY(v, "test", keys, err) < 0 || fraction_parse(v, "test", &s->test_fraction, err) < 0 ||
        name_parse(v, "test", "dataset", JSONX_OPTIONAL, s->test_dataset, sizeof s->test_dataset,
                   err) < 0)
        return -1;
    if (s->test_dataset[0] && s->test_fraction > 0)
        return err_at(err, "test", "takes a dataset or a fraction, not both");
    if (!s->test_dataset[0] && !(s->test_fraction > 0))
        return err_at(err, "test", "needs a dataset or a fraction");
    return 0;
}

static int budget_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const keys[] = { "time", "trials", "trial_time", "trial_memory" };
    json_t *b = NULL;

    if (spec_shape_check(o, "budget", err) < 0 ||
        jsonx_obj(o, NULL, "budget", JSONX_OPTIONAL, &b, err) < 0)
        return -1;
    if (b && (ONLY(b, "budget", keys, err) < 0 ||
              spec_duration_parse(b, "budget", "time", &s->budget_time_ms, err) < 0 ||
              jsonx_i64(b, "budget", "trials", JSONX_OPTIONAL, 0, 1000000000, &s->budget_trials,
                        err) < 0 ||
              spec_duration_parse(b, "budget", "trial_time", &s->trial_time_ms, err) < 0 ||
              spec_bytes_parse(b, "budget", "trial_memory", &s->trial_memory_bytes, err) < 0))
        return -1;
    if (s->budget_time_ms == 0 && s->budget_trials == 0 && !s->is_own)
        s->budget_time_ms = DEFAULT_TIME_MS;
    return 0;
}

static int stop_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const keys[] = { "score", "no_gain_trials" };
    json_t *v = NULL;
    int rc = spec_shape_check(o, "stop", err);

    if (rc == 0)
        rc = jsonx_obj(o, NULL, "stop", JSONX_OPTIONAL, &v, err);
    if (rc <= 0)
        return rc;
    if (ONLY(v, "stop", keys, err) < 0)
        return -1;
    rc = jsonx_f64(v, "stop", "score", JSONX_OPTIONAL, &s->stop_score, err);
    s->has_stop_score = rc == 1;
    if (rc < 0)
        return -1;
    return jsonx_i64(v, "stop", "no_gain_trials", JSONX_OPTIONAL, 0, 1000000000,
                     &s->stop_no_gain_trials, err);
}

/* Reads `sampler: random` or `sampler: {kind: tpe, startup: 20}`. All keys other than kind are
 * options of that sampler or scheduler, and their values are numbers. */
static int searcher_parse(const json_t *o, const char *key, char *kind, size_t size,
                          json_t **options, struct err *err)
{
    json_t *v = json_object_get(o, key), *x = NULL;
    const char *name = NULL;
    char where[120];

    if (v && !json_is_null(v) && !json_is_string(v) && !json_is_object(v))
        return err_at(err, key, "must be a name or {kind: name, option: number, ...}");
    if (!json_is_object(v))
        return name_parse(o, NULL, key, JSONX_OPTIONAL, kind, size, err);
    if (name_parse(v, key, "kind", JSONX_REQUIRED, kind, size, err) < 0)
        return -1;
    if (json_object_size(v) > OPTIONS_MAX)
        return err_at(err, key, "has more than %d options", OPTIONS_MAX);
    json_object_foreach(v, name, x)
    {
        jsonx_path(where, sizeof where, key, name);
        if (!str_eq(name, "kind") && !json_is_number(x))
            return err_at(err, where, "must be a number");
    }
    if (json_object_size(v) > 1) {
        *options = json_deep_copy(v);
        (void)json_object_del(*options, "kind");
    }
    return 0;
}

static int deterministic_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *v = json_object_get(o, "deterministic");
    const char *word = json_string_value(v);

    if (!v || json_is_null(v) || str_eq(word, "auto"))
        return 0;
    if (!json_is_boolean(v))
        return err_at(err, "deterministic", "must be auto, true or false");
    s->deterministic = json_is_true(v) ? TRI_ON : TRI_OFF;
    return 0;
}

/* off, or the number of members. */
static int ensemble_parse(struct spec *s, const json_t *o, struct err *err)
{
    json_t *v = json_object_get(o, "ensemble");
    const char *word = json_string_value(v);
    json_int_t n = json_integer_value(v);

    if (!v || json_is_null(v) || str_eq(word, "auto"))
        return 0;
    if (!str_eq(word, "off") && !json_is_false(v) &&
        (!json_is_integer(v) || n < 2 || n > SPEC_MAX_ENSEMBLE))
        return err_at(err, "ensemble", "must be off, or 2 to %d members", SPEC_MAX_ENSEMBLE);
    s->ensemble = (int)n;
    return 0;
}

static int parallel_parse(struct spec *s, const json_t *o, struct err *err)
{
    int64_t n = 0;
    int rc = 0;

    if (str_eq(word_at(o, "parallel"), "auto"))
        return 0;
    rc = jsonx_i64(o, NULL, "parallel", JSONX_OPTIONAL, 1, PARALLEL_MAX, &n, err);
    s->parallel = (int)n;
    return rc;
}

/* A list of objects. with_family: each must name a family. The controller checks the parameters. */
static int objects_parse(const json_t *o, const char *key, size_t max, bool with_family,
                         json_t **out, struct err *err)
{
    json_t *list = NULL, *e = NULL;
    const char *family = NULL;
    char where[120];
    size_t i = 0;
    int rc = jsonx_arr(o, NULL, key, JSONX_OPTIONAL, max, &list, err);

    if (rc <= 0)
        return rc;
    if (json_array_size(list) == 0)
        return err_at(err, key, "must not be empty");
    json_array_foreach(list, i, e)
    {
        jsonx_path_at(where, sizeof where, key, i);
        if (json_is_string(e) && with_family)
            return err_at(err, where, "must be an object: write {family: %.60s}",
                          json_string_value(e));
        if (!json_is_object(e))
            return err_at(err, where, "must be an object");
        if (with_family && jsonx_str(e, where, "family", JSONX_REQUIRED, 64, &family, err) < 0)
            return -1;
    }
    *out = json_deep_copy(list);
    return 0;
}

/* ---- the whole ---- */

static int names_parse(struct spec *s, const json_t *j, struct err *err)
{
    if (name_parse(j, NULL, "name", JSONX_OPTIONAL, s->name, sizeof s->name, err) < 0 ||
        name_parse(j, NULL, "dataset", JSONX_REQUIRED, s->dataset, sizeof s->dataset, err) < 0 ||
        text_parse(j, "target", JSONX_REQUIRED, s->target, sizeof s->target, err) < 0 ||
        text_parse(j, "positive", JSONX_OPTIONAL, s->positive, sizeof s->positive, err) < 0)
        return -1;
    if (!s->name[0] && str_sha256_ok(s->dataset))
        (void)snprintf(s->name, sizeof s->name, "study-%.12s", s->dataset);
    else if (!s->name[0])
        str_copy(s->name, sizeof s->name, s->dataset);
    const json_t *said = s->columns ? json_object_get(s->columns, s->target) : NULL;
    if (said &&
        (str_eq(json_string_value(said), "ignore") || str_eq(word_at(said, "type"), "ignore")))
        return err_at(err, "columns", "ignores the target");
    return 0;
}

static int numbers_parse(struct spec *s, const json_t *j, struct err *err)
{
    int64_t seed = 0, priority = 0;

    if (jsonx_i64(j, NULL, "priority", JSONX_OPTIONAL, -PRIORITY_MAX, PRIORITY_MAX, &priority,
                  err) < 0 ||
        jsonx_i64(j, NULL, "seed", JSONX_OPTIONAL, 0, SEED_MAX, &seed, err) < 0 ||
        parallel_parse(s, j, err) < 0)
        return -1;
    s->priority = (int)priority;
    s->seed = (uint64_t)seed;
    return 0;
}

static int model_parse(struct spec *s, const json_t *j, struct err *err)
{
    int task = 0;

    if (spec_word_parse(j, NULL, "task", spec_task_name, ARRAY_LEN(spec_task_name), &task, err) < 0)
        return -1;
    s->task = (enum spec_task)task;
    if (s->task == TASK_REGRESSION && s->positive[0])
        return err_at(err, "positive", "does not suit the task regression");
    return spec_goal_parse(s, j, err);
}

/* `warm_start`: the id of a study, as a number or as text, or its name. */
static int warm_parse(struct spec *s, const json_t *o, struct err *err)
{
    int64_t id = 0;

    if (!json_is_integer(json_object_get(o, "warm_start")))
        return name_parse(o, NULL, "warm_start", JSONX_OPTIONAL, s->warm_start,
                          sizeof s->warm_start, err);
    if (jsonx_i64(o, NULL, "warm_start", JSONX_OPTIONAL, 1, INT64_MAX, &id, err) < 0)
        return -1;
    (void)snprintf(s->warm_start, sizeof s->warm_start, "%" PRId64, id);
    return 0;
}

static int searchers_parse(struct spec *s, const json_t *j, struct err *err)
{
    if (searcher_parse(j, "sampler", s->sampler, sizeof s->sampler, &s->sampler_options, err) < 0)
        return -1;
    return searcher_parse(j, "scheduler", s->scheduler, sizeof s->scheduler, &s->scheduler_options,
                          err);
}

static int search_parse(struct spec *s, const json_t *j, struct err *err)
{
    int resource = 0;

    if (spec_word_parse(j, NULL, "resource", spec_resource_name, 3, &resource, err) < 0)
        return -1;
    s->resource = (enum spec_resource)resource;
    if (searchers_parse(s, j, err) < 0 || warm_parse(s, j, err) < 0)
        return -1;
    if (spec_shape_check(j, "space", err) < 0)
        return -1;
    if (!str_eq(word_at(j, "space"), "auto") &&
        objects_parse(j, "space", FAMILIES_MAX, true, &s->space, err) < 0)
        return -1;
    return objects_parse(j, "enqueue", LIST_MAX, false, &s->enqueue, err);
}

/* A study that has its own space has no table, and without a budget no end but `stop`. */
static int own_parse(struct spec *s, const json_t *j, struct err *err)
{
    static const char *const keys[] = {
        "name",    "metric",   "goal",       "levels",      "space",      "lost_after",
        "budget",  "stop",     "sampler",    "scheduler",   "seed",       "parallel",
        "enqueue", "priority", "objectives", "constraints", COMMAND_KEYS,
    };

    if (name_parse(j, NULL, "name", JSONX_OPTIONAL, s->name, sizeof s->name, err) < 0 ||
        spec_own_parse(s, j, err) < 0 || ONLY(j, NULL, keys, err) < 0 ||
        budget_parse(s, j, err) < 0 || stop_parse(s, j, err) < 0 || numbers_parse(s, j, err) < 0 ||
        searchers_parse(s, j, err) < 0 ||
        objects_parse(j, "enqueue", LIST_MAX, false, &s->enqueue, err) < 0)
        return -1;
    return 0;
}

static int all_parse(struct spec *s, const json_t *j, struct err *err)
{
    static const char *const keys[] = {
        "name",    "dataset",    "target",     "columns",       "positive", "task",
        "metric",  "validation", "test",       "budget",        "stop",     "priority",
        "sampler", "scheduler",  "seed",       "deterministic", "parallel", "space",
        "enqueue", "warm_start", "objectives", "monotone",      "resource", "groups",
        "time",    "weights",    "ensemble",
    };

    if (json_object_get(j, "command"))
        return err_at(err, "command",
                      "belongs to a study whose `space` is an object of parameters: that program "
                      "is then run once for each trial");
    if (ONLY(j, NULL, keys, err) < 0 || columns_parse(s, j, err) < 0 ||
        names_parse(s, j, err) < 0 || model_parse(s, j, err) < 0 ||
        spec_monotone_parse(s, j, err) < 0 || spec_rows_parse(s, j, err) < 0 ||
        validation_parse(s, j, err) < 0 || test_parse(s, j, err) < 0 ||
        budget_parse(s, j, err) < 0 || stop_parse(s, j, err) < 0 || numbers_parse(s, j, err) < 0 ||
        deterministic_parse(s, j, err) < 0 || ensemble_parse(s, j, err) < 0 ||
        search_parse(s, j, err) < 0)
        return -1;
    if (s->deterministic == TRI_ON && (s->budget_time_ms || s->trial_time_ms))
        return err_at(err, "deterministic",
                      "cannot be kept with a limit in seconds: set budget.trials instead of time");
    return spec_goal_check(s, err);
}

int spec_parse(struct spec *s, const json_t *json, struct err *err)
{
    spec_init(s);
    if ((spec_own_wanted(json) ? own_parse(s, json, err) : all_parse(s, json, err)) == 0)
        return 0;
    spec_fini(s);
    return -1;
}

bool spec_is_deterministic(const struct spec *s)
{
    if (s->is_own)
        return false; /* results come when the user's programs have them */
    if (s->deterministic != TRI_AUTO)
        return s->deterministic == TRI_ON;
    return s->budget_time_ms == 0 && s->trial_time_ms == 0 && !spec_goal_is_measured(s);
}
