/* intervals.c - how far numbers are from their predictions (adjust.h).
 *
 * How large residuals are is told by groups of rows with like predictions, as their mean absolute
 * residual. A residual is divided by what the rows of other parts say of its size, so that no row makes
 * its own divisor. Where that does not make intervals narrower, all residuals count as they are. */
#include "ml/adjust/adjust_fit_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/sort.h"

#include <math.h>
#include <string.h>

/* A group has at least GROUP_ROWS rows. */
enum { GROUP_ROWS = 60 };
/* Sizes must make the 90 % interval narrower by this. A size is at least LEAST_SIZE of the mean. */
#define NARROWER   0.98
#define LEAST_SIZE 0.1

/* Rows sorted by their prediction. */
struct ordered {
    const struct adjust_rows *r;
    uint32_t *row;
    uint64_t *key;
    double all;
};

static double residual_of(const struct adjust_rows *r, int64_t i)
{
    return r->y[i] - (double)r->p[i];
}

/* Adds the place of a group, if it is above the last. */
static void place_add(struct adjust_intervals *v, double at, double size)
{
    if (v->places > 0 && !(at > v->at[v->places - 1]))
        return;
    v->at[v->places] = at;
    v->size[v->places++] = size;
}

static void sizes_of(const struct ordered *o, int without, struct adjust_intervals *v)
{
    int64_t n = 0, seen = 0;
    double mean = 0, all = 0;

    for (int64_t k = 0; k < o->r->n; k++) {
        if (o->r->part[k] == without)
            continue;
        n++;
        all += adjust_weight(o->r, k);
        mean += adjust_weight(o->r, k) * fabs(residual_of(o->r, k));
    }
    int64_t groups = MIN(n / GROUP_ROWS, ADJUST_PLACES);
    double at = 0, size = 0, weight = 0, least = all > 0 ? LEAST_SIZE * mean / all : 0;
    v->places = 0;
    if (groups < 2 || !(least > 0))
        return;
    for (int64_t k = 0, group = 0; k < o->r->n; k++) {
        uint32_t i = o->row[k];
        double w = adjust_weight(o->r, i);
        if (o->r->part[i] == without)
            continue;
        at += w * (double)o->r->p[i];
        size += w * fabs(residual_of(o->r, i));
        weight += w;
        if (++seen < n * (group + 1) / groups)
            continue;
        place_add(v, at / weight, fmax(size / weight, least));
        at = size = weight = 0;
        group++;
    }
}

/* The residuals divided by `size`, as the quantiles that are kept; key, row: scratch. */
static int quantiles(const struct ordered *o, const double *size, struct adjust_intervals *v,
                     uint64_t *key, uint32_t *row, struct err *err)
{
    const struct adjust_rows *r = o->r;
    double squares = 0, seen = 0, n;
    int64_t at = 0;

    for (int64_t i = 0; i < r->n; i++) {
        squares += adjust_weight(r, i) * adjust_weight(r, i);
        key[i] = ml_key_f64(residual_of(r, i) / (size ? size[i] : 1));
        row[i] = (uint32_t)i;
    }
    if (ml_sort_u64(key, row, (size_t)r->n, err) < 0)
        return -1;
    /* so many rows of equal weight would say as much (Kish 1965) */
    n = r->weight ? o->all * o->all / squares : (double)r->n;
    v->n = (int)fmin(floor(n + 1e-9), ADJUST_RESIDUALS);
    seen = r->n > 0 ? adjust_weight(r, row[0]) : 0;
    for (int j = 1; j <= v->n; j++) {
        double target = j * (n + 1) / (v->n + 1) * o->all / n;
        while (at + 1 < r->n && seen < target * (1 - 1e-12))
            seen += adjust_weight(r, row[++at]);
        v->residual[j - 1] = (float)ml_key_value(key[at]);
    }
    return 0;
}

static double mean_size(const struct ordered *o, const double *size)
{
    double sum = 0;

    for (int64_t i = 0; i < o->r->n; i++)
        sum += adjust_weight(o->r, i) * size[i];
    return sum / o->all;
}

/* The width of the interval of 90 %, or of the widest where rows are too few. */
static double width_of(const struct adjust_intervals *v)
{
    struct adjust a = { .intervals = *v };
    double lower = 0, upper = 0;

    a.intervals.places = 0;
    adjust_interval(&a, fmin(0.9, adjust_most_level(&a)), 0, &lower, &upper);
    return upper - lower;
}

static int spread(const struct ordered *o, struct adjust_intervals *out, uint64_t *key,
                  uint32_t *row, double *size, struct err *err)
{
    struct adjust_intervals by[ADJUST_PARTS], sized = { 0 };
    const struct adjust_rows *r = o->r;
    int rc = 0;

    if (quantiles(o, NULL, out, key, row, err) < 0)
        return -1;
    for (int part = 0; part < r->parts; part++)
        sizes_of(o, part, &by[part]);
    sizes_of(o, -1, &sized);
    if (sized.places < 2 || r->parts < 2)
        return 0;
    for (int64_t i = 0; i < r->n; i++)
        size[i] = adjust_size_at(&by[r->part[i]], (double)r->p[i]);
    sized.residual = mem_array(ADJUST_RESIDUALS, sizeof *sized.residual);
    rc = quantiles(o, size, &sized, key, row, err);
    if (rc == 0 && width_of(&sized) * mean_size(o, size) < NARROWER * width_of(out)) {
        memcpy(out->residual, sized.residual, (size_t)sized.n * sizeof *out->residual);
        memcpy(out->at, sized.at, sizeof out->at);
        memcpy(out->size, sized.size, sizeof out->size);
        out->places = sized.places;
    }
    mem_free(sized.residual);
    return rc;
}

int adjust_spread(const struct adjust_rows *r, struct adjust_intervals *out, struct err *err)
{
    size_t n = (size_t)r->n + 1;
    struct ordered o = { .r = r };
    uint64_t *key = mem_try_alloc(n * sizeof *key);
    uint32_t *row = mem_try_alloc(n * sizeof *row);
    double *size = mem_try_alloc(n * sizeof *size);
    int rc = -1;

    *out = (struct adjust_intervals){ .rows = r->n };
    o.key = mem_try_alloc(n * sizeof *o.key);
    o.row = mem_try_alloc(n * sizeof *o.row);
    if (!key || !row || !size || !o.key || !o.row) {
        err_set(err, ERR_NOMEM, "no memory to sort %lld residuals", (long long)r->n);
        goto out;
    }
    for (int64_t i = 0; i < r->n; i++) {
        o.key[i] = ml_key_f64((double)r->p[i]);
        o.row[i] = (uint32_t)i;
        o.all += adjust_weight(r, i);
    }
    out->residual = mem_array(ADJUST_RESIDUALS, sizeof *out->residual);
    if (ml_sort_u64(o.key, o.row, (size_t)r->n, err) == 0)
        rc = r->n >= 2 ? spread(&o, out, key, row, size, err) : 0;
out:
    mem_try_free(key);
    mem_try_free(row);
    mem_try_free(size);
    mem_try_free(o.key);
    mem_try_free(o.row);
    return rc;
}
