/* family_params.h - the index of each parameter in a family's params[], made from
 * family_params.def. Only the families' own files and family*.c use it; other code finds parameters
 * by name (family.h). */
#ifndef ML_FAMILY_FAMILY_PARAMS_H
#define ML_FAMILY_FAMILY_PARAMS_H

#include <stdbool.h>

/* Each family's rows of family_params.def become an enum: the index of a parameter, and at the end
 * the number of parameters. */
#define LINEAR(NAME, ...) LINEAR_##NAME,
enum linear_param {
#include "ml/family/family_params.def"
    LINEAR_PARAMS
};

#define BOOST(NAME, ...) BOOST_##NAME,
enum boost_param {
#include "ml/family/family_params.def"
    BOOST_PARAMS
};

/* extra_trees has the parameters of forest up to the one before BOOTSTRAP, so both share one
 * enum. */
#define FOREST(NAME, ...) FOREST_##NAME,
enum forest_param {
#include "ml/family/family_params.def"
    FOREST_PARAMS,
    EXTRA_PARAMS = FOREST_BOOTSTRAP
};

#define MLP(NAME, ...) MLP_##NAME,
enum mlp_param {
#include "ml/family/family_params.def"
    MLP_PARAMS
};
enum { MLP_MOST_WIDTH = 2048 };

#define CNN(NAME, ...) CNN_##NAME,
enum cnn_param {
#include "ml/family/family_params.def"
    CNN_PARAMS
};

/* The choices of `optimizer` (ml/math/optim_math.h) with which `momentum` and `beta2` have an effect, as bits: all but rmsprop
 * and adagrad; adamw, adam, rmsprop and lamb. */
enum { FAMILY_WITH_MOMENTUM = 0xcf, FAMILY_WITH_BETA2 = 0x93 };

/* A forest is grown once and scored with several prunings: every pair of a depth and a minimum size
 * of a node that is split. The pairs with the smallest depth come first. Depth FOREST_WHOLE_DEPTH
 * means no limit. */
enum { FOREST_WHOLE_DEPTH = 100, FOREST_MAX_AXES = 20 };
/* For classification, a table with at most this many columns is stored column by column while trees
 * grow (ml/forest/forest_columns.c). */
enum { FOREST_NARROW = 32 };
struct forest_axis {
    int depth, min_split;
};
/* Writes the prunings to out and returns their number. */
int forest_axes(const double *params, struct forest_axis *out);
/* Returns how many columns a node looks at. */
int forest_visits(const double *params, int columns, bool is_regression);

/* A linear model is fitted along a path of penalties. With an L2 penalty these are 17 values of C
 * (the inverse strength), from 1e-4 to 1e4, two to a factor of 10. With an L1 penalty they are 25
 * shares of the smallest penalty at which all weights are 0, from 1 to 1e-4, six to a factor of 10.
 * Steps count from 1. */
enum { LINEAR_PATH_POINTS = 17, LINEAR_L1_POINTS = 25, LINEAR_MOST_STEPS = 25 };
double linear_path_c(int step);
double linear_path_alpha(int step);
/* Returns how many points the path has that the parameters ask for, at least 1. */
int linear_path_steps(const double *params);
/* Returns the share of L1 in the penalty: 0 = L2 alone. */
double linear_l1_ratio(const double *params);
/* Whether columns that L1 left are fitted once more. */
bool linear_is_relaxed(const double *params);
/* A growing tree keeps the histograms of nodes with at least BOOST_POOL_ROWS rows, in at most
 * BOOST_POOL_BYTES bytes. For smaller nodes it is cheaper to add up the rows of both children, for
 * as many columns at a time as fit the cache, than to subtract a histogram that has left the
 * cache. */
enum { BOOST_POOL_ROWS = 512, BOOST_POOL_BYTES = 96 << 20 };
/* Returns the learning rate that a level uses. */
double boost_rate_at(const double *params, int level);

#endif
