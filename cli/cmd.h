/* cmd.h - what a command of `assay` is.
 *
 * Each command is one row of the table in main.c: name, usage, help, function. The function reads
 * its options with cli_args, talks to a controller through client.h, prints through print.h, and
 * returns an exit code: 0 ok, 1 failed, 2 wrong usage, 3 not found, 4 no controller answers, 130
 * ended by Ctrl-C.
 *
 * Data goes to stdout, progress and errors go to stderr. With --json, stdout holds exactly one
 * JSON document. */
#ifndef CLI_CMD_H
#define CLI_CMD_H

#include "base/conf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

enum {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2,
    CLI_NOTFOUND = 3,
    CLI_UNREACHABLE = 4,
    CLI_INTERRUPTED = 130 /* what shells report for a program that SIGINT ended */
};
enum { CLI_MAX_OPERANDS = 16 };

struct cmd {
    const char *name;
    const char *operands; /* "STUDY [-o FILE]", for the usage line */
    const char *summary;  /* one line of `assay --help` */
    const char *details;  /* paragraphs and an example of `assay NAME --help` */
    int (*run)(const struct cmd *cmd, int argc, char **argv); /* argv[0] = the command's name */
};

/* The options of every command that asks a server. The first member of such a command's options
 * struct. */
struct cli_common {
    char *server; /* unix:PATH or http(s)://host:port */
    char *token, *token_file;
    char *tls_pin, *tls_ca;
    bool insecure;
    bool json;
};
#define CLI_COMMON(type)                                                              \
    { "server",                                                                       \
      CONF_STR,                                                                       \
      offsetof(type, common.server),                                                  \
      NULL,                                                                           \
      0,                                                                              \
      0,                                                                              \
      "controller to ask: unix:PATH or http(s)://host:port; also ASSAY_URL" },        \
        { "token",                                                                    \
          CONF_STR,                                                                   \
          offsetof(type, common.token),                                               \
          NULL,                                                                       \
          0,                                                                          \
          0,                                                                          \
          "access token; better in ASSAY_TOKEN, where other users do not see it" },   \
        { "token_file",                                                               \
          CONF_STR,                                                                   \
          offsetof(type, common.token_file),                                          \
          NULL,                                                                       \
          0,                                                                          \
          0,                                                                          \
          "file that holds the access token" },                                       \
        { "tls_pin",                                                                  \
          CONF_STR,                                                                   \
          offsetof(type, common.tls_pin),                                             \
          NULL,                                                                       \
          0,                                                                          \
          0,                                                                          \
          "hash of the controller's key, printed at its start; also ASSAY_TLS_PIN" }, \
        { "tls_ca",                                                                   \
          CONF_STR,                                                                   \
          offsetof(type, common.tls_ca),                                              \
          NULL,                                                                       \
          0,                                                                          \
          0,                                                                          \
          "file of the authority to trust, PEM; also ASSAY_TLS_CA" },                 \
        { "insecure",                                                                 \
          CONF_BOOL,                                                                  \
          offsetof(type, common.insecure),                                            \
          "false",                                                                    \
          0,                                                                          \
          0,                                                                          \
          "send the token in clear text to another machine" },                        \
    {                                                                                 \
        "json", CONF_BOOL, offsetof(type, common.json), "false", 0, 0, "print JSON"   \
    }

/* Fills `target` from argv by the table of options. "-o VALUE" stands for the option named
 * "output", "-y" for "yes", "-h" for help. The number of operands must lie in [min_operands,
 * max_operands].
 *
 * Returns -1 when the command may go on. Otherwise help was printed or the usage was wrong
 * (already said on stderr), and the result is the exit code. Free `target` with conf_fini. */
int cli_args(const struct cmd *cmd, const struct conf_opt *opts, size_t n, void *target, int argc,
             char **argv, const char **operands, int min_operands, int max_operands,
             int *n_operands);
/* What --help does with a command. NULL: its text and options are printed. `assay help --json`
 * collects them instead. */
extern void (*cli_help_to)(const struct cmd *cmd, const struct conf_opt *opts, size_t n);
int cli_usage(const struct cmd *cmd,
              const char *text); /* prints the text and the usage; returns CLI_USAGE */
/* For a command whose usage lists verbs ("ls | add NAME ROLE | rm ID"): says what the verb takes,
 * or which verbs there are when `said` is none of them (NULL = none was given). CLI_USAGE. */
int cli_usage_verb(const struct cmd *cmd, const char *said);
int cli_exit_code(const struct err *err); /* the exit code that fits the error */
int cli_fail(const struct err *err);      /* prints "assay: ..." and returns the code */

/* One function per row of the table. */
int cmd_fit(const struct cmd *cmd, int argc, char **argv);
int cmd_run(const struct cmd *cmd, int argc, char **argv);
int cmd_preview(const struct cmd *cmd, int argc, char **argv);
int cmd_searchers(const struct cmd *cmd, int argc, char **argv);
int cmd_attach(const struct cmd *cmd, int argc, char **argv);
int cmd_submit(const struct cmd *cmd, int argc, char **argv);
int cmd_ls(const struct cmd *cmd, int argc, char **argv);
int cmd_show(const struct cmd *cmd, int argc, char **argv);
int cmd_leaderboard(const struct cmd *cmd, int argc, char **argv);
int cmd_importance(const struct cmd *cmd, int argc, char **argv);
int cmd_pareto(const struct cmd *cmd, int argc, char **argv);
int cmd_trials(const struct cmd *cmd, int argc, char **argv);
int cmd_trial(const struct cmd *cmd, int argc, char **argv);
int cmd_logs(const struct cmd *cmd, int argc, char **argv);
int cmd_study_verb(const struct cmd *cmd, int argc,
                   char **argv); /* pause resume stop kill archive */
int cmd_rm(const struct cmd *cmd, int argc, char **argv);
int cmd_export(const struct cmd *cmd, int argc, char **argv);
int cmd_explain(const struct cmd *cmd, int argc, char **argv);
int cmd_score(const struct cmd *cmd, int argc, char **argv);
int cmd_predict(const struct cmd *cmd, int argc, char **argv);
int cmd_simulate(const struct cmd *cmd, int argc, char **argv);
int cmd_data(const struct cmd *cmd, int argc, char **argv);
int cmd_runner(const struct cmd *cmd, int argc, char **argv);
int cmd_pools(const struct cmd *cmd, int argc, char **argv);
int cmd_token(const struct cmd *cmd, int argc, char **argv);
int cmd_session(const struct cmd *cmd, int argc, char **argv);
int cmd_backup(const struct cmd *cmd, int argc, char **argv);
int cmd_doctor(const struct cmd *cmd, int argc, char **argv);
int cmd_debug(const struct cmd *cmd, int argc, char **argv);

#endif
