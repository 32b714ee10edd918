/* call.c - the common beginning and end of commands that ask a controller (see call.h).
 *
 * It holds the option tables of those commands, finds the trial that STUDY/NUMBER names, and
 * asks for confirmation before something is removed. Called by the cmd_*.c files. */
#include "cli/call.h"
#include "cli/print.h"

#include "base/str.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* In the order of enum call_takes: each command takes the first rows of this table, as many as
 * its value says. */
#define AT(f) offsetof(struct call_opts, f)
static const struct conf_opt list_opts[] = {
    CLI_COMMON(struct call_opts),
    { "limit", CONF_I64, AT(limit), "50", 1, 10000000, "at most this many rows" },
    { "state", CONF_STR, AT(state), NULL, 0, 0, "only rows in this state" },
    { "all", CONF_BOOL, AT(all), "false", 0, 0, "also archived studies" },
};
static const struct conf_opt ask_opts[] = {
    CLI_COMMON(struct call_opts),
    { "yes", CONF_BOOL, AT(yes), "false", 0, 0, "do it without asking (-y)" },
};
#undef AT

int call_begin(struct call *c, const struct cmd *cmd, enum call_takes takes, int argc, char **argv,
               int min, int max)
{
    memset(c, 0, sizeof(*c));
    c->opts = takes == CALL_ASKS ? ask_opts : list_opts;
    c->n_opts = takes == CALL_ASKS ? ARRAY_LEN(ask_opts) : ARRAY_LEN(list_opts) - CALL_ALL + takes;
    int rc = cli_args(cmd, c->opts, c->n_opts, &c->o, argc, argv, c->op, min, max, &c->n);
    if (rc >= 0)
        return rc;
    if (c->n > 0)
        client_quote(c->op[0], c->quoted, sizeof(c->quoted));
    c->client = client_of(&c->o.common, &c->err);
    return c->client ? -1 : cli_fail(&c->err);
}

int call_end(struct call *c, int rc)
{
    client_free(c->client);
    conf_fini(&c->o, c->opts, c->n_opts);
    return rc;
}

static int trial_of_study(struct client *client, const char *study, const char *number, int64_t *id,
                          struct err *err)
{
    char quoted[400];
    json_t *answer = NULL;
    int64_t n = 0;
    int rc = -1;

    if (str_i64(number, 1, INT32_MAX, &n, NULL) < 0)
        return err_set(err, ERR_ARG,
                       "\"%.60s\" is no number of a trial: a trial is STUDY/NUMBER, "
                       "such as adult/3",
                       number);
    client_quote(study, quoted, sizeof(quoted));
    if (client_get(client, &answer, err, "/studies/%s/trials?limit=1&after=%" PRId64, quoted,
                   n - 1) < 0)
        return -1;
    const json_t *row = json_array_get(json_object_get(answer, "trials"), 0);
    if (json_integer_value(json_object_get(row, "number")) == n) {
        *id = json_integer_value(json_object_get(row, "id"));
        rc = 0;
    } else {
        err_set(err, ERR_NOTFOUND, "study %.120s has no trial %" PRId64, study, n);
    }
    json_decref(answer);
    return rc;
}

int call_trial_id(struct client *client, const char *text, int64_t *id, struct err *err)
{
    const char *slash = strrchr(text, '/');
    char study[200];

    if (!slash) {
        if (str_i64(text, 1, INT64_MAX, id, NULL) == 0)
            return 0;
        return err_set(
            err, ERR_ARG,
            "\"%.60s\" is no trial: write STUDY/NUMBER, such as adult/3, or a trial's id", text);
    }
    (void)!snprintf(study, sizeof(study), "%.*s", (int)(slash - text), text);
    return trial_of_study(client, study, slash + 1, id, err);
}

bool call_is_asked(void)
{
    return isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
}

bool call_confirms(const char *fmt, ...)
{
    char answer[16] = "";
    va_list ap;

    if (!call_is_asked())
        return true;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputs(" [y/N] ", stderr);
    fflush(stderr);
    if (fgets(answer, sizeof(answer), stdin) && (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    fprintf(stderr, "nothing was changed\n");
    return false;
}
