/* jsonx.h - strict JSON on top of jansson: loading with limits, typed gets that name the path of the
 * offending key, unknown-key errors with the nearest known key. Ownership is jansson's: _new steals. */
#ifndef BASE_JSONX_H
#define BASE_JSONX_H

#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Strict: one value, UTF-8, no duplicate keys, no NUL, depth <= 64. `what` names the input in errors. */
json_t *jsonx_load(const char *bytes, size_t n, const char *what, struct err *err);
char *jsonx_dump(const json_t *v); /* compact, sorted keys, 17 digits; caller frees with mem_free */
json_t *jsonx_real(double v);      /* null for NaN and infinities */

/* Where we are in a document: "" at the root, "budget", "space[0].learning_rate". Pass the parent's path;
 * errors carry "parent.key" in err->where. path may be NULL (= root). */
enum jsonx_need { JSONX_OPTIONAL, JSONX_REQUIRED };

/* Each returns 1 when present and valid (out set), 0 when absent or null and optional (out untouched), -1 on error. */
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

/* -1 when `o` is no object or has a key that is not among `keys`: "budget.tiem: unknown key; did you mean time?" */
int jsonx_only(const json_t *o, const char *path, const char *const *keys, size_t n,
               struct err *err);
/* "a.b" + "c" -> "a.b.c" into out (truncated safely). Index variant: "a.b" + 3 -> "a.b[3]". */
void jsonx_path(char *out, size_t size, const char *path, const char *key);
void jsonx_path_at(char *out, size_t size, const char *path, size_t index);

#endif
