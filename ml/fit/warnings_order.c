/* warnings_order.c - rows that belong together: rows that repeat in several folds, a column whose
 * equal values mark rows that resemble one another, and an order of rows along which the target
 * drifts. The last two are hints that groups or time may be what is wanted. */
#include "ml/fit/warnings_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/model/repeats.h"
#include "ml/model/split.h"

#include <math.h>
#include <string.h>

/* KEYS, INPUTS: at most so many columns are looked at as keys, and as inputs of each. A key has
 * LEAST_GROUPS values or more, with LEAST_SIZE to MOST_SIZE rows on average. */
enum { KEYS = 5, INPUTS = 50, KEY_ROWS = 50000, LEAST_GROUPS = 20, STRETCHES = 20 };
#define LEAST_SIZE 2.0
#define MOST_SIZE  50.0
/* Variance within groups as a share of all variance: below these the rows resemble one another. */
#define ALIKE_TARGET 0.8
#define ALIKE_INPUT  0.3
/* F of the target's means over stretches of rows; by chance it is above 4 once in 10^7 tables. */
#define DRIFT 4.0
/* Where no column names the order. Of 14 public tables 6 are above 10, and 3 above this: one is in
 * the order of time (bank_marketing), one in that of places (california_housing). */
#define DRIFT_UNNAMED 40.0

/* ---- rows that repeat ---- */

/* Hashes rows by their inputs and target. False where repeats mean nothing. */
static bool hash_rows(const struct warn_work *w, int64_t rows, uint64_t *hash)
{
    const struct frame *f = w->d->spec.frame;
    bool *is_used = mem_array((size_t)f->n_cols + 1, sizeof *is_used);

    for (int c = 0; c < f->n_cols; c++)
        is_used[c] = strcmp(f->cols[c].name, w->d->spec.target) == 0 ||
                     (warn_is_candidate(w, c) && warn_is_input(w, c));
    bool tells = repeats_hash(f, is_used, rows, hash);
    mem_free(is_used);
    return tells;
}

int warn_of_repeats(struct warn_work *w, struct err *err)
{
    const struct ml_data *d = w->d;
    int64_t rows = MIN(d->rows, MIN(WARN_ROWS, WARN_ALL_CELLS / MAX(w->n_cols, 1)));
    uint64_t *hash = mem_try_zalloc(((size_t)rows + 1) * sizeof *hash);
    uint32_t *row = mem_try_alloc(((size_t)rows + 1) * sizeof *row);
    int64_t m = 0, trained = 0, apart = 0;
    int rc = hash && row ? 0 : err_set(err, ERR_NOMEM, "no memory to compare rows");

    if (d->n_joined > 0)
        warn(w, "repeats", NULL,
             "%lld of %lld rows are there more than once: equal rows are kept in one fold, so that "
             "no row is judged by a model that has seen it.",
             (long long)d->n_joined, (long long)d->rows);
    if (d->n_alike > 0)
        warn(
            w, "repeats", NULL,
            "%lld of %lld rows have the inputs of another row, often with another target: they count "
            "as separate rows, which folds may divide. If equal rows belong to one thing, name the "
            "column that tells which " WARN_SAY_AS_GROUPS ".",
            (long long)d->n_alike, (long long)d->rows);
    if (rc < 0 || d->n_alike > 0 || d->time || !hash_rows(w, rows, hash))
        goto out;
    for (int64_t i = 0; i < rows; i++) {
        if (d->fold[i] >= SPLIT_NONE)
            continue;
        hash[m] = hash[i];
        row[m++] = (uint32_t)i;
    }
    trained = m;
    rc = ml_sort_u64(hash, row, (size_t)m, err);
    for (int64_t from = 0, to = 0; from < m && rc == 0; from = to) {
        bool differs = false;
        for (to = from; to < m && hash[to] == hash[from]; to++)
            differs = differs || d->fold[row[to]] != d->fold[row[from]];
        apart += differs && !repeats_is_common(to - from, m) ? to - from : 0;
    }
    if (apart * 100 >= trained && apart >= 10)
        warn(w, "repeats", NULL,
             "%lld of %s%lld training rows are repeated in another fold, so that validation judges "
             "rows that were trained on: remove the repeats, or " WARN_SAY_SOME_GROUPS ".",
             (long long)apart, rows < d->rows ? "the first " : "", (long long)trained);
out:
    mem_try_free(hash);
    mem_try_free(row);
    return rc;
}

/* ---- groups that nobody named ---- */

struct key_rows {
    int64_t n;
    /* [n] training rows, sorted by the key; first[g] .. first[g + 1] - 1 are of one value */
    int64_t *row, *first;
    int64_t groups;
    uint64_t *key;
    uint32_t *place;
    double *v;
};

/* The share of the variance of v that is within groups. */
static double within(const struct key_rows *k, const double *v)
{
    double sum = 0, square = 0, inside = 0, n = 0, used = 0;

    for (int64_t g = 0; g < k->groups; g++) {
        double s = 0, q = 0, m = 0;
        for (int64_t i = k->first[g]; i < k->first[g + 1]; i++) {
            if (isnan(v[i]) || isinf(v[i]))
                continue;
            s += v[i], q += v[i] * v[i], m++;
        }
        sum += s, square += q, n += m, used += m > 0;
        inside += m > 0 ? q - s * s / m : 0;
    }
    double all = n > 1 ? (square - sum * sum / n) / (n - 1) : 0;
    return all > 1e-12 * square && n > used ? inside / (n - used) / all : 1;
}

/* Sorts the rows by the values of the column. False: it is no key. */
static int key_take(const struct warn_work *w, int col, struct key_rows *k, struct err *err)
{
    const struct frame *f = w->d->spec.frame;
    int64_t m = 0;

    for (int64_t i = 0; i < k->n; i++) {
        double x;
        int32_t code = 0;
        int64_t at = k->row[i];
        if (f->cols[col].type == FRAME_NUMERIC) {
            frame_numbers_at(f, col, &at, 1, &x);
            if (x != floor(x)) /* also what is missing */
                return 0;
        } else {
            frame_codes(f, col, at, 1, &code);
            x = code;
        }
        if (code < 0)
            continue;
        k->key[m] = ml_key_f64(x);
        k->place[m++] = (uint32_t)i;
    }
    if (ml_sort_u64(k->key, k->place, (size_t)m, err) < 0)
        return -1;
    k->groups = 0;
    for (int64_t i = 0; i < m; i++) {
        if (i == 0 || k->key[i] != k->key[i - 1])
            k->first[k->groups++] = i;
    }
    k->first[k->groups] = m;
    double size = k->groups > 0 ? (double)m / (double)k->groups : 0;
    return k->groups >= LEAST_GROUPS && size >= LEAST_SIZE && size <= MOST_SIZE;
}

static bool is_alike(const struct warn_work *w, int key, struct key_rows *k)
{
    const struct frame *f = w->d->spec.frame;
    int64_t m = k->first[k->groups];
    int looked = 0, alike = 0;

    for (int64_t i = 0; i < m; i++)
        k->v[i] = w->d->y[k->row[k->place[i]]];
    if (within(k, k->v) > ALIKE_TARGET)
        return false;
    for (int c = 0; c < f->n_cols && looked < INPUTS; c++) {
        if (c == key || f->cols[c].type != FRAME_NUMERIC || !warn_is_candidate(w, c))
            continue;
        for (int64_t i = 0; i < m; i++)
            frame_numbers_at(f, c, &k->row[k->place[i]], 1, &k->v[i]);
        looked++;
        alike += within(k, k->v) < ALIKE_INPUT;
    }
    return alike >= 2 && 2 * alike >= looked;
}

int warn_of_groups(struct warn_work *w, struct err *err)
{
    const struct ml_data *d = w->d;
    const struct frame *f = d->spec.frame;
    size_t most = (size_t)MIN(d->n_train, KEY_ROWS) + 2;
    struct key_rows k = { .row = mem_try_alloc(most * sizeof *k.row),
                          .first = mem_try_alloc(most * sizeof *k.first),
                          .key = mem_try_alloc(most * sizeof *k.key),
                          .place = mem_try_alloc(most * sizeof *k.place),
                          .v = mem_try_alloc(most * sizeof *k.v) };
    int rc = k.row && k.first && k.key && k.place && k.v
                 ? 0
                 : err_set(err, ERR_NOMEM, "no memory to look for groups");

    bool is_named = (w->by->groups && *w->by->groups) || d->time;
    for (int64_t i = 0; i < d->rows && rc == 0 && k.n < (int64_t)most - 2; i++) {
        if (d->fold[i] < SPLIT_NONE)
            k.row[k.n++] = i;
    }
    for (int c = 0, keys = 0; c < f->n_cols && rc == 0 && !is_named && keys < KEYS; c++) {
        if (!warn_is_candidate(w, c) || f->cols[c].kind != FRAME_PLAIN ||
            f->cols[c].distinct < LEAST_GROUPS)
            continue;
        int is_key = key_take(w, c, &k, err);
        if (is_key < 0)
            rc = -1;
        else if (is_key && keys++ >= 0 && is_alike(w, c, &k)) {
            warn(w, "grouped", f->cols[c].name,
                 "Rows with the same \"%.80s\" resemble one another (%.1f rows each), so that "
                 "validation is too good if new rows have new ones: then " WARN_SAY_GROUPS ".",
                 f->cols[c].name, (double)k.first[k.groups] / (double)k.groups, f->cols[c].name);
            break;
        }
    }
    mem_try_free(k.row);
    mem_try_free(k.first);
    mem_try_free(k.key);
    mem_try_free(k.place);
    mem_try_free(k.v);
    return rc;
}

/* ---- order ---- */

/* F of the means of v over equal stretches; 0 where v goes one way only, because the table is then
 * sorted by it. */
static double drift_of(const double *v, int64_t n)
{
    double sum = 0, between = 0, all = 0;
    int64_t up = 0, down = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += v[i];
        up += i > 0 && v[i] > v[i - 1];
        down += i > 0 && v[i] < v[i - 1];
    }
    if (up * 50 < down || down * 50 < up)
        return 0;
    double mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        all += (v[i] - mean) * (v[i] - mean);
    for (int s = 0; s < STRETCHES; s++) {
        int64_t from = n * s / STRETCHES, to = n * (s + 1) / STRETCHES;
        double here = 0, m = (double)(to - from);
        for (int64_t i = from; i < to; i++)
            here += v[i] - mean;
        between += here * here / m;
    }
    double inside = (all - between) / (double)(n - STRETCHES);
    return inside > 0 ? between / (STRETCHES - 1) / inside : 0;
}

/* The target's drift along the values of a column; the sample is sorted by it. */
static int drift_along(const struct warn_work *w, int col, double *out, struct err *err)
{
    size_t n = (size_t)w->n;
    uint64_t *key = mem_try_alloc((n + 1) * sizeof *key);
    uint32_t *place = mem_try_alloc((n + 1) * sizeof *place);
    double *v = mem_try_alloc((n + 1) * sizeof *v);
    int rc = key && place && v ? 0 : err_set(err, ERR_NOMEM, "no memory to look for an order");

    *out = 0;
    if (rc == 0) {
        int64_t m = 0;
        frame_numbers_at(w->d->spec.frame, col, w->row, w->n, v);
        for (int64_t i = 0; i < w->n; i++) {
            if (isnan(v[i]))
                continue;
            key[m] = ml_key_f64(v[i]);
            place[m++] = (uint32_t)i;
        }
        rc = ml_sort_u64(key, place, (size_t)m, err);
        for (int64_t i = 0; i < m; i++)
            v[i] = w->d->y[w->row[place[i]]];
        if (rc == 0 && m >= 20 * STRETCHES)
            *out = drift_of(v, m);
    }
    mem_try_free(key);
    mem_try_free(place);
    mem_try_free(v);
    return rc;
}

/* A numeric column that never falls from row to row and mostly rises; -1 = none. */
static int rising_column(const struct warn_work *w)
{
    const struct frame *f = w->d->spec.frame;
    double *v = mem_array((size_t)w->n + 1, sizeof *v);
    int found = -1;

    for (int c = 0; c < f->n_cols && found < 0; c++) {
        int64_t up = 0, down = 0;
        if (f->cols[c].type != FRAME_NUMERIC || !warn_is_candidate(w, c) ||
            f->cols[c].missing > 0 || f->cols[c].distinct < 20)
            continue;
        frame_numbers_at(f, c, w->row, w->n, v);
        for (int64_t i = 1; i < w->n && down == 0; i++) {
            up += v[i] > v[i - 1];
            down += v[i] < v[i - 1];
        }
        found = down == 0 && 2 * up > w->n ? c : -1;
    }
    mem_free(v);
    return found;
}

int warn_of_order(struct warn_work *w, struct err *err)
{
    const struct frame *f = w->d->spec.frame;
    double drift = 0;
    int col = -1;

    if (w->d->time || (w->by->groups && *w->by->groups) || w->n < 20 * STRETCHES)
        return 0;
    for (int c = 0; c < f->n_cols && col < 0; c++)
        col = warn_is_day(&f->cols[c]) && warn_is_candidate(w, c) ? c : -1;
    bool is_date = col >= 0;
    col = is_date ? col : rising_column(w);
    if (col >= 0 && drift_along(w, col, &drift, err) < 0)
        return -1;
    if (col >= 0 && (is_date || drift > DRIFT)) {
        warn(w, "ordered", f->cols[col].name,
             "%s \"%.80s\"%s, so that validation is too good if later rows are to be predicted: "
             "then " WARN_SAY_TIME ".",
             is_date ? "The rows have dates in" : "The rows are in the order of", f->cols[col].name,
             drift > DRIFT ? " and the target drifts along it" : "", f->cols[col].name);
        return 0;
    }
    double *y = mem_array((size_t)w->n + 1, sizeof *y);
    for (int64_t i = 0; i < w->n; i++)
        y[i] = w->d->y[w->row[i]];
    drift = col >= 0 ? 0 : drift_of(y, w->n);
    mem_free(y);
    if (drift > DRIFT_UNNAMED)
        warn(
            w, "ordered", NULL,
            "The target drifts along the rows of the file, so that validation is too good if that "
            "order is time and later rows are to be predicted: then add a column with the time, and "
            "give it " WARN_SAY_AS_TIME ".");
    return 0;
}
