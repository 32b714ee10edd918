/* cmd_preview.c - `assay preview SPEC`: what a spec would do, and everything that `submit` would
 * refuse. Also `assay searchers`: what a spec may name as sampler and scheduler.
 *
 * A table that the controller knows by name is looked up there. A table that is a file is read
 * here, by a private service that ends with this command: nothing is uploaded, and no controller
 * is needed. The study is then really created in that private service, because the refusals of
 * `submit` are found most reliably by submitting. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/local.h"
#include "cli/print.h"
#include "cli/specfile.h"
#include "cli/study_run.h"

#include "search/searchers.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* "linear.prep_scale   robust, quantile": how columns are prepared, where that is searched or named. */
static void print_preparation(const json_t *a)
{
    static const char *const heads[] = { "preparation", "choices" };
    const json_t *list = json_object_get(a, "preparation"), *one = NULL, *word = NULL;
    size_t i, k;

    if (json_array_size(list) == 0)
        return;
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    json_array_foreach((json_t *)list, i, one)
    {
        char text[200] = "";
        size_t n = 0;
        json_array_foreach(json_object_get(one, "choices"), k, word) n +=
            (size_t)snprintf(text + n, sizeof text - n, "%s%.20s", k > 0 ? ", " : "",
                             json_string_value(word) ? json_string_value(word) : "");
        table_cell(t, "%s.%s", print_text(one, "family"), print_text(one, "parameter"));
        table_cell(t, "%s", text);
    }
    printf("\n");
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
    printf("%-12s %.1f s if every trial ran to its top; about %.0f%% of that is expected\n",
           "full length", seconds(cost, "full_ms"),
           full > 0 ? 100 * json_number_value(json_object_get(cost, "typical")) / full : 100);
}

/* A study with a limit in time runs as many trials as fit, so the number in the preview is only
 * where it begins. */
static void print_trials(const json_t *a, const json_t *spec)
{
    const json_t *budget = json_object_get(spec, "budget");
    const json_t *time = json_object_get(budget, "time");
    char limit[60];

    if (json_is_string(time))
        (void)!snprintf(limit, sizeof(limit), "%.50s", print_text(budget, "time"));
    else
        (void)!snprintf(limit, sizeof(limit), "%gs", json_number_value(time));
    printf("%-12s %" JSON_INTEGER_FORMAT, "trials",
           json_integer_value(json_object_get(a, "trials")));
    if (time && json_is_true(json_object_get(a, "open")))
        printf(" at first; as many as fit into %s", limit);
    else if (json_is_true(json_object_get(a, "open")))
        printf(" at first; as many as fit into 10m, the limit where a spec sets none");
    else if (json_is_string(time) || json_number_value(time) > 0)
        printf(", or what fits into %s", limit);
    printf("%s\n", json_is_true(json_object_get(a, "scaled")) ? " (counts are scaled up)" : "");
}

static void print_preview(const json_t *a, const json_t *spec)
{
    print_searcher(a, "sampler", "sampler_why");
    print_searcher(a, "scheduler", "scheduler_why");
    print_trials(a, spec);
    print_cost(a);
    printf("\n");
    print_lines(a);
    print_preparation(a);
}

struct preview_opts {
    struct cli_common common;
};
static const struct conf_opt preview_table[] = { CLI_COMMON(struct preview_opts) };

/* Checks what only a controller can know, if one answers: whether the study's name is free, and
 * whether the study of `warm_start` exists. */
static int check_there(const struct preview_opts *o, const json_t *spec, struct err *err)
{
    const char *name = json_string_value(json_object_get(spec, "name"));
    json_t *warm = json_object_get(spec, "warm_start"), *row = NULL;
    char quoted[400];
    struct err why = { 0 };
    struct client *c = client_of(&o->common, err);
    int rc = c ? 0 : -1;

    if (c && name) {
        client_quote(name, quoted, sizeof(quoted));
        if (client_get(c, &row, &why, "/studies/%s", quoted) == 0)
            rc = err_set(err, ERR_CONFLICT, "there is a study called %s already", name);
    }
    if (rc == 0 && warm && !json_is_null(warm)) {
        char *text = json_is_string(warm) ? NULL : json_dumps(warm, JSON_ENCODE_ANY);
        client_quote(text ? text : json_string_value(warm), quoted, sizeof(quoted));
        free(text);
        err_clear(&why);
        rc = client_get(c, NULL, &why, "/studies/%s", quoted);
        if (rc < 0 && why.code == ERR_NOTFOUND)
            err_at(err, "warm_start", "%s", why.text);
        else if (rc < 0)
            err_set(err, why.code, "warm_start names a study of the controller: %s", why.text);
    }
    json_decref(row);
    client_free(c);
    return rc;
}

/* Reads the tables and creates the study in a private service. */
static int preview_here(const struct preview_opts *o, json_t *spec, const char *path,
                        json_t **answer, struct err *err)
{
    struct study_run s;
    struct local local = { 0 };
    json_t *study = NULL;
    int rc = -1;

    study_run_init(&s, NULL, &local);
    if (check_there(o, spec, err) < 0 || local_start(&local, NULL, 1, "cpu", 0, err) < 0)
        goto out;
    s.client = local.client;
    s.quiet = o->common.json;
    json_object_del(spec, "warm_start"); /* it was looked for where it is */
    if (specfile_upload(&s, spec, path, err) < 0)
        goto out;
    rc = client_post(s.client, spec, answer, err, "/studies:preview");
    if (rc == 0)
        rc = client_post(s.client, spec, &study, err, "/studies");
    json_decref(study);
out:
    local_stop(&local, 300);
    return rc;
}

static int preview_there(const struct preview_opts *o, const json_t *spec, json_t **answer,
                         struct err *err)
{
    struct client *c = client_of(&o->common, err);
    int rc = c ? client_post(c, spec, answer, err, "/studies:preview") : -1;

    client_free(c);
    return rc;
}

/* When one table is a file and the other one is known to the controller only, no place has both.
 * The test table is then left out. */
static void drop_test(json_t *spec)
{
    fprintf(stderr,
            "test.dataset %s was not checked: one of the two tables is a file, the other one "
            "is known only to the controller\n",
            print_text(json_object_get(spec, "test"), "dataset"));
    json_object_del(spec, "test");
}

static int preview(const struct preview_opts *o, json_t *spec, const char *path, json_t **answer,
                   struct err *err)
{
    bool has_test = json_object_get(json_object_get(spec, "test"), "dataset") != NULL;
    int files = specfile_files(spec, path, err), rc = -1;

    if (files >= 0 && has_test && !(files & SPECFILE_TRAIN) != !(files & SPECFILE_TEST))
        drop_test(spec);
    if (files >= 0 && files & SPECFILE_TRAIN)
        rc = preview_here(o, spec, path, answer, err);
    else if (files >= 0)
        rc = preview_there(o, spec, answer, err);
    return rc < 0 ? specfile_name(path, err) : 0;
}

int cmd_preview(const struct cmd *cmd, int argc, char **argv)
{
    struct preview_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    json_t *spec = NULL, *answer = NULL;
    int n = 0;
    int rc = cli_args(cmd, preview_table, ARRAY_LEN(preview_table), &o, argc, argv, op, 1, 1, &n);

    if (rc >= 0)
        goto out;
    rc = CLI_OK;
    if (!(spec = specfile_load(op[0], &err)) || preview(&o, spec, op[0], &answer, &err) < 0)
        rc = study_run_exit_code(&err);
    else if (o.common.json)
        print_json(answer);
    else
        print_preview(answer, spec);
out:
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

static json_t *searcher_json(const char *name, const char *help,
                             const struct search_option *options, int n)
{
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:f, s:b, s:s}", "name",
                                              options[i].name, "lo", options[i].lo, "hi",
                                              options[i].hi, "default", options[i].def, "whole",
                                              options[i].is_int, "help", options[i].help));
    return json_pack("{s:s, s:s, s:o}", "name", name, "help", help, "options", list);
}

/* The searchers of this program, in the form of GET /searchers. */
static json_t *searchers_here_new(void)
{
    json_t *samplers = json_array(), *schedulers = json_array();

    for (int i = 0; sampler_at(i); i++) {
        const struct sampler_ops *s = sampler_at(i);
        if (!s->is_test_only)
            json_array_append_new(samplers,
                                  searcher_json(s->name, s->help, s->options, s->n_options));
    }
    for (int i = 0; scheduler_at(i); i++) {
        const struct scheduler_ops *s = scheduler_at(i);
        if (!s->is_test_only)
            json_array_append_new(schedulers,
                                  searcher_json(s->name, s->help, s->options, s->n_options));
    }
    return json_pack("{s:o, s:o}", "samplers", samplers, "schedulers", schedulers);
}

/* A controller is asked only when the command line names one, because it may be of another
 * version than this program. */
static int searchers_of(const struct preview_opts *o, json_t **answer, struct err *err)
{
    struct client *c = NULL;
    int rc = 0;

    if (!o->common.server) {
        *answer = searchers_here_new();
        return 0;
    }
    c = client_of(&o->common, err);
    rc = c ? client_get(c, answer, err, "/searchers") : -1;
    client_free(c);
    return rc;
}

int cmd_searchers(const struct cmd *cmd, int argc, char **argv)
{
    struct preview_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    json_t *answer = NULL;
    int n = 0;
    int rc = cli_args(cmd, preview_table, ARRAY_LEN(preview_table), &o, argc, argv, op, 0, 0, &n);

    if (rc >= 0)
        goto out;
    rc = CLI_OK;
    if (searchers_of(&o, &answer, &err) < 0) {
        rc = cli_fail(&err);
    } else if (o.common.json) {
        print_json(answer);
    } else {
        searcher_rows(json_object_get(answer, "samplers"), "samplers");
        searcher_rows(json_object_get(answer, "schedulers"), "schedulers");
    }
out:
    json_decref(answer);
    conf_fini(&o, preview_table, ARRAY_LEN(preview_table));
    return rc;
}
