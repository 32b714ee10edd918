/* boost_tree.c - trees in memory and as bytes.
 *
 * A tree is written in preorder, with a tag for each node. A leaf has its value and rows; a split
 * has its column, gain, and its bin or the 32 bytes of its set. Reading it back gives the same node
 * numbers. Bytes may come from a stranger: every count, column and link is checked. Called by
 * boost.c and boost_round.c. */
#include "ml/boost/boost.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

enum {
    TAG_LEAF = 0,
    TAG_NUMERIC = 1,
    TAG_SET = 2,
    TAG_ADD = 4,
    MAX_TREES = 4000000,
    MAX_NODES = 1 << 16,
    /* about what the allocator adds to an aligned block */
    BLOCK_COST = 64
};

/* A tree is one block of memory: five small blocks would cost more than a small tree holds. */
static size_t block_bytes(int n_nodes, int n_sets)
{
    const struct tree *t = NULL;
    size_t node = sizeof *t->nodes + sizeof *t->values + sizeof *t->rows;

    return (size_t)n_nodes * (node + (n_sets ? sizeof *t->set_of : 0)) +
           (size_t)n_sets * sizeof *t->sets;
}

int tree_init(struct tree *t, int n_nodes, int n_sets)
{
    *t = (struct tree){ .n_nodes = n_nodes, .n_sets = n_sets };
    t->nodes = mem_try_zalloc(block_bytes(n_nodes, n_sets));
    if (!t->nodes)
        return -1;
    /* Arrays of 8-byte words come first, then those with smaller elements. */
    char *at = (char *)(t->nodes + n_nodes);
    if (n_sets) {
        t->sets = (void *)at;
        at += (size_t)n_sets * sizeof *t->sets;
    }
    t->values = (float *)(void *)at;
    at += (size_t)n_nodes * sizeof *t->values;
    t->rows = (int32_t *)(void *)at;
    at += (size_t)n_nodes * sizeof *t->rows;
    if (n_sets) {
        t->set_of = (int16_t *)(void *)at;
        memset(t->set_of, 0xff, (size_t)n_nodes * sizeof *t->set_of);
    }
    return 0;
}

void tree_fini(struct tree *t)
{
    mem_try_free(t->nodes);
    memset(t, 0, sizeof *t);
}

int64_t tree_bytes(const struct tree *t)
{
    return (int64_t)((block_bytes(t->n_nodes, t->n_sets) + 63) / 64 * 64 + BLOCK_COST);
}

int forest_add(struct boost_forest *fo, struct tree *t)
{
    if (fo->n_trees == fo->cap) {
        int cap = fo->cap ? fo->cap * 2 : 64;
        struct tree *grown = mem_try_alloc((size_t)cap * sizeof *grown);
        if (!grown) {
            tree_fini(t);
            return -1;
        }
        if (fo->n_trees)
            memcpy(grown, fo->trees, (size_t)fo->n_trees * sizeof *grown);
        mem_try_free(fo->trees);
        fo->trees = grown;
        fo->cap = cap;
    }
    fo->trees[fo->n_trees++] = *t;
    fo->bytes += tree_bytes(t);
    memset(t, 0, sizeof *t);
    return 0;
}

void forest_cut(struct boost_forest *fo, int n_trees)
{
    while (fo->n_trees > n_trees) {
        fo->bytes -= tree_bytes(&fo->trees[--fo->n_trees]);
        tree_fini(&fo->trees[fo->n_trees]);
    }
}

void forest_fini(struct boost_forest *fo)
{
    forest_cut(fo, 0);
    mem_try_free(fo->trees);
    memset(fo, 0, sizeof *fo);
}

/* ---- writing ---- */

static int put_col(struct buf *out, uint32_t col, int cols, struct err *err)
{
    return cols <= 256 ? buf_put_u8(out, (uint8_t)col, err) : buf_put_u32(out, col, err);
}

static bool is_leaf(const struct tree *t, int at)
{
    return t->nodes[at].left == at;
}

static int node_save(const struct tree *t, int at, int cols, struct buf *out, struct err *err)
{
    const struct tree_node *nd = &t->nodes[at];
    int set = t->n_sets ? t->set_of[at] : -1;

    if (is_leaf(t, at))
        return buf_put_u8(out, TAG_LEAF, err) < 0 || buf_put_f32(out, t->values[at], err) < 0
                   ? -1
                   : buf_put_u32(out, (uint32_t)t->rows[at], err);
    if (buf_put_u8(out, set >= 0 ? TAG_SET : (uint8_t)(TAG_NUMERIC | (nd->add ? TAG_ADD : 0)),
                   err) < 0 ||
        put_col(out, nd->col, cols, err) < 0 || buf_put_f32(out, t->values[at], err) < 0)
        return -1;
    if (set < 0)
        return buf_put_u8(out, nd->bin, err);
    for (int i = 0; i < 4; i++) {
        if (buf_put_u64(out, t->sets[set][i], err) < 0)
            return -1;
    }
    return 0;
}

static int tree_save(const struct tree *t, int cols, int *stack, struct buf *out, struct err *err)
{
    int top = 0;

    if (buf_put_u32(out, (uint32_t)t->n_nodes, err) < 0 ||
        buf_put_u32(out, (uint32_t)t->n_sets, err) < 0)
        return -1;
    stack[top++] = 0;
    while (top > 0) {
        int at = stack[--top];
        if (node_save(t, at, cols, out, err) < 0)
            return -1;
        if (!is_leaf(t, at)) {
            stack[top++] = t->nodes[at].left + 1;
            stack[top++] = t->nodes[at].left;
        }
    }
    return 0;
}

int forest_save(const struct boost_forest *fo, int n_trees, int cols, struct buf *out,
                struct err *err)
{
    int *stack = mem_array(MAX_NODES, sizeof *stack), rc = 0;

    CHECK(n_trees <= fo->n_trees);
    rc = buf_put_u32(out, (uint32_t)n_trees, err);
    for (int i = 0; i < n_trees && rc == 0; i++)
        rc = tree_save(&fo->trees[i], cols, stack, out, err);
    mem_free(stack);
    return rc;
}

/* ---- reading ---- */

struct reading {
    struct view *in;
    struct tree t;
    int cols, made, made_sets;
    /* it holds gains and row counts */
    bool has_facts;
    /* numbers of the nodes still to come */
    int *stack, top;
    int *depth; /* by node */
};

/* The value of a leaf, or the gain of a split. */
static int read_value(struct reading *r, int at, struct err *err)
{
    if (view_f32(r->in, &r->t.values[at], err) < 0)
        return -1;
    if (!(r->t.values[at] >= -3e38f && r->t.values[at] <= 3e38f))
        return err_set(err, ERR_ARG, "model: a value of a tree is not a number");
    return 0;
}

static int read_split(struct reading *r, int at, uint8_t tag, struct err *err)
{
    struct tree_node *nd = &r->t.nodes[at];
    uint8_t small = 0;

    if (r->cols <= 256) {
        if (view_u8(r->in, &small, err) < 0)
            return -1;
        nd->col = small;
    } else if (view_u32(r->in, &nd->col, err) < 0) {
        return -1;
    }
    if (nd->col >= (uint32_t)r->cols)
        return err_set(err, ERR_ARG, "model: a tree names column %u of %d", nd->col, r->cols);
    if (r->has_facts && read_value(r, at, err) < 0)
        return -1;
    nd->add = (tag & TAG_ADD) != 0;
    if (tag & TAG_NUMERIC)
        return view_u8(r->in, &nd->bin, err);
    if (r->made_sets == r->t.n_sets)
        return err_set(err, ERR_ARG, "model: a tree has more sets than it says");
    nd->bin = 255;
    r->t.set_of[at] = (int16_t)r->made_sets;
    for (int i = 0; i < 4; i++) {
        if (view_u64(r->in, &r->t.sets[r->made_sets][i], err) < 0)
            return -1;
    }
    r->made_sets++;
    return 0;
}

static int read_leaf(struct reading *r, int at, struct err *err)
{
    uint32_t rows = 0;

    r->t.nodes[at] = (struct tree_node){ .bin = 255, .left = (uint16_t)at };
    if (read_value(r, at, err) < 0)
        return -1;
    if (!r->has_facts)
        return 0;
    if (view_u32(r->in, &rows, err) < 0)
        return -1;
    if (rows > INT32_MAX)
        return err_set(err, ERR_ARG, "model: a leaf of %u rows", rows);
    r->t.rows[at] = (int32_t)rows;
    return 0;
}

/* A node has the rows of its children, whose numbers are larger. */
static int rows_sum(struct tree *t, struct err *err)
{
    for (int at = t->n_nodes - 1; at >= 0; at--) {
        int left = t->nodes[at].left;
        if (left == at)
            continue;
        if (t->rows[left] > INT32_MAX - t->rows[left + 1])
            return err_set(err, ERR_ARG, "model: a tree of too many rows");
        t->rows[at] = t->rows[left] + t->rows[left + 1];
    }
    return 0;
}

static int read_node(struct reading *r, struct err *err)
{
    int at = r->stack[--r->top];
    uint8_t tag = 0;

    r->t.depth = MAX(r->t.depth, r->depth[at]);
    if (view_u8(r->in, &tag, err) < 0)
        return -1;
    if (tag == TAG_LEAF)
        return read_leaf(r, at, err);
    if (tag != TAG_SET && tag != TAG_NUMERIC && tag != (TAG_NUMERIC | TAG_ADD))
        return err_set(err, ERR_ARG, "model: unknown node %u", tag);
    if (r->made + 2 > r->t.n_nodes)
        return err_set(err, ERR_ARG, "model: a tree has more nodes than it says");
    if (read_split(r, at, tag, err) < 0)
        return -1;
    r->t.nodes[at].left = (uint16_t)r->made;
    for (int side = 1; side >= 0; side--) {
        r->depth[r->made + side] = r->depth[at] + 1;
        r->stack[r->top++] = r->made + side;
    }
    r->made += 2;
    return 0;
}

static int read_tree(struct reading *r, struct err *err)
{
    uint32_t n = 0, n_sets = 0;

    if (view_u32(r->in, &n, err) < 0 || view_u32(r->in, &n_sets, err) < 0)
        return -1;
    if (n < 1 || n >= MAX_NODES || n_sets > n / 2 || n > r->in->len - r->in->pos)
        return err_set(err, ERR_ARG, "model: a tree of %u nodes and %u sets", n, n_sets);
    if (tree_init(&r->t, (int)n, (int)n_sets) < 0)
        return err_set(err, ERR_NOMEM, "model: no memory for a tree of %u nodes", n);
    r->made_sets = 0;
    r->made = r->top = 1;
    r->stack[0] = r->depth[0] = 0;
    while (r->top > 0) {
        if (read_node(r, err) < 0)
            return -1;
    }
    if (r->made != (int)n || r->made_sets != (int)n_sets)
        return err_set(err, ERR_ARG, "model: a tree has fewer nodes than it says");
    return rows_sum(&r->t, err);
}

int forest_load(struct boost_forest *fo, int outputs, int cols, int format, struct view *in,
                struct err *err)
{
    struct reading r = { .in = in, .cols = cols, .has_facts = format >= 2 };
    uint32_t n = 0;
    int rc = -1;

    memset(fo, 0, sizeof *fo);
    fo->outputs = outputs;
    r.stack = mem_array(MAX_NODES, sizeof *r.stack);
    r.depth = mem_array(MAX_NODES, sizeof *r.depth);
    if (view_u32(in, &n, err) < 0)
        goto out;
    if (n > MAX_TREES || n % (uint32_t)outputs) {
        err_set(err, ERR_ARG, "model: %u trees for %d outputs", n, outputs);
        goto out;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (read_tree(&r, err) < 0)
            goto out;
        if (forest_add(fo, &r.t) < 0) {
            err_set(err, ERR_NOMEM, "model: no memory for %u trees", n);
            goto out;
        }
    }
    rc = 0;
out:
    mem_free(r.stack);
    mem_free(r.depth);
    tree_fini(&r.t);
    if (rc < 0)
        forest_fini(fo);
    return rc;
}
