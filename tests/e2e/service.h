/* service.h - a whole service as real processes for the end-to-end tests: assayd and runners of the build under test, in a
 * folder of their own, over a Unix socket. Any of them can be killed and started again by the test; nothing is left when
 * it closes (the test process is the subreaper of all it starts, so that an orphan cannot hide). One thread uses it; the
 * api_* helpers below belong to the thread that owns their client. */
#ifndef TESTS_E2E_SERVICE_H
#define TESTS_E2E_SERVICE_H

#include "base/err.h"
#include "base/sha256.h"
#include "cli/client.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { SERVICE_RUNNERS = 4, SERVICE_WORKERS = 8 };

struct service_conf {
    int n_runners;
    int devices[SERVICE_RUNNERS];  /* worker processes of each; 0 = 1 */
    int delay_ms[SERVICE_RUNNERS]; /* each message of it is delayed by a random time up to this */
    int64_t lease_ms;              /* 0 = 30000 */
    int64_t quarantine_ms;         /* the first one of a device; 0 = 60000 */
    const char *runner_socket;     /* where runners dial (a proxy); NULL = the controller's */
    uint64_t seed;                 /* of the delays */
    const char *env[4];            /* NAME=VALUE for the controller; the list ends at NULL */
};
struct service {
    struct service_conf conf;
    char dir[90], data[128], sock[108];
    pid_t controller, runners[SERVICE_RUNNERS]; /* 0 = not running */
    int starts[SERVICE_RUNNERS];
    int parent_fd, pipe_fd; /* runners and controller end when the first closes */
    char fault
        [64]; /* for the next start of the controller: "blob.rename:2:kill", "*:40:kill"; "" = none */
    bool may_die;     /* the running one was started with a fault */
    int ended_status; /* as from waitpid, of the last controller that ended by itself */
};

/* Makes the folder and starts nothing. The conf is copied. */
int service_open(struct service *s, const struct service_conf *conf, struct err *err);
int service_start(struct service *s,
                  struct err *err); /* all, and waits until the controller answers */
int service_start_controller(struct service *s, struct err *err); /* returns at once */
int service_start_runner(struct service *s, int i, struct err *err);
/* Until /health answers. -1 when the controller ended (its log's tail in err) or the time passed. */
int service_wait(struct service *s, int64_t limit_ms, struct err *err);
void service_kill_controller(struct service *s); /* kill -9, and waits for its end */
void service_kill_runner(struct service *s, int i);
bool service_kill_worker(struct service *s, int i,
                         unsigned which); /* false: it has none just now */
bool service_is_up(struct service *s);    /* false: the controller ended by itself */
/* Stops all, gracefully, within limit_ms; -1 and which one when something had to be killed or ended badly. */
int service_stop(struct service *s, int64_t limit_ms, struct err *err);
/* Processes that descend from us but are neither the controller nor a runner nor its workers, after waiting up to
 * limit_ms for them to end; their names go to `what`. */
int service_orphans(struct service *s, int64_t limit_ms, char *what, size_t size);
void service_close(struct service *s,
                   bool keep_folder); /* kills what is left, removes the folder */
void service_print_logs(const struct service *s, int lines); /* tails, for a failure's output */
void service_log_path(const struct service *s, const char *name, char *out,
                      size_t size); /* "assayd", "runner0" */

/* Clients. */
struct client *service_client(const struct service *s); /* own it; 10 s per call */
int api_dataset(struct client *c, const char *file, const char *name, int64_t limit_ms, int64_t *id,
                struct err *err);
/* Waits for the study's end; *out = its last JSON (may be NULL). Unreachable controllers are tried again. */
int api_await_study(struct client *c, int64_t study, int64_t limit_ms, json_t **out,
                    struct err *err);
/* A leaderboard without what may differ between two equal runs (ids, durations), as text; caller frees with mem_free. */
char *api_leaderboard_text(struct client *c, int64_t study, struct err *err);
int api_download_sha(struct client *c, const char *path, char sha256[SHA256_HEX], struct err *err);
/* A table of twonorm (20 numbers, two classes). */
int service_table(const struct service *s, const char *name, int rows, uint64_t seed, char *path,
                  size_t size, struct err *err);

int64_t now_ms(void);
void pause_ms(int64_t ms);
int64_t patience_ms(int64_t ms); /* more under sanitizers, which slow everything down */
int64_t json_i64(const json_t *o, const char *key);      /* 0 when absent */
const char *json_text(const json_t *o, const char *key); /* "" when absent */

#endif
