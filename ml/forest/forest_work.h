/* forest_work.h - private to forest_work.c, forest_grow.c and forest_columns.c: what growing a tree
 * works on. Each thread has one. */
#ifndef ML_FOREST_FOREST_WORK_H
#define ML_FOREST_FOREST_WORK_H

#include "ml/forest/forest.h"

/* A subtree whose rows fit is grown on a compact copy of their lines: first one that fits the
 * second-level cache, then one that fits the first-level cache. Level 0 is the table itself. */
enum { RF_LEVELS = 3, RF_SECOND_BYTES = 512 << 10, RF_FIRST_BYTES = 32 << 10 };

struct level {
    uint8_t *lines;
    int64_t pitch;
    /* rows that fit */
    int32_t rows;
};

struct open_node {
    int32_t node, from, n, depth;
    /* its rows are numbers of lines at this level */
    int level;
    /* where its rows stand: rows[list], or columns->list[list] */
    int list;
    uint64_t key;
    /* Used with columns only: what node_totals would find. */
    /* ones: with two classes, the weight of class 1 */
    int32_t weight, ones;
    /* with several classes: its runs lie on columns->runs */
    int32_t n_runs;
};

/* For narrow tables of classes. The bins of a node's rows lie side by side, column by column, in
 * one of two lists, and are parted into the other list in their order. Behind the table's columns
 * stand the rows' weights and, with two classes, those of class 1. Rows of one class stay together. */
struct rf_columns {
    /* counts these too */
    int n_cols;
    /* bytes from one column to the next */
    int64_t pitch;
    /* all training rows */
    uint8_t *root;
    /* several classes: past the last row of each */
    int64_t *root_end;
    uint8_t *list[2];
    /* which rows of the node at hand go left */
    uint64_t *masks;
    uint8_t *has_missing; /* [cols] */
    /* Of each open node, in the order of the stack: [3][n_runs] class, end, weight. */
    int32_t *runs;
    int runs_top, runs_cap;
    /* [2][3][classes]: the runs of two children in the making */
    int32_t *kids;
    /* [2][classes]: rows and weights of the node's runs that go left */
    int32_t *left;
};

struct rf_work {
    const struct rf_data *d;
    struct rf_params p;
    /* a node's rows stand in one, its children's in the other, at the same places */
    int32_t *rows[2];
    rf_word *words[2];
    uint16_t *weights;
    /* several classes: rows class by class */
    int32_t *order;
    int32_t *perm, *swaps;
    int64_t *total;
    int32_t *runs; /* [3][classes] */
    /* nodes of all trees so far */
    int64_t n_seen;
    /* nodes of the tree before */
    int last_nodes;
    struct open_node *stack;
    int top, stack_cap;
    /* NULL: rows in lines */
    struct rf_columns *columns;
    struct level level[RF_LEVELS];
    struct rf_scratch s;
    /* A tree that a stop left half grown; n = 0 = none. */
    struct rf_tree half;
    /* memory for the next tree */
    struct rf_tree old;
    /* its key */
    uint64_t busy;
    /* weight of all its rows */
    double all;
};

/* ---- forest_grow.c, for both ways ---- */

int rf_nodes_reserve(struct rf_tree *t, int n, int outputs);
int rf_open(struct rf_work *w, struct open_node o);
/* Writes the node's record and its values. True: it stays a leaf. */
bool rf_leaf(const struct rf_work *w, const struct rf_node_in *in, int node, int depth,
             struct rf_tree *t);
bool rf_node_split(struct rf_work *w, const struct rf_node_in *in, struct rf_split *best);
/* Writes the cut into the node; its children are the next two. */
int rf_node_cut(const struct rf_work *w, const struct rf_node_in *in, int node,
                const struct rf_split *best, struct rf_tree *t);

/* To be called when the node's n rows are parted, n_left of them to the left: decides where rows go
 * whose value the node never saw (rf_unseen). */
void rf_node_unseen(const struct rf_work *w, int node, uint64_t key, const uint64_t seen[4],
                    int32_t n_left, int32_t n, struct rf_tree *t);

/* ---- forest_columns.c ---- */

struct rf_columns *rf_columns_new(const struct rf_data *d,
                                  const int32_t *order); /* NULL = no memory */
void rf_columns_free(struct rf_columns *c);
int64_t rf_columns_bytes(const struct rf_columns *c, const struct rf_data *d);
/* Whether the table suits this way; else rows in lines are faster. */
bool rf_columns_fit(const struct rf_data *d);
/* Opens the root of the tree whose draw stands in w->weights, unless the root is a leaf. */
int rf_columns_start(struct rf_work *w, struct open_node root, struct rf_tree *t);
int rf_columns_grow(struct rf_work *w, const struct open_node *o, struct rf_tree *t);

#endif
