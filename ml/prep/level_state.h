/* level_state.h - what a step knows of levels: for each the mean of the target (of several classes,
 * the share of each), and how often it occurs, from all training rows. Shared by the steps on
 * levels, codes and the parts of codes (step_levels.c, step_parts.c); how the values of a fold are
 * made, level_means.h says. */
#ifndef ML_PREP_LEVEL_STATE_H
#define ML_PREP_LEVEL_STATE_H

#include "ml/prep/level_means.h"
#include "ml/prep/step_ops.h"

struct level_state {
    int n_levels, n_means;
    double all_rows;
    /* of codes: [n_levels] the number of each level, ascending; NULL = levels of the plain input */
    double *number;
    /* [n_means] class and its label; NULL = the target is a number or has two classes */
    int *classes;
    char **labels;
    /* [n_means + 1][n_levels + 2]: by part; the last part is the frequency */
    double *value;
    /* the training rows that are shown with a new level; not saved: other tables have none */
    struct prep_hidden hidden;
};

void level_state_free(struct level_state *t); /* t too; NULL does nothing */
/* What a part is: "mean of target". Parts 0 to n_means - 1 are means, the next is the frequency. */
void level_state_name(const struct level_state *t, int part, char out[STEP_NAME]);
/* Takes the classes that have a mean, and their labels: sets n_means. */
void level_state_classes(struct level_state *t, const struct prep_spec *spec);
/* Takes the values from all training rows; n_levels and the classes are set. */
int level_state_take(struct level_state *t, const struct level_rows *rows,
                     const struct prep_spec *spec, struct err *err);
/* The same of the rows of a fold; level_means_fini. */
int level_state_means(const struct level_state *t, const struct level_rows *rows,
                      const struct prep_target *target, const uint8_t *train,
                      struct level_means *out, struct err *err);
/* Values of n rows from row `from`, whose levels are given as places in the tables: n_levels stands
 * for missing ones, n_levels + 1 for new ones. m, fold: of a view of a fold; NULL = none. */
struct level_ask {
    int part;
    int64_t from, n;
    const int32_t *level;
};
void level_state_values(const struct level_state *t, const struct level_means *m,
                        const struct prep_fold *fold, const struct level_ask *ask, double *out);
int level_state_save(const struct level_state *t, struct buf *out, struct err *err);
/* From a stranger. t is zeroed; what was made of it before an error is freed with it. */
int level_state_load(struct level_state *t, bool has_numbers, struct view *in, struct err *err);
/* The parts of it that other steps save, too. labels: [n_means], which is known. numbers: n, ascending;
 * *out is mem_try_free's, after an error as well. */
int level_labels_save(const struct level_state *t, struct buf *out, struct err *err);
int level_labels_load(struct level_state *t, struct view *in, struct err *err);
int level_numbers_load(double **out, int n, struct view *in, struct err *err);

#endif
