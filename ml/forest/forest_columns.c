/* forest_columns.c - grows a tree over a narrow table of classes.
 *
 * All bins of a node's rows lie side by side, column by column (ml/cpu/part.c), so that every read
 * of a split search is in sequence. A node's classes and weights are known when it is made, and
 * rows that reach a leaf are not moved again. Nodes, draws and ties are those of forest_grow.c, and
 * so are the trees, bit for bit. Called by forest_grow.c. */
#include "ml/forest/forest_scan.h"
#include "ml/forest/forest_work.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/part.h"
#include "ml/family/family_params.h"

#include <float.h>
#include <string.h>

enum { SLACK = 2 * PART_WIDE, RUN_PARTS = 3 };

/* With every further column each row is moved once more per level, but only about the square root
 * of the columns are read in a node: wide tables are better off with rows in lines. */
bool rf_columns_fit(const struct rf_data *d)
{
    return d->n_classes >= 2 && d->cols <= FOREST_NARROW && part_is_fast();
}

void rf_columns_free(struct rf_columns *c)
{
    if (!c)
        return;
    mem_try_free(c->root);
    mem_try_free(c->root_end);
    mem_try_free(c->list[0]);
    mem_try_free(c->list[1]);
    mem_try_free(c->masks);
    mem_try_free(c->has_missing);
    mem_try_free(c->runs);
    mem_try_free(c->kids);
    mem_try_free(c->left);
    mem_free(c);
}

static int64_t list_bytes(const struct rf_columns *c)
{
    return c->n_cols * c->pitch + SLACK;
}

int64_t rf_columns_bytes(const struct rf_columns *c, const struct rf_data *d)
{
    return (int64_t)sizeof *c + 3 * list_bytes(c) + d->rows / 8 + d->cols +
           (int64_t)(c->runs_cap + 2 * RUN_PARTS * d->n_classes) * (int64_t)sizeof *c->runs;
}

/* Fills in the table's columns, and where the classes end. */
static void root_fill(struct rf_columns *c, const struct rf_data *d, const int32_t *order)
{
    for (int64_t i = 0; i < d->rows; i++) {
        int64_t row = order ? order[i] : i;
        const uint8_t *line = d->by_row + d->at[row] * d->stride;
        for (int j = 0; j < d->cols; j++)
            c->root[j * c->pitch + i] = line[j];
        if (order)
            c->root_end[d->y[row]] = i + 1;
    }
    for (int k = 1; order && k < d->n_classes; k++)
        c->root_end[k] = MAX(c->root_end[k], c->root_end[k - 1]);
    for (int j = 0; j < d->cols; j++)
        c->has_missing[j] = memchr(c->root + j * c->pitch, RF_MISSING, (size_t)d->rows) != NULL;
}

struct rf_columns *rf_columns_new(const struct rf_data *d, const int32_t *order)
{
    struct rf_columns *c = mem_zalloc(sizeof *c);
    size_t k = (size_t)d->n_classes;

    c->n_cols = d->cols + (order ? 1 : 2);
    /* An odd number of cache lines, so that the columns do not all fall on the same few cache
     * sets. */
    c->pitch = (d->rows / PART_WIDE | 1) * PART_WIDE + (d->rows % PART_WIDE ? 2 * PART_WIDE : 0);
    c->runs_cap = (int)k * RUN_PARTS * 64;
    c->root = mem_try_zalloc((size_t)list_bytes(c));
    c->root_end = mem_try_zalloc(k * sizeof *c->root_end);
    for (int i = 0; i < 2; i++)
        c->list[i] = mem_try_zalloc((size_t)list_bytes(c));
    c->masks = mem_try_alloc(((size_t)d->rows / PART_WIDE + 1) * sizeof *c->masks);
    c->has_missing = mem_try_alloc((size_t)d->cols + 1);
    c->runs = mem_try_alloc((size_t)c->runs_cap * sizeof *c->runs);
    c->kids = mem_try_alloc(2 * RUN_PARTS * k * sizeof *c->kids);
    c->left = mem_try_alloc(2 * k * sizeof *c->left);
    if (!c->left || !c->root || !c->root_end || !c->list[0] || !c->list[1] || !c->masks ||
        !c->has_missing || !c->runs || !c->kids) {
        rf_columns_free(c);
        return NULL;
    }
    root_fill(c, d, order);
    return c;
}

/* ---- nodes ---- */

/* Room for the runs of a node of n classes. */
static struct rf_runs runs_at(int32_t *at, int32_t n)
{
    return (struct rf_runs){ n, at, at + n, at + 2 * (ptrdiff_t)n };
}

/* A node as the split search takes it. `runs` stay where they are; totals go to w->total. It is
 * filled in place, because reading a copy of what was just written would wait for the write. */
static void node_in(struct rf_work *w, const struct open_node *o, const struct rf_runs *runs,
                    struct rf_node_in *in)
{
    const struct rf_columns *c = w->columns;
    const uint8_t *at = c->list[o->list] + o->from;

    w->total[0] = o->weight - o->ones;
    w->total[1] = o->ones;
    for (int k = 0; k < runs->n; k++)
        w->total[k] = runs->weight[k];
    w->s.width = w->d->n_classes == 2 ? 1 : runs->n;
    in->by_col = at;
    in->weights = at + w->d->cols * c->pitch;
    in->ones = in->weights + c->pitch;
    in->n = o->n;
    in->runs.n = runs->n;
    in->runs.class_of = runs->class_of;
    in->runs.end = runs->end;
    in->runs.weight = runs->weight;
    in->weight = o->weight;
    in->key = o->key;
}

/* What all nodes of a tree have in common. */
static struct rf_node_in node_any(const struct rf_work *w)
{
    return (struct rf_node_in){ .d = w->d,
                                .p = &w->p,
                                .pitch = w->columns->pitch,
                                .has_missing = w->columns->has_missing,
                                .total = w->total };
}

static int runs_push(struct rf_columns *c, const struct rf_runs *r)
{
    size_t size = sizeof *c->runs, n = RUN_PARTS * (size_t)r->n;

    if ((size_t)c->runs_top + n > (size_t)c->runs_cap) {
        int cap = 2 * c->runs_cap;
        int32_t *more = mem_try_alloc((size_t)cap * size);
        if (!more)
            return -1;
        memcpy(more, c->runs, (size_t)c->runs_top * size);
        mem_try_free(c->runs);
        c->runs = more;
        c->runs_cap = cap;
    }
    struct rf_runs to = runs_at(c->runs + c->runs_top, r->n);
    memcpy(to.class_of, r->class_of, (size_t)r->n * size);
    memcpy(to.end, r->end, (size_t)r->n * size);
    memcpy(to.weight, r->weight, (size_t)r->n * size);
    c->runs_top += (int)n;
    return 0;
}

static int node_open(struct rf_work *w, const struct open_node *o, const struct rf_runs *runs)
{
    if (runs->n && runs_push(w->columns, runs) < 0)
        return -1;
    return rf_open(w, *o);
}

/* ---- parting ---- */

/* What the marked rows weigh goes left, the rest right. */
static void kids_two(const struct rf_work *w, const struct open_node *o, struct open_node kid[2])
{
    const struct rf_columns *c = w->columns;
    const uint8_t *weights = c->list[o->list] + w->d->cols * c->pitch + o->from;

    kid[0].weight = (int32_t)part_sum_marked(weights, c->masks, 0, o->n);
    kid[0].ones = (int32_t)part_sum_marked(weights + c->pitch, c->masks, 0, o->n);
    kid[1].weight = o->weight - kid[0].weight;
    kid[1].ones = o->ones - kid[0].ones;
}

static void run_add(struct rf_runs *r, int32_t class_of, int32_t rows, int32_t weight)
{
    if (rows == 0)
        return;
    r->class_of[r->n] = class_of;
    r->end[r->n] = (r->n ? r->end[r->n - 1] : 0) + rows;
    r->weight[r->n++] = weight;
}

static void kids_many(const struct rf_work *w, const struct open_node *o,
                      const struct rf_runs *runs, struct open_node kid[2], struct rf_runs out[2])
{
    const struct rf_columns *c = w->columns;
    const uint8_t *weights = c->list[o->list] + w->d->cols * c->pitch + o->from;
    int32_t *left = c->left, *left_weight = c->left + runs->n;

    part_runs(weights, c->masks, runs->end, runs->n, left, left_weight);
    for (int side = 0; side < 2; side++) {
        out[side] = runs_at(c->kids + (ptrdiff_t)side * RUN_PARTS * runs->n, runs->n);
        out[side].n = 0;
        kid[side].weight = 0;
    }
    for (int32_t k = 0, from = 0; k < runs->n; from = runs->end[k++]) {
        run_add(&out[0], runs->class_of[k], left[k], left_weight[k]);
        run_add(&out[1], runs->class_of[k], runs->end[k] - from - left[k],
                runs->weight[k] - left_weight[k]);
        kid[0].weight += left_weight[k];
        kid[1].weight += runs->weight[k] - left_weight[k];
    }
    kid[0].n_runs = out[0].n;
    kid[1].n_runs = out[1].n;
}

/* Moves the rows of the children that grow on; those of the left one to the front of the other
 * list. */
static void move(const struct rf_columns *c, const struct open_node *o, int32_t n_left,
                 const bool is_open[2])
{
    uint8_t *at = c->list[!o->list] + o->from;
    const struct part_columns p = { c->list[o->list] + o->from, is_open[0] ? at : NULL,
                                    is_open[1] ? at + n_left : NULL, c->pitch, c->n_cols };

    if (is_open[0] || is_open[1])
        part_move(&p, o->n, c->masks);
}

static int32_t mark(const struct rf_columns *c, const struct open_node *o,
                    const struct rf_split *best)
{
    const uint8_t *bins = c->list[o->list] + best->col * c->pitch + o->from;
    /* Missing values (255) to the left: adding one makes them 0. */
    uint8_t up = best->missing_left;

    if (best->is_set)
        return (int32_t)part_mark_set(bins, o->n, best->set, c->masks);
    return (int32_t)part_mark(bins, o->n, up, (uint8_t)(best->bin + up), c->masks);
}

/* Which bins the node's rows are in; for numeric columns only whether one is missing. */
static void seen_take(const struct rf_work *w, const struct open_node *o,
                      const struct rf_split *best, uint64_t seen[4])
{
    const struct rf_columns *c = w->columns;
    const uint8_t *bins = c->list[o->list] + best->col * c->pitch + o->from;
    bool has_missing = c->has_missing[best->col];

    memset(seen, 0, 4 * sizeof *seen);
    if (best->is_set)
        bins_present(bins, o->n, !has_missing && w->d->n_bins[best->col] <= 64, seen);
    else if (has_missing && memchr(bins, RF_MISSING, (size_t)o->n))
        seen[3] = 1ull << 63;
}

int rf_columns_grow(struct rf_work *w, const struct open_node *o, struct rf_tree *t)
{
    struct rf_columns *c = w->columns;
    struct rf_split best = { .score = -DBL_MAX };
    struct rf_runs runs = runs_at(w->runs, o->n_runs), kid_runs[2] = { 0 };
    bool is_open[2];

    c->runs_top -= RUN_PARTS * o->n_runs;
    if (o->n_runs)
        memcpy(w->runs, c->runs + c->runs_top, RUN_PARTS * (size_t)o->n_runs * sizeof *w->runs);
    struct rf_node_in *in = &c->in;
    node_in(w, o, &runs, in);
    if (!rf_node_split(w, in, &best))
        return 0;
    if (rf_node_cut(w, in, o->node, &best, t) < 0)
        return -1;
    int32_t n_left = mark(c, o, &best);
    uint64_t seen[4];
    seen_take(w, o, &best, seen);
    rf_node_unseen(w, o->node, o->key, seen, n_left, o->n, t);
    struct open_node kid[2];
    for (int side = 0; side < 2; side++)
        kid[side] = (struct open_node){ .node = t->n - 2 + side,
                                        .from = side ? o->from + n_left : o->from,
                                        .n = side ? o->n - n_left : n_left,
                                        .depth = o->depth + 1,
                                        .list = !o->list,
                                        .key = rf_mix(o->key, ~(uint64_t)side) };
    if (o->n_runs)
        kids_many(w, o, &runs, kid, kid_runs);
    else
        kids_two(w, o, kid);
    for (int side = 0; side < 2; side++) {
        node_in(w, &kid[side], &kid_runs[side], in);
        is_open[side] = !rf_leaf(w, in, kid[side].node, kid[side].depth, t);
    }
    move(c, o, n_left, is_open);
    for (int side = 1; side >= 0; side--) {
        if (is_open[side] && node_open(w, &kid[side], &kid_runs[side]) < 0)
            return -1;
    }
    return 0;
}

/* Copies the rows that the tree drew from the root's columns into the first list. */
static int32_t rows_take(struct rf_work *w)
{
    struct rf_columns *c = w->columns;
    uint8_t *weights = c->root + w->d->cols * c->pitch, *ones = weights + c->pitch;
    int64_t n = w->d->rows;

    for (int64_t i = 0; i < n; i++)
        weights[i] = (uint8_t)w->weights[w->order ? w->order[i] : i];
    for (int64_t i = 0; !w->order && i < n; i++)
        ones[i] = w->d->y[i] ? weights[i] : 0;
    int64_t out = part_mark(weights, n, 0, 0, c->masks);
    const struct part_columns p = { c->root, NULL, c->list[0], c->pitch, c->n_cols };
    part_move(&p, n, c->masks);
    return (int32_t)(n - out);
}

int rf_columns_start(struct rf_work *w, struct open_node root, struct rf_tree *t)
{
    struct rf_columns *c = w->columns;
    const uint8_t *weights = c->list[0] + w->d->cols * c->pitch;
    struct rf_runs runs = runs_at(c->kids, w->d->n_classes);

    c->runs_top = 0;
    root.n = rows_take(w);
    root.weight = (int32_t)part_sum(weights, root.n);
    runs.n = 0;
    if (!w->order)
        root.ones = (int32_t)part_sum(weights + c->pitch, root.n);
    for (int64_t k = 0, from = 0; w->order && k < w->d->n_classes; from = c->root_end[k++]) {
        int32_t rows =
            (int32_t)(c->root_end[k] - from - part_count(c->masks, from, c->root_end[k]));
        run_add(&runs, (int32_t)k, rows, (int32_t)part_sum(weights, rows));
        weights += rows;
    }
    root.n_runs = runs.n;
    c->in = node_any(w);
    node_in(w, &root, &runs, &c->in);
    return rf_leaf(w, &c->in, root.node, root.depth, t) ? 0 : node_open(w, &root, &runs);
}
