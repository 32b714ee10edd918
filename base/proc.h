/* proc.h - child processes: always exec'ed, never a bare fork; every other descriptor is closed in the child. */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

struct proc_fd {
    int parent_fd; /* a descriptor of ours ... */
    int child_fd;  /* ... that the child shall have as this number (>= 0) */
};

struct proc_spec {
    const char *path;        /* executable; NULL = this very program (/proc/self/exe) */
    const char *const *argv; /* NULL-terminated */
    const char *const
        *env_add; /* "NAME=value", NULL-terminated, over the inherited environment; may be NULL */
    /* Names of what is inherited, "OMP_*" = all that begin so; NULL-terminated; NULL = everything */
    const char *const *env_keep;
    const struct proc_fd *fds;
    int n_fds;
    bool new_session;     /* setsid, so that a terminal's Ctrl-C does not reach it */
    bool die_with_parent; /* PR_SET_PDEATHSIG SIGKILL */
    bool no_new_privs;    /* whatever it runs gains no rights by set-user-ID files */
};

int proc_spawn(const struct proc_spec *spec, pid_t *pid,
               struct err *err); /* exec failure is reported here, not as exit 127 */
int proc_pipe(int *read_fd, int *write_fd, struct err *err); /* close-on-exec both ends */
/* 1 when it ended (status as from waitpid), 0 when still running, -1 on error. Never blocks. */
int proc_poll(pid_t pid, int *status, struct err *err);
int proc_wait_ms(pid_t pid, int64_t limit_ms, int *status,
                 struct err *err); /* as poll, waiting up to the limit */
void proc_kill(pid_t pid, int signo);
void proc_describe(int status, char *out,
                   size_t size);   /* "exit 3", "killed by signal 9 (Killed)" */
int64_t proc_rss_bytes(pid_t pid); /* -1 when unknown */
/* Without pages of mapped files, which the system takes back when it needs room. */
int64_t proc_anon_bytes(pid_t pid);
int64_t proc_rss_file_bytes(
    pid_t pid); /* of these, pages of files: code, mapped tables; -1 when unknown */
int64_t proc_rss_peak_bytes(
    void); /* of ourselves, since proc_rss_peak_reset where the kernel lets us; -1 when unknown */
void proc_rss_peak_reset(void);
int proc_self_path(char *out, size_t size, struct err *err);
int proc_physical_cores(void);   /* >= 1, respects the affinity mask */
int64_t proc_memory_bytes(void); /* of the machine or the cgroup, the smaller */

#endif
