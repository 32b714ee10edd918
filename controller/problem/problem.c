/* problem.c - turns a spec and the schema of its table into a learning problem.
 *
 * Rules for `task: auto`, the same as in ml_task_infer (ml/model/target.h), but decided from the
 * statistics in the schema:
 * - one distinct value of the target: an error, there is nothing to predict
 * - two distinct values: binary
 * - a categorical column, or at most 20 distinct whole numbers with five rows each on average:
 *   multiclass
 * - everything else: regression
 *
 * The controller never reads the rows. What only they can tell, for example that a class is in no
 * training row, is found by the workers. */
#include "controller/problem/problem.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MULTICLASS_MAX = 20, /* with ROWS_PER_CLASS: see the rules above */
    ROWS_PER_CLASS = 5,
    /* A categorical column counts as at most so many encoded columns when costs are estimated. */
    ENCODED_MAX_LEVELS = 100,
    PROBLEM_VERSION = 1
};
/* Seeds have 53 bits, so that readers whose JSON numbers are doubles get them exactly. */
#define SEED_MASK ((UINT64_C(1) << 53) - 1)

static const char *const task_name[] = {
    [FT_BINARY] = "binary", [FT_MULTICLASS] = "multiclass", [FT_REGRESSION] = "regression"
};

static const char *text_of(const json_t *o, const char *key)
{
    const char *s = json_string_value(json_object_get(o, key));

    return s ? s : "";
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : NAN;
}

static int64_t int_of(const json_t *o, const char *key)
{
    double v = number_of(o, key);

    return isnan(v) ? 0 : (int64_t)v;
}

/* Finds a column by name. where: the key of the spec that names it, for the error. */
static const json_t *column_find(const json_t *schema, const char *name, const char *where,
                                 struct err *err)
{
    const json_t *columns = json_object_get(schema, "columns");
    const char *names[1024]; /* for the suggestion only: later columns are never suggested */
    json_t *c = NULL;
    size_t i = 0, n = 0;

    json_array_foreach((json_t *)columns, i, c)
    {
        if (str_eq(text_of(c, "name"), name))
            return c;
        if (n < ARRAY_LEN(names))
            names[n++] = text_of(c, "name");
    }
    const char *near = str_nearest(name, names, n);
    err_at(err, where, "the dataset has no column \"%.80s\"%s%s%s", name,
           near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    return NULL;
}

static bool is_categorical(const json_t *column)
{
    return str_eq(text_of(column, "type"), "categorical");
}

static int task_infer(const json_t *column, const char *target, int64_t rows, int *task,
                      struct err *err)
{
    int64_t distinct = int_of(column, "distinct"), present = rows - int_of(column, "missing");
    bool few_whole = distinct <= MULTICLASS_MAX && present >= ROWS_PER_CLASS * distinct &&
                     json_is_true(json_object_get(column, "whole"));

    if (str_eq(text_of(column, "type"), "ignored") || str_eq(text_of(column, "type"), "ignore"))
        return err_at(err, "target", "column \"%.80s\" is ignored, so it cannot be predicted",
                      target);
    if (distinct < 2)
        return err_at(err, "target", "column \"%.80s\" has %s: there is nothing to predict", target,
                      distinct == 0 ? "no values" : "one value only");
    if (distinct == 2)
        *task = FT_BINARY;
    else if (is_categorical(column) || few_whole)
        *task = FT_MULTICLASS;
    else
        *task = FT_REGRESSION;
    return 0;
}

static int task_choose(struct problem *p, const struct spec *spec, const json_t *column,
                       struct err *err)
{
    static const int tasks[] = { [TASK_AUTO] = 0,
                                 [TASK_BINARY] = FT_BINARY,
                                 [TASK_MULTICLASS] = FT_MULTICLASS,
                                 [TASK_REGRESSION] = FT_REGRESSION };
    const struct metric *metric = spec->metric[0] ? metric_find(spec->metric) : NULL;
    int64_t distinct = int_of(column, "distinct");

    CHECK((size_t)spec->task < ARRAY_LEN(tasks));
    if (task_infer(column, spec->target, p->data.rows, &p->task, err) < 0)
        return -1;
    /* A few whole numbers could be classes or quantities; a metric for regression settles it. */
    if (spec->task != TASK_AUTO)
        p->task = tasks[spec->task];
    else if (metric && metric->tasks == FT_REGRESSION && !is_categorical(column))
        p->task = FT_REGRESSION;
    if (p->task == FT_REGRESSION && is_categorical(column))
        return err_at(err, "task", "column \"%.80s\" holds words: regression needs numbers",
                      spec->target);
    if (p->task == FT_BINARY && distinct != 2)
        return err_at(err, "task", "binary needs two values; column \"%.80s\" has %" PRId64,
                      spec->target, distinct);
    str_copy(p->data.task, sizeof p->data.task, task_name[p->task]);
    return 0;
}

static int metric_choose(struct problem *p, const struct spec *spec, const json_t *column,
                         struct err *err)
{
    const json_t *least = json_object_get(column, "min");
    const char *name = spec->metric[0] ? spec->metric : metric_for_task(p->task);

    p->metric = metric_find(name);
    if (!p->metric)
        return err_at(err, spec->metric_where, "\"%.40s\" is no metric", name);
    if (!(p->metric->tasks & p->task))
        return err_at(
            err, spec->metric_where, "%s does not suit the task %s%s: a metric such as %s does%s",
            name, p->data.task, spec->task == TASK_AUTO ? ", which the target suggests" : "",
            metric_for_task(p->task), spec->task == TASK_AUTO ? ", or name the task" : "");
    if (str_eq(name, "poisson_deviance") && json_number_value(least) < 0)
        return err_at(err, spec->metric_where, "%s needs a target from 0 up; \"%.80s\" has %g",
                      name, spec->target, json_number_value(least));
    str_copy(p->data.metric, sizeof p->data.metric, name);
    return 0;
}

/* Checks a positive class that is a number. The schema does not list the values of a numeric
 * column, but of two values one is the smallest and the other is the largest. Workers name a class
 * by the shortest text of its number (ml/model/data.h), so the name is written in that form: with
 * 15 digits, or with 16 or 17 if fewer do not read back as the same number. */
static int positive_number_check(struct problem *p, const struct spec *spec, const json_t *column,
                                 struct err *err)
{
    char *out = p->data.positive;
    double least = number_of(column, "min"), most = number_of(column, "max"), v = NAN;
    char *end = NULL;

    v = strtod(spec->positive, &end);
    if (end != spec->positive && *end == '\0' && (v == least || v == most)) {
        for (int digits = 15; digits == 15 || (digits <= 17 && strtod(out, NULL) != v); digits++)
            (void)!snprintf(out, sizeof p->data.positive, "%.*g", digits, v);
        return 0;
    }
    return err_at(err, "positive", "column \"%.80s\" has no value \"%.80s\": it holds %g and %g",
                  spec->target, spec->positive, least, most);
}

static int positive_check(struct problem *p, const struct spec *spec, const json_t *column,
                          struct err *err)
{
    json_t *levels = json_object_get(column, "levels"), *v = NULL;
    size_t i = 0;

    if (!spec->positive[0])
        return 0;
    if (p->task != FT_BINARY)
        return err_at(err, "positive", "only a binary task has a positive class");
    str_copy(p->data.positive, sizeof p->data.positive, spec->positive);
    if (!is_categorical(column))
        return positive_number_check(p, spec, column, err);
    if (json_array_size(levels) == 0)
        return 0; /* schemas of tables with very many columns do not list the values */
    json_array_foreach(levels, i, v)
    {
        if (str_eq(json_string_value(v), spec->positive))
            return 0;
    }
    return err_at(err, "positive", "column \"%.80s\" has no value \"%.80s\"", spec->target,
                  spec->positive);
}

static int monotone_column(const json_t *schema, const char *name, struct err *err)
{
    char where[120];

    jsonx_path(where, sizeof where, "monotone", name);
    const json_t *c = column_find(schema, name, where, err);
    if (!c)
        return -1;
    return is_categorical(c) ? err_at(err, where, "needs a column of numbers") : 0;
}

/* Checks that the columns named by `monotone` exist and hold numbers. The workers get the object as
 * text. */
static int monotone_check(struct problem *p, const struct spec *spec, const json_t *schema,
                          struct err *err)
{
    const char *name = NULL;
    json_t *v = NULL;

    if (!spec->monotone)
        return 0;
    if (p->task == FT_MULTICLASS)
        return err_at(err, "monotone", "does not suit the task multiclass");
    char *text = json_dumps(spec->monotone, JSON_COMPACT);
    bool fits = text && strlen(text) < sizeof p->data.monotone;
    str_copy(p->data.monotone, sizeof p->data.monotone, fits ? text : "");
    free(text);
    if (!fits)
        return err_at(err, "monotone", "names too many columns");
    json_object_foreach(spec->monotone, name, v)
    {
        if (monotone_column(schema, name, err) < 0)
            return -1;
    }
    return 0;
}

/* Checks that the test table has every column of the training table, with the same kind of values.
 * Otherwise every trial would fail when it is scored. */
static int test_check(const json_t *schema, const struct dataset_row *test, struct err *err)
{
    const char *file = test->file_name && test->file_name[0] ? test->file_name : test->name;
    json_t *other =
        test->schema ? jsonx_load(test->schema, strlen(test->schema), "schema", err) : NULL;
    json_t *names = json_object(), *c = NULL;
    size_t i = 0;
    int rc = test->schema && !other ? -1 : 0;

    json_array_foreach(json_object_get(other, "columns"), i, c)
        json_object_set(names, text_of(c, "name"), c);
    json_array_foreach(json_object_get(schema, "columns"), i, c)
    {
        const json_t *twin = json_object_get(names, text_of(c, "name"));
        if (!other || rc < 0 || str_starts(text_of(c, "type"), "ignore"))
            continue;
        if (!twin || str_starts(text_of(twin, "type"), "ignore"))
            rc = err_at(err, "test", "%.100s has no column \"%.80s\", which the training table has",
                        file, text_of(c, "name"));
        else if (!is_categorical(c) && is_categorical(twin))
            rc = err_at(err, "test",
                        "column \"%.80s\" of %.100s holds words; in the training table, numbers",
                        text_of(c, "name"), file);
    }
    json_decref(names);
    json_decref(other);
    return rc;
}

static void validation_choose(struct problem *p, const struct spec *spec)
{
    p->kfolds = spec->folds;
    if (spec->validation == VAL_AUTO) /* a table of few rows gets fewer folds */
        p->kfolds = MAX(2, (int)MIN(spec->folds, p->data.rows / 2));
    p->data.folds = p->kfolds;
    p->data.holdout = spec->validation == VAL_HOLDOUT;
    p->short_from = p->data.holdout; /* a chosen holdout: all trials, from number 1 on */
    /* A holdout is one fold of 1 / holdout_fraction. */
    if (p->data.holdout)
        p->data.folds = MAX(2, (int)floor(1 / spec->holdout_fraction + 0.5));
    p->is_undecided = spec->validation == VAL_AUTO && spec->budget_time_ms > 0;
    if (p->is_undecided)
        p->data.holdout = true; /* the probe runs a holdout; probe.c may then choose kfold */
}

/* Fills the shape from which costs and memory are estimated: the training rows, and the columns
 * both as they are and as an encoding would widen them. Ignored columns do not count. */
static void shape_make(struct problem *p, const json_t *schema, const json_t *target)
{
    struct family_shape *s = &p->shape;
    json_t *c = NULL;
    size_t i = 0;

    s->rows = p->data.rows;
    if (p->data.test_fraction > 0)
        s->rows = (int64_t)((double)s->rows * (1 - p->data.test_fraction));
    json_array_foreach(json_object_get(schema, "columns"), i, c)
    {
        if (c == target)
            continue;
        if (is_categorical(c))
            s->encoded += (int)MIN(MAX(int_of(c, "distinct"), 1), ENCODED_MAX_LEVELS);
        else if (str_eq(text_of(c, "type"), "numeric"))
            s->encoded++;
        else
            continue;
        s->columns++;
    }
    s->columns = MAX(s->columns, 1);
    s->encoded = MAX(s->encoded, 1);
    s->outputs =
        p->task == FT_MULTICLASS ? (int)MIN(MAX(int_of(target, "distinct"), 2), 100000) : 1;
    s->folds = p->data.holdout ? 1 : p->data.folds;
    s->task = p->task;
    s->resource = (enum family_resource)MAX(family_resource_find(p->data.resource), FR_AUTO);
}

/* Splits depend on the study's seed only, so that studies with equal specs get equal folds. The
 * constant is "split" in ASCII: it keeps this stream apart from others of the same seed. */
static uint64_t split_seed(uint64_t seed)
{
    return rng_mix(seed, 0x73706c6974) & SEED_MASK;
}

int problem_resolve(struct problem *p, const struct spec *spec, const struct dataset_row *train,
                    const struct dataset_row *test, struct err *err)
{
    json_t *schema = NULL;
    int rc = -1;

    *p = (struct problem){ 0 };
    CHECK(train->schema && train->frame[0]);
    schema = jsonx_load(train->schema, strlen(train->schema), "schema", err);
    const json_t *column = schema ? column_find(schema, spec->target, "target", err) : NULL;
    if (!column)
        goto out;
    str_copy(p->data.frame, sizeof p->data.frame, train->frame);
    str_copy(p->data.target, sizeof p->data.target, spec->target);
    p->data.rows = train->rows;
    p->data.columns = train->cols;
    p->data.test_fraction = spec->test_fraction;
    p->data.split_seed = split_seed(spec->seed);
    str_copy(p->data.resource, sizeof p->data.resource, spec_resource_name[spec->resource]);
    if (test)
        str_copy(p->data.test_frame, sizeof p->data.test_frame, test->frame);
    if (train->cols < 2) {
        err_at(err, "dataset", "the table has one column only: nothing is left to predict from");
        goto out;
    }
    if (task_choose(p, spec, column, err) < 0 || metric_choose(p, spec, column, err) < 0 ||
        positive_check(p, spec, column, err) < 0 || monotone_check(p, spec, schema, err) < 0 ||
        (test && test_check(schema, test, err) < 0))
        goto out;
    validation_choose(p, spec);
    if (p->data.rows < p->data.folds * 2) {
        err_at(err, "dataset", "%" PRId64 " rows are too few for %d folds", p->data.rows,
               p->data.folds);
        goto out;
    }
    shape_make(p, schema, column);
    p->is_ready = true;
    rc = 0;
out:
    json_decref(schema);
    return rc;
}

void problem_decide(struct problem *p, bool kfold, int64_t next)
{
    CHECK(p->is_ready && p->is_undecided && next >= 1);
    p->is_undecided = false;
    p->data.holdout = !kfold;
    p->short_from = kfold ? 0 : next;
    if (kfold)
        p->data.folds = p->kfolds;
    p->shape.folds = kfold ? p->data.folds : 1;
}

/* ---- stored form ---- */

static json_t *search_json_new(const struct search_choice *c)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:i}", "sampler", c->sampler, "sampler_why",
                     c->sampler_why, "scheduler", c->scheduler, "scheduler_why", c->scheduler_why,
                     "budget_trials", (json_int_t)c->budget_trials, "fuse", c->fuse);
}

static void search_load(struct search_choice *c, const json_t *o)
{
    c->budget_trials = int_of(o, "budget_trials");
    c->fuse = (int)int_of(o, "fuse");
    str_copy(c->sampler, sizeof c->sampler, text_of(o, "sampler"));
    str_copy(c->sampler_why, sizeof c->sampler_why, text_of(o, "sampler_why"));
    str_copy(c->scheduler, sizeof c->scheduler, text_of(o, "scheduler"));
    str_copy(c->scheduler_why, sizeof c->scheduler_why, text_of(o, "scheduler_why"));
}

json_t *problem_json_new(const struct problem *p)
{
    const struct msg_data *d = &p->data;
    const struct family_shape *s = &p->shape;

    CHECK(p->is_ready);
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:f, s:i, s:b, s:I, s:I, s:I, s:b, s:i, s:I,"
        " s:s, s:{s:I, s:i, s:i, s:i, s:i}, s:o}",
        "version", PROBLEM_VERSION, "frame", d->frame, "test_frame", d->test_frame, "target",
        d->target, "positive", d->positive, "monotone", d->monotone, "task", d->task, "metric",
        d->metric, "test_fraction", d->test_fraction, "folds", d->folds, "holdout", d->holdout,
        "split_seed", (json_int_t)d->split_seed, "rows", (json_int_t)d->rows, "columns",
        (json_int_t)d->columns, "undecided", p->is_undecided, "kfolds", p->kfolds, "short_from",
        (json_int_t)p->short_from, "resource", d->resource, "shape", "rows", (json_int_t)s->rows,
        "columns", s->columns, "encoded", s->encoded, "outputs", s->outputs, "folds", s->folds,
        "search", search_json_new(&p->search));
}

static void data_load(struct msg_data *d, const json_t *o)
{
    str_copy(d->frame, sizeof d->frame, text_of(o, "frame"));
    str_copy(d->test_frame, sizeof d->test_frame, text_of(o, "test_frame"));
    str_copy(d->target, sizeof d->target, text_of(o, "target"));
    str_copy(d->positive, sizeof d->positive, text_of(o, "positive"));
    str_copy(d->monotone, sizeof d->monotone, text_of(o, "monotone"));
    str_copy(d->task, sizeof d->task, text_of(o, "task"));
    str_copy(d->metric, sizeof d->metric, text_of(o, "metric"));
    d->test_fraction = json_number_value(json_object_get(o, "test_fraction"));
    d->folds = (int)int_of(o, "folds");
    d->holdout = json_is_true(json_object_get(o, "holdout"));
    d->split_seed = (uint64_t)json_integer_value(json_object_get(o, "split_seed"));
    str_copy(d->resource, sizeof d->resource, text_of(o, "resource"));
    d->rows = int_of(o, "rows");
    d->columns = int_of(o, "columns");
}

int problem_load(struct problem *p, const char *text, struct err *err)
{
    json_t *o = jsonx_load(text, strlen(text), "study data", err);

    *p = (struct problem){ 0 };
    if (!o)
        return -1;
    data_load(&p->data, o);
    for (int t = FT_BINARY; t <= FT_REGRESSION; t *= 2) {
        if (str_eq(task_name[t], p->data.task))
            p->task = t;
    }
    p->metric = metric_find(p->data.metric);
    p->is_undecided = json_is_true(json_object_get(o, "undecided"));
    p->kfolds = (int)int_of(o, "kfolds");
    p->short_from = int_of(o, "short_from");
    const json_t *s = json_object_get(o, "shape");
    p->shape = (struct family_shape){ .rows = int_of(s, "rows"),
                                      .columns = (int)int_of(s, "columns"),
                                      .encoded = (int)int_of(s, "encoded"),
                                      .outputs = (int)int_of(s, "outputs"),
                                      .folds = (int)int_of(s, "folds"),
                                      .task = p->task };
    p->shape.resource = (enum family_resource)MAX(family_resource_find(p->data.resource), FR_AUTO);
    search_load(&p->search, json_object_get(o, "search"));
    p->is_ready = p->task && p->metric;
    json_decref(o);
    return p->is_ready ? 0 : err_set(err, ERR_DAMAGED, "the study's data is damaged");
}
