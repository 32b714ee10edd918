/* call.c - see call.h. */
#include "cli/call.h"

#include <stdio.h>
#include <string.h>

/* In the order of enum call_takes: a command takes a beginning of this table. */
#define AT(f) offsetof(struct call_opts, f)
static const struct conf_opt opts[] = {
    CLI_COMMON(struct call_opts),
    { "limit", CONF_I64, AT(limit), "50", 1, 100000, "at most this many rows" },
    { "state", CONF_STR, AT(state), NULL, 0, 0, "only rows in this state" },
    { "all", CONF_BOOL, AT(all), "false", 0, 0, "also archived studies" },
};
#undef AT

int call_begin(struct call *c, const struct cmd *cmd, enum call_takes takes, int argc, char **argv,
               int min, int max)
{
    memset(c, 0, sizeof(*c));
    c->n_opts = ARRAY_LEN(opts) - CALL_ALL + takes;
    int rc = cli_args(cmd, opts, c->n_opts, &c->o, argc, argv, c->op, min, max, &c->n);
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
    conf_fini(&c->o, opts, c->n_opts);
    return rc;
}

int call_usage(const struct cmd *cmd)
{
    fprintf(stderr, "assay %s: usage: assay %s %s\n", cmd->name, cmd->name, cmd->operands);
    return CLI_USAGE;
}
