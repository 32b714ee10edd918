/* host.h - what all trials of this process share: the socket pair to the supervisor, the clock, and
 * what the supervisor said of the device in its first message. */
#ifndef TRIAL_RUNNER_COMMAND_HOST_H
#define TRIAL_RUNNER_COMMAND_HOST_H

#include "base/clk.h"
#include "proto/msg.h"
#include "trial-runner/wire.h"

#include <sys/types.h>

struct host {
    struct wire wire;
    struct clk clk;
    char device[32];
    char scratch[600]; /* for files that are to be uploaded */
    char home[500];    /* for the folders of trials */
    char mark[64];     /* PROGRAM_MARK of this device's programs */
    uid_t uid;         /* of the programs; 0 = ours */
    int64_t checkpoint_ms, memory_bytes;
    int64_t files; /* numbers the files in scratch */
};

int64_t host_now(const struct host *h); /* monotonic ms */
/* Ends the process if the supervisor is gone. */
void host_send(struct host *h, json_t *msg_steal);
/* Sends an event of a trial with a file to upload before it, or NULL; takes what *ev owns. */
void host_event(struct host *h, int64_t trial, int64_t fence, struct msg_event *ev,
                const char *file);
/* Kill this process if it says nothing for so long. */
void host_beat(struct host *h, int64_t within_ms);

#endif
