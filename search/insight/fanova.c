/* fanova.c - functional ANOVA by a regression forest (Hutter, Hoos, Leyton-Brown, An Efficient
 * Approach for Assessing Hyperparameter Importance, ICML 2014). A tree is constant on boxes of the
 * space, so the marginal of one parameter and its variance under the uniform measure are exact sums
 * over the leaves (section 4.1 of the paper). Trees are grown on bootstrap samples, look at all
 * parameters in each node, take the split with the largest drop of squared error, and grow until
 * every leaf is pure. To split a category, its choices are sorted by their mean score and cut at
 * one place; the best division into two sets is always one of these cuts (Fisher 1958).
 *
 * Conditional spaces. The measure follows the tree of parameters: while its parent has a choice
 * that makes it active, a parameter is uniform. A node is split by a parameter only if the
 * parameter is active in the whole box. So the measure of a leaf is a product: for each parameter
 * that the path to the leaf was split by, the share of the parameter's range that lies in the leaf.
 * The main effect of a parameter is P(active) times the variance of E[score | its value, active].
 * The main effect of a parent is computed from E[score | its choice], so it includes the mean
 * effect of the children that the choice makes active.
 *
 * A box may contain choices of a parent that no trial of the node has. Such choices can prevent
 * splits by the parent's children. Nothing is known about these choices, so they become a leaf with
 * the node's mean. If each parameter is the child of the one before it, the main effects of all of
 * them add up to at most the whole variance. */
#include "search/insight/fanova.h"

#include "search/insight/fanova_tree.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>

/* ---- variances ---- */

static int by_place(const void *a, const void *b)
{
    double x = ((const struct edge *)a)->at, y = ((const struct edge *)b)->at;

    return (x > y) - (x < y);
}

/* The marginal of a number is a step function. Its edges are sorted, and the function is integrated
 * between them. */
static double variance_of_number(struct edges *e)
{
    double sum = 0, squares = 0, height = 0;

    qsort(e->list, (size_t)e->n, sizeof *e->list, by_place);
    for (int i = 0; i < e->n; i++) {
        double width = i > 0 ? e->list[i].at - e->list[i - 1].at : 0;
        sum += width * height;
        squares += width * height * height;
        height += e->list[i].step;
    }
    return squares - sum * sum; /* the function is 0 outside the edges */
}

static double variance_of_choices(const double *height, int n)
{
    double mean = 0, ss = 0;

    for (int c = 0; c < n; c++)
        mean += height[c] / n;
    for (int c = 0; c < n; c++)
        ss += (height[c] - mean) * (height[c] - mean) / n;
    return ss;
}

/* Leaves are weighted by their volume in the whole space, so the marginal of a conditional
 * parameter contains the factor P(active), and its square contains it twice. The main effect needs
 * it once, so we divide by it here. */
static double variance_of(struct forest *f, int j)
{
    const struct param *p = &f->space->params[j];

    if (fanova_is_set(p))
        return variance_of_choices(f->height + f->first[j], p->n_choices) / f->activity[j];
    return f->edges[j].n > 0 ? variance_of_number(&f->edges[j]) / f->activity[j] : 0;
}

/* ---- the forest ---- */

static void tree_clear(struct forest *f)
{
    f->sum = f->squares = 0;
    for (int j = 0; j < f->space->n; j++) {
        f->lo[j] = 0;
        f->hi[j] = 1;
        f->bounds[j] = false;
        f->edges[j].n = 0;
    }
    for (int c = 0; c < f->first[f->space->n]; c++) {
        f->in[c] = true;
        f->height[c] = 0;
    }
}

static void forest_init(struct forest *f, const struct importance_data *d)
{
    size_t n = (size_t)d->space->n;

    *f = (struct forest){ .d = d, .space = d->space };
    f->usable = mem_array((size_t)d->n + 1, sizeof *f->usable);
    for (int i = 0; i < d->n; i++) {
        if (isfinite(d->gains[i]))
            f->usable[f->n++] = i;
    }
    f->first = mem_array(n + 1, sizeof *f->first);
    f->activity = mem_array(n + 1, sizeof *f->activity);
    f->has_child = mem_array(n + 1, sizeof *f->has_child);
    f->is_searched = mem_array(n + 1, sizeof *f->is_searched);
    for (int j = 0; j < d->space->n; j++) {
        const struct param *p = &f->space->params[j];
        int open = 0;

        f->first[j + 1] = f->first[j] + (fanova_is_set(p) ? p->n_choices : 0);
        f->is_searched[j] = importance_concerns(p);
        for (int c = 0; p->parent >= 0 && c < MIN(64, f->space->params[p->parent].n_choices); c++)
            open += p->parent_mask >> (unsigned)c & 1;
        if (p->parent >= 0)
            f->has_child[p->parent] = true;
        f->activity[j] =
            p->parent < 0 ? 1
                          : f->activity[p->parent] * open / f->space->params[p->parent].n_choices;
    }
    size_t n_choices = (size_t)f->first[d->space->n];
    f->lo = mem_array(2 * n + 1, sizeof *f->lo);
    f->hi = f->lo + n;
    f->in = mem_array(n_choices + 1, sizeof *f->in);
    f->bounds = mem_array(n + 1, sizeof *f->bounds);
    f->edges = mem_array(n + 1, sizeof *f->edges);
    f->height = mem_array(n_choices + 1, sizeof *f->height);
    f->sorted = mem_array(FANOVA_TREE_TRIALS, sizeof *f->sorted);
    f->choice_sum = mem_array(2 * (size_t)SPACE_MAX_CHOICES, sizeof *f->choice_sum);
}

static void forest_fini(struct forest *f)
{
    for (int j = 0; j < f->space->n; j++)
        mem_free(f->edges[j].list);
    mem_free(f->usable);
    mem_free(f->first);
    mem_free(f->activity);
    mem_free(f->has_child);
    mem_free(f->is_searched);
    mem_free(f->lo);
    mem_free(f->in);
    mem_free(f->bounds);
    mem_free(f->edges);
    mem_free(f->height);
    mem_free(f->sorted);
    mem_free(f->choice_sum);
}

/* Grows one tree and adds each parameter's share of the tree's variance to out. Returns false if
 * the tree predicts the same value everywhere, so that it has no variance to share. */
static bool tree_add(struct forest *f, uint64_t seed, int tree, int *trials, double *out)
{
    int n = MIN(f->n, FANOVA_TREE_TRIALS);
    struct rng r;

    rng_init(&r, seed, (uint64_t)tree);
    for (int i = 0; i < n; i++)
        trials[i] = f->usable[rng_below(&r, (uint32_t)f->n)];
    tree_clear(f);
    fanova_tree_grow(f, trials, n);
    double total = f->squares - f->sum * f->sum;
    if (!(total > 1e-12 * f->squares))
        return false;
    for (int j = 0; j < f->space->n; j++)
        out[j] += fmin(fmax(variance_of(f, j) / total, 0), 1);
    return true;
}

int fanova_main_effects(const struct importance_data *d, uint64_t seed, double *out)
{
    int *trials = mem_array(FANOVA_TREE_TRIALS, sizeof *trials), grown = 0;
    struct forest f;

    for (int j = 0; j < d->space->n; j++)
        out[j] = 0;
    forest_init(&f, d);
    for (int t = 0; f.n >= 2 && t < FANOVA_TREES; t++)
        grown += tree_add(&f, seed, t, trials, out);
    for (int j = 0; grown > 0 && j < d->space->n; j++)
        out[j] /= grown;
    int n = grown > 0 ? f.n : 0;
    forest_fini(&f);
    mem_free(trials);
    return n;
}
