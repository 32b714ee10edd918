/* report.c - see report.h. */
#include "trial-runner/command/report.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_MAX = 1000000 };

static bool is_level(const char *key)
{
    return str_eq(key, "level") || str_eq(key, "step") || str_eq(key, "epoch");
}

static bool is_value(const char *key, const char *metric)
{
    return str_eq(key, "score") || str_eq(key, "value") || str_eq(key, metric);
}

static int done(const struct report *r, bool has_value, struct err *err)
{
    if (!has_value)
        return err_set(err, ERR_ARG, "names no score");
    if (r->level < 0 || r->level > LEVELS_MAX)
        return err_set(err, ERR_ARG, "has a level that is not 1 to %d", LEVELS_MAX);
    return 1;
}

/* "values": one number for each objective. */
static int values_take(struct report *r, const json_t *list, struct err *err)
{
    size_t n = json_array_size(list);

    if (!list)
        return 0;
    if (!json_is_array(list) || n < 1 || n > REPORT_MORE + 1)
        return err_set(err, ERR_ARG, "has values that are no list of 1 to %d numbers",
                       REPORT_MORE + 1);
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);

        if (!json_is_number(v) && !json_is_null(v))
            return err_set(err, ERR_ARG, "has a value that is no number");
        double x = json_is_number(v) ? json_number_value(v) : NAN;
        if (i == 0)
            r->value = x;
        else
            r->more[r->n_more++] = x;
        if (!isfinite(x))
            r->value = NAN;
    }
    return 0;
}

int report_json(struct report *r, const json_t *o, const char *metric, struct err *err)
{
    static const char *const levels[] = { "level", "step", "epoch" };
    const char *const values[] = { "score", "value", metric };
    bool has_value = false;

    *r = (struct report){ .value = NAN };
    if (!json_is_object(o))
        return err_set(err, ERR_ARG, "is no JSON object");
    for (size_t i = 0; i < ARRAY_LEN(levels); i++) {
        const json_t *v = json_object_get(o, levels[i]);
        double level = json_number_value(v);

        if (!v || r->level)
            continue;
        if (!json_is_number(v) || !(level >= 1 && level <= LEVELS_MAX) || floor(level) < level)
            return err_set(err, ERR_ARG, "has a level that is not 1, 2, 3 ...");
        r->level = (int)level;
    }
    for (size_t i = 0; i < ARRAY_LEN(values) && !has_value; i++) {
        const json_t *v = json_object_get(o, values[i]);

        if (v && !json_is_number(v) && !json_is_null(v))
            return err_set(err, ERR_ARG, "has a score that is no number");
        has_value = v != NULL;
        r->value = json_is_number(v) ? json_number_value(v) : NAN;
    }
    if (!has_value && values_take(r, json_object_get(o, "values"), err) < 0)
        return -1;
    return done(r, has_value || json_object_get(o, "values"), err);
}

/* A number as programs print it; "nan" and "inf" count. */
static bool number(const char *text, double *out)
{
    char *end = NULL;

    *out = strtod(text, &end);
    return end != text && *end == '\0';
}

/* 0 for "value_2", the second value, and so on; -1 = another word. */
static int more_of(const char *word)
{
    bool is =
        str_starts(word, "value_") && word[6] >= '2' && word[6] < '2' + REPORT_MORE && !word[7];

    return is ? word[6] - '2' : -1;
}

/* level=3 score=0.91, in any order, with spaces or commas between. */
static int pairs(struct report *r, char *text, const char *metric, struct err *err)
{
    bool has_value = false;
    char *rest = NULL;

    for (char *word = strtok_r(text, " \t,", &rest); word; word = strtok_r(NULL, " \t,", &rest)) {
        char *equals = strchr(word, '=');
        double v = 0;

        if (!equals)
            return err_set(err, ERR_ARG, "has the word \"%.40s\", which is no name=number", word);
        *equals = '\0';
        int more = more_of(word);
        if (!is_level(word) && !is_value(word, metric) && more < 0)
            continue;
        if (!number(equals + 1, &v))
            return err_set(err, ERR_ARG, "gives %.40s as \"%.40s\", which is no number", word,
                           equals + 1);
        if (more >= 0) {
            r->more[more] = v;
            r->n_more = MAX(r->n_more, more + 1);
        } else if (is_value(word, metric)) {
            r->value = v;
            has_value = true;
        } else if (v >= 1 && v <= LEVELS_MAX && floor(v) >= v) {
            r->level = (int)v;
        } else {
            return err_set(err, ERR_ARG, "has a level that is not 1, 2, 3 ...");
        }
    }
    return done(r, has_value, err);
}

/* Python writes NaN and Infinity into JSON, which has no such words. */
static int json_text(struct report *r, const char *text, const char *metric, struct err *err)
{
    json_t *o = jsonx_load(text, strlen(text), "the report", err);
    int rc = -1;

    if (o) {
        rc = report_json(r, o, metric, err);
    } else if (strstr(text, "NaN") || strstr(text, "Infinity")) {
        *r = (struct report){ .value = NAN };
        rc = 1;
    }
    json_decref(o);
    return rc;
}

int report_line(struct report *r, const char *line, const char *metric, struct err *err)
{
    char text[8192];

    *r = (struct report){ .value = NAN };
    if (!str_starts(line, REPORT_MARK))
        return 0;
    line += strlen(REPORT_MARK);
    line += strspn(line, " \t");
    str_copy(text, sizeof text, line);
    for (size_t n = strlen(text); n > 0 && strchr(" \t\r", text[n - 1]); n--)
        text[n - 1] = '\0';
    if (strlen(line) >= sizeof text)
        return err_set(err, ERR_ARG, "is longer than %zu bytes", sizeof text - 1);
    if (text[0] == '{')
        return json_text(r, text, metric, err);
    if (number(text, &r->value))
        return 1;
    return pairs(r, text, metric, err);
}
