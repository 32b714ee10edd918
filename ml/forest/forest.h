/* forest.h - private to the forest files, the lower half: growing one tree of a random forest
 * (Breiman, Random forests, 2001) or of extremely randomised trees (Geurts, Ernst and Wehenkel,
 * 2006) over the shared bins.
 *
 * Every random decision is keyed by (seed, tree, path of the node, number of the draw), so a
 * subtree does not depend on what was grown beside it. Therefore one forest, grown to its end,
 * answers exactly for every smaller number of trees, depth, minimum split size, minimum impurity
 * decrease, and number of leaves under best-first growth (forest_axes). Sums that choose splits are
 * of whole numbers: class weights, or regression targets in fixed point.
 *
 * forest_grow.c     one tree: partition, growth, its record
 * forest_columns.c  the same for narrow tables
 * forest_work.[ch]  what growing works on
 * forest_split.c    the best split of one node
 * forest_gini.c     classes by Gini
 * forest_random.c   random cuts
 * forest_scan.h     the score of a cut
 *
 * The upper half, trees as they are kept and used, is forest_model.h. */
#ifndef ML_FOREST_FOREST_H
#define ML_FOREST_FOREST_H

#include "base/err.h"
#include "ml/math/forest_math.h"
#include "ml/model/model.h"

#include <stdbool.h>
#include <stdint.h>

enum rf_criterion { RF_GINI, RF_ENTROPY, RF_SQUARED };
enum { RF_MISSING = 255, RF_MAX_CLASSES = 4096 };

struct rf_params {
    enum rf_criterion criterion;
    /* one random cut in a column instead of the best one */
    bool is_extra;
    /* rows are drawn with replacement; else all rows once */
    bool is_bootstrap;
    /* share of the rows that is drawn for a tree */
    double max_samples;
    /* columns that a node looks at */
    int n_visit;
    int max_depth, min_split, min_leaf;
    /* NULL, or [training rows]: sums of the weights up to and with each row; borrowed */
    const double *up_to;
};
/* Whether rows of a tree may weigh other than 1: by being drawn several times, or by weights. */
static inline bool rf_rows_weigh(const struct rf_params *p)
{
    return p->is_bootstrap || p->up_to;
}

/* Bins are row-major by frame row, with 64 readable bytes after the last row. Training row i is
 * frame row at[i]. */
struct rf_data {
    const uint8_t *by_row;
    int64_t stride;
    const int32_t *at;
    int64_t rows;
    int cols;
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
    /* 0 = regression */
    int n_classes;
    /* [rows] class, or target in fixed point with |y| <= 2^30 */
    const int32_t *y;
};

/* A node as it was grown. Its children stand side by side. */
struct rf_node {
    int32_t left; /* 0 = leaf */
    /* distinct training rows */
    int32_t rows;
    /* number of the set of bins that go left; -1 = a cut by bin */
    int32_t set;
    uint32_t col;
    /* a row goes left when x <= bin */
    uint8_t bin;
    uint8_t missing_left;
    uint16_t depth;
    /* decrease of the impurity, weighted by the node's share of all rows */
    float gain;
};

struct rf_tree {
    int n, cap, n_sets, sets_cap;
    /* 0 is the root; parents before children */
    struct rf_node *nodes;
    float *
        values; /* [n][outputs]: mean target, share of class 1 (binary), or shares of all classes */
    uint64_t (*sets)[4];
};
void rf_tree_fini(struct rf_tree *t);
int64_t rf_tree_bytes(const struct rf_tree *t, int outputs);

/* Whether columns are the faster way for this table (forest_columns.c). */
bool rf_columns_fit(const struct rf_data *d);

struct rf_work;
struct rf_work *rf_work_new(const struct rf_data *d, const struct rf_params *p, struct err *err);
void rf_work_free(struct rf_work *w);
int64_t rf_work_bytes(const struct rf_work *w);
/* Grows tree number `tree` into *out, with values in units of y. 1 = done; 0 = stopped (called
 * again for the same tree, it continues where it was); -1 = no memory. */
int rf_grow(struct rf_work *w, uint64_t seed, int tree, const struct ml_stop *stop,
            struct rf_tree *out);
/* Takes a tree that rf_grow made: the next one grows in its memory. It is kept until then, or until
 * the second call. */
void rf_recycle(struct rf_work *w, struct rf_tree *t);
void rf_recycled_free(struct rf_work *w);
int rf_outputs(const struct rf_data *d);
uint64_t rf_root_key(uint64_t seed, int tree);
/* How often each of n training rows is in the tree; 0 = out of bag. At most 255, which no draw
 * of equal rows comes near. With weights a row is drawn in proportion to its own. */
void rf_draw(const struct rf_params *p, uint64_t seed, int tree, int64_t n, uint16_t *weights);

/* ---- forest_split.c ---- */

/* A row in the order of the node. Binary: weight | class * weight << 32; multiclass: weight | class
 * << 32; regression: the weight in the lower 16 bits, the target above. Weights are at most 255. */
typedef int64_t rf_word;

struct rf_split {
    /* of both sides, larger is better; -1 = none */
    double score;
    int col, bin;
    bool missing_left, is_set;
    uint64_t set[4];
};

struct rf_random;
struct rf_gini;

enum {
    /* columns that are summed at a time */
    RF_GROUP = 4,
    /* rows between a prefetch and its use, where lines lie far apart */
    RF_AHEAD = 64,
};

struct rf_scratch {
    /* [256][width]; all zero between columns */
    int64_t *hist;
    /* words per bin: 1 or 2; with several classes one for each class in the node */
    int width;
    /* RF_ENTROPY: n log n of whole numbers */
    double *xlogx;
    int64_t *left; /* [classes] */
    /* for extra trees */
    struct rf_random *random;
    /* for the best cuts of classes by Gini; else NULL */
    struct rf_gini *gini;
};

/* With several classes the rows of a node stand class by class: the classes that occur, in
 * ascending or descending order (parting turns the rows of a right child round). */
struct rf_runs {
    int n;
    /* [n]: the class, the row past its last one, its weight */
    int32_t *class_of, *end, *weight;
};

struct rf_node_in {
    const struct rf_data *d;
    const struct rf_params *p;
    /* row i: the bins at lines + rows[i] * pitch */
    const uint8_t *lines;
    int64_t pitch;
    const int32_t *rows;
    const rf_word *words;
    /* Or instead column by column: the bins of column c at by_col + c * pitch, the rows' weights,
     * and with two classes the weights of class 1; whole vectors are readable. has_missing: by
     * column of the table. */
    const uint8_t *by_col, *weights, *ones, *has_missing;
    int64_t n;
    /* used with several classes */
    struct rf_runs runs;
    /* sum of the weights */
    int64_t weight;
    const int64_t
        *total; /* two classes: [2]; several: [runs.n]; else {sum of targets, 0 = all equal} */
    /* of (seed, tree, path) */
    uint64_t key;
    /* a number that no other node has, not 0 */
    int64_t node;
    /* the lines lie outside the caches */
    bool is_far;
};
/* The best split among `n` columns; true when it is better than *best. Of equal scores the earlier
 * column is kept. */
bool rf_split_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                      struct rf_split *best);
/* The same for one column, by a histogram. */
bool rf_split_column(const struct rf_node_in *in, int col, struct rf_scratch *s,
                     struct rf_split *best);
/* The same for two rows of different classes and a numeric column: any cut between them is
 * perfect. */
bool rf_split_pair(const struct rf_node_in *in, int col, const struct rf_scratch *s,
                   struct rf_split *best);
/* The score of two pure sides, which nothing exceeds; for regression a number that is never
 * reached. */
double rf_perfect_score(const struct rf_node_in *in);
/* The score of the node without a split. */
double rf_own_score(const struct rf_node_in *in, const struct rf_scratch *s);

/* ---- forest_gini.c ---- */

/* NULL = no memory */
struct rf_gini *rf_gini_new(const struct rf_data *d);
void rf_gini_free(struct rf_gini *g);
int64_t rf_gini_bytes(const struct rf_data *d);
/* The bins of the node's rows in a column that the last search brought together, eight bytes apart,
 * and the column's place among eight; or NULL. */
const uint8_t *rf_gini_picked(const struct rf_scratch *s, int64_t node, int col, int *at);
/* rf_split_columns for classes by Gini. */
bool rf_gini_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                     struct rf_split *best);

/* ---- forest_random.c ---- */

/* Fills [cols][256]: the places at which random cuts see the bins. A column of many values has the
 * ranks of its bins among the training rows (twice the number of rows before a bin's middle),
 * because its bins are finer at the rims. A column of fewer than RF_RANKED bins, which are its
 * values, has the bins' own numbers. */
enum { RF_RANKED = 224 };
/* false: no table of places is needed */
bool rf_has_ranked(const struct rf_data *d);
int64_t rf_random_bytes(const struct rf_data *d);
void rf_places(const struct rf_data *d, uint32_t *places);
/* NULL = no memory */
struct rf_random *rf_random_new(const struct rf_data *d);
void rf_random_free(struct rf_random *r);
/* The best random cut of columns of numbers, where rows are lines of two classes and rf_random_picks
 * is true. Returns which of the columns it is in; -1 = none is better than *best. */
enum { RF_PICKED = 8 };
bool rf_random_picks(const struct rf_node_in *in, const int32_t *cols, int n,
                     const struct rf_scratch *s);
int rf_random_picked(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                     struct rf_split *best);
/* What the last of these splits that was better sends left: a bit for each row, how many rows, and
 * how many of class 1. NULL: that split was not of this node and column. */
struct rf_marks {
    const uint64_t *left;
    int32_t n_left, ones_left;
    /* the column has missing values in the node */
    bool has_missing;
};
const struct rf_marks *rf_random_marks(const struct rf_scratch *s, int64_t node, int col);
/* rf_random_weigh draws and scores one cut in each of `n` numeric columns; rf_random_take then
 * takes the cut of the v-th of them, if it is better than *best. */
void rf_random_weigh(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s);
/* The random cut between two bins. */
int rf_random_pair(const struct rf_scratch *s, uint64_t node_key, int col, int lo, int hi);
/* rf_split_columns where the node lies column by column; takes categories too. */
bool rf_random_near(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                    struct rf_split *best);
bool rf_random_take(const struct rf_scratch *s, int v, int col, struct rf_split *best);

#endif
