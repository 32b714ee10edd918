/* cmd_explain.c - `assay explain`: why a model predicts what it does. Needs no controller.
 *
 * Without a table, the model itself says what its columns are worth to it, or with --weights the
 * weights of a linear model (explain_weights.c). With a table, every
 * row gets its SHAP values (explain_rows.c). With --permutation, the loss of the metric is
 * measured while each column in turn is shuffled. */
#include "cli/cmd.h"
#include "cli/explain.h"
#include "cli/modelfile.h"
#include "cli/outfile.h"
#include "cli/pipeline.h"
#include "cli/print.h"
#include "cli/stdinfile.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/fit/permute.h"
#include "ml/model/pipeline.h"
#include "ml/table/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 24 };

#define AT(f) offsetof(struct explain_opts, f)
static const struct conf_opt explain_table[] = {
    { "rows", CONF_I64, AT(rows), "0", 0, INT64_MAX, "only this many rows from the top; 0 = all" },
    { "class", CONF_STR, AT(class_name), NULL, 0, 0,
      "explain the score of this class, not of the predicted one" },
    { "mean", CONF_BOOL, AT(mean), "false", 0, 0,
      "print the mean size of each column's values instead of the rows" },
    { "weights", CONF_BOOL, AT(weights), "false", 0, 0,
      "of a linear model: what one unit of each column adds to the score" },
    { "pipeline", CONF_BOOL, AT(pipeline), "false", 0, 0,
      "only draw what becomes of the table's columns until the model reads them" },
    { "permutation", CONF_BOOL, AT(permutation), "false", 0, 0,
      "measure what the metric loses when a column is shuffled" },
    { "target", CONF_STR, AT(target), NULL, 0, 0,
      "with --permutation: the column to predict (default: the model's)" },
    { "repeats", CONF_I64, AT(repeats), "5", 1, 1000, "with --permutation: shuffles per column" },
    { "seed", CONF_I64, AT(seed), "0", 0, INT64_MAX, "with --permutation: seed of the shuffles" },
    { "missing_columns", CONF_STR, AT(missing_columns), "error", 0, 0,
      "what to do where the table lacks columns of the model: error, or missing to read them as "
      "missing in every row" },
    { "output", CONF_STR, AT(output), NULL, 0, 0, "write CSV (or JSON) to this file (-o)" },
    { "no_header", CONF_BOOL, AT(no_header), "false", 0, 0, "the table's first line is data" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "JSON instead of text or CSV" },
};
#undef AT

const char *explain_name(const struct explaining *e, int i)
{
    return artifact_column_name(e->a, i);
}

int explain_json(FILE *out, const char *text, struct err *err)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    int rc = json_text_str(&b, text, err);
    if (rc == 0)
        fwrite(b.data, 1, b.len, out);
    buf_fini(&b);
    return rc;
}

/* ---- lists of columns: importance and permutation ---- */

struct listed {
    int input;
    /* a share and its total; with --permutation a loss and its standard error */
    double value, more;
    bool is_unused;
};

struct listing {
    const struct explaining *e;
    struct listed *rows;
    const char *heads[3]; /* heads of the column's name and of the two numbers */
    char head_json[400];  /* members before "columns" */
};

static int by_value(const void *va, const void *vb)
{
    const struct listed *a = va, *b = vb;

    if (a->value != b->value)
        return a->value > b->value ? -1 : 1;
    return a->input < b->input ? -1 : 1;
}

static int list_csv(FILE *out, void *ctx, struct err *err)
{
    const struct listing *l = ctx;

    (void)err;
    fprintf(out, "%s,%s,%s\n", l->heads[0], l->heads[1], l->heads[2]);
    for (int i = 0; i < l->e->inputs; i++) {
        output_cell(out, "", explain_name(l->e, l->rows[i].input));
        fprintf(out, ",%.9g,", l->rows[i].value);
        if (!isnan(l->rows[i].more))
            fprintf(out, "%.9g", l->rows[i].more);
        fputc('\n', out);
    }
    return 0;
}

static int list_json(FILE *out, void *ctx, struct err *err)
{
    const struct listing *l = ctx;

    fprintf(out, "{%s, \"columns\": [", l->head_json);
    for (int i = 0; i < l->e->inputs; i++) {
        fprintf(out, "%s\n  {\"name\": ", i ? "," : "");
        if (explain_json(out, explain_name(l->e, l->rows[i].input), err) < 0)
            return -1;
        fprintf(out, ", \"%s\": %.17g, \"%s\": ", l->heads[1], l->rows[i].value, l->heads[2]);
        if (isnan(l->rows[i].more))
            fprintf(out, "null}");
        else
            fprintf(out, "%.17g}", l->rows[i].more);
    }
    fprintf(out, "\n]}\n");
    return 0;
}

static void bar_of(double share, char *out, size_t size)
{
    size_t n = 0;

    *out = '\0';
    for (int k = 0; k < (int)lround(share * BAR); k++)
        n += (size_t)snprintf(out + n, size - n, "█");
}

/* Writes JSON or CSV where one was asked for. Returns 1 where neither was: the caller prints a
 * table. */
static int list_write(struct listing *l, struct err *err)
{
    const struct explain_opts *o = l->e->o;

    qsort(l->rows, (size_t)l->e->inputs, sizeof(*l->rows), by_value);
    if (!o->json && !o->output)
        return 1;
    return output_write(o->output ? o->output : "-", o->json ? list_json : list_csv, l, err);
}

/* Prints each column's share of the sum of `total`. `what` names the sum in the line below the
 * table. */
static int shares(const struct explaining *e, const char *measure, const char *what,
                  const double *total, struct err *err)
{
    struct listing l = { .e = e, .heads = { "column", "importance", "total" } };
    double sum = 0;

    for (int i = 0; i < e->inputs; i++)
        sum += total[i];
    l.rows = mem_array((size_t)e->inputs + 1, sizeof(*l.rows));
    for (int i = 0; i < e->inputs; i++)
        l.rows[i] = (struct listed){ i, sum > 0 ? total[i] / sum : 0, total[i], false };
    snprintf(l.head_json, sizeof(l.head_json), "\"family\": \"%.40s\", \"measure\": \"%s\"",
             e->info->family, measure);
    int rc = list_write(&l, err);
    if (rc > 0) {
        struct table *t = table_new((const char *const[]){ "column", "importance", "" }, 3);
        for (int i = 0; i < e->inputs; i++) {
            char bar[BAR * 3 + 1];
            bar_of(l.rows[i].value, bar, sizeof(bar));
            table_cell(t, "%s", explain_name(e, l.rows[i].input));
            table_cell(t, "%.1f %%", 100 * l.rows[i].value);
            table_cell(t, "%s", bar);
        }
        table_print(t, stdout);
        if (artifact_members(e->a) > 0)
            printf("shares of %s of an ensemble, mean of its members by %s\n", what,
                   artifact_is_pool(e->a) ? "the sizes of their weights" : "their weights");
        else
            printf("shares of %s of a %s model%s\n", what, e->info->family,
                   e->info->n_models > 1 ? ", mean of its bag" : "");
    }
    mem_free(l.rows);
    return rc < 0 ? -1 : 0;
}

static int importance(const struct explaining *e, struct err *err)
{
    bool is_linear = strcmp(e->info->family, "linear") == 0;
    double *total = mem_array((size_t)e->inputs + 1, sizeof(*total));
    int rc = artifact_importance(e->a, total, err);

    struct err why = *err;
    if (rc < 0 && why.code == ERR_CONFLICT)
        err_set(err, ERR_CONFLICT, "%s; with a table and --permutation it is measured", why.text);
    if (rc == 0)
        rc = shares(e, is_linear ? "weight" : "gain",
                    is_linear ? "the weights of standardised columns" : "the gains of splits",
                    total, err);
    mem_free(total);
    return rc;
}

/* What becomes of the columns. Files of older programs do not hold it, and it is made from the
 * preparation. */
static json_t *pipeline_new(const struct explaining *e, struct err *err)
{
    const char *schema = e->info->schema_json;
    json_t *o = jsonx_load(schema, strlen(schema), "schema", err);
    json_t *pipeline = json_incref(json_object_get(o, "pipeline"));
    struct buf b;

    json_decref(o);
    if (!o || pipeline)
        return pipeline;
    const struct describe_in in = { .prep = artifact_prep(e->a),
                                    .form = pipeline_form(family_find(e->info->family)) };
    buf_init(&b, 1 << 20);
    if (prep_describe(&in, &b, err) == 0)
        pipeline = jsonx_load(b.data, b.len, "pipeline", err);
    buf_fini(&b);
    return pipeline;
}

static struct explaining member_of(const struct explaining *e, int i, double *weight)
{
    struct explaining member = *e;

    member.a = artifact_member(e->a, i, weight);
    member.info = artifact_info(member.a);
    return member;
}

/* {"members": [{"weight", "family", "pipeline"}, ...]} of an ensemble. */
static int members_json(const struct explaining *e, struct err *err)
{
    json_t *list = json_array(), *doc = json_pack("{s:o}", "members", list);
    int rc = 0;

    for (int i = 0; i < artifact_members(e->a) && rc == 0; i++) {
        double weight = 0;
        struct explaining member = member_of(e, i, &weight);
        json_t *p = pipeline_new(&member, err);
        rc = p ? 0 : -1;
        if (p)
            json_array_append_new(list, json_pack("{s:f, s:s, s:o}", "weight", weight, "family",
                                                  member.info->family, "pipeline", p));
    }
    if (rc == 0)
        print_json(doc);
    json_decref(doc);
    return rc;
}

/* Draws it above the importance of columns, or alone; of an ensemble one for each member. */
static int pipeline(const struct explaining *e, struct err *err)
{
    if (e->o->json && artifact_members(e->a) > 0)
        return members_json(e, err);
    for (int i = 0; i < artifact_members(e->a); i++) {
        double weight = 0;
        struct explaining member = member_of(e, i, &weight);
        printf("%smember %d of %d, with %.0f %%\n", i ? "\n" : "", i + 1, artifact_members(e->a),
               100 * weight);
        if (pipeline(&member, err) < 0)
            return -1;
    }
    if (artifact_members(e->a) > 0)
        return 0;
    json_t *p = pipeline_new(e, err);

    if (!p)
        return -1;
    if (e->o->json)
        print_json(p);
    else
        pipeline_print(p, e->info->family, stdout);
    if (!e->o->json && !e->o->pipeline)
        printf("\n");
    json_decref(p);
    return 0;
}

/* What is done to the outputs of the model; nothing where nothing is. */
static void print_adjust(const struct artifact_info *info)
{
    const struct adjust *a = info->adjust;

    if (a->calibrates)
        printf("probabilities are calibrated: %s x %.4g%s%.4g%s\n",
               info->task == ML_BINARY ? "log-odds" : "log probability", a->slope,
               a->offset < 0 ? " - " : " + ", fabs(a->offset),
               info->task == ML_BINARY ? "" : " x log share of the class");
    if (a->power > 0)
        printf("the mean of the fold models is raised to the power %.4g\n", a->power);
    if (a->threshold > 0)
        printf("\"%s\" is predicted above a probability of %.4g\n", info->classes[1], a->threshold);
    if (adjust_most_level(a) > 0)
        printf("intervals (predict --interval 0.9) were learnt from %" PRId64 " held-out rows\n",
               a->intervals.rows);
    if (!adjust_is_plain(a))
        printf("\n");
}

/* Without a table. */
static int model_only(const struct explaining *e, struct err *err)
{
    if (e->o->pipeline)
        return pipeline(e, err);
    if (!e->o->json && !e->o->output) {
        print_adjust(e->info);
        if (pipeline(e, err) < 0)
            return -1;
    }
    return importance(e, err);
}

static int mean_values(const struct explaining *e, struct err *err)
{
    double *mean = mem_array((size_t)e->inputs + 1, sizeof(*mean));
    int rc = explain_rows_mean(e, mean, err);

    if (rc == 0)
        rc = shares(e, "mean_shap", "the mean size of SHAP values", mean, err);
    mem_free(mean);
    return rc;
}

static void print_permuted(const struct explaining *e, const struct listing *l, double score,
                           int64_t rows)
{
    struct table *t = table_new((const char *const[]){ "column", "loss", "se", "" }, 4);
    double top = l->rows[0].value;

    for (int i = 0; i < e->inputs; i++) {
        const struct listed *r = &l->rows[i];
        char bar[BAR * 3 + 1];
        bar_of(top > 0 && r->value > 0 ? r->value / top : 0, bar, sizeof(bar));
        table_cell(t, "%s", explain_name(e, r->input));
        table_cell(t, "%.5f", r->value);
        table_cell(t, isnan(r->more) ? "-" : "%.5f", r->more);
        table_cell(t, "%s", r->is_unused ? "not read" : bar);
    }
    table_print(t, stdout);
    printf("what %s (%.5f on %" PRId64 " rows) loses when a column is shuffled, %" PRId64
           " time%s each\n",
           e->info->metric, score, rows, e->o->repeats, e->o->repeats > 1 ? "s" : "");
}

static int permutation(const struct explaining *e, const char *target, struct err *err)
{
    struct permuted *got = mem_array((size_t)e->inputs + 1, sizeof(*got));
    struct listing l = { .e = e, .heads = { "column", "loss", "se" } };
    const struct permute_spec spec = { .target = target,
                                       .rows = e->o->rows,
                                       .repeats = (int)e->o->repeats,
                                       .seed = (uint64_t)e->o->seed };
    int64_t rows = e->o->rows > 0 ? MIN(e->o->rows, e->f->rows) : e->f->rows;
    double score = 0;
    int rc = permute_importance(e->a, e->f, &spec, &score, got, err);

    l.rows = mem_array((size_t)e->inputs + 1, sizeof(*l.rows));
    for (int i = 0; i < e->inputs; i++)
        l.rows[i] = (struct listed){ i, got[i].drop, got[i].se, got[i].is_unused };
    snprintf(l.head_json, sizeof(l.head_json),
             "\"family\": \"%.40s\", \"measure\": \"permutation\", \"metric\": \"%.40s\", "
             "\"score\": %.17g, \"rows\": %" PRId64 ", \"repeats\": %" PRId64,
             e->info->family, e->info->metric, score, rows, e->o->repeats);
    rc = rc < 0 ? err_wrap(err, "%s", stdinfile_name(e->file)) : list_write(&l, err);
    if (rc > 0)
        print_permuted(e, &l, score, rows);
    mem_free(l.rows);
    mem_free(got);
    return rc < 0 ? -1 : 0;
}

/* ---- the command ---- */

static int explain_rows_of(struct explaining *e, const char *file, struct err *err)
{
    const char *target = e->o->target ? e->o->target : e->info->target;
    const struct model_rows_how how = { .no_header = e->o->no_header,
                                        .target = e->o->permutation ? target : NULL,
                                        .may_lack_columns =
                                            str_eq(e->o->missing_columns, "missing") };
    struct model_table t;

    for (int i = 0; i < e->inputs && e->o->permutation; i++)
        if (str_eq(explain_name(e, i), target))
            return err_at(err, "--target", "the model reads the column \"%.100s\" as an input",
                          target);
    if (model_table_open(&t, e->a, file, &how, err) < 0)
        return -1;
    e->f = t.frame;
    e->file = file;
    int rc = e->o->permutation ? permutation(e, target, err)
             : e->o->mean
                 ? mean_values(e, err)
                 : output_write(e->o->output ? e->o->output : "-", explain_rows_write, e, err);
    model_table_close(&t);
    return rc;
}

/* Options that do not go together; NULL = all are fine. */
static const char *bad_options(const struct explain_opts *o, bool has_table)
{
    if (o->permutation && !has_table)
        return "--permutation needs a table that holds the target";
    if (o->mean && (!has_table || o->permutation))
        return "--mean needs a table, and goes without --permutation";
    if (o->weights && (has_table || o->mean || o->permutation || o->pipeline))
        return "--weights needs the model only: no table, --mean, --permutation or --pipeline";
    if (o->pipeline && (has_table || o->output))
        return "--pipeline needs a model only, and writes to the screen";
    if (o->target && !o->permutation)
        return "--target goes with --permutation";
    if (o->class_name && (!has_table || o->permutation))
        return "--class needs a table, and goes without --permutation";
    if (o->rows > 0 && !has_table)
        return "--rows needs a table";
    if (!str_eq(o->missing_columns, "error") && !str_eq(o->missing_columns, "missing"))
        return "--missing-columns is error or missing";
    return NULL;
}

int cmd_explain(const struct cmd *cmd, int argc, char **argv)
{
    struct explain_opts o = { 0 };
    struct explaining e = { .o = &o };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct stdinfile input = { 0 };
    struct artifact *a = NULL;
    int n = 0, rc;

    if ((rc = cli_args(cmd, explain_table, ARRAY_LEN(explain_table), &o, argc, argv, op, 1, 2,
                       &n)) >= 0)
        goto out;
    const char *bad = bad_options(&o, n > 1);
    if (bad) {
        rc = cli_usage(cmd, bad);
        goto out;
    }
    rc = CLI_OK;
    if (!(a = artifact_open(op[0], &err))) {
        rc = cli_fail(&err);
        goto out;
    }
    e.a = a;
    e.info = artifact_info(a);
    e.inputs = artifact_columns(a);
    e.outputs = artifact_outputs(a);
    if ((o.output && outfile_apart(o.output, op[0], &err) < 0) ||
        (o.output && n > 1 && outfile_apart(o.output, op[1], &err) < 0) ||
        (n > 1 && stdinfile_take(&input, &op[1], &err) < 0) ||
        (o.weights ? explain_weights(&e, &err)
         : n < 2   ? model_only(&e, &err)
                   : explain_rows_of(&e, op[1], &err)) < 0)
        rc = cli_fail(&err);
out:
    stdinfile_end(&input);
    artifact_close(a);
    conf_fini(&o, explain_table, ARRAY_LEN(explain_table));
    return rc;
}
