/* fanova_tree.c - grows a regression tree over a space with conditions: the box of a node, its best
 * split, its leaves. fanova.c explains what is grown and how it is measured. The box is one struct
 * that each recursion changes on the way down and restores on the way up. */
#include "search/insight/fanova_tree.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool fanova_is_set(const struct param *p)
{
    return p->kind == PARAM_CATEGORICAL || p->kind == PARAM_ORDINAL;
}

static const struct param *param_at(const struct forest *f, int j)
{
    return &f->space->params[j];
}

static float unit_of(const struct forest *f, int trial, int j)
{
    return f->d->units[(size_t)trial * (size_t)f->space->n + (size_t)j];
}

static int choice_of(const struct forest *f, int trial, int j)
{
    int size = param_at(f, j)->n_choices;

    return MIN(size - 1, (int)((double)unit_of(f, trial, j) * size));
}

/* ---- the box ---- */

/* Whether the parameter is active everywhere in the box: each of its ancestors holds only choices
 * that open the next. */
static bool is_active(const struct forest *f, int j)
{
    for (; param_at(f, j)->parent >= 0; j = param_at(f, j)->parent) {
        const struct param *p = param_at(f, j);
        const bool *in = f->in + f->first[p->parent];

        for (int c = 0; c < param_at(f, p->parent)->n_choices; c++) {
            if (in[c] && !(c < 64 && p->parent_mask >> (unsigned)c & 1))
                return false;
        }
    }
    return true;
}

/* The share of parameter j's range or choices that the box holds. */
static double share_of(const struct forest *f, int j)
{
    const struct param *p = param_at(f, j);
    int n = 0;

    if (!fanova_is_set(p))
        return f->hi[j] - f->lo[j];
    for (int c = 0; c < p->n_choices; c++)
        n += f->in[f->first[j] + c];
    return (double)n / p->n_choices;
}

static void edge_add(struct edges *e, double at, double step)
{
    MEM_GROW(e->list, e->n, e->cap);
    e->list[e->n++] = (struct edge){ at, step };
}

/* Makes the box a leaf. Its value, weighted by its volume, is added to the whole and to the
 * marginal of each parameter that bounds it. To the marginals of the others it would add a
 * constant, which changes no variance. */
static void leaf(struct forest *f, double value)
{
    double volume = 1;

    for (int j = 0; j < f->space->n; j++)
        volume *= f->bounds[j] ? share_of(f, j) : 1;
    f->sum += volume * value;
    f->squares += volume * value * value;
    for (int j = 0; j < f->space->n; j++) {
        double step = f->bounds[j] ? volume / share_of(f, j) * value : 0;

        if (!f->bounds[j])
            continue;
        if (!fanova_is_set(param_at(f, j))) {
            edge_add(&f->edges[j], f->lo[j], step);
            edge_add(&f->edges[j], f->hi[j], -step);
            continue;
        }
        for (int c = 0; c < param_at(f, j)->n_choices; c++)
            f->height[f->first[j] + c] += f->in[f->first[j] + c] ? step : 0;
    }
}

/* ---- growing ---- */

struct split {
    int param; /* -1 = none */
    double gain, at;
    int cut; /* the first `cut` trials in the order of keys go left */
};

static int by_key(const void *a, const void *b)
{
    const struct sample *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static double mean_of(const struct forest *f, const int *trials, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += f->d->gains[trials[i]];
    return sum / n;
}

/* Sorts the node's trials by a key that a threshold can split: the unit value, or for a category
 * the mean gain of its choice in the node. Trials with equal keys always stay together, because two
 * choices may have the same mean. */
static void node_keys(const struct forest *f, int j, const int *trials, int n)
{
    const struct param *p = param_at(f, j);
    double *sums = f->choice_sum, *counts = sums + SPACE_MAX_CHOICES;

    for (int i = 0; p->kind == PARAM_CATEGORICAL && i < n; i++) {
        int c = choice_of(f, trials[i], j);
        sums[c] = counts[c] = 0;
    }
    for (int i = 0; p->kind == PARAM_CATEGORICAL && i < n; i++) {
        int c = choice_of(f, trials[i], j);
        sums[c] += f->d->gains[trials[i]];
        counts[c]++;
    }
    for (int i = 0; i < n; i++) {
        double key = unit_of(f, trials[i], j);
        if (p->kind == PARAM_CATEGORICAL) {
            int c = choice_of(f, trials[i], j);
            key = sums[c] / counts[c];
        }
        f->sorted[i] = (struct sample){ key, f->d->gains[trials[i]], trials[i] };
    }
    qsort(f->sorted, (size_t)n, sizeof *f->sorted, by_key);
}

/* The best threshold of one parameter, by the drop of the squared error: n_l n_r / n (mean_l -
 * mean_r)^2. With `left` the sum of (gain - mean) on the left side, this is left^2 n / (n_l
 * n_r). */
static void try_split(const struct forest *f, int j, const int *trials, int n, double mean,
                      struct split *best)
{
    double left = 0;

    node_keys(f, j, trials, n);
    for (int i = 0; i < n - 1; i++) {
        left += f->sorted[i].gain - mean;
        if (f->sorted[i].key == f->sorted[i + 1].key)
            continue;
        double gain = left * left * n / ((i + 1.0) * (n - i - 1.0));
        if (gain > best->gain)
            *best = (struct split){ j, gain, (f->sorted[i].key + f->sorted[i + 1].key) / 2, i + 1 };
    }
}

static struct split best_split(const struct forest *f, const int *trials, int n)
{
    double mean = mean_of(f, trials, n), ss = 0;
    struct split best = { .param = -1 };

    for (int i = 0; i < n; i++)
        ss += (f->d->gains[trials[i]] - mean) * (f->d->gains[trials[i]] - mean);
    best.gain = 1e-12 * ss;
    for (int j = 0; ss > 0 && j < f->space->n; j++) {
        if (f->is_searched[j] && is_active(f, j))
            try_split(f, j, trials, n, mean, &best);
    }
    return best;
}

static void grow(struct forest *f, int *trials, int n, int depth);

/* Whether a child of j could be split if the choices that no trial has were not in the box. */
static bool is_blocked(const struct forest *f, int j, const bool *seen)
{
    const bool *in = f->in + f->first[j];

    for (int k = j + 1; k < f->space->n; k++) {
        bool opens = param_at(f, k)->parent == j, is_open = true;

        for (int c = 0; opens && c < param_at(f, j)->n_choices; c++) {
            bool in_mask = c < 64 && param_at(f, k)->parent_mask >> (unsigned)c & 1;
            opens = opens && (!seen[c] || in_mask);
            is_open = is_open && (!in[c] || in_mask);
        }
        if (opens && !is_open)
            return true;
    }
    return false;
}

/* Choices of parent j that no trial of the node has, and that keep children from being split,
 * become a leaf with the node's mean. The box keeps the other choices. */
static void part_unseen(struct forest *f, int j, const int *trials, int n)
{
    int size = param_at(f, j)->n_choices;
    bool *in = f->in + f->first[j], *seen = mem_array((size_t)size, sizeof *seen);

    for (int i = 0; i < n; i++)
        seen[choice_of(f, trials[i], j)] = true;
    if (is_blocked(f, j, seen)) {
        for (int c = 0; c < size; c++)
            in[c] = in[c] && !seen[c];
        f->bounds[j] = true;
        leaf(f, mean_of(f, trials, n));
        memcpy(in, seen, (size_t)size * sizeof *in);
    }
    mem_free(seen);
}

/* Puts the trials that go left first and returns their number. */
static int partition(const struct forest *f, const struct split *s, int *trials, int n)
{
    node_keys(f, s->param, trials, n);
    for (int i = 0; i < n; i++)
        trials[i] = f->sorted[i].trial;
    return s->cut;
}

static void grow_number(struct forest *f, const struct split *s, int *trials, int n, int depth)
{
    double lo = f->lo[s->param], hi = f->hi[s->param];
    int n_left = partition(f, s, trials, n);

    f->hi[s->param] = s->at;
    grow(f, trials, n_left, depth + 1);
    f->hi[s->param] = hi;
    f->lo[s->param] = s->at;
    grow(f, trials + n_left, n - n_left, depth + 1);
    f->lo[s->param] = lo;
}

static void grow_set(struct forest *f, const struct split *s, int *trials, int n, int depth)
{
    int size = param_at(f, s->param)->n_choices, n_left = partition(f, s, trials, n);
    bool *in = f->in + f->first[s->param], *old = mem_dup(in, (size_t)size * sizeof *in);
    bool *left = mem_array((size_t)size, sizeof *left), *right = mem_array((size_t)size, 1);

    for (int i = 0; i < n; i++)
        (i < n_left ? left : right)[choice_of(f, trials[i], s->param)] = true;
    for (int c = 0; c < size; c++) { /* choices that no trial has go with the larger part */
        bool goes_left = left[c] || (!right[c] && 2 * n_left >= n);
        left[c] = old[c] && goes_left;
        right[c] = old[c] && !goes_left;
    }
    memcpy(in, left, (size_t)size * sizeof *in);
    grow(f, trials, n_left, depth + 1);
    memcpy(in, right, (size_t)size * sizeof *in);
    grow(f, trials + n_left, n - n_left, depth + 1);
    memcpy(in, old, (size_t)size * sizeof *in);
    mem_free(old);
    mem_free(left);
    mem_free(right);
}

/* Splits the box or makes it a leaf. The box is unchanged when this returns. */
static void split_or_leaf(struct forest *f, int *trials, int n, int depth)
{
    struct split s = { .param = -1 };

    if (n >= 2 && depth < FANOVA_DEPTH)
        s = best_split(f, trials, n);
    if (s.param < 0) {
        leaf(f, mean_of(f, trials, n));
        return;
    }
    bool had = f->bounds[s.param];
    f->bounds[s.param] = true;
    if (fanova_is_set(param_at(f, s.param)))
        grow_set(f, &s, trials, n, depth);
    else
        grow_number(f, &s, trials, n, depth);
    f->bounds[s.param] = had;
}

static bool is_flat(const struct forest *f, const int *trials, int n)
{
    for (int i = 1; i < n; i++) {
        if (f->d->gains[trials[i]] != f->d->gains[trials[0]])
            return false;
    }
    return true;
}

/* Grows the subtree of a node. part_unseen narrows the box for good, so the box is kept aside and
 * restored at the end. */
static void grow(struct forest *f, int *trials, int n, int depth)
{
    size_t n_choices = (size_t)f->first[f->space->n], n_params = (size_t)f->space->n;
    bool *in = NULL, *bounds = NULL;

    if (depth < FANOVA_DEPTH && !is_flat(f, trials, n)) {
        in = mem_dup(f->in, n_choices + 1);
        bounds = mem_dup(f->bounds, n_params + 1);
        for (int j = 0; j < f->space->n; j++) {
            if (f->has_child[j] && is_active(f, j))
                part_unseen(f, j, trials, n);
        }
    }
    split_or_leaf(f, trials, n, depth);
    if (in) {
        memcpy(f->in, in, n_choices);
        memcpy(f->bounds, bounds, n_params);
    }
    mem_free(in);
    mem_free(bounds);
}

void fanova_tree_grow(struct forest *f, int *trials, int n)
{
    grow(f, trials, n, 0);
}
