/* prep_fit.c - fitting a preparation, one column at a time, in two readings of the rows that may be
 * seen.
 *
 * Numbers get their cuts and the median from a sample; range, mean and spread from all rows.
 * Categories get their levels in the order of frequency. Columns that tell nothing are left out.
 * Sums run in row order: equal rows give equal bytes on every machine. Called by ml/model/data.c. */
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/column.h"
#include "ml/prep/prep_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fit {
    const struct frame *frame;
    const uint8_t *use;
    int64_t n_used;
    int64_t *picked; /* [n_picked] rows of the sample, ascending */
    int64_t n_picked;
    double *sample; /* [n_picked] */
    struct prep_sorter sorter;
    double *numbers; /* [PREP_BLOCK] */
    int32_t *codes;  /* [PREP_BLOCK] */
};

static bool row_used(const struct fit *f, int64_t i)
{
    return !f->use || f->use[i];
}

/* All rows when there are few; else one at random from each of PREP_SAMPLE equal stretches of the
 * table. */
static int fit_pick(struct fit *f, struct err *err)
{
    int64_t seen = 0, next = 0;
    uint32_t u[4];

    f->n_picked = MIN(f->n_used, PREP_SAMPLE);
    f->picked = mem_try_alloc((size_t)f->n_picked * sizeof(*f->picked));
    f->sample = mem_try_alloc((size_t)f->n_picked * sizeof(*f->sample));
    if (!f->picked || !f->sample)
        return err_set(err, ERR_NOMEM, "no memory for a sample of the rows");
    if (prep_sorter_init(&f->sorter, f->n_picked, err) < 0)
        return -1;
    int64_t n = 0;
    for (int64_t i = 0; i < f->frame->rows && n < f->n_picked; i++) {
        if (!row_used(f, i))
            continue;
        if (seen++ < next)
            continue;
        f->picked[n++] = i;
        int64_t lo = n * f->n_used / f->n_picked, hi = (n + 1) * f->n_used / f->n_picked;
        rng_at(0, 0, 0, (uint64_t)n, u);
        next = hi > lo ? lo + (int64_t)(u[0] % (uint64_t)(hi - lo)) : lo;
    }
    CHECK(n == f->n_picked);
    return 0;
}

static double clamped(double x, double lo, double hi)
{
    return x < lo ? lo : x > hi ? hi : x;
}

/* One reading of all rows that may be seen. */
static void fit_read(struct fit *f, int at, double center, struct column_total *out)
{
    struct column_moments m;

    column_moments_init(&m, center);
    for (int64_t from = 0; from < f->frame->rows; from += PREP_BLOCK) {
        int64_t n = MIN(f->frame->rows - from, PREP_BLOCK);
        frame_numbers(f->frame, at, from, n, f->numbers);
        column_moments_add(&m, f->numbers, f->use ? f->use + from : NULL, n);
    }
    column_moments_total(&m, out);
}

/* Mean and spread as they are once missing values have become the median, and infinite ones the
 * ends of the range. */
static void fit_spread(struct prep_col *col, const struct column_total *t)
{
    /* the median is the center of the sums */
    double up = col->hi - col->median, down = col->lo - col->median;
    double above = (double)t->above, below = (double)t->below, n = (double)t->n;
    double sum = t->sum + above * up + below * down;
    double squares = t->squares + above * up * up + below * down * down;
    double off = sum / n, spread = squares / n - off * off;

    col->mean = col->median + off;
    col->sd = sqrt(spread > 0 ? spread : 0);
    if (!(col->sd > 0 && isfinite(col->sd)))
        col->sd = 1;
    if (!isfinite(col->mean))
        col->mean = col->median;
}

/* Mean and spread of a 0/1 column. */
static void hot_set(struct prep_col *col, int i, int64_t ones, int64_t n)
{
    double p = (double)ones / (double)n;

    col->hot_mean[i] = p;
    col->hot_sd[i] = sqrt(p * (1 - p));
}

/* 1 = an input; 0 = the column tells nothing. */
static int fit_numeric(struct fit *f, int at, struct prep_col *col)
{
    struct column_total t;

    frame_numbers_at(f->frame, at, f->picked, f->n_picked, f->sample);
    col->median = NAN;
    prep_cuts_fit(col, f->sample, f->n_picked, &f->sorter);
    double center = isnan(col->median) ? 0 : col->median;
    fit_read(f, at, center, &t);
    if (t.lo > t.hi || (t.lo == t.hi && t.missing == 0)) {
        mem_free(col->cuts);
        *col = (struct prep_col){ .type = col->type };
        return 0;
    }
    col->lo = t.lo;
    col->hi = t.hi;
    col->median = isnan(col->median) ? t.lo : clamped(col->median, t.lo, t.hi);
    if (col->median != center)
        fit_read(f, at, col->median, &t);
    fit_spread(col, &t);
    col->has_missing = t.missing > 0;
    col->hot_mean = mem_array(1, sizeof(double));
    col->hot_sd = mem_array(1, sizeof(double));
    if (col->has_missing)
        hot_set(col, 0, t.missing, t.n);
    return 1;
}

struct level_count {
    const char *text;
    int64_t n;
};

static int level_order(const void *va, const void *vb)
{
    const struct level_count *a = va, *b = vb;

    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return strcmp(a->text, b->text);
}

static void count_levels(struct fit *f, int at, struct level_count *count, int64_t *missing)
{
    for (int64_t from = 0; from < f->frame->rows; from += PREP_BLOCK) {
        int64_t n = MIN(f->frame->rows - from, PREP_BLOCK);
        frame_codes(f->frame, at, from, n, f->codes);
        for (int64_t i = 0; i < n; i++) {
            if (!row_used(f, from + i))
                continue;
            if (f->codes[i] < 0)
                ++*missing;
            else
                count[f->codes[i]].n++;
        }
    }
}

/* Takes the levels, the one-hot columns and their means from counts in the order of frequency. */
static void levels_take(struct prep_col *col, const struct level_count *count, int n_levels,
                        int64_t missing, int64_t n)
{
    int64_t other = 0;

    col->n_levels = MIN(n_levels, PREP_MAX_LEVELS);
    col->levels = mem_array((size_t)col->n_levels + 1, sizeof(*col->levels));
    for (int i = 0; i < col->n_levels; i++) {
        col->levels[i] = mem_strdup(count[i].text);
        if (i == col->n_hot && i < PREP_MAX_HOT && count[i].n >= 10 && count[i].n * 100 >= n)
            col->n_hot++;
        else
            other += count[i].n;
    }
    for (int i = col->n_levels; i < n_levels; i++)
        /* past PREP_MAX_LEVELS a level is unknown */
        missing += count[i].n;
    col->n_bins = MIN(col->n_levels, PREP_MAX_BINS);
    col->has_other = other > 0;
    col->has_missing = missing > 0;
    col->hot_mean = mem_array((size_t)col->n_hot + 2, sizeof(double));
    col->hot_sd = mem_array((size_t)col->n_hot + 2, sizeof(double));
    int at = 0;
    for (; at < col->n_hot; at++)
        hot_set(col, at, count[at].n, n);
    if (col->has_other)
        hot_set(col, at++, other, n);
    if (col->has_missing)
        hot_set(col, at, missing, n);
}

static int fit_categorical(struct fit *f, int at, struct prep_col *col, struct err *err)
{
    const struct frame_col *fc = &f->frame->cols[at];
    struct level_count *count = mem_try_zalloc(((size_t)fc->n_levels + 1) * sizeof(*count));
    int64_t missing = 0;
    int n_levels = 0, rc = 0;

    if (!count)
        return err_set(err, ERR_NOMEM, "no memory for %d levels", fc->n_levels);
    for (int i = 0; i < fc->n_levels; i++)
        count[i].text = fc->levels[i];
    count_levels(f, at, count, &missing);
    qsort(count, (size_t)fc->n_levels, sizeof(*count), level_order);
    while (n_levels < fc->n_levels && count[n_levels].n > 0)
        n_levels++;
    bool is_constant = n_levels == 0 || (n_levels == 1 && missing == 0);
    bool never_repeats = n_levels > 0 && count[0].n == 1;
    if (!is_constant && !never_repeats) {
        levels_take(col, count, n_levels, missing, f->n_used);
        rc = 1;
    }
    mem_try_free(count);
    return rc;
}

static int fit_cols(struct fit *f, struct prep *p, const char *skip, struct err *err)
{
    for (int i = 0; i < f->frame->n_cols; i++) {
        const struct frame_col *fc = &f->frame->cols[i];
        struct prep_col *col = &p->cols[p->n_cols];
        if (fc->type == FRAME_IGNORED || (skip && strcmp(fc->name, skip) == 0))
            continue;
        col->type = fc->type;
        int rc =
            fc->type == FRAME_NUMERIC ? fit_numeric(f, i, col) : fit_categorical(f, i, col, err);
        if (rc == 1)
            col->name = mem_strdup(fc->name);
        p->n_cols += rc == 1;
        if (rc < 0)
            return err_wrap(err, "column \"%.100s\"", fc->name);
    }
    if (p->n_cols == 0)
        return err_set(
            err, ERR_ARG,
            "no column holds anything to learn from: all are constant, empty or never repeat");
    return 0;
}

struct prep *prep_fit(const struct frame *frame, const char *skip, const uint8_t *use,
                      struct err *err)
{
    struct fit f = { .frame = frame, .use = use };
    struct prep *p = mem_zalloc(sizeof(*p));
    int rc = -1;

    p->cols = mem_array((size_t)frame->n_cols + 1, sizeof(*p->cols));
    f.numbers = mem_alloc(PREP_BLOCK * sizeof(*f.numbers));
    f.codes = mem_alloc(PREP_BLOCK * sizeof(*f.codes));
    for (int64_t i = 0; i < frame->rows; i++)
        f.n_used += row_used(&f, i);
    if (f.n_used == 0)
        err_set(err, ERR_ARG, "no rows to fit the preparation on");
    else if (fit_pick(&f, err) == 0)
        rc = fit_cols(&f, p, skip, err);
    mem_try_free(f.picked);
    mem_try_free(f.sample);
    prep_sorter_fini(&f.sorter);
    mem_free(f.numbers);
    mem_free(f.codes);
    if (rc < 0) {
        prep_free(p);
        return NULL;
    }
    prep_layout(p);
    return p;
}
