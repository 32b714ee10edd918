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

#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MULTICLASS_MAX = 20, /* with ROWS_PER_CLASS: see the rules above */
    /* A fold's fit of a slow family should take at most this part of a study's time: its first
     * trial, of five folds, takes an eighth then. */
    FOLD_SHARE = 40,
    ROWS_PER_CLASS = 5,
    /* A categorical column counts as at most so many encoded columns when costs are estimated. */
    ENCODED_MAX_LEVELS = 100,
    /* What steps derive: of a date; of a text or a list, about; and of levels that have means. */
    DATE_INPUTS = 7,
    DATE_WAVES = 36,
    TEXT_INPUTS = 60,
    MEAN_LEAST_LEVELS = 64,
    FEW_LEAST_LEVELS = 8,
    MEAN_MOST_CLASSES = 8,
    PROBLEM_VERSION = 1
};
/* the task of a study with a space of its own, as stored and shown */
#define OWN_TASK "own"
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

enum { NAMES_LISTED = 110 }; /* bytes of the columns' names in an error */

/* "; its columns: a, b, ..., z" into out: as many of the first names as fit, and the last one, which is often the target.
 * Empty if not even two names fit. */
static void names_list(char *out, size_t size, const char *const *names, size_t n)
{
    size_t at = (size_t)snprintf(out, size, "; its columns: "), kept = 0;
    size_t room = size - 1 - at, last = strlen("..., ") + strlen(names[n - 1]);

    while (kept + 1 < n && last + strlen(names[kept]) + strlen(", ") <= room) {
        at += (size_t)snprintf(out + at, size - at, "%s, ", names[kept]);
        room -= strlen(names[kept++]) + strlen(", ");
    }
    if (kept == 0)
        out[0] = '\0';
    else
        snprintf(out + at, size - at, "%s%s", kept + 1 < n ? "..., " : "", names[n - 1]);
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
    char listed[NAMES_LISTED] = "";
    if (!near && n > 0)
        names_list(listed, sizeof listed, names, n);
    err_at(err, where, "the dataset has no column \"%.80s\"%s%s%s%s", name,
           near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "", listed);
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

/* Predictions are float32, so other numbers cannot be told apart or overflow. Wide tables do not
 * tell their numbers; there the trials fail, each with its reason. */
static int numbers_check(const json_t *column, const char *target, struct err *err)
{
    double least = number_of(column, "min"), most = number_of(column, "max");

    if (fmax(fabs(least), fabs(most)) > FLT_MAX)
        return err_at(err, "target",
                      "column \"%.80s\" has numbers from %.3g to %.3g, beyond what a model can "
                      "hold (3.4e38): divide them by a constant",
                      target, least, most);
    if (most - least < FLT_MIN)
        return err_at(err, "target",
                      "the numbers of column \"%.80s\" differ by %.3g at most, less than a "
                      "model can tell apart (1.2e-38): multiply them by a constant",
                      target, most - least);
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
    if (p->task == FT_REGRESSION && numbers_check(column, spec->target, err) < 0)
        return -1;
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
    if (p->metric->is_count && json_number_value(least) < 0)
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
    bool is_told = !isnan(least); /* not of all columns of wide tables; workers refuse it too */
    if (end != spec->positive && *end == '\0' &&
        (is_told ? v == least || v == most : isfinite(v))) {
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

/* One of the columns that say how rows are used. */
static int rows_column_check(const json_t *schema, const char *name, const char *where,
                             struct err *err)
{
    const json_t *c = *name ? column_find(schema, name, where, err) : NULL;

    if (*name && !c)
        return -1;
    if (c && str_starts(text_of(c, "type"), "ignore"))
        return err_at(err, where, "column \"%.80s\" is ignored in this dataset", name);
    return 0;
}

static int weights_check(const json_t *schema, const char *name, struct err *err)
{
    static const char rule[] = "a weight is a number from 0 up, and 0 leaves a row out";
    const json_t *c = *name ? column_find(schema, name, "weights", err) : NULL;

    if (!*name || !c)
        return *name ? -1 : 0;
    if (is_categorical(c))
        return err_at(err, "weights", "column \"%.80s\" holds words: weights are numbers", name);
    if (int_of(c, "missing") > 0)
        return err_at(err, "weights", "column \"%.80s\" has no value in %" PRId64 " rows: %s", name,
                      int_of(c, "missing"), rule);
    if (number_of(c, "min") < 0)
        return err_at(err, "weights", "column \"%.80s\" goes down to %g: %s", name,
                      number_of(c, "min"), rule);
    /* wide tables do not say it of all columns; then the workers find it */
    if (number_of(c, "max") <= 0)
        return err_at(err, "weights", "all weights in column \"%.80s\" are 0", name);
    return 0;
}

static int rows_check(struct problem *p, const struct spec *spec, const json_t *schema,
                      struct err *err)
{
    struct msg_data *d = &p->data;

    if (rows_column_check(schema, spec->groups, "groups", err) < 0 ||
        rows_column_check(schema, spec->time_column, "time", err) < 0 ||
        rows_column_check(schema, spec->weights, "weights", err) < 0 ||
        weights_check(schema, spec->weights, err) < 0)
        return -1;
    str_copy(d->groups, sizeof d->groups, spec->groups);
    str_copy(d->time_column, sizeof d->time_column, spec->time_column);
    str_copy(d->weights, sizeof d->weights, spec->weights);
    d->gap = spec->time_gap;
    d->groups_are_input = spec->groups_are_input;
    d->time_is_input = d->time_column[0] && spec->time_is_input;
    return 0;
}

/* Whether the column only says how rows are used, so that a test table need not have it. */
static bool is_no_input(const struct problem *p, const char *name)
{
    const struct msg_data *d = &p->data;

    return str_eq(name, d->weights) || (!d->groups_are_input && str_eq(name, d->groups)) ||
           (!d->time_is_input && str_eq(name, d->time_column));
}

/* The shape of a table's images; all 0 where it has none. */
static void image_of(const json_t *schema, struct family_image *out)
{
    const json_t *image = json_object_get(schema, "image");

    *out = (struct family_image){ (int)int_of(image, "height"), (int)int_of(image, "width"),
                                  (int)int_of(image, "channels") };
}

/* Images of the test table must have the shape of those in the training table. */
static int test_images_check(const json_t *schema, const json_t *other, const char *file,
                             struct err *err)
{
    struct family_image a, b;

    image_of(schema, &a);
    image_of(other, &b);
    if (a.height == b.height && a.width == b.width && a.channels == b.channels)
        return 0;
    return b.height == 0
               ? err_at(err, "test", "%.100s has no images, which the training table has", file)
               : err_at(err, "test",
                        "the images of %.100s are %d x %d with %d channels, those of the training "
                        "table %d x %d with %d",
                        file, b.width, b.height, b.channels, a.width, a.height, a.channels);
}

/* Checks that the test table has every column of the training table, with the same kind of values.
 * Otherwise every trial would fail when it is scored. */
static int test_check(const struct problem *p, const json_t *schema, const struct dataset_row *test,
                      struct err *err)
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
        if (!other || rc < 0 || str_starts(text_of(c, "type"), "ignore") ||
            is_no_input(p, text_of(c, "name")))
            continue;
        if (!twin || str_starts(text_of(twin, "type"), "ignore"))
            rc = err_at(err, "test", "%.100s has no column \"%.80s\", which the training table has",
                        file, text_of(c, "name"));
        else if (!is_categorical(c) && is_categorical(twin))
            rc = err_at(err, "test",
                        "column \"%.80s\" of %.100s holds words; in the training table, numbers",
                        text_of(c, "name"), file);
    }
    if (rc == 0 && other && json_object_get(schema, "image"))
        rc = test_images_check(schema, other, file, err);
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
    /* Forward in time one more stretch of rows comes before all folds. */
    if (p->data.holdout && p->data.time_column[0])
        p->data.folds--;
    p->is_undecided = spec->validation == VAL_AUTO && spec->budget_time_ms > 0;
    if (p->is_undecided)
        p->data.holdout = true; /* the probe runs a holdout; probe.c may then choose kfold */
}

/* Fills the shape from which costs and memory are estimated: the training rows, and the columns
 * both as they are and as an encoding would widen them. Ignored columns do not count. */
/* Inputs that steps derive from a column (ml/prep/step.c), as far as its schema tells: whether whole
 * numbers are names only the rows can say. */
static void shape_derive(struct family_shape *s, const json_t *c, int outputs)
{
    const char *kind = text_of(c, "kind");
    bool is_date = str_eq(kind, "date"), is_text = str_eq(kind, "text") || str_eq(kind, "list");
    bool is_mean = is_categorical(c) && int_of(c, "distinct") >= MEAN_LEAST_LEVELS;
    bool is_number = !is_categorical(c) && !is_date && int_of(c, "distinct") > 2;
    bool may_be_codes = json_is_true(json_object_get(c, "codes"));
    bool are_few = is_number && json_is_true(json_object_get(c, "whole"));
    int derived = is_date   ? DATE_INPUTS
                  : is_text ? TEXT_INPUTS
                  : is_mean ? MIN(outputs, MEAN_MOST_CLASSES) + 1
                            : 0;

    s->many_levels += is_mean && !is_text;
    s->few_levels += is_categorical(c) && !is_text && int_of(c, "distinct") >= FEW_LEAST_LEVELS &&
                     int_of(c, "distinct") < MEAN_LEAST_LEVELS;
    s->codes += may_be_codes;
    s->few_codes += are_few;
    if (may_be_codes || are_few)
        s->code_width += (int)MIN(int_of(c, "distinct"), ENCODED_MAX_LEVELS);
    s->texts += is_text;
    s->numbers += is_number;
    s->holes += is_number && int_of(c, "missing") > 0;
    s->columns += derived;
    s->encoded += derived + (is_date ? DATE_WAVES : 0);
    s->by_fold = s->by_fold || is_text || is_mean;
}

static void shape_make(struct problem *p, const json_t *schema, const json_t *target)
{
    struct family_shape *s = &p->shape;
    json_t *c = NULL;
    size_t i = 0;

    s->rows = p->data.rows;
    s->outputs =
        p->task == FT_MULTICLASS ? (int)MIN(MAX(int_of(target, "distinct"), 2), 100000) : 1;
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
        shape_derive(s, c, s->outputs);
    }
    image_of(schema, &s->image);
    s->columns += family_image_values(&s->image);
    s->encoded += family_image_values(&s->image);
    s->columns = MAX(s->columns, 1);
    s->encoded = MAX(s->encoded, 1);
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
        rows_check(p, spec, schema, err) < 0 || (test && test_check(p, schema, test, err) < 0))
        goto out;
    validation_choose(p, spec);
    if (p->data.rows < p->data.folds * 2) {
        err_at(err, "dataset", "%" PRId64 " rows are too few for %d folds", p->data.rows,
               p->data.folds);
        goto out;
    }
    shape_make(p, schema, column);
    p->shape.fold_ms = (int)MIN(spec->budget_time_ms / FOLD_SHARE, INT_MAX);
    p->is_ready = true;
    rc = 0;
out:
    json_decref(schema);
    return rc;
}

bool problem_refits(const struct problem *p)
{
    return p->data.holdout || p->data.time_column[0];
}

/* A trial is one whole, like the fold of a holdout that no refit follows. */
static void own_fill(struct problem *p, const char *metric, bool larger_is_better)
{
    str_copy(p->data.task, sizeof p->data.task, OWN_TASK);
    if (p->data.metric != metric)
        str_copy(p->data.metric, sizeof p->data.metric, metric);
    p->task = FT_ANY;
    p->own_metric = (struct metric){ .name = p->data.metric,
                                     .larger_is_better = larger_is_better,
                                     .tasks = FT_ANY,
                                     .lo = -DBL_MAX,
                                     .hi = DBL_MAX };
    p->metric = &p->own_metric;
    p->kfolds = p->data.folds = p->shape.folds = 1;
}

void problem_own(struct problem *p, const struct spec *spec)
{
    CHECK(spec->is_own);
    *p = (struct problem){ .shape = { .rows = 1, .columns = 1, .encoded = 1, .outputs = 1 } };
    own_fill(p, spec->metric, spec->larger_is_better);
    p->is_ready = true;
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

/* Columns that the parameters of the preparation are about, and the time of a fold. */
#define SHAPE_FACTS(X) \
    X(many_levels)     \
    X(few_levels) X(codes) X(few_codes) X(code_width) X(texts) X(numbers) X(holes) X(fold_ms)

/* What is 0 is left out, so that the problems of most tables are stored as ever. */
static void shape_facts_save(const struct family_shape *s, json_t *shape)
{
#define SAVE(fact)    \
    if (s->fact != 0) \
        json_object_set_new(shape, #fact, json_integer(s->fact));
    SHAPE_FACTS(SAVE)
#undef SAVE
}

static void shape_facts_load(struct family_shape *s, const json_t *shape)
{
#define LOAD(fact) s->fact = (int)int_of(shape, #fact);
    SHAPE_FACTS(LOAD)
#undef LOAD
}

json_t *problem_json_new(const struct problem *p)
{
    const struct msg_data *d = &p->data;
    const struct family_shape *s = &p->shape;

    CHECK(p->is_ready);
    json_t *o = json_pack(
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
    if (d->groups[0])
        json_object_set_new(
            o, "groups",
            json_pack("{s:s, s:b}", "column", d->groups, "input", d->groups_are_input));
    if (d->time_column[0])
        json_object_set_new(o, "time",
                            json_pack("{s:s, s:f, s:b}", "column", d->time_column, "gap", d->gap,
                                      "input", d->time_is_input));
    if (d->weights[0])
        json_object_set_new(o, "weights", json_string(d->weights));
    if (p->metric == &p->own_metric)
        json_object_set_new(o, "larger_is_better", json_boolean(p->metric->larger_is_better));
    if (s->by_fold)
        json_object_set_new(json_object_get(o, "shape"), "by_fold", json_true());
    shape_facts_save(s, json_object_get(o, "shape"));
    if (s->image.height)
        json_object_set_new(o, "image",
                            json_pack("{s:i, s:i, s:i}", "height", s->image.height, "width",
                                      s->image.width, "channels", s->image.channels));
    return o;
}

static void data_load(struct msg_data *d, const json_t *o)
{
    const json_t *groups = json_object_get(o, "groups"), *time = json_object_get(o, "time");

    str_copy(d->groups, sizeof d->groups, text_of(groups, "column"));
    d->groups_are_input = json_is_true(json_object_get(groups, "input"));
    str_copy(d->time_column, sizeof d->time_column, text_of(time, "column"));
    d->time_is_input = json_is_true(json_object_get(time, "input"));
    d->gap = json_number_value(json_object_get(time, "gap"));
    str_copy(d->weights, sizeof d->weights, text_of(o, "weights"));
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
    if (str_eq(p->data.task, OWN_TASK))
        own_fill(p, p->data.metric, json_is_true(json_object_get(o, "larger_is_better")));
    p->is_undecided = json_is_true(json_object_get(o, "undecided"));
    p->kfolds = (int)int_of(o, "kfolds");
    p->short_from = int_of(o, "short_from");
    const json_t *s = json_object_get(o, "shape");
    p->shape = (struct family_shape){ .rows = int_of(s, "rows"),
                                      .columns = (int)int_of(s, "columns"),
                                      .encoded = (int)int_of(s, "encoded"),
                                      .by_fold = json_is_true(json_object_get(s, "by_fold")),
                                      .outputs = (int)int_of(s, "outputs"),
                                      .folds = (int)int_of(s, "folds"),
                                      .task = p->task };
    shape_facts_load(&p->shape, s);
    image_of(o, &p->shape.image);
    p->shape.resource = (enum family_resource)MAX(family_resource_find(p->data.resource), FR_AUTO);
    if (p->task == FT_ANY)
        p->shape.folds = p->kfolds = 1;
    search_load(&p->search, json_object_get(o, "search"));
    p->is_ready = p->task && p->metric;
    json_decref(o);
    return p->is_ready ? 0 : err_set(err, ERR_DAMAGED, "the study's data is damaged");
}
