/* spec_rows.c - columns of the table that say how rows are used: `groups` and `time` divide them
 * for validation, `weights` says what each of them counts. */
#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The largest gap, in the units of the time column; about three million years in seconds. */
#define GAP_MAX 1e14

/* The name of a column, which is not the target. */
static int column_take(const struct spec *s, const char *text, const char *where, char *out,
                       size_t size, struct err *err)
{
    if (!text || !*text)
        return err_at(err, where, "must be the name of a column");
    if (strlen(text) >= size)
        return err_at(err, where, "must have at most %zu bytes", size - 1);
    if (str_eq(text, s->target))
        return err_at(err, where, "\"%.80s\" is the target", text);
    if (s->columns && str_eq(json_string_value(json_object_get(s->columns, text)), "ignore"))
        return err_at(err, where, "\"%.80s\" is ignored by columns", text);
    str_copy(out, size, text);
    return 1;
}

/* `key: COLUMN` or `key: {column: COLUMN, ...}`; *object is then the object. */
static int column_parse(const struct spec *s, const json_t *o, const char *key,
                        const char *const *keys, size_t n_keys, char *out, size_t size,
                        json_t **object, struct err *err)
{
    json_t *v = json_object_get(o, key);
    const char *text = NULL;
    char where[40];

    *object = NULL;
    if (!v || json_is_null(v))
        return 0;
    if (json_is_string(v))
        return column_take(s, json_string_value(v), key, out, size, err);
    if (!json_is_object(v) || n_keys == 0)
        return err_at(err, key, "must be the name of a column%s",
                      n_keys ? ", or {column: NAME, ...}" : "");
    if (spec_only(v, key, keys, n_keys, err) < 0 ||
        jsonx_str(v, key, "column", JSONX_REQUIRED, 255, &text, err) < 0)
        return -1;
    *object = v;
    (void)snprintf(where, sizeof where, "%s.column", key);
    return column_take(s, text, where, out, size, err);
}

static int input_parse(const json_t *o, const char *where, bool *out, struct err *err)
{
    const json_t *v = json_object_get(o, "input");

    if (!v || json_is_null(v))
        return 0;
    if (!json_is_boolean(v))
        return err_at(err, where, "must be true or false");
    *out = json_is_true(v);
    return 1;
}

/* A number in the units of the column, or a duration such as 7d, which is seconds. */
static int gap_parse(struct spec *s, const json_t *o, struct err *err)
{
    const json_t *v = json_object_get(o, "gap");
    struct err why = { 0 };
    int64_t ms = 0;

    if (!v || json_is_null(v))
        return 0;
    if (json_is_string(v)) {
        if (str_duration_ms(json_string_value(v), &ms, &why) < 0)
            return err_at(err, "time.gap", "%s", why.text);
        s->time_gap = (double)ms / 1000;
    } else if (json_is_number(v)) {
        s->time_gap = json_number_value(v);
    } else {
        return err_at(err, "time.gap", "must be a number, or a duration such as 7d");
    }
    return s->time_gap >= 0 && s->time_gap <= GAP_MAX
               ? 1
               : err_at(err, "time.gap", "must be from 0 to 1e14");
}

/* `time: 10m` was meant as a budget. A column of such a name is written {column: 10m}. */
static int duration_check(const json_t *o, struct err *err)
{
    const json_t *v = json_object_get(o, "time");
    struct err ignored = { 0 };
    int64_t ms = 0;

    if (json_is_string(v) && str_duration_ms(json_string_value(v), &ms, &ignored) == 0)
        return err_at(err, "time",
                      "is the column that orders the rows; did you mean budget: {time: %.40s}?",
                      json_string_value(v));
    return 0;
}

int spec_rows_parse(struct spec *s, const json_t *o, struct err *err)
{
    static const char *const group_keys[] = { "column", "input" };
    static const char *const time_keys[] = { "column", "gap", "input" };
    json_t *groups = NULL, *time = NULL, *none = NULL;

    if (duration_check(o, err) < 0 ||
        column_parse(s, o, "groups", group_keys, ARRAY_LEN(group_keys), s->groups, sizeof s->groups,
                     &groups, err) < 0 ||
        input_parse(groups, "groups.input", &s->groups_are_input, err) < 0 ||
        column_parse(s, o, "time", time_keys, ARRAY_LEN(time_keys), s->time_column,
                     sizeof s->time_column, &time, err) < 0 ||
        input_parse(time, "time.input", &s->time_is_input, err) < 0 ||
        gap_parse(s, time, err) < 0 ||
        column_parse(s, o, "weights", NULL, 0, s->weights, sizeof s->weights, &none, err) < 0)
        return -1;
    if (s->groups[0] && s->time_column[0])
        return err_at(err, "groups",
                      "cannot be used together with time: folds are made by groups or forward in "
                      "time, not both");
    if (s->weights[0] && (str_eq(s->weights, s->groups) || str_eq(s->weights, s->time_column)))
        return err_at(err, "weights", "\"%.80s\" is already the column of %s", s->weights,
                      str_eq(s->weights, s->groups) ? "groups" : "time");
    return 0;
}

static void set(json_t *o, const char *key, json_t *v)
{
    CHECK(json_object_set_new(o, key, v) == 0);
}

void spec_rows_write(json_t *o, const struct spec *s)
{
    if (s->groups[0])
        set(o, "groups",
            json_pack("{s:s, s:b}", "column", s->groups, "input", s->groups_are_input));
    if (s->time_column[0])
        set(o, "time",
            json_pack("{s:s, s:f, s:b}", "column", s->time_column, "gap", s->time_gap, "input",
                      s->time_is_input));
    if (s->weights[0])
        set(o, "weights", json_string(s->weights));
}
