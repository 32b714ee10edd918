/* split_time.c - test rows and folds forward in time (split.h).
 *
 * Rows are sorted by time; equal times keep the order of the table. Cuts lie at equal numbers of
 * rows and are moved to the nearest beginning of a moment, so that rows of one moment stay
 * together. Called by data.c. */
#include "ml/model/split.h"

#include "base/mem.h"
#include "ml/math/sort.h"

#include <math.h>

struct stretch {
    const struct split_in *in;
    /* [n] rows with a target, by time */
    uint32_t *row;
    int64_t n;
};

static int rows_by_time(struct stretch *s, struct err *err)
{
    const struct split_in *in = s->in;
    uint64_t *key = mem_try_alloc(((size_t)in->n + 1) * sizeof *key);
    int rc = -1;

    s->row = mem_try_alloc(((size_t)in->n + 1) * sizeof *s->row);
    if (!key || !s->row) {
        err_set(err, ERR_NOMEM, "no memory to split %lld rows by time", (long long)in->n);
    } else {
        for (int64_t i = 0; i < in->n; i++) {
            if (isnan(in->y[i]))
                continue;
            key[s->n] = ml_key_f64(in->time[i]);
            s->row[s->n++] = (uint32_t)i;
        }
        rc = ml_sort_u64(key, s->row, (size_t)s->n, err);
    }
    mem_try_free(key);
    return rc;
}

static double time_at(const struct stretch *s, int64_t at)
{
    return s->in->time[s->row[at]];
}

/* The beginning of a moment that is nearest to place `at` of the n first rows; of two at the same
 * distance the earlier. 0 and n are always beginnings. */
static int64_t nearest_cut(const struct stretch *s, int64_t at, int64_t n)
{
    for (int64_t off = 0; off <= n; off++) {
        int64_t lo = at - off, hi = at + off;
        if (lo <= 0 || time_at(s, lo - 1) < time_at(s, lo))
            return MAX(lo, 0);
        if (hi >= n || time_at(s, hi - 1) < time_at(s, hi))
            return MIN(hi, n);
    }
    return 0;
}

/* The last rows become test rows; those in the gap before them belong to nothing. Returns how many
 * rows are left to train on. */
static int64_t take_test(const struct stretch *s, uint8_t *fold)
{
    double fraction = s->in->test_fraction;

    if (fraction <= 0 || s->n < 2)
        return s->n;
    int64_t wanted = MAX(1, (int64_t)floor(fraction * (double)s->n + 0.5));
    int64_t cut = nearest_cut(s, MAX(s->n - wanted, 1), s->n);
    if (cut == s->n) /* the last moment has more rows than were asked for */
        while (cut > 0 && time_at(s, cut - 1) == time_at(s, s->n - 1))
            cut--;
    for (int64_t i = cut; i < s->n; i++)
        fold[s->row[i]] = SPLIT_TEST;
    int64_t left = cut;
    while (left > 0 && !split_is_before(time_at(s, left - 1), time_at(s, cut), s->in->gap))
        fold[s->row[--left]] = SPLIT_NONE;
    return left;
}

/* Cuts rows 0 .. n - 1 of the order into k + 1 stretches, the newest first. A stretch that would be
 * empty, or has nothing before it to train on, is left out. Returns the number of folds. */
static int cut_folds(const struct stretch *s, int64_t n, int k, uint8_t *fold,
                     double start[SPLIT_MAX_FOLDS])
{
    int made = 0;
    int64_t end = n;

    for (int j = k; j >= 1; j--) {
        int64_t from = nearest_cut(s, n * j / (k + 1), n);
        if (from >= end || !split_is_before(time_at(s, 0), time_at(s, from), s->in->gap))
            continue;
        start[made] = time_at(s, from);
        for (int64_t i = from; i < end; i++)
            fold[s->row[i]] = (uint8_t)made;
        made++;
        end = from;
    }
    for (int64_t i = 0; i < end; i++)
        fold[s->row[i]] = SPLIT_PAST;
    return made;
}

int split_make_time(const struct split_in *in, int *k, uint8_t *fold, double start[SPLIT_MAX_FOLDS],
                    struct err *err)
{
    struct stretch s = { .in = in };
    int rc = -1;

    if (split_check(in, *k, err) < 0)
        return -1;
    if (rows_by_time(&s, err) < 0)
        goto out;
    for (int64_t i = 0; i < in->n; i++)
        fold[i] = SPLIT_NONE;
    int64_t n = take_test(&s, fold);
    if (n < 2) {
        err_at(err, "time",
               "%lld rows come before the test rows and their gap: too few to train on",
               (long long)n);
        goto out;
    }
    int made = cut_folds(&s, n, *k, fold, start);
    if (made == 0)
        err_at(err, "time", "%s",
               in->gap > 0 ? "no row comes before any fold and its gap: a smaller gap is needed"
                           : "all training rows are of one moment: they have no order in time");
    else
        rc = 0;
    *k = made;
out:
    mem_try_free(s.row);
    return rc;
}
