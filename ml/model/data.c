/* data.c - opening a learning problem, and the matrices that its trials share (data.h).
 *
 * Target, split and preparation are made at once; the matrices when they are first asked for.
 * Making one holds the lock, so that threads that need the same matrix wait for it instead of
 * building it twice. What was made stays until close and is read without the lock. Everything but
 * ml_shared is immutable after open. Called by the engine and the worker. */
#include "ml/model/data.h"

#include "base/mem.h"
#include "ml/model/split.h"
#include "ml/model/target.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_boost.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

/* Binnings by their number of bins, 2 to 255; all others are made from the finest one. */
enum { SHARED_MAX_BINNINGS = 256, SHARED_FINEST = 255 };

struct ml_shared {
    pthread_mutex_t lock;
    uint8_t *use; /* [rows] 1 = training row */
    struct prep_view *view;
    struct prep_bins *bins[SHARED_MAX_BINNINGS];        /* by max_bins */
    struct ml_boost_table *tables[SHARED_MAX_BINNINGS]; /* the same on the device */
    struct prep_dense *dense;
    int64_t bytes;
};

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
    if (split_make(d->spec.task, d->y, d->rows, d->n_classes, d->spec.test_fraction, &d->k_folds,
                   d->spec.split_seed, d->fold, err) < 0)
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
    if (!differs)
        return err_at(err, "target",
                      "the target column \"%.100s\" has only one value in the training rows",
                      d->spec.target);
    return 0;
}

/* direction: one for each column of the frame. */
static int monotone_columns(const struct ml_data *d, int8_t *direction, struct err *err)
{
    const struct frame *f = d->spec.frame;

    for (int i = 0; i < d->spec.n_monotone; i++) {
        const struct ml_monotone *m = &d->spec.monotone[i];
        int at = frame_find(f, m->column);
        if (at < 0 || strcmp(m->column, d->spec.target) == 0)
            return err_at(err, "monotone", "the table has no input \"%.100s\"", m->column);
        if (f->cols[at].type == FRAME_CATEGORICAL)
            return err_at(err, "monotone", "column \"%.100s\" holds no numbers", m->column);
        direction[at] = (int8_t)m->direction;
    }
    return 0;
}

/* Constraints by input. A column that the preparation has dropped (a constant one) has no input and
 * needs no constraint. */
static int data_monotone(struct ml_data *d, struct err *err)
{
    const struct frame *f = d->spec.frame;

    if (d->spec.n_monotone == 0)
        return 0;
    if (d->spec.task == ML_MULTICLASS)
        return err_at(err, "monotone", "needs a target of two classes or of numbers");
    int8_t *direction = mem_array((size_t)f->n_cols, sizeof *direction);
    int rc = monotone_columns(d, direction, err);
    d->monotone = mem_array((size_t)prep_inputs(d->prep), sizeof *d->monotone);
    for (int k = 0; k < prep_inputs(d->prep); k++)
        d->monotone[k] = direction[frame_find(f, prep_input_name(d->prep, k))];
    mem_free(direction);
    return rc;
}

static int data_counts_check(const struct ml_data *d, struct err *err)
{
    for (int64_t i = 0; d->spec.metric == METRIC_POISSON && i < d->rows; i++) {
        if (d->y[i] < 0)
            return err_at(err, "metric", "poisson_deviance needs a target from 0 up; \"%s\" has %g",
                          d->spec.target, d->y[i]);
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

struct ml_data *ml_data_open(const struct ml_data_spec *spec, struct err *err)
{
    struct ml_data *d = mem_zalloc(sizeof(*d));

    d->spec = *spec;
    d->spec.target = mem_strdup(spec->target);
    d->spec.positive = mem_strdup(spec->positive ? spec->positive : "");
    d->rows = spec->frame->rows;
    d->shared = mem_zalloc(sizeof(*d->shared));
    CHECK(pthread_mutex_init(&d->shared->lock, NULL) == 0);
    if (!(metric_info(spec->metric)->tasks & (int)spec->task)) {
        err_at(err, "metric", "metric %s does not fit this task", metric_info(spec->metric)->name);
        goto fail;
    }
    if (data_target(d, err) < 0 || data_counts_check(d, err) < 0 || data_split(d, err) < 0)
        goto fail;
    d->n_outputs = spec->task == ML_MULTICLASS ? d->n_classes : 1;
    d->prep = prep_fit(spec->frame, d->spec.target, d->shared->use, err);
    d->shared->view = d->prep ? prep_view_new(d->prep, spec->frame, err) : NULL;
    if (!d->shared->view || data_monotone(d, err) < 0)
        goto fail;
    d->spec.monotone = NULL;
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
    struct ml_shared *s = d->shared;
    for (int i = 0; i < SHARED_MAX_BINNINGS; i++) {
        if (s->tables[i])
            d->spec.device->ops->boost->table_free(s->tables[i]);
        if (s->bins[i])
            prep_bins_fini(s->bins[i]);
        mem_free(s->bins[i]);
    }
    if (s->dense)
        prep_dense_fini(s->dense);
    mem_free(s->dense);
    prep_view_free(s->view);
    prep_free(d->prep);
    mem_free(d->monotone);
    mem_try_free(s->use);
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
    for (int i = 0; d->classes && i < d->n_classes; i++)
        mem_free(d->classes[i]);
    mem_free(d->classes);
    mem_try_free(d->y);
    mem_try_free(d->fold);
    mem_free((void *)(uintptr_t)d->spec.target);
    mem_free((void *)(uintptr_t)d->spec.positive);
    mem_free(d);
}

/* To be called with the lock held. */
static const struct prep_bins *shared_bins(struct ml_data *d, int max_bins, struct err *err)
{
    struct ml_shared *s = d->shared;
    const struct prep_bins *fine = NULL;

    if (s->bins[max_bins])
        return s->bins[max_bins];
    if (max_bins < SHARED_FINEST) {
        fine = shared_bins(d, SHARED_FINEST, err);
        if (!fine)
            return NULL;
    }
    struct prep_bins *b = mem_zalloc(sizeof(*b));
    int rc = fine ? prep_bins_coarse(fine, max_bins, s->use, b, err)
                  : prep_bins_make(s->view, 0, d->rows, b, err);
    if (rc < 0) {
        mem_free(b);
        return NULL;
    }
    s->bins[max_bins] = b;
    s->bytes += b->rows * b->stride;
    return b;
}

const struct prep_bins *ml_data_bins(struct ml_data *d, int max_bins, struct err *err)
{
    CHECK(max_bins >= 2);
    pthread_mutex_lock(&d->shared->lock);
    const struct prep_bins *b = shared_bins(d, MIN(max_bins, SHARED_FINEST), err);
    pthread_mutex_unlock(&d->shared->lock);
    return b;
}

const uint8_t *ml_data_columns(struct ml_data *d, int max_bins, struct err *err)
{
    struct ml_shared *s = d->shared;
    const uint8_t *columns = NULL;

    CHECK(max_bins >= 2);
    pthread_mutex_lock(&s->lock);
    if (shared_bins(d, MIN(max_bins, SHARED_FINEST), err)) {
        struct prep_bins *b = s->bins[MIN(max_bins, SHARED_FINEST)];
        if (!b->columns && prep_bins_columns(b, err) == 0)
            s->bytes += b->rows * b->cols;
        columns = b->columns;
    }
    pthread_mutex_unlock(&s->lock);
    return columns;
}

struct ml_boost_table *ml_data_boost_table(struct ml_data *d, int max_bins, struct err *err)
{
    const struct ml_compute *on = d->spec.device;
    int at = MIN(max_bins, SHARED_FINEST);

    CHECK(on && on->ops->boost && max_bins >= 2);
    pthread_mutex_lock(&d->shared->lock);
    const struct prep_bins *b = shared_bins(d, at, err);
    struct ml_boost_table **t = &d->shared->tables[at];
    if (b && !*t) {
        const struct ml_boost_table_in in = { b->bins, b->rows,   b->stride,
                                              b->cols, b->n_bins, b->is_categorical };
        (void)on->ops->boost->table_new(on->ctx, &in, t, err);
    }
    pthread_mutex_unlock(&d->shared->lock);
    return *t;
}

const struct prep_dense *ml_data_dense(struct ml_data *d, struct err *err)
{
    struct ml_shared *s = d->shared;

    pthread_mutex_lock(&s->lock);
    if (!s->dense) {
        struct prep_dense *x = mem_zalloc(sizeof(*x));
        if (prep_dense_make(s->view, 0, d->rows, x, err) == 0) {
            s->dense = x;
            s->bytes += x->rows * x->stride * (int64_t)sizeof(float);
        } else {
            mem_free(x);
        }
    }
    const struct prep_dense *dense = s->dense;
    pthread_mutex_unlock(&s->lock);
    return dense;
}

int64_t ml_data_shared_bytes(const struct ml_data *d)
{
    struct ml_shared *s = d->shared;

    pthread_mutex_lock(&s->lock);
    int64_t bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

int64_t ml_data_missing_bytes(const struct ml_data *d, enum family_form form)
{
    struct ml_shared *s = d->shared;
    int64_t cols = prep_inputs(d->prep), wide = prep_width(d->prep), bytes = 0;

    pthread_mutex_lock(&s->lock);
    const struct prep_bins *b = s->bins[SHARED_FINEST];
    if (form == FF_BINS && !b)
        bytes += d->rows * ((cols + 15) / 16 * 16);
    if (form == FF_BINS && (!b || !b->columns))
        bytes += d->rows * cols;
    if (form == FF_DENSE && !s->dense)
        bytes += d->rows * ((wide + 15) / 16 * 16) * (int64_t)sizeof(float);
    pthread_mutex_unlock(&s->lock);
    return bytes;
}
