/* forest_gini.c - the best cuts of numbers for classes under Gini, four columns in one pass over a node's rows: their
 * histograms, or, where rows are few, their bins side by side (ml/cpu/cuts.c weighs both). Called by forest_split.c. */
#include "ml/forest_scan.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/cuts.h"

enum { BINS = 256, BYTE_SUM = 255, MANY_CLASSES = 16 };

struct rf_gini {
    int64_t *two;  /* [RF_GROUP][256]: weight | weight of class 1 << 32 */
    int32_t *many; /* [group][classes][256]: weights */
    int group;     /* columns at a time: of very many classes one */
    bool is_few;   /* the node's rows are few; then their */
    uint8_t weights[CUTS_ROWS], ones[CUTS_ROWS];
};

void rf_gini_free(struct rf_gini *g)
{
    if (!g)
        return;
    mem_try_free(g->two);
    mem_try_free(g->many);
    mem_free(g);
}

static int group_of(const struct rf_data *d)
{
    return d->n_classes > MANY_CLASSES ? 1 : RF_GROUP;
}

int64_t rf_gini_bytes(const struct rf_data *d)
{
    return (int64_t)sizeof(struct rf_gini) +
           (d->n_classes == 2
                ? (int64_t)RF_GROUP * BINS * (int64_t)sizeof(int64_t)
                : (int64_t)group_of(d) * d->n_classes * BINS * (int64_t)sizeof(int32_t));
}

struct rf_gini *rf_gini_new(const struct rf_data *d)
{
    struct rf_gini *g = mem_zalloc(sizeof *g);

    g->group = group_of(d);
    if (d->n_classes == 2)
        g->two = mem_try_zalloc(RF_GROUP * BINS * sizeof *g->two);
    else
        g->many = mem_try_zalloc((size_t)g->group * (size_t)d->n_classes * BINS * sizeof *g->many);
    if (!g->two && !g->many) {
        rf_gini_free(g);
        return NULL;
    }
    return g;
}

struct group {
    int cols[RF_GROUP], n;
};

INLINE void fetch(const struct rf_node_in *in, const uint8_t *x, int64_t i)
{
    if (in->is_far)
        __builtin_prefetch(x + in->rows[i + RF_AHEAD < in->n ? i + RF_AHEAD : i] * in->pitch);
}

/* n: the group's columns, a constant. */
INLINE void fill_two(const struct rf_node_in *in, const struct group *g, int n, int64_t *hist)
{
    const uint8_t *x0 = in->lines + g->cols[0], *x1 = in->lines + g->cols[1],
                  *x2 = in->lines + g->cols[2], *x3 = in->lines + g->cols[3];

    for (int64_t i = 0; i < in->n; i++) {
        int64_t at = in->rows[i] * in->pitch, word = in->words[i];
        fetch(in, x0, i);
        hist[x0[at]] += word;
        if (n > 1)
            hist[BINS + x1[at]] += word;
        if (n > 2)
            hist[2 * BINS + x2[at]] += word;
        if (n > 3)
            hist[3 * BINS + x3[at]] += word;
    }
}

/* hist: of the first column; stride: from one column to the next. */
INLINE void fill_many(const struct rf_node_in *in, const struct group *g, int n, int64_t stride,
                      int32_t *hist)
{
    const uint8_t *x0 = in->lines + g->cols[0], *x1 = in->lines + g->cols[1],
                  *x2 = in->lines + g->cols[2], *x3 = in->lines + g->cols[3];

    for (int64_t k = 0, i = 0; k < in->runs.n; k++) {
        int32_t *h = hist + k * BINS;
        for (; i < in->runs.end[k]; i++) {
            int64_t at = in->rows[i] * in->pitch;
            int32_t weight = (int32_t)word_weight(in->words[i]);
            fetch(in, x0, i);
            h[x0[at]] += weight;
            if (n > 1)
                h[stride + x1[at]] += weight;
            if (n > 2)
                h[2 * stride + x2[at]] += weight;
            if (n > 3)
                h[3 * stride + x3[at]] += weight;
        }
    }
}

INLINE void fill(const struct rf_node_in *in, const struct group *g, int n, struct rf_gini *gini)
{
    if (in->d->n_classes == 2)
        fill_two(in, g, n, gini->two);
    else
        fill_many(in, g, n, (int64_t)in->d->n_classes * BINS, gini->many);
}

static void group_fill(const struct rf_node_in *in, const struct group *g, struct rf_gini *gini)
{
    if (g->n == 1)
        fill(in, g, 1, gini);
    else if (g->n == 2)
        fill(in, g, 2, gini);
    else if (g->n == 3)
        fill(in, g, 3, gini);
    else
        fill(in, g, 4, gini);
}

/* Few rows' bins, column by column; n: the group's columns, a constant. */
INLINE void gather(const struct rf_node_in *in, const struct group *g, int n,
                   uint8_t (*bins)[CUTS_ROWS])
{
    const uint8_t *x0 = in->lines + g->cols[0], *x1 = in->lines + g->cols[1],
                  *x2 = in->lines + g->cols[2], *x3 = in->lines + g->cols[3];

    for (int64_t i = 0; i < in->n; i++) {
        int64_t at = in->rows[i] * in->pitch;
        bins[0][i] = x0[at];
        if (n > 1)
            bins[1][i] = x1[at];
        if (n > 2)
            bins[2][i] = x2[at];
        if (n > 3)
            bins[3][i] = x3[at];
    }
}

static void group_gather(const struct rf_node_in *in, const struct group *g,
                         uint8_t (*bins)[CUTS_ROWS])
{
    if (g->n == 1)
        gather(in, g, 1, bins);
    else if (g->n == 2)
        gather(in, g, 2, bins);
    else if (g->n == 3)
        gather(in, g, 3, bins);
    else
        gather(in, g, 4, bins);
}

static bool has_missing(const uint8_t *bins, int64_t n)
{
    return memchr(bins, RF_MISSING, (size_t)n) != NULL;
}

/* ---- a group ---- */

static void few_cut(const struct rf_node_in *in, int col, uint8_t *bins, struct rf_gini *gini,
                    const struct cuts_node *node, struct cuts_best *cut)
{
    if (in->d->n_classes == 2)
        cuts_rows(bins, gini->weights, gini->ones, (int)in->n, node, col, cut);
    else
        cuts_rows_many(bins, gini->weights, in->runs.end, in->runs.weight, in->runs.n, node, col,
                       cut);
}

static void hist_cut(const struct rf_node_in *in, int col, int j, struct rf_gini *gini,
                     const struct cuts_node *node, struct cuts_best *cut)
{
    int n_bins = in->d->n_bins[col];

    if (in->d->n_classes == 2)
        cuts_hist(gini->two + (ptrdiff_t)j * BINS, n_bins, node, col, cut);
    else
        cuts_hist_many(gini->many + (ptrdiff_t)j * in->d->n_classes * BINS, n_bins, in->runs.weight,
                       in->runs.n, node, col, cut);
}

/* One column of a group, whose histogram is then the j-th. */
static void alone_fill(const struct rf_node_in *in, const struct group *g, int j,
                       struct rf_gini *gini)
{
    struct group one = { { g->cols[j], g->cols[j], g->cols[j], g->cols[j] }, 1 };

    if (in->d->n_classes == 2)
        fill_two(in, &one, 1, gini->two + (ptrdiff_t)j * BINS);
    else
        fill_many(in, &one, 1, 0, gini->many + (ptrdiff_t)j * in->d->n_classes * BINS);
}

static bool group_cut(const struct rf_node_in *in, struct group *g, struct rf_gini *gini,
                      struct rf_split *best)
{
    struct cuts_node node = { in->weight, in->total[1], MAX(1, in->p->min_leaf) };
    struct cuts_best cut = { .score = best->score };
    uint8_t bins[RF_GROUP][CUTS_ROWS];
    bool is_found = false;

    for (int j = g->n; j < RF_GROUP; j++)
        g->cols[j] = g->cols[0];
    if (gini->is_few)
        group_gather(in, g, bins);
    else
        group_fill(in, g, gini);
    for (int j = 0; j < g->n; j++) {
        bool is_few = gini->is_few && !has_missing(bins[j], in->n);
        if (gini->is_few && !is_few)
            alone_fill(in, g, j, gini);
        if (is_few)
            few_cut(in, g->cols[j], bins[j], gini, &node, &cut);
        else
            hist_cut(in, g->cols[j], j, gini, &node, &cut);
        is_found = is_found || cut.is_better;
    }
    g->n = 0;
    if (!is_found)
        return false;
    best->score = cut.score;
    best->col = cut.col;
    best->bin = cut.bin;
    best->missing_left = cut.missing_left;
    best->is_set = false;
    return true;
}

bool rf_gini_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                     struct rf_split *best)
{
    struct rf_gini *gini = s->gini;
    struct group g = { .n = 0 };
    bool is_found = false;

    gini->is_few = in->n <= CUTS_ROWS && in->weight <= BYTE_SUM;
    for (int64_t i = 0; gini->is_few && i < in->n; i++)
        gini->weights[i] = (uint8_t)in->words[i];
    for (int64_t i = 0; gini->is_few && gini->two && i < in->n; i++)
        gini->ones[i] = (uint8_t)(in->words[i] >> 32);
    for (int v = 0; v < n; v++) {
        bool is_category = in->d->is_categorical[cols[v]];
        if (!is_category)
            g.cols[g.n++] = cols[v];
        if (g.n == gini->group || (g.n > 0 && (is_category || v == n - 1)))
            is_found = group_cut(in, &g, gini, best) || is_found;
        if (is_category)
            is_found = rf_split_column(in, cols[v], s, best) || is_found;
    }
    return is_found;
}
