/* tree.c - walks rows down a tree. Sixteen rows step together: each step of one row waits for the last, so that the rows
 * hide each other's latency; the group is done when no row moved. Called for held-out and left-out rows after each round,
 * and by prediction. */
#include "ml/cpu/tree.h"

enum { GROUP = 16, FIRST_LOOK = 4 };

static inline __attribute__((always_inline)) void walk(const struct tree *t,
                                                       const uint8_t *const *x, int n, int has_sets,
                                                       uint32_t *at)
{
    const struct tree_node *nodes = t->nodes;

    for (int i = 0; i < n; i++)
        at[i] = 0;
    for (int d = 0; d < t->depth; d++) {
        uint32_t moved = 0;
        for (int i = 0; i < n; i++) {
            struct tree_node nd = nodes[at[i]];
            uint8_t v = x[i][nd.col];
            uint32_t right = (uint8_t)(v + nd.add) > nd.bin;
            if (has_sets) {
                int set = t->set_of[at[i]];
                uint32_t out = !(t->sets[set < 0 ? 0 : set][v >> 6] >> (v & 63) & 1);
                right = set < 0 ? right : out;
            }
            uint32_t next = nd.left + right;
            moved |= next ^ at[i];
            at[i] = next;
        }
        if (d >= FIRST_LOOK && !moved)
            break;
    }
}

void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows,
              int64_t n, float *f)
{
    const uint8_t *x[GROUP];
    int64_t row[GROUP];
    uint32_t at[GROUP];

    for (int64_t i = 0; i < n; i += GROUP) {
        int m = n - i < GROUP ? (int)(n - i) : GROUP;
        for (int k = 0; k < m; k++) {
            row[k] = rows ? rows[i + k] : i + k;
            x[k] = bins + row[k] * stride;
        }
        if (m < GROUP)
            walk(t, x, m, t->n_sets > 0, at);
        else if (t->n_sets)
            walk(t, x, GROUP, 1, at);
        else
            walk(t, x, GROUP, 0, at);
        for (int k = 0; k < m; k++)
            f[row[k]] += t->values[at[k]];
    }
}
