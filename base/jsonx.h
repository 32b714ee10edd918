/* jsonx.h - strict JSON on top of jansson: loading with limits, and typed getters whose errors name
 * the path of the offending key, and for an unknown key the nearest known one. Everything that
 * comes in as JSON is read with it. Ownership is jansson's: a function in _new gives a
 * reference. */
#ifndef BASE_JSONX_H
#define BASE_JSONX_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One value in UTF-8 without duplicate keys or NUL, at most 64 levels deep. `what` names the input
 * in errors. */
json_t *jsonx_load(const char *bytes, size_t n, const char *what, struct err *err);
/* Compact, with sorted keys and 17 digits, so that equal values give equal text. mem_free it. */
char *jsonx_dump(const json_t *v);
/* The same with 6 digits, for measurements. */
char *jsonx_dump_short(const json_t *v);
json_t *jsonx_real(double v); /* null for NaN and infinities, which JSON does not have */

/* The getters take the path of the object `o` in its document: NULL or "" for the root, "budget",
 * "space[0]". An error has "path.key" in err->where. */
enum jsonx_need { JSONX_OPTIONAL, JSONX_REQUIRED };

/* Each returns 1 if the key is there and valid (*out is set), 0 if it is absent or null and
 * optional (*out is not touched), -1 on error. */
int jsonx_i64(const json_t *o, const char *path, const char *key, enum jsonx_need need, int64_t min,
              int64_t max, int64_t *out, struct err *err);
int jsonx_f64(const json_t *o, const char *path, const char *key, enum jsonx_need need, double *out,
              struct err *err);
int jsonx_bool(const json_t *o, const char *path, const char *key, enum jsonx_need need, bool *out,
               struct err *err);
int jsonx_str(const json_t *o, const char *path, const char *key, enum jsonx_need need,
              size_t max_len, const char **out, struct err *err); /* borrowed */
int jsonx_obj(const json_t *o, const char *path, const char *key, enum jsonx_need need,
              json_t **out, struct err *err); /* borrowed */
int jsonx_arr(const json_t *o, const char *path, const char *key, enum jsonx_need need,
              size_t max_len, json_t **out, struct err *err); /* borrowed */

/* An error if `o` is not an object or has a key that is not among `keys`:
 * "budget.tiem: unknown key; did you mean time?" */
int jsonx_only(const json_t *o, const char *path, const char *const *keys, size_t n,
               struct err *err);
/* Writes the path of a member: "a.b" and "c" give "a.b.c"; "a.b" and 3 give "a.b[3]". A path that
 * is too long is cut. */
void jsonx_path(char *out, size_t size, const char *path, const char *key);
void jsonx_path_at(char *out, size_t size, const char *path, size_t index);

#endif
