/* call.h - what a command that asks a controller begins and ends with: its options, its operands, a connection. The option
 * tables here are all such commands need; one with options of its own (export, importance ...) reads them itself. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/client.h"
#include "cli/cmd.h"

struct call_opts {
    struct cli_common common;
    bool all;
    int64_t limit;
    char *state;
};

/* How many of the options a command takes: the connection's; also --limit; also --state; also --all. */
enum call_takes { CALL_PLAIN, CALL_LIMIT, CALL_STATE, CALL_ALL };

struct call {
    struct call_opts o;
    struct client *client;
    const char *op[CLI_MAX_OPERANDS];
    int n;
    char quoted[400]; /* op[0] as a segment of a path */
    struct err err;
    size_t n_opts;
};

/* Returns -1 to go on, else an exit code. Either way call_end ends it. */
int call_begin(struct call *c, const struct cmd *cmd, enum call_takes takes, int argc, char **argv,
               int min, int max);
int call_end(struct call *c, int rc); /* returns rc */
/* Says how the command is used; CLI_USAGE. */
int call_usage(const struct cmd *cmd);

#endif
