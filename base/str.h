/* str.h - strict parsing and checking of text. A parser accepts the whole string or fails with an
 * error that quotes it; leading spaces, trailing text and the locale play no part. */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int str_i64(const char *s, int64_t min, int64_t max, int64_t *out, struct err *err);
int str_u64(const char *s, uint64_t *out, struct err *err);
int str_f64(const char *s, double *out, struct err *err); /* finite only; "1e400" is an error */
/* "250ms", "60s", "10m", "2h", "1d", or a sum such as "1h30m"; a bare number means seconds. */
int str_duration_ms(const char *s, int64_t *out, struct err *err);
/* "1024", "512MB" (powers of 1000), "8GiB" (powers of 1024), "B" for bytes. */
int str_bytes(const char *s, int64_t *out, struct err *err);
bool str_name_ok(const char *s); /* 1..120 bytes of [A-Za-z0-9._-], not starting with '.' or '-' */
bool str_sha256_ok(const char *s);         /* 64 lower-case hex digits */
bool str_eq(const char *a, const char *b); /* NULL-safe */
bool str_starts(const char *s, const char *prefix);
bool str_ends(const char *s, const char *suffix);
/* Copies what fits, always with a final NUL. Returns strlen(src), so >= size means "was cut". */
size_t str_copy(char *dst, size_t size, const char *src);
void str_hex(const uint8_t *bytes, size_t n, char *out); /* 2n digits + NUL */
int str_unhex(const char *s, uint8_t *out, size_t n, struct err *err);
/* The name that `s` was probably meant to be, or NULL if none is close. A name is close if it
 * differs only in case and separators (learning-rate), in a few letters, or if it contains the
 * same words (no_gain for no_gain_trials). */
const char *str_nearest(const char *s, const char *const *names, size_t n);
/* A word of other programs and what this program calls it: one of the names, or a hint for people
 * such as "budget: {time: ...}". A hint is recognised by the space in it. */
struct str_alias {
    const char *word, *means;
};
const char *str_nearest_or(const char *s, const char *const *names, size_t n,
                           const struct str_alias *aliases, size_t n_aliases);
void str_list(const char *const *names, size_t n, char *out, size_t size); /* "a, b, c" */
void str_fmt_bytes(int64_t n, char *out, size_t size);                     /* "1.5 MiB" */
void str_fmt_ms(int64_t ms, char *out, size_t size);                       /* "1m12s" */

#endif
