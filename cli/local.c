/* local.c - starts, watches and stops the controller and the runners of `fit` and `run` (see
 * local.h).
 *
 * The path of a Unix socket must be shorter than 108 bytes. Therefore the socket always lies in a
 * short folder of our own under TMPDIR, and only the data may lie elsewhere.
 *
 * Called by cmd_fit.c, cmd_run.c and cmd_preview.c. */
#include "cli/local.h"

#include "base/buf.h"
#include "base/clk.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CHILD_FD = 9,
    CHILD_LOCK_FD = 10,
    BASE_MAX = 60,
    START_LIMIT_MS = 10000,
    BUSY_LIMIT_MS = 120000,
    MOST_RESTARTS = 5,
    LOG_TAIL = 600
};

static int make_folder(struct local *l, const char *data_dir, struct err *err)
{
    if (tempdir_make(&l->temp, BASE_MAX, err) < 0)
        return -1;
    snprintf(l->dir, sizeof(l->dir), "%.80s", l->temp.path);
    l->is_temporary = !data_dir;
    if (data_dir)
        snprintf(l->data_dir, sizeof(l->data_dir), "%s", data_dir);
    else
        snprintf(l->data_dir, sizeof(l->data_dir), "%s/data", l->dir);
    return io_mkdirs(l->data_dir, 0700, err);
}

static int open_log(const struct local *l, const char *name, struct err *err)
{
    char path[400];

    snprintf(path, sizeof(path), "%s/%s.log", l->dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return fd < 0 ? err_errno(err, "%s", path) : fd;
}

static int spawn(const struct local *l, const char *const *argv, const char *log, pid_t *pid,
                 struct err *err)
{
    int log_fd = open_log(l, log, err), null_fd = open("/dev/null", O_RDWR | O_CLOEXEC), rc = -1;

    if (log_fd >= 0 && null_fd >= 0) {
        const struct proc_fd fds[] = { { null_fd, 0 },
                                       { log_fd, 1 },
                                       { log_fd, 2 },
                                       { l->child_fd, CHILD_FD },
                                       /* keeps the folder locked until the last child has ended */
                                       { l->temp.lock_fd, CHILD_LOCK_FD } };
        const struct proc_spec spec = {
            .argv = argv, .fds = fds, .n_fds = ARRAY_LEN(fds), .new_session = true
        };
        rc = proc_spawn(&spec, pid, err);
    }
    if (log_fd >= 0)
        close(log_fd);
    if (null_fd >= 0)
        close(null_fd);
    return rc;
}

static int spawn_controller(struct local *l, struct err *err)
{
    char socket_arg[104], fd[16];

    snprintf(socket_arg, sizeof(socket_arg), "%s/sock", l->dir);
    snprintf(fd, sizeof(fd), "%d", CHILD_FD);
    const char *controller[] = {
        "assayd",   "--data-dir", l->data_dir,   "--socket", socket_arg,
        "--listen", "",           "--parent-fd", fd,         l->is_temporary ? "--no-sync" : NULL,
        NULL
    };
    if (spawn(l, controller, "assayd", &l->controller, err) < 0)
        return err_wrap(err, "starting the controller");
    return 0;
}

static int spawn_runner(struct local *l, int i, struct err *err)
{
    char url[120], blobs[600], cache[300], fd[16], name[32], log[32];

    snprintf(url, sizeof(url), "unix:%s/sock", l->dir);
    snprintf(blobs, sizeof(blobs), "%s/blobs", l->data_dir);
    snprintf(fd, sizeof(fd), "%d", CHILD_FD);
    snprintf(name, sizeof(name), "local%d", i + 1);
    snprintf(log, sizeof(log), "runner%d", i + 1);
    snprintf(cache, sizeof(cache), "%s/cache%d", l->dir, i + 1);
    const char *runner[] = { "assay-runner", "--controller", url, "--name", name, "--cache-dir",
                             cache, "--blob-dir", blobs, "--parent-fd", fd, "--devices", l->devices,
                             /* the user's own programs, on the user's own machine */
                             l->runs_commands ? "--allow-command" : NULL, "--command-uids", "self",
                             NULL };
    if (spawn(l, runner, log, &l->runners[i], err) < 0)
        return err_wrap(err, "starting a runner");
    return 0;
}

static int spawn_all(struct local *l, struct err *err)
{
    if (spawn_controller(l, err) < 0)
        return -1;
    for (int i = 0; i < l->n_runners; i++)
        if (spawn_runner(l, i, err) < 0)
            return -1;
    return 0;
}

/* Finds the sentence with which a child refused to start ("assay-runner: devices: ..."), and
 * copies it to `why` without the program's name. */
static bool refusal(const char *text, const char *program, char *why, size_t size)
{
    size_t n = strlen(text), skip = strlen(program);

    while (n > 0 && text[n - 1] == '\n')
        n--;
    const char *line = text + n;
    while (line > text && line[-1] != '\n')
        line--;
    if (!str_starts(line, program) || !str_starts(line + skip, ": "))
        return false;
    (void)!snprintf(why, size, "%.*s", (int)(text + n - line - (ptrdiff_t)skip - 2),
                    line + skip + 2);
    return true;
}

/* Puts into err why a child ended: its own last sentence if there is one. Otherwise err says how
 * it ended, and the end of its log is printed. */
static int tell_end(const struct local *l, const char *name, const char *what, const char *program,
                    int status, struct err *err)
{
    char path[400], how[80], why[200];
    struct buf text;
    struct err ignored = { 0 };

    proc_describe(status, how, sizeof(how));
    (void)!snprintf(path, sizeof(path), "%s/%s.log", l->dir, name);
    if (io_read_file(path, 1 << 20, &text, &ignored) == 0) {
        bool said =
            buf_add(&text, "", 1, NULL) == 0 && refusal(text.data, program, why, sizeof(why));
        const char *from = text.len > LOG_TAIL ? text.data + text.len - LOG_TAIL : text.data;
        if (!said && text.len > 0)
            fprintf(stderr, "last lines of the log of %s:\n%s", name, from);
        buf_fini(&text);
        if (said)
            return err_set(err, ERR_IO, "%s", why);
    }
    return err_set(err, ERR_IO, "the %s ended unexpectedly: %s", what, how);
}

/* Whether a child that ended so is to be started again: it was killed, as the kernel does where
 * memory is short, and did not end by itself. One that crashes while it starts would do so again. */
static bool may_restart(struct local *l, const char *what, int status)
{
    char how[80];

    if (!WIFSIGNALED(status) || l->restarts == MOST_RESTARTS ||
        (!l->is_ready && WTERMSIG(status) != SIGKILL))
        return false;
    l->restarts++;
    proc_describe(status, how, sizeof(how));
    fprintf(stderr, "the %s was %s; it is started again\n", what, how);
    return true;
}

/* Returns 1 when the runner lives, 0 when it has just ended (the reason is in err), -1 when it was
 * already known to have ended. */
static int runner_look(struct local *l, int i, struct err *err)
{
    int status = 0;
    char log[32];

    if (l->runners[i] <= 0)
        return -1;
    if (proc_poll(l->runners[i], &status, err) == 0)
        return 1;
    l->runners[i] = 0;
    if (may_restart(l, "runner", status))
        return spawn_runner(l, i, err) == 0;
    snprintf(log, sizeof(log), "runner%d", i + 1);
    (void)tell_end(l, log, "runner", "assay-runner", status, err);
    return 0;
}

static bool controller_look(struct local *l, struct err *err)
{
    int status = 0;

    if (l->controller <= 0)
        return false;
    if (proc_poll(l->controller, &status, err) == 0)
        return true;
    l->controller = 0;
    if (may_restart(l, "controller", status))
        return spawn_controller(l, err) == 0;
    (void)tell_end(l, "assayd", "controller", "assayd", status, err);
    return false;
}

/* The study goes on as long as the controller and at least one runner live. */
bool local_is_alive(struct local *l, struct err *err)
{
    int n_alive = 0;

    if (!controller_look(l, err))
        return false;
    for (int i = 0; i < l->n_runners; i++)
        n_alive += runner_look(l, i, err) > 0;
    return n_alive > 0;
}

static bool socket_accepts(const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    bool ok = fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) == 0;
    if (fd >= 0)
        close(fd);
    return ok;
}

static int wait_ready(struct local *l, int64_t limit_ms, struct err *err)
{
    struct clk clk;
    char path[104];
    const struct timespec pause = { .tv_nsec = 2000000 };

    clk_init_system(&clk);
    snprintf(path, sizeof(path), "%s/sock", l->dir);
    limit_ms = limit_ms > 0 ? MIN(limit_ms, START_LIMIT_MS) : START_LIMIT_MS;
    for (int64_t end = clk_now_ms(&clk) + limit_ms; clk_now_ms(&clk) < end;) {
        if (socket_accepts(path))
            return 0;
        if (!local_is_alive(l, err))
            return -1;
        nanosleep(&pause, NULL);
    }
    return err_set(err, ERR_TIMEOUT, "the controller did not answer within %.1f s",
                   (double)limit_ms / 1000);
}

/* Asked by the client after a call without an answer (client_when_gone). A controller that was killed
 * closes its connections a moment before it counts as ended. */
static bool is_back(void *arg, int64_t most_ms, struct err *why)
{
    const struct timespec moment = { .tv_nsec = 20000000 };
    struct err err = { 0 };

    nanosleep(&moment, NULL);
    if (local_is_alive(arg, &err) && wait_ready(arg, MAX(most_ms, 1), &err) == 0)
        return true;
    if (err.code != ERR_NONE && err.code != ERR_TIMEOUT)
        *why = err;
    return false;
}

int local_device_check(const char *device, struct err *err)
{
    if (strcmp(device, "auto") == 0 || strcmp(device, "cpu") == 0 || strcmp(device, "cuda") == 0)
        return 0;
    return err_at(err, "--device", "\"%s\" is not auto, cpu or cuda", device);
}

int local_start(struct local *l, const char *data_dir, int n_runners, const char *devices,
                int64_t limit_ms, struct err *err)
{
    char server[120];

    *l = (struct local){ .runs_commands = l->runs_commands, .parent_fd = -1, .child_fd = -1 };
    if (str_copy(l->devices, sizeof(l->devices), devices) == 0)
        return err_set(err, ERR_ARG, "--devices: too long, or empty");
    l->n_runners = n_runners;
    l->runners = mem_array((size_t)n_runners, sizeof(*l->runners));
    if (make_folder(l, data_dir, err) < 0 || proc_pipe(&l->child_fd, &l->parent_fd, err) < 0 ||
        spawn_all(l, err) < 0 || wait_ready(l, limit_ms, err) < 0)
        goto fail;
    snprintf(server, sizeof(server), "unix:%s/sock", l->dir);
    if (!(l->client = client_new(server, NULL, err)))
        goto fail;
    /* only we use this controller, so waiting for it is right */
    client_patience(l->client, BUSY_LIMIT_MS);
    client_when_gone(l->client, is_back, l);
    l->is_ready = true;
    return 0;
fail:
    local_stop(l, 500);
    return -1;
}

static void end_child(pid_t *pid, const struct clk *clk, int64_t until_ms)
{
    int status = 0;

    if (*pid <= 0)
        return;
    if (proc_wait_ms(*pid, MAX(until_ms - clk_now_ms(clk), 0), &status, NULL) == 0) {
        proc_kill(*pid, SIGKILL);
        proc_wait_ms(*pid, 5000, &status, NULL);
    }
    *pid = 0;
}

static void close_pipe(struct local *l)
{
    if (l->parent_fd >= 0)
        close(l->parent_fd);
    if (l->child_fd >= 0)
        close(l->child_fd);
    l->parent_fd = l->child_fd = -1;
}

void local_stop(struct local *l, int64_t patience_ms)
{
    struct clk clk;

    client_free(l->client);
    l->client = NULL;
    clk_init_system(&clk);
    int64_t until_ms = clk_now_ms(&clk) + patience_ms;
    for (int i = 0; i < l->n_runners; i++)
        if (l->runners[i] > 0)
            proc_kill(l->runners[i], SIGTERM);
    if (l->controller > 0)
        proc_kill(l->controller, SIGTERM);
    close_pipe(l);
    for (int i = 0; i < l->n_runners; i++)
        end_child(&l->runners[i], &clk, until_ms);
    end_child(&l->controller, &clk, until_ms);
    mem_free(l->runners);
    l->runners = NULL;
    l->n_runners = 0;
    tempdir_end(&l->temp, getenv("ASSAY_KEEP_TEMP") != NULL);
}

static void kill_all(const struct local *l)
{
    for (int i = 0; i < l->n_runners; i++)
        proc_kill(l->runners[i], SIGKILL);
    proc_kill(l->controller, SIGKILL);
}

static bool is_gone(pid_t pid)
{
    return pid <= 0 || kill(pid, 0) < 0;
}

/* Runs in the process that stays behind. A killed child whose parent is gone is normally removed
 * by init. Where no process does that, the child stays visible for ever, so this waits for at
 * most a second. */
static void clean_up(struct local *l)
{
    const struct timespec pause = { .tv_nsec = 10000000 };
    int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

    setsid();
    for (int fd = 0; fd < 3 && null_fd >= 0; fd++)
        dup2(null_fd, fd); /* closes our output, so that its reader sees the end */
    for (int look = 0; look < 100; look++) {
        bool all = is_gone(l->controller);
        for (int i = 0; i < l->n_runners; i++)
            all = all && is_gone(l->runners[i]);
        if (all)
            break;
        nanosleep(&pause, NULL);
    }
    tempdir_end(&l->temp, getenv("ASSAY_KEEP_TEMP") != NULL);
    _exit(0);
}

void local_abandon(struct local *l)
{
    kill_all(l);
    fflush(NULL);
    pid_t pid = l->controller > 0 ? fork() : -1;
    if (pid == 0)
        clean_up(l);
    if (pid < 0) {
        local_stop(l, 0);
        return;
    }
    client_free(l->client);
    close_pipe(l);
    close(l->temp.lock_fd);
    mem_free(l->runners);
    *l = (struct local){ .parent_fd = -1, .child_fd = -1 };
}
