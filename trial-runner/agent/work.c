/* work.c - the groups of one device, from grant to end; see work.h. A group is freed when two
 * things are true: the worker has said `end` of it, or never got it; and the outbox holds none of
 * its trials any more. */
#include "trial-runner/agent/work.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/agent/group.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* GROUPS_MAX: one group that is computed, and one that is fetched meanwhile.
 * VAIN_DEATHS_MAX: so many workers in a row may die before they begin a trial. Then the trials that
 * wait are given up, because something in them or in this machine kills every worker. */
enum { GROUPS_MAX = 2, VAIN_DEATHS_MAX = 3 };

/* One of the two processes of a device, as it is known to its callbacks. */
struct seat {
    struct work *work;
    struct process *process; /* NULL = this runner has none of this kind */
    enum process_kind kind;
};

struct work {
    struct work_conf c;
    struct group_env env;
    struct seat worker, command;
    struct group *groups; /* in order of arrival */
    int64_t runs;         /* groups so far; numbers them */
    int vain_deaths;      /* workers in a row that died without having begun a trial */
    bool soon;            /* the worker has said that it will be idle soon */
    bool draining;
};

/* ---- groups ---- */

static void group_unlink(struct work *w, struct group *g)
{
    struct group **link = &w->groups;

    while (*link != g)
        link = &(*link)->next;
    *link = g->next;
    group_free(g);
}

/* Frees the groups that are over, and lets the agent look for new work. */
static void sweep(struct work *w)
{
    for (struct group *g = w->groups, *next = NULL; g; g = next) {
        next = g->next;
        if ((g->ended || !g->sent) && !group_is_held(g))
            group_unlink(w, g);
    }
    w->c.on_change(w->c.arg);
}

/* The process that computes a group. */
static struct seat *seat_of(struct work *w, const struct group *g)
{
    return g->grant.command ? &w->command : &w->worker;
}

/* Does the device's other process compute? A program and a worker do not run at once. */
static bool is_taken(struct work *w, const struct seat *by)
{
    for (const struct group *g = w->groups; g; g = g->next) {
        if (g->sent && !g->ended && seat_of(w, g) != by)
            return true;
    }
    return false;
}

static void try_send(void *arg)
{
    struct work *w = arg;

    for (struct group *g = w->groups; g; g = g->next) {
        struct seat *s = seat_of(w, g);

        if (s->process && process_is_ready(s->process) && !g->sent && !g->ended &&
            g->n_pending == 0 && !is_taken(w, s))
            group_send(g, s->process);
    }
}

/* Drops the trial or task where it is held with an older fence. The controller must have taken that
 * one from us, or it would not grant it again. */
static void drop_older(struct work *w, int64_t id, bool is_task)
{
    for (struct held *h = outbox_first(w->c.outbox), *next = NULL; h; h = next) {
        next = h->next;
        if (h->trial == id && h->is_task == is_task)
            work_drop(h);
    }
}

void work_take(struct work *w, struct msg_grant *grant)
{
    struct group *g = NULL, **link = &w->groups;
    int64_t now = clk_now_ms(loop_clk(w->c.loop));

    for (int i = 0; grant->kind == MSG_FIT && i < grant->n_trials; i++)
        drop_older(w, grant->trials[i].trial, false);
    if (grant->kind != MSG_FIT)
        drop_older(w, grant->task, true);
    g = group_new(&w->env, ++w->runs, grant, grant->deadline_ms > 0 ? now + grant->deadline_ms : 0);
    while (*link)
        link = &(*link)->next;
    *link = g;
    w->soon = false;
    log_debug("group.taken device=%s group=%" PRId64 " lanes=%d deadline_ms=%" PRId64,
              w->c.device->id, g->grant.group, g->grant.n_trials, g->grant.deadline_ms);
    if (w->draining) {
        group_fail(g, TR_DRAINED, "the runner is shutting down");
        return;
    }
    if (!seat_of(w, g)->process) {
        group_fail(g, TR_DEVICE, "this runner takes no command trials (--allow-command)");
        return;
    }
    group_fetch(g);
    try_send(w);
}

bool work_wants(const struct work *w)
{
    int n = 0;

    for (const struct group *g = w->groups; g; g = g->next)
        n += !g->ended;
    return process_is_ready(w->worker.process) &&
           (!w->command.process || process_is_ready(w->command.process)) && !w->draining &&
           n < (w->soon ? GROUPS_MAX : 1);
}

/* ---- trials ---- */

/* Sends the worker a message about one trial. r: the controller's reply, or NULL. */
static void tell(struct held *h, const char *op, const char *action, const struct msg_reply *r)
{
    struct work *w = h->group->env->work;
    int64_t now = clk_now_ms(loop_clk(w->c.loop));
    int64_t at = r && r->deadline_ms > 0 ? now + r->deadline_ms : 0;

    json_t *msg =
        json_pack("{s:s, s:I, s:I, s:b, s:s, s:i, s:I}", "op", op, "trial", (json_int_t)h->trial,
                  "fence", (json_int_t)h->fence, "task", (int)h->is_task, "action", action, "to",
                  r ? r->to : 0, "deadline_at_ms", (json_int_t)at);
    if (r && r->address[0])
        json_object_set_new(msg, "address", json_string(r->address));
    process_send(seat_of(w, h->group)->process, msg);
}

static void release(struct held *h)
{
    struct work *w = h->group->env->work;

    outbox_drop(w->c.outbox, h);
    sweep(w);
}

void work_drop(struct held *h)
{
    if (h->state != HELD_OUT && h->group->sent)
        tell(h, "stop", "stop", NULL);
    release(h);
}

static bool is_end(enum msg_type t)
{
    return t == MSG_COMPLETE || t == MSG_FAILED || t == MSG_PAUSED || t == MSG_TASK_DONE ||
           t == MSG_TASK_FAILED;
}

void work_reply(struct held *h, enum msg_type type, const struct msg_reply *r)
{
    bool is_question = type == MSG_RUNG || type == MSG_FINAL;

    switch (r->action) {
    case MSG_RUN_TO:
    case MSG_PAUSE:
    case MSG_KEEP:
        if (h->state != HELD_PARKED || !is_question)
            break; /* its worker has died since, and that will be reported */
        h->state = HELD_ANSWERED;
        tell(h, "answer", msg_action_name[r->action], r);
        break;
    case MSG_OK:
        if (is_question)
            log_warn("reply.odd trial=%" PRId64 " type=%s", h->trial, msg_type_name[type]);
        if (is_question)
            work_drop(h);
        else if (is_end(type))
            release(h);
        else if ((r->deadline_ms > 0 || r->address[0]) &&
                 (h->state == HELD_RUNNING || h->state == HELD_ANSWERED))
            tell(h, "answer", "ok", r);
        break;
    default: /* stop, drop, stale */
        if (r->action == MSG_STALE)
            log_info("lane.stale trial=%" PRId64 " fence=%" PRId64, h->trial, h->fence);
        work_drop(h);
        break;
    }
}

/* ---- what the worker says ---- */

static struct held *held_of(struct work *w, const json_t *msg)
{
    int64_t trial = 0, fence = 0;
    bool is_task = false;

    if (jsonx_i64(msg, NULL, "trial", JSONX_REQUIRED, 0, INT64_MAX, &trial, NULL) < 0 ||
        jsonx_i64(msg, NULL, "fence", JSONX_REQUIRED, 0, INT64_MAX, &fence, NULL) < 0 ||
        jsonx_bool(msg, NULL, "task", JSONX_OPTIONAL, &is_task, NULL) < 0)
        return NULL;
    return outbox_find(w->c.outbox, trial, fence, is_task);
}

static void take_event(struct work *w, const json_t *msg)
{
    struct msg_report r = { 0 };
    struct err err = { 0 };
    const char *file = json_string_value(json_object_get(msg, "file"));
    struct msg_event *ev = NULL;
    struct held *h = NULL;

    if (msg_report_parse(&r, json_object_get(msg, "report"), &err) < 0 || r.n_events != 1) {
        log_error("worker.event device=%s err=\"%s\"", w->c.device->id, err.text);
        msg_report_fini(&r);
        return;
    }
    ev = &r.events[0];
    h = outbox_find(w->c.outbox, ev->trial, ev->fence, msg_is_of_task(ev->type));
    if (h && h->state != HELD_OUT) {
        if (ev->type == MSG_RUNG || ev->type == MSG_FINAL)
            h->state = HELD_PARKED;
        else if (is_end(ev->type))
            h->state = HELD_OUT;
        ev->seq = 0;
        outbox_push(w->c.outbox, h, ev, file);
    } else if (file) {
        unlink(file);
    }
    msg_report_fini(&r);
}

static void take_end(struct work *w, const json_t *msg)
{
    int64_t run = 0;

    (void)jsonx_i64(msg, NULL, "run", JSONX_REQUIRED, 0, INT64_MAX, &run, NULL);
    for (struct group *g = w->groups; g; g = g->next) {
        if (g->run == run)
            g->ended = true;
    }
    sweep(w);
    try_send(w); /* the other process may have waited for this end */
}

static void on_message(void *arg, const char *op, const json_t *msg)
{
    struct work *w = ((struct seat *)arg)->work;
    struct held *h = NULL;

    if (str_eq(op, "lane")) {
        h = held_of(w, msg);
        w->vain_deaths = 0;
        if (h && (h->state == HELD_WAITING || h->state == HELD_ANSWERED))
            h->state = HELD_RUNNING;
    } else if (str_eq(op, "soon")) {
        w->soon = true;
        w->c.on_change(w->c.arg);
    } else if (str_eq(op, "event")) {
        take_event(w, msg);
    } else if (str_eq(op, "end")) {
        take_end(w, msg);
    } else {
        log_error("worker.op device=%s op=\"%s\"", w->c.device->id, op);
    }
}

static bool keeps_file(void *arg, const char *path)
{
    return outbox_has_file(((struct seat *)arg)->work->c.outbox, path);
}

static void on_ready(void *arg)
{
    struct seat *s = arg;
    struct work *w = s->work;

    try_send(w);
    if (w->draining)
        process_send(s->process, json_pack("{s:s}", "op", "drain"));
    sweep(w);
}

/* Reports the failure of a trial whose worker died. Only a trial that ran can be to blame. A parked
 * one loses what it has computed and runs again, which costs its configuration nothing. */
static void fail_dead(struct work *w, struct held *h, int n_running, enum trial_reason reason,
                      const char *why)
{
    char text[320];
    bool was_running = h->state == HELD_RUNNING,
         was_parked = h->state == HELD_PARKED || h->state == HELD_ANSWERED;

    snprintf(text, sizeof text, "worker %s while it %s", why,
             !was_running    ? "waited"
             : n_running > 1 ? "ran beside others"
                             : "ran alone");
    outbox_discard_unsent(w->c.outbox, h);
    if (!was_running)
        reason = was_parked ? TR_DRAINED : TR_WORKER_DIED;
    outbox_push_failure(w->c.outbox, h, reason, text);
}

static bool is_of(const struct held *h, const struct seat *s)
{
    return h->group->env->work == s->work && seat_of(s->work, h->group) == s;
}

/* A mapped file that is cut short kills the process that reads it. If a file of a group has
 * changed, the group's trials fail because of the data and are not to blame. */
static void blame_files(struct work *w)
{
    for (struct group *g = w->groups; g; g = g->next) {
        struct err err = { 0 };

        if (g->sent && !g->ended && group_files_check(g, &err) < 0) {
            for (struct held *h = outbox_first(w->c.outbox); h; h = h->next) {
                if (h->group == g && h->state != HELD_OUT)
                    outbox_discard_unsent(w->c.outbox, h);
            }
            group_fail(g, TR_DATA, err.text);
        }
    }
}

static void on_dead(void *arg, enum trial_reason reason, const char *why)
{
    struct seat *s = arg;
    struct work *w = s->work;
    bool is_vain = ++w->vain_deaths >= VAIN_DEATHS_MAX;

    int n_running = 0;

    w->soon = false;
    for (const struct held *h = outbox_first(w->c.outbox); h; h = h->next)
        n_running += is_of(h, s) && h->group->sent && h->state == HELD_RUNNING;
    if (s == &w->worker)
        blame_files(w);
    for (struct held *h = outbox_first(w->c.outbox); h; h = h->next) {
        if (!is_of(h, s) || !h->group->sent)
            continue;
        if ((h->state != HELD_WAITING && h->state != HELD_OUT) ||
            (is_vain && h->state == HELD_WAITING))
            fail_dead(w, h, n_running, reason, why);
    }
    for (struct group *g = w->groups; g; g = g->next) {
        bool has_waiting = false;

        if (seat_of(w, g) != s)
            continue;
        for (const struct held *h = outbox_first(w->c.outbox); h; h = h->next)
            has_waiting |= h->group == g && h->state == HELD_WAITING;
        if (has_waiting)
            g->sent = false; /* the next worker gets it */
        else
            g->ended = g->ended || g->sent;
    }
    sweep(w);
}

/* ---- life ---- */

void work_drain(struct work *w)
{
    if (w->draining)
        return;
    w->draining = true;
    process_send(w->worker.process, json_pack("{s:s}", "op", "drain"));
    if (w->command.process)
        process_send(w->command.process, json_pack("{s:s}", "op", "drain"));
    for (struct group *g = w->groups; g; g = g->next) {
        if (!g->sent && !g->ended)
            group_fail(g, TR_DRAINED, "the runner is shutting down");
    }
    sweep(w);
}

struct process *work_process(struct work *w)
{
    return w->worker.process;
}

static int seat_open(struct work *w, struct seat *s, enum process_kind kind, struct err *err)
{
    static const struct process_ops ops = { on_ready, on_message, on_dead, keeps_file };
    struct process_conf c = { .kind = kind,
                              .loop = w->c.loop,
                              .conf = w->c.conf,
                              .device = w->c.device,
                              .number = w->c.number,
                              .scratch = cache_scratch(w->c.cache) };

    *s = (struct seat){ .work = w, .kind = kind };
    s->process = process_new(&c, &ops, s, err);
    return s->process ? 0 : -1;
}

struct work *work_new(const struct work_conf *conf, struct err *err)
{
    struct work *w = mem_zalloc(sizeof *w);

    w->c = *conf;
    w->env = (struct group_env){ .work = w,
                                 .outbox = conf->outbox,
                                 .fetch = conf->fetch,
                                 .cache = conf->cache,
                                 .on_files = try_send,
                                 .arg = w };
    if (seat_open(w, &w->worker, PROCESS_WORKER, err) < 0 ||
        (conf->conf->allow_command && seat_open(w, &w->command, PROCESS_COMMAND, err) < 0)) {
        process_free(w->worker.process);
        mem_free(w);
        return NULL;
    }
    return w;
}

void work_free(struct work *w)
{
    if (!w)
        return;
    process_free(w->worker.process);
    process_free(w->command.process);
    for (struct held *h = outbox_first(w->c.outbox), *next = NULL; h; h = next) {
        next = h->next;
        if (h->group->env->work == w)
            outbox_drop(w->c.outbox, h);
    }
    while (w->groups)
        group_unlink(w, w->groups);
    mem_free(w);
}
