/* forest_split.c - the best split of one column of one node. The score of a side, larger is better and summed over both:
 *   gini     sum_k n_k^2 / n            entropy  sum_k n_k log n_k - n log n            squared  S^2 / n
 * with whole n_k, n and S, so that no order of summation shows. A node of few rows touches few of the 256 bins: a bitmap
 * keeps scanning in proportion to its rows, and a histogram is cleared as it is read. Missing values are tried on both
 * sides. Categories are put in order of their mean target (two classes, regression: the best subset is then a prefix,
 * Fisher 1958) or of their share of the node's largest class. A cut lies midway between the present bins on its two sides:
 * rows to come fall on either. Ties keep the earlier column, the smaller bin, missing to the right. Called by
 * forest_grow.c. The kind of target is a constant in every loop: BINARY, CLASSES or NUMBER. */
#include "ml/forest.h"

#include "base/base.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum kind { BINARY, CLASSES, NUMBER };
enum { SMALL_NODE = 160 };

/* What a run of rows adds up to: n weights, and s: weight of class 1, or sum of targets; CLASSES: counts stand in left[],
 * and s is the sum of their squares. */
struct side {
    int64_t n, s;
};

struct scan {
    const struct rf_node_in *in;
    struct rf_scratch *s;
    struct rf_split *best;
    struct side all, missing, left;
    int64_t right_squares; /* CLASSES */
    int before;            /* the last present bin; -1 = none yet */
    int best_at; /* bin, or entry, after which the best cut so far lies; -1 = not in this column */
};

INLINE int64_t word_weight(rf_word w)
{
    return w & 0xffff;
}

static double two_score(const struct rf_scratch *s, enum rf_criterion c, int64_t n, int64_t x)
{
    if (c == RF_ENTROPY)
        return s->xlogx[x] + s->xlogx[n - x] - s->xlogx[n];
    return (double)n - 2.0 * (double)(n - x) * (double)x / (double)n;
}

static double classes_entropy(const struct rf_node_in *in, const struct rf_scratch *s,
                              bool is_right, int64_t n)
{
    double sum = 0;

    for (int k = 0; k < in->d->n_classes; k++)
        sum += s->xlogx[is_right ? in->total[k] - s->left[k] : s->left[k]];
    return sum - s->xlogx[n];
}

double rf_own_score(const struct rf_node_in *in, const struct rf_scratch *s)
{
    double sum = 0;
    int64_t n = in->weight;

    if (in->d->n_classes == 0)
        return (double)in->total[0] * (double)in->total[0] / (double)n;
    if (in->d->n_classes == 2)
        return two_score(s, in->p->criterion, n, in->total[1]);
    if (in->p->criterion == RF_GINI) {
        int64_t squares = 0;
        for (int k = 0; k < in->d->n_classes; k++)
            squares += in->total[k] * in->total[k];
        return (double)squares / (double)n;
    }
    for (int k = 0; k < in->d->n_classes; k++)
        sum += s->xlogx[in->total[k]];
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
        return (double)x->left.s / (double)ln + (double)x->right_squares / (double)rn;
    if (kind == CLASSES)
        return classes_entropy(x->in, x->s, false, ln) + classes_entropy(x->in, x->s, true, rn);
    int64_t ls = x->left.s, rs = x->all.s - ls;
    double l = (double)ln, r = (double)rn;
    if (kind == NUMBER)
        return (double)ls * (double)ls / l + (double)rs * (double)rs / r;
    if (c == RF_ENTROPY)
        return two_score(x->s, c, ln, ls) + two_score(x->s, c, rn, rs);
    double mixed_l = (double)ls * (double)(ln - ls), mixed_r = (double)rs * (double)(rn - rs);
    return (double)x->all.n - 2.0 * (mixed_l * r + mixed_r * l) / (l * r);
}

/* Weighs the cut after what `left` holds; at: where it is. */
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

/* ---- histograms ---- */

INLINE void row_add(int64_t *h, enum kind kind, int width, int bin, rf_word word)
{
    if (kind == BINARY) {
        h[bin] += word;
    } else if (kind == NUMBER) {
        h[2 * bin] += word_weight(word);
        h[2 * bin + 1] += word_weight(word) * (word >> 16);
    } else {
        h[(int64_t)bin * width + (word >> 32)] += word_weight(word);
    }
}

/* Fills the histogram; bit b of `bits`: some row may be in bin b. */
INLINE void hist_fill(const struct rf_node_in *in, enum kind kind, const uint8_t *col,
                      struct rf_scratch *s, int n_bins, uint64_t bits[4])
{
    int64_t *h = s->hist;

    if (in->n >= SMALL_NODE) {
        for (int64_t i = 0; i < in->n; i++)
            row_add(h, kind, s->width, col[in->rows[i]], in->words[i]);
        for (int w = 0; w < 4; w++)
            bits[w] = n_bins >= (w + 1) * 64 ? ~0ull
                      : n_bins > w * 64      ? (1ull << (n_bins & 63)) - 1
                                             : 0;
        bits[3] |= 1ull << 63;
        return;
    }
    memset(bits, 0, 4 * sizeof *bits);
    for (int64_t i = 0; i < in->n; i++) {
        uint8_t b = col[in->rows[i]];
        row_add(h, kind, s->width, b, in->words[i]);
        bits[b >> 6] |= 1ull << (b & 63);
    }
}

INLINE void bin_clear(struct rf_scratch *s, enum kind kind, int bin)
{
    int64_t *at = s->hist + (int64_t)bin * s->width;

    if (kind == BINARY)
        at[0] = 0;
    else if (kind == NUMBER)
        at[0] = at[1] = 0;
    else
        memset(at, 0, (size_t)s->width * sizeof *at);
}

INLINE bool bin_is_empty(const struct rf_scratch *s, enum kind kind, int bin)
{
    const int64_t *at = s->hist + (int64_t)bin * s->width;
    int64_t any = at[0];

    for (int k = 1; kind == CLASSES && k < s->width; k++)
        any |= at[k];
    return any == 0;
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

/* ---- numbers, best cut ---- */

INLINE bool scan_numeric(struct scan *x, enum kind kind, enum rf_criterion c, uint64_t bits[4])
{
    bool is_open = false; /* the best cut so far still waits for the next present bin */

    bits[3] &= ~(1ull << 63);
    for (int w = 0; w < 4; w++) {
        for (; bits[w]; bits[w] &= bits[w] - 1) {
            int b = w * 64 + __builtin_ctzll(bits[w]);
            if (bin_is_empty(x->s, kind, b))
                continue;
            if (is_open)
                x->best->bin = (x->before + b) / 2;
            side_add(x, kind, x->s->hist + (int64_t)b * x->s->width, 1);
            bin_clear(x->s, kind, b);
            double before = x->best->score;
            try_cut(x, kind, c, b);
            is_open = x->best->score > before;
            if (is_open)
                x->best->bin = b;
            x->before = b;
        }
    }
    bin_clear(x->s, kind, RF_MISSING);
    x->best->is_set = x->best_at >= 0 ? false : x->best->is_set;
    return x->best_at >= 0;
}

/* ---- categories ---- */

struct entry {
    double order;
    int bin;
};

INLINE int entries_of(const struct scan *x, enum kind kind, const uint64_t bits[4], struct entry *e)
{
    const struct rf_node_in *in = x->in;
    int n = 0, main_class = 0;

    for (int k = 1; kind == CLASSES && k < x->s->width; k++)
        main_class = in->total[k] > in->total[main_class] ? k : main_class;
    for (int b = 0; b < RF_MISSING; b++) {
        const int64_t *at = x->s->hist + (int64_t)b * x->s->width;
        if (!(bits[b >> 6] >> (b & 63) & 1) || bin_is_empty(x->s, kind, b))
            continue;
        int64_t weight = kind == BINARY ? at[0] & 0xffffffff : at[0],
                sum = kind == BINARY ? at[0] >> 32 : at[1];
        for (int k = 1; kind == CLASSES && k < x->s->width; k++)
            weight += at[k];
        sum = kind == CLASSES ? at[main_class] : sum;
        e[n++] = (struct entry){ (double)sum / (double)weight, b };
    }
    return n;
}

static void entries_sort(struct entry *e, int n)
{
    for (int i = 1; i < n; i++) {
        struct entry x = e[i];
        int j = i;
        for (; j > 0 && e[j - 1].order > x.order; j--)
            e[j] = e[j - 1];
        e[j] = x;
    }
}

static void entries_shuffle(struct entry *e, int n, uint64_t key)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)((rf_mix(key, (uint64_t)i) >> 32) * (uint64_t)(i + 1) >> 32);
        struct entry x = e[i];
        e[i] = e[j];
        e[j] = x;
    }
}

INLINE bool scan_categories(struct scan *x, enum kind kind, enum rf_criterion c,
                            const uint64_t bits[4], uint64_t key)
{
    struct entry e[256];
    int n = entries_of(x, kind, bits, e), only = -1;

    if (x->in->p->is_extra && n > 0) { /* a random order of the levels, a random prefix of it */
        entries_shuffle(e, n, key);
        only = n > 1 ? (int)((rf_mix(key, 256) >> 32) * (uint64_t)(n - 1) >> 32) : 0;
    } else {
        entries_sort(e, n);
    }
    for (int i = 0; i < n; i++) {
        side_add(x, kind, x->s->hist + (int64_t)e[i].bin * x->s->width, 1);
        if (only < 0 || i == only)
            try_cut(x, kind, c, i);
    }
    for (int i = 0; i < n; i++)
        bin_clear(x->s, kind, e[i].bin);
    bin_clear(x->s, kind, RF_MISSING);
    if (x->best_at < 0)
        return false;
    struct rf_split *best = x->best;
    best->is_set = true;
    best->bin = 0;
    memset(best->set, 0, sizeof best->set);
    for (int i = 0; i <= x->best_at; i++)
        best->set[e[i].bin >> 6] |= 1ull << (e[i].bin & 63);
    best->set[3] |= best->missing_left ? 1ull << 63 : 0;
    return true;
}

/* ---- numbers, one random cut ---- */

/* No histogram: the column is fetched once, its range found, and each row added to one of two sides. */
INLINE bool scan_random(struct scan *x, enum kind kind, enum rf_criterion c, const uint8_t *col,
                        uint64_t key)
{
    const struct rf_node_in *in = x->in;
    uint8_t *near = x->s->near;
    int lo = 255, hi = 0, n_missing = 0, width = x->s->width;

    for (int64_t i = 0; i < in->n; i++)
        near[i] = col[in->rows[i]];
    for (int64_t i = 0; i < in->n; i++) {
        int present = near[i] != RF_MISSING, v = near[i];
        lo = v < lo ? v : lo;
        hi = present && v > hi ? v : hi;
        n_missing += !present;
    }
    if (lo >= hi && !(n_missing && n_missing < in->n))
        return false;
    int span = hi - lo, cut = lo + (span > 0 ? (int)((key >> 32) * (uint64_t)span >> 32) : 0);
    int64_t sums[2] = { 0 }, *to = kind == CLASSES ? x->s->hist : sums;
    if (kind == BINARY) {
        int64_t sum = 0;
        for (int64_t i = 0; i < in->n; i++)
            sum += near[i] <= cut ? in->words[i] : 0;
        sums[0] = sum;
    } else if (kind == NUMBER) {
        int64_t n = 0, sum = 0;
        for (int64_t i = 0; i < in->n; i++) {
            int64_t w = near[i] <= cut ? word_weight(in->words[i]) : 0;
            n += w;
            sum += w * (in->words[i] >> 16);
        }
        sums[0] = n;
        sums[1] = sum;
    } else {
        for (int64_t i = 0; i < in->n; i++)
            to[in->words[i] >> 32] += near[i] <= cut ? word_weight(in->words[i]) : 0;
    }
    for (int64_t i = 0; n_missing && i < in->n; i++) {
        if (near[i] == RF_MISSING)
            row_add(x->s->hist, kind, width, RF_MISSING, in->words[i]);
    }
    scan_begin(x, kind);
    side_add(x, kind, to, 1);
    if (kind == CLASSES)
        bin_clear(x->s, kind, 0);
    try_cut(x, kind, c, cut);
    bin_clear(x->s, kind, RF_MISSING);
    if (x->best_at < 0)
        return false;
    x->best->is_set = false;
    x->best->bin = cut;
    return true;
}

/* ---- a column ---- */

INLINE bool split_column(const struct rf_node_in *in, enum kind kind, enum rf_criterion c, int col,
                         struct rf_scratch *s, struct rf_split *best)
{
    const uint8_t *bins = in->bins + col * in->pitch;
    struct scan x = { .in = in, .s = s, .best = best };
    uint64_t bits[4], key = 0;

    if (in->p->is_extra)
        key = rf_mix(in->key ^ 0x63757473, (uint64_t)col);
    if (in->p->is_extra && !in->d->is_categorical[col])
        return scan_random(&x, kind, c, bins, key);
    hist_fill(in, kind, bins, s, in->d->n_bins[col], bits);
    scan_begin(&x, kind);
    if (in->d->is_categorical[col])
        return scan_categories(&x, kind, c, bits, key);
    return scan_numeric(&x, kind, c, bits);
}

bool rf_split_column(const struct rf_node_in *in, int col, struct rf_scratch *s,
                     struct rf_split *best)
{
    enum rf_criterion c = in->p->criterion;
    bool is_better;

    if (in->d->n_classes == 0)
        is_better = split_column(in, NUMBER, RF_SQUARED, col, s, best);
    else if (in->d->n_classes == 2 && c == RF_GINI)
        is_better = split_column(in, BINARY, RF_GINI, col, s, best);
    else if (in->d->n_classes == 2)
        is_better = split_column(in, BINARY, RF_ENTROPY, col, s, best);
    else if (c == RF_GINI)
        is_better = split_column(in, CLASSES, RF_GINI, col, s, best);
    else
        is_better = split_column(in, CLASSES, RF_ENTROPY, col, s, best);
    if (is_better)
        best->col = col;
    return is_better;
}
