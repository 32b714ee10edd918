/* cgroup.h - a control group (version 2) of one program's own, where this process may make one. It
 * holds every process that the program starts, however it hides, so that all can be counted and
 * killed at once; where the group above hands on its memory and pids controllers, the kernel keeps
 * those limits too. Without the right to make a group everything here does nothing, and program.c
 * finds the processes by their parents. */
#ifndef TRIAL_RUNNER_COMMAND_CGROUP_H
#define TRIAL_RUNNER_COMMAND_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup {
    char path[512]; /* "" = there is none */
};

/* name: of the folder; one that was left over is emptied and used again. 0 = no limit. */
void cgroup_open(struct cgroup *g, const char *name, int64_t memory_bytes, int64_t processes);
/* In the child, before it gives up its rights. Async-signal-safe. */
void cgroup_join(const struct cgroup *g);
void cgroup_kill(const struct cgroup *g);
bool cgroup_is_empty(const struct cgroup *g); /* true if there is none */
void cgroup_close(struct cgroup *g);          /* removes the group if it is empty */

#endif
