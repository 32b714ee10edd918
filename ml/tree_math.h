/* tree_math.h - the arithmetic that decides a boosted tree, one source for the CPU (ml/cpu/scan.c, ml/boost_grow.c) and the
 * device's kernels (ml/cuda): packed words of quantised gradients, the score of a pair of children, the value of a leaf.
 * Sums are whole numbers, so no order of rows changes a tree or a leaf; what is made of them is one fixed expression of
 * doubles. C++-clean, host and device. */
#ifndef ML_TREE_MATH_H
#define ML_TREE_MATH_H

#include "ml/fmath.h"

/* A row's word: g signed in the upper 16 bits, h >= 0 in the lower. A sum: the same in 32 and 32 bits. */
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

struct scan_node {
    int64_t total; /* packed sum of the node */
    double l1, l2;
    double min_h;
    double cat_l2, cat_smooth; /* categorical: added to l2; added to h in the order of g / h */
    int max_onehot;            /* up to so many present levels: one against the rest */
};

FM_FN double scan_shrunk(double g, double l1)
{
    if (g > l1)
        return g - l1;
    return g < -l1 ? g + l1 : 0.0;
}

/* The parent's term. */
FM_FN double scan_own(const struct scan_node *nd)
{
    double g = scan_shrunk(hist_g(nd->total), nd->l1);

    return g * g / (hist_h(nd->total) + nd->l2);
}

/* Of a pair of children; -1 when one is too small. */
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

/* Where missing values go when the node has none, and levels that it lacks: with the heavier child. */
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

/* Rows are not counted per bin: h per row of the node stands for them; squared error has h = 1, exact. n: rows;
 * least: in units of h. */
FM_FN double scan_min_h(int64_t total, int32_t n, int min_leaf, double least)
{
    double min_h = (min_leaf - 0.5) * hist_h(total) / n;

    min_h = min_h < least ? least : min_h;
    return min_h < 1.0 ? 1.0 : min_h;
}

/* A kid's path; a hash once the steps do not fit 64 bits. */
FM_FN uint64_t grow_path(uint64_t path, int is_right)
{
    return path * (path >> 63 ? 0x9e3779b97f4a7c15ull : 2) + (uint64_t)is_right;
}

/* Gradients of a leaf are summed unrounded as far as 62 bits of all rows' sum allow: in units of 2^-31 of the quantised
 * ones. Whole numbers again: the sum of a leaf does not depend on the order of its rows. scale: of the quantised. */
#define LEAF_UNITS 0x1p31
FM_FN int64_t leaf_units(float x, double scale)
{
    return (int64_t)((double)x * (scale * LEAF_UNITS));
}
/* One Newton step, before the learning rate. */
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

#endif
