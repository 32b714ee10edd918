/* call.h - what a command that asks a controller begins and ends with: its options, its operands, a connection. The option
 * tables here are all such commands need; one with options of its own (export, importance ...) reads them itself. Also what
 * operands mean: STUDY/NUMBER is a trial, and what removes something asks first where a person sits in front of it. */
#ifndef CLI_CALL_H
#define CLI_CALL_H

#include "cli/client.h"
#include "cli/cmd.h"

struct call_opts {
    struct cli_common common;
    bool all, yes;
    int64_t limit;
    char *state;
};

/* How many of the options a command takes: the connection's; also --limit; also --state; also --all. CALL_ASKS: the
 * connection's and --yes. */
enum call_takes { CALL_PLAIN, CALL_LIMIT, CALL_STATE, CALL_ALL, CALL_ASKS };

struct call {
    struct call_opts o;
    struct client *client;
    const char *op[CLI_MAX_OPERANDS];
    int n;
    char quoted[400]; /* op[0] as a segment of a path */
    struct err err;
    const struct conf_opt *opts;
    size_t n_opts;
};

/* Returns -1 to go on, else an exit code. Either way call_end ends it. */
int call_begin(struct call *c, const struct cmd *cmd, enum call_takes takes, int argc, char **argv,
               int min, int max);
int call_end(struct call *c, int rc); /* returns rc */
/* The id of a trial: STUDY/NUMBER, as the leaderboard shows it, or the id itself. */
int call_trial_id(struct client *client, const char *text, int64_t *id, struct err *err);
/* Asks "... ? [y/N]" on a terminal; true without asking where there is none, since a script has thought before. */
bool call_confirms(const char *fmt, ...) PRINTF_LIKE(1, 2);
bool call_is_asked(void); /* whether call_confirms would ask */

#endif
