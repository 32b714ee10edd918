/* forest_work.h - private to forest_work.c, forest_grow.c and forest_columns.c: the memory in which
 * trees grow. Each thread has one rf_work and grows one tree at a time in it.
 *
 * Growing is depth-first with a stack of open nodes. There are two ways to hold the rows of a node.
 * *Lines*: a list of row numbers into the row-major table of bins, or into compact copies of it for
 * subtrees that fit a cache (struct level). *Columns*, for narrow tables of classes: the bins of
 * the node's rows themselves, column by column (struct rf_columns). */
#ifndef ML_FOREST_FOREST_WORK_H
#define ML_FOREST_FOREST_WORK_H

#include "ml/forest/forest.h"

/* A subtree is grown on a compact copy of its rows' lines as soon as they fit: first a copy that
 * fits the second-level cache, then one that fits the first-level cache. Level 0 is the table
 * itself. */
enum { RF_LEVELS = 3, RF_SECOND_BYTES = 512 << 10, RF_FIRST_BYTES = 32 << 10 };

struct level {
    uint8_t *lines;
    int64_t pitch;
    /* the most rows that fit */
    int32_t rows;
};

struct open_node {
    int32_t node, from, n, depth;
    /* the level whose lines its row numbers mean */
    int level;
    /* which of the two lists holds its rows: rows[list], or columns->list[list] */
    int list;
    uint64_t key;
    /* The totals that the split of the parent has already found: the weight of all rows (with
     * columns, and with two classes), and with two classes that of class 1. */
    int32_t weight, ones;
    /* With several classes: how many classes it has; their runs lie on top of columns->runs. */
    int32_t n_runs;
};

/* For narrow tables of classes. The bins of a node's rows lie side by side, column by column, in
 * one of two lists; a split moves them into the other list, keeping their order. After the table's
 * columns come two more: the rows' weights and, with two classes, the weight of class 1. Rows of
 * one class stay together. */
struct rf_columns {
    /* the table's columns and the one or two of weights */
    int n_cols;
    /* bytes from one column to the next */
    int64_t pitch;
    /* the lists' content for all training rows, copied for each tree */
    uint8_t *root;
    /* several classes: the end of each class's rows in root */
    int64_t *root_end;
    uint8_t *list[2];
    /* which rows of the node at hand go left */
    uint64_t *masks;
    uint8_t *has_missing; /* [cols] */
    /* the node at hand; what all nodes have in common is written once a tree */
    struct rf_node_in in;
    /* For each open node, in the order of the stack: [3][n_runs], the class, end and weight of each
     * run of rows of one class. */
    int32_t *runs;
    int runs_top, runs_cap;
    /* [2][3][classes]: the runs of the two children of the node at hand */
    int32_t *kids;
    /* [2][classes]: rows and weights of the node's runs that go left */
    int32_t *left;
};

struct rf_work {
    const struct rf_data *d;
    struct rf_params p;
    /* Row numbers. A node's rows stand in one of the two lists, its children's in the other at the
     * same places. */
    int32_t *rows[2];
    rf_word *words[2];
    uint16_t *weights;
    /* several classes: the training rows, class by class */
    int32_t *order;
    int32_t *perm, *swaps;
    int64_t *total;
    int32_t *runs; /* [3][classes] */
    /* nodes of all trees grown so far */
    int64_t n_seen;
    /* nodes of the previous tree: the next one's memory starts with as many */
    int last_nodes;
    struct open_node *stack;
    int top, stack_cap;
    /* NULL: the rows are held as lines */
    struct rf_columns *columns;
    struct level level[RF_LEVELS];
    struct rf_scratch s;
    /* A tree that a stop interrupted, which the next call continues; n = 0: none. */
    struct rf_tree half;
    /* memory for the next tree */
    struct rf_tree old;
    /* the key of the tree that is half grown */
    uint64_t busy;
    /* weight of all rows of the tree */
    double all;
};

/* ---- forest_grow.c, for both ways ---- */

/* Makes room for n nodes of the tree. -1 = no memory. */
int rf_nodes_reserve(struct rf_tree *t, int n, int outputs);
/* Puts a node on the stack. -1 = no memory. */
int rf_open(struct rf_work *w, struct open_node o);
/* Writes the node's record and its values. Returns true if it stays a leaf. */
bool rf_leaf(const struct rf_work *w, const struct rf_node_in *in, int node, int depth,
             struct rf_tree *t);
/* Looks for the best split of the node. False = no column can be split. */
bool rf_node_split(struct rf_work *w, const struct rf_node_in *in, struct rf_split *best);
/* Writes the cut into the node; its children are the next two. */
int rf_node_cut(const struct rf_work *w, const struct rf_node_in *in, int node,
                const struct rf_split *best, struct rf_tree *t);

/* To be called when the node's n rows have been parted, n_left of them to the left: decides where
 * later rows go whose value the node never saw (rf_unseen in ml/math/forest_math.h). */
void rf_node_unseen(const struct rf_work *w, int node, uint64_t key, const uint64_t seen[4],
                    int32_t n_left, int32_t n, struct rf_tree *t);

/* ---- forest_columns.c ---- */

/* order: the training rows class by class, or NULL for two classes. Returns NULL without memory. */
struct rf_columns *rf_columns_new(const struct rf_data *d, const int32_t *order);
void rf_columns_free(struct rf_columns *c);
int64_t rf_columns_bytes(const struct rf_columns *c, const struct rf_data *d);
/* Opens the root of the tree whose draw stands in w->weights, unless the root is a leaf. */
int rf_columns_start(struct rf_work *w, struct open_node root, struct rf_tree *t);
/* Grows one open node: makes it a leaf, or splits it and opens its children. */
int rf_columns_grow(struct rf_work *w, const struct open_node *o, struct rf_tree *t);

#endif
