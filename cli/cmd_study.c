/* cmd_study.c - looking at studies and steering them: ls show leaderboard pause resume stop kill archive rm. */
#include "cli/call.h"
#include "cli/print.h"

#include "base/mem.h"
#include "base/str.h"
#include "proto/yaml.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void study_rows(const json_t *answer)
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
}

int cmd_ls(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    char state[80] = "";
    int rc = call_begin(&c, cmd, CALL_ALL, argc, argv, 0, 0);

    if (rc >= 0)
        return call_end(&c, rc);
    if (c.o.state)
        snprintf(state, sizeof(state), "&state=%.60s", c.o.state);
    if (client_get(c.client, &answer, &c.err, "/studies?limit=%" PRId64 "%s%s", c.o.limit, state,
                   c.o.all ? "&archived=true" : "") < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        study_rows(answer);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

/* A searcher, and why it when nobody named it. */
static void show_searcher(const json_t *s, const char *key, const char *why_key)
{
    const char *why = json_string_value(json_object_get(s, why_key));

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

/* Where trials stand on the scheduler's rungs. */
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

static void show_study(const json_t *s)
{
    static const char *const texts[] = { "name",   "state", "reason", "owner",     "dataset_name",
                                         "target", "task",  "metric", "validation" };
    const json_t *best = json_object_get(s, "best");
    char score[80], when[40];
    const char *key;
    json_t *v;
    size_t i = 0;

    for (i = 0; i < ARRAY_LEN(texts); i++)
        if (json_is_string(json_object_get(s, texts[i])))
            printf("%-12s %s\n", texts[i], print_text(s, texts[i]));
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
    json_object_foreach(json_object_get(s, "trials"), key, v) if (json_integer_value(v) > 0)
        printf("%-12s %" JSON_INTEGER_FORMAT "\n", key, json_integer_value(v));
    print_score(json_object_get(best, "score"), json_object_get(best, "se"), score, sizeof(score));
    printf("%-12s %s (%s, trial %" JSON_INTEGER_FORMAT ")\n", "best", score,
           print_text(best, "family"), json_integer_value(json_object_get(best, "number")));
    print_when(json_object_get(s, "created_at"), when, sizeof(when));
    printf("%-12s %s\n", "created", when);
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
    int rc = call_begin(&c, cmd, CALL_LIMIT, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    if (client_get(c.client, &answer, &c.err, "/studies/%s/leaderboard?limit=%" PRId64, c.quoted,
                   c.o.limit) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        print_leaderboard(answer, 0, stdout);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

/* The verb is the command's own name: one row of the table in main.c each. */
int cmd_study_verb(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    if (client_post(c.client, NULL, &answer, &c.err, "/studies/%s/%s", c.quoted, cmd->name) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (c.o.common.json)
        print_json(answer);
    else
        printf("%s: %s\n", print_text(answer, "name"), print_text(answer, "state"));
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

int cmd_rm(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    char path[440];
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 1, 1);

    if (rc >= 0)
        return call_end(&c, rc);
    snprintf(path, sizeof(path), "/studies/%s", c.quoted);
    if (client_call(c.client, "DELETE", path, NULL, NULL, &c.err) < 0)
        return call_end(&c, cli_fail(&c.err));
    if (!c.o.common.json)
        printf("removed %s\n", c.op[0]);
    return call_end(&c, CLI_OK);
}
