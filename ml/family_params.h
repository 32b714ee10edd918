/* family_params.h - the place of each parameter in a family's params[], made from ml/family.def. For the families' own
 * files and for family*.c; others find parameters by name (ml/family.h). */
#ifndef ML_FAMILY_PARAMS_H
#define ML_FAMILY_PARAMS_H

#define LINEAR(NAME, ...) LINEAR_##NAME,
enum linear_param {
#include "ml/family.def"
    LINEAR_PARAMS
};

#define BOOST(NAME, ...) BOOST_##NAME,
enum boost_param {
#include "ml/family.def"
    BOOST_PARAMS
};

/* The path of linear models: half decades of C from 1e-4. */
enum { LINEAR_PATH_POINTS = 17 };
double linear_path_c(int step);                        /* step 1..17 */
int linear_path_steps(double largest_c);               /* points not above it, at least 1 */
double boost_rate_at(const double *params, int level); /* learning rate that a level runs with */

#endif
