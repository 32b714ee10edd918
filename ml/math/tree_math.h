/* tree_math.h - the arithmetic that decides a boosted tree: packed words of quantised gradients,
 * the score of a pair of children, the value of a leaf. One source for the CPU (ml/cpu/scan.c,
 * ml/boost/boost_grow.c) and the device's kernels (ml/cuda).
 *
 * Sums are whole numbers, so the order of rows cannot change a tree or a leaf. What is computed
 * from the sums is one fixed expression of doubles. C++-clean, for host and device. */
#ifndef ML_MATH_TREE_MATH_H
#define ML_MATH_TREE_MATH_H

#include "ml/math/fmath.h"

/* A row's word holds g, signed, in the upper 16 bits and h >= 0 in the lower 16. A sum of words
 * holds them in 32 and 32 bits. */
FM_FN int64_t hist_word(uint32_t q)
{
    return (int64_t)(int32_t)(q & 0xffff0000u) * 65536 + (int64_t)(q & 0xffffu);
}
FM_FN int32_t hist_g(int64_t word)
{
    return (int32_t)(word >> 32);
}
FM_FN uint32_t hist_h(int64_t word)
{
    return (uint32_t)word;
}

/* What the scores of a node's splits depend on besides the histogram. Sums and penalties are in
 * units of the quantised gradients. */
struct scan_node {
    /* packed sum of the node's rows */
    int64_t total;
    double l1, l2;
    double min_h;
    /* for sets of levels: an extra penalty, added to l2; and what is added to h in the ratio g / h
     * by which levels are sorted */
    double cat_l2, cat_smooth;
    /* up to so many levels in the node, each level alone is tried against the rest */
    int max_onehot;
};

/* g moved by l1 towards zero, or 0 if that would change its sign. */
FM_FN double scan_shrunk(double g, double l1)
{
    if (g > l1)
        return g - l1;
    return g < -l1 ? g + l1 : 0.0;
}

/* The term of the node left whole. */
FM_FN double scan_own(const struct scan_node *nd)
{
    double g = scan_shrunk(hist_g(nd->total), nd->l1);

    return g * g / (hist_h(nd->total) + nd->l2);
}

/* The score of a pair of children (ml/cpu/scan.h); -1 when one is too small. The division is done
 * once for both. */
FM_FN double scan_score(const struct scan_node *nd, int64_t left, double l2)
{
    int64_t right = nd->total - left;
    double hl = hist_h(left), hr = hist_h(right);

    if (hl < nd->min_h || hr < nd->min_h)
        return -1.0;
    double gl = scan_shrunk(hist_g(left), nd->l1), gr = scan_shrunk(hist_g(right), nd->l1);
    double a = hl + l2, b = hr + l2;
    return (gl * gl * b + gr * gr * a) / (a * b);
}

/* Bounds for the leaf values below a node (monotone constraints, as in XGBoost and in LightGBM's
 * basic method). A child's value is cut to lo..hi; a pair whose values are in the wrong order is no
 * split; and the score is the gain over the node's own cut value, so nothing is subtracted from it
 * afterwards. lo and hi are in units of g / h of the quantised gradients. */
struct scan_bounds {
    double lo, hi;
    /* 1: the left value must be at most the right one; -1: at least; 0: any order */
    int direction;
    double own; /* scan_bounded_own */
};

/* By how much, times two, a leaf of gradient g lowers the loss with value v. a = h + l2. At the
 * best v this is T(g)^2 / a. */
FM_FN double scan_term_at(double g, double a, double l1, double v)
{
    return -(2.0 * g * v + a * v * v + 2.0 * l1 * (v < 0.0 ? -v : v));
}

/* The best value of a leaf within the bounds. */
FM_FN double scan_value_in(const struct scan_bounds *b, double g, double a, double l1)
{
    double v = a > 0.0 ? -scan_shrunk(g, l1) / a : 0.0;

    v = v < b->lo ? b->lo : v;
    return v > b->hi ? b->hi : v;
}

FM_FN double scan_bounded_own(const struct scan_node *nd, const struct scan_bounds *b)
{
    double g = hist_g(nd->total), a = hist_h(nd->total) + nd->l2;

    return scan_term_at(g, a, nd->l1, scan_value_in(b, g, a, nd->l1));
}

FM_FN double scan_bounded_score(const struct scan_node *nd, const struct scan_bounds *b,
                                int64_t left, double l2)
{
    int64_t right = nd->total - left;
    double hl = hist_h(left), hr = hist_h(right), gl = hist_g(left), gr = hist_g(right);

    if (hl < nd->min_h || hr < nd->min_h)
        return -1.0;
    double vl = scan_value_in(b, gl, hl + l2, nd->l1), vr = scan_value_in(b, gr, hr + l2, nd->l1);
    if ((b->direction > 0 && vl > vr) || (b->direction < 0 && vl < vr))
        return -1.0;
    double gain =
        scan_term_at(gl, hl + l2, nd->l1, vl) + scan_term_at(gr, hr + l2, nd->l1, vr) - b->own;
    return gain > 0.0 ? gain : -1.0;
}

/* Whether the left child is the heavier one. Missing values go there if the node has none itself,
 * and so do levels that it lacks. */
FM_FN int scan_is_left_heavy(const struct scan_node *nd, int64_t left)
{
    return hist_h(left) >= hist_h(nd->total - left);
}

/* The gain of a node whose best pair scores `score`; -1 = not worth a split. */
FM_FN double scan_gain(const struct scan_node *nd, double score)
{
    double gain = score - scan_own(nd);

    return score > 0.0 && gain > 1e-9 * score ? gain : -1.0;
}

/* The least h of a child that stands for at least min_leaf rows. Rows are not counted per bin: the
 * mean h of the node's rows stands for them. That is exact for squared error, where h = 1. n: rows
 * of the node; least: a lower bound in units of h. */
FM_FN double scan_min_h(int64_t total, int32_t n, int min_leaf, double least)
{
    double min_h = (min_leaf - 0.5) * hist_h(total) / n;

    min_h = min_h < least ? least : min_h;
    return min_h < 1.0 ? 1.0 : min_h;
}

/* The path of a child: a bit for each step from the root, and a hash once the steps do not fit 64
 * bits. */
FM_FN uint64_t grow_path(uint64_t path, int is_right)
{
    return path * (path >> 63 ? 0x9e3779b97f4a7c15ull : 2) + (uint64_t)is_right;
}

/* A gradient of a leaf as a whole number in units of 2^-31 of the quantised ones. That is so fine
 * that the sum over all rows needs up to 62 bits; it does not depend on the order of the rows.
 * scale: the quantised number is x times this. */
#define LEAF_UNITS 0x1p31
FM_FN int64_t leaf_units(float x, double scale)
{
    return (int64_t)((double)x * (scale * LEAF_UNITS));
}
/* A leaf's value by one Newton step, before the learning rate. */
FM_FN double leaf_step(int64_t g, int64_t h, double g_scale, double h_scale, double l1, double l2)
{
    double gs = scan_shrunk((double)g / (g_scale * LEAF_UNITS), l1);
    double hs = (double)h / (h_scale * LEAF_UNITS) + l2;

    return hs > 1e-12 ? -gs / hs : 0.0;
}
FM_FN float leaf_value(int64_t g, int64_t h, double g_scale, double h_scale, double l1, double l2,
                       double rate)
{
    return (float)(leaf_step(g, h, g_scale, h_scale, l1, l2) * rate);
}

/* The value of a leaf for the Poisson loss, exact instead of a Newton step: the logarithm of
 * observed over expected events, where h is the sum of the expected ones and h - g that of the
 * observed ones. l2 acts as so many events that were expected and observed. */
FM_FN double leaf_poisson(int64_t g, int64_t h, double g_scale, double h_scale, double l1,
                          double l2)
{
    double expected = (double)h / (h_scale * LEAF_UNITS), hold = l2 + 1e-3;
    double events = expected - scan_shrunk((double)g / (g_scale * LEAF_UNITS), l1);

    return fm_log_d(((events > 0.0 ? events : 0.0) + hold) / (expected + hold));
}

/* The value of a leaf whose best value is `value` (a median or quantile): the penalties act on it
 * as on a Newton step. weight: of its rows. */
FM_FN double leaf_refit(double value, double weight, double l1, double l2)
{
    return weight + l2 > 1e-12 ? -scan_shrunk(-value * weight, l1) / (weight + l2) : 0.0;
}

/* Huber: what is added to the median of a leaf's residuals is the mean of (residual - median), cut
 * at -far and far. It is summed in units of far / 2^31, as whole numbers. */
FM_FN int64_t huber_units(double e, double far)
{
    double cut = e > far ? far : e < -far ? -far : e;

    return far > 0.0 ? (int64_t)(cut * (LEAF_UNITS / far)) : 0;
}
FM_FN double huber_step(double middle, int64_t units, double far, double weight)
{
    return far > 0.0 ? middle + (double)units / (LEAF_UNITS / far) / weight : middle;
}

#endif
