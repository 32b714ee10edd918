/* cmd_analysis.c - `assay importance` and `assay pareto`: what a study's trials have shown.
 *
 * The controller computes long answers beside its other work and meanwhile answers with the
 * state "computing". These commands then ask again every ASK_MS until the answer is complete. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"

#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { BAR = 24, ASK_MS = 200, FEW = 40 };

/* A smaller share would be printed as 0.0 %. */
#define LEAST 0.0005

struct analysis_opts {
    struct cli_common common;
    char *method, *x, *y;
};
#define AT(f) offsetof(struct analysis_opts, f)
static const struct conf_opt importance_opts[] = {
    CLI_COMMON(struct analysis_opts),
    { "method", CONF_STR, AT(method), "ped_anova", 0, 0, "ped_anova or fanova" },
};
static const struct conf_opt pareto_opts[] = {
    CLI_COMMON(struct analysis_opts),
    { "x", CONF_STR, AT(x), "", 0, 0,
      "score, fit_us, predict_ns_row or model_bytes; default: the study's objectives, else fit_us" },
    { "y", CONF_STR, AT(y), "", 0, 0, "likewise; default: score" },
};

/* Asks until the answer is complete. Returns an exit code. */
static int ask(const struct analysis_opts *o, const char *path, json_t **answer)
{
    const struct timespec pause = { 0, ASK_MS * 1000000L };
    struct err err = { 0 };
    struct client *client = client_of(&o->common, &err);
    int rc = client ? 0 : -1;

    while (rc == 0) {
        rc = client_get(client, answer, &err, "%s", path);
        if (rc < 0 || strcmp(print_text(*answer, "state"), "computing") != 0)
            break;
        json_decref(*answer);
        *answer = NULL;
        (void)nanosleep(&pause, NULL);
    }
    client_free(client);
    return rc < 0 ? cli_fail(&err) : CLI_OK;
}

static void print_importance(const json_t *answer)
{
    static const char *const heads[] = { "parameter", "importance", "" };
    struct table *t = NULL;
    json_t *row = NULL;
    size_t i = 0, n_none = 0;

    if (strcmp(print_text(answer, "state"), "too_few") == 0) {
        printf("too few trials have ended to tell\n");
        return;
    }
    t = table_new(heads, ARRAY_LEN(heads));
    json_array_foreach(json_object_get(answer, "parameters"), i, row)
    {
        double share = json_number_value(json_object_get(row, "importance"));
        char bar[BAR * 3 + 1] = "";
        size_t n = 0;

        if (share < LEAST) {
            n_none++;
            continue;
        }
        for (int k = 0; k < (int)lround(share * BAR); k++)
            n += (size_t)snprintf(bar + n, sizeof(bar) - n, "█");
        table_cell(t, "%s", print_text(row, "name"));
        table_cell(t, "%.1f %%", 100 * share);
        table_cell(t, "%s", bar);
    }
    table_print(t, stdout);
    if (n_none > 0)
        printf("… and %zu more with 0.0 %%\n", n_none);
    json_int_t trials = json_integer_value(json_object_get(answer, "trials"));
    printf("%s of %" JSON_INTEGER_FORMAT " trials%s", print_text(answer, "method"), trials,
           trials < FEW ? ": a first guess" : "");
    const json_t *main_effects = json_object_get(answer, "main_effects");
    if (json_is_number(main_effects))
        printf("; single parameters explain %.0f %% of the variance, the rest are interactions",
               100 * json_number_value(main_effects));
    printf("\n");
}

int cmd_importance(const struct cmd *cmd, int argc, char **argv)
{
    struct analysis_opts o = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    char quoted[400], path[600], method[120];
    json_t *answer = NULL;
    int n = 0;
    int rc =
        cli_args(cmd, importance_opts, ARRAY_LEN(importance_opts), &o, argc, argv, op, 1, 1, &n);

    if (rc >= 0)
        return rc;
    client_quote(op[0], quoted, sizeof(quoted));
    client_quote(o.method, method, sizeof(method));
    (void)!snprintf(path, sizeof(path), "/studies/%s/importance?method=%s", quoted, method);
    rc = ask(&o, path, &answer);
    if (rc == CLI_OK && o.common.json)
        print_json(answer);
    else if (rc == CLI_OK)
        print_importance(answer);
    json_decref(answer);
    conf_fini(&o, importance_opts, ARRAY_LEN(importance_opts));
    return rc;
}

/* What a user's program told beside the score. */
static const char *const told[] = { "value_2", "value_3", "value_4" };

static void front_row(struct table *t, const json_t *row, int n_told)
{
    char score[80], fit[40], predict[40], size[40] = "-";
    const json_t *ns = json_object_get(row, "predict_ns_row");
    const json_t *bytes = json_object_get(row, "model_bytes");

    print_score(json_object_get(row, "score"), json_object_get(row, "se"), score, sizeof(score));
    print_us(json_object_get(row, "fit_us"), fit, sizeof(fit));
    print_ns(ns, predict, sizeof(predict));
    if (json_is_number(bytes) && json_number_value(bytes) > 0)
        str_fmt_bytes((int64_t)json_number_value(bytes), size, sizeof(size));
    table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "rank")));
    table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "number")));
    table_cell(t, "%s", print_text(row, "family"));
    table_cell(t, "%s", score);
    table_cell(t, "%s", fit);
    table_cell(t, "%s", predict);
    table_cell(t, "%s", size);
    for (int i = 0; i < n_told; i++)
        table_cell(t, "%.9g", json_number_value(json_object_get(row, told[i])));
}

static void print_front(const json_t *answer)
{
    static const char *const heads[] = { "rank",        "trial", "family",  "score",   "fit",
                                         "predict/row", "model", "value_2", "value_3", "value_4" };
    const json_t *first = json_array_get(json_object_get(answer, "rows"), 0);
    int n_told = 0;

    while (n_told < (int)ARRAY_LEN(told) && json_object_get(first, told[n_told]))
        n_told++;
    struct table *t = table_new(heads, (int)(ARRAY_LEN(heads) - ARRAY_LEN(told)) + n_told);
    const json_t *rows = json_object_get(answer, "rows"),
                 *volume = json_object_get(answer, "volume"),
                 *facts = json_object_get(answer, "facts");
    json_t *row = NULL, *fact = NULL;
    size_t i = 0, n = 0;

    json_array_foreach(rows, i, row) front_row(t, row, n_told);
    table_print(t, stdout);
    printf("%zu of %" JSON_INTEGER_FORMAT " trials %s not dominated in", json_array_size(rows),
           json_integer_value(json_object_get(answer, "compared")),
           json_array_size(rows) == 1 ? "is" : "are");
    n = json_array_size(facts);
    json_array_foreach(facts, i, fact) printf("%s %s",
                                              i == 0       ? ""
                                              : i + 1 == n ? " and"
                                                           : ",",
                                              json_string_value(fact));
    if (json_is_number(volume))
        printf("; hypervolume %.3f", json_number_value(volume));
    printf("\n");
}

int cmd_pareto(const struct cmd *cmd, int argc, char **argv)
{
    struct analysis_opts o = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    char quoted[400], path[800], x[120], y[120];
    json_t *answer = NULL;
    int n = 0,
        rc = cli_args(cmd, pareto_opts, ARRAY_LEN(pareto_opts), &o, argc, argv, op, 1, 1, &n);

    if (rc >= 0)
        return rc;
    client_quote(op[0], quoted, sizeof(quoted));
    client_quote(o.x, x, sizeof(x));
    client_quote(o.y, y, sizeof(y));
    (void)!snprintf(path, sizeof(path), "/studies/%s/pareto?x=%s&y=%s", quoted, x, y);
    rc = ask(&o, path, &answer);
    if (rc == CLI_OK && o.common.json)
        print_json(answer);
    else if (rc == CLI_OK)
        print_front(answer);
    json_decref(answer);
    conf_fini(&o, pareto_opts, ARRAY_LEN(pareto_opts));
    return rc;
}
