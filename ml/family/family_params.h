/* family_params.h - the place of each parameter in a family's params[], made from
 * family_params.def. For the families' own files and for family*.c; everybody else finds parameters
 * by name (family.h). */
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

/* The prunings that one forest is scored at, the smallest model first: depths by minimum split
 * sizes. Depth FOREST_WHOLE_DEPTH means no limit. */
enum { FOREST_WHOLE_DEPTH = 100, FOREST_MAX_AXES = 20 };
/* Tables of classes with at most so many columns are grown column by column
 * (ml/forest/forest_columns.c). */
enum { FOREST_NARROW = 32 };
struct forest_axis {
    int depth, min_split;
};
/* returns how many there are */
int forest_axes(const double *params, struct forest_axis *out);
/* columns that a node looks at */
int forest_visits(const double *params, int columns, bool is_regression);

/* The path of linear models: half decades of C, from 1e-4 up. */
enum { LINEAR_PATH_POINTS = 17 };
/* step from 1 to 17 */
double linear_path_c(int step);
/* points that are not above it, at least 1 */
int linear_path_steps(double largest_c);
/* Histograms that a tree in growth keeps: those of nodes with at least so many rows, within so many
 * bytes. For smaller nodes it is cheaper to add up the rows of both children, a tile of columns at
 * a time in cache, than to subtract a histogram that has left the cache. */
enum { BOOST_POOL_ROWS = 512, BOOST_POOL_BYTES = 96 << 20 };
/* the learning rate that a level runs with */
double boost_rate_at(const double *params, int level);

#endif
