/* command.c - the messages and the life of the process that runs users' programs (command.h). It has
 * one thread and one trial at a time. It ends when the supervisor's end of the socket closes, and
 * takes everything with it that its program has started; if it is killed itself, its successor finds
 * what is left by a mark in the environment or by the user that programs run as. */
#include "trial-runner/command/command.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/command/job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* TURN_MS: the longest time between two turns of a job. BEAT_MS: between two signs of life. */
enum { TURN_MS = 50, IDLE_MS = 1000, BEAT_MS = 500, ALIVE_MS = 5000, SWEEP_MS = 10000 };

struct place {
    struct host host;
    struct job *job;
    json_t *next; /* a run message that came while a job was still ending */
    bool is_draining, is_done;
    int64_t beat_ms;
};

int64_t host_now(const struct host *h)
{
    return clk_now_ms(&h->clk);
}

/* The supervisor is gone, or has let us go: nothing that we started may stay. */
static void leave(struct place *p) NO_RETURN;
static void leave(struct place *p)
{
    job_free(p->job);
    _exit(0);
}

static struct place *the_place; /* for host_send, which must be able to end the process */

void host_send(struct host *h, json_t *msg_steal)
{
    struct err err = { 0 };

    if (wire_send(&h->wire, msg_steal, &err) == 0)
        return;
    log_error("command.send err=\"%s\"", err.text);
    leave(the_place);
}

void host_event(struct host *h, int64_t trial, int64_t fence, struct msg_event *ev,
                const char *file)
{
    struct msg_report r = { .session = "command", .n_events = 1, .events = ev };
    json_t *msg = NULL;

    ev->trial = trial;
    ev->fence = fence;
    ev->seq = 1; /* any valid number; the supervisor numbers the messages */
    msg = json_pack("{s:s, s:o}", "op", "event", "report", msg_report_json_new(&r));
    CHECK(msg);
    if (file)
        json_object_set_new(msg, "file", json_string(file));
    mem_free(ev->detail);
    mem_free(ev->epochs);
    ev->detail = ev->epochs = NULL;
    host_send(h, msg);
}

void host_beat(struct host *h, int64_t within_ms)
{
    host_send(h, json_pack("{s:s, s:I, s:I}", "op", "beat", "within_ms", (json_int_t)within_ms,
                           "rss_limit", (json_int_t)0));
}

/* ---- messages ---- */

static void text_at(const json_t *msg, const char *key, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(msg, key));

    str_copy(out, size, text ? text : "");
}

/* Kills what an earlier process left, and makes the home of the folders. */
static void clear_home(struct host *h)
{
    struct err err = { 0 };

    for (int64_t end = host_now(h) + SWEEP_MS; !program_sweep(h->mark, h->uid);) {
        if (host_now(h) > end)
            break;
        (void)poll(NULL, 0, 10);
    }
    if (folder_home(h->home, h->uid, &err) < 0)
        log_error("command.home path=%s err=\"%s\"", h->home, err.text);
}

static void take_config(struct place *p, const json_t *msg)
{
    struct host *h = &p->host;
    int64_t uid = 0;
    char level[16];

    text_at(msg, "device", h->device, sizeof h->device);
    text_at(msg, "scratch", h->scratch, sizeof h->scratch);
    text_at(msg, "home", h->home, sizeof h->home);
    text_at(msg, "mark", h->mark, sizeof h->mark);
    text_at(msg, "log_level", level, sizeof level);
    if (log_level_parse(level) >= 0)
        log_level_set((enum log_level)log_level_parse(level));
    (void)jsonx_i64(msg, NULL, "uid", JSONX_OPTIONAL, 0, INT32_MAX, &uid, NULL);
    (void)jsonx_i64(msg, NULL, "checkpoint_ms", JSONX_OPTIONAL, 1, INT64_MAX / 2000,
                    &h->checkpoint_ms, NULL);
    (void)jsonx_i64(msg, NULL, "memory_bytes", JSONX_OPTIONAL, 0, INT64_MAX, &h->memory_bytes,
                    NULL);
    h->uid = (uid_t)uid;
    clear_home(h);
    host_send(h, json_pack("{s:s}", "op", "ready"));
}

static void begin(struct place *p, json_t *msg)
{
    p->job = job_new(&p->host, msg);
    if (!p->job)
        _exit(1); /* both processes run the same build, so this is a bug, and dying reports it */
    if (p->is_draining)
        job_drain(p->job);
}

static bool is_of_job(const struct job *j, const json_t *msg)
{
    return j && j->state != JOB_OVER &&
           json_integer_value(json_object_get(msg, "trial")) == (json_int_t)j->trial &&
           json_integer_value(json_object_get(msg, "fence")) == (json_int_t)j->fence;
}

static void take_answer(struct place *p, const json_t *msg)
{
    int64_t to = 0, deadline = 0;
    char action[16];

    text_at(msg, "action", action, sizeof action);
    (void)jsonx_i64(msg, NULL, "to", JSONX_OPTIONAL, 0, 1 << 20, &to, NULL);
    (void)jsonx_i64(msg, NULL, "deadline_at_ms", JSONX_OPTIONAL, 0, INT64_MAX, &deadline, NULL);
    if (is_of_job(p->job, msg))
        job_answer(p->job, action, (int)to, deadline);
}

static void take_message(struct place *p, json_t *msg)
{
    const char *op = json_string_value(json_object_get(msg, "op"));

    if (str_eq(op, "config")) {
        take_config(p, msg);
    } else if (str_eq(op, "run")) {
        if (p->job) {
            json_decref(p->next);
            p->next = json_incref(msg);
        } else {
            begin(p, msg);
        }
    } else if (str_eq(op, "answer")) {
        take_answer(p, msg);
    } else if (str_eq(op, "stop")) {
        if (is_of_job(p->job, msg))
            job_stop(p->job);
    } else if (str_eq(op, "drain")) {
        p->is_draining = true;
        if (p->job)
            job_drain(p->job);
    } else if (str_eq(op, "quit")) {
        p->is_done = true;
    }
}

/* ---- the loop ---- */

static void wait(const struct place *p)
{
    struct pollfd fds[INBOX_CALLS + 4];
    int n = 0;

    fds[n++] = (struct pollfd){ .fd = p->host.wire.fd, .events = POLLIN };
    if (p->job)
        n += job_poll(p->job, fds + n);
    (void)poll(fds, (nfds_t)n, p->job ? TURN_MS : IDLE_MS);
}

static void turn(struct place *p)
{
    json_t *msg = NULL;
    struct err err = { 0 };
    int64_t now = 0;

    while (wire_has_input(&p->host.wire)) {
        int rc = wire_recv(&p->host.wire, 0, &msg, &err);

        if (rc < 0)
            leave(p);
        if (rc == 0)
            break;
        take_message(p, msg);
        json_decref(msg);
    }
    if (p->job)
        job_turn(p->job);
    if (p->job && p->job->state == JOB_OVER) {
        job_free(p->job);
        p->job = NULL;
    }
    if (!p->job && p->next) {
        msg = p->next;
        p->next = NULL;
        begin(p, msg);
        json_decref(msg);
    }
    now = host_now(&p->host);
    if (now - p->beat_ms >= BEAT_MS && p->host.device[0]) {
        p->beat_ms = now;
        host_beat(&p->host, p->job ? ALIVE_MS : 0);
    }
}

int command_main(int fd)
{
    struct place *p = mem_zalloc(sizeof *p);

    the_place = p;
    log_init("assay-command", LOG_INFO);
    (void)signal(SIGPIPE, SIG_IGN);
    /* as a worker: only the supervisor is meant (worker.c) */
    (void)signal(SIGTERM, SIG_IGN);
    (void)signal(SIGINT, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN);
    clk_init_system(&p->host.clk);
    wire_init(&p->host.wire, fd);
    p->host.checkpoint_ms = 30000;
    program_adopt();
    while (!p->is_done) {
        wait(p);
        turn(p);
    }
    leave(p);
}
