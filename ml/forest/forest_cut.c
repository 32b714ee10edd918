/* forest_cut.c - cuts a grown tree to what a best-first growth with fewer leaves would have grown,
 * or one that asks for a larger decrease of the impurity.
 *
 * A node's split depends on nothing but its rows and its path. So the order in which a best-first
 * growth takes nodes from its heap can be found afterwards: best-first trees of every size are
 * nested (Shi, Best-first decision tree learning, 2007, section 3.3). The order of nodes stays that
 * of growth. Called by forest_model.c. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

struct heap {
    const struct rf_node *nodes;
    int32_t *at;
    int n;
};

static bool is_before(const struct heap *h, int32_t a, int32_t b)
{
    float ga = h->nodes[a].gain, gb = h->nodes[b].gain;

    return ga > gb || (ga == gb && a < b);
}

static void heap_push(struct heap *h, int32_t node)
{
    int i = h->n++;

    for (; i > 0 && is_before(h, node, h->at[(i - 1) / 2]); i = (i - 1) / 2)
        h->at[i] = h->at[(i - 1) / 2];
    h->at[i] = node;
}

static int32_t heap_pop(struct heap *h)
{
    int32_t top = h->at[0], last = h->at[--h->n];
    int i = 0;

    for (int kid = 1; kid < h->n; kid = 2 * i + 1) {
        kid += kid + 1 < h->n && is_before(h, h->at[kid + 1], h->at[kid]);
        if (!is_before(h, h->at[kid], last))
            break;
        h->at[i] = h->at[kid];
        i = kid;
    }
    h->at[i] = last;
    return top;
}

/* Marks the nodes that are still split. */
static void choose_splits(const struct rf_tree *t, double min_gain, int64_t max_leaves,
                          struct heap *h, uint8_t *is_split)
{
    int64_t leaves = 1, most = max_leaves > 0 ? max_leaves : INT64_MAX;

    memset(is_split, 0, (size_t)t->n);
    h->n = 0;
    if (t->nodes[0].left && (double)t->nodes[0].gain >= min_gain)
        heap_push(h, 0);
    for (; h->n > 0 && leaves < most; leaves++) {
        int32_t node = heap_pop(h), left = t->nodes[node].left;
        is_split[node] = 1;
        for (int32_t kid = left; kid < left + 2; kid++) {
            if (t->nodes[kid].left && (double)t->nodes[kid].gain >= min_gain)
                heap_push(h, kid);
        }
    }
}

/* Moves the pairs of children that stay to the front, in their order. Sets stay where they are. */
static void compact(struct rf_tree *t, int outputs, const uint8_t *is_split, int32_t *to)
{
    int n = 1;

    memset(to, -1, (size_t)t->n * sizeof *to);
    to[0] = 0;
    for (int i = 0; i < t->n; i++) {
        if (is_split[i])
            to[t->nodes[i].left] = 0;
    }
    for (int i = 1; i < t->n; i++) {
        if (to[i] < 0)
            continue;
        to[i] = n++;
        to[++i] = n++;
    }
    for (int i = 0; i < t->n; i++) {
        struct rf_node nd = t->nodes[i];
        if (to[i] < 0)
            continue;
        if (is_split[i])
            nd.left = to[nd.left];
        else
            nd = (struct rf_node){ .rows = nd.rows, .depth = nd.depth, .set = -1 };
        t->nodes[to[i]] = nd;
        memmove(t->values + (size_t)to[i] * (size_t)outputs,
                t->values + (size_t)i * (size_t)outputs, (size_t)outputs * sizeof *t->values);
    }
    t->n = n;
}

int rf_tree_cut(struct rf_tree *t, int outputs, double min_gain, int64_t max_leaves)
{
    struct heap h = { .nodes = t->nodes };
    uint8_t *is_split;
    int rc = -1;

    if (min_gain <= 0 && max_leaves <= 0)
        return 0;
    h.at = mem_try_alloc((size_t)t->n * sizeof *h.at);
    is_split = mem_try_alloc((size_t)t->n);
    if (h.at && is_split) {
        choose_splits(t, min_gain, max_leaves, &h, is_split);
        compact(t, outputs, is_split, h.at);
        rc = 0;
    }
    mem_try_free(h.at);
    mem_try_free(is_split);
    return rc;
}
