/* boost_grow.c - grows one tree on quantised gradients.
 *
 * Open leaves wait in a heap, by gain (leaf-wise) or by depth (depth-wise), equal ones by number,
 * so that the order is always the same. Of two children the smaller one is summed from its rows;
 * the larger one is got by subtracting it from the parent's histogram, if that is still in the
 * pool. A node without a slot in the pool is scanned 64 columns at a time. Sums are exact, so both
 * ways give the same tree. Growth may be left between two splits, because all of its state is in
 * the workspace. Called by boost_round.c. */
#include "ml/boost/boost.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/part_rows.h"
#include "ml/family/family_params.h"

#include <math.h>
#include <string.h>

/* TILE_COLS: columns of a histogram tile. MAX_DEPTH_LEAVES: the most leaves of a depth-wise tree;
 * it bounds the memory for nodes. */
enum { TILE_COLS = 64, MAX_DEPTH_LEAVES = 4096 };

/* ---- the heap of open leaves ---- */

/* Whether node a is split before node b. */
static bool is_before(const struct boost_work *wk, bool is_depth_wise, int a, int b)
{
    const struct grow_node *x = &wk->nodes[a], *y = &wk->nodes[b];

    if (is_depth_wise && x->depth != y->depth)
        return x->depth < y->depth;
    if (!is_depth_wise && x->gain != y->gain)
        return x->gain > y->gain;
    return a < b;
}

static void heap_push(struct boost_work *wk, bool is_depth_wise, int node)
{
    int at = wk->n_heap++;

    for (; at > 0 && is_before(wk, is_depth_wise, node, wk->heap[(at - 1) / 2]); at = (at - 1) / 2)
        wk->heap[at] = wk->heap[(at - 1) / 2];
    wk->heap[at] = node;
}

static int heap_pop(struct boost_work *wk, bool is_depth_wise)
{
    int top = wk->heap[0], last = wk->heap[--wk->n_heap], at = 0;

    for (;;) {
        int kid = 2 * at + 1;
        if (kid >= wk->n_heap)
            break;
        if (kid + 1 < wk->n_heap && is_before(wk, is_depth_wise, wk->heap[kid + 1], wk->heap[kid]))
            kid++;
        if (!is_before(wk, is_depth_wise, wk->heap[kid], last))
            break;
        wk->heap[at] = wk->heap[kid];
        at = kid;
    }
    if (wk->n_heap)
        wk->heap[at] = last;
    return top;
}

/* ---- columns of the tree ---- */

/* Draws `want` of n columns, in ascending order, in one pass: each column is taken with probability
 * (still wanted) / (still to come). */
static void draw_columns(uint64_t seed, uint64_t stream, int n, int want, uint8_t *is_taken)
{
    struct rng r;

    rng_init(&r, seed, stream);
    for (int c = 0; c < n; c++) {
        is_taken[c] = (uint64_t)rng_u32(&r) * (uint64_t)(n - c) >> 32 < (uint64_t)want;
        want -= is_taken[c];
    }
}

/* A share of n columns, rounded; at least one. */
static int share_of(double share, int n)
{
    int want = (int)(share * n + 0.5);

    return want < 1 ? 1 : want > n ? n : want;
}

/* Draws the columns of a tree. Adding up all columns in one dense pass costs less than picking most
 * of them, so from two thirds on all columns are added up; those that were not drawn are then in
 * the histograms, but are not scanned. */
void boost_grow_columns(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed)
{
    int n = wk->bins->cols, want = share_of(l->p.col_sample, n);

    memset(wk->is_used, 1, (size_t)n);
    if (want < n)
        draw_columns(tree_seed, 1, n, want, wk->is_used);
    wk->is_dense = want * 3 >= n * 2;
    wk->n_cols = 0;
    for (int c = 0; c < n; c++) {
        if (wk->is_dense || wk->is_used[c]) {
            wk->cols[wk->n_cols] = c;
            wk->is_used[wk->n_cols] = wk->is_used[c];
            wk->n_bins[wk->n_cols++] = wk->bins->n_bins[c];
        }
    }
}

void boost_grow_level(const struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                      int depth, uint8_t *is_open)
{
    draw_columns(tree_seed, 256 + (uint64_t)depth, wk->n_cols, share_of(l->p.col_level, wk->n_cols),
                 is_open);
}

/* ---- histograms and scans ---- */

static int64_t *slot_hist(const struct boost_work *wk, int slot)
{
    return wk->pool + (int64_t)slot * wk->n_cols * HIST_PITCH;
}

/* Adds up the histograms of n columns, from number `from` of the tree's, over the node's rows. */
static void node_hist(const struct boost_work *wk, const struct grow_node *nd, int from, int n,
                      int64_t *hist)
{
    struct hist_rows r = { wk->bins->bins, wk->bins->stride, wk->rows + nd->from, nd->n, wk->q };

    hist_clear(hist, wk->n_bins + from, n);
    hist_add(&r, wk->cols + from, n, wk->is_dense, hist);
}

/* What the scan of one node depends on besides its histogram. */
struct scan_rule {
    struct scan_node node;
    bool is_random;
    /* the key of the draws of this node */
    uint64_t seed;
    /* [n_cols] columns drawn for this depth; NULL = all */
    const uint8_t *is_open;
    /* NULL = no constraints */
    const struct boost_lane *bounded;
    struct scan_bounds bounds;
};

/* Scans n columns from number `from` of the tree's; hist: the histogram of the first of them. Keeps
 * the best split in *best. */
static void scan_columns(const struct boost_work *wk, const struct scan_rule *rule, int from, int n,
                         const int64_t *hist, struct scan_best *best)
{
    for (int j = from; j < from + n; j++, hist += HIST_PITCH) {
        int col = wk->cols[j], better;
        uint32_t u[4];
        if (!wk->is_used[j] || (rule->is_open && !rule->is_open[j]))
            continue;
        if (rule->is_random)
            rng_at(rule->seed, 0, 0, (uint64_t)col, u);
        if (rule->bounded) {
            better = boost_bound_column(wk, rule->bounded, &rule->node, &rule->bounds, j, hist,
                                        rule->is_random ? u[0] : 0, best);
        } else if (wk->bins->is_categorical[col]) {
            better = scan_categorical(&rule->node, hist, wk->n_bins[j], best);
        } else if (rule->is_random) {
            better = scan_random(&rule->node, hist, wk->n_bins[j], u[0], best);
        } else {
            better = scan_numeric(&rule->node, hist, wk->n_bins[j], best);
        }
        if (better)
            best->col = col;
    }
}

/* Parameters in units of the quantised gradients: what is added to a sum of g or h is multiplied by
 * the scale of g or h. cat_l2 = 10 is LightGBM's default. */
static void rule_init(const struct boost_work *wk, const struct boost_lane *l,
                      const struct grow_node *nd, struct scan_rule *rule)
{
    struct scan_node *s = &rule->node;

    s->total = nd->total;
    s->l1 = l->p.l1 * wk->g_scale;
    s->l2 = l->p.l2 * wk->h_scale;
    s->cat_l2 = 10.0 * wk->h_scale;
    s->cat_smooth = l->p.cat_smooth * wk->h_scale;
    s->max_onehot = l->p.max_onehot;
    s->min_h = scan_min_h(nd->total, nd->n, l->p.min_leaf, l->p.min_hessian * wk->h_scale);
    rule->is_random = l->p.is_random;
    rule->is_open = NULL;
    rule->bounded = l->monotone ? l : NULL;
    if (l->monotone)
        boost_bound_scan(wk, l, nd, s, &rule->bounds);
}

/* The best split of a node. Its histogram is in its slot, or is built there (is_built = false), or
 * tile by tile where there is no slot. */
static void node_scan(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed, int at,
                      bool is_built)
{
    struct grow_node *nd = &wk->nodes[at];
    struct scan_rule rule;
    uint8_t *open = NULL;

    rule_init(wk, l, nd, &rule);
    rule.seed = l->p.is_random ? rng_mix(tree_seed, nd->path) : 0;
    /* drawn for each depth among the columns of the tree */
    if (l->p.col_level < 1.0) {
        open = wk->is_used + wk->bins->cols;
        boost_grow_level(wk, l, tree_seed, nd->depth, open);
        rule.is_open = open;
    }
    nd->best.score = -1.0;
    if (nd->slot >= 0) {
        if (!is_built)
            node_hist(wk, nd, 0, wk->n_cols, slot_hist(wk, nd->slot));
        scan_columns(wk, &rule, 0, wk->n_cols, slot_hist(wk, nd->slot), &nd->best);
    } else {
        for (int j = 0; j < wk->n_cols; j += TILE_COLS) {
            int n = MIN(TILE_COLS, wk->n_cols - j);
            node_hist(wk, nd, j, n, wk->tile);
            scan_columns(wk, &rule, j, n, wk->tile, &nd->best);
        }
    }
    nd->gain = l->monotone ? nd->best.score : scan_gain(&rule.node, nd->best.score);
}

/* ---- nodes ---- */

static int slot_take(struct boost_work *wk)
{
    return wk->n_free > 0 ? wk->free_slots[--wk->n_free] : -1;
}

static void slot_give(struct boost_work *wk, struct grow_node *nd)
{
    if (nd->slot >= 0)
        wk->free_slots[wk->n_free++] = nd->slot;
    nd->slot = -1;
}

static int node_add(struct boost_work *wk, int32_t from, int32_t n, int depth, int64_t total,
                    uint64_t path)
{
    wk->nodes[wk->n_nodes] = (struct grow_node){ .from = from,
                                                 .n = n,
                                                 .depth = depth,
                                                 .path = path,
                                                 .slot = -1,
                                                 .kid = { -1, -1 },
                                                 .total = total,
                                                 .gain = -1.0,
                                                 .lo = -HUGE_VAL,
                                                 .hi = HUGE_VAL };
    return wk->n_nodes++;
}

/* Whether depth and number of rows allow a split at all; each child must have min_leaf rows. */
static bool node_may_split(const struct boost_lane *l, const struct grow_node *nd)
{
    return nd->depth < l->p.depth && nd->n >= 2 * l->p.min_leaf && nd->n >= 2;
}

/* After the scan of a node: puts it into the heap if a split of it gains. Its histogram is kept
 * only for a node that may be split and is large enough that subtraction saves more than it
 * costs. */
static void node_open(struct boost_work *wk, const struct boost_lane *l, int at)
{
    bool may_split = wk->nodes[at].gain > 0.0;

    if (may_split)
        heap_push(wk, l->p.is_depth_wise, at);
    if (!may_split || wk->nodes[at].n < BOOST_POOL_ROWS)
        slot_give(wk, &wk->nodes[at]);
}

/* Scans both children of a node that was just split. is_last: no more leaves may come, so the
 * children's histograms are not needed. */
static void kids_scan(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                      struct grow_node *nd, bool is_last)
{
    int small = wk->nodes[nd->kid[0]].n <= wk->nodes[nd->kid[1]].n ? 0 : 1;
    int ks = nd->kid[small], kb = nd->kid[!small];
    bool want_small = !is_last && node_may_split(l, &wk->nodes[ks]);
    bool want_big = !is_last && node_may_split(l, &wk->nodes[kb]);
    bool is_subtracted = false;

    if (nd->slot >= 0 && want_big && wk->nodes[kb].n >= BOOST_POOL_ROWS) {
        int spare = slot_take(wk);
        wk->nodes[kb].slot = nd->slot;
        nd->slot = -1;
        if (spare >= 0) {
            int64_t *hs = slot_hist(wk, spare);
            node_hist(wk, &wk->nodes[ks], 0, wk->n_cols, hs);
            hist_subtract(slot_hist(wk, wk->nodes[kb].slot), hs, wk->n_bins, wk->n_cols);
            wk->nodes[ks].slot = spare;
            is_subtracted = true;
        }
    }
    slot_give(wk, nd);
    for (int i = 0; i < 2; i++) {
        int k = i ? kb : ks;
        if (!(i ? want_big : want_small)) {
            slot_give(wk, &wk->nodes[k]);
            continue;
        }
        if (wk->nodes[k].slot < 0 && wk->nodes[k].n >= BOOST_POOL_ROWS)
            wk->nodes[k].slot = slot_take(wk);
        node_scan(wk, l, tree_seed, k, is_subtracted && wk->nodes[k].slot >= 0);
        node_open(wk, l, k);
    }
}

/* Which bins go left: in a numeric split those up to b->bin, and the missing one (255) when b->add
 * is 1. */
static void split_table(const struct scan_best *b, uint8_t *is_left)
{
    if (b->is_categorical) {
        for (int v = 0; v < 256; v++)
            is_left[v] = b->left_set[v >> 6] >> (v & 63) & 1;
        return;
    }
    memset(is_left, 0, 256);
    memset(is_left, 1, (size_t)b->bin + 1);
    is_left[HIST_MISSING] |= (uint8_t)b->add;
}

/* Stable: the rows of both sides stay in ascending order. Returns how many went left. */
static int32_t partition(struct boost_work *wk, const struct grow_node *nd)
{
    uint8_t is_left[256];

    split_table(&nd->best, is_left);
    return part_rows(wk->columns + nd->best.col * wk->bins->rows, is_left, wk->rows + nd->from,
                     nd->n, wk->spare);
}

/* Splits the node at `at`: its rows, its two children, and their scans. */
static void node_split(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                       int at, int max_leaves)
{
    /* the array of nodes never moves */
    struct grow_node *nd = &wk->nodes[at];
    int32_t left = partition(wk, nd);

    CHECK(left > 0 && left < nd->n);
    nd->kid[0] = node_add(wk, nd->from, left, nd->depth + 1, nd->best.left, grow_path(nd->path, 0));
    nd->kid[1] = node_add(wk, nd->from + left, nd->n - left, nd->depth + 1,
                          nd->total - nd->best.left, grow_path(nd->path, 1));
    wk->n_leaves++;
    if (l->monotone)
        boost_bound_split(wk, l, nd);
    kids_scan(wk, l, tree_seed, nd, wk->n_leaves >= max_leaves);
}

/* ---- the tree ---- */

/* The most leaves of a tree. A depth-wise tree has one for each node of its last level. */
int boost_grow_leaves(const struct boost_lane *l)
{
    if (!l->p.is_depth_wise || l->p.depth > 30)
        return l->p.leaves;
    return MIN(1 << MIN(l->p.depth, 12), MAX_DEPTH_LEAVES);
}

/* Room for the nodes of a tree of so many leaves (2 leaves - 1), for the heap, and for the links of
 * boost_grow_tree. */
void boost_grow_room(struct boost_work *wk, int leaves)
{
    int need = 2 * leaves;

    if (need <= wk->nodes_cap)
        return;
    mem_free(wk->nodes);
    mem_free(wk->heap);
    mem_free(wk->links);
    wk->nodes = mem_array((size_t)need, sizeof *wk->nodes);
    wk->heap = mem_array((size_t)need, sizeof *wk->heap);
    wk->links = mem_array((size_t)need, sizeof *wk->links);
    wk->bytes +=
        (int64_t)(need - wk->nodes_cap) * (int64_t)(sizeof *wk->nodes + 2 * sizeof *wk->heap);
    wk->nodes_cap = need;
}

/* The packed sum of the tree's rows. Without sampling these are all that have a word but 0
 * (tree_rows in boost_round.c), so the words are added in the order in which they lie. */
static int64_t rows_total(const struct boost_work *wk, const struct boost_lane *l)
{
    return l->p.row_sample < 1.0 ? hist_total(wk->q, wk->rows, wk->n_rows)
                                 : hist_total_all(wk->q, l->rows);
}

void boost_grow_start(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed)
{
    int leaves = boost_grow_leaves(l);

    boost_grow_room(wk, leaves);
    boost_grow_columns(wk, l, tree_seed);
    int64_t per_slot = (int64_t)MAX(wk->n_cols, 1) * HIST_PITCH;
    wk->n_slots =
        (int)MIN((int64_t)leaves + 1, MIN(wk->pool_words / per_slot, (int64_t)wk->slots_cap));
    wk->n_free = 0;
    for (int i = wk->n_slots - 1; i >= 0; i--)
        wk->free_slots[wk->n_free++] = i;
    wk->n_nodes = wk->n_heap = 0;
    wk->n_leaves = 1;
    node_add(wk, 0, (int32_t)wk->n_rows, 0, rows_total(wk, l), 1);
    if (leaves > 1 && wk->n_cols > 0 && node_may_split(l, &wk->nodes[0]) &&
        hist_h(wk->nodes[0].total) > 0) {
        if (wk->nodes[0].n >= BOOST_POOL_ROWS)
            wk->nodes[0].slot = slot_take(wk);
        node_scan(wk, l, tree_seed, 0, false);
        node_open(wk, l, 0);
    }
}

int boost_grow_run(struct boost_work *wk, const struct boost_lane *l, uint64_t tree_seed,
                   const struct ml_stop *stop)
{
    int leaves = boost_grow_leaves(l);

    while (wk->n_heap > 0 && wk->n_leaves < leaves) {
        if (ml_stop_now(stop))
            return 0;
        node_split(wk, l, tree_seed, heap_pop(wk, l->p.is_depth_wise), leaves);
    }
    return 1;
}

static float value_of_leaf(const struct boost_work *wk, const struct boost_lane *l,
                           const struct grow_node *nd, bool has_sums)
{
    return (float)(boost_bound_leaf(wk, l, nd, has_sums) * l->p.learning_rate);
}

/* Writes a split into the finished tree. The tree is walked on the finest bins, and the lane may
 * have trained on coarser ones: bins->last gives the last fine bin of each coarse one. A set of
 * levels is widened in the same way; bin 255, missing values, stays itself. */
static void emit_split(const struct boost_work *wk, const struct scan_best *b, struct tree *t,
                       struct tree_node *nd)
{
    const uint8_t *last = wk->bins->last ? wk->bins->last + (int64_t)b->col * 256 : NULL;

    nd->col = (uint32_t)b->col;
    if (!b->is_categorical) {
        nd->bin = (uint8_t)((last ? last[b->bin] : b->bin) + b->add);
        nd->add = (uint8_t)b->add;
        return;
    }
    nd->bin = 255;
    t->set_of[nd - t->nodes] = (int16_t)t->n_sets;
    for (int fine = 0, bin = 0; fine < 256; fine++) {
        if (last && fine < 255 && bin < 254 && fine > last[bin])
            bin++;
        int from = !last || fine == 255 ? fine : bin;
        t->sets[t->n_sets][fine >> 6] |= (b->left_set[from >> 6] >> (from & 63) & 1) << (fine & 63);
    }
    t->n_sets++;
}

static int tree_alloc(const struct boost_work *wk, struct tree *t)
{
    int n_sets = 0;

    for (int i = 0; i < wk->n_nodes; i++)
        n_sets += wk->nodes[i].kid[0] >= 0 && wk->nodes[i].best.is_categorical;
    if (tree_init(t, wk->n_nodes, n_sets) < 0)
        return -1;
    /* sets are counted again while they are written */
    t->n_sets = 0;
    return 0;
}

/* Writes the tree. Nodes are numbered in preorder, children in pairs, as boost_tree.c numbers them
 * when it reads a saved tree. */
int boost_grow_tree(struct boost_work *wk, const struct boost_lane *l, bool has_values,
                    struct tree *out)
{
    struct tree t;
    /* the heap is empty by now, so its memory is free */
    int *stack = wk->heap, *number = wk->links, top = 0, made = 1;

    if (tree_alloc(wk, &t) < 0)
        return -1;
    bool has_sums = !has_values && boost_loss_leaves(wk, l);
    stack[top++] = 0;
    number[0] = 0;
    while (top > 0) {
        int from = stack[--top], at = number[from];
        const struct grow_node *nd = &wk->nodes[from];
        t.depth = MAX(t.depth, nd->depth);
        t.rows[at] = nd->n;
        if (nd->kid[0] >= 0) {
            emit_split(wk, &nd->best, &t, &t.nodes[at]);
            t.values[at] = (float)MIN(nd->gain * wk->h_scale / (wk->g_scale * wk->g_scale), 3e38);
            t.nodes[at].left = (uint16_t)made;
            number[nd->kid[0]] = made++;
            number[nd->kid[1]] = made++;
            stack[top++] = nd->kid[1];
            stack[top++] = nd->kid[0];
            continue;
        }
        t.nodes[at] = (struct tree_node){ .bin = 255, .left = (uint16_t)at };
        t.values[at] = has_values ? nd->value : value_of_leaf(wk, l, nd, has_sums);
    }
    *out = t;
    return 0;
}
