/* session.h - what `fit`, `run` and `submit --follow` share: tables go up and become datasets, a study is followed to its
 * end with a progress line, Ctrl-C stops it with a model (twice: at once), results are shown and saved. */
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
    bool quiet;       /* --json: no progress, no tables */
};

void session_init(struct session *s, struct client *client, struct local *local);
int session_interrupts(
    void); /* Ctrl-C and SIGTERM received so far; handlers are set by session_init */

/* Uploads `file` and waits until it is parsed. columns: overrides or NULL. *out = the dataset's JSON. */
int session_dataset(struct session *s, const char *file, const char *name, const json_t *columns,
                    json_t **out, struct err *err);
/* For a table that must read like `dataset` (a test table): its columns' types as overrides, for those it has. */
json_t *session_columns_like_new(const json_t *dataset, const char *file);
/* Until the study ended, the hard end came, or a second Ctrl-C. *out = its last JSON. */
int session_follow(struct session *s, int64_t study, json_t **out, struct err *err);
/* Leaderboard on stdout, the best model to `output` (NULL = none). */
int session_results(struct session *s, int64_t study, const char *output, int rows,
                    struct err *err);

#endif
