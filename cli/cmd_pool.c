/* cmd_pool.c - `assay pools`: the runners that a cluster's scheduler starts for a controller, and
 * what waits for what. */
#include "cli/call.h"
#include "cli/print.h"

#include <inttypes.h>
#include <stdio.h>

static json_int_t number(const json_t *row, const char *key)
{
    return json_integer_value(json_object_get(row, key));
}

static void pool_rows(const json_t *pools)
{
    static const char *const heads[] = { "pool",    "state",  "running", "pending",
                                         "at most", "wanted", "why" };
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    size_t i;
    json_t *row;

    json_array_foreach(pools, i, row)
    {
        table_cell(t, "%s", print_text(row, "name"));
        table_cell(t, "%s", print_text(row, "state"));
        table_cell(t, "%" JSON_INTEGER_FORMAT, number(row, "running"));
        table_cell(t, "%" JSON_INTEGER_FORMAT, number(row, "pending"));
        table_cell(t, "%" JSON_INTEGER_FORMAT, number(row, "max"));
        table_cell(t, "%" JSON_INTEGER_FORMAT, number(row, "wanted"));
        table_cell(t, "%s", print_text(row, "why"));
    }
    table_print(t, stdout);
}

static void job_rows(const json_t *pools)
{
    static const char *const heads[] = { "job", "pool", "state", "node", "runner", "reason" };
    struct table *t = NULL;
    size_t i, k;
    json_t *pool, *row;

    json_array_foreach(pools, i, pool)
    {
        json_array_foreach(json_object_get(pool, "jobs"), k, row)
        {
            json_int_t runner = number(row, "runner");

            if (!t)
                t = table_new(heads, ARRAY_LEN(heads));
            table_cell(t, "%s", print_text(row, "job"));
            table_cell(t, "%s", print_text(pool, "name"));
            table_cell(t, "%s", print_text(row, "state"));
            table_cell(t, "%s", print_text(row, "node"));
            if (runner > 0)
                table_cell(t, "%" JSON_INTEGER_FORMAT, runner);
            else
                table_cell(t, "%s", "");
            table_cell(t, "%s", print_text(row, "reason"));
        }
    }
    if (t) {
        printf("\n");
        table_print(t, stdout);
    }
}

int cmd_pools(const struct cmd *cmd, int argc, char **argv)
{
    struct call c;
    json_t *answer = NULL;
    int rc = call_begin(&c, cmd, CALL_PLAIN, argc, argv, 0, 0);

    if (rc >= 0)
        return call_end(&c, rc);
    if (client_get(c.client, &answer, &c.err, "/pools") < 0)
        return call_end(&c, cli_fail(&c.err));
    const json_t *pools = json_object_get(answer, "pools");
    if (c.o.common.json) {
        print_json(answer);
    } else if (json_array_size(pools) == 0) {
        printf("this controller has no pools: its option `pools` names their file\n");
    } else {
        pool_rows(pools);
        job_rows(pools);
    }
    json_decref(answer);
    return call_end(&c, CLI_OK);
}
