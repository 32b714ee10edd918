/* forest.h - private to the forest files: random forests (Breiman 2001) and extremely randomised trees (Geurts, Ernst and
 * Wehenkel 2006) over the shared bins. Every random decision is keyed by (seed, tree, path of the node, draw), so that a
 * subtree does not depend on what was grown beside it: one forest grown to its end answers exactly for every smaller number
 * of trees, depth, minimum split size, minimum impurity decrease, and number of leaves under best-first growth (forest_axes).
 *
 * forest_grow.c   one tree: partition, growth, its record; forest_columns.c the same where tables are narrow;
 *                 forest_work.[ch] what that works on
 * forest_split.c  the best split of one node; forest_gini.c numbers by Gini; forest_random.c random cuts;
 *                 forest_scan.h the score of a cut
 * Sums that choose splits are whole numbers (class weights; regression targets in fixed point). */
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
    bool is_extra;      /* one random cut per column instead of the best one */
    bool is_bootstrap;  /* rows drawn with replacement; else all rows once */
    double max_samples; /* share of the rows drawn for a tree */
    int n_visit;        /* columns looked at in a node */
    int max_depth, min_split, min_leaf;
};

/* Bins row-major by frame row, with 64 readable bytes after the last one; training row i is frame row at[i]. */
struct rf_data {
    const uint8_t *by_row;
    int64_t stride;
    const int32_t *at;
    int64_t rows;
    int cols;
    const int *n_bins;             /* [cols] */
    const uint8_t *is_categorical; /* [cols] */
    int n_classes;                 /* 0 = regression */
    const int32_t *y;              /* [rows] class, or target in fixed point, |y| <= 2^30 */
};

/* A node as it was grown. Kids stand side by side. */
struct rf_node {
    int32_t left; /* 0 = leaf */
    int32_t rows; /* distinct training rows */
    int32_t set;  /* number of the set of bins that go left; -1 = by the cut */
    uint32_t col;
    uint8_t bin; /* goes left when x <= bin */
    uint8_t missing_left;
    uint16_t depth;
    float gain; /* decrease of the impurity, weighted by the node's share of all rows */
};

struct rf_tree {
    int n, cap, n_sets, sets_cap;
    struct rf_node *nodes; /* root is 0; parents before kids */
    float *
        values; /* [n][outputs]: mean target, share of class 1 (binary), or shares of all classes */
    uint64_t (*sets)[4];
};
void rf_tree_fini(struct rf_tree *t);
int64_t rf_tree_bytes(const struct rf_tree *t, int outputs);

struct rf_work;
struct rf_work *rf_work_new(const struct rf_data *d, const struct rf_params *p, struct err *err);
void rf_work_free(struct rf_work *w);
int64_t rf_work_bytes(const struct rf_work *w);
/* Grows tree number `tree` into *out (values in units of y). 1 = done, 0 = stopped (called again for the same tree it goes
 * on where it was), -1 = no memory. */
int rf_grow(struct rf_work *w, uint64_t seed, int tree, const struct ml_stop *stop,
            struct rf_tree *out);
/* Takes a tree that rf_grow made: the next one grows in its memory. Held until then, or until the second call. */
void rf_recycle(struct rf_work *w, struct rf_tree *t);
void rf_recycled_free(struct rf_work *w);
int rf_outputs(const struct rf_data *d);
uint64_t rf_root_key(uint64_t seed, int tree);
/* How often each of n training rows is in the tree; 0 = out of bag. Never above 255, which no draw comes near. */
void rf_draw(const struct rf_params *p, uint64_t seed, int tree, int64_t n, uint16_t *weights);

/* ---- forest_split.c ---- */

/* A row in node order: binary: weight | class << 32 times weight; multiclass: weight | class << 32; regression: weight in
 * the lower 16 bits, target above. Weights are at most 255. */
typedef int64_t rf_word;

struct rf_split {
    double score; /* larger is better; of both sides; -1 = none */
    int col, bin;
    bool missing_left, is_set;
    uint64_t set[4];
};

struct rf_random;
struct rf_gini;

enum {
    RF_GROUP = 4,  /* columns that are summed at a time */
    RF_AHEAD = 64, /* rows that are fetched ahead where lines are far */
};

struct rf_scratch {
    int64_t *hist; /* [256][width], all zero between columns */
    int width;     /* words per bin: of several classes, one for each that is in the node */
    double *xlogx; /* RF_ENTROPY: x log x of whole numbers */
    int64_t *left; /* [classes] */
    struct rf_random *random; /* extra trees */
    struct rf_gini *gini;     /* the best cuts of classes by gini; else NULL */
};

/* Of several classes the rows of a node stand class by class: those that are there, in ascending or in descending order
 * (the rows of a right kid are turned round). */
struct rf_runs {
    int n;
    int32_t *class_of, *end, *weight; /* [n]: class, its row past the last, its weight */
};

struct rf_node_in {
    const struct rf_data *d;
    const struct rf_params *p;
    const uint8_t *lines; /* row i: the bins at lines + rows[i] * pitch */
    int64_t pitch;
    const int32_t *rows;
    const rf_word *words;
    /* Or column by column, in place of these: the bins of column c at by_col + c * pitch, the rows' weights, and of two
     * classes those of class 1; whole vectors are readable. has_missing: by column of the table. */
    const uint8_t *by_col, *weights, *ones, *has_missing;
    int64_t n;
    struct rf_runs runs; /* several classes */
    int64_t weight;      /* sum of weights */
    const int64_t
        *total;   /* two classes: [2]; several: [runs.n]; else {sum of targets, 0 = all equal} */
    uint64_t key; /* of (seed, tree, path) */
    int64_t node; /* another number for every node, not 0 */
    bool is_far;  /* the lines lie outside the caches */
};
/* The best split of `n` columns; true when one is better than *best. Equal scores keep the earlier column. */
bool rf_split_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                      struct rf_split *best);
/* One column, by a histogram. */
bool rf_split_column(const struct rf_node_in *in, int col, struct rf_scratch *s,
                     struct rf_split *best);
/* Two rows of different classes, a number: whatever parts them parts them perfectly. */
bool rf_split_pair(const struct rf_node_in *in, int col, const struct rf_scratch *s,
                   struct rf_split *best);
/* The score of two pure sides, which nothing exceeds; of regression a number never reached. */
double rf_perfect_score(const struct rf_node_in *in);
/* The score of a node left whole. */
double rf_own_score(const struct rf_node_in *in, const struct rf_scratch *s);

/* ---- forest_gini.c ---- */

struct rf_gini *rf_gini_new(const struct rf_data *d); /* NULL = no memory */
void rf_gini_free(struct rf_gini *g);
int64_t rf_gini_bytes(const struct rf_data *d);
/* rf_split_columns for classes by gini. */
bool rf_gini_columns(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                     struct rf_split *best);

/* ---- forest_random.c ---- */

/* Fills [cols][256]: where bins lie for random cuts. Numbers of many values by their rank among the training rows: twice the
 * rows before a bin's middle; of columns with fewer bins than RF_RANKED, which are their values, the bin's own number. */
enum { RF_RANKED = 224 };
bool rf_has_ranked(const struct rf_data *d); /* else no table of places is wanted */
int64_t rf_random_bytes(const struct rf_data *d);
void rf_places(const struct rf_data *d, uint32_t *places);
struct rf_random *rf_random_new(const struct rf_data *d); /* NULL = no memory */
void rf_random_free(struct rf_random *r);
/* Draws and weighs one cut in each of `n` columns, categories left out; then takes the v-th if it is better than *best. */
void rf_random_weigh(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s);
/* The random cut between two bins. */
int rf_random_pair(const struct rf_scratch *s, uint64_t node_key, int col, int lo, int hi);
/* rf_split_columns where the node lies column by column, categories too. */
bool rf_random_near(const struct rf_node_in *in, const int32_t *cols, int n, struct rf_scratch *s,
                    struct rf_split *best);
bool rf_random_take(const struct rf_scratch *s, int v, int col, struct rf_split *best);

#endif
