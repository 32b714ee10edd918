/* forest_scan.h - private to the searches for splits (forest_split.c, forest_gini.c,
 * forest_random.c): the score of a cut. Larger is better; it is summed over both sides:
 *
 *   gini     sum_k n_k^2 / n
 *   entropy  sum_k n_k log n_k - n log n
 *   squared  S^2 / n
 *
 * with whole numbers n_k, n and S, so the order of summation cannot show. Missing values are tried
 * on both sides. The kind of target is a constant in every loop: BINARY, CLASSES or NUMBER. */
#ifndef ML_FOREST_FOREST_SCAN_H
#define ML_FOREST_FOREST_SCAN_H

#include "ml/cpu/rows.h"
#include "ml/forest/forest.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum kind { BINARY, CLASSES, NUMBER };
enum { BINS = 256 };

/* Sums of a run of rows. n: weights. s: the weight of class 1, or the sum of targets; for CLASSES
 * the counts stand in left[], and s is the sum of their squares. */
struct side {
    int64_t n, s;
};

struct scan {
    const struct rf_node_in *in;
    struct rf_scratch *s;
    struct rf_split *best;
    struct side all, missing, left;
    /* for CLASSES */
    int64_t right_squares;
    /* the last bin that holds rows; -1 = none yet */
    int before;
    int best_at; /* bin, or entry, after which the best cut so far lies; -1 = not in this column */
};

/* A category of a node. Entries stand in the order in which cuts part them. */
struct rf_entry {
    double order;
    int bin;
};

/* Ascending; equal ones keep their order. */
void rf_entries_sort(struct rf_entry *e, int n);
void rf_entries_shuffle(struct rf_entry *e, int n, uint64_t key);
/* How many of n shuffled levels go left of an extra tree's cut, less one. */
INLINE int rf_prefix_last(uint64_t key, int n)
{
    return n > 1 ? (int)((rf_mix(key, BINS) >> 32) * (uint64_t)(n - 1) >> 32) : 0;
}

/* Bit b of `bits`: at least one of n rows is in bin b. no_more: every bin is below 64. */
INLINE void bins_present(const uint8_t *x, int64_t n, bool no_more, uint64_t bits[4])
{
    uint64_t first = 0;

    memset(bits, 0, 4 * sizeof *bits);
    for (int64_t i = 0; no_more && i < n; i++)
        first |= 1ull << (x[i] & 63);
    for (int64_t i = 0; !no_more && i < n; i++)
        bits[x[i] >> 6] |= 1ull << (x[i] & 63);
    bits[0] |= first;
}

INLINE int64_t word_weight(rf_word w)
{
    return w & 0xffff;
}

INLINE double two_score(const struct rf_scratch *s, enum rf_criterion c, int64_t n, int64_t x)
{
    if (c == RF_ENTROPY)
        return s->xlogx[x] + s->xlogx[n - x] - s->xlogx[n];
    return rf_two_gini_own(n, x);
}

/* The i-th class in ascending order, because sums of reals (entropy) need one fixed order. */
INLINE int ascending(const struct rf_runs *r, int i)
{
    return r->class_of[0] <= r->class_of[r->n - 1] ? i : r->n - 1 - i;
}

/* The node's largest class; of equal ones the first. */
INLINE int main_class_of(const struct rf_node_in *in)
{
    int main_class = 0;

    for (int i = 0; i < in->runs.n; i++) {
        int k = ascending(&in->runs, i);
        main_class = i == 0 || in->total[k] > in->total[main_class] ? k : main_class;
    }
    return main_class;
}

INLINE double classes_entropy(const struct rf_node_in *in, const struct rf_scratch *s,
                              bool is_right, int64_t n)
{
    double sum = 0;

    for (int i = 0; i < in->runs.n; i++) {
        int k = ascending(&in->runs, i);
        sum += s->xlogx[is_right ? in->total[k] - s->left[k] : s->left[k]];
    }
    return sum - s->xlogx[n];
}

/* ---- sums ---- */

INLINE void side_add(struct scan *x, enum kind kind, const int64_t *bin, int64_t sign)
{
    if (kind == BINARY) {
        x->left.n += sign * (bin[0] & 0xffffffff);
        x->left.s += sign * (bin[0] >> 32);
    } else if (kind == NUMBER) {
        x->left.n += sign * bin[0];
        x->left.s += sign * bin[1];
    } else {
        int64_t *left = x->s->left;
        const int64_t *total = x->in->total;
        int64_t n = 0, l2 = 0, r2 = 0;
        for (int k = 0; k < x->s->width; k++) {
            left[k] += sign * bin[k];
            n += bin[k];
            l2 += left[k] * left[k];
            r2 += (total[k] - left[k]) * (total[k] - left[k]);
        }
        x->left.n += sign * n;
        x->left.s = l2;
        x->right_squares = r2;
    }
}

INLINE double pair_score(const struct scan *x, enum kind kind, enum rf_criterion c)
{
    int64_t ln = x->left.n, rn = x->all.n - ln;

    if (kind == CLASSES && c == RF_GINI)
        return rf_many_gini(ln, x->left.s, rn, x->right_squares);
    if (kind == CLASSES)
        return classes_entropy(x->in, x->s, false, ln) + classes_entropy(x->in, x->s, true, rn);
    int64_t ls = x->left.s, rs = x->all.s - ls;
    if (kind == NUMBER)
        return rf_squared(ln, ls, rn, rs);
    if (c == RF_ENTROPY)
        return two_score(x->s, c, ln, ls) + two_score(x->s, c, rn, rs);
    return rf_two_gini(ln, ls, rn, rs);
}

/* Scores the cut after what `left` holds. at: its bin or entry. */
INLINE void try_here(struct scan *x, enum kind kind, enum rf_criterion c, int at, bool missing_left)
{
    int64_t least = x->in->p->min_leaf, rn = x->all.n - x->left.n;

    if (x->left.n < least || rn < least || x->left.n < 1 || rn < 1)
        return;
    double score = pair_score(x, kind, c);
    if (score > x->best->score) {
        x->best->score = score;
        x->best->missing_left = missing_left;
        x->best_at = at;
    }
}

INLINE void try_cut(struct scan *x, enum kind kind, enum rf_criterion c, int at)
{
    try_here(x, kind, c, at, false);
    if (x->missing.n) {
        side_add(x, kind, x->s->hist + (int64_t)RF_MISSING * x->s->width, 1);
        try_here(x, kind, c, at, true);
        side_add(x, kind, x->s->hist + (int64_t)RF_MISSING * x->s->width, -1);
    }
}

/* run: for CLASSES, which of the node's classes the row is of. */
INLINE void row_add(int64_t *h, enum kind kind, int width, int bin, rf_word word, int run)
{
    if (kind == BINARY) {
        h[bin] += word;
    } else if (kind == NUMBER) {
        h[2 * bin] += word_weight(word);
        h[2 * bin + 1] += word_weight(word) * (word >> 16);
    } else {
        h[(int64_t)bin * width + run] += word_weight(word);
    }
}

INLINE void bin_clear(struct rf_scratch *s, enum kind kind, int bin)
{
    int64_t *at = s->hist + (int64_t)bin * s->width;

    for (int k = 0; k < (kind == BINARY ? 1 : kind == NUMBER ? 2 : s->width); k++)
        at[k] = 0;
}

INLINE void scan_begin(struct scan *x, enum kind kind)
{
    const struct rf_node_in *in = x->in;

    x->all = (struct side){ in->weight, in->total[kind == BINARY ? 1 : 0] };
    if (kind == CLASSES)
        memset(x->s->left, 0, (size_t)x->s->width * sizeof *x->s->left);
    x->left = (struct side){ 0 };
    side_add(x, kind, x->s->hist + (int64_t)RF_MISSING * x->s->width, 1);
    x->missing = x->left;
    side_add(x, kind, x->s->hist + (int64_t)RF_MISSING * x->s->width, -1);
    x->before = x->best_at = -1;
}

#endif
