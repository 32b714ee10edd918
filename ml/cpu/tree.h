/* tree.h - a boosted tree as it is walked: 8-byte nodes whose kids stand side by side; a leaf is its own left kid and sends
 * nothing right, so that a block of rows steps in lock-step without branches. Rows are bins (prep.h: 255 = missing). */
#ifndef ML_CPU_TREE_H
#define ML_CPU_TREE_H

#include <stdint.h>

struct tree_node {
    uint32_t col;  /* of the bins; leaves: 0 */
    uint8_t bin;   /* numeric: goes right when (uint8)(x + add) > bin; leaves: 255 */
    uint8_t add;   /* 1 = missing goes left */
    uint16_t left; /* number of the left kid, the right one is the next; leaves: their own */
};

struct tree {
    int n_nodes, n_sets, depth;
    struct tree_node *nodes; /* root is 0 */
    float *values;           /* by node: what a leaf adds; elsewhere the gain of the split */
    int32_t *rows;           /* by node: training rows that came there; 0 = not known */
    int16_t *
        set_of; /* by node, NULL when there are no sets: -1, or number of the set of bins that go left */
    uint64_t (*sets)[4];
};

/* f[rows[i]] += value of the row's leaf; rows NULL = rows 0..n-1. bins: row-major. */
void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows,
              int64_t n, float *f);

/* The same for rows 0..n-1 from bins column by column (columns[c * pitch + row]) and a tree of at most TREE_WIDE_NODES
 * nodes: a few instructions per row and 64 leaves, whatever the depth. Equal bits. */
enum { TREE_WIDE_NODES = 511 };
void tree_add_columns(const struct tree *t, const uint8_t *columns, int64_t pitch, int64_t n,
                      float *f);

#endif
