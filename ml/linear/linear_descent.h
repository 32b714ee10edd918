/* linear_descent.h - coordinate descent on a quadratic model with an L1 and an L2 penalty. Called by
 * linear_l1_path.c. */
#ifndef ML_LINEAR_LINEAR_DESCENT_H
#define ML_LINEAR_LINEAR_DESCENT_H

#include "ml/linear/linear_l1.h"

/* Minimises g'd + d'Hd/2 + l1 |w + d|_1 + l2/2 |w + d|^2 over steps d of a set,
 * until no coordinate's slope is off by more than `slack`; leaves d in set->step. */
struct l1_model {
    double l1, l2, slack;
    /* [set->n] weights and slopes of the set; cols: the number of an intercept's column */
    const double *w, *g;
    int cols;
    /* scratch */
    struct newton *newton;
};
int l1_descend(struct l1_set *set, const struct l1_model *m, struct err *err);

#endif
