/* forest_split.c - the best split of a node among some of its columns.
 *
 * A node of few rows touches few of the 256 bins: a bitmap keeps the scan in proportion to the
 * rows, and a histogram is cleared while it is read. Categories are put in the order of their mean
 * target (for two classes and regression the best subset is then a prefix: Fisher, On grouping for
 * maximum homogeneity, 1958), or of their share of the node's largest class. A cut lies midway
 * between the nearest bins with rows on its two sides, because later rows fall on either side of
 * it. Ties keep the earlier column, the smaller bin, missing values to the right. Called by
 * forest_grow.c. */
#include "ml/forest/forest_scan.h"

#include "base/base.h"

#include <float.h>
#include <string.h>

enum { SMALL_NODE = 160 };

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
        for (int k = 0; k < in->runs.n; k++)
            squares += in->total[k] * in->total[k];
        return (double)squares / (double)n;
    }
    for (int i = 0; i < in->runs.n; i++)
        sum += s->xlogx[in->total[ascending(&in->runs, i)]];
    return sum - s->xlogx[n];
}

double rf_perfect_score(const struct rf_node_in *in)
{
    return in->d->n_classes == 0 ? DBL_MAX : in->p->criterion == RF_GINI ? (double)in->weight : 0.0;
}

/* ---- histograms ---- */

/* Adds rows [from, to) to the histogram, and sets the bit of every bin they are in, where bits are
 * wanted. */
INLINE void hist_add(const struct rf_node_in *in, enum kind kind, int col, struct rf_scratch *s,
                     int64_t from, int64_t to, int run, uint64_t *bits)
{
    const uint8_t *x = in->lines + col;

    for (int64_t i = from; i < to; i++) {
        uint8_t b = x[in->rows[i] * in->pitch];
        if (in->is_far)
            __builtin_prefetch(x + in->rows[i + RF_AHEAD < in->n ? i + RF_AHEAD : i] * in->pitch);
        row_add(s->hist, kind, s->width, b, in->words[i], run);
        if (bits)
            bits[b >> 6] |= 1ull << (b & 63);
    }
}

/* The same where the node lies column by column. */
INLINE void hist_add_near(const struct rf_node_in *in, enum kind kind, int col,
                          struct rf_scratch *s, int64_t from, int64_t to, int run, uint64_t *bits)
{
    const uint8_t *x = in->by_col + col * in->pitch;

    for (int64_t i = from; i < to; i++) {
        rf_word word = in->weights[i];
        if (kind == BINARY)
            word += (rf_word)in->ones[i] << 32;
        row_add(s->hist, kind, s->width, x[i], word, run);
        if (bits)
            bits[x[i] >> 6] |= 1ull << (x[i] & 63);
    }
}

INLINE void hist_runs(const struct rf_node_in *in, enum kind kind, int col, struct rf_scratch *s,
                      uint64_t *bits)
{
    int n = kind == CLASSES ? in->runs.n : 1;

    for (int64_t k = 0, from = 0, to; k < n; from = to, k++) {
        to = kind == CLASSES ? in->runs.end[k] : in->n;
        if (kind != NUMBER && in->by_col)
            hist_add_near(in, kind, col, s, from, to, (int)k, bits);
        else
            hist_add(in, kind, col, s, from, to, (int)k, bits);
    }
}

/* Fills the histogram. Bit b of `bits`: some row may be in bin b. */
INLINE void hist_fill(const struct rf_node_in *in, enum kind kind, int col, struct rf_scratch *s,
                      uint64_t bits[4])
{
    int n_bins = in->d->n_bins[col];

    memset(bits, 0, 4 * sizeof *bits);
    if (in->n < SMALL_NODE && n_bins > in->n) {
        hist_runs(in, kind, col, s, bits);
        return;
    }
    hist_runs(in, kind, col, s, NULL);
    for (int w = 0; w < 4; w++)
        bits[w] = n_bins >= (w + 1) * 64 ? ~0ull
                  : n_bins > w * 64      ? (1ull << (n_bins & 63)) - 1
                                         : 0;
    bits[3] |= 1ull << 63;
}

INLINE bool bin_is_empty(const struct rf_scratch *s, enum kind kind, int bin)
{
    const int64_t *at = s->hist + (int64_t)bin * s->width;
    int64_t any = at[0];

    for (int k = 1; kind == CLASSES && k < s->width; k++)
        any |= at[k];
    return any == 0;
}

/* ---- numbers, best cut ---- */

INLINE bool scan_numeric(struct scan *x, enum kind kind, enum rf_criterion c, uint64_t bits[4])
{
    /* the best cut so far still waits for the next bin with rows */
    bool is_open = false;

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

INLINE double entry_order(const struct scan *x, enum kind kind, int b, int main_class)
{
    const int64_t *at = x->s->hist + (int64_t)b * x->s->width;
    int64_t weight = kind == BINARY ? at[0] & 0xffffffff : at[0],
            sum = kind == BINARY ? at[0] >> 32 : at[1];

    for (int k = 1; kind == CLASSES && k < x->s->width; k++)
        weight += at[k];
    return (double)(kind == CLASSES ? at[main_class] : sum) / (double)weight;
}

INLINE int entries_of(const struct scan *x, enum kind kind, const uint64_t bits[4],
                      struct rf_entry *e)
{
    const struct rf_node_in *in = x->in;
    int n = 0, main_class = kind == CLASSES && !in->p->is_extra ? main_class_of(in) : 0;

    for (int w = 0; w < 4; w++) {
        uint64_t left = bits[w] & (w == 3 ? ~(1ull << 63) : ~0ull);
        for (; left; left &= left - 1) {
            int b = w * 64 + __builtin_ctzll(left);
            if (!bin_is_empty(x->s, kind, b))
                e[n++] =
                    (struct rf_entry){ in->p->is_extra ? 0 : entry_order(x, kind, b, main_class),
                                       b };
        }
    }
    return n;
}

void rf_entries_sort(struct rf_entry *e, int n)
{
    for (int i = 1; i < n; i++) {
        struct rf_entry x = e[i];
        int j = i;
        for (; j > 0 && e[j - 1].order > x.order; j--)
            e[j] = e[j - 1];
        e[j] = x;
    }
}

void rf_entries_shuffle(struct rf_entry *e, int n, uint64_t key)
{
    for (int i = n - 1; i > 0; i--) {
        int j = (int)((rf_mix(key, (uint64_t)i) >> 32) * (uint64_t)(i + 1) >> 32);
        struct rf_entry x = e[i];
        e[i] = e[j];
        e[j] = x;
    }
}

/* Extra trees: a random order of the levels, and a random prefix of it. */
INLINE void try_prefix(struct scan *x, enum kind kind, enum rf_criterion c, struct rf_entry *e,
                       int n, uint64_t key)
{
    int last = rf_prefix_last(key, n);

    rf_entries_shuffle(e, n, key);
    int64_t *sum = x->s->hist + (int64_t)e[0].bin * x->s->width;
    for (int i = 1; i <= last; i++) {
        const int64_t *at = x->s->hist + (int64_t)e[i].bin * x->s->width;
        for (int k = 0; k < x->s->width; k++)
            sum[k] += at[k];
    }
    side_add(x, kind, sum, 1);
    try_cut(x, kind, c, last);
}

INLINE bool scan_categories(struct scan *x, enum kind kind, enum rf_criterion c,
                            const uint64_t bits[4], uint64_t key)
{
    struct rf_entry e[BINS];
    int n = entries_of(x, kind, bits, e);

    if (x->in->p->is_extra && n > 0)
        try_prefix(x, kind, c, e, n, key);
    else
        rf_entries_sort(e, n);
    for (int i = 0; !x->in->p->is_extra && i < n; i++) {
        side_add(x, kind, x->s->hist + (int64_t)e[i].bin * x->s->width, 1);
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

/* ---- columns ---- */

INLINE bool split_column(const struct rf_node_in *in, enum kind kind, enum rf_criterion c, int col,
                         struct rf_scratch *s, struct rf_split *best)
{
    struct scan x = { .in = in, .s = s, .best = best };
    bool is_better;
    uint64_t bits[4];

    hist_fill(in, kind, col, s, bits);
    scan_begin(&x, kind);
    if (in->d->is_categorical[col])
        is_better = scan_categories(&x, kind, c, bits, rf_cut_key(in->key, col));
    else
        is_better = scan_numeric(&x, kind, c, bits);
    best->col = is_better ? col : best->col;
    return is_better;
}

bool rf_split_column(const struct rf_node_in *in, int col, struct rf_scratch *s,
                     struct rf_split *best)
{
    enum rf_criterion c = in->p->criterion;

    if (in->d->n_classes == 0)
        return split_column(in, NUMBER, RF_SQUARED, col, s, best);
    if (in->d->n_classes == 2 && c == RF_GINI)
        return split_column(in, BINARY, RF_GINI, col, s, best);
    if (in->d->n_classes == 2)
        return split_column(in, BINARY, RF_ENTROPY, col, s, best);
    if (c == RF_GINI)
        return split_column(in, CLASSES, RF_GINI, col, s, best);
    return split_column(in, CLASSES, RF_ENTROPY, col, s, best);
}

/* Extra trees: all columns of numbers at once, then those of categories one by one. Of equal scores
 * the earlier column is taken. */
static bool random_columns(const struct rf_node_in *in, const int32_t *cols, int n,
                           struct rf_scratch *s, struct rf_split *best)
{
    int32_t numbers[RF_PICKED];
    int places[RF_PICKED], n_numbers = 0, at = -1;
    double beat = best->score;

    for (int v = 0; v < n; v++) {
        if (in->d->is_categorical[cols[v]])
            continue;
        places[n_numbers] = v;
        numbers[n_numbers++] = cols[v];
    }
    if (n_numbers)
        at = rf_random_picked(in, numbers, n_numbers, s, best);
    at = at < 0 ? -1 : places[at];
    for (int v = 0; n_numbers < n && v < n; v++) {
        struct rf_split other = { .score = beat };
        if (!in->d->is_categorical[cols[v]] || !rf_split_column(in, cols[v], s, &other) ||
            other.score < best->score || (other.score == best->score && at >= 0 && at < v))
            continue;
        *best = other;
        at = v;
    }
    return at >= 0;
}

bool rf_split_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                      struct rf_split *best)
{
    bool is_found = false;

    if (s->gini)
        return rf_gini_columns(in, cols, n, s, best);
    if (in->p->is_extra && in->by_col)
        return rf_random_near(in, cols, n, s, best);
    if (in->p->is_extra && rf_random_picks(in, cols, n, s))
        return random_columns(in, cols, n, s, best);
    if (in->p->is_extra)
        rf_random_weigh(in, cols, n, s);
    for (int v = 0; v < n; v++) {
        bool is_better = in->p->is_extra && !in->d->is_categorical[cols[v]]
                             ? rf_random_take(s, v, cols[v], best)
                             : rf_split_column(in, cols[v], s, best);
        is_found = is_found || is_better;
    }
    return is_found;
}

bool rf_split_pair(const struct rf_node_in *in, int col, const struct rf_scratch *s,
                   struct rf_split *best)
{
    uint8_t a, b;
    int64_t least;

    if (in->by_col) {
        a = in->by_col[col * in->pitch];
        b = in->by_col[col * in->pitch + 1];
        least = MIN(in->weights[0], in->weights[1]);
    } else {
        a = in->lines[in->rows[0] * in->pitch + col];
        b = in->lines[in->rows[1] * in->pitch + col];
        least = MIN(word_weight(in->words[0]), word_weight(in->words[1]));
    }
    uint8_t lo = MIN(a, b), hi = MAX(a, b);
    if (lo == hi || least < in->p->min_leaf)
        return false;
    best->col = col;
    best->bin = hi == RF_MISSING  ? lo
                : in->p->is_extra ? rf_random_pair(s, in->key, col, lo, hi)
                                  : (lo + hi) / 2;
    best->missing_left = best->is_set = false;
    best->score = rf_perfect_score(in);
    return true;
}
