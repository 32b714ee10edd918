/* forest_gini.c - the best cuts for classes under Gini, four columns in one pass over a node's
 * rows: their histograms or, where rows are few, their bins side by side (ml/cpu/cuts.c scores
 * both). Categories are first renumbered in their order (forest_split.c), and are numbers from then
 * on. Called by forest_split.c. */
#include "ml/forest/forest_scan.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/cuts.h"
#include "ml/cpu/cuts_bytes.h"
#include "ml/cpu/cuts_few.h"
#include "ml/cpu/rows_pick.h"

enum { BYTE_SUM = 255, MANY_CLASSES = 16 };
_Static_assert((int)ROWS_PICK_FEW == (int)CUTS_ROWS && (int)ROWS_PICK >= (int)RF_GROUP,
               "room for few rows");

struct rf_gini {
    int64_t *
        two; /* [ROWS_PICK + 1][256]: weight | weight of class 1 << 32; the last for categories in order */
    /* [group + 1][classes][256]: weights */
    int32_t *many;
    /* Two classes, rows in lines: the columns of the rows of this node, if there are any. */
    uint8_t (*picked)[ROWS_PICK];
    int64_t picked_node;
    int32_t picked_cols[ROWS_PICK];
    int n_picked;
    /* columns at a time, at most ROWS_PICK; 1 where there are very many classes */
    int group;
    /* the node has few rows; then theirs are: */
    bool is_few;
    const uint8_t *weights, *ones;
    uint8_t own_weights[CUTS_ROWS], own_ones[CUTS_ROWS];
    bool is_ready; /* so few that what the columns have in common stands in */
    struct cuts_few few;
    /* The rows weigh so little that bytes hold their sums; then the histograms are those of the
     * columns, and one of categories in order: of two classes, for which the words are the rows', or
     * of several. */
    bool is_bytes;
    uint16_t byte_words[BYTE_SUM], bytes[ROWS_PICK + 1][BINS];
    uint8_t bytes_many[RF_GROUP + 1][CUTS_BYTES_CLASSES][BINS];
};

void rf_gini_free(struct rf_gini *g)
{
    if (!g)
        return;
    mem_try_free(g->two);
    mem_try_free(g->many);
    mem_try_free(g->picked);
    mem_free(g);
}

static int group_of(const struct rf_data *d)
{
    return d->n_classes > MANY_CLASSES ? 1 : RF_GROUP;
}

/* Whether columns of lines are brought together. */
static bool is_picking(const struct rf_data *d)
{
    return d->n_classes == 2 && !rf_columns_fit(d);
}

int64_t rf_gini_bytes(const struct rf_data *d)
{
    return (int64_t)sizeof(struct rf_gini) + (is_picking(d) ? d->rows * ROWS_PICK : 0) +
           (d->n_classes == 2
                ? (ROWS_PICK + 1) * (int64_t)BINS * (int64_t)sizeof(int64_t)
                : (group_of(d) + 1) * (int64_t)d->n_classes * BINS * (int64_t)sizeof(int32_t));
}

struct rf_gini *rf_gini_new(const struct rf_data *d)
{
    struct rf_gini *g = mem_zalloc(sizeof *g);

    g->group = group_of(d);
    if (d->n_classes == 2)
        g->two = mem_try_zalloc((ROWS_PICK + 1) * (size_t)BINS * sizeof *g->two);
    else
        g->many =
            mem_try_zalloc(((size_t)g->group + 1) * (size_t)d->n_classes * BINS * sizeof *g->many);
    if (is_picking(d))
        g->picked = mem_try_alloc(((size_t)d->rows + ROWS_PICK) * sizeof *g->picked);
    if ((!g->two && !g->many) || (is_picking(d) && !g->picked)) {
        rf_gini_free(g);
        return NULL;
    }
    return g;
}

struct group {
    int32_t cols[ROWS_PICK];
    int n;
};

INLINE void fetch(const struct rf_node_in *in, const uint8_t *x, int64_t i)
{
    if (in->is_far)
        __builtin_prefetch(x + in->rows[i + RF_AHEAD < in->n ? i + RF_AHEAD : i] * in->pitch);
}

/* Where the bins of a column are, and their distance from row to row. is_near: the node lies column
 * by column. is_near is a constant, as is n, the number of columns of a group, in the functions
 * below. */
INLINE const uint8_t *column_of(const struct rf_node_in *in, int col, bool is_near)
{
    return is_near ? in->by_col + col * in->pitch : in->lines + col;
}

INLINE int64_t row_of(const struct rf_node_in *in, int64_t i, bool is_near)
{
    return is_near ? i : in->rows[i] * in->pitch;
}

INLINE void fill_two(const struct rf_node_in *in, const struct group *g, int n, bool is_near,
                     int64_t *hist)
{
    const uint8_t *x0 = column_of(in, g->cols[0], is_near),
                  *x1 = column_of(in, g->cols[1], is_near),
                  *x2 = column_of(in, g->cols[2], is_near),
                  *x3 = column_of(in, g->cols[3], is_near);

    for (int64_t i = 0; i < in->n; i++) {
        int64_t at = row_of(in, i, is_near),
                word = is_near ? in->weights[i] | (int64_t)in->ones[i] << 32 : in->words[i];
        if (!is_near)
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
INLINE void fill_many(const struct rf_node_in *in, const struct group *g, int n, bool is_near,
                      int64_t stride, int32_t *hist)
{
    const uint8_t *x0 = column_of(in, g->cols[0], is_near),
                  *x1 = column_of(in, g->cols[1], is_near),
                  *x2 = column_of(in, g->cols[2], is_near),
                  *x3 = column_of(in, g->cols[3], is_near);

    for (int64_t k = 0, i = 0; k < in->runs.n; k++) {
        int32_t *h = hist + k * BINS;
        for (; i < in->runs.end[k]; i++) {
            int64_t at = row_of(in, i, is_near);
            int32_t weight = is_near ? in->weights[i] : (int32_t)word_weight(in->words[i]);
            if (!is_near)
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

/* The histograms of the group's n columns, from number j on. */
INLINE void fill(const struct rf_node_in *in, const struct group *g, int n, int j,
                 struct rf_gini *gini)
{
    int64_t stride = (int64_t)in->d->n_classes * BINS;

    if (gini->two && in->by_col)
        fill_two(in, g, n, true, gini->two + (ptrdiff_t)j * BINS);
    else if (gini->two)
        fill_two(in, g, n, false, gini->two + (ptrdiff_t)j * BINS);
    else if (in->by_col)
        fill_many(in, g, n, true, stride, gini->many + j * stride);
    else
        fill_many(in, g, n, false, stride, gini->many + j * stride);
}

static struct rows_pick pick_of(const struct rf_node_in *in, const struct group *g)
{
    return (struct rows_pick){ in->lines, in->pitch, in->rows, in->n, in->is_far, g->cols, g->n };
}

/* Remembers which columns are brought together. */
static void picked_note(const struct rf_node_in *in, const struct group *g, struct rf_gini *gini)
{
    gini->picked_node = in->node;
    gini->n_picked = g->n;
    memcpy(gini->picked_cols, g->cols, (size_t)g->n * sizeof *g->cols);
}

const uint8_t *rf_gini_picked(const struct rf_scratch *s, int64_t node, int col, int *at)
{
    const struct rf_gini *g = s->gini;

    for (int j = 0; g && g->picked_node == node && j < g->n_picked; j++) {
        if (g->picked_cols[j] == col) {
            *at = j;
            return &g->picked[0][j];
        }
    }
    return NULL;
}

static void group_fill(const struct rf_node_in *in, const struct group *g, struct rf_gini *gini)
{
    const struct rows_pick pick = pick_of(in, g);

    if (gini->two && !in->by_col && g->n > 1) {
        rows_pick_add(&pick, in->words, gini->picked, gini->two);
        picked_note(in, g, gini);
        return;
    }
    if (g->n == 1)
        fill(in, g, 1, 0, gini);
    else if (g->n == 2)
        fill(in, g, 2, 0, gini);
    else if (g->n == 3)
        fill(in, g, 3, 0, gini);
    else
        fill(in, g, 4, 0, gini);
}

/* The histograms of bytes. */
static void bytes_fill_two(const struct rf_node_in *in, const struct group *g, struct rf_gini *gini)
{
    const struct rows_pick pick = pick_of(in, g);

    if (!in->by_col) {
        rows_pick_add_bytes(&pick, gini->byte_words, gini->picked, gini->bytes[0]);
        picked_note(in, g, gini);
        return;
    }
    for (int j = 0; j < g->n; j++) {
        const uint8_t *x = column_of(in, g->cols[j], true);
        for (int64_t i = 0; i < in->n; i++)
            gini->bytes[j][x[i]] = (uint16_t)(gini->bytes[j][x[i]] + gini->byte_words[i]);
    }
}

INLINE void byte_add(uint8_t *hist, uint8_t bin, uint8_t weight)
{
    hist[bin] = (uint8_t)(hist[bin] + weight);
}

/* Of several classes: the columns one beside the other, because rows of one bin wait for each
 * other. */
INLINE void bytes_fill_many(const struct rf_node_in *in, const struct group *g, int n, bool is_near,
                            struct rf_gini *gini)
{
    const uint8_t *x0 = column_of(in, g->cols[0], is_near),
                  *x1 = column_of(in, g->cols[1], is_near),
                  *x2 = column_of(in, g->cols[2], is_near),
                  *x3 = column_of(in, g->cols[3], is_near);

    for (int64_t k = 0, i = 0; k < in->runs.n; k++) {
        for (; i < in->runs.end[k]; i++) {
            int64_t at = row_of(in, i, is_near);
            uint8_t weight = is_near ? in->weights[i] : (uint8_t)in->words[i];
            byte_add(gini->bytes_many[0][k], x0[at], weight);
            if (n > 1)
                byte_add(gini->bytes_many[1][k], x1[at], weight);
            if (n > 2)
                byte_add(gini->bytes_many[2][k], x2[at], weight);
            if (n > 3)
                byte_add(gini->bytes_many[3][k], x3[at], weight);
        }
    }
}

static void bytes_fill(const struct rf_node_in *in, const struct group *g, struct rf_gini *gini)
{
    if (gini->two)
        bytes_fill_two(in, g, gini);
    else if (!in->by_col)
        bytes_fill_many(in, g, g->n, false, gini);
    else if (g->n == 3)
        bytes_fill_many(in, g, 3, true, gini);
    else if (g->n == 4)
        bytes_fill_many(in, g, 4, true, gini);
    else
        bytes_fill_many(in, g, g->n, true, gini);
}

/* Whether histogram j of bytes holds no missing value; where it does, it is cleared. */
static bool bytes_whole(const struct rf_node_in *in, int j, struct rf_gini *gini)
{
    uint32_t missing = gini->two ? gini->bytes[j][RF_MISSING] : 0;

    for (int k = 0; k < in->runs.n; k++)
        missing |= gini->bytes_many[j][k][RF_MISSING];
    if (missing && gini->two)
        memset(gini->bytes[j], 0, sizeof gini->bytes[j]);
    else if (missing)
        memset(gini->bytes_many[j], 0, (size_t)in->runs.n * sizeof gini->bytes_many[j][0]);
    return !missing;
}

/* Whether one of the few rows' bins is the missing one. */
static bool has_missing(const struct rf_node_in *in, int col, const uint8_t *bins)
{
    return (!in->by_col || in->has_missing[col]) && memchr(bins, RF_MISSING, (size_t)in->n) != NULL;
}

/* ---- categories, put in order ---- */

/* What a category holds: its weight, and the weight of class 1 or of the node's largest class. */
struct shares {
    int32_t all[BINS], top[BINS];
    /* the categories that occur */
    uint64_t bits[4];
};

/* e: categories by their share; rank: by category. Returns how many there are. */
static int shares_order(const struct shares *x, struct rf_entry *e, uint8_t *rank)
{
    int n = 0;

    for (int w = 0; w < 4; w++) {
        for (uint64_t left = x->bits[w]; left; left &= left - 1) {
            int b = w * 64 + __builtin_ctzll(left);
            e[n++] = (struct rf_entry){ (double)x->top[b] / (double)x->all[b], b };
        }
    }
    rf_entries_sort(e, n);
    for (int i = 0; i < n; i++)
        rank[e[i].bin] = (uint8_t)i;
    return n;
}

static void shares_of_rows(const struct rf_node_in *in, const struct rf_gini *gini, int col,
                           const uint8_t *bins, struct shares *x)
{
    int main_class = in->d->n_classes == 2 ? 0 : main_class_of(in);
    int32_t from = main_class > 0 ? in->runs.end[main_class - 1] : 0,
            to = in->d->n_classes == 2 ? 0 : in->runs.end[main_class];

    bins_present(bins, in->n, in->d->n_bins[col] <= 64, x->bits);
    for (int64_t i = 0; i < in->n; i++)
        x->all[bins[i]] = x->top[bins[i]] = 0;
    for (int64_t i = 0; i < in->n; i++)
        x->all[bins[i]] += gini->weights[i];
    for (int64_t i = 0; in->d->n_classes == 2 && i < in->n; i++)
        x->top[bins[i]] += gini->ones[i];
    for (int64_t i = from; i < to; i++)
        x->top[bins[i]] += gini->weights[i];
}

static void shares_of_hist(const struct rf_node_in *in, const struct rf_gini *gini, int col, int j,
                           struct shares *x)
{
    const int64_t *two = gini->two + (ptrdiff_t)j * BINS;
    const int32_t *many = gini->many + (ptrdiff_t)j * in->d->n_classes * BINS;
    int main_class = in->d->n_classes == 2 ? 0 : main_class_of(in), n = in->d->n_bins[col];

    memset(x, 0, sizeof *x);
    for (int b = 0; in->d->n_classes == 2 && b < n; b++) {
        x->all[b] = (int32_t)two[b];
        x->top[b] = (int32_t)(two[b] >> 32);
    }
    for (int k = 0; k < in->runs.n; k++) {
        for (int b = 0; b < n; b++)
            x->all[b] += many[(ptrdiff_t)k * BINS + b];
    }
    for (int b = 0; in->runs.n && b < n; b++)
        x->top[b] = many[(ptrdiff_t)main_class * BINS + b];
    for (int b = 0; b < n; b++)
        x->bits[b >> 6] |= (uint64_t)(x->all[b] > 0) << (b & 63);
}

static void shares_of_bytes(const struct rf_node_in *in, const struct rf_gini *gini, int j,
                            int n_bins, struct shares *x)
{
    int main_class = gini->two ? 0 : main_class_of(in);

    memset(x, 0, sizeof *x);
    for (int b = 0; gini->two && b < n_bins; b++) {
        x->all[b] = gini->bytes[j][b] & BYTE_SUM;
        x->top[b] = gini->bytes[j][b] >> 8;
    }
    for (int k = 0; k < in->runs.n; k++) {
        for (int b = 0; b < n_bins; b++)
            x->all[b] += gini->bytes_many[j][k][b];
    }
    for (int b = 0; in->runs.n && b < n_bins; b++)
        x->top[b] = gini->bytes_many[j][main_class][b];
    for (int b = 0; b < n_bins; b++)
        x->bits[b >> 6] |= (uint64_t)(x->all[b] > 0) << (b & 63);
}

/* Copies the bins of histogram j of bytes into the last one, in the order of their categories, and
 * clears the first. Returns how many there are. */
static int bytes_order(const struct rf_node_in *in, struct rf_gini *gini, int j, int n_bins,
                       struct rf_entry *e)
{
    struct shares x;
    uint8_t rank[BINS];

    shares_of_bytes(in, gini, j, n_bins, &x);
    int n = shares_order(&x, e, rank);
    for (int i = 0; gini->two && i < n; i++) {
        gini->bytes[gini->group][i] = gini->bytes[j][e[i].bin];
        gini->bytes[j][e[i].bin] = 0;
    }
    for (int k = 0; k < in->runs.n; k++) {
        for (int i = 0; i < n; i++) {
            gini->bytes_many[RF_GROUP][k][i] = gini->bytes_many[j][k][e[i].bin];
            gini->bytes_many[j][k][e[i].bin] = 0;
        }
    }
    return n;
}

/* Copies the bins of histogram j into the last histogram, in the order of e, and clears the
 * first. */
INLINE void hist_permute(const struct rf_node_in *in, struct rf_gini *gini, int j,
                         const struct rf_entry *e, int n)
{
    int64_t stride = (int64_t)in->d->n_classes * BINS;

    for (int i = 0; gini->two && i <= n; i++) {
        int64_t *from = gini->two + (ptrdiff_t)j * BINS,
                *to = gini->two + (ptrdiff_t)gini->group * BINS;
        to[i < n ? i : RF_MISSING] = from[i < n ? e[i].bin : RF_MISSING];
        from[i < n ? e[i].bin : RF_MISSING] = 0;
    }
    for (int k = 0; gini->many && k < in->runs.n; k++) {
        int32_t *from = gini->many + j * stride + (ptrdiff_t)k * BINS,
                *to = gini->many + gini->group * stride + (ptrdiff_t)k * BINS;
        for (int i = 0; i <= n; i++) {
            to[i < n ? i : RF_MISSING] = from[i < n ? e[i].bin : RF_MISSING];
            from[i < n ? e[i].bin : RF_MISSING] = 0;
        }
    }
}

/* ---- a column ---- */

static void few_cut(const struct rf_node_in *in, int col, const uint8_t *bins, int n_bins,
                    const struct rf_gini *gini, const struct cuts_node *node, struct cuts_best *cut)
{
    if (gini->is_ready)
        cuts_few_cut(&gini->few, bins, n_bins, node, col, cut);
    else if (in->d->n_classes == 2)
        cuts_rows(bins, gini->weights, gini->ones, (int)in->n, node, col, cut);
    else
        cuts_rows_many(bins, gini->weights, in->runs.end, in->runs.weight, in->runs.n, node, col,
                       cut);
}

static void hist_cut(const struct rf_node_in *in, int col, int n_bins, int j, struct rf_gini *gini,
                     const struct cuts_node *node, struct cuts_best *cut)
{
    if (in->d->n_classes == 2)
        cuts_hist(gini->two + (ptrdiff_t)j * BINS, n_bins, node, col, cut);
    else
        cuts_hist_many(gini->many + (ptrdiff_t)j * in->d->n_classes * BINS, n_bins, in->runs.weight,
                       in->runs.n, node, col, cut);
}

static void set_take(const struct rf_entry *e, const struct cuts_best *cut, struct rf_split *best)
{
    memset(best->set, 0, sizeof best->set);
    for (int i = 0; i <= cut->bin; i++)
        best->set[e[i].bin >> 6] |= 1ull << (e[i].bin & 63);
    best->set[3] |= cut->missing_left ? 1ull << 63 : 0;
}

/* bins: of few rows, none of them missing; NULL = histogram j is filled. */
static void category_cut(const struct rf_node_in *in, int col, int j, const uint8_t *bins,
                         struct rf_gini *gini, const struct cuts_node *node, struct cuts_best *cut,
                         struct rf_split *best)
{
    struct shares x;
    struct rf_entry e[BINS];
    uint8_t rank[BINS], ranks[CUTS_ROWS];

    if (bins)
        shares_of_rows(in, gini, col, bins, &x);
    else
        shares_of_hist(in, gini, col, j, &x);
    int n = shares_order(&x, e, rank);
    if (bins) {
        for (int64_t i = 0; i < in->n; i++)
            ranks[i] = rank[bins[i]];
        few_cut(in, col, ranks, n, gini, node, cut);
    } else {
        hist_permute(in, gini, j, e, n);
        hist_cut(in, col, n, gini->group, gini, node, cut);
    }
    if (cut->is_better)
        set_take(e, cut, best);
}

static void bytes_cut(const struct rf_node_in *in, int col, int j, struct rf_gini *gini,
                      const struct cuts_node *node, struct cuts_best *cut, struct rf_split *best)
{
    struct rf_entry e[BINS];
    int n = in->d->n_bins[col], at = j;
    bool is_category = in->d->is_categorical[col];

    if (is_category) {
        n = bytes_order(in, gini, j, n, e);
        at = gini->two ? gini->group : RF_GROUP;
    }
    if (gini->two)
        cuts_bytes(gini->bytes[at], n, node, col, cut);
    else
        cuts_bytes_many(gini->bytes_many[at][0], n, in->runs.weight, in->runs.n, node, col, cut);
    if (is_category && cut->is_better)
        set_take(e, cut, best);
}

/* One column of a group on its own; its histogram is number j then. */
static void alone_fill(const struct rf_node_in *in, const struct group *g, int j,
                       struct rf_gini *gini)
{
    int32_t col = g->cols[j];
    struct group one = { { col, col, col, col }, 1 };

    fill(in, &one, 1, j, gini);
}

/* ---- a group ---- */

static bool group_cut(const struct rf_node_in *in, struct group *g, struct rf_gini *gini,
                      struct rf_split *best)
{
    struct cuts_node node = { in->weight, in->total[1], MAX(1, in->p->min_leaf) };
    struct cuts_best cut = { .score = best->score };
    uint8_t gathered[ROWS_PICK][ROWS_PICK_FEW];
    bool is_found = false;

    const struct rows_pick pick = pick_of(in, g);
    for (int j = g->n; j < RF_GROUP; j++)
        g->cols[j] = g->cols[0];
    if (gini->is_bytes)
        bytes_fill(in, g, gini);
    else if (!gini->is_few)
        group_fill(in, g, gini);
    else if (!in->by_col)
        rows_pick_columns(&pick, gathered);
    for (int j = 0; j < g->n; j++) {
        int col = g->cols[j];
        const uint8_t *bins = !gini->is_few ? NULL
                              : in->by_col  ? column_of(in, col, true)
                                            : gathered[j];
        bool is_category = in->d->is_categorical[col],
             is_bytes = gini->is_bytes && bytes_whole(in, j, gini);
        if (gini->is_bytes && !is_bytes)
            alone_fill(in, g, j, gini);
        if (bins && has_missing(in, col, bins)) {
            bins = NULL;
            alone_fill(in, g, j, gini);
        }
        if (is_bytes)
            bytes_cut(in, col, j, gini, &node, &cut, best);
        else if (is_category)
            category_cut(in, col, j, bins, gini, &node, &cut, best);
        else if (bins)
            few_cut(in, col, bins, in->d->n_bins[col], gini, &node, &cut);
        else
            hist_cut(in, col, in->d->n_bins[col], j, gini, &node, &cut);
        if (!cut.is_better)
            continue;
        is_found = true;
        best->is_set = is_category;
        best->bin = is_category ? 0 : cut.bin;
        best->score = cut.score;
        best->col = cut.col;
        best->missing_left = cut.missing_left;
    }
    g->n = 0;
    return is_found;
}

static void few_take(const struct rf_node_in *in, struct rf_gini *gini)
{
    gini->is_bytes = in->weight <= BYTE_SUM && in->n >= CUTS_BYTES_LEAST &&
                     in->runs.n <= CUTS_BYTES_CLASSES && in->n >= CUTS_BYTES_A_CLASS * in->runs.n &&
                     cuts_bytes_is_fast();
    gini->is_few = !gini->is_bytes && in->n <= CUTS_ROWS && in->weight <= BYTE_SUM;
    for (int64_t i = 0; gini->is_bytes && gini->two && i < in->n; i++)
        gini->byte_words[i] = (uint16_t)(in->by_col ? in->weights[i] | in->ones[i] << 8
                                                    : in->words[i] | in->words[i] >> 24);
    gini->weights = in->by_col ? in->weights : gini->own_weights;
    gini->ones = in->by_col ? in->ones : gini->own_ones;
    gini->is_ready = gini->is_few && in->n <= CUTS_FEW && cuts_few_is_fast();
    for (int64_t i = 0; gini->is_few && !in->by_col && i < in->n; i++)
        gini->own_weights[i] = (uint8_t)in->words[i];
    for (int64_t i = 0; gini->is_few && !in->by_col && gini->two && i < in->n; i++)
        gini->own_ones[i] = (uint8_t)(in->words[i] >> 32);
    if (gini->is_ready && gini->two)
        cuts_few_two(&gini->few, gini->weights, gini->ones, (int)in->n);
    else if (gini->is_ready)
        cuts_few_many(&gini->few, gini->weights, in->runs.end, in->runs.weight, in->runs.n);
}

bool rf_gini_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                     struct rf_split *best)
{
    struct group g = { .n = 0 };
    bool is_found = false;

    if (in->d->n_classes == 2)
        s->gini->group = in->by_col ? RF_GROUP : ROWS_PICK;
    few_take(in, s->gini);
    for (int v = 0; v < n; v++) {
        g.cols[g.n++] = cols[v];
        if (g.n == s->gini->group || v == n - 1)
            is_found = group_cut(in, &g, s->gini, best) || is_found;
    }
    return is_found;
}
