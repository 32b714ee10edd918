/* predict.c - the life of the predictor (predict.h) and the line of requests before it. When the
 * process ends, the request that it had fails, and the next one starts it anew. */
#include "controller/serve/predict.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "proto/predict.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHILD_FD = 3, REAP_MS = 2000, WAITING_BYTES = 64 << 20 };

struct job {
    struct job *next;
    int64_t by;
    struct buf frame;
    void (*on_done)(void *arg, const struct ctl_predicted *out, const struct err *err);
    void *arg;
};

struct predictor {
    struct ctl *ctl;
    pid_t pid;                /* 0 = it does not run */
    struct bufferevent *pipe; /* our end of the socket pair */
    struct loop_timer *timer; /* runs while it works on the first job */
    struct job *first, **last;
    int n_jobs;
    size_t bytes; /* of the jobs' frames */
    bool is_late; /* it was killed because it took too long */
};

/* ---- jobs ---- */

static struct job *job_pop(struct predictor *p)
{
    struct job *j = p->first;

    CHECK(j && p->n_jobs > 0);
    p->first = j->next;
    if (!p->first)
        p->last = &p->first;
    p->n_jobs--;
    p->bytes -= j->frame.len;
    return j;
}

static void job_end(struct job *j, const struct ctl_predicted *out, const struct err *err)
{
    j->on_done(j->arg, out, err);
    buf_fini(&j->frame);
    mem_free(j);
}

static void send_next(struct predictor *p);

static void on_late(void *arg)
{
    struct predictor *p = arg;

    loop_timer_free(p->timer);
    p->timer = NULL;
    if (!p->pid)
        return;
    log_warn("predictor.late pid=%ld limit_ms=%d", (long)p->pid, PREDICT_LIMIT_MS);
    p->is_late = true;
    proc_kill(p->pid, SIGKILL); /* the rest happens when its socket closes */
}

/* ---- the process ---- */

static void forget(struct predictor *p)
{
    loop_timer_free(p->timer);
    p->timer = NULL;
    bufferevent_free(p->pipe);
    p->pipe = NULL;
    p->pid = 0;
}

/* Called once for each process, when its socket has ended. */
static void on_dead(struct predictor *p)
{
    struct err err = { 0 };
    char why[120] = "it does not end after SIGKILL";
    bool was_busy = p->timer != NULL || p->is_late;
    int status = 0;

    proc_kill(p->pid, SIGKILL);
    if (proc_wait_ms(p->pid, REAP_MS, &status, NULL) == 1)
        proc_describe(status, why, sizeof why);
    log_warn("predictor.dead pid=%ld why=\"%s\"", (long)p->pid, why);
    forget(p);
    if (was_busy && p->first) {
        if (p->is_late)
            err_set(&err, ERR_TIMEOUT,
                    "the prediction took longer than %d s and was ended: send fewer rows",
                    PREDICT_LIMIT_MS / 1000);
        else
            err_set(&err, ERR_IO,
                    "the process that predicts has ended (%s); it may need more memory "
                    "(assayd's option predict_memory)",
                    why);
        p->is_late = false;
        job_end(job_pop(p), NULL, &err);
    }
    p->is_late = false;
    send_next(p);
}

static void take_answer(struct predictor *p, const struct predict_frame *f, const char *data)
{
    struct ctl_predicted out = { .bytes = data + f->body_at, .len = f->body_len, .note = "" };
    int64_t code = ERR_IO;
    const char *text = "", *where = "";
    struct err err = { 0 };

    loop_timer_free(p->timer);
    p->timer = NULL;
    (void)jsonx_i64(f->head, NULL, "code", JSONX_REQUIRED, 0, ERR_CODES - 1, &code, NULL);
    (void)jsonx_str(f->head, NULL, "text", JSONX_OPTIONAL, sizeof err.text, &text, NULL);
    (void)jsonx_str(f->head, NULL, "where", JSONX_OPTIONAL, sizeof err.where, &where, NULL);
    (void)jsonx_str(f->head, NULL, "note", JSONX_OPTIONAL, 300, &out.note, NULL);
    if (code != ERR_NONE) {
        err_set(&err, (enum err_code)code, "%s", text);
        str_copy(err.where, sizeof err.where, where);
    }
    job_end(job_pop(p), code == ERR_NONE ? &out : NULL, code == ERR_NONE ? NULL : &err);
}

static void on_data(struct bufferevent *pipe, void *arg)
{
    struct predictor *p = arg;
    struct evbuffer *in = bufferevent_get_input(pipe);
    struct predict_frame f = { 0 };
    char prefix[PREDICT_PREFIX];
    size_t n = evbuffer_get_length(in), wanted = 0;
    int rc = 0;

    /* The bytes are put together only when they are all there. */
    if (n < PREDICT_PREFIX || evbuffer_copyout(in, prefix, sizeof prefix) < 0)
        return;
    rc = predict_frame_get(prefix, sizeof prefix, &f, &wanted, NULL);
    if (rc == 0 && n >= wanted && p->timer)
        rc = predict_frame_get((const char *)evbuffer_pullup(in, -1), n, &f, &wanted, NULL);
    if (rc < 0 || (n >= wanted && !p->timer) || n > wanted) {
        proc_kill(p->pid, SIGKILL); /* it says what nobody asked for */
    } else if (rc == 1) {
        take_answer(p, &f, (const char *)evbuffer_pullup(in, -1));
        json_decref(f.head);
        if (p->pipe == pipe)
            evbuffer_drain(in, f.len);
        send_next(p);
    }
}

static void on_end(struct bufferevent *pipe, short what, void *arg)
{
    (void)pipe;
    if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
        on_dead(arg);
}

/* What the process inherits. No token: it reads files that strangers may have made. */
static const char *const child_env[] = { "PATH",
                                         "TZ",
                                         "LANG",
                                         "LC_*",
                                         "LD_LIBRARY_PATH",
                                         "MALLOC_*",
                                         "ASAN_OPTIONS",
                                         "LSAN_OPTIONS",
                                         "UBSAN_OPTIONS",
                                         "TSAN_OPTIONS",
                                         "GLIBC_TUNABLES",
                                         "LLVM_PROFILE_FILE",
                                         NULL };

static int spawn(struct predictor *p, int child_fd, struct err *err)
{
    char scratch[1024], memory[40], fd[20];
    const char *const argv[] = { "assayd", "--predictor", fd, scratch, memory, NULL };
    struct proc_fd fds[] = { { child_fd, CHILD_FD } };
    struct proc_spec spec = { .argv = argv,
                              .env_keep = child_env,
                              .fds = fds,
                              .n_fds = 1,
                              .new_session = true,
                              .die_with_parent = true,
                              .no_new_privs = true };

    if (snprintf(scratch, sizeof scratch, "%s/predict", ctl_data_dir(p->ctl)) >=
        (int)sizeof scratch)
        return err_set(err, ERR_ARG, "the data folder's path is too long");
    (void)!snprintf(fd, sizeof fd, "%d", CHILD_FD);
    (void)!snprintf(memory, sizeof memory, "%" PRId64, p->ctl->conf.predict_memory);
    if (io_mkdirs(scratch, 0700, err) < 0)
        return -1;
    return proc_spawn(&spec, &p->pid, err);
}

static int start(struct predictor *p, struct err *err)
{
    int fds[2] = { -1, -1 }, rc = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0)
        return err_errno(err, "socket pair");
    rc = spawn(p, fds[1], err);
    close(fds[1]);
    if (rc < 0) {
        close(fds[0]);
        p->pid = 0;
        return err_wrap(err, "the process that predicts does not start");
    }
    evutil_make_socket_nonblocking(fds[0]);
    p->pipe = bufferevent_socket_new(loop_base(p->ctl->loop), fds[0], BEV_OPT_CLOSE_ON_FREE);
    CHECK(p->pipe);
    bufferevent_setcb(p->pipe, on_data, NULL, on_end, p);
    bufferevent_enable(p->pipe, EV_READ | EV_WRITE);
    log_info("predictor.start pid=%ld", (long)p->pid);
    return 0;
}

/* Sends the first job, unless one is being worked on. */
static void send_next(struct predictor *p)
{
    struct err err = { 0 };

    while (p->first && !p->timer && !p->is_late) {
        if (!p->pid && start(p, &err) < 0) {
            job_end(job_pop(p), NULL, &err);
            continue;
        }
        bufferevent_write(p->pipe, p->first->frame.data, p->first->frame.len);
        p->timer = loop_timer_new(p->ctl->loop, PREDICT_LIMIT_MS, 0, on_late, p);
    }
}

/* ---- from outside ---- */

static struct predictor *predictor_of(struct ctl *ctl)
{
    if (!ctl->predictor) {
        ctl->predictor = mem_zalloc(sizeof *ctl->predictor);
        ctl->predictor->ctl = ctl;
        ctl->predictor->last = &ctl->predictor->first;
    }
    return ctl->predictor;
}

static int room_for(const struct predictor *p, int64_t by, size_t n, struct err *err)
{
    int own = 0;

    for (const struct job *j = p->first; j; j = j->next)
        own += j->by == by;
    if (p->n_jobs >= PREDICT_WAITING || p->bytes + n > WAITING_BYTES || own >= PREDICT_WAITING / 2)
        return err_set(err, ERR_BUSY, "%d requests for predictions are waiting", p->n_jobs);
    return 0;
}

int predict_ask(struct ctl *ctl, int64_t by, json_t *head_steal, const void *body, size_t n,
                void (*on_done)(void *arg, const struct ctl_predicted *out, const struct err *err),
                void *arg, struct err *err)
{
    struct predictor *p = predictor_of(ctl);
    struct job *j = NULL;
    int rc = ctl->loop && !ctl->is_stopping ? room_for(p, by, n, err)
                                            : err_set(err, ERR_BUSY, "no predictions are made now");

    if (rc == 0) {
        j = mem_zalloc(sizeof *j);
        buf_init(&j->frame, PREDICT_PREFIX + PREDICT_HEAD_MAX + PREDICT_BODY_MAX);
        rc = predict_frame_put(&j->frame, head_steal, body, n, err);
    }
    json_decref(head_steal);
    if (rc < 0) {
        if (j)
            buf_fini(&j->frame);
        mem_free(j);
        return -1;
    }
    j->by = by;
    j->on_done = on_done;
    j->arg = arg;
    *p->last = j;
    p->last = &j->next;
    p->n_jobs++;
    p->bytes += j->frame.len;
    send_next(p);
    return 0;
}

void predict_free(struct ctl *ctl)
{
    struct predictor *p = ctl->predictor;
    struct err err = { 0 };
    int status = 0;

    if (!p)
        return;
    if (p->pid) {
        proc_kill(p->pid, SIGKILL);
        (void)proc_wait_ms(p->pid, REAP_MS, &status, NULL);
        forget(p);
    }
    err_set(&err, ERR_BUSY, "the controller stops");
    while (p->first)
        job_end(job_pop(p), NULL, &err);
    mem_free(p);
    ctl->predictor = NULL;
}
