/* spec_private.h - what the parsers of a spec share. Private to spec.c, spec_goal.c,
 * spec_rows.c, spec_near.c and spec_write.c. A parser returns 1 if the key was there, 0 if it was absent, -1 on error; one that
 * has nothing to tell apart returns 0 for both. */
#ifndef PROTO_SPEC_PRIVATE_H
#define PROTO_SPEC_PRIVATE_H

#include "proto/spec.h"

#define ONLY(o, path, keys, err) spec_only(o, path, keys, ARRAY_LEN(keys), err)

/* Reads a word that must be one of `known`; *out is its index. An absent key leaves *out as it
 * is. */
int spec_word_parse(const json_t *o, const char *path, const char *key, const char *const *known,
                    size_t n, int *out, struct err *err);

/* spec_near.c: as jsonx_only, but a suggestion may also come from the names of other tools. */
int spec_only(const json_t *o, const char *path, const char *const *keys, size_t n,
              struct err *err);
/* The known word that `word` was probably meant to be; NULL = none is close. */
const char *spec_word_near(const char *word, const char *const *known, size_t n);
/* An error if `key` takes an object and was given a number or text; it says how to write it. */
int spec_shape_check(const json_t *o, const char *key, struct err *err);

/* spec_rows.c: `groups`, `time` and `weights`. target and columns must have been read before. */
int spec_rows_parse(struct spec *s, const json_t *o, struct err *err);
void spec_rows_write(json_t *o, const struct spec *s);

/* spec_goal.c: reads `metric` and `objectives`. s->task must have been read before. */
int spec_goal_parse(struct spec *s, const json_t *o, struct err *err);
int spec_monotone_parse(struct spec *s, const json_t *o, struct err *err); /* likewise */
/* An error if an objective does not suit `deterministic`, which must have been read before. */
int spec_goal_check(const struct spec *s, struct err *err);
bool spec_goal_is_measured(const struct spec *s); /* is an objective measured in seconds? */

/* A duration: a number of seconds, or text such as 10m; 0 = no limit. 1 = it is there, 0, -1. */
int spec_duration_parse(const json_t *o, const char *path, const char *key, int64_t *out,
                        struct err *err);
/* A number of bytes, or text such as 2GiB. 1 = it is there, 0, -1. */
int spec_bytes_parse(const json_t *o, const char *path, const char *key, int64_t *out,
                     struct err *err);
/* spec_own.c: whether the spec is of a study with a space of its own, and its keys that no other
 * study has. */
bool spec_own_wanted(const json_t *o);
int spec_own_parse(struct spec *s, const json_t *o, struct err *err);

#endif
