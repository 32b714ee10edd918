/* local.h - a private controller with runners, for one study of `fit`, `run` or `preview`.
 *
 * They live in a private folder (mode 0700) and speak over a Unix socket in it. They hold one
 * end of a pipe whose other end is ours. When this process ends, in whatever way, the pipe
 * closes and they end too; so nothing is left behind by a kill. */
#ifndef CLI_LOCAL_H
#define CLI_LOCAL_H

#include "base/err.h"
#include "cli/client.h"
#include "cli/tempdir.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct local {
    struct tempdir temp; /* removed by local_stop */
    char dir[90];        /* its path: holds sock, logs, and data/ unless that lies elsewhere */
    char data_dir[512];
    bool runs_commands; /* its runners run programs of the user's; set before local_start */
    bool is_temporary;  /* the data folder is inside `dir` */
    pid_t controller;
    pid_t *runners;
    int n_runners;
    int parent_fd;     /* our end of the pipe */
    int child_fd;      /* the end that children get */
    char devices[200]; /* for runners */
    bool is_ready;     /* all have been started, and the controller has answered */
    int restarts;      /* of children that were killed */
    struct client *client;
};

/* checks the value of --device: auto, cpu or cuda */
int local_device_check(const char *device, struct err *err);
/* Starts everything and returns when the controller answers, after some milliseconds; the runners
 * register by themselves.
 *
 * limit_ms is the time that the controller has for its first answer; 0 = 10 s. data_dir NULL
 * means a fresh temporary folder. devices is passed to assay-runner as --devices. On failure
 * everything is undone, and the last lines of the log are in the error. */
int local_start(struct local *l, const char *data_dir, int n_runners, const char *devices,
                int64_t limit_ms, struct err *err);
/* Sends SIGTERM to all, and after patience_ms SIGKILL to those that still run. Removes the
 * folder. May be called twice. */
void local_stop(struct local *l, int64_t patience_ms);
/* The same for a command that has no time left: kills all at once and does not wait. Another
 * process removes the folder when all have ended. */
void local_abandon(struct local *l);
/* False with the reason when the controller or all runners ended. One that was killed by a signal,
 * for lack of memory say, is started again, a few times: what was acknowledged is not lost. */
bool local_is_alive(struct local *l, struct err *err);

#endif
