/* program.h - the user's program as processes: started in a session of its own, as another user if
 * this process may, with limits; watched by their number and memory; ended as a whole. Nothing that
 * a program starts outlives its trial: this process adopts every orphan (a subreaper), so that all
 * its descendants are the program's, and after a crash of this process the next one finds them by a
 * mark in their environment or by their user. */
#ifndef TRIAL_RUNNER_COMMAND_PROGRAM_H
#define TRIAL_RUNNER_COMMAND_PROGRAM_H

#include "base/err.h"
#include "trial-runner/command/cgroup.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* In the environment of every program; its value is the same for all programs of a device. */
#define PROGRAM_MARK "ASSAY_PROGRAM"

struct program_conf {
    const json_t *words, *environment; /* list of texts; {name: text}: all that it gets */
    const char *folder;                /* where it starts */
    uid_t uid;                         /* and gid; 0 = ours */
    int64_t processes, file_bytes, memory_bytes;
    const char *cgroup; /* name for its control group */
};
struct program {
    pid_t pid; /* 0 = not running: it has ended and was reaped, or was never started */
    int status;
    int out_fd; /* its stdout and stderr; -1 = none */
    uid_t uid;
    struct cgroup cgroup;
};
struct program_use {
    int processes;
    int64_t memory_bytes;
};

/* Once at start: adopts orphans from now on. */
void program_adopt(void);
/* ERR_NOTFOUND: there is no such program on this machine; ERR_IO: another error. */
int program_start(struct program *p, const struct program_conf *c, struct err *err);
/* Reaps what has ended. True once the program itself has ended: then `status` says how. */
bool program_ended(struct program *p);
void program_signal(const struct program *p, int signo); /* to its session's process group */
/* Kills all that is left of it; false = something still lives, so call it again soon. */
bool program_kill(struct program *p);
void program_use(const struct program *p, struct program_use *use);
void program_close(struct program *p); /* only after program_kill returned true */
/* Kills what an earlier process of this device left behind; mark: the value of PROGRAM_MARK. */
bool program_sweep(const char *mark, uid_t uid);

#endif
