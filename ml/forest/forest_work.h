/* forest_work.h - private to forest_work.c, forest_grow.c and forest_columns.c: what growing a tree works on. One thread, one
 * of these. */
#ifndef ML_FOREST_FOREST_WORK_H
#define ML_FOREST_FOREST_WORK_H

#include "ml/forest/forest.h"

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
    int list;  /* they stand in rows[list], or in columns->list[list] */
    uint64_t key;
    /* By columns only: what node_totals would find. */
    int32_t weight, ones; /* ones: weight of class 1 of two */
    int32_t n_runs;       /* several classes: they lie on columns->runs */
};

/* Narrow tables of classes: the bins of a node's rows lie side by side, column by column, in one of two lists, and are parted
 * into the other, in their order. Behind the table's columns stands the rows' weight and, of two classes, that of
 * class 1. Rows of one class stay together. */
struct rf_columns {
    int n_cols;        /* these too */
    int64_t pitch;     /* bytes from a column to the next */
    uint8_t *root;     /* all training rows */
    int64_t *root_end; /* several classes: past the last row of each */
    uint8_t *list[2];
    uint64_t *masks;      /* which rows of the node in work go left */
    uint8_t *has_missing; /* [cols] */
    /* Of each open node in the order of the stack: [3][n_runs] class, end, weight. */
    int32_t *runs;
    int runs_top, runs_cap;
    int32_t *kids; /* [2][3][classes]: the runs of two kids in the making */
    int32_t *left; /* [2][classes]: rows and weights of the node's runs that go left */
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
    struct rf_columns *columns; /* NULL: rows in lines */
    struct level level[RF_LEVELS];
    struct rf_scratch s;
    /* A tree that a stop left half grown; n = 0: none. */
    struct rf_tree half;
    struct rf_tree old; /* memory for the next */
    uint64_t busy;      /* its key */
    double all;         /* weight of all its rows */
};

/* ---- forest_grow.c, for both ways ---- */

int rf_nodes_reserve(struct rf_tree *t, int n, int outputs);
int rf_open(struct rf_work *w, struct open_node o);
/* The node's record and its values; true: it stays a leaf. */
bool rf_leaf(const struct rf_work *w, const struct rf_node_in *in, int node, int depth,
             struct rf_tree *t);
bool rf_node_split(struct rf_work *w, const struct rf_node_in *in, struct rf_split *best);
/* Writes the cut into the node; its kids are the next two. */
int rf_node_cut(const struct rf_work *w, const struct rf_node_in *in, int node,
                const struct rf_split *best, struct rf_tree *t);

/* Once the node's n rows are parted, n_left to the left: where goes what they never showed (rf_unseen). */
void rf_node_unseen(const struct rf_work *w, int node, uint64_t key, const uint64_t seen[4],
                    int32_t n_left, int32_t n, struct rf_tree *t);

/* ---- forest_columns.c ---- */

struct rf_columns *rf_columns_new(const struct rf_data *d,
                                  const int32_t *order); /* NULL = no memory */
void rf_columns_free(struct rf_columns *c);
int64_t rf_columns_bytes(const struct rf_columns *c, const struct rf_data *d);
/* Whether the table is one for it; else rows in lines are faster. */
bool rf_columns_fit(const struct rf_data *d);
/* Opens the root of the tree whose draw stands in w->weights, unless it is a leaf. */
int rf_columns_start(struct rf_work *w, struct open_node root, struct rf_tree *t);
int rf_columns_grow(struct rf_work *w, const struct open_node *o, struct rf_tree *t);

#endif
