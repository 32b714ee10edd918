/* prep_cuts.c - where a numeric column is cut into bins.
 *
 * A value so frequent that it fills a bin gets its own bin. The other values are shared out so that
 * bins hold about equal shares; the share is computed anew after every bin. A row counts for more
 * towards both ends of the column, so bins are finer there: a tree that has met only noise then
 * splits a few rows off and looks at further columns, where coarse bins would make it halve its
 * rows for nothing (docs/DECISIONS.md). All numbers are whole except for square roots and
 * quotients, so the cuts are equal on every machine. Called by prep_fit.c and, with counts of bins
 * in place of values, by prep_bins.c for coarser binnings. */
#include "base/mem.h"
#include "ml/math/sort.h"
#include "ml/prep/prep_private.h"

#include <math.h>

/* prep_cut where no value fills a bin. What is left to share out changes only when a bin ends, and
 * so does the number of rows that fill one. */
static int cut_small(const int64_t *count, int64_t n, int64_t rest, int max_bins, int64_t *last)
{
    int n_bins = 0;

    for (int64_t i = 0; n_bins < max_bins - 1 && i < n; i++) {
        int64_t bins_left = max_bins - n_bins, full = (rest + bins_left - 1) / bins_left,
                fill = count[i];
        while (fill < full && i + 1 < n)
            fill += count[++i];
        rest -= fill;
        last[n_bins++] = i;
    }
    if (n_bins == 0 || last[n_bins - 1] < n - 1)
        last[n_bins++] = n - 1;
    return n_bins;
}

/* prep_cut where values of at least big_from rows fill a bin each, `big` of them; rest: the rows of
 * all others. */
static int cut_large(const int64_t *count, int64_t n, int64_t big_from, int64_t big, int64_t rest,
                     int max_bins, int64_t *last)
{
    /* bins for the values that do not fill one */
    int64_t bins_left = max_bins - big, fill = 0;
    int n_bins = 0;

    for (int64_t i = 0; i < n; i++) {
        /* rest + fill rows are to be shared out to bins_left bins. A bin is full at its share;
         * before a value that fills a bin alone it is full at half of its share. */
        int64_t open = MAX(bins_left, 1), share = (rest + fill + open - 1) / open;
        for (; i + 1 < n && MAX(count[i], count[i + 1]) < big_from && fill + count[i] < share;
             i++) {
            fill += count[i];
            rest -= count[i];
        }
        bool is_big = count[i] >= big_from, next_big = i + 1 < n && count[i + 1] >= big_from;
        fill += count[i];
        rest -= is_big ? 0 : count[i];
        bool is_full =
            is_big || fill * open >= rest + fill || (next_big && fill * open * 2 >= rest + fill);
        if (i + 1 < n && (!is_full || n_bins == max_bins - 1))
            continue;
        last[n_bins++] = i;
        bins_left -= !is_big;
        fill = 0;
    }
    return n_bins;
}

int prep_cut(const int64_t *count, int64_t n, int max_bins, int64_t *last)
{
    int64_t total = 0, most = 0, rest = 0, big = 0;

    if (n <= max_bins) {
        for (int64_t i = 0; i < n; i++)
            last[i] = i;
        return (int)n;
    }
    for (int64_t i = 0; i < n; i++) {
        total += count[i];
        most = MAX(most, count[i]);
    }
    int64_t big_from = (total + max_bins - 1) / max_bins;
    if (most < big_from)
        return cut_small(count, n, total, max_bins, last);
    for (int64_t i = 0; i < n; i++) {
        bool is_big = count[i] >= big_from;
        big += is_big;
        rest += is_big ? 0 : count[i];
    }
    return cut_large(count, n, big_from, big, rest, max_bins, last);
}

/* Midway between the two, rounded to float, but never up to the larger one: a <= cut < b. */
static float cut_between(float a, float b)
{
    float cut = (float)(((double)a + (double)b) * 0.5);

    return cut >= b ? a : cut;
}

static float finite_float(double x)
{
    const float most = 3.4028234663852886e38f;

    return x > (double)most ? most : x < -(double)most ? -most : (float)x;
}

/* The distinct values of sorted keys, and their counts. Returns how many there are. */
static int64_t distinct_of(const uint32_t *key, int64_t n, float *value, int64_t *count)
{
    int64_t d = 0, before = 0;

    for (int64_t i = 0; i < n; i++) {
        /* the last row of a value keeps what the rows before it wrote */
        value[d] = ml_key_f32_value(key[i]);
        count[d] = i + 1 - before;
        bool is_last = i + 1 == n || key[i + 1] != key[i];
        d += is_last;
        before = is_last ? i + 1 : before;
    }
    return d;
}

/* How much the row of this rank counts when rows are shared out to bins, in 64ths: (q (1 -
 * q))^-1/4, where q is its place from 0 to 1; and near the ends so much more that a bin holds about
 * a tenth of the rows between it and the end, but at least one row. */
static int64_t share_at(double rank, double rows)
{
    const double rim = 0.1, rim_rows = 16;
    double q = rank / rows, beyond = MAX(MIN(rank, rows - rank), rim_rows);

    return (int64_t)(64.0 * MAX(1.0 / sqrt(sqrt(q * (1.0 - q))), rim * rows / beyond));
}

/* Turns the counts of `rows` rows into shares. A share is computed anew when the distance to the
 * nearer end has changed by a 64th. */
static void shares_of(int64_t *count, int64_t d, int64_t rows)
{
    int64_t seen = 0, i = 0;

    while (i < d) {
        int64_t at = seen + count[i] / 2;
        int64_t unit = share_at((double)at + 0.5, (double)rows),
                next = at + 1 + MIN(at, rows - at) / 64;
        do {
            seen += count[i];
            count[i++] *= unit;
        } while (i < d && seen + count[i] / 2 < next);
    }
}

void prep_sorter_fini(struct prep_sorter *s)
{
    mem_try_free(s->key);
    mem_try_free(s->value);
    mem_try_free(s->count);
}

int prep_sorter_init(struct prep_sorter *s, int64_t most, struct err *err)
{
    size_t n = (size_t)most + 1;

    *s = (struct prep_sorter){ mem_try_alloc(n * sizeof *s->key),
                               mem_try_alloc(n * sizeof *s->value),
                               mem_try_alloc(n * sizeof *s->count), most, 0 };
    if (s->key && s->value && s->count)
        return 0;
    prep_sorter_fini(s);
    *s = (struct prep_sorter){ 0 };
    return err_set(err, ERR_NOMEM, "no memory to bin %lld rows", (long long)most);
}

void prep_cuts_fit(struct prep_col *col, const double *sample, int64_t n, struct prep_sorter *s)
{
    int64_t last[PREP_MAX_BINS], m = 0;

    CHECK(n <= s->most);
    for (int64_t i = 0; i < n; i++) {
        s->key[m] = ml_key_f32(finite_float(sample[i]));
        m += !isnan(sample[i]);
    }
    /* its room is free until below */
    ml_sort_u32(s->key, (uint32_t *)(void *)s->count, (size_t)m);
    s->n_sorted = m;
    int64_t d = distinct_of(s->key, m, s->value, s->count);
    shares_of(s->count, d, m);
    col->n_bins = MAX(prep_cut(s->count, d, PREP_MAX_BINS, last), 1);
    col->cuts = mem_array((size_t)col->n_bins, sizeof(*col->cuts));
    for (int b = 0; b + 1 < col->n_bins; b++)
        col->cuts[b] = cut_between(s->value[last[b]], s->value[last[b] + 1]);
    if (m > 0)
        col->median = ((double)ml_key_f32_value(s->key[(m - 1) / 2]) +
                       (double)ml_key_f32_value(s->key[m / 2])) *
                      0.5;
}
