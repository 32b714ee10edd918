/* service.c - processes: start, kill, find workers and orphans, stop. The programs come from the folder of the build ($B,
 * as tests/run.sh sets it). Logs are appended to one file per process name, so that they outlive a kill. */
#include "tests/e2e/service.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"
#include "cli/problem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHILD_FD = 9, PIDS_MAX = 256, END_MS = 5000, START_MS = 20000 };

int64_t now_ms(void)
{
    struct timespec ts = { 0 };

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void pause_ms(int64_t ms)
{
    const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

    nanosleep(&ts, NULL);
}

int64_t patience_ms(int64_t ms)
{
    const char *san = getenv("SAN");

    return san && san[0] ? 4 * ms : ms;
}

/* ---- the process table ---- */

static pid_t parent_of(pid_t pid, char *name, size_t size)
{
    char path[64], text[512];
    ssize_t n = -1;
    int fd = -1;

    (void)!snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* "pid (name) state parent ...", and the name may hold anything. */
    char *open_at = strchr(text, '('), *close_at = strrchr(text, ')');
    if (!open_at || !close_at || strlen(close_at) < 5)
        return 0;
    (void)!snprintf(name, size, "%.*s%s", (int)(close_at - open_at - 1), open_at + 1,
                    close_at[2] == 'Z' ? " (zombie)" : "");
    return (pid_t)strtol(close_at + 4, NULL, 10);
}

static int children_of(pid_t parent, pid_t *out, int max)
{
    DIR *d = opendir("/proc");
    struct dirent *e = NULL;
    char name[64];
    int n = 0;

    while (d && n < max && (e = readdir(d))) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

        if (pid > 0 && parent_of(pid, name, sizeof name) == parent)
            out[n++] = pid;
    }
    if (d)
        closedir(d);
    return n;
}

static bool is_known(const struct service *s, pid_t pid)
{
    bool known = pid == s->controller;

    for (int i = 0; i < s->conf.n_runners; i++)
        known = known || pid == s->runners[i];
    return known;
}

int service_orphans(struct service *s, int64_t limit_ms, char *what, size_t size)
{
    int64_t end = now_ms() + limit_ms;
    pid_t pids[PIDS_MAX];
    char name[64] = "";
    int left = 0;

    do {
        int n = children_of(getpid(), pids, PIDS_MAX);

        left = 0;
        for (int i = 0; i < n; i++) {
            if (is_known(s, pids[i]) || waitpid(pids[i], NULL, WNOHANG) == pids[i])
                continue;
            parent_of(pids[i], name, sizeof name);
            (void)!snprintf(what, size, "process %ld, %s", (long)pids[i], name);
            left++;
        }
        if (left > 0)
            pause_ms(5);
    } while (left > 0 && now_ms() < end);
    return left;
}

/* ---- start ---- */

int service_open(struct service *s, const struct service_conf *conf, struct err *err)
{
    const char *base = getenv("TMPDIR");

    *s = (struct service){ .conf = *conf, .parent_fd = -1, .pipe_fd = -1 };
    if (!base || strlen(base) > 60)
        base = "/tmp";
    (void)!snprintf(s->dir, sizeof s->dir, "%s/e2e-XXXXXX", base);
    if (!mkdtemp(s->dir))
        return err_errno(err, "folder in %s", base);
    (void)!snprintf(s->data, sizeof s->data, "%s/data", s->dir);
    (void)!snprintf(s->sock, sizeof s->sock, "%s/sock", s->dir);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    signal(SIGPIPE, SIG_IGN);
    return proc_pipe(&s->pipe_fd, &s->parent_fd, err);
}

void service_log_path(const struct service *s, const char *name, char *out, size_t size)
{
    (void)!snprintf(out, size, "%s/%s.log", s->dir, name);
}

static int program_path(char *out, size_t size, struct err *err)
{
    const char *build = getenv("B");

    (void)!snprintf(out, size, "%s/assay", build && build[0] ? build : "build/gcc");
    if (access(out, X_OK) < 0)
        return err_errno(err, "%s (run from the project's folder, after make)", out);
    return 0;
}

/* env: NAME=VALUE, ends at NULL. */
static int spawn(struct service *s, const char *const *argv, const char *const *env,
                 const char *log, pid_t *pid, struct err *err)
{
    char path[400], program[400];
    int log_fd = -1, null_fd = -1, rc = -1;

    service_log_path(s, log, path, sizeof path);
    log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (log_fd < 0 || null_fd < 0) {
        err_errno(err, "%s", path);
    } else if (program_path(program, sizeof program, err) == 0) {
        const struct proc_fd fds[] = {
            { null_fd, 0 }, { log_fd, 1 }, { log_fd, 2 }, { s->pipe_fd, CHILD_FD }
        };
        const struct proc_spec spec = { .path = program,
                                        .argv = argv,
                                        .env_add = env,
                                        .fds = fds,
                                        .n_fds = ARRAY_LEN(fds),
                                        .new_session = true };
        rc = proc_spawn(&spec, pid, err);
    }
    if (log_fd >= 0)
        close(log_fd);
    if (null_fd >= 0)
        close(null_fd);
    return rc;
}

int service_start_controller(struct service *s, struct err *err)
{
    const char *env[ARRAY_LEN(s->conf.env) + 2] = { NULL };
    char lease[24], quarantine[24], fault[80];
    int n = 0;

    for (; n < (int)ARRAY_LEN(s->conf.env) && s->conf.env[n]; n++)
        env[n] = s->conf.env[n];
    (void)!snprintf(fault, sizeof fault, "ASSAY_FAULT=%s", s->fault);
    env[n] = s->fault[0] ? fault : NULL;
    (void)!snprintf(lease, sizeof lease, "%" PRId64, s->conf.lease_ms ? s->conf.lease_ms : 30000);
    (void)!snprintf(quarantine, sizeof quarantine, "%" PRId64 "ms",
                    s->conf.quarantine_ms ? s->conf.quarantine_ms : 60000);
    const char *argv[] = { "assayd",      "--data-dir", s->data, "--socket",
                           s->sock,       "--lease-ms", lease,   "--no-tcp",
                           "--parent-fd", "9",          "--dev", "--quarantine-ms",
                           quarantine,    NULL };
    int rc = spawn(s, argv, env, "assayd", &s->controller, err);
    s->may_die = s->fault[0] != '\0';
    s->fault[0] = '\0';
    return rc;
}

int service_start_runner(struct service *s, int i, struct err *err)
{
    const struct service_conf *c = &s->conf;
    char url[128], name[24], cache[128], devices[16], delay[16], seed[24], blobs[160];

    (void)!snprintf(url, sizeof url, "unix:%s", c->runner_socket ? c->runner_socket : s->sock);
    (void)!snprintf(name, sizeof name, "runner%d", i);
    (void)!snprintf(cache, sizeof cache, "%s/cache%d", s->dir, i);
    (void)!snprintf(devices, sizeof devices, "cpu:%d", c->devices[i] ? c->devices[i] : 1);
    (void)!snprintf(delay, sizeof delay, "%d", c->delay_ms[i]);
    (void)!snprintf(seed, sizeof seed, "%" PRIu64, (c->seed + (uint64_t)i) % 1000000007);
    (void)!snprintf(blobs, sizeof blobs, "%s/blobs", s->data);
    const char *argv[] = { "assay-runner", "--controller", url, "--name", name, "--cache-dir",
                           cache, "--devices", devices, "--parent-fd", "9", "--backoff-max",
                           "200ms", "--dev", "--dev-delay-ms", delay, "--dev-delay-seed", seed,
                           /* the first one maps tables in place, the others download them */
                           i == 0 && !c->runner_socket ? "--blob-dir" : NULL, blobs, NULL };
    s->starts[i]++;
    return spawn(s, argv, NULL, name, &s->runners[i], err);
}

static void log_tail(const struct service *s, const char *name, size_t bytes, struct buf *text,
                     const char **from)
{
    char path[400];

    *from = "";
    service_log_path(s, name, path, sizeof path);
    if (io_read_file(path, (size_t)1 << 28, text, NULL) == 0 && text->len > 0)
        *from = text->data + (text->len > bytes ? text->len - bytes : 0);
}

bool service_is_up(struct service *s)
{
    int status = 0;

    if (s->controller > 0 && proc_poll(s->controller, &status, NULL) == 1) {
        s->controller = 0;
        s->ended_status = status;
    }
    return s->controller > 0;
}

int service_wait(struct service *s, int64_t limit_ms, struct err *err)
{
    struct client *c = service_client(s);
    int64_t end = now_ms() + patience_ms(limit_ms);
    const char *tail = NULL;
    struct err last = { 0 };
    struct buf text;

    while (now_ms() < end) {
        if (client_get(c, NULL, &last, "/health") == 0) {
            client_free(c);
            return 0;
        }
        if (!service_is_up(s)) {
            client_free(c);
            log_tail(s, "assayd", 250, &text, &tail);
            err_set(err, ERR_IO, "the controller ended: %s", tail);
            buf_fini(&text);
            return -1;
        }
        pause_ms(2);
    }
    client_free(c);
    return err_set(err, ERR_TIMEOUT, "no answer within %" PRId64 " ms: %s", limit_ms, last.text);
}

int service_start(struct service *s, struct err *err)
{
    if (service_start_controller(s, err) < 0)
        return -1;
    for (int i = 0; i < s->conf.n_runners; i++) {
        if (service_start_runner(s, i, err) < 0)
            return -1;
    }
    return service_wait(s, 60000, err);
}

/* ---- kill ---- */

static void kill_now(pid_t *pid)
{
    int status = 0;

    if (*pid <= 0)
        return;
    proc_kill(*pid, SIGKILL);
    (void)proc_wait_ms(*pid, END_MS, &status, NULL);
    *pid = 0;
}

void service_kill_controller(struct service *s)
{
    kill_now(&s->controller);
}

void service_kill_runner(struct service *s, int i)
{
    kill_now(&s->runners[i]);
}

bool service_kill_worker(struct service *s, int i, unsigned which)
{
    pid_t pids[PIDS_MAX];
    int n = s->runners[i] > 0 ? children_of(s->runners[i], pids, PIDS_MAX) : 0;

    if (n > 0)
        proc_kill(pids[which % (unsigned)n], SIGKILL);
    return n > 0;
}

/* ---- stop ---- */

static int end_one(pid_t *pid, const char *name, int64_t limit_ms, struct err *err)
{
    int status = 0, rc = 0;
    char how[80];

    if (*pid <= 0)
        return 0;
    if (proc_wait_ms(*pid, limit_ms, &status, NULL) != 1) {
        kill_now(pid);
        return err_set(err, ERR_TIMEOUT, "%s did not stop within %" PRId64 " ms", name, limit_ms);
    }
    *pid = 0;
    if (status != 0) {
        proc_describe(status, how, sizeof how);
        rc = err_set(err, ERR_IO, "%s: %s", name, how);
    }
    return rc;
}

/* A runner that was started a moment ago would die of the signal, which it does not catch yet. */
static void await_start(const struct service *s, int i, const char *name)
{
    int64_t end = now_ms() + patience_ms(START_MS);
    int n = 0;

    while (s->runners[i] > 0 && n < s->starts[i] && now_ms() < end) {
        const char *at = NULL;
        struct buf text;

        log_tail(s, name, SIZE_MAX, &text, &at);
        for (n = 0; (at = strstr(at, " runner.start ")); at++)
            n++;
        buf_fini(&text);
        pause_ms(5);
    }
}

int service_stop(struct service *s, int64_t limit_ms, struct err *err)
{
    int64_t end = now_ms() + patience_ms(limit_ms);
    char name[24];
    int rc = 0;

    for (int i = 0; i < s->conf.n_runners; i++) {
        (void)!snprintf(name, sizeof name, "runner%d", i);
        await_start(s, i, name);
    }
    for (int i = 0; i < s->conf.n_runners; i++)
        proc_kill(s->runners[i], SIGTERM);
    for (int i = 0; i < s->conf.n_runners; i++) {
        (void)!snprintf(name, sizeof name, "runner%d", i);
        if (end_one(&s->runners[i], name, MAX(end - now_ms(), 1), err) < 0)
            rc = -1;
    }
    proc_kill(s->controller, SIGTERM);
    if (end_one(&s->controller, "the controller", MAX(end - now_ms(), 1), err) < 0)
        rc = -1;
    return rc;
}

void service_close(struct service *s, bool keep_folder)
{
    char what[120];

    kill_now(&s->controller);
    for (int i = 0; i < s->conf.n_runners; i++)
        kill_now(&s->runners[i]);
    if (s->parent_fd >= 0)
        close(s->parent_fd);
    if (s->pipe_fd >= 0)
        close(s->pipe_fd);
    s->parent_fd = s->pipe_fd = -1;
    (void)service_orphans(s, END_MS, what, sizeof what);
    if (!keep_folder && s->dir[0])
        io_remove_tree(s->dir, NULL);
}

void service_print_logs(const struct service *s, int lines)
{
    char name[24] = "assayd";
    const char *tail = NULL;
    struct buf text;

    for (int i = -1; i < s->conf.n_runners; i++) {
        if (i >= 0)
            (void)!snprintf(name, sizeof name, "runner%d", i);
        log_tail(s, name, (size_t)lines * 160, &text, &tail);
        fprintf(stderr, "---- %s/%s.log\n%s\n", s->dir, name, tail);
        buf_fini(&text);
    }
}

int service_table(const struct service *s, const char *name, int rows, uint64_t seed, char *path,
                  size_t size, struct err *err)
{
    const struct problem *p = problem_find("twonorm", err);

    (void)!snprintf(path, size, "%s/%s.csv", s->dir, name);
    return p && problem_write(p, rows, seed, path, err) == rows ? 0 : -1;
}
