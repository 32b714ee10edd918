/* forest_random.c - the splits of an extra tree: one random cut in every column that a node looks
 * at (Geurts, Ernst and Wehenkel 2006).
 *
 * The cut of a number is drawn uniformly between the column's least and largest bin in the node. If
 * the column has many values, it is drawn uniformly by rank instead: bins are finer at both ends of
 * a column, and cuts near the ends gain little. To split a category, its levels are put into a
 * random order and a random number of the first ones goes left.
 *
 * If rows are stored in lines, 64 neighbouring columns are read at once (ml/cpu/rows.c): first
 * their ranges, then the sums left of the cuts; forest_split.c splits the categories. If the table
 * is stored column by column, each column is read by itself (ml/cpu/part.c). Called by
 * forest_split.c. */
#include "ml/forest/forest_scan.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/part.h"
#include "ml/cpu/part_random.h"
#include "ml/cpu/rows_random.h"

#include <float.h>

enum { NONE = -1 };
_Static_assert((int)ROWS_PICK == (int)RF_PICKED, "columns that are picked");

/* The cut and its score in one of the columns that the node looks at. */
struct found {
    double score;
    /* the next column among the same 64, or NONE */
    int32_t next;
    uint8_t cut;
    bool missing_left, has_missing;
};

struct rf_random {
    struct rows_range *range; /* [chunks]; a chunk is 64 neighbouring columns */
    /* [chunks]: the number of the node that range[] was computed for */
    int64_t *node;
    int32_t *first, *waiting; /* [chunks] */
    struct found *found;      /* [cols] */
    uint8_t *cut;             /* [chunks * 64] */
    uint32_t *places;         /* [cols][256] */
    uint32_t *coarse;         /* [cols][PART_PLACES], every sixteenth of them */
    /* [lanes][64]: with two classes the weight and the weight of class 1, with several classes the
     * weight of each class */
    uint32_t *left, *present;
    /* column by column: one bit for each row of the node, set if the row is left of the cut, or if
     * its value is not missing */
    uint64_t *masks;
    /* Rows in lines, two classes: the columns that the node looks at, and the split that the masks
     * are of. */
    uint8_t (*picked)[ROWS_PICK];
    struct rf_marks marks;
    int64_t marked_node;
    int marked_col;
};

void rf_random_free(struct rf_random *r)
{
    if (!r)
        return;
    mem_try_free(r->range);
    mem_try_free(r->node);
    mem_try_free(r->first);
    mem_try_free(r->waiting);
    mem_try_free(r->found);
    mem_try_free(r->cut);
    mem_try_free(r->places);
    mem_try_free(r->left);
    mem_try_free(r->present);
    mem_try_free(r->masks);
    mem_try_free(r->coarse);
    mem_try_free(r->picked);
    mem_free(r);
}

bool rf_has_ranked(const struct rf_data *d)
{
    bool has = false;

    for (int j = 0; j < d->cols; j++)
        has = has || d->n_bins[j] >= RF_RANKED;
    return has;
}

/* Whether nodes bring columns of lines together. */
static bool is_picking(const struct rf_data *d)
{
    return d->n_classes == 2 && !rf_columns_fit(d) && rows_random_is_fast();
}

int64_t rf_random_bytes(const struct rf_data *d)
{
    int64_t place = rf_has_ranked(d) ? (BINS + PART_PLACES) * (int64_t)sizeof(uint32_t) : 0;

    return (int64_t)sizeof(struct rf_random) + (is_picking(d) ? d->rows * ROWS_PICK : 0) +
           d->cols * (place + (int64_t)sizeof(struct found) + 8) + d->rows / 8;
}

/* Returns the places of a column's bins (rf_places), or NULL if the places of all columns are the
 * numbers of the bins. */
static const uint32_t *places_of(const struct rf_random *r, int col)
{
    return r->places ? r->places + (ptrdiff_t)col * BINS : NULL;
}

void rf_places(const struct rf_data *d, uint32_t *places)
{
    memset(places, 0, (size_t)d->cols * BINS * sizeof *places);
    for (int64_t i = 0; i < d->rows; i++) {
        const uint8_t *line = d->by_row + d->at[i] * d->stride;
        for (int j = 0; j < d->cols; j++)
            places[(ptrdiff_t)j * BINS + line[j]]++;
    }
    for (int j = 0; j < d->cols; j++, places += BINS) {
        uint32_t before = 0;
        for (uint32_t b = 0; b < BINS; b++) {
            uint32_t count = places[b];
            places[b] = d->n_bins[j] < RF_RANKED ? b : 2 * before + count;
            before += count;
        }
    }
}

struct rf_random *rf_random_new(const struct rf_data *d)
{
    struct rf_random *r = mem_zalloc(sizeof *r);
    size_t cols = (size_t)d->cols, chunks = (cols + ROWS_WIDE - 1) / ROWS_WIDE,
           lanes = (size_t)MAX(2, d->n_classes) * ROWS_WIDE;

    r->range = mem_try_alloc(chunks * sizeof *r->range);
    r->node = mem_try_zalloc(chunks * sizeof *r->node);
    r->first = mem_try_alloc(chunks * sizeof *r->first);
    r->waiting = mem_try_alloc(chunks * sizeof *r->waiting);
    r->found = mem_try_alloc(cols * sizeof *r->found);
    r->cut = mem_try_zalloc(chunks * ROWS_WIDE);
    r->left = mem_try_alloc(lanes * sizeof *r->left);
    r->present = mem_try_alloc(lanes * sizeof *r->present);
    r->masks = mem_try_alloc(((size_t)d->rows / PART_WIDE + 1) * sizeof *r->masks);
    if (is_picking(d))
        r->picked = mem_try_alloc(((size_t)d->rows + ROWS_PICK) * sizeof *r->picked);
    bool is_ranked = rf_has_ranked(d);
    if (is_ranked) {
        r->places = mem_try_alloc(cols * BINS * sizeof *r->places);
        r->coarse = mem_try_alloc(cols * PART_PLACES * sizeof *r->coarse);
    }
    if ((is_ranked && (!r->places || !r->coarse)) || (is_picking(d) && !r->picked) || !r->masks ||
        !r->range || !r->node || !r->first || !r->waiting || !r->found || !r->cut || !r->left ||
        !r->present) {
        rf_random_free(r);
        return NULL;
    }
    for (size_t i = 0; i < chunks; i++)
        r->first[i] = NONE;
    if (is_ranked)
        rf_places(d, r->places);
    for (size_t i = 0; is_ranked && i < cols * PART_PLACES; i++)
        r->coarse[i] = r->places[i * PART_PLACES];
    return r;
}

int rf_random_pair(const struct rf_scratch *s, uint64_t node_key, int col, int lo, int hi)
{
    return rf_random_cut(places_of(s->random, col), rf_cut_key(node_key, col), lo, hi);
}

static struct row_list lines_of(const struct rf_node_in *in, int chunk)
{
    return (struct row_list){
        in->lines + (int64_t)chunk * ROWS_WIDE, in->pitch, in->rows, in->words, in->n, in->is_far
    };
}

/* rf_random_cut without its halving. Empty bins have the place of the next one, so the last bin may
 * lie past the range. */
static uint8_t number_cut(const struct rf_random *r, int col, uint64_t key, int lo, int hi)
{
    const uint32_t *places = places_of(r, col);

    if (!places || hi == lo)
        return (uint8_t)rf_random_cut(places, key, lo, hi);
    int last = part_place(r->coarse + (ptrdiff_t)col * PART_PLACES, places,
                          rf_random_place(places, key, lo, hi));
    return (uint8_t)MIN(last, hi - 1);
}

/* Draws the cut of a numeric column of this range (struct rows_range). Returns false if it cannot
 * be cut. */
static bool line_cut(const struct rf_node_in *in, int col, int least, int most, int top,
                     const struct rf_random *r, struct found *f)
{
    int hi = most - 1;

    f->has_missing = top == RF_MISSING;
    if (hi < 0 || (least == hi && !f->has_missing))
        return false;
    f->cut = number_cut(r, col, rf_cut_key(in->key, col), least, hi);
    return true;
}

/* Draws a cut for each numeric column that has two bins or missing values. These columns are put
 * into lists, one list for each chunk of 64 columns. Returns the number of lists. */
static int cuts_draw(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_random *r)
{
    int n_waiting = 0;

    for (int v = 0; v < n; v++) {
        struct found *f = &r->found[v];
        int col = cols[v], chunk = col / ROWS_WIDE, j = col % ROWS_WIDE;
        f->score = -DBL_MAX;
        if (in->d->is_categorical[col])
            continue;
        if (r->node[chunk] != in->node) {
            struct row_list lines = lines_of(in, chunk);
            rows_range(&lines, &r->range[chunk]);
            r->node[chunk] = in->node;
        }
        const struct rows_range *range = &r->range[chunk];
        if (!line_cut(in, col, range->least[j], range->most[j], range->top[j], r, f))
            continue;
        r->cut[col] = f->cut;
        f->next = r->first[chunk];
        if (f->next == NONE)
            r->waiting[n_waiting++] = chunk;
        r->first[chunk] = v;
    }
    return n_waiting;
}

/* With several classes there is one lane for each class in the node. */
static void lanes_fill(const struct rf_node_in *in, struct row_list lines, const uint8_t *cut,
                       uint32_t *out)
{
    if (in->d->n_classes == 2) {
        rows_left_two(&lines, cut, out, out + ROWS_WIDE);
        return;
    }
    for (int k = 0, from = 0; k < in->runs.n; from = in->runs.end[k++]) {
        lines.rows = in->rows + from;
        lines.words = in->words + from;
        lines.n = in->runs.end[k] - from;
        rows_left_one(&lines, cut, out + (ptrdiff_t)k * ROWS_WIDE);
    }
}

/* Puts the sums of one lane into the layout of a histogram's bin. */
INLINE void bin_of(const struct rf_node_in *in, enum kind kind, const uint32_t *lane, int64_t *bin)
{
    if (kind == BINARY)
        bin[0] = lane[0] | (int64_t)lane[ROWS_WIDE] << 32;
    for (int k = 0; kind == CLASSES && k < in->runs.n; k++)
        bin[k] = lane[(ptrdiff_t)k * ROWS_WIDE];
}

INLINE void number_sums(const struct rf_node_in *in, int col, int cut, int64_t *bin)
{
    const uint8_t *x = in->lines + col;
    int64_t n = 0, sum = 0;

    for (int64_t i = 0; i < in->n; i++) {
        int64_t w = x[in->rows[i] * in->pitch] <= cut ? word_weight(in->words[i]) : 0;
        n += w;
        sum += w * (in->words[i] >> 16);
    }
    bin[0] = n;
    bin[1] = sum;
}

/* Scores a cut. left: sums of the rows left of the cut. present: sums of the rows whose value is
 * not missing. */
INLINE void weigh(struct scan *x, enum kind kind, enum rf_criterion c, struct found *f,
                  const int64_t *left, const int64_t *present)
{
    struct rf_split best = { .score = -DBL_MAX };
    int64_t *missing = x->s->hist + (int64_t)RF_MISSING * x->s->width;

    x->best = &best;
    if (f->has_missing && kind == BINARY)
        missing[0] = (x->in->weight | x->in->total[1] << 32) - present[0];
    if (f->has_missing && kind == NUMBER) {
        missing[0] = x->in->weight - present[0];
        missing[1] = x->in->total[0] - present[1];
    }
    for (int k = 0; f->has_missing && kind == CLASSES && k < x->s->width; k++)
        missing[k] = x->in->total[k] - present[k];
    scan_begin(x, kind);
    side_add(x, kind, left, 1);
    try_cut(x, kind, c, f->cut);
    bin_clear(x->s, kind, RF_MISSING);
    f->score = best.score;
    f->missing_left = best.missing_left;
}

/* Scores a cut for several classes by the Gini criterion, directly from the lanes. */
static void many_weigh(const struct rf_node_in *in, struct found *f, const uint32_t *left,
                       const uint32_t *present)
{
    int64_t least = MAX(1, in->p->min_leaf);

    for (int side = 0; side <= (int)f->has_missing; side++) {
        int64_t n = 0, l2 = 0, r2 = 0;
        for (int k = 0; k < in->runs.n; k++) {
            int64_t all = in->runs.weight[k], x = left[(ptrdiff_t)k * ROWS_WIDE];
            x += side ? all - present[(ptrdiff_t)k * ROWS_WIDE] : 0;
            n += x;
            l2 += x * x;
            r2 += (all - x) * (all - x);
        }
        if (n < least || in->weight - n < least)
            continue;
        double score = rf_many_gini(n, l2, in->weight - n, r2);
        if (score > f->score) {
            f->score = score;
            f->missing_left = side;
        }
    }
}

/* Scores the cut of a column for classes. Its sums are in column j of the lanes. Uses two bins of
 * the histogram, which the caller clears. */
INLINE void lane_weigh(struct scan *x, enum kind kind, enum rf_criterion c, struct found *f, int j)
{
    const struct rf_random *r = x->s->random;
    int64_t *left = x->s->hist, *present = left + x->s->width;

    if (kind == CLASSES && c == RF_GINI) {
        many_weigh(x->in, f, r->left + j, r->present + j);
        return;
    }
    bin_of(x->in, kind, r->left + j, left);
    if (f->has_missing)
        bin_of(x->in, kind, r->present + j, present);
    weigh(x, kind, c, f, left, present);
}

INLINE void chunk_weigh(struct scan *x, enum kind kind, enum rf_criterion c, const int32_t *cols,
                        int chunk)
{
    struct rf_random *r = x->s->random;
    struct row_list lines = lines_of(x->in, chunk);
    int width = x->s->width;
    /* two bins, cleared below */
    int64_t *left = x->s->hist, *present = left + width;
    bool has_missing = false;

    for (int v = r->first[chunk]; v != NONE; v = r->found[v].next)
        has_missing = has_missing || r->found[v].has_missing;
    if (kind != NUMBER)
        lanes_fill(x->in, lines, r->cut + (ptrdiff_t)chunk * ROWS_WIDE, r->left);
    if (kind != NUMBER && has_missing) {
        uint8_t last[ROWS_WIDE];
        memset(last, RF_MISSING - 1, sizeof last);
        lanes_fill(x->in, lines, last, r->present);
    }
    for (int v = r->first[chunk]; v != NONE; v = r->found[v].next) {
        struct found *f = &r->found[v];
        if (kind != NUMBER) {
            lane_weigh(x, kind, c, f, cols[v] % ROWS_WIDE);
            continue;
        }
        number_sums(x->in, cols[v], f->cut, left);
        if (f->has_missing)
            number_sums(x->in, cols[v], RF_MISSING - 1, present);
        weigh(x, kind, c, f, left, present);
    }
    memset(left, 0, 2 * (size_t)width * sizeof *left);
    r->first[chunk] = NONE;
}

INLINE void random_weigh(const struct rf_node_in *in, enum kind kind, enum rf_criterion c,
                         const int32_t *cols, int n, struct rf_scratch *s)
{
    struct scan x = { .in = in, .s = s };
    int n_waiting = cuts_draw(in, cols, n, s->random);

    for (int i = 0; i < n_waiting; i++)
        chunk_weigh(&x, kind, c, cols, s->random->waiting[i]);
}

void rf_random_weigh(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s)
{
    enum rf_criterion c = in->p->criterion;

    if (in->d->n_classes == 0)
        random_weigh(in, NUMBER, RF_SQUARED, cols, n, s);
    else if (in->d->n_classes == 2 && c == RF_GINI)
        random_weigh(in, BINARY, RF_GINI, cols, n, s);
    else if (in->d->n_classes == 2)
        random_weigh(in, BINARY, RF_ENTROPY, cols, n, s);
    else if (c == RF_GINI)
        random_weigh(in, CLASSES, RF_GINI, cols, n, s);
    else
        random_weigh(in, CLASSES, RF_ENTROPY, cols, n, s);
}

/* ---- columns of lines brought together ---- */

bool rf_random_picks(const struct rf_node_in *in, const int32_t *cols, int n,
                     const struct rf_scratch *s)
{
    return s->random->picked && n <= ROWS_PICK && in->p->criterion == RF_GINI &&
           !rf_rows_weigh(in->p) && rows_pick_is_fast(cols, n);
}

int rf_random_picked(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                     struct rf_split *best)
{
    struct rf_random *r = s->random;
    const struct rows_random of = { .pick = { in->lines, in->pitch, in->rows, in->n, in->is_far,
                                              cols, n },
                                    .words = in->words,
                                    .ones = in->total[1],
                                    .least = MAX(1, in->p->min_leaf),
                                    .key = in->key,
                                    .places = r->places,
                                    .coarse = r->coarse,
                                    .picked = r->picked,
                                    .marks = r->masks };
    struct rows_random_cut cut = { .score = best->score };

    if (!rows_random(&of, &cut))
        return -1;
    best->score = cut.score;
    best->col = cols[cut.at];
    best->bin = cut.bin;
    best->missing_left = cut.missing_left;
    best->is_set = false;
    r->marks =
        (struct rf_marks){ r->masks, (int32_t)cut.n_left, (int32_t)cut.ones_left, cut.has_missing };
    r->marked_node = in->node;
    r->marked_col = best->col;
    return cut.at;
}

const struct rf_marks *rf_random_marks(const struct rf_scratch *s, int64_t node, int col)
{
    const struct rf_random *r = s->random;

    return r && r->marked_node == node && r->marked_col == col ? &r->marks : NULL;
}

bool rf_random_take(const struct rf_scratch *s, int v, int col, struct rf_split *best)
{
    const struct found *f = &s->random->found[v];

    if (f->score <= best->score)
        return false;
    best->score = f->score;
    best->col = col;
    best->bin = f->cut;
    best->missing_left = f->missing_left;
    best->is_set = false;
    return true;
}

/* ---- column by column ---- */

/* Writes the sums of the marked rows to column 0 of the lanes. Where every row weighs 1 the rows are
 * counted. */
INLINE void marked_sums(const struct rf_node_in *in, const uint64_t *masks, int64_t n_marked,
                        uint32_t *out)
{
    bool is_one = !rf_rows_weigh(in->p);

    if (in->d->n_classes == 2) {
        out[0] = (uint32_t)(is_one ? n_marked : part_sum_marked(in->weights, masks, 0, in->n));
        out[ROWS_WIDE] = (uint32_t)part_sum_marked(in->ones, masks, 0, in->n);
        return;
    }
    for (int64_t k = 0, from = 0; k < in->runs.n; from = in->runs.end[k++])
        out[k * ROWS_WIDE] =
            (uint32_t)(is_one ? part_count(masks, from, in->runs.end[k])
                              : part_sum_marked(in->weights, masks, from, in->runs.end[k]));
}

/* Draws the cut of a numeric column, the same one as rf_random_cut draws. Returns false if the
 * column cannot be cut. */
static bool number_draw(const struct rf_node_in *in, const uint8_t *x, int col,
                        const struct rf_random *r, struct found *f)
{
    struct part_range range = part_range_of(x, in->n);
    int lo = range.least, span = range.most - 1 - lo;

    f->has_missing = range.top == RF_MISSING;
    if (range.most == 0 || (span == 0 && !f->has_missing))
        return false;
    uint64_t key = rf_cut_key(in->key, col);
    f->cut = number_cut(r, col, key, lo, lo + span);
    return true;
}

/* Draws the levels that go left. Returns false if the column cannot be split. */
static bool levels_draw(const struct rf_node_in *in, const uint8_t *x, int col, struct found *f,
                        uint64_t set[4])
{
    struct rf_entry e[BINS];
    uint64_t bits[4], key = rf_cut_key(in->key, col);
    int n = 0;

    bins_present(x, in->n, in->d->n_bins[col] <= 64 && !in->has_missing[col], bits);
    f->has_missing = bits[3] >> 63;
    bits[3] &= ~(1ull << 63);
    for (int w = 0; w < 4; w++) {
        for (; bits[w]; bits[w] &= bits[w] - 1)
            e[n++] = (struct rf_entry){ 0, w * 64 + __builtin_ctzll(bits[w]) };
    }
    if (n == 0 || (n == 1 && !f->has_missing))
        return false;
    rf_entries_shuffle(e, n, key);
    memset(set, 0, 4 * sizeof *set);
    for (int i = rf_prefix_last(key, n); i >= 0; i--)
        set[e[i].bin >> 6] |= 1ull << (e[i].bin & 63);
    return true;
}

static void near_take(const struct part_few_cut *cut, int col, const uint64_t *set,
                      struct rf_split *best)
{
    *best = (struct rf_split){ cut->score,        col,         set ? 0 : cut->bin,
                               cut->missing_left, set != NULL, { 0 } };
    if (!set)
        return;
    memcpy(best->set, set, sizeof best->set);
    best->set[3] |= cut->missing_left ? 1ull << 63 : 0;
}

/* Few rows of weight 1 under Gini. */
static bool few_near(const struct rf_node_in *in, const int32_t *cols, int n,
                     const struct rf_random *r, struct rf_split *best)
{
    struct part_few few;
    bool is_found = false;

    few.least = MAX(1, in->p->min_leaf);
    few.key = in->key;
    if (in->d->n_classes == 2)
        part_few_two(&few, in->ones, (int)in->n);
    else
        part_few_many(&few, in->runs.end, in->runs.n);
    for (int v = 0; v < n; v++) {
        const uint8_t *at = in->by_col + cols[v] * in->pitch;
        struct part_few_cut cut = { .score = -DBL_MAX };
        bool is_set = in->d->is_categorical[cols[v]];
        struct found f;
        uint64_t set[4], left;
        if (!is_set) {
            const uint32_t *places = places_of(r, cols[v]);
            cut = part_few_number(&few, at, cols[v], places,
                                  places ? r->coarse + (ptrdiff_t)cols[v] * PART_PLACES : NULL);
        } else if (levels_draw(in, at, cols[v], &f, set)) {
            part_mark_set(at, in->n, set, &left);
            cut = part_few_set(&few, at, left, f.has_missing);
        }
        if (cut.score <= best->score)
            continue;
        is_found = true;
        near_take(&cut, cols[v], is_set ? set : NULL, best);
    }
    return is_found;
}

INLINE bool random_near(const struct rf_node_in *in, enum kind kind, enum rf_criterion c,
                        const int32_t *cols, int n, struct rf_scratch *s, struct rf_split *best)
{
    struct scan x = { .in = in, .s = s };
    struct rf_random *r = s->random;
    bool is_found = false;

    for (int v = 0; v < n; v++) {
        struct found f = { .score = -DBL_MAX };
        const uint8_t *at = in->by_col + cols[v] * in->pitch;
        bool is_set = in->d->is_categorical[cols[v]];
        uint64_t set[4];
        if (is_set ? !levels_draw(in, at, cols[v], &f, set) : !number_draw(in, at, cols[v], r, &f))
            continue;
        int64_t marked = is_set ? part_mark_set(at, in->n, set, r->masks)
                                : part_mark(at, in->n, 0, f.cut, r->masks);
        marked_sums(in, r->masks, marked, r->left);
        if (f.has_missing) {
            marked = part_mark(at, in->n, 0, RF_MISSING - 1, r->masks);
            marked_sums(in, r->masks, marked, r->present);
        }
        lane_weigh(&x, kind, c, &f, 0);
        if (f.score <= best->score)
            continue;
        is_found = true;
        const struct part_few_cut cut = { f.score, f.cut, f.missing_left };
        near_take(&cut, cols[v], is_set ? set : NULL, best);
    }
    memset(s->hist, 0, 2 * (size_t)s->width * sizeof *s->hist);
    return is_found;
}

bool rf_random_near(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                    struct rf_split *best)
{
    enum rf_criterion c = in->p->criterion;

    if (in->n <= PART_FEW_ROWS && c == RF_GINI && !rf_rows_weigh(in->p) && part_few_is_fast())
        return few_near(in, cols, n, s->random, best);
    if (in->d->n_classes == 2 && c == RF_GINI)
        return random_near(in, BINARY, RF_GINI, cols, n, s, best);
    if (in->d->n_classes == 2)
        return random_near(in, BINARY, RF_ENTROPY, cols, n, s, best);
    if (c == RF_GINI)
        return random_near(in, CLASSES, RF_GINI, cols, n, s, best);
    return random_near(in, CLASSES, RF_ENTROPY, cols, n, s, best);
}
