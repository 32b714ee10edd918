/* cmd_submit.c - `assay submit SPEC` sends a study to a running controller; `assay attach STUDY`
 * follows one that runs there.
 *
 * Both only watch: Ctrl-C ends this program and leaves the study running, because others may use
 * it. --stop-on-interrupt changes that. */
#include "cli/cmd.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/specfile.h"
#include "cli/study_run.h"

#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct submit_opts {
    struct cli_common common;
    char *output;
    bool stop_on_interrupt; /* the members up to this one are options of `attach` too */
    bool follow, load_if_exists;
};
#define AT(f) offsetof(struct submit_opts, f)
static const struct conf_opt table[] = {
    CLI_COMMON(struct submit_opts),
    { "output", CONF_STR, AT(output), NULL, 0, 0, "save the best model here at the end (-o)" },
    { "stop_on_interrupt", CONF_BOOL, AT(stop_on_interrupt), "false", 0, 0,
      "Ctrl-C ends the study with its best model; without this it only leaves the study" },
    { "follow", CONF_BOOL, AT(follow), "false", 0, 0,
      "stay until the study ended and show its leaderboard" },
    { "load_if_exists", CONF_BOOL, AT(load_if_exists), "false", 0, 0,
      "a study of that name is not an error but the answer" },
};
#undef AT
enum { ATTACH_OPTS = ARRAY_LEN(table) - 2 };

static void study_run_of(struct study_run *s, struct client *c, const struct submit_opts *o)
{
    study_run_init(s, c, NULL);
    s->quiet = o->common.json;
    s->detaches = !o->stop_on_interrupt;
    s->server_option = o->common.server;
}

/* Returns an exit code. */
static int follow(struct study_run *s, const json_t *study, const struct submit_opts *o,
                  struct err *err)
{
    int rc = study_run_to_end(s, json_integer_value(json_object_get(study, "id")), o->output, err);

    if (rc < 0)
        return study_run_exit_code(err);
    if (rc == 0 && o->output && !s->quiet && strcmp(o->output, "-") != 0)
        printf("\nsaved %s\n", o->output);
    return rc > 0 ? CLI_INTERRUPTED : CLI_OK;
}

static int submit(const struct submit_opts *o, const char *path, json_t *spec, struct client *c,
                  struct err *err)
{
    struct study_run s;
    json_t *study = NULL;
    int rc = CLI_OK;

    study_run_of(&s, c, o);
    if (specfile_submit(&s, spec, path, o->load_if_exists, &study, err) < 0)
        return study_run_exit_code(err);
    if (o->common.json && !o->follow)
        printf("{\"id\": %" JSON_INTEGER_FORMAT "}\n",
               json_integer_value(json_object_get(study, "id")));
    else if (!o->common.json)
        printf("study %" JSON_INTEGER_FORMAT " (%s)\n",
               json_integer_value(json_object_get(study, "id")), print_text(study, "name"));
    /* so that this line comes before the first progress line, also in a pipe */
    (void)fflush(stdout);
    if (o->follow)
        rc = follow(&s, study, o, err);
    else if (!o->common.json)
        printf("'assay attach %s' follows it\n", print_text(study, "name"));
    json_decref(study);
    return rc;
}

int cmd_submit(const struct cmd *cmd, int argc, char **argv)
{
    struct submit_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    json_t *spec = NULL;
    int n = 0, rc;

    if ((rc = cli_args(cmd, table, ARRAY_LEN(table), &o, argc, argv, op, 1, 1, &n)) >= 0)
        goto out;
    if (o.output && !o.follow)
        rc = cli_usage(cmd, "-o saves the model at the end: use it with --follow, or later 'assay "
                            "export STUDY -o FILE'");
    else if (!(spec = specfile_load(op[0], &err)) ||
             (o.output && outfile_check(o.output, &err) < 0) || !(c = client_of(&o.common, &err)))
        rc = cli_fail(&err);
    else
        rc = submit(&o, op[0], spec, c, &err);
out:
    client_free(c);
    json_decref(spec);
    conf_fini(&o, table, ARRAY_LEN(table));
    return rc;
}

int cmd_attach(const struct cmd *cmd, int argc, char **argv)
{
    struct submit_opts o = { 0 };
    struct study_run s;
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    char quoted[400];
    struct client *c = NULL;
    json_t *study = NULL;
    int n = 0, rc;

    if ((rc = cli_args(cmd, table, ATTACH_OPTS, &o, argc, argv, op, 1, 1, &n)) >= 0)
        goto out;
    client_quote(op[0], quoted, sizeof(quoted));
    if ((o.output && outfile_check(o.output, &err) < 0) || !(c = client_of(&o.common, &err)) ||
        client_get(c, &study, &err, "/studies/%s", quoted) < 0) {
        rc = cli_fail(&err);
        goto out;
    }
    study_run_of(&s, c, &o);
    s.is_attached = true;
    rc = follow(&s, study, &o, &err);
out:
    client_free(c);
    json_decref(study);
    conf_fini(&o, table, ATTACH_OPTS);
    return rc;
}
