/* tree.h - a boosted tree as rows walk it: 8-byte nodes whose two children stand side by side. A
 * leaf is its own left child and sends nothing right, so that a block of rows can step in lock-step
 * without branches. Rows are bins (ml/prep/prep.h: 255 = missing). Called by ml/boost. */
#ifndef ML_CPU_TREE_H
#define ML_CPU_TREE_H

#include <stdint.h>

struct tree_node {
    /* column of the bins; leaves: 0 */
    uint32_t col;
    /* numeric: a row goes right when (uint8)(x + add) > bin; leaves: 255 */
    uint8_t bin;
    uint8_t add; /* 1 = missing goes left */
    /* number of the left child, the right one is the next; leaves: their own */
    uint16_t left;
};

struct tree {
    int n_nodes, n_sets, depth;
    /* 0 is the root */
    struct tree_node *nodes;
    /* by node: what a leaf adds; at a split its gain */
    float *values;
    /* by node: training rows that reached it; 0 = not known */
    int32_t *rows;
    int16_t *
        set_of; /* by node, NULL when there are no sets: -1, or number of the set of bins that go left */
    uint64_t (*sets)[4];
};

/* f[rows[i]] += the value of the row's leaf. rows NULL = rows 0 to n - 1. bins: row-major. */
void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows,
              int64_t n, float *f);

/* The same for rows 0 to n - 1 from bins that lie column by column (columns[c * pitch + row]), and
 * a tree of at most TREE_WIDE_NODES nodes. Takes a few instructions for each row and 64 leaves,
 * whatever the depth. Equal bits. */
enum { TREE_WIDE_NODES = 511 };
void tree_add_columns(const struct tree *t, const uint8_t *columns, int64_t pitch, int64_t n,
                      float *f);

#endif
