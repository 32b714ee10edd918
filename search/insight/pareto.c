/* pareto.c - the functions of pareto.h.
 *
 * Non-dominated sorting by efficient sequential search (Zhang, Tian, Cheng, Jin, An Efficient
 * Approach to Nondominated Sorting for Evolutionary Multiobjective Optimization, IEEE TEVC 2015):
 * points are visited in lexicographic order, and each is put into the first front in which no
 * member dominates it. A point that is dominated by a member of one front is also dominated by a
 * member of every front before it, so binary search finds the front.
 *
 * The hypervolume is swept along the first objective, best first: each point adds its value there
 * times what it adds to the volume of the points before it in the other objectives (Fonseca,
 * Paquete, Lopez-Ibanez, An Improved Dimension-Sweep Algorithm for the Hypervolume Indicator, CEC
 * 2006; Beume, Fonseca, Lopez-Ibanez, Paquete, Vahrenhold, On the Complexity of Computing the
 * Hypervolume Indicator, IEEE TEVC 2009). */
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

/* The area above 0 under sorted items of two objectives. */
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

/* The points of two objectives that no other dominates: x rises and y falls. */
struct stair {
    double x, y;
};
struct stairs {
    struct stair *at;
    int n;
};

/* Adds a point. Returns by how much the area under the stairs grows. */
static double stairs_add(struct stairs *s, double x, double y)
{
    int end, first;
    double gain = 0, from = 0;

    BISECT(end, s->n, s->at[end].x < x);
    if (end < s->n && s->at[end].y >= y)
        return 0;
    for (first = end; first > 0 && s->at[first - 1].y <= y;)
        first--;
    from = first > 0 ? s->at[first - 1].x : 0;
    for (int i = first; i < end; i++) { /* these are dominated now */
        gain += (s->at[i].x - from) * (y - s->at[i].y);
        from = s->at[i].x;
    }
    gain += (x - from) * (y - (end < s->n ? s->at[end].y : 0));
    end += end < s->n && s->at[end].x == x;
    memmove(s->at + first + 1, s->at + end, (size_t)(s->n - end) * sizeof *s->at);
    s->at[first] = (struct stair){ x, y };
    s->n += first + 1 - end;
    return gain;
}

static double volume_of_three(const struct item *items, int n)
{
    struct stairs s = { .at = mem_array((size_t)n + 1, sizeof *s.at) };
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += items[i].v[0] * stairs_add(&s, items[i].v[1], items[i].v[2]);
    mem_free(s.at);
    return sum;
}

/* What a point adds to the volume of others in the last three objectives is its box less what they
 * cover of it, which is the volume of these points, limited to the box. The points before it are kept
 * in the order of the second objective, in which they stay when they are limited. */
static double volume_of_four(const struct item *items, int n)
{
    const double **before = mem_array((size_t)n + 1, sizeof *before);
    struct item *inside = mem_array((size_t)n + 1, sizeof *inside);
    double *limited = mem_array(3 * (size_t)n + 1, sizeof *limited), sum = 0;

    for (int i = 0; i < n; i++) {
        const double *v = items[i].v;
        for (int k = 0; k < i; k++) {
            double *to = limited + 3 * (size_t)k;
            for (int j = 0; j < 3; j++)
                to[j] = MIN(v[j + 1], before[k][j + 1]);
            inside[k] = (struct item){ to, k, 3 };
        }
        sum += v[0] * (v[1] * v[2] * v[3] - volume_of_three(inside, i));
        int at;
        BISECT(at, i, before[at][1] > v[1]);
        memmove(before + at + 1, before + at, (size_t)(i - at) * sizeof *before);
        before[at] = v;
    }
    mem_free(before);
    mem_free(inside);
    mem_free(limited);
    return sum;
}

/* The volume above 0 of items that are sorted. */
static double volume(const struct item *items, int n, int m)
{
    switch (m) {
    case 1:
        return n > 0 ? items[0].v[0] : 0;
    case 2:
        return area(items, n);
    case 3:
        return volume_of_three(items, n);
    default:
        return volume_of_four(items, n);
    }
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
    double out = volume(items, count, m);
    mem_free(items);
    mem_free(above);
    return out;
}
