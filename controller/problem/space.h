/* space.h - builds the search space of a study from the spec's `space` (a list of families with the
 * values that their parameters may take) and from the tables of ml/family/family.h. The space
 * itself, as samplers see it, is search/space/space.h. */
#ifndef CONTROLLER_PROBLEM_SPACE_H
#define CONTROLLER_PROBLEM_SPACE_H

#include "controller/problem/config.h"
#include "search/space/space.h"

#include <jansson.h>

enum { STUDY_MAX_FAMILIES = 32 };

struct study_space {
    struct space *space; /* owned; parameter 0 is the categorical `family`, without the baseline */
    struct own *own;     /* the one family of a space that the user's program samples; else NULL */
    int n_families;
    /* For each family, in the order of the space: its default configuration inside this space. */
    struct config first[STUDY_MAX_FAMILIES];
    /* The families share the time (controller/decide/share.h): the spec has no `space`, or one of two
     * or more families of which it gives nothing but the names, and names no sampler. */
    bool is_auto;
    /* For each family: the user said nothing of its parameters, so its portfolio may be tried
     * (script.c). */
    bool is_plain[STUDY_MAX_FAMILIES];
};

/* What the families and ranges of a space must suit. */
struct space_for {
    int task;           /* FT_*, or a mask of several while the task is not known */
    const char *metric; /* "" = not known */
    bool is_monotone;   /* only families that keep monotone constraints */
    bool has_images;    /* the table has images */
    bool is_table_unknown;
    const struct family_shape *shape; /* of the table; NULL = not known */
    bool has_sampler;                 /* the spec names one */
};

/* list: the spec's `space`, or NULL for every family that fits. Errors carry the path of the key,
 * such as "space[1].leaves". After success the caller frees by study_space_fini; after an error
 * nothing is left to free. */
int study_space_build(struct study_space *out, const json_t *list, const struct space_for *need,
                      struct err *err);
/* The same for a space of the user's own (own.h), whose trials report `levels` times at most. */
int study_space_own(struct study_space *out, json_t *space, const json_t *constraints, int levels,
                    struct err *err); /* constraints: NULL = none */
void study_space_fini(struct study_space *s);

#endif
