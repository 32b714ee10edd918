/* proc.c - see proc.h. Between fork and exec the child calls only async-signal-safe functions,
 * because other threads may have held locks at the fork. If something fails there, the child writes
 * its errno into a close-on-exec pipe; if exec works, the pipe closes without a byte. */
#include "base/proc.h"

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* FD_HIGH: descriptors are first duplicated from this number on, above any child_fd in use. */
enum { FDS_MAX = 16, FD_HIGH = 400 };

int proc_pipe(int *read_fd, int *write_fd, struct err *err)
{
    int fds[2] = { -1, -1 };

    if (FAULT("proc.pipe") || pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(err, "pipe");
    *read_fd = fds[0];
    *write_fd = fds[1];
    return 0;
}

static bool is_kept(const char *variable, const char *const *keep)
{
    size_t len = strcspn(variable, "=");

    for (size_t i = 0; keep && keep[i]; i++) {
        size_t n = strlen(keep[i]);

        if (keep[i][n - 1] == '*' ? len >= n - 1 && strncmp(variable, keep[i], n - 1) == 0
                                  : len == n && strncmp(variable, keep[i], n) == 0)
            return true;
    }
    return !keep;
}

/* The environment of the child: what is inherited and kept, and env_add. The array is on the heap;
 * its strings are borrowed. */
static char **env_new(const char *const *add, const char *const *keep)
{
    size_t n = 0, n_add = 0, used = 0;
    char **env = NULL;

    while (environ[n])
        n++;
    while (add && add[n_add])
        n_add++;
    env = mem_array(n + n_add + 1, sizeof *env);
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(environ[i], "="), k = 0;

        while (k < n_add && (strncmp(add[k], environ[i], len) != 0 || add[k][len] != '='))
            k++;
        if (k == n_add && is_kept(environ[i], keep))
            env[used++] = environ[i];
    }
    for (size_t k = 0; k < n_add; k++)
        env[used++] = (char *)add[k];
    return env;
}

/* ---- in the child, after fork ---- */

static void close_all_on_exec(void)
{
    if (syscall(SYS_close_range, 3u, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */) == 0)
        return;
    for (int fd = 3; fd < 65536; fd++) { /* a kernel before 5.11 */
        int flags = fcntl(fd, F_GETFD);

        if (flags >= 0)
            fcntl(fd, F_SETFD, flags | FD_CLOEXEC);
    }
}

/* Gives the child its descriptors. First all are duplicated to high numbers, so that placing one
 * cannot overwrite another that is still needed. Returns the new number of the report pipe. */
static int place_fds(const struct proc_spec *spec, int report)
{
    int high[FDS_MAX];

    report = fcntl(report, F_DUPFD, FD_HIGH);
    if (report < 0)
        return -1;
    for (int i = 0; i < spec->n_fds; i++) {
        high[i] = fcntl(spec->fds[i].parent_fd, F_DUPFD, FD_HIGH);
        if (high[i] < 0)
            return -1;
    }
    close_all_on_exec();
    for (int i = 0; i < spec->n_fds; i++) {
        if (dup2(high[i], spec->fds[i].child_fd) < 0)
            return -1;
    }
    return report;
}

static void plain_signals(void)
{
    sigset_t none;

    for (int signo = 1; signo < NSIG; signo++) {
        if (signo != SIGKILL && signo != SIGSTOP)
            signal(signo, SIG_DFL);
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void child_run(const struct proc_spec *spec, char **env, int report, pid_t parent) NO_RETURN;
static void child_run(const struct proc_spec *spec, char **env, int report, pid_t parent)
{
    const char *path = spec->path ? spec->path : "/proc/self/exe";
    int fd = report, why = 0;

    plain_signals();
    if (spec->new_session)
        setsid();
    if (spec->die_with_parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) /* the parent died before the prctl */
            _exit(127);
    }
    if (spec->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        fd = -1;
    else
        fd = place_fds(spec, report);
    if (fd >= 0)
        execvpe(path, (char *const *)spec->argv, env);
    why = errno;
    (void)!write(fd >= 0 ? fd : report, &why, sizeof why);
    _exit(127);
}

/* ---- in the parent ---- */

/* 0 if the pipe closed without a byte, which means that exec worked; else the child's errno. */
static int read_report(int fd)
{
    int why = 0;
    ssize_t got = 0;

    do
        got = read(fd, &why, sizeof why);
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof why ? why : 0;
}

int proc_spawn(const struct proc_spec *spec, pid_t *pid, struct err *err)
{
    int rd = -1, wr = -1, why = 0, status = 0;
    pid_t parent = getpid(), child = -1;
    char **env = NULL;

    CHECK(spec->argv && spec->argv[0] && spec->n_fds >= 0 && spec->n_fds <= FDS_MAX);
    for (int i = 0; i < spec->n_fds; i++)
        CHECK(spec->fds[i].child_fd >= 0 && spec->fds[i].child_fd < FD_HIGH);
    if (proc_pipe(&rd, &wr, err) < 0)
        return -1;
    env = env_new(spec->env_add, spec->env_keep);
    child = FAULT("proc.fork") ? (errno = EAGAIN, -1) : fork();
    if (child == 0)
        child_run(spec, env, wr, parent);
    why = errno;
    mem_free(env);
    close(wr);
    if (child > 0)
        why = read_report(rd);
    close(rd);
    if (child > 0 && why == 0) {
        *pid = child;
        return 0;
    }
    if (child > 0)
        waitpid(child, &status, 0);
    errno = why;
    return err_errno(err, "start %s", spec->path ? spec->path : spec->argv[0]);
}

int proc_poll(pid_t pid, int *status, struct err *err)
{
    pid_t rc = 0;

    do
        rc = waitpid(pid, status, WNOHANG);
    while (rc < 0 && errno == EINTR);
    if (rc < 0)
        return err_errno(err, "wait for process %ld", (long)pid);
    return rc == pid;
}

static int64_t mono_ms(void)
{
    struct timespec ts = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int proc_wait_ms(pid_t pid, int64_t limit_ms, int *status, struct err *err)
{
    int64_t end = mono_ms() + limit_ms;
    struct pollfd p = { .fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN };
    int rc = 0;

    for (;;) {
        int64_t left = 0;

        rc = proc_poll(pid, status, err);
        left = end - mono_ms();
        if (rc != 0 || left <= 0)
            break;
        /* On a kernel without pidfd_open, look every 5 ms. */
        poll(&p, p.fd >= 0 ? 1 : 0, p.fd >= 0 ? (int)MIN(left, 60000) : (int)MIN(left, 5));
    }
    if (p.fd >= 0)
        close(p.fd);
    return rc;
}

void proc_kill(pid_t pid, int signo)
{
    if (pid > 0)
        kill(pid, signo);
}

void proc_describe(int status, char *out, size_t size)
{
    if (WIFEXITED(status)) {
        snprintf(out, size, "exit %d", WEXITSTATUS(status));
    } else if (WIFSIGNALED(status)) {
        const char *name = sigdescr_np(WTERMSIG(status));

        snprintf(out, size, "killed by signal %d (%s)", WTERMSIG(status), name ? name : "unknown");
    } else {
        snprintf(out, size, "status 0x%x", (unsigned)status);
    }
}

/* Reads a small text file of /proc or /sys; false if there is none. */
static bool small_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, out, size - 1);

    if (fd >= 0)
        close(fd);
    out[got > 0 ? got : 0] = '\0';
    return got > 0;
}

/* The number behind so many spaces in /proc/PID/statm, in bytes. */
static int64_t statm_bytes(pid_t pid, int spaces)
{
    char path[64], text[256];
    const char *at = text;

    snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
    if (!small_file(path, text, sizeof text))
        return -1;
    for (int i = 0; i < spaces; i++) {
        if (!(at = strchr(at, ' ')))
            return -1;
        at++;
    }
    return strtoll(at, NULL, 10) * sysconf(_SC_PAGESIZE);
}

int64_t proc_rss_bytes(pid_t pid)
{
    return statm_bytes(pid, 1);
}

int64_t proc_rss_file_bytes(pid_t pid)
{
    return statm_bytes(pid, 2);
}

int64_t proc_anon_bytes(pid_t pid)
{
    int64_t all = statm_bytes(pid, 1), files = statm_bytes(pid, 2);

    return all < 0 || files < 0 ? -1 : MAX(all - files, 0);
}

int64_t proc_rss_peak_bytes(void)
{
    char text[4096];
    const char *at = NULL;

    if (!small_file("/proc/self/status", text, sizeof text) || !(at = strstr(text, "VmHWM:")))
        return -1;
    return strtoll(at + 6, NULL, 10) * 1024;
}

void proc_rss_peak_reset(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    ssize_t put = write(fd, "5", 1);
    (void)put; /* if it failed, the peak covers a longer time */
    close(fd);
}

int proc_self_path(char *out, size_t size, struct err *err)
{
    ssize_t n = readlink("/proc/self/exe", out, size);

    if (n < 0)
        return err_errno(err, "own path");
    if ((size_t)n >= size)
        return err_set(err, ERR_TOOBIG, "own path is longer than %zu bytes", size - 1);
    out[n] = '\0';
    return 0;
}

/* True if `cpu` is the lowest-numbered hardware thread of its core among those in `mine`. So each
 * core is counted once. */
static bool is_first_of_core(int cpu, const cpu_set_t *mine)
{
    char path[96], text[256];
    char *p = text;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    if (!small_file(path, text, sizeof text))
        return true;
    while (*p) { /* "0,4" or "0-1" */
        long lo = strtol(p, &p, 10), hi = lo;

        if (*p == '-')
            hi = strtol(p + 1, &p, 10);
        for (long i = lo; i <= hi && i < cpu; i++) {
            if (i >= 0 && i < CPU_SETSIZE && CPU_ISSET((int)i, mine))
                return false;
        }
        if (*p != ',')
            break;
        p++;
    }
    return true;
}

int proc_physical_cores(void)
{
    cpu_set_t mine;
    int n = 0;

    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof mine, &mine) < 0)
        return (int)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &mine) && is_first_of_core(cpu, &mine))
            n++;
    }
    return MAX(n, 1);
}

/* The smallest memory limit from our cgroup up to the root: of every level in version 2, and of our
 * group in version 1. INT64_MAX if there is none. */
static int64_t cgroup_limit(void)
{
    char line[512], path[700], text[64], *slash = NULL;
    int64_t least = INT64_MAX, v = 0;

    if (!small_file("/proc/self/cgroup", line, sizeof line) || !str_starts(line, "0::/"))
        str_copy(line, sizeof line, "0::/");
    line[strcspn(line, "\n")] = '\0';
    for (;;) {
        snprintf(path, sizeof path, "/sys/fs/cgroup%s/memory.max", line + 3);
        if (small_file(path, text, sizeof text)) {
            text[strcspn(text, "\n")] = '\0';
            if (str_i64(text, 1, INT64_MAX, &v, NULL) == 0)
                least = MIN(least, v);
        }
        slash = strrchr(line + 3, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
    if (small_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", text, sizeof text)) {
        text[strcspn(text, "\n")] = '\0';
        if (str_i64(text, 1, INT64_MAX, &v, NULL) == 0)
            least = MIN(least, v);
    }
    return least;
}

int64_t proc_memory_bytes(void)
{
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);

    return MIN(machine, cgroup_limit());
}
