/* tree.h - a boosted tree in the form in which rows pass through it, and the two ways of finding
 * their leaves. Called by ml/boost after each round and for predictions, and by ml/model/shap.c.
 *
 * A node has 8 bytes, and its two children stand side by side. A leaf is its own left child and
 * sends nothing right, so that a row that has reached its leaf stays there, and a block of rows can
 * step in lock-step without branches. Rows are bins (ml/prep/prep.h; 255 = missing). */
#ifndef ML_CPU_TREE_H
#define ML_CPU_TREE_H

#include <stdint.h>

struct tree_node {
    /* column of the bins; leaves: 0 */
    uint32_t col;
    /* numeric: a row goes right when (uint8)(x + add) > bin; leaves: 255 */
    uint8_t bin;
    /* 1 = missing values go left */
    uint8_t add;
    /* number of the left child, the right one is the next; leaves: their own */
    uint16_t left;
};

struct tree {
    int n_nodes, n_sets, depth;
    /* nodes[0] is the root */
    struct tree_node *nodes;
    /* by node: what a leaf adds to a row's score; at a split, its gain */
    float *values;
    /* by node: training rows that reached it; 0 = not known */
    int32_t *rows;
    /* by node: -1 for a threshold, or the number of the set of bins that go left; NULL when the
     * tree has no sets */
    int16_t *set_of;
    uint64_t (*sets)[4];
};

/* f[rows[i]] += the value of the row's leaf. rows NULL = rows 0 to n - 1. bins: row-major. */
void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows,
              int64_t n, float *f);

/* The same for rows 0 to n - 1 from bins that lie column by column (columns[c * pitch + row]), and
 * a tree of at most TREE_WIDE_NODES nodes. It takes a few instructions for 64 rows at each split,
 * whatever the depth of the tree. Equal bits. */
enum { TREE_WIDE_NODES = 511 };
void tree_add_columns(const struct tree *t, const uint8_t *columns, int64_t pitch, int64_t n,
                      float *f);

#endif
