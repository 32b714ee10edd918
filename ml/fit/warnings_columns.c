/* warnings_columns.c - what one column tells of the target, so that it gives the answer away.
 *
 * A column is cut into at most WARN_BINS bins of about equal numbers of the sample's rows (equal
 * values share a bin). The even rows of the sample say what a bin means, the odd rows judge it. */
#include "ml/fit/warnings_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/math/sort.h"
#include "ml/metric/metric.h"

#include <math.h>
#include <string.h>

/* Shares of the errors of a constant guess that a column leaves, below which it gives the target
 * away: of wrong classes, and of squared errors. */
#define LEAK_CLASSES 0.02
#define LEAK_NUMBERS 0.005

int warn_binned_init(struct warn_binned *b, int64_t n, struct err *err)
{
    size_t m = (size_t)n + 1;

    *b = (struct warn_binned){ mem_try_alloc(m * sizeof *b->v), mem_try_alloc(m * sizeof *b->key),
                               mem_try_alloc(m * sizeof *b->place), mem_try_alloc(m) };
    return b->v && b->key && b->place && b->bin
               ? 0
               : err_set(err, ERR_NOMEM, "no memory to look at a column");
}

void warn_binned_fini(struct warn_binned *b)
{
    mem_try_free(b->v);
    mem_try_free(b->key);
    mem_try_free(b->place);
    mem_try_free(b->bin);
}

void warn_values_of(const struct frame *f, int col, const int64_t *row, int64_t n, double *out)
{
    if (f->cols[col].type == FRAME_NUMERIC) {
        frame_numbers_at(f, col, row, n, out);
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t code;
        frame_codes(f, col, row[i], 1, &code);
        out[i] = code < 0 ? (double)NAN : code;
    }
}

int64_t warn_bins_cut(struct warn_binned *b, int64_t n, struct err *err)
{
    int64_t m = 0, distinct = 0, begin = 0;

    for (int64_t i = 0; i < n; i++) {
        b->bin[i] = WARN_BINS;
        if (isnan(b->v[i]))
            continue;
        b->key[m] = ml_key_f64(b->v[i]);
        b->place[m++] = (uint32_t)i;
    }
    if (ml_sort_u64(b->key, b->place, (size_t)m, err) < 0)
        return -1;
    for (int64_t j = 0; j < m; j++) {
        if (j == 0 || b->key[j] != b->key[j - 1]) {
            distinct++;
            begin = j;
        }
        b->bin[b->place[j]] = (uint8_t)(begin * WARN_BINS / m);
    }
    return distinct;
}

/* ---- leaks ---- */

/* The share of the squared error of the mean that the means of the bins leave, on the odd rows. */
static double left_of_numbers(const struct warn_binned *b, const double *y, int64_t n)
{
    double sum[WARN_BINS + 1] = { 0 }, count[WARN_BINS + 1] = { 0 }, all = 0, error = 0, base = 0;
    int64_t even = (n + 1) / 2;

    for (int64_t i = 0; i < n; i += 2) {
        sum[b->bin[i]] += y[i];
        count[b->bin[i]]++;
        all += y[i];
    }
    for (int64_t i = 1; i < n; i += 2) {
        int k = b->bin[i];
        double mean = all / (double)even, guess = count[k] > 0 ? sum[k] / count[k] : mean;
        error += (y[i] - guess) * (y[i] - guess);
        base += (y[i] - mean) * (y[i] - mean);
    }
    return base > 0 ? error / base : 1;
}

/* The same of wrong classes, for the most frequent class of each bin. */
static double left_of_classes(const struct warn_binned *b, const double *y, int64_t n,
                              int n_classes)
{
    int32_t *count = mem_array((size_t)(WARN_BINS + 2) * (size_t)n_classes, sizeof *count),
            *all = count + (size_t)(WARN_BINS + 1) * (size_t)n_classes;
    int best[WARN_BINS + 2] = { 0 };
    double wrong = 0, base = 0;

    for (int64_t i = 0; i < n; i += 2) {
        count[b->bin[i] * n_classes + (int)y[i]]++;
        all[(int)y[i]]++;
    }
    for (int k = 0; k < WARN_BINS + 2; k++) {
        for (int c = 1; c < n_classes; c++) {
            if (count[k * n_classes + c] > count[k * n_classes + best[k]])
                best[k] = c;
        }
    }
    for (int64_t i = 1; i < n; i += 2) {
        wrong += best[b->bin[i]] != (int)y[i];
        base += best[WARN_BINS + 1] != (int)y[i];
    }
    mem_free(count);
    return base >= 5 ? wrong / base : 1;
}

/* A whole number that differs in every row and fills its range is the number of a row. */
static bool is_row_number(const struct warn_work *w, int col, const struct warn_binned *b,
                          int64_t distinct)
{
    const struct frame_col *c = &w->d->spec.frame->cols[col];

    if (c->type != FRAME_NUMERIC || c->kind != FRAME_PLAIN || distinct < w->n || c->missing > 0 ||
        c->max - c->min > 1.1 * (double)w->d->rows)
        return false;
    for (int64_t i = 0; i < w->n; i++) {
        if (b->v[i] != floor(b->v[i]))
            return false;
    }
    return !(w->by->time && strcmp(w->by->time, c->name) == 0);
}

/* A row number along which the target drifts was called time already. */
static bool is_time(const struct warn_work *w, const char *name)
{
    for (int i = 0; i < w->out->n; i++) {
        if (strcmp(w->out->of[i].code, "ordered") == 0 && strcmp(w->out->of[i].column, name) == 0)
            return true;
    }
    return false;
}

static void of_column(struct warn_work *w, int col, const struct warn_binned *b, const double *y,
                      int64_t distinct)
{
    const struct ml_data *d = w->d;
    const char *name = d->spec.frame->cols[col].name;
    bool is_number = d->spec.task == ML_REGRESSION;
    double left =
        is_number ? left_of_numbers(b, y, w->n) : left_of_classes(b, y, w->n, d->n_classes);

    if (distinct < 2)
        return;
    if (left <= (is_number ? LEAK_NUMBERS : LEAK_CLASSES))
        warn(
            w, "leak", name,
            "Column \"%.80s\" alone tells the target almost without error: if it is not known when "
            "you predict, leave it out (" WARN_SAY_IGNORE ").",
            name, name);
    if (is_row_number(w, col, b, distinct) && !is_time(w, name))
        warn(
            w, "identifier", name,
            "Column \"%.80s\" numbers the rows: if the number says nothing about new rows, leave it "
            "out (" WARN_SAY_IGNORE ").",
            name, name);
}

int warn_of_leaks(struct warn_work *w, struct err *err)
{
    const struct frame *f = w->d->spec.frame;
    struct warn_binned b;
    int rc = -1;
    double *y = mem_try_alloc(((size_t)w->n + 1) * sizeof *y);

    if (warn_binned_init(&b, w->n, err) < 0 || !y) {
        err_set(err, ERR_NOMEM, "no memory to look at a column");
        goto out;
    }
    for (int64_t i = 0; i < w->n; i++)
        y[i] = w->d->y[w->row[i]];
    rc = 0;
    for (int c = 0; c < f->n_cols && rc == 0 && w->n >= WARN_LEAST_ROWS; c++) {
        if (!warn_is_candidate(w, c) || !warn_is_input(w, c))
            continue;
        warn_values_of(f, c, w->row, w->n, b.v);
        int64_t distinct = warn_bins_cut(&b, w->n, err);
        if (distinct < 0)
            rc = -1;
        else
            of_column(w, c, &b, y, distinct);
    }
out:
    mem_try_free(y);
    warn_binned_fini(&b);
    return rc;
}
