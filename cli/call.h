/* call.h - what all commands that ask a controller begin and end with: options, operands, a
 * connection.
 *
 * The two option tables in call.c are enough for most commands. A command with further options
 * (export, importance and others) reads its own table with cli_args instead. This header also
 * says how a trial is named on the command line, and asks before something is removed. */
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

/* Which options a command takes. CALL_PLAIN: those of the connection. Each further value adds
 * one: --limit, --state, --all. CALL_ASKS: those of the connection, and --yes. */
enum call_takes { CALL_PLAIN, CALL_LIMIT, CALL_STATE, CALL_ALL, CALL_ASKS };

struct call {
    struct call_opts o;
    struct client *client;
    const char *op[CLI_MAX_OPERANDS];
    int n;
    char quoted[400]; /* op[0], encoded as one segment of a URL path */
    struct err err;
    const struct conf_opt *opts;
    size_t n_opts;
};

/* call_begin returns -1 when the command may go on, else an exit code. In both cases the caller
 * ends with call_end. */
int call_begin(struct call *c, const struct cmd *cmd, enum call_takes takes, int argc, char **argv,
               int min, int max);
int call_end(struct call *c, int rc); /* returns rc */
/* Finds the id of a trial that is written as STUDY/NUMBER, as leaderboards show it, or as the id
 * itself. */
int call_trial_id(struct client *client, const char *text, int64_t *id, struct err *err);
/* Asks "... ? [y/N]" on a terminal. Where there is no terminal it returns true without asking,
 * because nobody could answer a script. */
bool call_confirms(const char *fmt, ...) PRINTF_LIKE(1, 2);
bool call_is_asked(void); /* whether call_confirms would ask */

#endif
