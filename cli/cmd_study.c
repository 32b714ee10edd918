/* cmd_study.c - commands on studies: ls, show, leaderboard, pause, resume, stop, kill, archive, rm.
 *
 * Each command is one call of the REST API and one way to print its answer. `kill` and `rm` lose
 * something, so they ask first where a person sits at a terminal. */
#include "cli/call.h"
#include "cli/print.h"

#include "base/mem.h"
#include "base/str.h"
#include "proto/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void study_rows(const json_t *answer, bool are_all)
{
    static const char *const heads[] = { "id",     "name", "state",  "trials",
                                         "metric", "best", "family", "created" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    size_t i;
    json_t *row;

    json_array_foreach(json_object_get(answer, "studies"), i, row)
    {
        const json_t *best = json_object_get(row, "best");
        char score[80], when[40];
        print_score(json_object_get(best, "score"), NULL, score, sizeof(score));
        print_when(json_object_get(row, "created_at"), when, sizeof(when));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "id")));
        table_cell(t, "%s", print_text(row, "name"));
        table_cell(t, "%s", print_text(row, "state"));
        table_cell(t, "%" PRId64, print_ended_trials(row));
        table_cell(t, "%s", print_text(row, "metric"));
        table_cell(t, "%s", score);
        table_cell(t, "%s", print_text(best, "family"));
        table_cell(t, "%s", when);
    }
    table_print(t, stdout);
    print_more(answer);
    if (json_array_size(json_object_get(answer, "studies")) == 0)
        fprintf(stderr, "no studies here%s; 'assay submit SPEC.yaml' starts one\n",
                are_all ? "" : " (--all lists archived ones, too)");
}

int cmd_ls(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    char path[200] = "", state[200] = "";
    int rc = call_begin(&c, cmd, CALL_ALL, argc, argv, 0, 0);

    if (rc >= 0)
        return call_end(&c, rc);
    client_quote(c.o.state ? c.o.state : "", state, sizeof(state));
    (void)!snprintf(path, sizeof(path), "/studies?archived=%s%s%.150s", c.o.all ? "true" : "false",
                    state[0] ? "&state=" : "", state);
    if (client_list(c.client, path, "studies", CLIENT_BY_NEXT, c.o.limit, &answer, &c.err) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        study_rows(answer, c.o.all);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

/* Prints a sampler or scheduler, and the reason for it when it was chosen automatically. */
static void show_searcher(const json_t *s, const char *key, const char *why_key)
{
    const char *why = json_is_string(json_object_get(s, why_key)) ? print_text(s, why_key) : NULL;

    if (json_is_string(json_object_get(s, key)))
        printf("%-12s %s%s%s%s\n", key, print_text(s, key), why ? " (auto: " : "", why ? why : "",
               why ? ")" : "");
}

static void rung_row(struct table *t, const json_t *bracket, const json_t *rung)
{
    static const char *const counts[] = { "running", "waiting", "promoted", "done" };
    char best[80];

    table_cell(t, "%s", print_text(bracket, "family"));
    table_cell(t, "%" JSON_INTEGER_FORMAT,
               json_integer_value(json_object_get(bracket, "bracket")) + 1);
    table_cell(t, "%" JSON_INTEGER_FORMAT "/%" JSON_INTEGER_FORMAT,
               json_integer_value(json_object_get(rung, "level")),
               json_integer_value(json_object_get(bracket, "max_level")));
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        table_cell(t, "%" JSON_INTEGER_FORMAT,
                   json_integer_value(json_object_get(rung, counts[i])));
    print_score(json_object_get(rung, "best"), NULL, best, sizeof(best));
    table_cell(t, "%s", best);
}

/* Prints how many trials are on each of the scheduler's rungs. */
static void show_brackets(const json_t *s)
{
    static const char *const heads[] = { "family",  "bracket",  "level", "running",
                                         "waiting", "promoted", "ended", "best" };
    const json_t *brackets = json_object_get(s, "brackets");
    json_t *bracket, *rung;
    size_t i, k;

    if (json_array_size(brackets) == 0)
        return;
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    json_array_foreach(brackets, i, bracket)
    {
        json_array_foreach(json_object_get(bracket, "rungs"), k, rung) rung_row(t, bracket, rung);
    }
    printf(json_is_null(json_object_get(s, "result")) ? "\n" : "\nas the search ended:\n");
    table_print(t, stdout);
}

/* "10m00s of time (3m12s used), 200 trials (40 ended)" */
static void show_budget(const json_t *s)
{
    const json_t *budget = json_object_get(s, "budget");
    int64_t time_ms = json_integer_value(json_object_get(budget, "time_ms"));
    int64_t trials = json_integer_value(json_object_get(budget, "trials"));
    char limit[40], used[40];

    str_fmt_ms(time_ms, limit, sizeof(limit));
    str_fmt_ms(json_integer_value(json_object_get(s, "used_ms")), used, sizeof(used));
    printf("%-12s ", "budget");
    if (time_ms > 0)
        printf("%s of time (%s used)%s", limit, used, trials > 0 ? ", " : "");
    if (trials > 0)
        printf("%" PRId64 " trials (%" PRId64 " ended)", trials, print_ended_trials(s));
    if (time_ms == 0)
        printf("%s, %s used", trials > 0 ? "" : "no limit", used);
    printf("\n");
}

/* "40: 31 completed, 6 pruned, 3 running" */
static void show_counts(const json_t *s)
{
    const json_t *trials = json_object_get(s, "trials");
    const char *key, *comma = ":";
    json_t *v;

    printf("%-12s %" JSON_INTEGER_FORMAT, "trials",
           json_integer_value(json_object_get(trials, "total")));
    json_object_foreach((json_t *)trials, key, v)
    {
        if (strcmp(key, "total") == 0 || json_integer_value(v) == 0)
            continue;
        printf("%s %" JSON_INTEGER_FORMAT " %s", comma, json_integer_value(v), key);
        comma = ",";
    }
    printf("\n");
}

static void show_best(const json_t *s)
{
    const json_t *best = json_object_get(s, "best");
    char score[80];

    if (!json_is_object(best)) {
        printf("%-12s none yet\n", "best");
        return;
    }
    print_score(json_object_get(best, "score"), json_object_get(best, "se"), score, sizeof(score));
    printf("%-12s %s (%s, trial %s/%" JSON_INTEGER_FORMAT ")\n", "best", score,
           print_text(best, "family"), print_text(s, "name"),
           json_integer_value(json_object_get(best, "number")));
}

static void show_ensemble(const json_t *s)
{
    const json_t *e = json_object_get(s, "ensemble");
    bool is_over = json_is_object(json_object_get(s, "result"));
    char score[80], bytes[40];

    if (!json_is_object(e))
        return;
    print_score(json_object_get(e, "score"), json_object_get(e, "se"), score, sizeof(score));
    str_fmt_bytes(json_integer_value(json_object_get(e, "bytes")), bytes, sizeof(bytes));
    if (json_is_true(json_object_get(e, "ships")))
        printf("%-12s %s (%zu members, %s), %s\n", "ensemble", score,
               json_array_size(json_object_get(e, "members")), bytes,
               is_over ? "ships" : "the best so far");
    else
        printf("%-12s %s, not better: the best trial ships\n", "ensemble", score);
}

static void show_times(const json_t *s)
{
    static const char *const keys[] = { "created_at", "started_at", "ended_at" };
    static const char *const names[] = { "created", "started", "ended" };
    char when[40];

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        print_when(json_object_get(s, keys[i]), when, sizeof(when));
        if (strcmp(when, "-") != 0)
            printf("%-12s %s\n", names[i], when);
    }
}

static void show_study(const json_t *s)
{
    static const char *const texts[] = {
        "name",         "state",  "reason", "why",    "owner",
        "dataset_name", "target", "task",   "metric", "validation"
    };
    json_t *v;
    size_t i = 0;

    printf("%-12s %" JSON_INTEGER_FORMAT "\n", "study",
           json_integer_value(json_object_get(s, "id")));
    for (i = 0; i < ARRAY_LEN(texts); i++)
        if (json_is_string(json_object_get(s, texts[i])))
            printf("%-12s %s\n", strcmp(texts[i], "dataset_name") == 0 ? "dataset" : texts[i],
                   print_text(s, texts[i]));
    if (json_array_size(json_object_get(s, "objectives")) > 1) {
        printf("%-12s", "objectives");
        json_array_foreach(json_object_get(s, "objectives"), i, v)
            printf("%s %s", i ? "," : "", json_string_value(v));
        printf("\n");
    }
    show_searcher(s, "sampler", "sampler_why");
    show_searcher(s, "scheduler", "scheduler_why");
    if (strcmp(print_text(s, "resource"), "auto") != 0)
        printf("%-12s %s\n", "resource", print_text(s, "resource"));
    show_budget(s);
    show_counts(s);
    show_best(s);
    show_ensemble(s);
    show_times(s);
    show_brackets(s);
}

int cmd_show(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    if (client_get(c.client, &answer, &c.err, "/studies/%s", c.quoted) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        show_study(answer);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

int cmd_leaderboard(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    char path[440];
    int rc = call_begin(&c, cmd, CALL_LIMIT, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    (void)!snprintf(path, sizeof(path), "/studies/%s/leaderboard", c.quoted);
    if (client_list(c.client, path, "rows", CLIENT_BY_OFFSET, c.o.limit, &answer, &c.err) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        print_leaderboard(answer, 0, stdout);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

/* Says what would be lost and asks, where a person can answer. */
static bool confirms(struct call *c, const char *verb)
{
    json_t *study = NULL;
    bool yes = true;

    if (c->o.yes || !call_is_asked() ||
        client_get(c->client, &study, NULL, "/studies/%s", c->quoted) < 0)
        return true; /* the call that follows reports the error */
    if (strcmp(verb, "rm") == 0)
        yes = call_confirms(
            "remove study %s (%s), its %" JSON_INTEGER_FORMAT " trials and its models?",
            print_text(study, "name"), print_text(study, "state"),
            json_integer_value(json_object_get(json_object_get(study, "trials"), "total")));
    else
        yes = call_confirms(
            "end study %s (%s) without a model ('assay stop %s' keeps the best one)?",
            print_text(study, "name"), print_text(study, "state"), print_text(study, "name"));
    json_decref(study);
    return yes;
}

/* pause, resume, stop, kill and archive are one row each in the table of main.c. The verb of the
 * API is the command's name. */
int cmd_study_verb(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    bool asks = strcmp(cmd->name, "kill") == 0;
    int rc = call_begin(&c, cmd, asks ? CALL_ASKS : CALL_PLAIN, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    if (asks && !confirms(&c, cmd->name))
        return call_end(&c, CLI_FAILED);
    if (client_post(c.client, NULL, &answer, &c.err, "/studies/%s/%s", c.quoted, cmd->name) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        printf("%s: %s%s\n", print_text(answer, "name"), print_text(answer, "state"),
               strcmp(cmd->name, "archive") == 0 ? ", archived" : "");
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

int cmd_rm(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    char path[440];
    int rc = call_begin(&c, cmd, CALL_ASKS, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    if (!confirms(&c, cmd->name))
        return call_end(&c, CLI_FAILED);
    snprintf(path, sizeof(path), "/studies/%s", c.quoted);
    if (client_call(c.client, "DELETE", path, NULL, NULL, &c.err) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (!c.o.common.json)
        printf("removed %s\n", print_safe(c.op[0]));
    return call_end(&c, CLI_OK);
}
