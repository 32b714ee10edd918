/* step_ops.h - the table of functions that a step has (step.h). */
#ifndef ML_PREP_STEP_OPS_H
#define ML_PREP_STEP_OPS_H

#include "base/buf.h"

#include <stdbool.h>
#include <stdint.h>

enum { STEP_NAME = 160, STEP_MAX_PARTS = 1024 };

struct prep;
struct prep_step;
struct step_fit;
struct step_view;

struct step_ops {
    const char *word;
    /* its values differ from fold to fold (prep_view_fold) */
    bool is_by_fold;
    /* Fits s->state and sets s->n_parts. 0 = the columns give nothing, and no state is left; 1 =
     * fitted; -1 = error. */
    int (*fit)(const struct step_fit *in, struct prep_step *s, struct err *err);
    void (*free)(struct prep_step *s);
    /* What a part is, without the name of the column: "hour". */
    void (*part_name)(const struct prep_step *s, int part, char out[STEP_NAME]);
    /* The length of the cycle in which the values of a part repeat (24 of an hour); NULL or 0 =
     * they do not. Linear models and networks then get sines and cosines as well. */
    double (*cycle)(const struct prep_step *s, int part);
    /* Which of its sources a part is made of, as a place in prep_step.source; NULL = of all. */
    int (*part_source)(const struct prep_step *s, int part);
    /* What is computed once per view, such as one vector per level of the table. NULL = nothing. A
     * column that does not suit (numbers where texts are expected) is no error: its rows then have
     * no value (NaN). */
    int (*open)(struct step_view *v, struct err *err);
    void (*close)(struct step_view *v);
    /* Rows [from, from + n) of a part; n <= PREP_BLOCK. NaN = missing. Any thread may call. */
    void (*values)(const struct step_view *v, int part, int64_t from, int64_t n, double *out);
    /* The state as bytes, and back from a stranger: everything is checked, and no more memory is
     * taken than the bytes could fill. `load` sets n_parts. */
    int (*save)(const struct prep_step *s, struct buf *out, struct err *err);
    int (*load)(struct prep_step *s, struct view *in, struct err *err);
    /* Whether what was loaded fits the inputs of the preparation; NULL = always. */
    bool (*suits)(const struct prep *p, const struct prep_step *s);
};

#endif
