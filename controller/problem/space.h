/* space.h - the space of a study: from the spec's `space` (a list of families with what their parameters may be) and the
 * tables of ml/family/family.h. Named controller/problem/space.h beside search/space/space.h, which is the space itself. */
#ifndef CONTROLLER_PROBLEM_SPACE_H
#define CONTROLLER_PROBLEM_SPACE_H

#include "controller/problem/config.h"
#include "search/space/space.h"

#include <jansson.h>

enum { STUDY_MAX_FAMILIES = 32 };

struct study_space {
    struct space *space; /* owned; parameter 0 is the categorical `family`, without the baseline */
    int n_families;
    struct config
        first[STUDY_MAX_FAMILIES]; /* of each family, in order: its defaults inside this space */
    bool is_auto;                  /* the portfolio of each family applies */
};

struct space_for {      /* what the space must suit */
    int task;           /* FT_*, or a mask while it is not known */
    const char *metric; /* "" = not known */
    bool is_monotone;   /* only families that keep constraints */
};

/* list: the spec's `space` or NULL = every family that fits. Errors carry the path of the key,
 * "space[1].leaves". On success study_space_fini frees. */
int study_space_build(struct study_space *out, const json_t *list, const struct space_for *need,
                      struct err *err);
void study_space_fini(struct study_space *s);

#endif
