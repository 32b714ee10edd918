/* cmd_predict.c - `assay predict`: predictions of a saved model for the rows of a table.
 *
 * Needs no controller. The table is read with the column types that the model expects, so that a
 * column which was text stays text; one row is written per input row, in order. Columns to keep are
 * read a second time, as text, so that they are written as they stood. */
#include "cli/call.h"
#include "cli/modelfile.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/stdinfile.h"

#include "base/mem.h"
#include "base/str.h"
#include "ml/apply/predictions.h"
#include "ml/model/artifact.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEEP_MAX = 256 };

struct predict_opts {
    char *output, *keep, *missing_columns, *bad_cells, *threshold, *interval;
    bool json, no_header;
};
#define AT(f) offsetof(struct predict_opts, f)
static const struct conf_opt predict_table[] = {
    { "output", CONF_STR, AT(output), "-", 0, 0, "where to write (-o); - = standard output" },
    { "keep", CONF_STR, AT(keep), NULL, 0, 0,
      "columns of the table to write before the prediction, as they stand there: id,date" },
    { "threshold", CONF_STR, AT(threshold), NULL, 0, 0,
      "of two classes, predict the positive one where its probability is above this (default: the "
      "model's own, 0.5 unless its metric asked for another)" },
    { "interval", CONF_STR, AT(interval), NULL, 0, 0,
      "of numbers, write two more columns, lower and upper, between which this share of the true "
      "values is expected: 0.9" },
    { "missing_columns", CONF_STR, AT(missing_columns), "error", 0, 0,
      "what to do where the table lacks columns of the model: error, or missing to read them as "
      "missing in every row" },
    { "bad_cells", CONF_STR, AT(bad_cells), "missing", 0, 0,
      "what to do with cells that the model cannot read, such as text among numbers: error, or "
      "missing" },
    { "no_header", CONF_BOOL, AT(no_header), "false", 0, 0, "the table's first line is data" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "print what the model is (no table needed)" },
};
#undef AT

struct predicting {
    const char *output; /* the name of what is written */
    const struct artifact *a;
    const struct artifact_info *info;
    const struct frame *f;
    /* the same rows with the columns to keep as text; NULL = none is kept */
    const struct frame *kept;
    const char *file; /* for errors */
    struct predictions_how how;
    /* by the order of --keep: columns of `kept`, and the codes of a batch */
    int n_keep, keep[KEEP_MAX];
    int32_t *codes; /* [n_keep][PREDICTIONS_BATCH] */
};

static int write_header(struct buf *out, const struct predicting *c, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < c->n_keep && rc == 0; i++) {
        rc = predictions_cell(out, "", c->kept->cols[c->keep[i]].name, err);
        if (rc == 0)
            rc = buf_adds(out, ",", err);
    }
    if (rc == 0)
        rc = predictions_header(out, c->info, &c->how, err);
    return rc < 0 ? -1 : buf_adds(out, "\n", err);
}

/* The kept cells of a row; a missing one is empty. */
static int write_kept(struct buf *out, const struct predicting *c, int64_t row, struct err *err)
{
    int rc = 0;

    for (int i = 0; i < c->n_keep && rc == 0; i++) {
        int32_t code = c->codes[i * PREDICTIONS_BATCH + row];
        if (code >= 0)
            rc = predictions_cell(out, "", c->kept->cols[c->keep[i]].levels[code], err);
        if (rc == 0)
            rc = buf_adds(out, ",", err);
    }
    return rc;
}

struct sink {
    FILE *file;
    const char *name;
};

static int to_file(void *ctx, const void *p, size_t n, struct err *err)
{
    const struct sink *s = ctx;

    return fwrite(p, 1, n, s->file) == n ? 0 : err_errno(err, "cannot write %s", s->name);
}

static int write_batch(struct buf *out, const struct predicting *c, struct artifact_view *view,
                       int64_t from, float *p, struct err *err)
{
    int64_t n = MIN(c->f->rows - from, PREDICTIONS_BATCH);
    int rc = artifact_predict(view, from, n, p, err);

    for (int k = 0; k < c->n_keep && rc == 0; k++)
        frame_codes(c->kept, c->keep[k], from, n, c->codes + (int64_t)k * PREDICTIONS_BATCH);
    for (int64_t i = 0; rc == 0 && i < n; i++) {
        rc = write_kept(out, c, i, err);
        if (rc == 0)
            rc = predictions_row(out, c->info, &c->how, p + i * artifact_outputs(c->a), err);
    }
    return rc;
}

static int write_predictions(FILE *file, void *ctx, struct err *err)
{
    const struct predicting *c = ctx;
    struct artifact_view *view = artifact_view_new(c->a, c->f, err);
    int width = artifact_outputs(c->a),
        rc = view ? 0 : err_wrap(err, "%s", stdinfile_name(c->file));
    float *p = mem_array((size_t)PREDICTIONS_BATCH * (size_t)width, sizeof(*p));
    struct sink sink = { file, str_eq(c->output, "-") ? "standard output" : c->output };
    struct buf out;

    buf_init_sink(&out, (size_t)INT64_MAX, to_file, &sink);
    if (view)
        rc = write_header(&out, c, err);
    for (int64_t from = 0; rc == 0 && from < c->f->rows; from += PREDICTIONS_BATCH)
        rc = write_batch(&out, c, view, from, p, err);
    if (rc == 0)
        rc = buf_flush(&out, err);
    buf_fini(&out);
    mem_free(p);
    artifact_view_free(view);
    return rc;
}

/* Reads the columns named by --keep as text. `names` is cut into pieces. */
static int kept_open(struct model_table *t, struct predicting *c, const struct predict_opts *o,
                     char *names, struct err *err)
{
    const char *list[KEEP_MAX];
    char *save = NULL;

    for (char *s = strtok_r(names, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        if (frame_find(c->f, s) < 0)
            return err_at(err, "--keep", "%s has no column \"%.100s\"", stdinfile_name(c->file), s);
        if (c->n_keep == KEEP_MAX)
            return err_at(err, "--keep", "at most %d columns can be kept", KEEP_MAX);
        list[c->n_keep++] = s;
    }
    if (c->n_keep == 0)
        return err_at(err, "--keep", "names no column");
    if (model_table_exact(t, c->f, c->file, o->no_header, list, c->n_keep, err) < 0)
        return -1;
    c->kept = t->frame;
    if (c->kept->rows != c->f->rows)
        return err_set(err, ERR_IO, "%s changed while it was read", stdinfile_name(c->file));
    for (int i = 0; i < c->n_keep; i++)
        c->keep[i] = frame_find(c->kept, list[i]);
    c->codes = mem_array((size_t)c->n_keep * PREDICTIONS_BATCH, sizeof(*c->codes));
    return 0;
}

/* Numbers that stand for dates are told: nothing in the file that is written says it. */
static void tell_unit(const struct artifact_info *info, const struct artifact *a)
{
    const struct reading *r = artifact_reading(a, info->target);

    if (!r || r->kind != FRAME_DATE)
        return;
    bool is_time = strstr(r->note, "\"read\":\"time\"") != NULL;
    fprintf(stderr, "the target \"%.100s\" holds %s: %s are seconds since %s\n",
            print_safe(info->target), is_time ? "times of day" : "dates",
            info->task == ML_REGRESSION ? "predictions" : "classes",
            is_time ? "midnight" : "1970 in UTC");
}

static int predict(const struct artifact *a, const char *file, const struct predict_opts *o,
                   const struct predictions_how *asked, struct err *err)
{
    const struct model_rows_how how = { .no_header = o->no_header,
                                        .may_lack_columns = str_eq(o->missing_columns, "missing"),
                                        .refuses_cells = str_eq(o->bad_cells, "error") };
    struct model_table t, kept = { 0 };
    struct predicting ctx = {
        .output = o->output, .a = a, .info = artifact_info(a), .file = file, .how = *asked
    };
    char *names = mem_strdup(o->keep ? o->keep : "");
    int rc = 0;

    if (model_table_open(&t, a, file, &how, err) < 0) {
        mem_free(names);
        return -1;
    }
    ctx.f = t.frame;
    if (o->keep)
        rc = kept_open(&kept, &ctx, o, names, err);
    if (rc == 0)
        rc = output_write(o->output, write_predictions, &ctx, err);
    if (rc == 0)
        tell_unit(ctx.info, a);
    mem_free(ctx.codes);
    mem_free(names);
    model_table_close(&kept);
    model_table_close(&t);
    return rc;
}

/* The first word that an option does not have; NULL = all are fine. */
static const char *bad_word(const struct predict_opts *o, struct predictions_how *how)
{
    double *p = &how->threshold, *level = &how->interval;

    if (!str_eq(o->missing_columns, "error") && !str_eq(o->missing_columns, "missing"))
        return "--missing-columns is error or missing";
    if (!str_eq(o->bad_cells, "error") && !str_eq(o->bad_cells, "missing"))
        return "--bad-cells is error or missing";
    *how = (struct predictions_how){ .threshold = (double)NAN };
    if (o->threshold && (str_f64(o->threshold, p, NULL) < 0 || !(*p >= 0 && *p <= 1)))
        return "--threshold is a number from 0 to 1";
    if (o->interval && (str_f64(o->interval, level, NULL) < 0 || !(*level > 0 && *level < 1)))
        return "--interval is a number between 0 and 1, such as 0.9";
    return NULL;
}

int cmd_predict(const struct cmd *cmd, int argc, char **argv)
{
    struct predict_opts o = { 0 };
    struct predictions_how how;
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct stdinfile input = { 0 };
    struct artifact *a = NULL;
    int n = 0, rc;

    if ((rc = cli_args(cmd, predict_table, ARRAY_LEN(predict_table), &o, argc, argv, op, 1, 2,
                       &n)) >= 0)
        goto out;
    rc = CLI_OK;
    const char *bad = bad_word(&o, &how);
    if (bad)
        rc = cli_usage(cmd, bad);
    else if (!(a = artifact_open(op[0], &err)))
        rc = cli_fail(&err);
    else if (o.json && (n > 1 || strcmp(o.output, "-") != 0))
        rc = cli_usage(cmd, "--json prints what the model is: it takes no table and no -o");
    else if (o.json)
        puts(artifact_info(a)->schema_json);
    else if (n < 2)
        rc = cli_usage(cmd, "DATA.csv is missing");
    else if (predictions_check(artifact_info(a), &how, "--threshold", "--interval", &err) < 0)
        rc = cli_usage(cmd, err.text);
    else if (outfile_apart(o.output, op[0], &err) < 0 || outfile_apart(o.output, op[1], &err) < 0 ||
             stdinfile_take(&input, &op[1], &err) < 0 || predict(a, op[1], &o, &how, &err) < 0)
        rc = cli_fail(&err);
out:
    stdinfile_end(&input);
    artifact_close(a);
    conf_fini(&o, predict_table, ARRAY_LEN(predict_table));
    return rc;
}
