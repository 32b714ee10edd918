/* cmd_preview.c - `assay preview SPEC`: asks the controller what a spec would do. A table named by path is not uploaded for
 * that; then the answer has no times. And `assay searchers`: what a spec may name. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/specfile.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>

static void print_searcher(const json_t *a, const char *key, const char *why_key)
{
    const char *why = json_string_value(json_object_get(a, why_key));

    printf("%-12s %s%s%s%s\n", key, print_text(a, key), why ? " (auto: " : "", why ? why : "",
           why ? ")" : "");
}

static void print_lines(const json_t *a)
{
    static const char *const heads[] = { "family", "level", "trials", "at worst", "what" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    size_t i;
    json_t *line;

    json_array_foreach(json_object_get(a, "lines"), i, line)
    {
        table_cell(t, "%s", print_text(line, "family"));
        table_cell(t, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(line, "level")),
                   json_integer_value(json_object_get(line, "max_level")));
        table_cell(t, "%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(line, "typical")));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(line, "most")));
        table_cell(t, "%s", print_text(line, "what"));
    }
    table_print(t, stdout);
}

static double seconds(const json_t *cost, const char *key)
{
    return json_number_value(json_object_get(cost, key)) / 1000;
}

static void print_cost(const json_t *a)
{
    const json_t *cost = json_object_get(a, "cost");
    double full = json_number_value(json_object_get(cost, "full"));

    if (!json_is_object(cost)) {
        printf("%-12s unknown: the controller has not read this table\n", "time");
        return;
    }
    printf("%-12s %.1f s of one device, at most %.1f s (%s)\n", "time", seconds(cost, "typical_ms"),
           seconds(cost, "most_ms"),
           json_is_true(json_object_get(cost, "measured")) ? "from trials on this table"
                                                           : "by formula: no trial has run on it");
    printf("%-12s %.1f s if every trial ran to its top (%.0f%% of it are expected)\n", "instead of",
           seconds(cost, "full_ms"),
           full > 0 ? 100 * json_number_value(json_object_get(cost, "typical")) / full : 100);
}

static void print_preview(const json_t *a)
{
    print_searcher(a, "sampler", "sampler_why");
    print_searcher(a, "scheduler", "scheduler_why");
    printf("%-12s %" JSON_INTEGER_FORMAT "%s%s\n", "trials",
           json_integer_value(json_object_get(a, "trials")),
           json_is_true(json_object_get(a, "open")) ? " (for a start: the spec sets no limit)" : "",
           json_is_true(json_object_get(a, "scaled")) ? " (counts are scaled up)" : "");
    print_cost(a);
    printf("\n");
    print_lines(a);
}

struct preview_opts {
    struct cli_common common;
};
static const struct conf_opt preview_table[] = { CLI_COMMON(struct preview_opts) };

int cmd_preview(const struct cmd *cmd, int argc, char **argv)
{
    struct preview_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    json_t *spec = NULL, *answer = NULL;
    int n = 0;
    int rc = cli_args(cmd, preview_table, ARRAY_LEN(preview_table), &o, argc, argv, op, 1, 1, &n);

    if (rc >= 0)
        goto out;
    rc = CLI_OK;
    if ((spec = specfile_load(op[0], &err)))
        specfile_name_tables(spec, op[0]);
    if (!spec || !(c = client_of(&o.common, &err)) ||
        client_post(c, spec, &answer, &err, "/studies:preview") < 0)
        rc = cli_fail(&err);
    else if (o.common.json)
        print_json(answer);
    else
        print_preview(answer);
out:
    client_free(c);
    json_decref(spec);
    json_decref(answer);
    conf_fini(&o, preview_table, ARRAY_LEN(preview_table));
    return rc;
}

/* ---- searchers ---- */

static void searcher_rows(const json_t *list, const char *kind)
{
    json_t *s, *o;
    size_t i, k;

    printf("%s:\n", kind);
    json_array_foreach(list, i, s)
    {
        printf("  %-10s %s\n", print_text(s, "name"), print_text(s, "help"));
        json_array_foreach(json_object_get(s, "options"), k, o)
            printf("      %-12s %g..%g, default %g: %s\n", print_text(o, "name"),
                   json_number_value(json_object_get(o, "lo")),
                   json_number_value(json_object_get(o, "hi")),
                   json_number_value(json_object_get(o, "default")), print_text(o, "help"));
    }
}

int cmd_searchers(const struct cmd *cmd, int argc, char **argv)
{
    struct preview_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    json_t *answer = NULL;
    int n = 0;
    int rc = cli_args(cmd, preview_table, ARRAY_LEN(preview_table), &o, argc, argv, op, 0, 0, &n);

    if (rc >= 0)
        goto out;
    rc = CLI_OK;
    if (!(c = client_of(&o.common, &err)) || client_get(c, &answer, &err, "/searchers") < 0) {
        rc = cli_fail(&err);
    } else if (o.common.json) {
        print_json(answer);
    } else {
        searcher_rows(json_object_get(answer, "samplers"), "samplers");
        searcher_rows(json_object_get(answer, "schedulers"), "schedulers");
    }
out:
    client_free(c);
    json_decref(answer);
    conf_fini(&o, preview_table, ARRAY_LEN(preview_table));
    return rc;
}
