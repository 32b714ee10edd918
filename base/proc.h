/* proc.h - child processes, and what the kernel says about memory and cores. A child is always
 * exec'ed and gets only the descriptors that its spec names. Errors of exec are reported by
 * proc_spawn itself, not as exit status 127. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct proc_fd {
    int parent_fd; /* this descriptor of ours ... */
    int child_fd;  /* ... becomes this number in the child (>= 0) */
};

struct proc_spec {
    const char *path;        /* NULL = this very program (/proc/self/exe) */
    const char *const *argv; /* NULL-terminated */
    /* "NAME=value", NULL-terminated; they replace inherited variables of these names. May be
     * NULL. */
    const char *const *env_add;
    /* Names of variables to inherit, NULL-terminated; "OMP_*" stands for all that begin with OMP_.
     * NULL inherits everything. */
    const char *const *env_keep;
    const struct proc_fd *fds;
    int n_fds;
    bool new_session;     /* setsid, so that Ctrl-C in a terminal does not reach the child */
    bool die_with_parent; /* the kernel kills the child when the parent dies (PR_SET_PDEATHSIG) */
    bool no_new_privs;    /* set-user-ID programs give the child no more rights */
};

int proc_spawn(const struct proc_spec *spec, pid_t *pid, struct err *err);
int proc_pipe(int *read_fd, int *write_fd, struct err *err); /* both ends are close-on-exec */
/* 1 if the child has ended (*status is as from waitpid), 0 if it still runs, -1 on error. Never
 * waits. */
int proc_poll(pid_t pid, int *status, struct err *err);
/* As proc_poll, but waits up to limit_ms for the end. */
int proc_wait_ms(pid_t pid, int64_t limit_ms, int *status, struct err *err);
void proc_kill(pid_t pid, int signo);
/* "exit 3", "killed by signal 9 (Killed)" */
void proc_describe(int status, char *out, size_t size);
/* Memory in bytes, -1 if unknown. rss: resident pages. rss_file: those of them that belong to files
 * (code, mapped tables), which the system can take back when it needs room. anon: the others. */
int64_t proc_rss_bytes(pid_t pid);
int64_t proc_anon_bytes(pid_t pid);
int64_t proc_rss_file_bytes(pid_t pid);
/* This process's largest resident size since proc_rss_peak_reset, or since its start if the kernel
 * does not allow a reset; -1 if unknown. */
int64_t proc_rss_peak_bytes(void);
void proc_rss_peak_reset(void);
int proc_self_path(char *out, size_t size, struct err *err);
int proc_physical_cores(void);   /* >= 1; only those that this process may run on */
int64_t proc_memory_bytes(void); /* of the machine, or the limit of our cgroup if it is smaller */

#endif
