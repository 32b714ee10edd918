/* fanova_tree.h - one tree of fanova.c. It is grown on a sample of trials, and while it grows it
 * collects the marginal of each parameter; the tree itself is not kept. Private to fanova.c. */
#ifndef SEARCH_INSIGHT_FANOVA_TREE_H
#define SEARCH_INSIGHT_FANOVA_TREE_H

#include "search/insight/importance.h"

enum { FANOVA_DEPTH = 64 };

/* One end of a leaf along a numeric parameter: from this place on the marginal is higher by
 * `step`. */
struct edge {
    double at, step;
};
struct edges {
    struct edge *list;
    int n, cap;
};

struct sample {
    double key, gain;
    int trial;
};

struct forest {
    const struct importance_data *d;
    const struct space *space;
    int *usable; /* trials with a finite gain */
    int n;
    int *first;       /* of a parameter: where its choices begin in `in` and `height` */
    double *activity; /* P(active) of each parameter */
    bool *has_child;
    bool *is_searched; /* importance_concerns */

    /* the tree that is grown */
    double *lo, *hi;       /* the box: numbers */
    bool *in;              /* choices of sets */
    bool *bounds;          /* this parameter bounds the box */
    struct edges *edges;   /* marginals of numbers */
    double *height;        /* marginals of choices */
    double sum, squares;   /* over leaves, of volume times value and its square */
    struct sample *sorted; /* room to sort a node */
    double *choice_sum;    /* room for SPACE_MAX_CHOICES: sums, and after them counts */
};

/* Grows a tree over the box that f holds. The order of `trials` changes. */
void fanova_tree_grow(struct forest *f, int *trials, int n);

bool fanova_is_set(const struct param *p); /* split as a set of choices, not by a threshold */

#endif
