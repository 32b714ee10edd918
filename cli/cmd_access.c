/* cmd_access.c - who may use a controller: `assay token` for programs, `assay session` for people
 * who are signed in to the page.
 *
 * Both commands list what there is, make a new one and end one, so they share everything except the
 * words. What `session link` makes is a one-time link, with which a browser signs in. */
#include "cli/call.h"
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

struct access_kind {
    const char *rows; /* the collection in the API, and the key of its rows in an answer */
    const char *made; /* where a new one is made */
    bool is_token;
};
static const struct access_kind tokens = { "tokens", "tokens", true };
static const struct access_kind sessions = { "sessions", "links", false };

static void rows_print(const struct access_kind *k, const json_t *rows)
{
    const char *const heads[] = { "id", "name", "role", k->is_token ? "created" : "opened",
                                  "seen" };
    struct table *t = table_new(heads, ARRAY_LEN(heads) - k->is_token);
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row)
    {
        char made[40], seen[40];
        print_when(json_object_get(row, "created_at"), made, sizeof(made));
        print_when(json_object_get(row, "seen_at"), seen, sizeof(seen));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "id")));
        table_cell(t, "%s", print_text(row, "name"));
        table_cell(t, "%s", print_text(row, "role"));
        table_cell(t, "%s", made);
        if (!k->is_token) /* a token does not say when it was used last */
            table_cell(t, "%s", seen);
    }
    table_print(t, stdout);
}

/* Prints a new token, which can be shown only now, because the controller keeps only its hash. Or
 * prints a link; if the controller does not know under which name this machine reaches it, it gives
 * only the path of the link. */
static void made_print(const struct access_kind *k, const json_t *answer)
{
    const json_t *url = json_object_get(answer, "url");

    if (json_is_string(url))
        printf("%s\n", json_string_value(url));
    else
        printf("%s\n", print_text(answer, k->is_token ? "token" : "path"));
}

/* The body of the request that makes a new one; NULL if the operands ask for something else. */
static json_t *body_new(const struct access_kind *k, const struct call *c)
{
    if (k->is_token && strcmp(c->op[0], "add") == 0 && c->n == 3)
        return json_pack("{s:s, s:s}", "name", c->op[1], "role", c->op[2]);
    if (!k->is_token && strcmp(c->op[0], "link") == 0)
        return c->n == 2 ? json_pack("{s:s}", "role", c->op[1]) : json_object();
    return NULL;
}

/* Returns 1 if the user did not confirm. Ending a session does no harm: its user signs in again. */
static int end_one(const struct access_kind *k, struct call *c, json_t **answer)
{
    char path[160], id[140];

    if (k->is_token && !c->o.yes &&
        !call_confirms("remove token %s (programs that use it are refused from then on)?",
                       print_safe(c->op[1])))
        return 1;
    client_quote(c->op[1], id, sizeof(id));
    (void)!snprintf(path, sizeof(path), "/%s/%s", k->rows, id);
    return client_call(c->client, "DELETE", path, NULL, answer, &c->err);
}

static int access_run(const struct access_kind *k, const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL, *body = NULL;
    int rc = call_begin(&c, cmd, k->is_token ? CALL_ASKS : CALL_PLAIN, argc, argv, 1,
                        k->is_token ? 3 : 2);

    if (rc >= 0)
        return call_end(&c, rc);
    if (strcmp(c.op[0], "ls") == 0 && c.n == 1)
        rc = client_get(c.client, &answer, &c.err, "/%s", k->rows);
    else if (strcmp(c.op[0], "rm") == 0 && c.n == 2)
        rc = end_one(k, &c, &answer);
    else if ((body = body_new(k, &c)) != NULL)
        rc = client_post(c.client, body, &answer, &c.err, "/%s", k->made);
    else
        return call_end(&c, cli_usage_verb(cmd, c.op[0]));
    json_decref(body);
    if (rc != 0)
        return call_end(&c, rc > 0 ? CLI_FAILED : cli_fail(&c.err));
    if (answer && c.o.common.json)
        print_json(answer);
    else if (json_object_get(answer, k->rows))
        rows_print(k, json_object_get(answer, k->rows));
    else if (answer)
        made_print(k, answer);
    else if (!c.o.common.json)
        printf("%s %s\n", k->is_token ? "removed token" : "ended session", print_safe(c.op[1]));
    json_decref(answer);
    return call_end(&c, CLI_OK);
}

int cmd_token(const struct cmd *cmd, int argc, char **argv)
{
    return access_run(&tokens, cmd, argc, argv);
}

int cmd_session(const struct cmd *cmd, int argc, char **argv)
{
    return access_run(&sessions, cmd, argc, argv);
}
