/* forest_walk.c - rows down a tree of a forest.
 *
 * Sixteen rows step together, so that they hide each other's memory latency; a leaf leads to
 * itself. For a grid of prunings each row is walked to its leaf once: what the prunings answer
 * there (the value of the node on the leaf's path where each of them stops) is found for all leaves
 * first, from the top down, and added as one run of floats. Sums are float, one addition per tree
 * in order: the order of rows, blocks and prunings cannot show. Called by forest_model.c and
 * forest_predict.c. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

enum { GROUP = 16, LOOK = 4, SHORT = 8 };

/* Finds the leaf of each of n <= GROUP rows. */
static inline __attribute__((always_inline)) void descend(const struct rf_flat *t,
                                                          const uint8_t *const *x, int n,
                                                          bool has_sets, uint32_t *at)
{
    const struct rf_flat_node *nodes = t->nodes;
    uint32_t moved = 1;

    for (int i = 0; i < n; i++)
        at[i] = 0;
    while (moved) {
        moved = 0;
        for (int look = 0; look < LOOK; look++) {
            for (int i = 0; i < n; i++) {
                struct rf_flat_node nd = nodes[at[i]];
                uint8_t v = x[i][nd.test >> RF_TEST_COL];
                uint32_t right = (uint8_t)(v + (nd.test >> 8 & 1)) > (nd.test & 255);
                if (has_sets && nd.test & RF_TEST_SET)
                    right = !(t->sets[t->set_of[at[i]]][v >> 6] >> (v & 63) & 1);
                uint32_t next = nd.left + right;
                moved |= next ^ at[i];
                at[i] = next;
            }
        }
    }
}

struct block {
    int64_t row[GROUP];
    uint32_t leaf[GROUP];
    int n;
};

static void block_walk(const struct rf_flat *t, const uint8_t *bins, int64_t stride,
                       const int32_t *rows, int64_t from, int64_t n, struct block *b)
{
    const uint8_t *x[GROUP];

    b->n = (int)MIN(GROUP, n - from);
    for (int i = 0; i < b->n; i++)
        x[i] = bins + (rows ? rows[from + i] : from + i) * stride;
    if (b->n < GROUP)
        descend(t, x, b->n, t->sets != NULL, b->leaf);
    else if (t->sets)
        descend(t, x, GROUP, true, b->leaf);
    else
        descend(t, x, GROUP, false, b->leaf);
}

static void shares_add(const struct rf_flat *t, uint32_t node, float *acc)
{
    const struct rf_share *s = t->shares + t->share_at[2 * node];
    uint32_t n = t->share_at[2 * node + 1];

    for (uint32_t i = 0; i < n; i++)
        acc[s[i].class] += s[i].share;
}

void rf_walk(const struct rf_flat *t, int outputs, const uint8_t *bins, int64_t stride,
             const int32_t *rows, int64_t n, float *acc)
{
    struct block b;

    for (int64_t from = 0; from < n; from += GROUP) {
        block_walk(t, bins, stride, rows, from, n, &b);
        for (int i = 0; i < b.n; i++) {
            if (outputs == 1)
                acc[from + i] += t->values[b.leaf[i]];
            else
                shares_add(t, b.leaf[i], acc + (from + i) * outputs);
        }
    }
}

/* stop[number of the leaf][a] = the node where axes[a] stops on the way to the leaf; number[leaf].
 * With several outputs, long lists of shares are laid out as rows of all classes, `wide` floats
 * each, with zeros behind the last class. Found from the top down, with the stops of the open nodes
 * on a stack. */
struct stops {
    uint32_t *at, *number;
    /* by node: -1 = its list is short */
    int32_t *row_of;
    float *rows;
    int wide;
};

static bool is_long(const struct rf_flat *t, uint32_t node, int outputs)
{
    uint32_t n = t->share_at[2 * node + 1];

    return n > 2 && n * SHORT >= (uint32_t)outputs;
}

static void stops_fill(const struct rf_flat *t, const struct forest_axis *axes, int n_axes,
                       struct stops *s)
{
    uint32_t open[RF_MAX_DEPTH + 2], n_leaves = 0;
    uint32_t way[RF_MAX_DEPTH + 2][FOREST_MAX_AXES]; /* of the node's path, UINT32_MAX = goes on */
    int top = 1;

    open[0] = 0;
    memset(way[0], -1, sizeof way[0]);
    while (top > 0) {
        uint32_t node = open[--top], here[FOREST_MAX_AXES];
        bool is_leaf = t->nodes[node].left == node;
        memcpy(here, way[top], sizeof here);
        for (int a = 0; a < n_axes; a++) {
            bool stops =
                is_leaf || t->depth[node] >= axes[a].depth || t->rows[node] < axes[a].min_split;
            here[a] = here[a] == UINT32_MAX && stops ? node : here[a];
        }
        if (is_leaf) {
            memcpy(s->at + (size_t)n_leaves * (size_t)n_axes, here, (size_t)n_axes * sizeof *here);
            s->number[node] = n_leaves++;
            continue;
        }
        for (uint32_t side = 2; side-- > 0; top++) {
            open[top] = t->nodes[node].left + side;
            memcpy(way[top], here, sizeof here);
        }
    }
}

/* Rows of classes for the nodes whose lists are long, in order of the nodes. */
static int rows_fill(const struct rf_flat *t, int outputs, struct stops *s)
{
    int32_t n = 0;

    s->wide = (outputs + 3) / 4 * 4;
    s->row_of = mem_try_alloc((size_t)t->n * sizeof *s->row_of);
    if (!s->row_of)
        return -1;
    for (uint32_t i = 0; i < (uint32_t)t->n; i++)
        s->row_of[i] = is_long(t, i, outputs) ? n++ : -1;
    s->rows = mem_try_zalloc(((size_t)n * (size_t)s->wide + 1) * sizeof *s->rows);
    if (!s->rows)
        return -1;
    for (uint32_t i = 0; i < (uint32_t)t->n; i++) {
        if (s->row_of[i] >= 0)
            shares_add(t, i, s->rows + (size_t)s->row_of[i] * (size_t)s->wide);
    }
    return 0;
}

/* One output: the nodes' values take the place of their numbers. */
static void values_fill(const struct rf_flat *t, size_t n, struct stops *s)
{
    for (size_t i = 0; i < n; i++)
        memcpy(s->at + i, &t->values[s->at[i]], sizeof *t->values);
}

static void add(float *restrict to, const float *restrict from, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += from[i];
}

/* Zeros behind the last class go to the sums of the next axis, or behind the array's end, and
 * change nothing. */
static void shares_add_axes(const struct rf_flat *t, int outputs, const struct stops *s,
                            const uint32_t *nodes, int n_axes, float *to)
{
    for (int a = 0; a < n_axes; a++, to += outputs) {
        int32_t row = s->row_of[nodes[a]];
        if (row >= 0)
            add(to, s->rows + (size_t)row * (size_t)s->wide, s->wide / 4 * 4);
        else
            shares_add(t, nodes[a], to);
    }
}

int rf_walk_axes(const struct rf_flat *t, int outputs, const struct forest_axis *axes, int n_axes,
                 const uint8_t *bins, int64_t stride, const int32_t *rows, int64_t n, float *acc)
{
    size_t leaves = (size_t)t->n / 2 + 1, width = (size_t)n_axes;
    struct stops s = { .at = mem_try_zalloc(leaves * width * sizeof *s.at),
                       .number = mem_try_alloc((size_t)t->n * sizeof *s.number) };
    struct block b;
    int rc = -1;

    if (!s.at || !s.number || (outputs > 1 && rows_fill(t, outputs, &s) < 0))
        goto out;
    stops_fill(t, axes, n_axes, &s);
    if (outputs == 1)
        values_fill(t, leaves * width, &s);
    for (int64_t from = 0; from < n; from += GROUP) {
        block_walk(t, bins, stride, rows, from, n, &b);
        for (int i = 0; i < b.n; i++) {
            const uint32_t *at = s.at + s.number[b.leaf[i]] * width;
            float *to = acc + (size_t)(from + i) * width * (size_t)outputs;
            if (outputs == 1)
                add(to, (const float *)(const void *)at, n_axes);
            else
                shares_add_axes(t, outputs, &s, at, n_axes, to);
        }
    }
    rc = 0;
out:
    mem_try_free(s.at);
    mem_try_free(s.number);
    mem_try_free(s.row_of);
    mem_try_free(s.rows);
    return rc;
}

/* share: one over the number of trees. */
static void probabilities(const struct forest_head *h, const float *acc, double share, float *out)
{
    double sum = 0, least = h->least;

    if (h->outputs == 1) {
        double p = (double)acc[0] * share;
        out[0] = (float)MIN(MAX(p, least), 1.0 - least);
        return;
    }
    for (int k = 0; k < h->outputs; k++) {
        double p = (double)acc[k] * share;
        sum += MAX(p, least);
    }
    double scale = 1.0 / sum;
    for (int k = 0; k < h->outputs; k++) {
        double p = (double)acc[k] * share;
        out[k] = (float)(MAX(p, least) * scale);
    }
}

void forest_finish(const struct forest_head *h, const float *acc, int64_t pitch, int64_t n,
                   int64_t n_trees, float *out)
{
    double share = 1.0 / (double)n_trees;

    for (int64_t i = 0; i < n; i++) {
        if (h->task == ML_REGRESSION)
            out[i] = (float)(h->mean + h->scale * ((double)acc[i * pitch] * share));
        else
            probabilities(h, acc + i * pitch, share, out + i * h->outputs);
    }
}
