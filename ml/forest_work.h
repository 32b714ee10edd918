/* forest_work.h - private to forest_work.c and forest_grow.c: what growing a tree works on. One thread, one of these. */
#ifndef ML_FOREST_WORK_H
#define ML_FOREST_WORK_H

#include "ml/forest.h"

/* A subtree whose rows fit is grown on a copy of their lines that stands together: first in the second cache, then in the
 * first. Level 0 is the table itself. */
enum { RF_LEVELS = 3, RF_SECOND_BYTES = 512 << 10, RF_FIRST_BYTES = 32 << 10 };

struct level {
    uint8_t *lines;
    int64_t pitch;
    int32_t rows; /* that fit */
};

struct open_node {
    int32_t node, from, n, depth;
    int level; /* its rows are numbers of lines there */
    int list;  /* they stand in rows[list] */
    uint64_t key;
};

struct rf_work {
    const struct rf_data *d;
    struct rf_params p;
    int32_t *rows[2]; /* a node's rows stand in one, its kids' in the other, at the same places */
    rf_word *words[2];
    uint16_t *weights;
    int32_t *order; /* several classes: rows class by class */
    int32_t *perm, *swaps;
    int64_t *total;
    int32_t *runs;  /* [3][classes] */
    int64_t n_seen; /* nodes, of all trees */
    int last_nodes; /* of the tree before */
    struct open_node *stack;
    int top, stack_cap;
    struct level level[RF_LEVELS];
    struct rf_scratch s;
    /* A tree that a stop left half grown; n = 0: none. */
    struct rf_tree half;
    struct rf_tree old; /* memory for the next */
    uint64_t busy;      /* its key */
    double all;         /* weight of all its rows */
};

#endif
