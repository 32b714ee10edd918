/* cmd_model.c - `assay predict` and `assay export`. predict works without any service: it reads the table by the types the
 * model expects, so that a column that was text stays text, and writes one row per input row, in order. */
#include "cli/client.h"
#include "cli/cmd.h"
#include "cli/print.h"
#include "cli/tempdir.h"

#include "base/buf.h"
#include "base/gz.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/artifact.h"
#include "ml/csv.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PREDICT_BATCH = 4096 };

struct predict_opts {
    char *output;
    bool json, no_header;
};
#define AT(f) offsetof(struct predict_opts, f)
static const struct conf_opt predict_table[] = {
    { "output", CONF_STR, AT(output), "-", 0, 0, "where to write (-o); - = standard output" },
    { "no_header", CONF_BOOL, AT(no_header), "false", 0, 0, "the table's first line is data" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "print what the model is (no table needed)" },
};
#undef AT

/* The model's inputs that the table has, with the model's types. Which it has is known from a first cheap look at the header
 * in csv.c's own words: an override for an absent column would be an error there, so absent ones are left to the model's
 * view, whose error names the column. */
struct inputs {
    struct csv_override *list;
    int n;
};

static int read_table(const char *file, const struct csv_opts *csv, const char *frame_path,
                      struct err *err)
{
    char hash[SHA256_HEX];
    struct gz *g = gz_open(file, err);
    int rc = -1;

    if (g)
        rc = csv_to_frame(gz_source, g, csv, frame_path, hash, err);
    gz_close(g);
    return rc;
}

static void quote_csv(FILE *out, const char *prefix, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fprintf(out, "%s%s", prefix, text);
        return;
    }
    fprintf(out, "\"%s", prefix);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void write_header(FILE *out, const struct artifact_info *info)
{
    fputs("prediction", out);
    for (int k = 0; info->task != ML_REGRESSION && k < info->n_classes; k++) {
        fputc(',', out);
        quote_csv(out, "p_", info->classes[k]);
    }
    fputc('\n', out);
}

static int best_class(const float *p, int k)
{
    int best = 0;

    for (int j = 1; j < k; j++)
        if (p[j] > p[best])
            best = j;
    return best;
}

static void write_row(FILE *out, const struct artifact_info *info, const float *p)
{
    float both[2];
    int k = info->n_classes;

    if (info->task == ML_REGRESSION) {
        fprintf(out, "%.9g\n", (double)p[0]);
        return;
    }
    if (info->task == ML_BINARY) {
        both[0] = 1 - p[0];
        both[1] = p[0];
        p = both;
        k = 2;
    }
    quote_csv(out, "", info->classes[best_class(p, k)]);
    for (int j = 0; j < k; j++)
        fprintf(out, ",%.9g", (double)p[j]);
    fputc('\n', out);
}

static int write_predictions(const struct artifact *a, const struct frame *f, FILE *out,
                             struct err *err)
{
    const struct artifact_info *info = artifact_info(a);
    struct artifact_view *view = artifact_view_new(a, f, err);
    int width = info->task == ML_MULTICLASS ? info->n_classes : 1, rc = view ? 0 : -1;
    float *p = mem_array((size_t)PREDICT_BATCH * (size_t)width, sizeof(*p));

    if (view)
        write_header(out, info);
    for (int64_t from = 0; rc == 0 && from < f->rows; from += PREDICT_BATCH) {
        int64_t n = MIN(f->rows - from, PREDICT_BATCH);
        rc = artifact_predict(view, from, n, p, err);
        for (int64_t i = 0; rc == 0 && i < n; i++)
            write_row(out, info, p + i * width);
    }
    if (rc == 0 && (fflush(out) != 0 || ferror(out)))
        rc = err_errno(err, "writing predictions");
    mem_free(p);
    artifact_view_free(view);
    return rc;
}

/* Predictions appear complete or not at all. */
static int predict_to(const struct artifact *a, const struct frame *f, const char *output,
                      struct err *err)
{
    char tmp[1200];
    bool to_stdout = strcmp(output, "-") == 0;

    if (to_stdout)
        return write_predictions(a, f, stdout, err);
    snprintf(tmp, sizeof(tmp), "%s.part-%ld", output, (long)getpid());
    FILE *out = fopen(tmp, "w");
    if (!out)
        return err_errno(err, "%s", output);
    int rc = write_predictions(a, f, out, err);
    if (fclose(out) != 0 && rc == 0)
        rc = err_errno(err, "%s", output);
    if (rc == 0 && rename(tmp, output) < 0)
        rc = err_errno(err, "%s", output);
    if (rc < 0)
        unlink(tmp);
    return rc;
}

static int predict(const struct artifact *a, const char *file, const struct predict_opts *o,
                   struct err *err)
{
    struct tempdir temp;
    char path[300];
    const struct prep *prep = artifact_prep(a);
    struct inputs in = { 0 };
    struct frame *f = NULL;
    int rc = -1;

    if (tempdir_make(&temp, sizeof(temp.path), err) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/frame", temp.path);
    in.list = mem_array((size_t)prep_inputs(prep) + 1, sizeof(*in.list));
    for (int i = 0; i < prep_inputs(prep); i++)
        in.list[in.n++] =
            (struct csv_override){ prep_input_name(prep, i), prep_input_type(prep, i) };
    const struct csv_opts csv = { .header = o->no_header ? CSV_HEADER_NO : CSV_HEADER_YES,
                                  .overrides = in.list,
                                  .n_overrides = in.n,
                                  .overrides_optional = true,
                                  .name = file };
    if (read_table(file, &csv, path, err) == 0 && (f = frame_open(path, err)) != NULL)
        rc = predict_to(a, f, o->output, err);
    frame_close(f);
    mem_free(in.list);
    tempdir_end(&temp, false);
    return rc;
}

int cmd_predict(const struct cmd *cmd, int argc, char **argv)
{
    struct predict_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct artifact *a = NULL;
    int n = 0, rc;

    if ((rc = cli_args(cmd, predict_table, ARRAY_LEN(predict_table), &o, argc, argv, op, 1, 2,
                       &n)) >= 0)
        goto out;
    rc = CLI_OK;
    if (!(a = artifact_open(op[0], &err)))
        rc = cli_fail(&err);
    else if (o.json)
        puts(artifact_info(a)->schema_json);
    else if (n < 2)
        rc = (fprintf(stderr, "assay predict: name the table to predict\nusage: assay predict %s\n",
                      cmd->operands),
              CLI_USAGE);
    else if (predict(a, op[1], &o, &err) < 0)
        rc = cli_fail(&err);
out:
    artifact_close(a);
    conf_fini(&o, predict_table, ARRAY_LEN(predict_table));
    return rc;
}

struct export_opts {
    struct cli_common common;
    char *output;
    int64_t trial;
};
#define AT(f) offsetof(struct export_opts, f)
static const struct conf_opt export_table[] = {
    CLI_COMMON(struct export_opts),
    { "output", CONF_STR, AT(output), NULL, 0, 0, "where to save (-o; default STUDY.assay)" },
    { "trial", CONF_I64, AT(trial), "0", 0, INT64_MAX,
      "the model of this trial (id) instead of the best" },
};
#undef AT

int cmd_export(const struct cmd *cmd, int argc, char **argv)
{
    struct export_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    char file[200], quoted[400], path[460];
    int n = 0, rc;

    if ((rc = cli_args(cmd, export_table, ARRAY_LEN(export_table), &o, argc, argv, op, 1, 1, &n)) >=
        0)
        goto out;
    rc = CLI_OK;
    client_quote(op[0], quoted, sizeof(quoted));
    if (o.trial > 0)
        snprintf(path, sizeof(path), "/trials/%" PRId64 "/artifact", o.trial);
    else
        snprintf(path, sizeof(path), "/studies/%s/best/artifact", quoted);
    snprintf(file, sizeof(file), "%.150s.assay", op[0]);
    const char *to = o.output ? o.output : file;
    if (!(c = client_of(&o.common, &err)) || client_download(c, path, to, &err) < 0)
        rc = cli_fail(&err);
    else if (strcmp(to, "-") != 0 && !o.common.json)
        printf("saved %s\n", to);
out:
    client_free(c);
    conf_fini(&o, export_table, ARRAY_LEN(export_table));
    return rc;
}
