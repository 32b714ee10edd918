/* tpe_front.c - the best fronts of many trials; tpe_front.h gives the rule. The hypervolume is
 * costly, so it is computed only for the MOST_TIED trials of the one front that does not fit, and
 * sorting into fronts is quadratic with more than two objectives, so it is done in blocks of BLOCK
 * first. */
#include "search/samplers/tpe/tpe_front.h"

#include "search/insight/pareto.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { BLOCK = 500, MOST_TIED = 32 };

/* The trials that are still compared. */
struct field {
    double *values; /* n x m */
    int *rows, *ranks;
    int n, m;
};

static void keep(struct field *f, int to, int from)
{
    memmove(f->values + (size_t)to * (size_t)f->m, f->values + (size_t)from * (size_t)f->m,
            (size_t)f->m * sizeof *f->values);
    f->rows[to] = f->rows[from];
}

/* Of each block, keeps the trials with the lowest ranks, whole ranks only, until at least `least`
 * are kept. */
static void tournament(struct field *f, int least)
{
    int kept = 0;

    for (int at = 0; at < f->n; at += BLOCK) {
        int n = MIN(BLOCK, f->n - at), through = 0, count = 0;
        int ranks = pareto_ranks(f->values + (size_t)at * (size_t)f->m, n, f->m, f->ranks);
        for (; through < ranks && count < least; through++) {
            for (int i = 0; i < n; i++)
                count += f->ranks[i] == through;
        }
        for (int i = 0; i < n; i++) {
            if (f->ranks[i] < through)
                keep(f, kept++, at + i);
        }
    }
    f->n = kept;
}

/* The range of each objective over its finite values. */
static void range_of(const struct field *f, double *lo, double *hi)
{
    for (int k = 0; k < f->m; k++) {
        lo[k] = INFINITY;
        hi[k] = -INFINITY;
        for (int i = 0; i < f->n; i++) {
            double v = f->values[(size_t)i * (size_t)f->m + (size_t)k];
            if (isfinite(v)) {
                lo[k] = MIN(lo[k], v);
                hi[k] = MAX(hi[k], v);
            }
        }
    }
}

static bool is_measurable(const struct field *f, int i)
{
    for (int k = 0; k < f->m; k++) {
        if (!isfinite(f->values[(size_t)i * (size_t)f->m + (size_t)k]))
            return false;
    }
    return true;
}

/* Adds up to `want` of the tied trials, each time the one that adds the most volume. Trials with an
 * infinity or NaN come last, by age. Each objective is scaled to [0,1] by its range. Values are
 * halved first, because a range may be larger than a double. The reference point is -0.1, so a
 * trial that is best in one objective and worst in another adds some volume, but not the most. */
static int add_by_volume(const struct field *f, const int *tied, int n_tied, int want, int *out)
{
    const double reference[PARETO_MAX_OBJECTIVES] = { -0.1, -0.1, -0.1, -0.1 };
    double lo[PARETO_MAX_OBJECTIVES] = { 0 }, hi[PARETO_MAX_OBJECTIVES] = { 0 };
    double set[(MOST_TIED + 1) * PARETO_MAX_OBJECTIVES], units[MOST_TIED * PARETO_MAX_OBJECTIVES];
    bool is_taken[MOST_TIED] = { false };
    int n = 0;

    range_of(f, lo, hi);
    for (int i = 0; i < n_tied * f->m; i++) {
        int k = i % f->m;
        double v = f->values[(size_t)tied[i / f->m] * (size_t)f->m + (size_t)k];
        units[i] = hi[k] > lo[k] ? (v / 2 - lo[k] / 2) / (hi[k] / 2 - lo[k] / 2) : 0;
    }
    for (int in_set = 0; n < MIN(want, n_tied); n++) {
        double most = -1;
        int best = 0;
        for (int i = 0; i < n_tied; i++) {
            double volume = -0.5;
            if (is_taken[i])
                continue;
            if (is_measurable(f, tied[i])) {
                memcpy(set + in_set * f->m, units + i * f->m, (size_t)f->m * sizeof *set);
                volume = pareto_hypervolume(set, in_set + 1, f->m, reference);
            }
            if (volume > most) {
                most = volume;
                best = i;
            }
        }
        CHECK(!is_taken[best]);
        is_taken[best] = true;
        out[n] = f->rows[tied[best]];
        if (is_measurable(f, tied[best]))
            memcpy(set + in_set++ * f->m, units + best * f->m, (size_t)f->m * sizeof *set);
    }
    return n;
}

/* Takes whole fronts as long as they fit, then part of the next one. */
static int take(const struct field *f, int want, int *out)
{
    int ranks = pareto_ranks(f->values, f->n, f->m, f->ranks), n = 0;

    for (int rank = 0; rank < ranks && n < want; rank++) {
        int tied[MOST_TIED], count = 0, n_tied = 0;
        for (int i = 0; i < f->n; i++)
            count += f->ranks[i] == rank;
        bool is_whole = count <= want - n;
        for (int i = 0, nth = 0; i < f->n; i++) {
            if (f->ranks[i] != rank)
                continue;
            if (is_whole)
                out[n++] = f->rows[i];
            else if (n_tied < MOST_TIED && nth * MIN(MOST_TIED, count) / count == n_tied)
                tied[n_tied++] = i; /* evenly spaced members of a large front */
            nth++;
        }
        if (!is_whole)
            return n + add_by_volume(f, tied, n_tied, want - n, out + n);
    }
    return n;
}

int tpe_front_best(const double *values, const int *rows, int n, int m, int want, int *out)
{
    struct field f = { .n = n, .m = m };

    f.values = mem_dup(values, (size_t)n * (size_t)m * sizeof *values);
    f.rows = mem_dup(rows, (size_t)n * sizeof *rows);
    f.ranks = mem_array((size_t)n + 1, sizeof *f.ranks);
    if (n > 4 * BLOCK)
        tournament(&f, 2 * want / (n / BLOCK) + 1);
    int got = take(&f, want, out);
    mem_free(f.values);
    mem_free(f.rows);
    mem_free(f.ranks);
    return got;
}
