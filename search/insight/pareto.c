/* pareto.c - the functions of pareto.h.
 *
 * Non-dominated sorting by efficient sequential search (Zhang, Tian, Cheng, Jin, An Efficient
 * Approach to Nondominated Sorting for Evolutionary Multiobjective Optimization, IEEE TEVC 2015):
 * points are visited in lexicographic order, and each is put into the first front in which no
 * member dominates it. A point that is dominated by a member of one front is also dominated by a
 * member of every front before it, so binary search finds the front.
 *
 * The hypervolume is computed from exclusive volumes (While, Bradstreet, Barone, A Fast Way of
 * Calculating Exact Hypervolumes, IEEE TEVC 2012). */
#include "search/insight/pareto.h"

#include "base/base.h"
#include "base/bisect.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool pareto_dominates(const double *a, const double *b, int m)
{
    bool better = false;

    for (int k = 0; k < m; k++) {
        if (!(a[k] >= b[k]))
            return false;
        better = better || a[k] > b[k];
    }
    return better;
}

/* ---- sorting ---- */

struct item {
    const double *v;
    int row, m;
};

/* Best first, by the first objective, then the second and so on; ties by row. */
static int lexicographic(const void *a, const void *b)
{
    const struct item *x = a, *y = b;

    for (int k = 0; k < x->m; k++) {
        if (x->v[k] != y->v[k])
            return x->v[k] > y->v[k] ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static bool has_nan(const double *v, int m)
{
    for (int k = 0; k < m; k++) {
        if (isnan(v[k]))
            return true;
    }
    return false;
}

/* The points without NaN, sorted. */
static struct item *sorted_new(const double *values, int n, int m, int *count)
{
    struct item *items = mem_array((size_t)n + 1, sizeof *items);

    CHECK(m >= 1 && m <= PARETO_MAX_OBJECTIVES && n >= 0);
    *count = 0;
    for (int i = 0; i < n; i++) {
        const double *v = values + (size_t)i * (size_t)m;
        if (!has_nan(v, m))
            items[(*count)++] = (struct item){ v, i, m };
    }
    qsort(items, (size_t)*count, sizeof *items, lexicographic);
    return items;
}

struct fronts {
    const struct item *items;
    int *last; /* for each front: its newest item, -1 = none */
    int *prev; /* for each item: the one before it in its front */
    int n;
};

static bool front_dominates(const struct fronts *f, int front, int item)
{
    const struct item *p = &f->items[item];

    for (int i = f->last[front]; i >= 0; i = f->prev[i]) {
        if (pareto_dominates(f->items[i].v, p->v, p->m))
            return true;
        if (p->m <= 2)
            return false; /* with two objectives the newest member is the best in the second one */
    }
    return false;
}

int pareto_ranks(const double *values, int n, int m, int *ranks)
{
    int count = 0;
    struct item *items = sorted_new(values, n, m, &count);
    int *links = mem_array(2 * (size_t)n + 1, sizeof *links);
    struct fronts f = { .items = items, .last = links, .prev = links + n };

    for (int i = 0; i < count; i++) {
        int at;

        BISECT(at, f.n, front_dominates(&f, at, i));
        if (at == f.n)
            f.last[f.n++] = -1;
        f.prev[i] = f.last[at];
        f.last[at] = i;
        ranks[items[i].row] = at;
    }
    for (int i = 0; i < n; i++) {
        if (has_nan(values + (size_t)i * (size_t)m, m))
            ranks[i] = f.n;
    }
    mem_free(links);
    mem_free(items);
    return f.n + (count < n);
}

/* Moves the sorted items that no other dominates to the beginning. Returns their number. */
static int keep_front(struct item *items, int n, int m)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        bool is_out = false;
        for (int k = kept - 1; k >= 0 && !is_out; k--) {
            is_out = pareto_dominates(items[k].v, items[i].v, m);
            if (m <= 2)
                break; /* as in front_dominates */
        }
        if (!is_out)
            items[kept++] = items[i];
    }
    return kept;
}

int pareto_front(const double *values, int n, int m, int *rows)
{
    int count = 0;
    struct item *items = sorted_new(values, n, m, &count);

    count = keep_front(items, count, m);
    for (int i = 0; i < count; i++)
        rows[i] = items[i].row;
    mem_free(items);
    return count;
}

/* ---- hypervolume ---- */

/* The area under a sorted front of two objectives above 0. */
static double area(const struct item *items, int n)
{
    double sum = 0, height = 0;

    for (int i = 0; i < n; i++) {
        if (items[i].v[1] > height) {
            sum += items[i].v[0] * (items[i].v[1] - height);
            height = items[i].v[1];
        }
    }
    return sum;
}

static double box(const double *v, int m)
{
    double out = 1;

    for (int k = 0; k < m; k++)
        out *= v[k];
    return out;
}

/* The volume above 0 of items that are sorted and of which none dominates another. Each item adds
 * its box less the part that the items after it cover too; that part is the volume of those items,
 * limited to the box. */
static double volume(const struct item *items, int n, int m)
{
    double sum = 0;

    if (n == 0)
        return 0;
    if (m == 1)
        return items[0].v[0];
    if (m == 2)
        return area(items, n);
    double *limited = mem_array((size_t)n * (size_t)m, sizeof *limited);
    struct item *rest = mem_array((size_t)n, sizeof *rest);
    for (int i = 0; i < n; i++) { /* what item i covers and later ones do not */
        int n_rest = n - i - 1;
        for (int k = 0; k < n_rest; k++) {
            for (int j = 0; j < m; j++)
                limited[k * m + j] = MIN(items[i].v[j], items[i + 1 + k].v[j]);
            rest[k] = (struct item){ limited + (size_t)k * (size_t)m, k, m };
        }
        qsort(rest, (size_t)n_rest, sizeof *rest, lexicographic);
        sum += box(items[i].v, m) - volume(rest, keep_front(rest, n_rest, m), m);
    }
    mem_free(rest);
    mem_free(limited);
    return sum;
}

double pareto_hypervolume(const double *values, int n, int m, const double *reference)
{
    double *above = mem_array((size_t)n * (size_t)m + 1, sizeof *above);
    int kept = 0, count = 0;

    for (int i = 0; i < n; i++) {
        bool is_above = true;
        for (int k = 0; k < m; k++) {
            above[kept * m + k] = values[(size_t)i * (size_t)m + (size_t)k] - reference[k];
            is_above = is_above && above[kept * m + k] > 0;
        }
        kept += is_above;
    }
    struct item *items = sorted_new(above, kept, m, &count);
    double out = volume(items, keep_front(items, count, m), m);
    mem_free(items);
    mem_free(above);
    return out;
}
