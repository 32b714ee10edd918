/* data.c - opening a learning problem (data.h): target and split. The preparation is fitted in
 * data_inputs.c, and the matrices that trials share are made in data_forms.c. Everything but ml_shared is immutable after open. Called
 * by the engine and the worker. */
#include "ml/model/data.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/model/data_private.h"
#include "ml/model/repeats.h"
#include "ml/model/row_columns.h"
#include "ml/model/split.h"
#include "ml/model/target.h"

#include <math.h>
#include <string.h>

static bool is_given(const char *name)
{
    return name && *name;
}

/* Reads the weights. Rows of weight 0 lose their target, so that nothing sees them. */
static int weights_take(struct ml_data *d, struct err *err)
{
    double least = INFINITY, most = 0;

    if (!is_given(d->spec.by.weights))
        return 0;
    d->weights_name = mem_strdup(d->spec.by.weights);
    if (row_weights(d->spec.frame, d->spec.by.weights, &d->weight, err) < 0)
        return -1;
    for (int64_t i = 0; i < d->rows; i++) {
        if (isnan(d->y[i]))
            continue;
        if (d->weight[i] > 0) {
            least = fmin(least, d->weight[i]);
            most = fmax(most, d->weight[i]);
        } else {
            d->y[i] = NAN;
            d->n_left_out++;
        }
    }
    if (least == most) { /* equal weights change nothing */
        mem_try_free(d->weight);
        d->weight = NULL;
    }
    return 0;
}

/* Weights become 1 on average over the training rows, so that penalties mean the same whatever unit
 * they are given in. */
static void weights_scale(struct ml_data *d)
{
    double top = 0, sum = 0;

    if (!d->weight)
        return;
    for (int64_t i = 0; i < d->rows; i++)
        top = fmax(top, d->fold[i] < SPLIT_NONE ? d->weight[i] : 0);
    for (int64_t i = 0; i < d->rows; i++)
        sum += d->fold[i] < SPLIT_NONE ? d->weight[i] / top : 0;
    for (int64_t i = 0; i < d->rows; i++)
        d->weight[i] = d->weight[i] / top / (sum / (double)d->n_train);
}

/* Rows without a time lose their target too. */
static int times_take(struct ml_data *d, struct err *err)
{
    bool is_order = false;

    if (row_times(d->spec.frame, d->spec.by.time, &d->time, &is_order, err) < 0)
        return -1;
    if (is_order && d->spec.by.gap > 0)
        return err_at(err, "time.gap",
                      "column \"%.100s\" holds text, which has an order but no distances",
                      d->spec.by.time);
    for (int64_t i = 0; i < d->rows; i++) {
        if (!isnan(d->time[i]))
            continue;
        d->time[i] = 0;
        d->n_left_out += !isnan(d->y[i]);
        d->y[i] = NAN;
    }
    d->start = mem_array(SPLIT_MAX_FOLDS, sizeof *d->start);
    return 0;
}

static int repeats_take(struct ml_data *d, struct err *err)
{
    const struct repeats_in in = { d->spec.frame, d->spec.target, d->spec.by.weights, d->k_folds };

    d->n_joined = repeats_join(&in, d->fold, &d->shared->first, &d->n_alike, err);
    return d->n_joined < 0 ? -1 : 0;
}

static int fold_make(struct ml_data *d, struct err *err)
{
    struct split_in in = { .task = d->spec.task,
                           .n = d->rows,
                           .n_classes = d->n_classes,
                           .test_fraction = d->spec.test_fraction,
                           .seed = d->spec.split_seed };

    d->err_together = is_given(d->spec.by.groups) || is_given(d->spec.by.time);
    if (is_given(d->spec.by.groups) && is_given(d->spec.by.time))
        return err_at(err, "groups", "cannot be used together with time");
    if (is_given(d->spec.by.time)) {
        if (times_take(d, err) < 0)
            return -1;
        in.y = d->y;
        in.time = d->time;
        in.gap = d->spec.by.gap;
        return split_make_time(&in, &d->k_folds, d->fold, d->start, err);
    }
    in.y = d->y;
    if (!is_given(d->spec.by.groups))
        return split_make(&in, &d->k_folds, d->fold, err) < 0 ? -1 : repeats_take(d, err);
    if (row_groups(d->spec.frame, d->spec.by.groups, &d->group, &d->n_groups, err) < 0)
        return -1;
    in.group = d->group;
    in.n_groups = d->n_groups;
    return split_make_groups(&in, &d->k_folds, d->fold, err);
}

static int data_split(struct ml_data *d, struct err *err)
{
    struct ml_shared *s = d->shared;
    double first = (double)NAN;
    bool differs = false;

    d->k_folds = d->spec.folds;
    d->fold = mem_try_alloc((size_t)d->rows);
    s->use = mem_try_alloc((size_t)d->rows);
    if (!d->fold || !s->use)
        return err_set(err, ERR_NOMEM, "no memory to split %lld rows", (long long)d->rows);
    if (weights_take(d, err) < 0 || fold_make(d, err) < 0)
        return -1;
    for (int64_t i = 0; i < d->rows; i++) {
        s->use[i] = d->fold[i] < SPLIT_NONE;
        d->n_train += s->use[i];
        if (!s->use[i])
            continue;
        if (isnan(first))
            first = d->y[i];
        differs = differs || d->y[i] != first;
    }
    weights_scale(d);
    if (!differs)
        return err_at(err, "target",
                      "the target column \"%.100s\" has only one value in the training rows",
                      d->spec.target);
    return 0;
}

static int data_target_check(const struct ml_data *d, struct err *err)
{
    struct err why = { 0 };

    for (int64_t i = 0; i < d->rows; i++) {
        if (metric_target_check(d->spec.metric, d->y[i], &why) < 0)
            return err_at(err, "metric", "%s; the column is \"%s\"", why.text, d->spec.target);
    }
    return 0;
}

static int data_target(struct ml_data *d, struct err *err)
{
    const struct target_column in = { d->spec.frame, d->spec.target, d->spec.positive,
                                      d->spec.task };
    struct target t = { 0 };
    int rc = target_read(&in, &t, err);

    if (rc < 0) {
        target_fini(&t);
        return -1;
    }
    d->y = t.y;
    d->classes = t.classes;
    d->n_classes = t.n_classes;
    return 0;
}

#define PART_KEY 0x7061727473ull /* "parts": keeps these draws apart from the split's own */

/* The parts of prep_target: drawn row by row; but rows of one group, and equal rows that were
 * joined, stay in one part, as they stay in one fold. */
static void parts_take(const struct ml_data *d)
{
    bool is_grouped = is_given(d->spec.by.groups) && d->k_folds > 2;
    uint32_t *first = d->shared->first;
    uint64_t key = rng_mix(d->spec.split_seed, PART_KEY);

    d->shared->part = mem_alloc((size_t)d->rows + 1);
    for (int64_t i = 0; i < d->rows; i++) {
        uint64_t row = first ? first[i] : (uint64_t)i;
        uint64_t drawn = rng_mix(key, row);
        d->shared->part[i] = (uint8_t)((is_grouped ? d->fold[i] : drawn >> 11) % PREP_PARTS);
    }
    mem_try_free(first);
    d->shared->first = NULL;
}

/* Turns the target into the unit that is learnt. A deviance needs the target as it is; rmsle is the
 * RMSE of log(1 + y), so that is what is learnt; what depends on the size of the target takes no
 * shift. */
static int unit_take(struct ml_data *d, struct err *err)
{
    enum metric_id metric = d->spec.metric;

    d->truth = d->y;
    if (d->spec.task != ML_REGRESSION || metric == METRIC_POISSON || metric == METRIC_TWEEDIE)
        return 0;
    if (metric == METRIC_RMSLE || !target_unit_log(d->y, d->shared->use, d->rows, &d->log_unit))
        d->log_unit = (struct target_unit){ TARGET_PLAIN, 0, 1 };
    if (d->spec.unit.kind == TARGET_LOG)
        d->unit = d->spec.unit;
    else if (metric == METRIC_RMSLE)
        d->unit = (struct target_unit){ TARGET_LOG, 1, 1 };
    else if (metric_info(metric)->target == METRIC_TARGET_ANY)
        d->unit = target_unit_shifted(d->y, d->shared->use, d->rows);
    if (d->unit.kind == TARGET_LOG) {
        d->truth = mem_try_alloc((size_t)d->rows * sizeof *d->truth);
        if (!d->truth)
            return err_set(err, ERR_NOMEM, "no memory for %lld targets", (long long)d->rows);
        memcpy(d->truth, d->y, (size_t)d->rows * sizeof *d->truth);
    }
    for (int64_t i = 0; i < d->rows; i++)
        d->y[i] = target_learnt(&d->unit, d->y[i]);
    return 0;
}

static int data_unit(struct ml_data *d, struct err *err)
{
    if (unit_take(d, err) < 0)
        return -1;
    if (d->spec.task == ML_REGRESSION)
        d->limits = target_limits_of(d->truth, d->shared->use, d->rows, &d->unit, d->spec.metric);
    return 0;
}

/* The target cannot say how rows are used. */
static int rows_spec_check(const struct ml_data_spec *spec, struct err *err)
{
    const char *const names[] = { spec->by.groups, spec->by.time, spec->by.weights };
    static const char *const keys[] = { "groups", "time", "weights" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (is_given(names[i]) && strcmp(names[i], spec->target) == 0)
            return err_at(err, keys[i], "\"%.100s\" is the target", names[i]);
    }
    return 0;
}

struct ml_data *ml_data_open(const struct ml_data_spec *spec, struct err *err)
{
    const struct prep_choice none = { { 0 } };
    struct ml_data *d = mem_zalloc(sizeof(*d));

    d->spec = *spec;
    d->spec.target = mem_strdup(spec->target);
    d->spec.positive = mem_strdup(spec->positive ? spec->positive : "");
    d->rows = spec->frame->rows;
    d->shared = mem_zalloc(sizeof(*d->shared));
    CHECK(pthread_mutex_init(&d->shared->lock, NULL) == 0);
    CHECK(pthread_mutex_init(&d->shared->variants_lock, NULL) == 0);
    if (!(metric_info(spec->metric)->tasks & (int)spec->task)) {
        err_at(err, "metric", "metric %s does not fit this task", metric_info(spec->metric)->name);
        goto fail;
    }
    if (rows_spec_check(spec, err) < 0 || data_target(d, err) < 0 ||
        data_target_check(d, err) < 0 || data_split(d, err) < 0 || data_unit(d, err) < 0)
        goto fail;
    d->n_outputs = spec->task == ML_MULTICLASS ? d->n_classes : 1;
    parts_take(d);
    if (ml_inputs_take(d, err) < 0 || ml_inputs_prepare(d, &none, err) < 0)
        goto fail;
    d->spec.monotone = NULL;
    d->spec.by = (struct ml_rows_spec){ .gap = spec->by.gap };
    d->shared->bytes = d->rows * 10;
    return d;
fail:
    ml_data_close(d);
    return NULL;
}

void ml_data_close(struct ml_data *d)
{
    if (!d)
        return;
    ml_variants_free(d);
    ml_shared_free(d);
    prep_free(d->prep);
    mem_free(d->monotone);
    for (int i = 0; d->classes && i < d->n_classes; i++)
        mem_free(d->classes[i]);
    mem_free(d->classes);
    if (d->truth != d->y)
        mem_try_free(d->truth);
    mem_try_free(d->y);
    mem_try_free(d->fold);
    mem_try_free(d->time);
    mem_try_free(d->group);
    mem_try_free(d->weight);
    mem_free(d->start);
    mem_free(d->weights_name);
    mem_free((void *)(uintptr_t)d->spec.target);
    mem_free((void *)(uintptr_t)d->spec.positive);
    mem_free(d);
}
