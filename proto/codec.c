/* codec.c - goes through a field table in two directions: struct to JSON, and JSON to struct.
 * codec.h says what each type means.
 *
 * Decoding trusts nothing: lengths and ranges are in the table, and a list that is too long is
 * refused before memory is allocated for it. Encoding trusts its caller: a struct with a value that
 * our own decoder would refuse is a bug, which the round-trip tests find. Only text from outside
 * (host names, error texts) is repaired on the way out. */
#include "proto/codec.h"

#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void *member(void *base, const struct codec_field *f)
{
    return (char *)base + f->off;
}

static const void *member_const(const void *base, const struct codec_field *f)
{
    return (const char *)base + f->off;
}

static int *count_of(void *base, const struct codec_field *f)
{
    return (int *)(void *)((char *)base + f->count_off);
}

static int count_get(const void *base, const struct codec_field *f)
{
    return *(const int *)(const void *)((const char *)base + f->count_off);
}

/* ---- encoding ---- */

static json_t *string_new(const char *s)
{
    json_t *j = json_string(s);
    if (j)
        return j;
    char *copy = mem_strdup(s);
    for (char *p = copy; *p; p++) {
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    }
    j = json_string(copy);
    mem_free(copy);
    CHECK(j);
    return j;
}

static json_t *u64_new(uint64_t v)
{
    char text[17];
    (void)snprintf(text, sizeof text, "%016" PRIx64, v);
    return json_string(text);
}

static json_t *json_text_new(const char *text)
{
    struct err err = { 0 };
    json_t *j = jsonx_load(text, strlen(text), "config", &err);
    CHECK(j && json_is_object(j)); /* our own text, checked when it came in */
    return j;
}

/* Takes the value that the caller has parsed already, or parses the text. */
static json_t *json_value_new(const struct codec_field *f, const void *src)
{
    const char *text = *(char *const *)member_const(src, f);
    json_t *known = NULL;

    if (f->count_off)
        known = *(json_t *const *)(const void *)((const char *)src + f->count_off);
    return known ? json_incref(known) : text ? json_text_new(text) : NULL;
}

static json_t *elements_new(const struct codec_field *f, const void *first, int n)
{
    json_t *list = json_array();

    CHECK(n >= 0 && n <= f->max);
    for (int i = 0; i < n; i++) {
        const char *at = (const char *)first + (size_t)i * f->size;
        json_t *e = f->sub ? codec_json_new(f->sub, at) : json_string(at);
        CHECK(e && json_array_append_new(list, e) == 0);
    }
    return list;
}

/* The field's value, or NULL where it is empty. */
static json_t *value_new(const struct codec_field *f, const void *src)
{
    const void *p = member_const(src, f);

    switch (f->type) {
    case CODEC_BOOL:
        return *(const bool *)p ? json_true() : NULL;
    case CODEC_INT:
        return *(const int *)p ? json_integer(*(const int *)p) : NULL;
    case CODEC_I64:
        return *(const int64_t *)p ? json_integer((json_int_t) * (const int64_t *)p) : NULL;
    case CODEC_U64:
        return *(const uint64_t *)p ? u64_new(*(const uint64_t *)p) : NULL;
    case CODEC_F64:
        return isfinite(*(const double *)p) ? json_real(*(const double *)p) : NULL;
    case CODEC_STR:
    case CODEC_SHA:
        return *(const char *)p ? string_new(p) : NULL;
    case CODEC_ENUM:
        CHECK(*(const int *)p >= 0 && *(const int *)p <= f->max);
        return *(const int *)p ? json_string(f->names[*(const int *)p]) : NULL;
    case CODEC_TEXT:
        return *(char *const *)p ? string_new(*(char *const *)p) : NULL;
    case CODEC_JSON:
        return json_value_new(f, src);
    case CODEC_OBJ:
        return codec_json_new(f->sub, p);
    case CODEC_ARRAY:
    case CODEC_SHAS:
        return count_get(src, f) ? elements_new(f, p, count_get(src, f)) : NULL;
    case CODEC_LIST:
        return count_get(src, f) ? elements_new(f, *(void *const *)p, count_get(src, f)) : NULL;
    }
    return NULL;
}

/* The value that means "empty" for a field that must be present. */
static json_t *empty_new(const struct codec_field *f)
{
    switch (f->type) {
    case CODEC_BOOL:
        return json_false();
    case CODEC_INT:
    case CODEC_I64:
        return json_integer(0);
    case CODEC_U64:
        return u64_new(0);
    case CODEC_ENUM:
        return json_string(f->names[0]);
    case CODEC_STR:
    case CODEC_SHA:
    case CODEC_TEXT:
        return json_string("");
    case CODEC_ARRAY:
    case CODEC_LIST:
    case CODEC_SHAS:
        return json_array();
    default:
        return json_null();
    }
}

json_t *codec_json_new(const struct codec_table *t, const void *src)
{
    json_t *o = json_object();

    for (size_t i = 0; i < t->n; i++) {
        const struct codec_field *f = &t->fields[i];
        json_t *v = value_new(f, src);
        if (!v && f->need == JSONX_REQUIRED)
            v = empty_new(f);
        if (v)
            CHECK(json_object_set_new(o, f->name, v) == 0);
    }
    return o;
}

/* ---- decoding ---- */

static int string_parse(const struct codec_field *f, char *dst, const json_t *j, const char *path,
                        struct err *err)
{
    const char *s = NULL;
    int rc = jsonx_str(j, path, f->name, f->need, f->size - 1, &s, err);

    if (rc <= 0)
        return rc;
    if (f->type == CODEC_SHA && *s && !str_sha256_ok(s)) {
        char where[120];
        jsonx_path(where, sizeof where, path, f->name);
        return err_at(err, where, "must be a SHA-256 in 64 lower-case hex digits");
    }
    str_copy(dst, f->size, s);
    return 1;
}

static int u64_parse(const struct codec_field *f, uint64_t *dst, const json_t *j, const char *path,
                     struct err *err)
{
    const char *s = NULL;
    uint8_t bytes[8];
    int rc = jsonx_str(j, path, f->name, f->need, 16, &s, err);

    if (rc <= 0)
        return rc;
    if (strlen(s) != 16 || str_unhex(s, bytes, sizeof bytes, NULL) < 0) {
        char where[120];
        jsonx_path(where, sizeof where, path, f->name);
        return err_at(err, where, "must be 16 hex digits");
    }
    *dst = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        *dst = *dst << 8 | bytes[i];
    return 1;
}

static int enum_parse(const struct codec_field *f, int *dst, const json_t *j, const char *path,
                      struct err *err)
{
    const char *s = NULL;
    int rc = jsonx_str(j, path, f->name, f->need, 64, &s, err);

    if (rc <= 0)
        return rc;
    for (int i = 0; i <= f->max; i++) {
        if (strcmp(s, f->names[i]) == 0) {
            *dst = i;
            return 1;
        }
    }
    char where[120];
    jsonx_path(where, sizeof where, path, f->name);
    return err_at(err, where, "\"%.40s\" is not known here", s);
}

static int text_parse(const struct codec_field *f, char **dst, const json_t *j, const char *path,
                      struct err *err)
{
    const char *s = NULL;
    json_t *o = NULL;
    int rc = f->type == CODEC_TEXT ? jsonx_str(j, path, f->name, f->need, (size_t)f->max, &s, err)
                                   : jsonx_obj(j, path, f->name, f->need, &o, err);

    if (rc <= 0)
        return rc;
    *dst = s ? mem_strdup(s) : jsonx_dump(o);
    if (strlen(*dst) <= (size_t)f->max)
        return 1;
    char where[120];
    jsonx_path(where, sizeof where, path, f->name);
    return err_at(err, where, "is longer than %" PRId64 " bytes", f->max);
}

static int sha_elements_parse(const struct codec_field *f, char *first, int *n, json_t *list,
                              const char *path, struct err *err)
{
    size_t i = 0;
    json_t *e = NULL;

    json_array_foreach(list, i, e)
    {
        const char *s = json_string_value(e);
        if (!s || !str_sha256_ok(s)) {
            char where[120];
            jsonx_path_at(where, sizeof where, path, i);
            return err_at(err, where, "must be a SHA-256 in 64 lower-case hex digits");
        }
        str_copy(first + i * f->size, f->size, s);
        *n = (int)i + 1;
    }
    return 1;
}

static int elements_parse(const struct codec_field *f, void *dst, const json_t *j, const char *path,
                          struct err *err)
{
    json_t *list = NULL, *e = NULL;
    char here[120], at[120];
    size_t i = 0;
    int rc = jsonx_arr(j, path, f->name, f->need, (size_t)f->max, &list, err);

    if (rc <= 0)
        return rc;
    jsonx_path(here, sizeof here, path, f->name);
    char *first = member(dst, f);
    int *n = count_of(dst, f);
    if (f->type == CODEC_SHAS)
        return sha_elements_parse(f, first, n, list, here, err);
    if (f->type == CODEC_LIST) {
        first = json_array_size(list) ? mem_array(json_array_size(list), f->size) : NULL;
        *(void **)member(dst, f) = first;
    }
    json_array_foreach(list, i, e)
    {
        char *element = first + i * f->size;
        if (f->sub->init)
            f->sub->init(element);
        *n = (int)i + 1; /* before parsing, so that codec_fini sees a half-made element */
        jsonx_path_at(at, sizeof at, here, i);
        if (codec_parse(f->sub, element, e, at, err) < 0)
            return -1;
    }
    return 1;
}

static int object_parse(const struct codec_field *f, void *dst, const json_t *j, const char *path,
                        struct err *err)
{
    json_t *o = NULL;
    char here[120];
    int rc = jsonx_obj(j, path, f->name, f->need, &o, err);

    if (rc <= 0)
        return rc;
    jsonx_path(here, sizeof here, path, f->name);
    return codec_parse(f->sub, dst, o, here, err);
}

static int field_parse(const struct codec_field *f, void *dst, const json_t *j, const char *path,
                       struct err *err)
{
    void *p = member(dst, f);
    int64_t i64 = 0;
    int rc = 0;

    switch (f->type) {
    case CODEC_BOOL:
        return jsonx_bool(j, path, f->name, f->need, p, err);
    case CODEC_INT:
        rc = jsonx_i64(j, path, f->name, f->need, f->min, f->max, &i64, err);
        if (rc == 1)
            *(int *)p = (int)i64;
        return rc;
    case CODEC_I64:
        return jsonx_i64(j, path, f->name, f->need, f->min, f->max, p, err);
    case CODEC_U64:
        return u64_parse(f, p, j, path, err);
    case CODEC_F64:
        return jsonx_f64(j, path, f->name, f->need, p, err);
    case CODEC_STR:
    case CODEC_SHA:
        return string_parse(f, p, j, path, err);
    case CODEC_ENUM:
        return enum_parse(f, p, j, path, err);
    case CODEC_TEXT:
    case CODEC_JSON:
        return text_parse(f, p, j, path, err);
    case CODEC_OBJ:
        return object_parse(f, p, j, path, err);
    case CODEC_ARRAY:
    case CODEC_LIST:
    case CODEC_SHAS:
        return elements_parse(f, dst, j, path, err);
    }
    return 0;
}

int codec_parse(const struct codec_table *t, void *dst, const json_t *j, const char *path,
                struct err *err)
{
    if (!json_is_object(j))
        return err_at(err, path ? path : "", "must be an object");
    for (size_t i = 0; i < t->n; i++) {
        if (field_parse(&t->fields[i], dst, j, path, err) < 0)
            return -1;
    }
    return 0;
}

void codec_fini(const struct codec_table *t, void *dst)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct codec_field *f = &t->fields[i];
        if (f->type == CODEC_TEXT || f->type == CODEC_JSON) {
            mem_free(*(char **)member(dst, f));
            *(char **)member(dst, f) = NULL;
        } else if (f->type == CODEC_OBJ) {
            codec_fini(f->sub, member(dst, f));
        } else if (f->type == CODEC_LIST) {
            char *first = *(char **)member(dst, f);
            for (int k = 0; first && k < count_get(dst, f); k++)
                codec_fini(f->sub, first + (size_t)k * f->size);
            mem_free(first);
            *(char **)member(dst, f) = NULL;
            *count_of(dst, f) = 0;
        }
    }
}
