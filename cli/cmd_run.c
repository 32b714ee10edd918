/* cmd_run.c - `assay run SPEC` (a service of one's own for one study, its database kept) and `assay submit SPEC` (to a
 * running service). */
#include "cli/cmd.h"
#include "cli/local.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/specfile.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static int submit_spec(struct session *s, json_t *spec, const char *path, bool load_if_exists,
                       int64_t *study, struct err *err)
{
    json_t *answer = NULL;

    if (specfile_resolve(s, spec, path, load_if_exists, err) < 0 ||
        client_post(s->client, spec, &answer, err, "/studies%s",
                    load_if_exists ? "?load_if_exists=true" : "") < 0)
        return -1;
    *study = json_integer_value(json_object_get(answer, "id"));
    json_decref(answer);
    return 0;
}

static int follow_to_model(struct session *s, int64_t study, const char *output, struct err *err)
{
    json_t *last = NULL;
    int rc = session_follow(s, study, &last, err);

    if (rc == 0 && strcmp(print_text(last, "state"), "failed") == 0)
        rc = err_set(err, ERR_IO, "the search failed: %s", print_text(last, "reason"));
    if (rc == 0)
        rc = session_results(s, study, output, 10, err);
    if (rc == 0 && s->quiet && last)
        print_json(last);
    json_decref(last);
    return rc;
}

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

static int run_spec(struct session *s, struct local *local, json_t *spec, const char *path,
                    const struct run_opts *o, struct err *err)
{
    char file[200];
    int64_t study = 0;

    snprintf(file, sizeof(file), "%.150s.assay",
             json_object_get(spec, "name") ? print_text(spec, "name") : "best");
    const char *output = o->output ? o->output : file;
    if (local_device_check(o->device, err) < 0 || outfile_check(output, err) < 0 ||
        io_mkdirs(o->dir, 0700, err) < 0 ||
        local_start(local, o->dir, (int)o->runners, o->device, err) < 0)
        return -1;
    s->client = local->client;
    if (submit_spec(s, spec, path, false, &study, err) < 0)
        return -1;
    if (follow_to_model(s, study, output, err) < 0)
        return -1;
    if (!o->json)
        printf(
            "\nsaved %s; everything is kept in %s: 'assay serve --data-dir %s' shows it in a browser\n",
            output, o->dir, o->dir);
    return 0;
}

int cmd_run(const struct cmd *cmd, int argc, char **argv)
{
    struct run_opts o = { 0 };
    struct session s;
    struct local local = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    json_t *spec = NULL;
    int n = 0, rc;

    session_init(&s, NULL, &local);
    if ((rc = cli_args(cmd, run_table, ARRAY_LEN(run_table), &o, argc, argv, op, 1, 1, &n)) >= 0)
        goto out;
    s.quiet = o.json;
    rc = CLI_OK;
    if (!(spec = specfile_load(op[0], &err)) || run_spec(&s, &local, spec, op[0], &o, &err) < 0)
        rc = cli_fail(&err);
out:
    local_stop(&local, 1000);
    json_decref(spec);
    conf_fini(&o, run_table, ARRAY_LEN(run_table));
    return rc;
}

struct submit_opts {
    struct cli_common common;
    bool follow, load_if_exists;
    char *output;
};
#define AT(f) offsetof(struct submit_opts, f)
static const struct conf_opt submit_table[] = {
    CLI_COMMON(struct submit_opts),
    { "follow", CONF_BOOL, AT(follow), "false", 0, 0,
      "stay until the study ended and show its leaderboard" },
    { "output", CONF_STR, AT(output), NULL, 0, 0, "with --follow: save the best model here (-o)" },
    { "load_if_exists", CONF_BOOL, AT(load_if_exists), "false", 0, 0,
      "a study of that name is not an error but the answer" },
};
#undef AT

int cmd_submit(const struct cmd *cmd, int argc, char **argv)
{
    struct submit_opts o = { 0 };
    struct session s;
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    json_t *spec = NULL;
    int64_t study = 0;
    int n = 0, rc;

    if ((rc = cli_args(cmd, submit_table, ARRAY_LEN(submit_table), &o, argc, argv, op, 1, 1, &n)) >=
        0)
        goto out;
    rc = CLI_OK;
    if (!(spec = specfile_load(op[0], &err)) ||
        (o.follow && o.output && outfile_check(o.output, &err) < 0) ||
        !(c = client_of(&o.common, &err))) {
        rc = cli_fail(&err);
        goto out;
    }
    session_init(&s, c, NULL);
    s.quiet = o.common.json;
    if (submit_spec(&s, spec, op[0], o.load_if_exists, &study, &err) < 0) {
        rc = cli_fail(&err);
        goto out;
    }
    if (o.common.json && !o.follow)
        printf("{\"id\": %" PRId64 "}\n", study);
    else if (!o.common.json)
        printf("study %" PRId64 "\n", study);
    if (o.follow && follow_to_model(&s, study, o.output, &err) < 0)
        rc = cli_fail(&err);
out:
    client_free(c);
    json_decref(spec);
    conf_fini(&o, submit_table, ARRAY_LEN(submit_table));
    return rc;
}
