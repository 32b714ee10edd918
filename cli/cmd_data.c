/* cmd_data.c - `assay data add|ls|show|rm|make`: datasets of a controller, and benchmark problems.
 *
 * The first operand is the verb. `make` writes a table of a published problem (problem.h) and
 * needs no controller; the other verbs do. */
#include "cli/call.h"
#include "cli/print.h"
#include "cli/problem.h"
#include "cli/stdinfile.h"
#include "cli/study_run.h"
#include "cli/told.h"

#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct data_opts {
    struct cli_common common;
    char *output, *name, *test_output;
    int64_t rows, seed, test_rows;
    bool list, yes;
};
#define AT(f) offsetof(struct data_opts, f)
static const struct conf_opt opts[] = {
    CLI_COMMON(struct data_opts),
    { "name", CONF_STR, AT(name), NULL, 0, 0,
      "add: the dataset's name (default: from the file's)" },
    { "output", CONF_STR, AT(output), NULL, 0, 0,
      "make: where to write (-o; default NAME.csv, - = standard output)" },
    { "rows", CONF_I64, AT(rows), "0", 0, 100000000,
      "make: how many rows; 0 = the problem's own number" },
    { "test_output", CONF_STR, AT(test_output), NULL, 0, 0,
      "make: also write a second, independent table" },
    { "test_rows", CONF_I64, AT(test_rows), "0", 0, 100000000,
      "make: rows of the second table; 0 = as many as in the first" },
    { "seed", CONF_I64, AT(seed), "1", 0, INT64_C(9007199254740992), "make: seed" },
    { "list", CONF_BOOL, AT(list), "false", 0, 0, "make: list the problems" },
    { "yes", CONF_BOOL, AT(yes), "false", 0, 0, "rm: do it without asking (-y)" },
};

static int list_problems(bool as_json)
{
    static const char *const heads[] = { "problem", "rows",          "target",
                                         "metric",  "best possible", "published by" };
    json_t *all = json_array();
    struct table *t = table_new(heads, ARRAY_LEN(heads));

    for (int i = 0; problem_at(i); i++) {
        const struct problem *p = problem_at(i);
        table_cell(t, "%s", p->name);
        table_cell(t, "%" PRId64, p->rows);
        table_cell(t, "%s", p->target);
        table_cell(t, "%s", p->metric);
        table_cell(t, "%g (%s)", p->best, p->best_why);
        table_cell(t, "%s", p->source);
        json_array_append_new(all, json_pack("{s:s, s:I, s:s, s:s, s:f}", "name", p->name, "rows",
                                             (json_int_t)p->rows, "target", p->target, "metric",
                                             p->metric, "best", p->best));
    }
    if (as_json)
        print_json(all);
    table_print(t, as_json ? stderr : stdout);
    json_decref(all);
    return CLI_OK;
}

static int make(const struct data_opts *o, const char *name, struct err *err)
{
    char file[200];

    if (o->list || !name)
        return list_problems(o->common.json);
    const struct problem *p = problem_find(name, err);
    if (!p)
        return cli_fail(err);
    if (p->enumerated && (o->rows > 0 || o->test_output)) {
        err_at(err, "--rows",
               "%s is the list of all %" PRId64 " cases: it has no other size and no second sample",
               p->name, p->rows);
        return cli_fail(err);
    }
    snprintf(file, sizeof(file), "%s.csv", p->name);
    const char *path = o->output ? o->output : file;
    int64_t rows = problem_write(p, o->rows > 0 ? o->rows : p->rows, (uint64_t)o->seed, path, err);
    if (rows < 0)
        return cli_fail(err);
    if (o->test_output && problem_write(p, o->test_rows > 0 ? o->test_rows : rows,
                                        rng_mix((uint64_t)o->seed, 2), o->test_output, err) < 0)
        return cli_fail(err);
    fprintf(stderr, "%s: %" PRId64 " rows, target \"%s\"; best possible %s %g (%s)\n", path, rows,
            p->target, p->metric, p->best, p->best_why);
    return CLI_OK;
}

static int add(struct client *c, const struct data_opts *o, const char *file, struct err *err)
{
    struct study_run s;
    char name[121];
    const char *as = name, *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    json_t *row = NULL;

    snprintf(name, sizeof(name), "%s", base);
    name[strcspn(name, ".")] = '\0';
    if (o->name)
        as = o->name;
    study_run_init(&s, c, NULL);
    if (study_run_dataset(&s, file, as, NULL, &row, err) < 0)
        return cli_fail(err);
    if (o->common.json)
        print_json(row);
    else
        printf("%s: %" JSON_INTEGER_FORMAT " rows, %" JSON_INTEGER_FORMAT " columns%s\n",
               print_text(row, "name"), json_integer_value(json_object_get(row, "rows")),
               json_integer_value(json_object_get(row, "cols")),
               strcmp(print_text(row, "name"), as) == 0
                   ? ""
                   : " (the same table was already there under this name)");
    if (!o->common.json)
        told_dataset(row, stdinfile_name(file), NULL, TOLD_SPEC);
    json_decref(row);
    return CLI_OK;
}

static int ls(struct client *c, bool as_json, struct err *err)
{
    static const char *const heads[] = { "name", "state", "rows", "columns", "hash" };
    json_t *all = NULL, *row;
    size_t i;

    if (client_get(c, &all, err, "/datasets") < 0)
        return cli_fail(err);
    if (as_json) {
        print_json(all);
    } else {
        struct table *t = table_new(heads, ARRAY_LEN(heads));
        json_array_foreach(json_object_get(all, "datasets"), i, row)
        {
            table_cell(t, "%s", print_text(row, "name"));
            table_cell(t, "%s", print_text(row, "state"));
            table_cell(t, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(json_object_get(row, "rows")));
            table_cell(t, "%" JSON_INTEGER_FORMAT,
                       json_integer_value(json_object_get(row, "cols")));
            table_cell(t, "%.12s", print_text(row, "identity"));
        }
        table_print(t, stdout);
    }
    json_decref(all);
    return CLI_OK;
}

/* Below the table: how columns were read, where that is not plain. */
static void show_told(const json_t *columns)
{
    char text[600];
    size_t i;
    json_t *col;

    json_array_foreach(columns, i, col)
    {
        told_column(col, text, sizeof(text));
        if (*text)
            printf("%s: %s\n", print_text(col, "name"), text);
    }
}

static void show_columns(const json_t *row)
{
    static const char *const heads[] = { "column", "type", "missing", "distinct",
                                         "min",    "mean", "max" };
    static const char *const numbers[] = { "min", "mean", "max" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    const json_t *image = json_object_get(json_object_get(row, "schema"), "image");
    size_t i;
    json_t *col;

    if (image)
        printf("images of %" JSON_INTEGER_FORMAT " x %" JSON_INTEGER_FORMAT
               " with %" JSON_INTEGER_FORMAT " channel%s, values from %g to %g\n\n",
               json_integer_value(json_object_get(image, "width")),
               json_integer_value(json_object_get(image, "height")),
               json_integer_value(json_object_get(image, "channels")),
               json_integer_value(json_object_get(image, "channels")) == 1 ? "" : "s",
               json_number_value(json_object_get(image, "min")),
               json_number_value(json_object_get(image, "max")));
    json_array_foreach(json_object_get(json_object_get(row, "schema"), "columns"), i, col)
    {
        table_cell(t, "%s", print_text(col, "name"));
        table_cell(t, "%s", print_text(col, json_object_get(col, "kind") ? "kind" : "type"));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(col, "missing")));
        table_cell(t, "%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(col, "distinct")));
        for (size_t k = 0; k < ARRAY_LEN(numbers); k++) {
            const json_t *v = json_object_get(col, numbers[k]);
            if (json_is_number(v))
                table_cell(t, "%.6g", json_number_value(v));
            else
                table_cell(t, "-");
        }
    }
    table_print(t, stdout);
    show_told(json_object_get(json_object_get(row, "schema"), "columns"));
}

static int show_or_remove(struct client *c, const struct data_opts *o, const char *verb,
                          const char *name, struct err *err)
{
    char quoted[400], path[440];
    json_t *row = NULL;
    bool is_show = strcmp(verb, "show") == 0;

    if (!is_show && !o->yes && !call_confirms("remove dataset %s?", print_safe(name)))
        return CLI_FAILED;
    client_quote(name, quoted, sizeof(quoted));
    snprintf(path, sizeof(path), "/datasets/%s", quoted);
    if (client_call(c, is_show ? "GET" : "DELETE", path, NULL, &row, err) < 0)
        return cli_fail(err);
    if (o->common.json)
        print_json(row);
    else if (is_show)
        show_columns(row);
    else
        printf("removed dataset %s\n", print_safe(name));
    json_decref(row);
    return CLI_OK;
}

int cmd_data(const struct cmd *cmd, int argc, char **argv)
{
    static const char *const verbs[] = { "add", "ls", "show", "rm", "make" };
    struct data_opts o = { 0 };
    struct err err = { 0 };
    struct client *c = NULL;
    const char *op[CLI_MAX_OPERANDS];
    struct stdinfile input = { 0 };
    int n = 0, rc;

    if ((rc = cli_args(cmd, opts, ARRAY_LEN(opts), &o, argc, argv, op, 1, 2, &n)) >= 0)
        goto out;
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        known = known || strcmp(op[0], verbs[i]) == 0;
    bool wants_operand = strcmp(op[0], "ls") != 0 && strcmp(op[0], "make") != 0;
    if (!known || (wants_operand && n < 2)) {
        rc = cli_usage_verb(cmd, op[0]);
    } else if (strcmp(op[0], "make") == 0) {
        rc = make(&o, n > 1 ? op[1] : NULL, &err);
    } else if (!(c = client_of(&o.common, &err))) {
        rc = cli_fail(&err);
    } else if (strcmp(op[0], "ls") == 0) {
        rc = ls(c, o.common.json, &err);
    } else if (strcmp(op[0], "add") == 0) {
        rc = stdinfile_take(&input, &op[1], &err) < 0 ? cli_fail(&err) : add(c, &o, op[1], &err);
    } else {
        rc = show_or_remove(c, &o, op[0], op[1], &err);
    }
out:
    stdinfile_end(&input);
    client_free(c);
    conf_fini(&o, opts, ARRAY_LEN(opts));
    return rc;
}
