/* study_run.h - one study from the point of view of a command that waits for it: `fit`, `run`,
 * `submit --follow` and `attach`. Tables are uploaded and become datasets, the study is followed to
 * its end with a progress line, and its results are shown and saved.
 *
 * Ctrl-C, SIGTERM and a closed terminal mean the same. A study in a private service (local.h)
 * stops with its best model, and a second Ctrl-C leaves at once. A study on a shared server goes
 * on, because others may use it: the first Ctrl-C only detaches this program. */
#ifndef CLI_STUDY_RUN_H
#define CLI_STUDY_RUN_H

#include "base/clk.h"
#include "base/err.h"
#include "cli/client.h"
#include "cli/local.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct study_run {
    struct client *client; /* borrowed */
    struct local *local;   /* watched when not NULL, borrowed */
    struct clk clk;
    int64_t start_ms; /* monotonic, when the process began */
    int64_t end_ms;   /* monotonic, hard; 0 = none */
    int64_t slow_ms;  /* the longest that an answer took while the study was followed */
    bool has_model;   /* a trial with a model has ended: something would be lost with it */
    bool quiet;       /* --json: no progress, no tables */
    bool detaches;    /* Ctrl-C leaves the study running; otherwise it stops the study */
    bool is_attached; /* the study began before this program did */
    /* The text of a warning in the words of the command; NULL = as the controller has it. */
    void (*advice)(const json_t *warning, char *out, size_t size);
    /* The value of --server, for the advice how to come back; NULL = not given. */
    const char *server_option;
};
enum { STUDY_RUN_POLL_MS = 20, STUDY_RUN_POLL_REMOTE_MS = 1000 };

void study_run_init(struct study_run *s, struct client *client, struct local *local);
/* How often Ctrl-C, SIGTERM or a closed terminal came so far. study_run_init sets the handlers. */
int study_run_interrupts(void);

/* Uploads a table; images are packed into one file first (imagepack.h). */
int study_run_upload(struct study_run *s, const char *file, char sha256[SHA256_HEX],
                     struct err *err);
/* Uploads `file` and waits until a runner has read it. columns: types of columns, or NULL. *out
 * is the dataset's JSON. */
int study_run_dataset(struct study_run *s, const char *file, const char *name,
                      const json_t *columns, json_t **out, struct err *err);
/* For a test table, which must be read like the training table `dataset`: the types of those
 * training columns that the file has. */
json_t *study_run_columns_like_new(const json_t *dataset, const char *file);
/* Follows the study. Returns 0 when it has ended or the hard end has come; 1 when detached
 * (already said on stderr); -1 when a second Ctrl-C asked to leave at once, and then
 * study_run_interrupts() is 2. *out is the study's last JSON. Defined in follow.c. */
int study_run_follow(struct study_run *s, int64_t study, json_t **out, struct err *err);
int64_t study_run_poll_ms(
    const struct study_run *s);      /* between two questions about the same thing */
void study_run_pause_ms(int64_t ms); /* a signal ends it early */
/* Does study_run_follow, then study_run_results, and with `quiet` prints the study's last JSON.
 * Returns 0, 1 when detached, or -1. */
int study_run_to_end(struct study_run *s, int64_t study, const char *output, struct err *err);
/* Prints the failure and returns its exit code, 130 when Ctrl-C caused it. */
int study_run_exit_code(const struct err *err);
/* True when the hard end is so near that the results must be fetched now. */
bool study_run_is_late(const struct study_run *s);
/* Saves the best model to `output` (NULL = do not save) and prints the leaderboard, which may be
 * missing when there is no time left. A model that is there is fetched even if that ends after the
 * hard end: on a machine with other work a large file may take a second, and the search would be
 * lost with it. Fails with ERR_NOTFOUND when there is no model. */
int study_run_results(struct study_run *s, int64_t study, const char *output, int rows,
                      struct err *err);

#endif
