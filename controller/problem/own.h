/* own.h - the space of a study whose trials are run by the user's own program. The spec's `space`
 * is an object of parameters:
 *
 *   lr:       {log: [1e-5, 1e-1]}            a number on a log scale
 *   dropout:  [0, 0.5]                       any number ({uniform: [0, 0.5]}, with step: 0.05)
 *   layers:   {int: [1, 8]}                  a whole number (int_log: on a log scale)
 *   opt:      {choice: [sgd, adam]}          one of these texts, numbers, true or false
 *   momentum: {uniform: [0, 1], when: {opt: sgd}}   only where opt is sgd; `when` may list several
 *   batch:    64                             fixed
 *
 * and each may have a `default`. To the rest of the controller this is one more family of models,
 * called `own`, which exists in this study only: configurations, samplers, schedulers and the
 * leaderboard need not know the difference. A parameter that is not active is NaN in a struct
 * config and absent in its JSON. */
#ifndef CONTROLLER_PROBLEM_OWN_H
#define CONTROLLER_PROBLEM_OWN_H

#include "ml/family/family.h"
#include "search/space/space.h"

#include <jansson.h>

#define OWN_FAMILY "own"

struct own {
    struct family family;
    struct family_param params[FAMILY_MAX_PARAMS];
    json_t *values[FAMILY_MAX_PARAMS]; /* of a choice: the list as the user wrote it; borrowed */
    json_t *spec;                      /* the spec's space, which `values` borrow from */
    const struct space *space;         /* borrowed: freed by who freed this */
};

/* Builds both from the spec's space. levels: how often a trial may report. Errors carry the path of
 * the key. After an error nothing is left to free. */
struct own *own_new(json_t *spec, int levels, struct space **space, struct err *err);
/* Adds the spec's constraints to the space. */
int own_constrain(struct space *s, const json_t *list, struct err *err);
/* An error if hardly any configuration keeps the constraints. */
int own_is_feasible(const struct space *s, struct err *err);
void own_free(struct own *own);
/* The same of a family; NULL if it is one of ml/. */
const struct own *own_of(const struct family *f);
/* The choice that a user's value names, or -1. */
int own_choice_find(const struct own *own, int param, const json_t *v);
/* Makes inactive parameters NaN, after the others were set. An error where a parameter of `given`
 * (a configuration as JSON, or NULL) is not active, or where a value is outside the space. */
int own_settle(const struct own *own, const json_t *given, const char *path, double *params,
               struct err *err);
/* The active parameters with their values as the user's program wants them: {"lr": 0.1}. */
json_t *own_params_json(const struct own *own, const double *params);

#endif
