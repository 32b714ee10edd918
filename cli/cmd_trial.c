/* cmd_trial.c - commands on trials: trials, trial, logs.
 *
 * A trial is named by STUDY/NUMBER, as leaderboards show it, or by its id (call_trial_id). */
#include "cli/call.h"
#include "cli/pipeline.h"
#include "cli/print.h"

#include "base/str.h"
#include "proto/yaml.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why the trial did not complete; "-" when there is no reason. */
static const char *reason_of(const json_t *trial)
{
    const char *reason = print_text(trial, "reason");

    return strcmp(reason, "none") == 0 ? "-" : reason;
}

static void trial_rows(const json_t *answer)
{
    static const char *const heads[] = { "trial", "id",    "state", "family",
                                         "level", "score", "fit",   "why" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(answer, "trials"), i, row)
    {
        char score[80], fit[40];
        print_score(json_object_get(row, "score"), json_object_get(row, "se"), score,
                    sizeof(score));
        print_us(json_object_get(json_object_get(row, "info"), "fit_us"), fit, sizeof(fit));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "number")));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "id")));
        table_cell(t, "%s", print_text(row, "state"));
        table_cell(t, "%s", print_text(row, "family"));
        table_cell(t, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(row, "level")),
                   json_integer_value(json_object_get(row, "max_level")));
        table_cell(t, "%s", score);
        table_cell(t, "%s", fit);
        table_cell(t, "%s", reason_of(row));
    }
    table_print(t, stdout);
    print_more(answer);
}

int cmd_trials(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    char path[700], state[200] = "";
    int rc = call_begin(&c, cmd, CALL_STATE, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    client_quote(c.o.state ? c.o.state : "", state, sizeof(state));
    (void)!snprintf(path, sizeof(path), "/studies/%s/trials%s%s", c.quoted,
                    state[0] ? "?state=" : "", state);
    if (client_list(c.client, path, "trials", CLIENT_BY_NEXT, c.o.limit, &answer, &c.err) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        trial_rows(answer);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

static void line(const char *name, const char *text)
{
    if (strcmp(text, "-") != 0)
        printf("%-12s %s\n", name, text);
}

static void line_score(const json_t *t, const char *name, const char *key, const char *se)
{
    char text[80];

    print_score(json_object_get(t, key), json_object_get(t, se), text, sizeof(text));
    line(name, text);
}

static void show_config(const json_t *config)
{
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)config, key, v)
    {
        char *text = json_is_string(v)
                         ? NULL
                         : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(6));
        if (strcmp(key, "family") != 0)
            printf("  %-14s %s\n", print_safe(key), print_safe(text ? text : json_string_value(v)));
        free(text);
    }
}

static void show_attempts(const json_t *attempts)
{
    static const char *const heads[] = { "lease", "runner", "device", "levels", "begun", "end" };
    struct table *t = NULL;
    json_t *row;
    size_t i;

    if (json_array_size(attempts) == 0)
        return;
    t = table_new(heads, ARRAY_LEN(heads));
    json_array_foreach(attempts, i, row)
    {
        char when[40];
        print_when(json_object_get(row, "started_at"), when, sizeof(when));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "fence")));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "runner")));
        table_cell(t, "%s", print_text(row, "device"));
        table_cell(t, "%" JSON_INTEGER_FORMAT " to %" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(row, "from")),
                   json_integer_value(json_object_get(row, "to")));
        table_cell(t, "%s", when);
        table_cell(t, "%s", print_text(row, "end_reason"));
    }
    printf("\n");
    table_print(t, stdout);
}

static void show_trial(const json_t *t)
{
    const json_t *info = json_object_get(t, "info"), *bytes = json_object_get(info, "model_bytes");
    char text[80] = "-";

    printf("%-12s %" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT " (id %" JSON_INTEGER_FORMAT
           ": number %" JSON_INTEGER_FORMAT " of study %" JSON_INTEGER_FORMAT ")\n",
           "trial", json_integer_value(json_object_get(t, "study")),
           json_integer_value(json_object_get(t, "number")),
           json_integer_value(json_object_get(t, "id")),
           json_integer_value(json_object_get(t, "number")),
           json_integer_value(json_object_get(t, "study")));
    line("state", print_text(t, "state"));
    line("reason", reason_of(t));
    line("detail", print_text(t, "detail"));
    line("source", print_text(t, "source"));
    printf("%-12s %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT "\n", "level",
           json_integer_value(json_object_get(t, "level")),
           json_integer_value(json_object_get(t, "max_level")));
    line_score(t, "score", "score", "se");
    line_score(t, "test score", "test_score", "test_se");
    print_us(json_object_get(info, "fit_us"), text, sizeof(text));
    line("fit", text);
    print_ns(json_object_get(info, "predict_ns_row"), text, sizeof(text));
    line("predict/row", text);
    if (json_integer_value(bytes) > 0) {
        str_fmt_bytes(json_integer_value(bytes), text, sizeof(text));
        line("model", text);
    }
    line("family", print_text(t, "family"));
    show_config(json_object_get(t, "config"));
    show_attempts(json_object_get(t, "attempts"));
}

static const char *trial_path_of(struct call *c, const char **verb)
{
    *verb = "show";
    if (c->n == 1)
        return c->op[0];
    *verb = c->op[0];
    return c->op[1];
}

/* What becomes of the columns in the trial, where it is known: a drawing below all else. */
static int show_pipeline(struct call *c, const json_t *trial, int64_t id)
{
    json_t *answer = NULL;

    if (!json_object_get(json_object_get(trial, "info"), "pipeline"))
        return 0;
    if (client_get(c->client, &answer, &c->err, "/trials/%" PRId64 "/pipeline", id) < 0)
        return -1;
    printf("\n");
    pipeline_print(json_object_get(answer, "pipeline"), print_text(answer, "family"), stdout);
    json_decref(answer);
    return 0;
}

/* `assay trial enqueue STUDY '{family: boost, leaves: 63}'`. The configuration is YAML, as in a
 * spec. */
static int enqueue(struct call *c)
{
    json_t *config = yamlx_load(c->op[2], strlen(c->op[2]), "the configuration", &c->err);
    json_t *answer = NULL;
    int rc = config ? 0 : -1;

    if (rc == 0 && !json_is_object(config))
        rc = err_set(&c->err, ERR_ARG, "a configuration looks like '{family: boost, leaves: 63}'");
    client_quote(c->op[1], c->quoted, sizeof(c->quoted));
    if (rc == 0)
        rc = client_post(c->client, config, &answer, &c->err, "/studies/%s/trials", c->quoted);
    json_decref(config);
    if (rc < 0)
        return cli_fail(&c->err);
    if (c->o.common.json)
        print_json(answer);
    else
        printf("trial %s/%" JSON_INTEGER_FORMAT " (id %" JSON_INTEGER_FORMAT ")\n",
               print_safe(c->op[1]), json_integer_value(json_object_get(answer, "number")),
               json_integer_value(json_object_get(answer, "id")));
    json_decref(answer);
    return CLI_OK;
}

int cmd_trial(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    const char *verb, *id_text;
    json_t *answer = NULL;
    int64_t id = 0;
    int rc = call_begin(&c, cmd, CALL_ASKS, argc, argv, 1, 3);

    if (rc >= 0)
        return call_end(&c, rc);
    if (c.n == 3 && strcmp(c.op[0], "enqueue") == 0)
        return call_end(&c, enqueue(&c));
    id_text = trial_path_of(&c, &verb);
    bool is_show = strcmp(verb, "show") == 0, is_kill = strcmp(verb, "kill") == 0;
    if (!is_show && !is_kill && strcmp(verb, "retry") != 0)
        return call_end(&c, cli_usage(cmd, "the verbs are show, kill, retry and enqueue"));
    if (c.n == 3)
        return call_end(&c, cli_usage(cmd, "one trial at a time"));
    if (call_trial_id(c.client, id_text, &id, &c.err) < 0) {
        rc = cli_fail(&c.err);
        return call_end(&c, c.err.code == ERR_ARG ? CLI_USAGE : rc);
    }
    if (is_kill && !c.o.yes && !call_confirms("cancel trial %s?", print_safe(id_text)))
        return call_end(&c, CLI_FAILED);
    if (is_show)
        rc = client_get(c.client, &answer, &c.err, "/trials/%" PRId64, id);
    else
        rc = client_post(c.client, NULL, &answer, &c.err, "/trials/%" PRId64 "/%s", id, verb);
    if (rc < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else if (is_show)
        show_trial(answer);
    else
        printf("trial %" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT ": %s\n",
               json_integer_value(json_object_get(answer, "study")),
               json_integer_value(json_object_get(answer, "number")), print_text(answer, "state"));
    rc = is_show && !c.o.common.json ? show_pipeline(&c, answer, id) : 0;
    json_decref(answer);
    return call_end(&c, rc < 0 ? cli_fail(&c.err) : CLI_OK);
}

/* ---- logs ---- */

enum { FOLLOW_MS = 500 };

struct logs_opts {
    struct cli_common common;
    bool follow, events;
};
#define AT(f) offsetof(struct logs_opts, f)
static const struct conf_opt logs_table[] = {
    CLI_COMMON(struct logs_opts),
    { "follow", CONF_BOOL, AT(follow), "false", 0, 0,
      "stay until the trial has ended, and print what comes (-f)" },
    { "events", CONF_BOOL, AT(events), "false", 0, 0,
      "what happened to the trial, also where its program has printed something" },
};
#undef AT

static int show_events(struct client *client, int64_t id, bool json, struct err *err)
{
    json_t *answer = NULL, *row;
    size_t i;

    if (client_get(client, &answer, err, "/trials/%" PRId64 "/logs", id) < 0)
        return -1;
    if (json)
        print_json(answer);
    else
        json_array_foreach(json_object_get(answer, "events"), i, row)
        {
            char *data = json_dumps(json_object_get(row, "data"), JSON_COMPACT | JSON_ENCODE_ANY),
                 when[40];
            print_instant(json_object_get(row, "at"), when, sizeof(when));
            printf("%s  %-16s %s\n", when, print_text(row, "event"), print_safe(data ? data : ""));
            free(data);
        }
    json_decref(answer);
    return 0;
}

/* The program's own bytes, but nothing that a terminal would obey. */
static void print_output(const char *text)
{
    for (const char *p = text; *p; p++) {
        if ((unsigned char)*p < 32 && *p != '\n' && *p != '\t' && *p != '\r')
            putchar('?');
        else if (*p != '\r')
            putchar(*p);
    }
    (void)fflush(stdout);
}

/* Prints what the program printed, and follows it. 1 = there was something, 0 = nothing, -1. */
static int show_output(struct client *client, int64_t id, const struct logs_opts *o,
                       struct err *err)
{
    json_int_t after = 0;
    int any = 0;

    for (;;) {
        json_t *answer = NULL, *row;
        size_t i;

        if (client_get(client, &answer, err, "/trials/%" PRId64 "/output?after=%" PRId64, id,
                       (int64_t)after) < 0)
            return -1;
        json_array_foreach(json_object_get(answer, "pieces"), i, row)
        {
            if (o->common.json)
                print_json(row);
            else
                print_output(json_string_value(json_object_get(row, "text")));
            any = 1;
        }
        after = json_integer_value(json_object_get(answer, "next"));
        bool more = json_is_true(json_object_get(answer, "more"));
        bool live = json_is_true(json_object_get(answer, "live"));
        json_decref(answer);
        if (!more && !(live && o->follow))
            return any;
        if (!more)
            (void)poll(NULL, 0, FOLLOW_MS);
    }
}

int cmd_logs(const struct cmd *cmd, int argc, char **argv)
{
    struct logs_opts o = { 0 };
    struct err err = { 0 };
    const char *op[CLI_MAX_OPERANDS];
    struct client *c = NULL;
    int64_t id = 0;
    int n = 0, shown = 0, rc;

    if ((rc = cli_args(cmd, logs_table, ARRAY_LEN(logs_table), &o, argc, argv, op, 1, 1, &n)) >= 0)
        goto out;
    rc = CLI_OK;
    if (!(c = client_of(&o.common, &err))) {
        rc = cli_fail(&err);
    } else if (call_trial_id(c, op[0], &id, &err) < 0) {
        rc = cli_fail(&err);
        rc = err.code == ERR_ARG ? CLI_USAGE : rc;
    } else if ((!o.events && (shown = show_output(c, id, &o, &err)) < 0) ||
               (shown == 0 && !o.follow && show_events(c, id, o.common.json, &err) < 0)) {
        rc = cli_fail(&err);
    }
out:
    client_free(c);
    conf_fini(&o, logs_table, ARRAY_LEN(logs_table));
    return rc;
}
