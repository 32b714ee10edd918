/* local.h - a service of one's own for one study: a private folder (0700) with a controller and a runner that speak over
 * its Unix socket and end when this process does, however it does: they hold the far end of a pipe of ours. */
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
    bool is_temporary; /* the data folder is inside `dir` */
    pid_t controller;
    pid_t *runners;
    int n_runners;
    int parent_fd; /* our end of the pipe */
    struct client *client;
};

int local_device_check(const char *device, struct err *err); /* of a --device: auto, cpu, cuda */
/* limit_ms: for the controller to answer; 0 = 10 s. data_dir NULL = inside a fresh temporary folder; devices: as assay-runner's option. Returns when the controller answers (some milliseconds); the runners
 * register by themselves. On failure everything is undone and the last lines of the log are in the error. */
int local_start(struct local *l, const char *data_dir, int n_runners, const char *devices,
                int64_t limit_ms, struct err *err);
/* SIGTERM, after patience_ms of all together SIGKILL; removes the folder; idempotent. */
void local_stop(struct local *l, int64_t patience_ms);
/* The same for whoever is late: SIGKILL at once, and nothing is waited for; a process of its own removes the folder when all
 * have ended. */
void local_abandon(struct local *l);
bool local_is_alive(struct local *l,
                    struct err *err); /* false + reason when the controller or all runners ended */

#endif
