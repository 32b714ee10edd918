/* cmd_score.c - `assay score`: how good a saved model is on rows whose truth is known. Needs no
 * controller. score_report.c makes the report; this file reads the table and prints it. */
#include "cli/call.h"
#include "cli/modelfile.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/score.h"
#include "cli/stdinfile.h"

#include "base/mem.h"
#include "base/str.h"
#include "ml/model/artifact.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Larger confusion matrices do not fit a screen; the pairs that are confused most are listed
 * instead. */
enum { MATRIX_ON_SCREEN = 12, CLASSES_ON_SCREEN = 40, PAIRS_ON_SCREEN = 10 };

struct score_opts {
    char *target, *weights, *threshold, *missing_columns, *bad_cells, *output;
    int64_t groups;
    bool json, no_header;
};
#define AT(f) offsetof(struct score_opts, f)
static const struct conf_opt score_table[] = {
    { "target", CONF_STR, AT(target), NULL, 0, 0,
      "the column that holds the truth (default: the one that the model predicts)" },
    { "weights", CONF_STR, AT(weights), NULL, 0, 0, "a column that says how much each row counts" },
    { "threshold", CONF_STR, AT(threshold), NULL, 0, 0,
      "of two classes, predict the positive one where its probability is above this (default: the "
      "model's own, 0.5 unless its metric asked for another)" },
    { "groups", CONF_I64, AT(groups), "10", 1, 1000,
      "groups of rows by prediction, in which it is compared with what happened" },
    { "missing_columns", CONF_STR, AT(missing_columns), "error", 0, 0,
      "what to do where the table lacks columns of the model: error, or missing to read them as "
      "missing in every row" },
    { "bad_cells", CONF_STR, AT(bad_cells), "missing", 0, 0,
      "what to do with cells that the model cannot read: error, or missing" },
    { "output", CONF_STR, AT(output), "-", 0, 0, "where to write (-o); - = standard output" },
    { "no_header", CONF_BOOL, AT(no_header), "false", 0, 0, "the table's first line is data" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "JSON instead of text" },
};
#undef AT

static double real_at(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static long long whole_at(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* "-" where there is no number */
static void cell_number(struct table *t, const json_t *o, const char *key)
{
    double v = real_at(o, key);

    if (isnan(v))
        table_cell(t, "-");
    else
        table_cell(t, "%.5g", v);
}

static void print_head(FILE *out, const json_t *report)
{
    const json_t *model = json_object_get(report, "model"),
                 *left = json_object_get(report, "left_out");
    char was[80];

    print_score(json_object_get(model, "score"), json_object_get(model, "se"), was, sizeof was);
    fprintf(out, "%lld rows scored; %s of the model in its own validation: %s\n",
            whole_at(report, "rows"), print_text(model, "metric"), was);
    if (whole_at(left, "no_target") > 0)
        fprintf(out, "left out: %lld rows without a value of \"%s\"\n", whole_at(left, "no_target"),
                print_text(report, "target"));
    if (whole_at(left, "unknown_class") > 0)
        fprintf(out,
                "left out: %lld rows of classes that the model does not know, such as \"%s\"\n",
                whole_at(left, "unknown_class"), print_text(left, "unknown_such_as"));
    if (whole_at(left, "no_weight") > 0)
        fprintf(out, "left out: %lld rows of weight 0\n", whole_at(left, "no_weight"));
}

static void print_scores(FILE *out, const json_t *report)
{
    struct table *t = table_new((const char *const[]){ "metric", "score", "better is" }, 3);
    size_t i;
    json_t *row;
    char text[80];

    json_array_foreach(json_object_get(report, "scores"), i, row)
    {
        print_score(json_object_get(row, "score"), json_object_get(row, "se"), text, sizeof text);
        table_cell(t, "%s", print_text(row, "metric"));
        table_cell(t, "%s", text);
        table_cell(t,
                   json_is_true(json_object_get(row, "larger_is_better")) ? "larger" : "smaller");
    }
    fputc('\n', out);
    table_print(t, out);
}

/* One row a true class: how many of its rows were predicted as each class. */
static void print_matrix(FILE *out, const json_t *classes, const json_t *matrix)
{
    size_t k = json_array_size(matrix), i, j;
    const char *heads[MATRIX_ON_SCREEN + 1] = { "true \\ predicted" };
    json_t *row, *cell;

    for (i = 0; i < k; i++)
        heads[i + 1] = print_text(json_array_get(classes, i), "class");
    struct table *t = table_new(heads, (int)k + 1);
    json_array_foreach(matrix, i, row)
    {
        table_cell(t, "%s", print_text(json_array_get(classes, i), "class"));
        json_array_foreach(row, j, cell)
        {
            table_cell(t, "%lld", (long long)json_integer_value(cell));
        }
    }
    fputc('\n', out);
    table_print(t, out);
}

static void print_confused(FILE *out, const json_t *pairs)
{
    struct table *t = table_new((const char *const[]){ "true", "predicted as", "rows" }, 3);
    size_t i;
    json_t *row;

    json_array_foreach(pairs, i, row)
    {
        if (i == PAIRS_ON_SCREEN)
            break;
        table_cell(t, "%s", print_text(row, "true"));
        table_cell(t, "%s", print_text(row, "predicted"));
        table_cell(t, "%lld", whole_at(row, "rows"));
    }
    fputs("\nconfused most:\n", out);
    table_print(t, out);
}

static void print_classes(FILE *out, const json_t *report)
{
    const json_t *classes = json_object_get(report, "classes"),
                 *matrix = json_object_get(report, "confusion");
    struct table *t = table_new(
        (const char *const[]){ "class", "rows", "predicted", "precision", "recall", "f1" }, 6);
    size_t i;
    json_t *row;

    json_array_foreach(classes, i, row)
    {
        if (i == CLASSES_ON_SCREEN)
            break;
        table_cell(t, "%s", print_text(row, "class"));
        table_cell(t, "%lld", whole_at(row, "rows"));
        table_cell(t, "%lld", whole_at(row, "predicted"));
        cell_number(t, row, "precision");
        cell_number(t, row, "recall");
        cell_number(t, row, "f1");
    }
    fputc('\n', out);
    table_print(t, out);
    if (!isnan(real_at(report, "threshold")))
        fprintf(out, "the positive class is predicted above a probability of %.4g\n",
                real_at(report, "threshold"));
    if (json_array_size(classes) > CLASSES_ON_SCREEN)
        fprintf(out, "%zu more classes with --json\n",
                json_array_size(classes) - CLASSES_ON_SCREEN);
    if (json_array_size(matrix) > 0 && json_array_size(matrix) <= MATRIX_ON_SCREEN)
        print_matrix(out, classes, matrix);
    else if (json_array_size(json_object_get(report, "confused")) > 0)
        print_confused(out, json_object_get(report, "confused"));
}

static void print_residuals(FILE *out, const json_t *residuals)
{
    const json_t *quantiles = json_object_get(residuals, "quantiles");
    char mean[80];

    print_score(json_object_get(residuals, "mean"), json_object_get(residuals, "se"), mean,
                sizeof mean);
    fprintf(out,
            "\ntruth less prediction: mean %s; 5 %% of rows below %.5g, 25 %% %.5g, half %.5g, "
            "75 %% %.5g, 95 %% %.5g\n",
            mean, real_at(quantiles, "0.05"), real_at(quantiles, "0.25"), real_at(quantiles, "0.5"),
            real_at(quantiles, "0.75"), real_at(quantiles, "0.95"));
}

static void print_intervals(FILE *out, const json_t *list)
{
    struct table *t = table_new((const char *const[]){ "interval", "inside", "mean width" }, 3);
    size_t i;
    json_t *row;
    char text[80];

    json_array_foreach(list, i, row)
    {
        print_score(json_object_get(row, "inside"), json_object_get(row, "se"), text, sizeof text);
        table_cell(t, "%.4g", real_at(row, "level"));
        table_cell(t, "%s", text);
        cell_number(t, row, "width");
    }
    fputs("\nintervals of the model, and the share of rows inside:\n", out);
    table_print(t, out);
}

static void print_calibration(FILE *out, const json_t *report)
{
    const json_t *c = json_object_get(report, "calibration");
    const bool is_number = str_eq(print_text(report, "task"), "regression"),
               is_binary = str_eq(print_text(report, "task"), "binary");
    struct table *t = table_new(
        (const char *const[]){ "predicted", is_number ? "true mean" : "happened", "se", "rows" },
        4);
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(c, "groups"), i, row)
    {
        cell_number(t, row, "predicted");
        cell_number(t, row, "observed");
        cell_number(t, row, "se");
        table_cell(t, "%lld", whole_at(row, "rows"));
    }
    fprintf(out, "\nrows in groups by %s%s%s%s:\n",
            is_number   ? "their prediction"
            : is_binary ? "the probability of \""
                        : "the probability of ",
            is_number ? "" : print_text(c, "of"), is_binary ? "\"" : "",
            is_number ? "" : ", and the share where it happened");
    table_print(t, out);
    fprintf(out, "%s %.4g", is_number ? "mean difference" : "expected calibration error",
            real_at(c, "error"));
    if (!isnan(real_at(c, "slope")))
        fprintf(out, "; slope %.4g, intercept %.4g (1 and 0 are perfect)", real_at(c, "slope"),
                real_at(c, "intercept"));
    fputc('\n', out);
}

struct scoring {
    const json_t *report;
    bool json;
};

static int write_report(FILE *out, void *ctx, struct err *err)
{
    const struct scoring *s = ctx;

    (void)err;
    if (s->json) {
        json_dumpf(s->report, out, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        fputc('\n', out);
        return 0;
    }
    print_head(out, s->report);
    print_scores(out, s->report);
    if (json_object_get(s->report, "classes"))
        print_classes(out, s->report);
    if (json_object_get(s->report, "residuals"))
        print_residuals(out, json_object_get(s->report, "residuals"));
    if (json_object_get(s->report, "intervals"))
        print_intervals(out, json_object_get(s->report, "intervals"));
    print_calibration(out, s->report);
    return 0;
}

static int score(const struct artifact *a, const char *file, const struct score_opts *o,
                 double threshold, struct err *err)
{
    const struct artifact_info *info = artifact_info(a);
    const char *target = o->target ? o->target : info->target;
    const struct model_rows_how how = { .no_header = o->no_header,
                                        .target = target,
                                        .may_lack_columns = str_eq(o->missing_columns, "missing"),
                                        .refuses_cells = str_eq(o->bad_cells, "error") };
    const struct score_how report_how = { .threshold = isnan(threshold)
                                                           ? adjust_threshold(info->adjust)
                                                           : threshold,
                                          .groups = (int)o->groups };
    struct scoring s = { .json = o->json };
    struct scored rows = { 0 };
    struct model_table t;

    for (int i = 0; i < artifact_columns(a); i++)
        if (str_eq(artifact_column_name(a, i), target))
            return err_at(err, "--target", "the model reads the column \"%.100s\" as an input",
                          target);
    if (model_table_open(&t, a, file, &how, err) < 0)
        return -1;
    int rc = scored_rows(a, t.frame, target, o->weights, &rows, err);
    json_t *report = rc == 0 ? score_report(info, &rows, &report_how, err) : NULL;
    s.report = report;
    rc = report ? output_write(o->output, write_report, &s, err)
                : err_wrap(err, "%s", stdinfile_name(file));
    json_decref(report);
    scored_fini(&rows);
    model_table_close(&t);
    return rc;
}

/* What is wrong with the options; NULL = nothing. */
static const char *bad_option(const struct score_opts *o, double *threshold)
{
    if (!str_eq(o->missing_columns, "error") && !str_eq(o->missing_columns, "missing"))
        return "--missing-columns is error or missing";
    if (!str_eq(o->bad_cells, "error") && !str_eq(o->bad_cells, "missing"))
        return "--bad-cells is error or missing";
    if (o->threshold &&
        (str_f64(o->threshold, threshold, NULL) < 0 || !(*threshold >= 0 && *threshold <= 1)))
        return "--threshold is a number from 0 to 1";
    return NULL;
}

int cmd_score(const struct cmd *cmd, int argc, char **argv)
{
    struct score_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct stdinfile input = { 0 };
    struct artifact *a = NULL;
    double threshold = (double)NAN;
    int n = 0, rc;

    if ((rc = cli_args(cmd, score_table, ARRAY_LEN(score_table), &o, argc, argv, op, 2, 2, &n)) >=
        0)
        goto out;
    rc = CLI_OK;
    const char *bad = bad_option(&o, &threshold);
    if (bad)
        rc = cli_usage(cmd, bad);
    else if (!(a = artifact_open(op[0], &err)))
        rc = cli_fail(&err);
    else if (o.threshold && artifact_info(a)->task != ML_BINARY)
        rc = cli_usage(cmd, "--threshold is for a target of two classes");
    else if (outfile_apart(o.output, op[0], &err) < 0 || outfile_apart(o.output, op[1], &err) < 0 ||
             stdinfile_take(&input, &op[1], &err) < 0 || score(a, op[1], &o, threshold, &err) < 0)
        rc = cli_fail(&err);
out:
    stdinfile_end(&input);
    artifact_close(a);
    conf_fini(&o, score_table, ARRAY_LEN(score_table));
    return rc;
}
