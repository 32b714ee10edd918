/* cmd_model.c - `assay export`: downloads a model of a study, or writes the study's rows as
 * JSON. */
#include "cli/call.h"
#include "cli/modelfile.h"
#include "cli/print.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct export_opts {
    struct cli_common common;
    char *output, *trial;
    bool rows;
};
#define AT(f) offsetof(struct export_opts, f)
static const struct conf_opt export_table[] = {
    CLI_COMMON(struct export_opts),
    { "output", CONF_STR, AT(output), NULL, 0, 0, "where to save (-o; default STUDY.assay)" },
    { "trial", CONF_STR, AT(trial), NULL, 0, 0,
      "the model of this trial, by its number on the leaderboard, instead of the best" },
    { "rows", CONF_BOOL, AT(rows), "false", 0, 0,
      "all that is stored about the study as JSON, also of a damaged one" },
};
#undef AT

struct rows_of {
    struct client *c;
    const char *study; /* quoted */
};

/* Writes {"study": {...}, "trials": [...]}. The trials are read in as many answers as needed. */
static int write_rows(FILE *out, void *ctx, struct err *err)
{
    const struct rows_of *r = ctx;
    json_t *all = NULL, *page = NULL;
    int64_t after = 0;
    int rc = 0;

    do {
        page = NULL;
        rc = client_get(r->c, &page, err, "/studies/%s/dump?after=%" PRId64, r->study, after);
        if (rc < 0)
            break;
        after = json_integer_value(json_object_get(page, "next"));
        if (all) {
            json_array_extend(json_object_get(all, "trials"), json_object_get(page, "trials"));
            json_object_set(all, "error", json_object_get(page, "error"));
            json_decref(page);
        } else {
            all = page;
            json_object_del(all, "next");
        }
    } while (after > 0);
    if (rc == 0 && (json_dumpf(all, out, JSON_INDENT(1)) < 0 || fputc('\n', out) == EOF))
        rc = err_set(err, ERR_IO, "the rows could not be written");
    json_decref(all);
    return rc;
}

/* The API path of the model. A trial is named by STUDY/NUMBER, or by STUDY and --trial NUMBER. */
static int path_of(struct client *c, const char *what, const char *trial, char *path, size_t size,
                   struct err *err)
{
    char quoted[400], name[300];
    int64_t id = 0;

    if (strchr(what, '/') && trial)
        return err_at(err, "--trial", "the trial is named twice");
    if (!strchr(what, '/') && !trial) {
        client_quote(what, quoted, sizeof(quoted));
        (void)!snprintf(path, size, "/studies/%s/best/artifact", quoted);
        return 0;
    }
    if (trial && !strchr(trial, '/'))
        (void)!snprintf(name, sizeof(name), "%.150s/%.40s", what, trial);
    else
        str_copy(name, sizeof(name), trial ? trial : what);
    if (call_trial_id(c, name, &id, err) < 0)
        return -1;
    (void)!snprintf(path, size, "/trials/%" PRId64 "/artifact", id);
    return 0;
}

/* adult.assay, adult-3.assay */
static void file_of(const char *what, const char *trial, char *file, size_t size)
{
    const char *slash = trial ? strrchr(trial, '/') : NULL;

    (void)!snprintf(file, size, "%.150s%s%.40s.assay", what, trial ? "-" : "",
                    slash   ? slash + 1
                    : trial ? trial
                            : "");
    for (char *p = file; *p; p++)
        *p = (char)(*p == '/' ? '-' : *p);
}

int cmd_export(const struct cmd *cmd, int argc, char **argv)
{
    struct export_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    char file[300], quoted[400], path[460];
    int n = 0, rc;

    if ((rc = cli_args(cmd, export_table, ARRAY_LEN(export_table), &o, argc, argv, op, 1, 1, &n)) >=
        0)
        goto out;
    rc = CLI_OK;
    file_of(op[0], o.trial, file, sizeof(file));
    if (o.rows)
        snprintf(file, sizeof(file), "%.150s.json", op[0]);
    client_quote(op[0], quoted, sizeof(quoted));
    struct rows_of rows = { NULL, quoted };
    const char *to = o.output ? o.output : file;
    if (!(c = rows.c = client_of(&o.common, &err)))
        rc = cli_fail(&err);
    else if (o.rows ? output_write(to, write_rows, &rows, &err) < 0
                    : path_of(c, op[0], o.trial, path, sizeof(path), &err) < 0 ||
                          client_download(c, path, to, &err) < 0)
        rc = cli_fail(&err);
    else if (strcmp(to, "-") != 0 && !o.common.json)
        printf("saved %s\n", to);
out:
    client_free(c);
    conf_fini(&o, export_table, ARRAY_LEN(export_table));
    return rc;
}
