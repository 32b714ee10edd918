/* spec_private.h - what the parsers of a spec share. Private to spec.c, spec_goal.c. */
#ifndef PROTO_SPEC_PRIVATE_H
#define PROTO_SPEC_PRIVATE_H

#include "proto/spec.h"

#define ONLY(o, path, keys, err) jsonx_only(o, path, keys, ARRAY_LEN(keys), err)

/* Index of a word among `known`, 0 kept when absent: 1, 0 = absent, -1. */
int spec_word_parse(const json_t *o, const char *path, const char *key, const char *const *known,
                    size_t n, int *out, struct err *err);

/* spec_goal.c: `metric` and `objectives`; the task is known. */
int spec_goal_parse(struct spec *s, const json_t *o, struct err *err);
int spec_monotone_parse(struct spec *s, const json_t *o, struct err *err); /* likewise */
/* Whether they suit `deterministic`, which is known. */
int spec_goal_check(const struct spec *s, struct err *err);
bool spec_goal_is_measured(const struct spec *s); /* an objective is in seconds */

#endif
