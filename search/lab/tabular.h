/* tabular.h - a tabular benchmark: the outcome of every configuration is known beforehand, so
 * samplers and schedulers can be judged without training. A *grid* has one value for every point of
 * a discrete space. *Curves* have, for some configurations of a space, the value and the cumulative
 * seconds at each epoch. Pure data: the caller reads the files (cli/tablefile.c).
 *
 * If the table minimises, values come out negated, so larger is better everywhere. A NaN is a
 * configuration that fails. */
#ifndef SEARCH_LAB_TABULAR_H
#define SEARCH_LAB_TABULAR_H

#include "search/space/space.h"

#include <stddef.h>

enum { TABULAR_MAX_EPOCHS = 10000, TABULAR_MAX_LEVELS = 64 };
#define TABULAR_MAX_VALUES ((size_t)1 << 27)
#define TABULAR_NONE       SIZE_MAX

struct tabular {
    char name[SPACE_MAX_NAME + 1];
    struct space *space;
    bool is_grid, is_minimised;
    size_t n;   /* configurations */
    int epochs; /* 1 in a grid */
    float *
        data; /* grid: values, first parameter slowest; curves: [configuration][epoch][value, seconds] */
    double *place; /* curves: configurations scaled to [0, 1], in the log where the parameter is */
    double best;   /* over all configurations and epochs */
    double median, worst; /* at the last epoch */
    /* Half the distance between the quantiles 16 % and 84 % at the last epoch: the standard deviation
     * if the values were normal, and not moved by a few terrible ones. */
    double spread;
    double mean_time; /* seconds of all epochs; 1 in a grid */
};

/* Both take ownership of `space` and the arrays (heap), whether they succeed or not. Errors: sizes
 * that do not fit, no value at all, a parameter that a grid cannot have, a configuration outside
 * the space, times that do not rise. A grid has an entry for every combination of cells, also of
 * parameters that are inactive together: entries that differ only in inactive ones must be equal, so
 * that each branch counts in the median as random search meets it. */
struct tabular *tabular_grid_new(const char *name, struct space *space, bool is_minimised,
                                 float *values, size_t n, struct err *err);
/* points: n x space->n values in the parameters' own units (choices by index); data as above. */
struct tabular *tabular_curves_new(const char *name, struct space *space, bool is_minimised,
                                   double *points, size_t n, int epochs, float *data,
                                   struct err *err);
void tabular_free(struct tabular *t); /* NULL is legal */

/* Epochs count from 1. */
double tabular_value(const struct tabular *t, size_t config, int epoch);
double tabular_seconds(const struct tabular *t, size_t config,
                       int epoch); /* since its start; 0 at epoch 0 */
/* The best value of epochs 1..epoch; NaN if none has a value. */
double tabular_best_until(const struct tabular *t, size_t config, int epoch);

/* The configuration for a point. In a grid it is the point's own entry. In curves it is the nearest
 * by squared distance among those that are not `taken` (n flags; at equal distance the first), or
 * TABULAR_NONE if all are taken. */
size_t tabular_find(const struct tabular *t, const double *point, const bool *taken);

/* Regret: 0 is the best of the table and 1 its median. NaN (nothing was found) counts as the worst
 * value. */
double tabular_regret(const struct tabular *t, double value);
/* The mean regret of the best of `draws` different random configurations at their last epoch.
 * Exact, without sampling. */
double tabular_random_regret(const struct tabular *t, size_t draws);

/* The epochs of a scheduler's levels: epochs / eta^k, rounded, from the top down to 1, so
 * neighbouring levels differ by about the factor eta. Returns their number. */
int tabular_ladder(int epochs, double eta, int ladder[TABULAR_MAX_LEVELS]);

#endif
