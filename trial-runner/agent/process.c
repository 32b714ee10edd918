/* process.c - the life of a worker process; see process.h. The supervisor notices the end of a
 * worker by the end of its socket, whatever the cause was. It then reaps the process, removes the
 * scratch files that were not handed over, and starts a new worker: at once, or after a pause that
 * grows if workers die without having done anything. A timer checks memory and silence five times a
 * second, independently of the messages. */
#include "trial-runner/agent/process.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/sha256.h"
#include "base/str.h"
#include "trial-runner/agent/backoff.h"
#include "trial-runner/wire.h"

#include <dirent.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* WORKER_FD: number of the socket in the worker. WATCH_MS: between two looks at memory and silence.
 * REAP_MS: how long a killed process may take to end; one that hangs in a driver may never end. */
enum { WORKER_FD = 3, WATCH_MS = 200, REAP_MS = 5000, FIRST_PAUSE_MS = 20, MAX_PAUSE_MS = 10000 };

struct process {
    struct loop *loop;
    const struct runner_conf *conf;
    const struct msg_device *device;
    enum process_kind kind;
    int number;
    char *scratch;
    char mark[64]; /* PROCESS_COMMAND: in the environment of its programs */
    const struct process_ops *ops;
    void *arg;
    pid_t pid;                /* 0 = there is no worker now */
    struct bufferevent *pipe; /* our end of the socket pair; NULL if there is no worker */
    struct loop_timer *watch, *respawn;
    struct backoff backoff;
    bool is_ready;
    int64_t alive_until_ms; /* it will be heard of before this; 0 = it has not said */
    int64_t rss_limit;      /* memory that its present trial allows; 0 = only the device's limit */
    enum trial_reason reason;
    char why[160]; /* why it is being killed; "" = it is not */
};

static int worker_start(struct process *s, struct err *err);

/* ---- death ---- */

static void worker_forget(struct process *s)
{
    bufferevent_free(s->pipe);
    s->pipe = NULL;
    s->pid = 0;
    s->is_ready = false;
    s->alive_until_ms = s->rss_limit = 0;
}

/* Removes the files that the dead worker left half written. Files that it has handed over are in
 * the same folder until they are uploaded, so keeps_file is asked for each. */
static void scratch_clear(const struct process *s)
{
    char path[4096], mark[32];
    DIR *dir = opendir(s->scratch);

    snprintf(mark, sizeof mark, "-%ld-", (long)s->pid);
    for (const struct dirent *d = NULL; dir && (d = readdir(dir));) {
        if (d->d_name[0] == '.' || !strstr(d->d_name, mark) ||
            snprintf(path, sizeof path, "%s/%s", s->scratch, d->d_name) >= (int)sizeof path ||
            s->ops->keeps_file(s->arg, path))
            continue;
        log_debug("scratch.cleared file=%s", d->d_name);
        unlink(path);
    }
    if (dir)
        closedir(dir);
}

static void on_respawn(void *arg)
{
    struct process *s = arg;
    struct err err = { 0 };

    loop_timer_free(s->respawn);
    s->respawn = NULL;
    if (worker_start(s, &err) < 0) {
        log_error("worker.start device=%s err=\"%s\"", s->device->id, err.text);
        s->respawn = loop_timer_new(s->loop, backoff_next_ms(&s->backoff), 0, on_respawn, s);
    }
}

/* Called once for each worker, when its socket has ended. */
static void worker_dead(struct process *s)
{
    enum trial_reason reason = s->reason;
    char why[160];
    int status = 0;
    int64_t pause = 0;

    CHECK(s->pid > 0 && !s->respawn);
    /* The socket has closed, so the process is gone or broken. In both cases it ends now. */
    proc_kill(s->pid, SIGKILL);
    if (proc_wait_ms(s->pid, REAP_MS, &status, NULL) != 1)
        str_copy(why, sizeof why, "its process does not end after SIGKILL");
    else if (s->why[0])
        str_copy(why, sizeof why, s->why);
    else
        proc_describe(status, why, sizeof why);
    log_warn("worker.dead device=%s pid=%ld why=\"%s\"", s->device->id, (long)s->pid, why);
    scratch_clear(s);
    worker_forget(s);
    s->why[0] = '\0';
    s->reason = TR_WORKER_DIED;
    pause = backoff_next_ms(&s->backoff);
    s->respawn = loop_timer_new(s->loop, pause <= FIRST_PAUSE_MS ? 0 : pause, 0, on_respawn, s);
    s->ops->on_dead(s->arg, reason, why);
}

static void worker_kill(struct process *s, enum trial_reason reason)
{
    s->reason = reason;
    proc_kill(s->pid, SIGKILL); /* the rest happens when its socket closes */
}

static void on_watch(void *arg)
{
    struct process *s = arg;
    int64_t now = clk_now_ms(loop_clk(s->loop)), rss = 0, limit = 0;
    char a[32], b[32];

    if (!s->pid || s->why[0])
        return;
    if (s->alive_until_ms > 0 && now > s->alive_until_ms + s->conf->slice_grace_ms) {
        snprintf(s->why, sizeof s->why,
                 "silent %" PRId64 " ms beyond the time it announced: killed",
                 now - s->alive_until_ms);
        worker_kill(s, TR_WORKER_DIED);
        return;
    }
    limit = s->device->memory_bytes;
    bool is_own = s->rss_limit > 0 && (limit <= 0 || s->rss_limit < limit);
    if (is_own)
        limit = s->rss_limit;
    rss = proc_anon_bytes(s->pid);
    if (limit > 0 && rss > limit) {
        str_fmt_bytes(rss, a, sizeof a);
        str_fmt_bytes(limit, b, sizeof b);
        snprintf(s->why, sizeof s->why, "held %s of memory, limit %s: killed", a, b);
        /* Beyond its study's limit, the trial is at fault. Beyond the device's limit, memory of
         * earlier trials may be the cause, so this one is tried again. */
        worker_kill(s, is_own ? TR_MEMORY : TR_WORKER_DIED);
    }
}

/* ---- messages ---- */

static void take_beat(struct process *s, const json_t *msg)
{
    int64_t within = 0, limit = 0;

    (void)jsonx_i64(msg, NULL, "within_ms", JSONX_OPTIONAL, 0, INT64_MAX / 2, &within, NULL);
    (void)jsonx_i64(msg, NULL, "rss_limit", JSONX_OPTIONAL, 0, INT64_MAX, &limit, NULL);
    s->alive_until_ms = within > 0 ? clk_now_ms(loop_clk(s->loop)) + within : 0;
    s->rss_limit = limit;
}

static void on_frame(struct process *s, const json_t *msg)
{
    const char *op = json_string_value(json_object_get(msg, "op"));

    if (!op) {
        log_error("worker.frame device=%s err=\"no op\"", s->device->id);
    } else if (str_eq(op, "beat")) {
        take_beat(s, msg);
    } else if (str_eq(op, "ready")) {
        log_debug("worker.ready device=%s pid=%ld", s->device->id, (long)s->pid);
        s->is_ready = true;
        s->ops->on_ready(s->arg);
    } else {
        if (str_eq(op, "event") || str_eq(op, "end"))
            backoff_reset(&s->backoff); /* this worker does useful work */
        s->ops->on_message(s->arg, op, msg);
    }
}

static void on_pipe_data(struct bufferevent *pipe, void *arg)
{
    struct process *s = arg;
    struct evbuffer *in = bufferevent_get_input(pipe);
    struct err err = { 0 };
    json_t *msg = NULL;
    size_t used = 0;
    int rc = 0;

    while (s->pipe == pipe && evbuffer_get_length(in) > 0) {
        size_t n = evbuffer_get_length(in);

        rc = wire_get((const char *)evbuffer_pullup(in, -1), n, &used, &msg, &err);
        if (rc <= 0)
            break;
        evbuffer_drain(in, used);
        on_frame(s, msg);
        json_decref(msg);
    }
    if (rc < 0 && !s->why[0]) {
        snprintf(s->why, sizeof s->why, "%.120s: killed", err.text);
        worker_kill(s, TR_WORKER_DIED);
    }
}

static void on_pipe_end(struct bufferevent *pipe, short what, void *arg)
{
    struct process *s = arg;

    (void)pipe;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        worker_dead(s);
}

void process_send(struct process *s, json_t *msg_steal)
{
    struct buf frame;
    struct err err = { 0 };

    buf_init(&frame, WIRE_MAX + 64);
    if (s->pipe) {
        if (wire_put(&frame, msg_steal, &err) < 0)
            log_error("worker.send device=%s err=\"%s\"", s->device->id, err.text);
        else
            bufferevent_write(s->pipe, frame.data, frame.len);
    }
    buf_fini(&frame);
    json_decref(msg_steal);
}

/* ---- birth ---- */

/* The variables that a worker inherits: where things are, and how libraries and devices behave. The
 * others are left out, such as tokens of the user who started the runner, because a worker reads
 * files that strangers have made. */
static const char *const worker_env[] = { "PATH",
                                          "HOME",
                                          "TMPDIR",
                                          "TZ",
                                          "LANG",
                                          "LC_*",
                                          "LD_LIBRARY_PATH",
                                          "CUDA_*",
                                          "NVIDIA_*",
                                          "OPENBLAS_*",
                                          "OMP_*",
                                          "MKL_*",
                                          "MALLOC_*",
                                          "GLIBC_TUNABLES",
                                          "ASSAY_CUDA*",
                                          "ASSAY_FAULT",
                                          "ASAN_OPTIONS",
                                          "LSAN_OPTIONS",
                                          "UBSAN_OPTIONS",
                                          "TSAN_OPTIONS",
                                          "LLVM_PROFILE_FILE",
                                          NULL };

static int worker_spawn(struct process *s, int child_fd, struct err *err)
{
    char device[64], numbered[80];
    bool is_command = s->kind == PROCESS_COMMAND;
    const char *const argv[] = { "assay-runner", is_command ? "--command" : "--worker", NULL };
    const char *const env[] = { device,
                                "OPENBLAS_NUM_THREADS=1",
                                "OMP_NUM_THREADS=1",
                                "MKL_NUM_THREADS=1",
                                "OPENBLAS_MAIN_FREE=1",
                                numbered,
                                NULL };
    struct proc_fd fds[] = { { child_fd, WORKER_FD } };
    struct proc_spec spec = { .argv = argv,
                              .env_add = env,
                              .env_keep = worker_env,
                              .fds = fds,
                              .n_fds = 1,
                              .new_session = true,
                              /* It ends by itself when we are gone, after its programs. */
                              .die_with_parent = !is_command,
                              .no_new_privs = true };

    snprintf(device, sizeof device, "ASSAY_WORKER_DEVICE=%s", s->device->id);
    snprintf(numbered, sizeof numbered, "ASSAY_WORKER_FD=%d", WORKER_FD);
    return proc_spawn(&spec, &s->pid, err);
}

/* Where users' programs of this device have their folders: in ours, unless they run as another user,
 * who may not enter it. */
static void home_path(const struct process *s, char *out, size_t size)
{
    if (s->conf->command_uid)
        (void)snprintf(out, size, "%.300s/%s", s->conf->command_dir, s->mark);
    else
        (void)snprintf(out, size, "%.400s/trials", s->scratch);
}

static void send_config(struct process *s)
{
    json_t *msg = json_pack(
        "{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:b}", "op", "config", "device", s->device->id,
        "rank_address", s->conf->rank_address ? s->conf->rank_address : "", "scratch", s->scratch,
        "slice_ms", (json_int_t)s->conf->slice_ms, "checkpoint_ms",
        (json_int_t)s->conf->checkpoint_ms, "memory_bytes", (json_int_t)s->device->memory_bytes,
        "log_level", s->conf->log_level, "dev", (int)s->conf->dev);
    int64_t uid = s->conf->command_uid;
    char home[500];

    if (s->kind == PROCESS_COMMAND) {
        home_path(s, home, sizeof home);
        json_object_set_new(msg, "home", json_string(home));
        json_object_set_new(msg, "mark", json_string(s->mark));
        json_object_set_new(msg, "uid", json_integer((json_int_t)(uid ? uid + s->number : 0)));
    }
    process_send(s, msg);
}

static int worker_start(struct process *s, struct err *err)
{
    int fds[2] = { -1, -1 }, rc = 0;

    CHECK(!s->pipe && s->pid <= 0);
    if (FAULT("process.socketpair") || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_errno(err, "socket pair");
    rc = worker_spawn(s, fds[1], err);
    close(fds[1]);
    if (rc < 0) {
        close(fds[0]);
        s->pid = 0;
        return -1;
    }
    evutil_make_socket_nonblocking(fds[0]);
    s->pipe = bufferevent_socket_new(loop_base(s->loop), fds[0], BEV_OPT_CLOSE_ON_FREE);
    CHECK(s->pipe);
    bufferevent_setcb(s->pipe, on_pipe_data, NULL, on_pipe_end, s);
    bufferevent_enable(s->pipe, EV_READ | EV_WRITE);
    send_config(s);
    return 0;
}

struct process *process_new(const struct process_conf *c, const struct process_ops *ops, void *arg,
                            struct err *err)
{
    struct process *s = mem_zalloc(sizeof *s);
    bool is_command = c->kind == PROCESS_COMMAND;
    size_t size = strlen(c->scratch) + sizeof c->device->id + 12;
    char hash[SHA256_HEX];

    s->loop = c->loop;
    s->conf = c->conf;
    s->device = c->device;
    s->kind = c->kind;
    s->number = c->number;
    sha256_hex(c->scratch, strlen(c->scratch), hash);
    (void)snprintf(s->mark, sizeof s->mark, "%.12s-%s", hash, c->device->id);
    s->ops = ops;
    s->arg = arg;
    s->reason = TR_WORKER_DIED;
    s->scratch = mem_alloc(size);
    snprintf(s->scratch, size, "%s/%s%s", c->scratch, c->device->id, is_command ? "-command" : "");
    backoff_init(&s->backoff, FIRST_PAUSE_MS, MAX_PAUSE_MS, 1);
    if (io_mkdirs(s->scratch, 0700, err) < 0 || worker_start(s, err) < 0) {
        process_free(s);
        return NULL;
    }
    s->watch = loop_timer_new(c->loop, WATCH_MS, WATCH_MS, on_watch, s);
    return s;
}

void process_free(struct process *s)
{
    if (!s)
        return;
    loop_timer_free(s->watch);
    loop_timer_free(s->respawn);
    if (s->pid) {
        int status = 0;
        pid_t pid = s->pid;

        if (s->kind == PROCESS_COMMAND) { /* the end of the socket tells it to end its programs */
            worker_forget(s);
            (void)proc_wait_ms(pid, REAP_MS, &status, NULL);
        }
        proc_kill(pid, SIGKILL);
        proc_wait_ms(pid, REAP_MS, &status, NULL);
        if (s->pid)
            worker_forget(s);
    }
    mem_free(s->scratch);
    mem_free(s);
}

bool process_is_ready(const struct process *s)
{
    return s->is_ready;
}

int64_t process_rss_bytes(const struct process *s)
{
    return s->pid ? proc_rss_bytes(s->pid) : 0;
}

int process_worker_pid(const struct process *s)
{
    return (int)s->pid;
}
