/* str.h - strict parsing and checking of text. A parser takes the whole string or fails; no locale. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int str_i64(const char *s, int64_t min, int64_t max, int64_t *out, struct err *err);
int str_u64(const char *s, uint64_t *out, struct err *err);
int str_f64(const char *s, double *out, struct err *err); /* finite only; "1e400" is an error */
int str_duration_ms(const char *s, int64_t *out,
                    struct err *err); /* "250ms" "60s" "10m" "2h" "1d"; a bare number is seconds */
int str_bytes(const char *s, int64_t *out, struct err *err); /* "8GiB" "512MB" "1024" */
bool str_name_ok(const char *s); /* 1..120 bytes of [A-Za-z0-9._-], not starting with '.' or '-' */
bool str_sha256_ok(const char *s);         /* 64 lower-case hex digits */
bool str_eq(const char *a, const char *b); /* NULL-safe */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
size_t str_copy(char *dst, size_t size,
                const char *src); /* always terminated; returns strlen(src) */
void str_hex(const uint8_t *bytes, size_t n, char *out); /* 2n digits + NUL */
int str_unhex(const char *s, uint8_t *out, size_t n, struct err *err);
/* The name that was meant by `s`, or NULL when none is near: the same in another case or with other joints (learning-rate),
 * few letters apart, or sharing whole parts (no_gain: no_gain_trials). */
const char *str_nearest(const char *s, const char *const *names, size_t n);
/* What other programs call something, and what it is called here: one of the names, or words for people ("budget: {time:
 * ...}", told by the space in them). */
struct str_alias {
    const char *word, *means;
};
const char *str_nearest_or(const char *s, const char *const *names, size_t n,
                           const struct str_alias *aliases, size_t n_aliases);
void str_list(const char *const *names, size_t n, char *out, size_t size); /* "a, b, c" */
void str_fmt_bytes(int64_t n, char *out, size_t size);                     /* "1.5 MiB" */
void str_fmt_ms(int64_t ms, char *out, size_t size);                       /* "1m12s" */

#endif
