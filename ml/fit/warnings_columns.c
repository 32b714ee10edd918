/* warnings_columns.c - what one column tells: of the target, so that it gives the answer away; of
 * being a test row, so that the test rows are of another kind.
 *
 * A column is cut into at most BINS bins of about equal numbers of the sample's rows (equal values
 * share a bin). The even rows of the sample say what a bin means, the odd rows judge it. */
#include "ml/fit/warnings_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/fmath.h"
#include "ml/math/sort.h"
#include "ml/metric/metric.h"

#include <math.h>
#include <string.h>

/* LEAST_ROWS: fewer tell nothing for certain. */
enum { BINS = 64, LEAST_ROWS = 50, TEST_ROWS = 4000 };
/* Shares of the errors of a constant guess that a column leaves, below which it gives the target
 * away: of wrong classes, and of squared errors. */
#define LEAK_CLASSES 0.02
#define LEAK_NUMBERS 0.005
/* AUC from which on test rows are of another kind, if it is so by three standard errors. */
#define OTHER_AUC 0.65

struct binned {
    /* [n] values, then keys in order, and places */
    double *v;
    uint64_t *key;
    uint32_t *place;
    /* [n] bin of a row; BINS = missing */
    uint8_t *bin;
};

static int binned_init(struct binned *b, int64_t n, struct err *err)
{
    size_t m = (size_t)n + 1;

    *b = (struct binned){ mem_try_alloc(m * sizeof *b->v), mem_try_alloc(m * sizeof *b->key),
                          mem_try_alloc(m * sizeof *b->place), mem_try_alloc(m) };
    return b->v && b->key && b->place && b->bin
               ? 0
               : err_set(err, ERR_NOMEM, "no memory to look at a column");
}

static void binned_fini(struct binned *b)
{
    mem_try_free(b->v);
    mem_try_free(b->key);
    mem_try_free(b->place);
    mem_try_free(b->bin);
}

/* Values of a column in these rows; of levels their numbers. NaN = missing. */
static void values_of(const struct frame *f, int col, const int64_t *row, int64_t n, double *out)
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

/* Cuts b->v into bins; returns how many distinct values there are, or -1. */
static int64_t bins_cut(struct binned *b, int64_t n, struct err *err)
{
    int64_t m = 0, distinct = 0, begin = 0;

    for (int64_t i = 0; i < n; i++) {
        b->bin[i] = BINS;
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
        b->bin[b->place[j]] = (uint8_t)(begin * BINS / m);
    }
    return distinct;
}

/* ---- leaks ---- */

/* The share of the squared error of the mean that the means of the bins leave, on the odd rows. */
static double left_of_numbers(const struct binned *b, const double *y, int64_t n)
{
    double sum[BINS + 1] = { 0 }, count[BINS + 1] = { 0 }, all = 0, error = 0, base = 0;
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
static double left_of_classes(const struct binned *b, const double *y, int64_t n, int n_classes)
{
    int32_t *count = mem_array((size_t)(BINS + 2) * (size_t)n_classes, sizeof *count),
            *all = count + (size_t)(BINS + 1) * (size_t)n_classes;
    int best[BINS + 2] = { 0 };
    double wrong = 0, base = 0;

    for (int64_t i = 0; i < n; i += 2) {
        count[b->bin[i] * n_classes + (int)y[i]]++;
        all[(int)y[i]]++;
    }
    for (int k = 0; k < BINS + 2; k++) {
        for (int c = 1; c < n_classes; c++) {
            if (count[k * n_classes + c] > count[k * n_classes + best[k]])
                best[k] = c;
        }
    }
    for (int64_t i = 1; i < n; i += 2) {
        wrong += best[b->bin[i]] != (int)y[i];
        base += best[BINS + 1] != (int)y[i];
    }
    mem_free(count);
    return base >= 5 ? wrong / base : 1;
}

/* A whole number that differs in every row and fills its range is the number of a row. */
static bool is_row_number(const struct warn_work *w, int col, const struct binned *b,
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

static void of_column(struct warn_work *w, int col, const struct binned *b, const double *y,
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
            "you predict, leave it out (columns: {%.80s: ignore}).",
            name, name);
    if (is_row_number(w, col, b, distinct) && !is_time(w, name))
        warn(
            w, "identifier", name,
            "Column \"%.80s\" numbers the rows: if the number says nothing about new rows, leave it "
            "out (columns: {%.80s: ignore}).",
            name, name);
}

int warn_of_leaks(struct warn_work *w, struct err *err)
{
    const struct frame *f = w->d->spec.frame;
    struct binned b;
    int rc = -1;
    double *y = mem_try_alloc(((size_t)w->n + 1) * sizeof *y);

    if (binned_init(&b, w->n, err) < 0 || !y) {
        err_set(err, ERR_NOMEM, "no memory to look at a column");
        goto out;
    }
    for (int64_t i = 0; i < w->n; i++)
        y[i] = w->d->y[w->row[i]];
    rc = 0;
    for (int c = 0; c < f->n_cols && rc == 0 && w->n >= LEAST_ROWS; c++) {
        if (!warn_is_candidate(w, c) || !warn_is_input(w, c))
            continue;
        values_of(f, c, w->row, w->n, b.v);
        int64_t distinct = bins_cut(&b, w->n, err);
        if (distinct < 0)
            rc = -1;
        else
            of_column(w, c, &b, y, distinct);
    }
out:
    mem_try_free(y);
    binned_fini(&b);
    return rc;
}

/* ---- test rows ---- */

/* Values of a column of the test table in the units of the training table: levels by their text. */
static void test_values(const struct frame *f, int col, const struct frame *g, int other,
                        const int64_t *row, int64_t n, double *out)
{
    if (f->cols[col].type == FRAME_NUMERIC || g->cols[other].type == FRAME_NUMERIC) {
        for (int64_t i = 0; i < n; i++)
            out[i] = (double)NAN;
        if (f->cols[col].type == g->cols[other].type)
            frame_numbers_at(g, other, row, n, out);
        return;
    }
    int *to = mem_array((size_t)g->cols[other].n_levels + 1, sizeof *to);
    for (int k = 0; k < g->cols[other].n_levels; k++) {
        to[k] = -2; /* unseen: a value of its own */
        for (int j = 0; j < MIN(f->cols[col].n_levels, 1000); j++) {
            if (strcmp(g->cols[other].levels[k], f->cols[col].levels[j]) == 0) {
                to[k] = j;
                break;
            }
        }
    }
    for (int64_t i = 0; i < n; i++) {
        int32_t code;
        frame_codes(g, other, row[i], 1, &code);
        out[i] = code < 0 ? (double)NAN : to[code];
    }
    mem_free(to);
}

/* Adds to each odd row the log odds of being a test row that the even rows of its bin have. */
static void odds_add(const struct binned *b, const double *is_test, int64_t n, double *score)
{
    double test[BINS + 1] = { 0 }, all[BINS + 1] = { 0 }, t = 0, a = 0;

    for (int64_t i = 0; i < n; i += 2) {
        test[b->bin[i]] += is_test[i];
        all[b->bin[i]]++;
        t += is_test[i];
        a++;
    }
    for (int64_t i = 1; i < n; i += 2) {
        int k = b->bin[i];
        double p = (test[k] + 4 * t / a) / (all[k] + 4);
        score[i] += fm_log_d(p / (1 - p)) - fm_log_d(t / (a - t));
    }
}

static double auc_of(const double *score, const double *is_test, int64_t n, float *p, double *y,
                     double *se)
{
    int64_t m = 0;
    double auc = 0.5;

    for (int64_t i = 1; i < n; i += 2, m++) {
        p[m] = (float)score[i];
        y[m] = is_test[i];
    }
    *se = 1;
    return metric_score(METRIC_AUC, ML_BINARY, p, y, m, 2, &auc, se, NULL) < 0 ? 0.5 : auc;
}

struct other {
    struct binned b;
    int64_t n;
    /* [n] rows of both tables in turn */
    int64_t *row;
    double *is_test, *score, *own, *y;
    float *p;
};

static void other_column(struct other *o, const struct frame *f, int c, const struct frame *g,
                         int at)
{
    int64_t half = o->n / 2;

    /* in pairs of two, so that even and odd rows have both kinds */
    double *a = mem_array((size_t)half + 1, sizeof *a), *b = mem_array((size_t)half + 1, sizeof *b);
    values_of(f, c, o->row, half, a);
    test_values(f, c, g, at, o->row + half, half, b);
    for (int64_t i = 0; i < o->n; i++)
        o->b.v[i] = i / 2 % 2 ? b[i / 4 * 2 + i % 2] : a[i / 4 * 2 + i % 2];
    mem_free(a);
    mem_free(b);
}

static int other_find(struct warn_work *w, struct other *o, struct err *err)
{
    const struct frame *f = w->d->spec.frame, *g = w->d->spec.test_frame;
    int64_t half = o->n / 2;
    double se, most = 0.5;
    const char *most_by = "";

    for (int64_t i = 0; i < half; i++) {
        o->row[i] = w->row[i * w->n / half];
        o->row[half + i] = i * g->rows / half;
    }
    for (int64_t i = 0; i < o->n; i++)
        o->is_test[i] = (double)(i / 2 % 2);
    for (int c = 0; c < f->n_cols; c++) {
        int at = frame_find(g, f->cols[c].name);
        if (at < 0 || g->cols[at].type == FRAME_IGNORED || !warn_is_candidate(w, c) ||
            !warn_is_input(w, c))
            continue;
        other_column(o, f, c, g, at);
        if (bins_cut(&o->b, o->n, err) < 0)
            return -1;
        memset(o->own, 0, (size_t)o->n * sizeof *o->own);
        odds_add(&o->b, o->is_test, o->n, o->own);
        for (int64_t i = 0; i < o->n; i++)
            o->score[i] += o->own[i];
        double auc = auc_of(o->own, o->is_test, o->n, o->p, o->y, &se);
        if (auc > most)
            most = auc, most_by = f->cols[c].name;
    }
    double auc = auc_of(o->score, o->is_test, o->n, o->p, o->y, &se);
    if (auc >= OTHER_AUC && auc - 3 * se > 0.5)
        warn(w, "other_test_rows", most_by,
             "The rows of the test table can be told from those of the training table (AUC %.2f; "
             "most by \"%.80s\", %.2f alone), so that the test score will differ from validation: "
             "check how the two were drawn, or give time if the test is later.",
             auc, most_by, most);
    return 0;
}

/* Tells rows of the two tables apart by sums of log odds over binned columns (naive Bayes), fitted
 * on half of a sample and judged on the other half. */
int warn_of_test_rows(struct warn_work *w, struct err *err)
{
    const struct frame *g = w->d->spec.test_frame;
    struct other o = { 0 };
    int rc = -1;

    if (!g || g->rows < LEAST_ROWS || w->n < LEAST_ROWS)
        return 0;
    o.n = MIN(TEST_ROWS, MIN(g->rows, w->n) * 2) / 4 * 4;
    size_t n = (size_t)o.n + 1;
    o.row = mem_array(n, sizeof *o.row);
    o.is_test = mem_array(n * 4, sizeof *o.is_test);
    o.score = o.is_test + n;
    o.own = o.score + n;
    o.y = o.own + n;
    o.p = mem_array(n, sizeof *o.p);
    if (binned_init(&o.b, o.n, err) == 0)
        rc = other_find(w, &o, err);
    binned_fini(&o.b);
    mem_free(o.row);
    mem_free(o.is_test);
    mem_free(o.p);
    return rc;
}
