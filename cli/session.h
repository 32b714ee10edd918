/* session.h - what `fit`, `run`, `submit --follow` and `attach` share: tables are uploaded and
 * become datasets, a study is followed to its end with a progress line, results are shown and
 * saved.
 *
 * Ctrl-C, SIGTERM and a closed terminal mean the same. A study in a private service (local.h)
 * stops with its best model, and a second Ctrl-C leaves at once. A study on a shared server goes
 * on, because others may use it: the first Ctrl-C only detaches this program. */
#ifndef CLI_SESSION_H
#define CLI_SESSION_H

#include "base/clk.h"
#include "base/err.h"
#include "cli/client.h"
#include "cli/local.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct session {
    struct client *client; /* borrowed */
    struct local *local;   /* watched when not NULL, borrowed */
    struct clk clk;
    int64_t start_ms; /* monotonic, when the process began */
    int64_t end_ms;   /* monotonic, hard; 0 = none */
    int64_t slow_ms;  /* the longest that an answer took while the study was followed */
    bool quiet;       /* --json: no progress, no tables */
    bool detaches;    /* Ctrl-C leaves the study running; otherwise it stops the study */
    bool is_attached; /* the study began before this program did */
    /* the value of --server, for the advice how to come back; NULL = not given */
    const char *server_option;
};
enum { SESSION_POLL_MS = 20, SESSION_POLL_REMOTE_MS = 1000 };

void session_init(struct session *s, struct client *client, struct local *local);
int session_interrupts(
    void); /* Ctrl-C and SIGTERM received so far; handlers are set by session_init */

/* Uploads `file` and waits until a runner has read it. columns: types of columns, or NULL. *out
 * is the dataset's JSON. */
int session_dataset(struct session *s, const char *file, const char *name, const json_t *columns,
                    json_t **out, struct err *err);
/* For a test table, which must be read like the training table `dataset`: the types of those
 * training columns that the file has. */
json_t *session_columns_like_new(const json_t *dataset, const char *file);
/* Follows the study. Returns 0 when it has ended or the hard end has come; 1 when detached
 * (already said on stderr); -1 when a second Ctrl-C asked to leave at once, and then
 * session_interrupts() is 2. *out is the study's last JSON. Defined in follow.c. */
int session_follow(struct session *s, int64_t study, json_t **out, struct err *err);
int64_t session_poll_ms(const struct session *s); /* between two questions about the same thing */
void session_pause_ms(int64_t ms);                /* a signal ends it early */
/* Does session_follow, then session_results, and with `quiet` prints the study's last JSON. Returns
 * 0, 1 when detached, or -1. */
int session_to_end(struct session *s, int64_t study, const char *output, struct err *err);
/* Prints the failure and returns its exit code, 130 when Ctrl-C caused it. */
int session_exit_code(const struct err *err);
/* True when the hard end is so near that the results must be fetched now. */
bool session_is_late(const struct session *s);
/* Saves the best model to `output` (NULL = do not save) and prints the leaderboard, which may be
 * missing when there is no time left. Fails with ERR_NOTFOUND when there is no model. */
int session_results(struct session *s, int64_t study, const char *output, int rows,
                    struct err *err);

#endif
