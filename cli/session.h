/* session.h - what `fit`, `run`, `submit --follow` and `attach` share: tables go up and become datasets, a study is followed
 * to its end with a progress line, results are shown and saved.
 *
 * Ctrl-C (also SIGTERM, and a terminal that is closed): a study of one's own service stops with its best model, and a second
 * Ctrl-C leaves at once. A study of somebody's server goes on, because others may watch it: the first Ctrl-C only detaches. */
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
    int64_t start_ms;          /* monotonic, when the process began */
    int64_t end_ms;            /* monotonic, hard; 0 = none */
    int64_t slow_ms;           /* the longest that an answer took while the study was followed */
    bool quiet;                /* --json: no progress, no tables */
    bool detaches;             /* Ctrl-C leaves the study as it is; else it stops the study */
    bool is_attached;          /* the study began before this program did */
    const char *server_option; /* --server as given, for the command that comes back; NULL = none */
};
enum { SESSION_POLL_MS = 20, SESSION_POLL_REMOTE_MS = 1000 };

void session_init(struct session *s, struct client *client, struct local *local);
int session_interrupts(
    void); /* Ctrl-C and SIGTERM received so far; handlers are set by session_init */

/* Uploads `file` and waits until it is parsed. columns: overrides or NULL. *out = the dataset's JSON. */
int session_dataset(struct session *s, const char *file, const char *name, const json_t *columns,
                    json_t **out, struct err *err);
/* For a table that must read like `dataset` (a test table): its columns' types as overrides, for those it has. */
json_t *session_columns_like_new(const json_t *dataset, const char *file);
/* Until the study ended or the hard end came: 0. Detached, which it says itself: 1. Left at once by a second Ctrl-C: -1, and
 * session_interrupts() is 2. *out = the study's last JSON. follow.c. */
int session_follow(struct session *s, int64_t study, json_t **out, struct err *err);
int64_t session_poll_ms(const struct session *s); /* between two questions about the same thing */
void session_pause_ms(int64_t ms);                /* a signal ends it early */
/* session_follow, then session_results; with quiet the study's last JSON on stdout: 0, 1 = detached, -1. */
int session_to_end(struct session *s, int64_t study, const char *output, struct err *err);
/* Says a failure and returns its exit code; 130 when Ctrl-C caused it. */
int session_exit_code(const struct err *err);
/* The hard end is so near that what there is must be fetched now. */
bool session_is_late(const struct session *s);
/* The best model to `output` (NULL = none), the leaderboard on stdout: late, it may be missing. ERR_NOTFOUND: no model. */
int session_results(struct session *s, int64_t study, const char *output, int rows,
                    struct err *err);

#endif
