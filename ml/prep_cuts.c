/* prep_cuts.c - where a numeric column is cut into bins. A value so frequent that it fills a bin gets its own; the rest
 * are shared out so that the bins hold about equally many rows, the share being counted anew after every bin. Exact on
 * the values it is given and free of floating-point sums, so the cuts are equal on every machine. Called by prep_fit.c
 * and, with the counts of bins for values, by prep_bins.c for coarser binnings. */
#include "base/mem.h"
#include "ml/prep_state.h"
#include "ml/sort.h"

#include <math.h>

int prep_cut(const int64_t *count, int64_t n, int max_bins, int64_t *last)
{
    int64_t total = 0, rest = 0, big = 0, fill = 0, bins_left;
    int n_bins = 0;

    if (n <= max_bins) {
        for (int64_t i = 0; i < n; i++)
            last[i] = i;
        return (int)n;
    }
    for (int64_t i = 0; i < n; i++)
        total += count[i];
    for (int64_t i = 0; i < n; i++) {
        bool is_big = count[i] * max_bins >= total;
        big += is_big;
        rest += is_big ? 0 : count[i];
    }
    bins_left = max_bins - big; /* for the values that are not big */
    for (int64_t i = 0; i < n; i++) {
        bool is_big = count[i] * max_bins >= total,
             next_big = i + 1 < n && count[i + 1] * max_bins >= total;
        fill += count[i];
        if (!is_big)
            rest -= count[i];
        /* rest + fill rows for bins_left bins: full at the share, or at half of it before a big value. */
        bool is_full = is_big || fill * MAX(bins_left, 1) >= rest + fill ||
                       (next_big && fill * MAX(bins_left, 1) * 2 >= rest + fill);
        if (i + 1 < n && (!is_full || n_bins == max_bins - 1))
            continue;
        last[n_bins++] = i;
        bins_left -= !is_big;
        fill = 0;
    }
    return n_bins;
}

/* Midway, rounded to float, but never up to the next value: a <= cut < b. */
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

/* Distinct values (as floats) and their counts, from sorted keys; returns how many. */
static int64_t distinct_of(const uint64_t *key, int64_t n, float *value, int64_t *count)
{
    int64_t d = 0;

    for (int64_t i = 0; i < n; i++) {
        float x = (float)ml_key_value(key[i]);
        if (d > 0 && value[d - 1] == x) {
            count[d - 1]++;
            continue;
        }
        value[d] = x;
        count[d++] = 1;
    }
    return d;
}

int prep_cuts_fit(struct prep_col *col, const double *sample, int64_t n, struct err *err)
{
    uint64_t *key = mem_try_alloc(((size_t)n + 1) * sizeof(*key));
    float *value = mem_try_alloc(((size_t)n + 1) * sizeof(*value));
    int64_t *count = mem_try_alloc(((size_t)n + 1) * sizeof(*count)), m = 0;
    int64_t last[PREP_MAX_BINS];
    int rc = -1;

    if (!key || !value || !count) {
        err_set(err, ERR_NOMEM, "no memory to bin %lld rows", (long long)n);
        goto out;
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isnan(sample[i]))
            key[m++] = ml_key_f64((double)finite_float(sample[i]));
    }
    if (ml_sort_u64(key, NULL, (size_t)m, err) < 0)
        goto out;
    int64_t d = distinct_of(key, m, value, count);
    col->n_bins = MAX(prep_cut(count, d, PREP_MAX_BINS, last), 1);
    col->cuts = mem_array((size_t)col->n_bins, sizeof(*col->cuts));
    for (int b = 0; b + 1 < col->n_bins; b++)
        col->cuts[b] = cut_between(value[last[b]], value[last[b] + 1]);
    if (m > 0)
        col->median = (ml_key_value(key[(m - 1) / 2]) + ml_key_value(key[m / 2])) * 0.5;
    rc = 0;
out:
    mem_try_free(key);
    mem_try_free(value);
    mem_try_free(count);
    return rc;
}
