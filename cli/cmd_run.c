/* cmd_run.c - `assay run SPEC`: starts a service of its own, runs one study in it, and keeps the
 * data folder.
 *
 * Unlike `fit` it takes a spec, and unlike `submit` it needs no running controller. What is wrong
 * with the spec alone is said before anything is started. The folder
 * (--dir) can be opened later with `assay serve --data-dir DIR`. */
#include "cli/cmd.h"
#include "cli/local.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/specfile.h"
#include "cli/specnames.h"
#include "cli/study_run.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct run_opts {
    char *dir, *output, *device;
    int64_t runners;
    bool json;
};
#define AT(f) offsetof(struct run_opts, f)
static const struct conf_opt run_table[] = {
    { "dir", CONF_STR, AT(dir), "assay-data", 0, 0,
      "folder of the database; 'assay serve --data-dir DIR' opens it later" },
    { "output", CONF_STR, AT(output), NULL, 0, 0,
      "where to save the model (-o; default NAME.assay)" },
    { "device", CONF_STR, AT(device), "auto", 0, 0,
      "auto (CPUs, and GPUs where there are some), cpu or cuda" },
    { "runners", CONF_I64, AT(runners), "1", 1, 64, "runner processes to start" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "print JSON at the end" },
};
#undef AT

/* Returns the file that the model is saved to: the option -o, or NAME.assay. */
static const char *output_of(const struct run_opts *o, const char *name, char *file, size_t size)
{
    (void)!snprintf(file, size, "%.150s.assay", name);
    return o->output ? o->output : file;
}

static int follow_and_save(struct study_run *s, const struct run_opts *o, const json_t *study,
                           struct err *err)
{
    char file[200];
    const char *output = s->local->runs_commands
                             ? NULL /* a program keeps its models itself */
                             : output_of(o, print_text(study, "name"), file, sizeof(file));

    if (study_run_to_end(s, json_integer_value(json_object_get(study, "id")), output, err) < 0)
        return -1;
    if (!o->json && !output)
        printf(
            "\nthe study is kept in %s: run 'assay serve --data-dir %s' to see it in a browser\n",
            o->dir, o->dir);
    else if (!o->json)
        printf("\nsaved %s; the study is kept in %s: run 'assay serve --data-dir %s' to see it in "
               "a browser\n",
               output, o->dir, o->dir);
    return 0;
}

static int dir_make(const char *dir, struct err *err)
{
    struct err why = { 0 };

    return io_mkdirs(dir, 0700, &why) == 0
               ? 0
               : err_set(err, ERR_IO, "--dir: cannot make the folder %s (%s)", dir, why.text);
}

static int run_spec(struct study_run *s, struct local *local, json_t *spec, const char *path,
                    const struct run_opts *o, struct err *err)
{
    char file[200], name[160];
    json_t *study = NULL;

    local->runs_commands = json_object_get(spec, "command") != NULL;
    specfile_study_name(spec, path, name, sizeof(name));
    if (specnames_check(spec, err) < 0 || specfile_files(spec, path, err) < 0)
        return specfile_name(path, err);
    if (local_device_check(o->device, err) < 0 ||
        outfile_check(output_of(o, name, file, sizeof(file)), err) < 0 ||
        specfile_apart(spec, path, output_of(o, name, file, sizeof(file)), err) < 0 ||
        dir_make(o->dir, err) < 0 ||
        local_start(local, o->dir, (int)o->runners, o->device, 0, err) < 0)
        return -1;
    s->client = local->client;
    if (specfile_submit(s, spec, path, false, &study, err) < 0)
        return -1;
    int rc = follow_and_save(s, o, study, err);
    json_decref(study);
    return rc;
}

int cmd_run(const struct cmd *cmd, int argc, char **argv)
{
    struct run_opts o = { 0 };
    struct study_run s;
    struct local local = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    json_t *spec = NULL;
    int n = 0, rc;

    study_run_init(&s, NULL, &local);
    if ((rc = cli_args(cmd, run_table, ARRAY_LEN(run_table), &o, argc, argv, op, 1, 1, &n)) >= 0)
        goto out;
    s.quiet = o.json;
    rc = CLI_OK;
    if (o.output && strcmp(o.output, "-") == 0)
        rc = cli_usage(cmd, "--output: name a file: standard output shows the leaderboard");
    else if (!(spec = specfile_load(op[0], &err)) ||
             run_spec(&s, &local, spec, op[0], &o, &err) < 0)
        rc = study_run_exit_code(&err);
out:
    local_stop(&local, 1000);
    json_decref(spec);
    conf_fini(&o, run_table, ARRAY_LEN(run_table));
    return rc;
}
