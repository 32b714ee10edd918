/* boost_bound.c - monotone constraints of a tree, by the basic method of XGBoost and LightGBM.
 *
 * Every node has bounds for the values of its leaves. A split on a constrained column must not go
 * against the column's direction, and it puts the middle of its two children's values between their
 * subtrees; all other splits pass the bounds on. A leaf's value is held within its bounds. So no
 * tree, and no sum of trees, can go against a constraint, whatever the loss. Called by
 * boost_grow.c. */
#include "ml/boost/boost.h"

#include "base/base.h"

#include <math.h>

double boost_bound_leaf(const struct boost_work *wk, const struct boost_lane *l,
                        const struct grow_node *nd, bool has_sums)
{
    double v = has_sums ? boost_loss_step(wk, l, nd->sums)
                        : boost_loss_leaf(wk, l, wk->rows + nd->from, nd->n);

    return l->monotone ? fmin(fmax(v, nd->lo), nd->hi) : v;
}

/* What the scan of a node must hold: nd->lo and nd->hi, turned from units of leaf values into units
 * of quotients g / h of the quantised gradients. Where leaf values are not Newton steps, their size
 * cannot be told from g and h, so the scan only keeps the columns' directions. */
void boost_bound_scan(const struct boost_work *wk, const struct boost_lane *l,
                      const struct grow_node *nd, const struct scan_node *node,
                      struct scan_bounds *out)
{
    double unit = wk->g_scale / wk->h_scale;
    bool is_newton = !boost_loss_is_refit(l->loss);

    out->lo = is_newton ? nd->lo * unit : -(double)INFINITY;
    out->hi = is_newton ? nd->hi * unit : (double)INFINITY;
    out->direction = 0;
    out->own = scan_bounded_own(node, out);
}

/* 1: predictions must not fall with the column; -1: not rise; 0: no constraint. */
static int direction_of(const struct boost_lane *l, int col)
{
    return (l->monotone[col] > 0) - (l->monotone[col] < 0);
}

int boost_bound_column(const struct boost_work *wk, const struct boost_lane *l,
                       const struct scan_node *node, const struct scan_bounds *bounds, int j,
                       const int64_t *hist, uint32_t draw, struct scan_best *best)
{
    int col = wk->cols[j], n_bins = wk->n_bins[j];
    struct scan_bounds b = *bounds;

    if (wk->bins->is_categorical[col])
        return scan_bounded_categorical(node, &b, hist, n_bins, best);
    b.direction = direction_of(l, col);
    if (l->p.is_random)
        return scan_bounded_random(node, &b, hist, n_bins, draw, best);
    return scan_bounded_numeric(node, &b, hist, n_bins, best);
}

void boost_bound_split(struct boost_work *wk, const struct boost_lane *l,
                       const struct grow_node *nd)
{
    struct grow_node *left = &wk->nodes[nd->kid[0]], *right = &wk->nodes[nd->kid[1]];
    int direction = nd->best.is_categorical ? 0 : direction_of(l, nd->best.col);

    left->lo = right->lo = nd->lo;
    left->hi = right->hi = nd->hi;
    if (direction == 0)
        return;
    double middle =
        (boost_bound_leaf(wk, l, left, false) + boost_bound_leaf(wk, l, right, false)) / 2;
    if (direction > 0)
        left->hi = right->lo = middle;
    else
        left->lo = right->hi = middle;
}
