/* jsonx.c - see jsonx.h. The depth is checked before jansson parses the bytes, because jansson
 * allows 2048 levels, and everything that walks a value uses stack for each level. */
#include "base/jsonx.h"

#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 64 };

/* Counts brackets outside strings. Other errors of syntax are left to jansson. */
static int depth_check(const char *bytes, size_t n, const char *what, struct err *err)
{
    bool in_string = false;
    int depth = 0;

    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];

        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            if (++depth > DEPTH_MAX)
                return err_set(err, ERR_ARG, "%s: nested deeper than %d", what, DEPTH_MAX);
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    return 0;
}

json_t *jsonx_load(const char *bytes, size_t n, const char *what, struct err *err)
{
    json_error_t why;
    json_t *v = NULL;

    if (n && memchr(bytes, 0, n)) { /* jansson would stop there and ignore the rest */
        err_set(err, ERR_ARG, "%s: holds a NUL byte", what);
        return NULL;
    }
    if (depth_check(bytes, n, what, err) < 0)
        return NULL;
    v = json_loadb(n ? bytes : "", n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!v)
        err_set(err, ERR_ARG, "%s: line %d, column %d: %s", what, why.line, why.column, why.text);
    return v;
}

/* Keys are sorted, so that equal values give equal bytes. digits: of real numbers; 17 keep every
 * double exactly. */
static char *dump(const json_t *v, size_t digits)
{
    char *s = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
                                JSON_REAL_PRECISION(digits));

    CHECK(s); /* fails only for a value that was built wrongly, or without memory */
    return s;
}

char *jsonx_dump(const json_t *v)
{
    return dump(v, 17);
}

char *jsonx_dump_short(const json_t *v)
{
    return dump(v, 6);
}

json_t *jsonx_real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

void jsonx_path(char *out, size_t size, const char *path, const char *key)
{
    int rc = snprintf(out, size, "%s%s%s", path ? path : "", path && path[0] ? "." : "", key);

    (void)rc; /* a path too long to show is cut */
}

void jsonx_path_at(char *out, size_t size, const char *path, size_t index)
{
    int rc = snprintf(out, size, "%s[%zu]", path ? path : "", index);

    (void)rc;
}

static const char *type_name(const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "text";
    case JSON_INTEGER:
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    default:
        return "null";
    }
}

/* An error about key `key` of the object at `path`. */
static int fail(struct err *err, const char *path, const char *key, const char *problem)
{
    char where[sizeof err->where];

    jsonx_path(where, sizeof where, path, key);
    return err_at(err, where, "%s", problem);
}

static int wrong_type(struct err *err, const char *path, const char *key, const char *want,
                      const json_t *got)
{
    char where[sizeof err->where];

    jsonx_path(where, sizeof where, path, key);
    return err_at(err, where, "must be %s, not %s", want, type_name(got));
}

/* Looks up a key of an object: 1 and *v, 0 if it is absent or null and optional, -1 on error. */
static int find(const json_t *o, const char *path, const char *key, enum jsonx_need need,
                json_t **v, struct err *err)
{
    if (!json_is_object(o))
        return err_at(err, path ? path : "", "must be an object, not %s",
                      o ? type_name(o) : "nothing");
    *v = json_object_get(o, key);
    if (*v && !json_is_null(*v))
        return 1;
    return need == JSONX_REQUIRED ? fail(err, path, key, "is required") : 0;
}

/* Accepts an integer, or a real number without a fraction such as 1e3. Above 2^53 a double cannot
 * tell neighbouring integers apart, so larger ones must be written as integers. */
static bool whole(const json_t *v, int64_t *out)
{
    double d = json_real_value(v);

    if (json_is_integer(v)) {
        *out = json_integer_value(v);
        return true;
    }
    if (!json_is_real(v) || !(fabs(d) <= 9007199254740992.0) || floor(d) != d)
        return false;
    *out = (int64_t)d;
    return true;
}

int jsonx_i64(const json_t *o, const char *path, const char *key, enum jsonx_need need, int64_t min,
              int64_t max, int64_t *out, struct err *err)
{
    char where[sizeof err->where];
    json_t *v = NULL;
    int64_t x = 0;
    int rc = find(o, path, key, need, &v, err);

    if (rc <= 0)
        return rc;
    if (!json_is_number(v))
        return wrong_type(err, path, key, "a whole number", v);
    jsonx_path(where, sizeof where, path, key);
    if (!whole(v, &x))
        return err_at(err, where, "must be a whole number, not %g", json_number_value(v));
    if (x < min || x > max)
        return err_at(err, where, "must be from %" PRId64 " to %" PRId64 ", not %" PRId64, min, max,
                      x);
    *out = x;
    return 1;
}

int jsonx_f64(const json_t *o, const char *path, const char *key, enum jsonx_need need, double *out,
              struct err *err)
{
    json_t *v = NULL;
    int rc = find(o, path, key, need, &v, err);

    if (rc <= 0)
        return rc;
    if (!json_is_number(v))
        return wrong_type(err, path, key, "a number", v);
    *out = json_number_value(v);
    return 1;
}

int jsonx_bool(const json_t *o, const char *path, const char *key, enum jsonx_need need, bool *out,
               struct err *err)
{
    json_t *v = NULL;
    int rc = find(o, path, key, need, &v, err);

    if (rc <= 0)
        return rc;
    if (!json_is_boolean(v))
        return wrong_type(err, path, key, "true or false", v);
    *out = json_is_true(v);
    return 1;
}

int jsonx_str(const json_t *o, const char *path, const char *key, enum jsonx_need need,
              size_t max_len, const char **out, struct err *err)
{
    char where[sizeof err->where];
    json_t *v = NULL;
    int rc = find(o, path, key, need, &v, err);

    if (rc <= 0)
        return rc;
    if (!json_is_string(v))
        return wrong_type(err, path, key, "text", v);
    if (json_string_length(v) > max_len) {
        jsonx_path(where, sizeof where, path, key);
        return err_at(err, where, "is %zu bytes long, at most %zu are allowed",
                      json_string_length(v), max_len);
    }
    *out = json_string_value(v);
    return 1;
}

int jsonx_obj(const json_t *o, const char *path, const char *key, enum jsonx_need need,
              json_t **out, struct err *err)
{
    json_t *v = NULL;
    int rc = find(o, path, key, need, &v, err);

    if (rc <= 0)
        return rc;
    if (!json_is_object(v))
        return wrong_type(err, path, key, "an object", v);
    *out = v;
    return 1;
}

int jsonx_arr(const json_t *o, const char *path, const char *key, enum jsonx_need need,
              size_t max_len, json_t **out, struct err *err)
{
    char where[sizeof err->where];
    json_t *v = NULL;
    int rc = find(o, path, key, need, &v, err);

    if (rc <= 0)
        return rc;
    if (!json_is_array(v))
        return wrong_type(err, path, key, "a list", v);
    if (json_array_size(v) > max_len) {
        jsonx_path(where, sizeof where, path, key);
        return err_at(err, where, "has %zu items, at most %zu are allowed", json_array_size(v),
                      max_len);
    }
    *out = v;
    return 1;
}

static int unknown_key(const char *path, const char *key, const char *const *keys, size_t n,
                       struct err *err)
{
    const char *close = str_nearest(key, keys, n);
    char where[sizeof err->where];

    jsonx_path(where, sizeof where, path, key);
    if (close)
        return err_at(err, where, "unknown key; did you mean %s?", close);
    return err_at(err, where, "unknown key");
}

int jsonx_only(const json_t *o, const char *path, const char *const *keys, size_t n,
               struct err *err)
{
    if (!json_is_object(o))
        return err_at(err, path ? path : "", "must be an object, not %s",
                      o ? type_name(o) : "nothing");
    for (void *it = json_object_iter((json_t *)o); it;
         it = json_object_iter_next((json_t *)o, it)) {
        const char *key = json_object_iter_key(it);
        size_t i = 0;

        while (i < n && strcmp(key, keys[i]) != 0)
            i++;
        if (i == n)
            return unknown_key(path, key, keys, n, err);
    }
    return 0;
}
