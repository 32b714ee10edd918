/* spec_private.h - what the parsers of a spec share. Private to spec.c, spec_goal.c, spec_near.c. */
#ifndef PROTO_SPEC_PRIVATE_H
#define PROTO_SPEC_PRIVATE_H

#include "proto/spec.h"

#define ONLY(o, path, keys, err) spec_only(o, path, keys, ARRAY_LEN(keys), err)

/* Index of a word among `known`, 0 kept when absent: 1, 0 = absent, -1. */
int spec_word_parse(const json_t *o, const char *path, const char *key, const char *const *known,
                    size_t n, int *out, struct err *err);

/* spec_near.c: as jsonx_only, with the names of other tools among what may have been meant. */
int spec_only(const json_t *o, const char *path, const char *const *keys, size_t n,
              struct err *err);
const char *spec_word_near(const char *word, const char *const *known, size_t n); /* NULL = none */
/* A key that takes an object and was given a number or text: how the object is written. */
int spec_shape_check(const json_t *o, const char *key, struct err *err);

/* spec_goal.c: `metric` and `objectives`; the task is known. */
int spec_goal_parse(struct spec *s, const json_t *o, struct err *err);
int spec_monotone_parse(struct spec *s, const json_t *o, struct err *err); /* likewise */
/* Whether they suit `deterministic`, which is known. */
int spec_goal_check(const struct spec *s, struct err *err);
bool spec_goal_is_measured(const struct spec *s); /* an objective is in seconds */

#endif
