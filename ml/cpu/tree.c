/* tree.c - walks rows down a tree. Sixteen rows step together: each step of one row waits for the last, so that the rows
 * hide each other's latency. Called for held-out and left-out rows after each round, and by prediction. */
#include "ml/cpu/tree.h"

enum { GROUP = 16 };

static inline __attribute__((always_inline)) void walk(const struct tree *t, const uint8_t *const *x, int n, int has_sets,
                                                       int32_t *at)
{
    const struct tree_node *nodes = t->nodes;

    for (int i = 0; i < n; i++)
        at[i] = 0;
    for (int d = 0; d < t->depth; d++) {
        for (int i = 0; i < n; i++) {
            const struct tree_node *nd = nodes + at[i];
            uint8_t v = x[i][nd->col];
            int right = (uint8_t)(v + nd->add) > nd->bin;
            if (has_sets && nd->set >= 0)
                right = !(t->sets[nd->set][v >> 6] >> (v & 63) & 1);
            at[i] = nd->kid[right];
        }
    }
}

void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows, int64_t n, float *f)
{
    const uint8_t *x[GROUP];
    int64_t row[GROUP];
    int32_t at[GROUP];

    for (int64_t i = 0; i < n; i += GROUP) {
        int m = n - i < GROUP ? (int)(n - i) : GROUP;
        for (int k = 0; k < m; k++) {
            row[k] = rows ? rows[i + k] : i + k;
            x[k] = bins + row[k] * stride;
        }
        if (m == GROUP && t->n_sets == 0)
            walk(t, x, GROUP, 0, at);
        else
            walk(t, x, m, t->n_sets > 0, at);
        for (int k = 0; k < m; k++)
            f[row[k]] += t->values[at[k]];
    }
}
