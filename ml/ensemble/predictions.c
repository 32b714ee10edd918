/* predictions.c - writes and reads the file of predictions.h. Called by ml/fit/ when a trial ships,
 * and by the worker that makes an ensemble. */
#include "ml/ensemble/predictions.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

#define MAGIC "ASSAYOOF"
/* POWER_FORMAT: a power follows the shift. */
enum { FORMAT = 1, POWER_FORMAT = 2 };

static void rows_fini(struct predicted_rows *r)
{
    mem_try_free(r->fold);
    mem_try_free(r->y);
    mem_try_free(r->weight);
    mem_try_free(r->p);
    *r = (struct predicted_rows){ 0 };
}

void predictions_fini(struct predictions *p)
{
    rows_fini(&p->held);
    rows_fini(&p->test);
}

/* ---- writing ---- */

static int put_f64s(struct buf *out, const double *v, int64_t n, struct err *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (buf_put_f64(out, v[i], err) < 0)
            return -1;
    }
    return 0;
}

static int rows_write(const struct predicted_rows *r, int outputs, struct buf *out, struct err *err)
{
    if (r->n == 0)
        return 0;
    if ((r->fold && buf_add(out, r->fold, (size_t)r->n, err) < 0) ||
        put_f64s(out, r->y, r->n, err) < 0 ||
        (r->weight && put_f64s(out, r->weight, r->n, err) < 0))
        return -1;
    for (int64_t i = 0; i < r->n * outputs; i++) {
        if (buf_put_f32(out, r->p[i], err) < 0)
            return -1;
    }
    return 0;
}

int predictions_write(const struct predictions *p, struct buf *out, struct err *err)
{
    uint32_t weights = (p->held.weight ? 1u : 0u) | (p->test.weight ? 2u : 0u);

    CHECK(p->held.n > 0 && p->held.fold && p->outputs >= 1);
    if (buf_add(out, MAGIC, 8, err) < 0 ||
        buf_put_u32(out, p->power > 0 ? POWER_FORMAT : FORMAT, err) < 0 ||
        buf_put_u32(out, (uint32_t)p->task, err) < 0 ||
        buf_put_u32(out, (uint32_t)p->metric, err) < 0 ||
        buf_put_u32(out, (uint32_t)p->outputs, err) < 0 ||
        buf_put_u32(out, (uint32_t)p->classes, err) < 0 ||
        buf_put_u32(out, (uint32_t)p->folds, err) < 0 || buf_put_u32(out, weights, err) < 0 ||
        buf_put_u64(out, (uint64_t)p->held.n, err) < 0 ||
        buf_put_u64(out, (uint64_t)p->test.n, err) < 0 || buf_put_f64(out, p->shift, err) < 0 ||
        (p->power > 0 && buf_put_f64(out, p->power, err) < 0))
        return -1;
    return rows_write(&p->held, p->outputs, out, err) < 0
               ? -1
               : rows_write(&p->test, p->outputs, out, err);
}

/* ---- reading ---- */

static int broken(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "damaged predictions: %s", what);
}

/* NULL: no memory, or a value that cannot be. */
static double *f64s_read(struct view *in, int64_t n, struct err *err)
{
    double *v = mem_try_alloc((size_t)n * sizeof *v);

    if (!v)
        err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)n);
    for (int64_t i = 0; v && i < n; i++) {
        if (view_f64(in, &v[i], err) < 0 || (!isfinite(v[i]) && broken(err, "no number") < 0)) {
            mem_try_free(v);
            return NULL;
        }
    }
    return v;
}

static int rows_read(struct predicted_rows *r, const struct predictions *p, bool is_held,
                     bool has_weights, struct view *in, struct err *err)
{
    const void *fold = NULL;

    if (r->n == 0)
        return 0;
    if (is_held) {
        if (view_bytes(in, &fold, (size_t)r->n, err) < 0)
            return -1;
        r->fold = mem_try_alloc((size_t)r->n);
        if (!r->fold)
            return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)r->n);
        memcpy(r->fold, fold, (size_t)r->n);
    }
    r->y = f64s_read(in, r->n, err);
    r->weight = r->y && has_weights ? f64s_read(in, r->n, err) : NULL;
    if (!r->y || (has_weights && !r->weight))
        return -1;
    r->p = mem_try_alloc((size_t)(r->n * p->outputs) * sizeof *r->p);
    if (!r->p)
        return err_set(err, ERR_NOMEM, "no memory for %lld predictions", (long long)r->n);
    for (int64_t i = 0; i < r->n * p->outputs; i++) {
        if (view_f32(in, &r->p[i], err) < 0)
            return -1;
        if (!isfinite(r->p[i]))
            return broken(err, "a prediction is no number");
    }
    for (int64_t i = 0; i < r->n; i++) {
        if (p->classes > 0 && !(r->y[i] >= 0 && r->y[i] < p->classes && r->y[i] == floor(r->y[i])))
            return broken(err, "a class that is not there");
        if (r->weight && !(r->weight[i] > 0))
            return broken(err, "a weight that is not above 0");
        if (r->fold && r->fold[i] >= p->folds)
            return broken(err, "a fold that is not there");
    }
    return 0;
}

static int head_read(struct predictions *p, struct view *in, uint32_t *weights, struct err *err)
{
    uint32_t format = 0, task = 0, metric = 0, outputs = 0, classes = 0, folds = 0;
    uint64_t held = 0, test = 0;
    const void *magic = NULL;

    if (view_bytes(in, &magic, 8, err) < 0 || memcmp(magic, MAGIC, 8) != 0)
        return err_set(err, ERR_ARG, "this is no file of predictions");
    if (view_u32(in, &format, err) < 0 || view_u32(in, &task, err) < 0 ||
        view_u32(in, &metric, err) < 0 || view_u32(in, &outputs, err) < 0 ||
        view_u32(in, &classes, err) < 0 || view_u32(in, &folds, err) < 0 ||
        view_u32(in, weights, err) < 0 || view_u64(in, &held, err) < 0 ||
        view_u64(in, &test, err) < 0 || view_f64(in, &p->shift, err) < 0)
        return -1;
    if (format != FORMAT && format != POWER_FORMAT)
        return err_set(err, ERR_VERSION, "predictions of format %u, this program reads up to %d",
                       format, POWER_FORMAT);
    if (format == POWER_FORMAT && view_f64(in, &p->power, err) < 0)
        return -1;
    if (format == POWER_FORMAT && !(p->power > 1 && p->power <= 10))
        return broken(err, "a power that is out of range");
    if (metric >= METRICS || !(metric_info((enum metric_id)metric)->tasks & (int)task))
        return broken(err, "its task and metric do not fit");
    bool fits = task == ML_BINARY       ? outputs == 1 && classes == 2
                : task == ML_MULTICLASS ? outputs == classes && classes >= 2
                                        : task == ML_REGRESSION && outputs == 1 && classes == 0;
    if (!fits || classes > PREDICTIONS_MOST_CLASSES || folds < 1 ||
        folds > PREDICTIONS_MOST_FOLDS || *weights > 3 || !isfinite(p->shift))
        return broken(err, "its sizes do not fit");
    /* a row takes at least 12 bytes */
    if (held < 1 || held > in->len / 12 || test > in->len / 12 || held * outputs > in->len / 4 ||
        test * outputs > in->len / 4)
        return broken(err, "more rows than bytes");
    p->task = (enum ml_task)task;
    p->metric = (enum metric_id)metric;
    p->outputs = (int)outputs;
    p->classes = (int)classes;
    p->folds = (int)folds;
    p->held.n = (int64_t)held;
    p->test.n = (int64_t)test;
    return 0;
}

int predictions_read(struct predictions *p, const void *bytes, size_t n, struct err *err)
{
    struct view in = { bytes, n, 0 };
    uint32_t weights = 0;

    *p = (struct predictions){ 0 };
    if (head_read(p, &in, &weights, err) == 0 &&
        rows_read(&p->held, p, true, weights & 1, &in, err) == 0 &&
        rows_read(&p->test, p, false, weights & 2, &in, err) == 0 &&
        (in.pos == in.len || broken(err, "bytes after its end") == 0))
        return 0;
    predictions_fini(p);
    return -1;
}

static bool rows_match(const struct predicted_rows *a, const struct predicted_rows *b)
{
    size_t bytes = (size_t)a->n * sizeof *a->y;

    if (a->n != b->n || !a->weight != !b->weight || !a->fold != !b->fold)
        return false;
    return a->n == 0 || (memcmp(a->y, b->y, bytes) == 0 &&
                         (!a->weight || memcmp(a->weight, b->weight, bytes) == 0) &&
                         (!a->fold || memcmp(a->fold, b->fold, (size_t)a->n) == 0));
}

bool predictions_match(const struct predictions *a, const struct predictions *b)
{
    return a->task == b->task && a->metric == b->metric && a->outputs == b->outputs &&
           a->classes == b->classes && a->folds == b->folds && a->shift == b->shift &&
           rows_match(&a->held, &b->held) && rows_match(&a->test, &b->test);
}

bool predictions_limits(const struct predictions *p, double *least, double *most)
{
    double lo = INFINITY, hi = -INFINITY;

    for (int64_t i = 0; i < p->held.n; i++) {
        lo = fmin(lo, p->held.y[i]);
        hi = fmax(hi, p->held.y[i]);
    }
    *least = lo - (hi - lo);
    *most = hi + (hi - lo);
    return p->task == ML_REGRESSION && isfinite(*least) && isfinite(*most);
}

static void rows_clip(struct predicted_rows *r, double least, double most)
{
    for (int64_t i = 0; i < r->n; i++)
        r->p[i] = (float)fmin(fmax((double)r->p[i], least), most);
}

void predictions_clip(struct predictions *p, double least, double most)
{
    rows_clip(&p->held, least, most);
    rows_clip(&p->test, least, most);
}
