/* cmd_session.c - `assay session`: who is signed in to the page.
 *
 * Lists the sessions, ends one, or prints a new one-time link with which a browser signs in. */
#include "cli/call.h"
#include "cli/print.h"

#include <stdio.h>
#include <string.h>

static void session_rows(const json_t *sessions)
{
    static const char *const heads[] = { "id", "name", "role", "opened", "seen" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    size_t i;
    json_t *row;

    json_array_foreach(sessions, i, row)
    {
        char opened[40], seen[40];
        print_when(json_object_get(row, "created_at"), opened, sizeof(opened));
        print_when(json_object_get(row, "seen_at"), seen, sizeof(seen));
        table_cell(t, "%" JSON_INTEGER_FORMAT, json_integer_value(json_object_get(row, "id")));
        table_cell(t, "%s", print_text(row, "name"));
        table_cell(t, "%s", print_text(row, "role"));
        table_cell(t, "%s", opened);
        table_cell(t, "%s", seen);
    }
    table_print(t, stdout);
}

/* The controller may not know under which name this machine reaches it, and then gives only the
 * path of the link. */
static void link_line(const json_t *answer)
{
    const json_t *url = json_object_get(answer, "url");

    printf("%s\n", json_is_string(url) ? json_string_value(url) : print_text(answer, "path"));
}

int cmd_session(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL, *body = NULL;
    char path[160], id[140];
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 1, 2);

    if (rc >= 0)
        return call_end(&c, rc);
    if (strcmp(c.op[0], "ls") == 0 && c.n == 1) {
        rc = client_get(c.client, &answer, &c.err, "/sessions");
    } else if (strcmp(c.op[0], "link") == 0) {
        body = c.n == 2 ? json_pack("{s:s}", "role", c.op[1]) : json_object();
        rc = client_post(c.client, body, &answer, &c.err, "/links");
    } else if (strcmp(c.op[0], "rm") == 0 && c.n == 2) {
        client_quote(c.op[1], id, sizeof(id));
        snprintf(path, sizeof(path), "/sessions/%s", id);
        rc = client_call(c.client, "DELETE", path, NULL, &answer, &c.err);
    } else {
        return call_end(&c, cli_usage_verb(cmd, c.op[0]));
    }
    json_decref(body);
    if (rc < 0)
        return call_end(&c, cli_fail(&c.err));
    if (answer && c.o.common.json)
        print_json(answer);
    else if (json_object_get(answer, "sessions"))
        session_rows(json_object_get(answer, "sessions"));
    else if (answer)
        link_line(answer);
    else if (!c.o.common.json)
        printf("ended session %s\n", c.op[1]);
    json_decref(answer);
    return call_end(&c, CLI_OK);
}
