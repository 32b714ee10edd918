/* forest_math.h - the arithmetic that decides a tree of a forest, one source for the CPU
 * (ml/forest/forest_scan.h) and for the kernels of devices (ml/cuda/forest.cu): the keyed hash of
 * draws, and the score of a pair of children from whole numbers. Larger scores are better; l, r:
 * weights of the sides. C++-clean, for host and device. */
#ifndef ML_MATH_FOREST_MATH_H
#define ML_MATH_FOREST_MATH_H

#include "ml/math/fmath.h"

/* A keyed hash (the finaliser of SplitMix64, Steele, Lea and Flood 2014): draws inside a tree,
 * and of rows (ml/prep/), whose key is Philox's. */
FM_FN uint64_t rf_mix(uint64_t key, uint64_t tag)
{
    uint64_t z = key + (tag + 1) * 0x9e3779b97f4a7c15ull;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* The place that draw number `seen` of a permutation of n takes its value from (Fisher and
 * Yates). */
FM_FN int rf_visit(uint64_t key, int seen, int n)
{
    return seen + (int)((rf_mix(key, (uint64_t)seen) >> 32) * (uint64_t)(n - seen) >> 32);
}

/* The key of a column's random cut, or of the random order of its levels. */
FM_FN uint64_t rf_cut_key(uint64_t node, int col)
{
    return rf_mix(node ^ 0x63757473, (uint64_t)col);
}

/* A place drawn evenly from that of bin lo to just before that of bin hi. */
FM_FN uint32_t rf_random_place(const uint32_t *places, uint64_t key, int lo, int hi)
{
    return places[lo] + (uint32_t)((key >> 32) * (places[hi] - places[lo]) >> 32);
}

/* The random cut of a column whose least and largest bin in the node are lo < hi: the last bin that
 * does not lie past a place drawn evenly between theirs. places[bin]: from rf_places
 * (ml/forest/forest.h); NULL = the bin's own number. lo == hi gives lo. */
FM_FN int rf_random_cut(const uint32_t *places, uint64_t key, int lo, int hi)
{
    if (!places)
        return lo + (int)((key >> 32) * (uint64_t)(hi - lo) >> 32);
    uint32_t at = rf_random_place(places, key, lo, hi);

    /* a branch would be predicted wrong half of the time */
    for (int n = hi - lo; n > 1;) {
        int half = n / 2;
        lo += half & -(int)(places[lo + half] <= at);
        n -= half;
    }
    return lo;
}

/* Where values go that a node of n rows never showed to its split: drawn, to the left as often as
 * one of the node's own rows goes left. The mean over many trees is then the mean over the rows of
 * the node; sending them to the heavier child, which is the same one in every tree, would shift it
 * to one side. */
FM_FN int rf_unseen_left(uint64_t node, int32_t n_left, int32_t n)
{
    return (int)((rf_mix(node, 0x756e7365656eull) >> 32) * (uint64_t)n >> 32) < n_left;
}

/* Sends the values that the rows of a node never showed to its split to one side: missing values
 * (returned: 1 = left) and, where `set` is not NULL, levels. seen: bit b = some row was in bin b,
 * missing (255) among them; for a numeric split only that bit is read. missing_left, set: as the
 * split has them. */
FM_FN int rf_unseen(const uint64_t seen[4], int n_bins, int goes_left, int missing_left,
                    uint64_t *set)
{
    int is_left = seen[3] >> 63 ? missing_left : goes_left;

    for (int b = 0; set && goes_left && b < n_bins; b++)
        set[b >> 6] |= (~seen[b >> 6] >> (b & 63) & 1) << (b & 63);
    if (set)
        set[3] = (set[3] & ~(1ull << 63)) | (uint64_t)is_left << 63;
    return is_left;
}

/* Gini for two classes; ls, rs: weights of class 1. */
FM_FN double rf_two_gini(int64_t ln, int64_t ls, int64_t rn, int64_t rs)
{
    double l = (double)ln, r = (double)rn;
    double mixed_l = (double)ls * (double)(ln - ls), mixed_r = (double)rs * (double)(rn - rs);

    return (double)(ln + rn) - 2.0 * (mixed_l * r + mixed_r * l) / (l * r);
}

FM_FN double rf_two_gini_own(int64_t n, int64_t s)
{
    return (double)n - 2.0 * (double)(n - s) * (double)s / (double)n;
}

/* Gini for more classes; l2, r2: sums of the squared weights of the classes. l2 / ln + r2 / rn with
 * one division. */
FM_FN double rf_many_gini(int64_t ln, int64_t l2, int64_t rn, int64_t r2)
{
    return ((double)l2 * (double)rn + (double)r2 * (double)ln) / ((double)ln * (double)rn);
}

/* Squared error; ls, rs: sums of targets. */
FM_FN double rf_squared(int64_t ln, int64_t ls, int64_t rn, int64_t rs)
{
    return (double)ls * (double)ls / (double)ln + (double)rs * (double)rs / (double)rn;
}

#endif
