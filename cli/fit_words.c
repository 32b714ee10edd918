/* fit_words.c - what the controller and the workers say in the words of a spec, in those of
 * `assay fit` (fit_spec.h): the options in place of keys. Called by cmd_fit.c and follow.c. */
#include "cli/fit_spec.h"

#include "base/base.h"
#include "base/str.h"
#include "ml/fit/warnings.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- errors ---- */

/* The option that sets a key, such as "validation.folds"; "" = none does. `key` is the key itself
 * or, where it ends with a dot, what stands before the name of a column. */
static void option_of(const char *where, char *out, size_t size)
{
    static const struct {
        const char *key, *option;
    } of[] = {
        { "target", "--target" },
        { "metric", "--metric" },
        { "task", "--task" },
        { "positive", "--positive" },
        { "columns.*", "--missing" },
        { "columns.", "--columns " },
        { "columns", "--columns" },
        { "monotone.", "--monotone " },
        { "monotone", "--monotone" },
        { "sampler", "--sampler" },
        { "scheduler", "--scheduler" },
        { "space", "--families" },
        { "validation.folds", "--folds" },
        { "validation", "--validation" },
        { "groups", "--groups" },
        { "weights", "--weights" },
        { "time.gap", "--gap" },
        { "time", "--time-column" },
        { "test", "--test" },
        { "ensemble", "--ensemble" },
        { "parallel", "--parallel" },
        { "budget.time", "--time" },
        { "budget.trials", "--trials" },
        { "seed", "--seed" },
    };

    *out = '\0';
    for (size_t i = 0; i < ARRAY_LEN(of); i++) {
        size_t n = strlen(of[i].key);
        bool has_name = of[i].key[n - 1] == '.';
        if (strncmp(where, of[i].key, n) != 0 || (!has_name && where[n] && !strchr(".[", where[n])))
            continue;
        (void)!snprintf(out, size, "%s%s", of[i].option, has_name ? where + n : "");
        return;
    }
}

int fit_spec_err(struct err *err)
{
    char key[sizeof(err->where)], option[sizeof(err->where)];
    struct err was;

    if (!err)
        return -1;
    was = *err;
    /* what was found wrong with the table has its key in the text only */
    const char *colon = strstr(was.text, ": ");
    (void)!snprintf(key, sizeof(key), "%.*s", colon ? (int)(colon - was.text) : 0, was.text);
    bool is_in_text = colon && (!was.where[0] || str_eq(key, was.where));
    option_of(was.where[0] ? was.where : key, option, sizeof(option));
    if (!option[0])
        return -1;
    err_at(err, option, "%s", is_in_text ? colon + 2 : was.text);
    err->code = was.code;
    return -1;
}

/* ---- warnings ---- */

enum { WARNING_TEXT = 1000 };

/* A word as a shell takes it. */
static void shell_word(const char *text, char *out, size_t size)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.=/:";
    size_t n = 0;

    if (text[strspn(text, plain)] == '\0') {
        str_copy(out, size, text);
        return;
    }
    out[n++] = '\'';
    for (; *text && n + 6 < size; text++) {
        if (*text == '\'')
            n += (size_t)snprintf(out + n, size - n, "'\\'");
        out[n++] = *text;
    }
    (void)!snprintf(out + n, size - n, "'");
}

/* Puts `option` in the place of `said`, and behind it the column with `tail`. */
static void put_option(char *text, size_t size, const char *said, const char *option,
                       const char *column, const char *tail)
{
    char *at = strstr(text, said), word[300], quoted[600], rest[WARNING_TEXT];

    if (!at)
        return;
    (void)!snprintf(word, sizeof(word), "%s%s", column, tail);
    shell_word(word, quoted, sizeof(quoted));
    str_copy(rest, sizeof(rest), at + strlen(said));
    (void)!snprintf(at, size - (size_t)(at - text), "%s%s%s%s", option, quoted[0] ? " " : "",
                    quoted, rest);
}

void fit_spec_advice(const json_t *w, char *out, size_t size)
{
    const char *code = json_string_value(json_object_get(w, "code"));
    const char *text = json_string_value(json_object_get(w, "text"));
    const char *column = json_string_value(json_object_get(w, "column"));
    char said[WARNING_TEXT];

    str_copy(out, size, text ? text : "");
    if (!code || !column)
        return;
    bool is_one = column[0] && !strchr(column, ','); /* --columns parts its columns by commas */
    if (is_one && (str_eq(code, "leak") || str_eq(code, "identifier"))) {
        (void)!snprintf(said, sizeof(said), WARN_SAY_IGNORE, column);
        put_option(out, size, said, "--columns", column, "=ignore");
    } else if (is_one && str_eq(code, "target_dates")) {
        (void)!snprintf(said, sizeof(said), WARN_SAY_LABEL, column);
        put_option(out, size, said, "--columns", column, "=label");
    } else if (is_one && str_eq(code, "never_repeats")) {
        put_option(out, size, WARN_SAY_TYPE, "say so: --columns", column, "=numeric");
    } else if (str_eq(code, "grouped")) {
        (void)!snprintf(said, sizeof(said), WARN_SAY_GROUPS, column);
        put_option(out, size, said, "give --groups", column, "");
    } else if (str_eq(code, "ordered") && column[0]) {
        (void)!snprintf(said, sizeof(said), WARN_SAY_TIME, column);
        put_option(out, size, said, "give --time-column", column, "");
    } else if (str_eq(code, "ordered")) {
        put_option(out, size, WARN_SAY_AS_TIME, "with --time-column", "", "");
    } else if (str_eq(code, "repeats")) {
        put_option(out, size, WARN_SAY_SOME_GROUPS, "give --groups", "", "");
        put_option(out, size, WARN_SAY_AS_GROUPS, "with --groups", "", "");
    } else if (str_eq(code, "other_test_rows")) {
        put_option(out, size, WARN_SAY_SOME_TIME, "give --time-column", "", "");
    }
}
