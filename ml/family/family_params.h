/* family_params.h - the place of each parameter in a family's params[], made from ml/family/family_params.def. For the families' own
 * files and for family*.c; others find parameters by name (ml/family/family.h). */
#ifndef ML_FAMILY_FAMILY_PARAMS_H
#define ML_FAMILY_FAMILY_PARAMS_H

#include <stdbool.h>

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

/* The prunings that one forest is scored at, the smallest model first: depths by split sizes. Depth FOREST_WHOLE_DEPTH is no
 * limit. */
enum { FOREST_WHOLE_DEPTH = 100, FOREST_MAX_AXES = 20 };
/* Tables of classes with at most so many columns grow column by column (ml/forest/forest_columns.c). */
enum { FOREST_NARROW = 32 };
struct forest_axis {
    int depth, min_split;
};
int forest_axes(const double *params, struct forest_axis *out); /* how many */
int forest_visits(const double *params, int columns,
                  bool is_regression); /* columns a node looks at */

/* The path of linear models: half decades of C from 1e-4. */
enum { LINEAR_PATH_POINTS = 17 };
double linear_path_c(int step);          /* step 1..17 */
int linear_path_steps(double largest_c); /* points not above it, at least 1 */
/* Histograms that a tree in growth keeps: of nodes with so many rows, and so many bytes at most. Below, adding up the rows of
 * both kids, a tile of columns at a time in cache, is cheaper than subtracting what has long left it. */
enum { BOOST_POOL_ROWS = 512, BOOST_POOL_BYTES = 96 << 20 };
double boost_rate_at(const double *params, int level); /* learning rate that a level runs with */

#endif
