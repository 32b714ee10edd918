/* forest_walk.c - rows down a tree of a forest. Sixteen rows step together, so that they hide each other's latency; a leaf leads
 * to itself. For the grid of prunings each row is walked to its leaf once: what the prunings answer there (the value of the
 * node on the leaf's path where each of them stops) is found for all leaves first, top down, and added as one run of floats.
 * Sums are float, one addition per tree in order: the order of rows, blocks and prunings shows nowhere. Called by forest.c,
 * forest_predict.c. */
#include "ml/forest_model.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

enum { GROUP = 16, LOOK = 4 };

/* The leaf of each of n <= GROUP rows. */
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

/* stop[leaf's number][a] = node where axes[a] stops on the way to the leaf; number[leaf]. Top down, with the stops of the open
 * nodes on a stack. */
struct stops {
    uint32_t *at, *number;
};

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

int rf_walk_axes(const struct rf_flat *t, int outputs, const struct forest_axis *axes, int n_axes,
                 const uint8_t *bins, int64_t stride, const int32_t *rows, int64_t n, float *acc)
{
    size_t leaves = (size_t)t->n / 2 + 1, width = (size_t)n_axes;
    struct stops s = { mem_try_alloc(leaves * width * sizeof *s.at),
                       mem_try_alloc((size_t)t->n * sizeof *s.number) };
    struct block b;
    int rc = -1;

    if (!s.at || !s.number)
        goto out;
    stops_fill(t, axes, n_axes, &s);
    float *values = (float *)s.at; /* one output: the nodes' values take their place */
    for (size_t i = 0; outputs == 1 && i < leaves * width; i++) {
        float v = t->values[s.at[i]];
        memcpy(values + i, &v, sizeof v);
    }
    for (int64_t from = 0; from < n; from += GROUP) {
        block_walk(t, bins, stride, rows, from, n, &b);
        for (int i = 0; i < b.n; i++) {
            size_t leaf = s.number[b.leaf[i]] * width;
            float *to = acc + (size_t)(from + i) * width * (size_t)outputs;
            for (size_t a = 0; a < width; a++) {
                if (outputs == 1)
                    to[a] += values[leaf + a];
                else
                    shares_add(t, s.at[leaf + a], to + a * (size_t)outputs);
            }
        }
    }
    rc = 0;
out:
    mem_try_free(s.at);
    mem_try_free(s.number);
    return rc;
}
