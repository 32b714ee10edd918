/* tree.h - a boosted tree as it is walked: 16-byte nodes, leaves point to themselves, so that a block of rows steps in
 * lock-step without branches until the depth of the tree. Rows are bins (prep.h: 255 = missing). */
#ifndef ML_CPU_TREE_H
#define ML_CPU_TREE_H

#include <stdint.h>

struct tree_node {
    int32_t col;     /* of the bins; leaves: 0 */
    int32_t kid[2];  /* node numbers; leaves: themselves */
    uint8_t bin;     /* numeric: goes to kid[(uint8)(x + add) > bin] */
    uint8_t add;     /* 1 = missing goes left */
    int16_t set;     /* -1 numeric; else number of the set of bins that go left */
};

struct tree {
    int n_nodes, n_sets, depth;
    struct tree_node *nodes; /* root is 0 */
    float *values;           /* by node; 0 for inner ones */
    uint64_t (*sets)[4];
};

/* f[rows[i]] += value of the row's leaf; rows NULL = rows 0..n-1. bins: row-major. */
void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows, int64_t n, float *f);

static inline int tree_goes_left(const struct tree_node *nd, const struct tree *t, uint8_t x)
{
    if (nd->set < 0)
        return !((uint8_t)(x + nd->add) > nd->bin);
    return (int)(t->sets[nd->set][x >> 6] >> (x & 63) & 1);
}

#endif
