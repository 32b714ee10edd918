/* data_forms.c - the matrices that trials share: bins, dense rows and images (data.h).
 *
 * They are made when they are first asked for. Making one holds the lock, so that threads that need
 * the same matrix wait for it instead of building it twice. What was made stays until close and is
 * read without the lock. Where the preparation has supervised steps, a fold has forms of its own,
 * shared by all trials; they differ in the inputs of those steps only, and all else is copied from
 * the forms of another fold. */
#include "base/mem.h"
#include "ml/model/data_private.h"
#include "ml/model/fold_rows.h"
#include "ml/ops/ops.h"
#include "ml/ops/ops_boost.h"

#include <string.h>

struct prep_target ml_data_prep_target(const struct ml_data *d)
{
    return (struct prep_target){ .y = d->y,
                                 .weight = d->weight,
                                 .n_classes = d->spec.task == ML_MULTICLASS ? d->n_classes : 0,
                                 .classes = (const char *const *)d->classes,
                                 .part = d->shared->part };
}

static void forms_free(struct ml_data *d, struct ml_forms *f)
{
    for (int i = 0; i < SHARED_MAX_BINNINGS; i++) {
        if (f->tables[i])
            d->spec.device->ops->boost->table_free(f->tables[i]);
        if (f->bins[i])
            prep_bins_fini(f->bins[i]);
        mem_free(f->bins[i]);
    }
    if (f->dense)
        prep_dense_fini(f->dense);
    mem_free(f->dense);
    mem_free(f);
}

void ml_shared_free(struct ml_data *d)
{
    struct ml_shared *s = d->shared;

    for (size_t i = 0; i < ARRAY_LEN(s->forms); i++) {
        if (s->forms[i])
            forms_free(d, s->forms[i]);
    }
    if (s->images)
        prep_images_fini(s->images);
    mem_free(s->images);
    if (!s->base) {
        mem_free(s->part);
        mem_try_free(s->first);
        mem_try_free(s->use);
        ml_inputs_free(s->inputs);
        pthread_mutex_destroy(&s->variants_lock);
    }
    pthread_mutex_destroy(&s->lock);
    mem_free(s);
}

/* ---- with the lock held ---- */

static struct ml_forms *forms_of(struct ml_data *d, int fold)
{
    struct ml_forms **f = &d->shared->forms[prep_is_by_fold(d->prep) ? fold + 1 : 0];

    if (!*f)
        *f = mem_zalloc(sizeof **f);
    return *f;
}

/* The table as a fold sees it; prep_view_free. */
static struct prep_view *view_of(const struct ml_data *d, int fold,
                                 const struct prep_target *target, struct err *err)
{
    if (!prep_is_by_fold(d->prep))
        return prep_view_new(d->prep, d->spec.frame, err);
    uint8_t *train = mem_try_alloc((size_t)d->rows + 1);
    struct prep_view *v = NULL;
    if (!train) {
        err_set(err, ERR_NOMEM, "no memory for %lld rows", (long long)d->rows);
        return NULL;
    }
    for (int64_t i = 0; i < d->rows; i++)
        train[i] = row_is_trained(d, i, fold);
    v = prep_view_fold(d->prep, d->spec.frame, target, train, err);
    mem_try_free(train);
    return v;
}

/* The finest bins of any fold, to copy from; NULL = there are none. */
static const struct prep_bins *any_bins(const struct ml_data *d)
{
    for (size_t i = 0; i < ARRAY_LEN(d->shared->forms); i++) {
        const struct ml_forms *f = d->shared->forms[i];
        if (f && f->bins[SHARED_FINEST])
            return f->bins[SHARED_FINEST];
    }
    return NULL;
}

static const struct prep_dense *any_dense(const struct ml_data *d)
{
    for (size_t i = 0; i < ARRAY_LEN(d->shared->forms); i++) {
        const struct ml_forms *f = d->shared->forms[i];
        if (f && f->dense)
            return f->dense;
    }
    return NULL;
}

static int finest_make(const struct ml_data *d, int fold, struct prep_bins *out, struct err *err)
{
    const struct prep_target target = ml_data_prep_target(d);
    struct prep_view *v = view_of(d, fold, &target, err);

    if (!v)
        return -1;
    int rc = prep_bins_make_like(v, any_bins(d), d->rows, out, err);
    prep_view_free(v);
    return rc;
}

static const struct prep_bins *shared_bins(struct ml_data *d, int fold, int max_bins,
                                           struct err *err)
{
    struct ml_forms *s = forms_of(d, fold);
    const struct prep_bins *fine = NULL;

    if (s->bins[max_bins])
        return s->bins[max_bins];
    if (max_bins < SHARED_FINEST) {
        fine = shared_bins(d, fold, SHARED_FINEST, err);
        if (!fine)
            return NULL;
    }
    struct prep_bins *b = mem_zalloc(sizeof(*b));
    int rc = fine ? prep_bins_coarse(fine, max_bins, d->shared->use, b, err)
                  : finest_make(d, fold, b, err);
    if (rc < 0) {
        mem_free(b);
        return NULL;
    }
    s->bins[max_bins] = b;
    d->shared->bytes += b->rows * b->stride;
    return b;
}

static int dense_make(const struct ml_data *d, int fold, struct prep_dense *out, struct err *err)
{
    const struct prep_target target = ml_data_prep_target(d);
    struct prep_view *v = view_of(d, fold, &target, err);

    if (!v)
        return -1;
    int rc = prep_dense_make_like(v, any_dense(d), d->rows, out, err);
    prep_view_free(v);
    return rc;
}

/* ---- what families ask for ---- */

const struct prep_bins *ml_data_bins(struct ml_data *d, int fold, int max_bins, struct err *err)
{
    CHECK(max_bins >= 2);
    pthread_mutex_lock(&d->shared->lock);
    const struct prep_bins *b = shared_bins(d, fold, MIN(max_bins, SHARED_FINEST), err);
    pthread_mutex_unlock(&d->shared->lock);
    return b;
}

const uint8_t *ml_data_columns(struct ml_data *d, int fold, int max_bins, struct err *err)
{
    struct ml_shared *s = d->shared;
    const uint8_t *columns = NULL;

    CHECK(max_bins >= 2);
    pthread_mutex_lock(&s->lock);
    if (shared_bins(d, fold, MIN(max_bins, SHARED_FINEST), err)) {
        struct prep_bins *b = forms_of(d, fold)->bins[MIN(max_bins, SHARED_FINEST)];
        if (!b->columns && prep_bins_columns(b, err) == 0)
            s->bytes += b->rows * b->cols;
        columns = b->columns;
    }
    pthread_mutex_unlock(&s->lock);
    return columns;
}

struct ml_boost_table *ml_data_boost_table(struct ml_data *d, int fold, int max_bins,
                                           struct err *err)
{
    const struct ml_compute *on = d->spec.device;
    int at = MIN(max_bins, SHARED_FINEST);

    CHECK(on && on->ops->boost && max_bins >= 2);
    pthread_mutex_lock(&d->shared->lock);
    const struct prep_bins *b = shared_bins(d, fold, at, err);
    struct ml_boost_table **t = &forms_of(d, fold)->tables[at];
    if (b && !*t) {
        const struct ml_boost_table_in in = { b->bins, b->rows,   b->stride,
                                              b->cols, b->n_bins, b->is_categorical };
        (void)on->ops->boost->table_new(on->ctx, &in, t, err);
    }
    pthread_mutex_unlock(&d->shared->lock);
    return *t;
}

const struct prep_dense *ml_data_dense(struct ml_data *d, int fold, struct err *err)
{
    pthread_mutex_lock(&d->shared->lock);
    struct ml_forms *s = forms_of(d, fold);
    if (!s->dense) {
        struct prep_dense *x = mem_zalloc(sizeof(*x));
        if (dense_make(d, fold, x, err) == 0) {
            s->dense = x;
            d->shared->bytes += x->rows * x->stride * (int64_t)sizeof(float);
        } else {
            mem_free(x);
        }
    }
    const struct prep_dense *dense = s->dense;
    pthread_mutex_unlock(&d->shared->lock);
    return dense;
}

static int64_t image_bytes(const struct ml_data *d)
{
    const struct frame_image *m = &d->spec.frame->image;

    return d->rows * frame_image_values(m) * (m->is_bytes ? 1 : (int64_t)sizeof(float));
}

const struct prep_images *ml_data_images(struct ml_data *d, struct err *err)
{
    struct ml_shared *s = d->shared;

    pthread_mutex_lock(&s->lock);
    if (!s->images) {
        struct prep_images *m = mem_zalloc(sizeof(*m));
        struct prep_view *v = prep_view_new(d->prep, d->spec.frame, err);
        if (v && prep_images_make(v, 0, d->rows, m, err) == 0) {
            s->images = m;
            s->bytes += image_bytes(d);
        } else {
            mem_free(m);
        }
        prep_view_free(v);
    }
    const struct prep_images *images = s->images;
    pthread_mutex_unlock(&s->lock);
    return images;
}

int64_t ml_data_shared_bytes(const struct ml_data *d)
{
    struct ml_shared *s = d->shared;

    pthread_mutex_lock(&s->lock);
    int64_t bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return s->base ? bytes : bytes + ml_variants_bytes(d);
}

int64_t ml_data_missing_bytes(const struct ml_data *d, enum family_form form)
{
    struct ml_shared *s = d->shared;
    int64_t cols = prep_inputs(d->prep), wide = prep_width(d->prep), bytes = 0;
    bool is_by_fold = prep_is_by_fold(d->prep);

    pthread_mutex_lock(&s->lock);
    for (int i = is_by_fold; i < (is_by_fold ? d->k_folds + 1 : 1); i++) {
        static const struct ml_forms none;
        const struct ml_forms *f = s->forms[i] ? s->forms[i] : &none;
        const struct prep_bins *b = f->bins[SHARED_FINEST];
        if (form == FF_BINS && !b)
            bytes += d->rows * ((cols + 15) / 16 * 16);
        if (form == FF_BINS && (!b || !b->columns))
            bytes += d->rows * cols;
        if (form == FF_DENSE && !f->dense)
            bytes += d->rows * ((wide + 15) / 16 * 16) * (int64_t)sizeof(float);
    }
    if (form == FF_IMAGES && !s->images)
        bytes += image_bytes(d);
    pthread_mutex_unlock(&s->lock);
    return bytes;
}
