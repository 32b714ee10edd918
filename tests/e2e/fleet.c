/* fleet.c - what a simulated runner does next follows from what it holds, so a call whose answer was lost is simply made
 * again: go_on finds the same call. An answer changes what is held. Rules of docs/PROTOCOL.md: a report repeats its numbers
 * until it is answered, a lease call repeats its n. */
#include "tests/e2e/fleet_priv.h"

#include "base/base.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/family/family.h"
#include "tests/e2e/service.h"
#include "tests/swarm.h"

#include <event2/thread.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { TRIES_MAX = 400, WAIT_S = 2, TICK_MS = 20 };

static void go_on(struct peer *p);

/* ---- calls ---- */

static void call_json(struct peer *p, enum fleet_call call, const char *path, json_t *body)
{
    char *text = jsonx_dump(body);

    fleet_send(p, call, "POST", path, text, strlen(text), "application/json");
    mem_free(text);
    json_decref(body);
}

static void say_hello(struct peer *p)
{
    (void)!snprintf(p->session, sizeof p->session, "%.16s%dx%d", p->fleet->conf.label, p->index,
                    p->life);
    call_json(p, CALL_HELLO, "runners", swarm_hello_json_new(p->session, p->fleet->conf.group));
}

static void ask(struct peer *p)
{
    struct msg_ask *m = mem_zalloc(sizeof *m);
    char path[60];

    m->n = p->n + 1;
    m->max_trials = p->fleet->conf.group;
    m->wait_s = WAIT_S;
    str_copy(m->session, sizeof m->session, p->session);
    str_copy(m->device, sizeof m->device, "cpu0");
    (void)!snprintf(path, sizeof path, "runners/%" PRId64 "/lease", p->runner);
    call_json(p, CALL_LEASE, path, msg_ask_json_new(m));
    mem_free(m);
}

static void event_of(const struct peer *p, const struct fleet_trial *t, struct msg_event *e)
{
    msg_event_init(e);
    e->type = t->next;
    e->trial = t->trial;
    e->fence = t->fence;
    e->seq = t->seq + 1;
    e->level = t->to;
    if (t->next == MSG_FINAL && fleet_diverges(p, t)) {
        e->type = MSG_FAILED;
        e->reason = TR_DIVERGED;
    } else if (t->next == MSG_RUNG || t->next == MSG_FINAL) {
        e->value = fleet_value(t->config, t->to);
        e->se = 0.01;
        e->fit_us = 1000;
        e->predict_ns_row = 100 + (int64_t)(fleet_draw(t->config, 1001) % 1000);
        e->model_bytes = 1000 + (int64_t)(fleet_draw(t->config, 1002) % 9000);
    } else {
        str_copy(e->blob, sizeof e->blob, t->blob);
    }
}

/* is_task: the end of the task, else an event of every trial held. */
static void report(struct peer *p)
{
    struct msg_event events[FLEET_GROUP];
    struct msg_held held[FLEET_GROUP], task = { p->task, p->task_fence };
    struct msg_asked asked = { .n = p->n };
    struct msg_report m = { .events = events, .held = held, .n_asked = p->n > 0, .asked = &asked };
    char path[60];

    for (int i = 0; i < p->n_trials; i++) {
        event_of(p, &p->trials[i], &events[m.n_events++]);
        held[m.n_held++] = (struct msg_held){ p->trials[i].trial, p->trials[i].fence };
    }
    if (p->task) {
        msg_event_init(&events[0]);
        events[0].type = MSG_TASK_DONE;
        events[0].trial = p->task;
        events[0].fence = p->task_fence;
        events[0].seq = 1;
        str_copy(events[0].blob, sizeof events[0].blob, p->task_blob);
        m.n_events = m.n_tasks = 1;
        m.tasks = &task;
    }
    p->n_events = m.n_events;
    str_copy(m.session, sizeof m.session, p->session);
    str_copy(asked.device, sizeof asked.device, "cpu0");
    (void)!snprintf(path, sizeof path, "runners/%" PRId64 "/report", p->runner);
    call_json(p, CALL_REPORT, path, msg_report_json_new(&m));
}

/* ---- uploads ---- */

static struct fleet_trial *unsaved(struct peer *p)
{
    for (int i = 0; i < p->n_trials; i++) {
        struct fleet_trial *t = &p->trials[i];

        if ((t->next == MSG_PAUSED || t->next == MSG_COMPLETE) && !t->blob[0])
            return t;
    }
    return NULL;
}

static void upload_begin(struct peer *p)
{
    const struct fleet_trial *t = unsaved(p);

    fleet_file(p, t);
    p->upload[0] = '\0';
    call_json(
        p, CALL_BEGIN, "uploads",
        t ? json_pack("{s:I, s:I}", "trial", (json_int_t)t->trial, "fence", (json_int_t)t->fence)
          : json_pack("{s:I, s:I}", "task", (json_int_t)p->task, "fence",
                      (json_int_t)p->task_fence));
}

static void on_upload(struct peer *p, const json_t *j)
{
    struct fleet_trial *t = unsaved(p);
    char path[140], sha256[SHA256_HEX];

    if (p->call == CALL_BEGIN) {
        str_copy(p->upload, sizeof p->upload, json_text(j, "id"));
        (void)!snprintf(path, sizeof path, "uploads/%s?offset=0", p->upload);
        fleet_send(p, CALL_PART, "PUT", path, p->bytes, p->n_bytes, "application/octet-stream");
        return;
    }
    sha256_hex(p->bytes, p->n_bytes, sha256);
    if (p->call == CALL_PART) {
        (void)!snprintf(path, sizeof path, "uploads/%s/commit", p->upload);
        call_json(p, CALL_COMMIT, path, json_pack("{s:s}", "sha256", sha256));
        return;
    }
    str_copy(t ? t->blob : p->task_blob, SHA256_HEX, sha256);
    go_on(p);
}

/* ---- answers ---- */

static void count(struct peer *p, int64_t *what)
{
    pthread_mutex_lock(&p->fleet->lock);
    (*what)++;
    pthread_mutex_unlock(&p->fleet->lock);
}

static void told(struct peer *p, struct fleet_report what)
{
    struct fleet *f = p->fleet;

    pthread_mutex_lock(&f->lock);
    if (f->counts.reports == f->cap_reports) {
        f->cap_reports = 2 * f->cap_reports + 1000;
        f->reports = mem_resize(f->reports, (size_t)f->cap_reports * sizeof *f->reports);
    }
    f->reports[f->counts.reports++] = what;
    pthread_mutex_unlock(&f->lock);
}

static void told_end(struct peer *p, const struct fleet_trial *t, const char *state, double score)
{
    json_t *row = json_pack("{s:I, s:s}", "id", (json_int_t)t->trial, "state", state);

    if (isfinite(score))
        json_object_set_new(row, "score", json_real(score));
    ledger_trial(p->fleet->ledger, row);
    json_decref(row);
    told(p, (struct fleet_report){ t->trial, 0, score });
    count(p, &p->fleet->counts.trials);
}

static struct fleet_known *known(struct fleet *f, int64_t trial)
{
    if (trial >= f->n_known) {
        int64_t n = 2 * trial + 1000;

        f->known = mem_resize(f->known, (size_t)n * sizeof *f->known);
        memset(f->known + f->n_known, 0, (size_t)(n - f->n_known) * sizeof *f->known);
        f->n_known = n;
    }
    return &f->known[trial];
}

/* A new grant takes nothing back: a trial that was told to have ended is not granted again, a checkpoint is not forgotten,
 * and no two sessions have a trial under one fence. Without this a service that forgets would only have the same work done
 * again. The answer to a call that was lost may arrive late, with an older fence: its reports will be stale. */
static void check_grant(struct peer *p, const struct msg_trial *m)
{
    struct fleet_known *k = known(p->fleet, m->trial);
    json_t *row = json_pack("{s:I, s:s}", "id", (json_int_t)m->trial, "state", "running");

    if (m->fence > k->fence) {
        ledger_trial(p->fleet->ledger, row);
        if (m->from < k->saved)
            ledger_fail(p->fleet->ledger,
                        "trial %" PRId64
                        " begins at level %d, its checkpoint at level %d was acknowledged",
                        m->trial, m->from, k->saved);
        k->fence = m->fence;
        str_copy(k->session, sizeof k->session, p->session);
    } else if (m->fence == k->fence && !str_eq(k->session, p->session)) {
        ledger_fail(p->fleet->ledger,
                    "trial %" PRId64 " was granted under fence %" PRId64 " to %s and to %s",
                    m->trial, m->fence, k->session, p->session);
    }
    json_decref(row);
}

static void take_trial(struct peer *p, const struct msg_trial *m)
{
    check_grant(p, m);

    struct fleet_trial *t = &p->trials[p->n_trials++];
    char sha256[SHA256_HEX];
    json_t *config = jsonx_load(m->config, strlen(m->config), "config", NULL);
    const struct family *family = family_find(json_text(config, "family"));

    CHECK(family && strlen(m->config) < FLEET_CONFIG);
    *t = (struct fleet_trial){
        .trial = m->trial, .fence = m->fence, .from = m->from, .to = m->to, .score = NAN
    };
    t->max = MAX(family->levels, 1);
    t->next = t->to < t->max ? MSG_RUNG : MSG_FINAL;
    str_copy(t->config, sizeof t->config, m->config);
    json_decref(config);
    if (t->from > 0) {
        fleet_checkpoint(t, t->from, sha256);
        if (!str_eq(sha256, m->checkpoint))
            ledger_fail(p->fleet->ledger,
                        "trial %" PRId64
                        " was to go on from level %d with the checkpoint %.12s, which is not its",
                        t->trial, t->from, m->checkpoint);
        count(p, &p->fleet->counts.resumed);
    }
}

static void on_grant(struct peer *p, const json_t *j)
{
    struct msg_grant g = { 0 };
    struct err err = { 0 };
    int rc = msg_grant_parse(&g, j, &err);

    p->n++;
    if (rc < 0)
        ledger_fail(p->fleet->ledger, "a grant: %s", err.text);
    if (rc == 1 && g.kind == MSG_FIT) {
        CHECK(g.n_trials <= FLEET_GROUP);
        for (int i = 0; i < g.n_trials; i++)
            take_trial(p, &g.trials[i]);
    } else if (rc == 1) {
        if (g.kind != MSG_REFIT)
            ledger_fail(p->fleet->ledger, "a task of kind %d was granted", (int)g.kind);
        p->task = g.task;
        p->task_fence = g.fence;
        p->task_blob[0] = '\0';
    }
    msg_grant_fini(&g);
}

/* What the controller wants of a trial after `next` was answered; false: it is over here. */
static bool goes_on(struct peer *p, struct fleet_trial *t, const struct msg_reply *r)
{
    enum msg_type said = t->next;

    if (r->action == MSG_STALE) {
        count(p, &p->fleet->counts.stale);
        return false;
    }
    t->seq++;
    if (said == MSG_RUNG) /* the value of the top is the trial's score, which its end tells */
        told(p, (struct fleet_report){ t->trial, t->to, fleet_value(t->config, t->to) });
    switch (r->action) {
    case MSG_RUN_TO:
        t->to = r->to;
        t->next = t->to < t->max ? MSG_RUNG : MSG_FINAL;
        return true;
    case MSG_PAUSE:
    case MSG_KEEP:
        t->score = fleet_value(t->config, t->to);
        t->next = r->action == MSG_KEEP ? MSG_COMPLETE : MSG_PAUSED;
        t->blob[0] = '\0';
        return true;
    case MSG_STOP:
        told_end(p, t, "pruned", NAN);
        return false;
    case MSG_DROP:
        told_end(p, t, "completed", fleet_value(t->config, t->to));
        return false;
    case MSG_OK:
    case MSG_STALE:
    case MSG_ACTIONS:
    default:
        if (said == MSG_COMPLETE)
            told_end(p, t, "completed", t->score);
        else if (said == MSG_FINAL)
            told_end(p, t, "failed", NAN);
        else
            known(p->fleet, t->trial)->saved = t->to;
        return false;
    }
}

static bool is_listed(const struct fleet_trial *t, const struct msg_answer *a)
{
    for (int i = 0; i < a->n_stop; i++) {
        if (a->stop[i].trial == t->trial && a->stop[i].fence == t->fence)
            return true;
    }
    return false;
}

static void on_replies(struct peer *p, const json_t *j)
{
    struct msg_answer a = { 0 };
    struct err err = { 0 };
    int kept = 0;

    if (msg_answer_parse(&a, j, &err) < 0 || a.n_replies != p->n_events) {
        ledger_fail(p->fleet->ledger, "an answer to %d events has %d replies: %s", p->n_events,
                    a.n_replies, err.text);
    } else if (p->task) {
        p->task = 0;
    } else {
        for (int i = 0; i < p->n_trials; i++) {
            struct fleet_trial t = p->trials[i];

            if (goes_on(p, &t, &a.replies[i]) && !is_listed(&t, &a))
                p->trials[kept++] = t;
        }
        p->n_trials = kept;
    }
    msg_answer_fini(&a);
}

/* ---- what comes next ---- */

static void later(struct peer *p, int64_t ms)
{
    const struct timeval tv = { (time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000) };

    event_add(p->timer, &tv);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    go_on(arg);
}

static void go_on(struct peer *p)
{
    if (p->is_waiting)
        return;
    if (p->runner == 0)
        say_hello(p);
    else if (unsaved(p) || (p->task && !p->task_blob[0]))
        upload_begin(p);
    else if (p->n_trials || p->task)
        report(p);
    else
        ask(p);
}

static int64_t work_ms(struct peer *p)
{
    const struct fleet_conf *c = &p->fleet->conf;

    if (c->silent_ms && rng_below(&p->fleet->rng, 200) == 0)
        return c->silent_ms;
    return c->work_ms ? rng_below(&p->fleet->rng, (uint32_t)c->work_ms) : 0;
}

static void try_again(struct peer *p, const char *why, int status, const json_t *j)
{
    if (++p->tries > TRIES_MAX)
        ledger_fail(p->fleet->ledger, "runner %s: call %d fails again and again: %s %d %s",
                    p->session, (int)p->call, why, status, json_text(j, "detail"));
    count(p, &p->fleet->counts.again);
    later(p, 20 + rng_below(&p->fleet->rng, 150));
}

void fleet_on_lost(struct peer *p)
{
    count(p, &p->fleet->counts.lost);
    try_again(p, "the connection ended", 0, NULL);
}

static void on_refused(struct peer *p, int status, const json_t *j)
{
    bool is_upload = p->call == CALL_BEGIN || p->call == CALL_PART || p->call == CALL_COMMIT;

    if (status == 507)
        count(p, &p->fleet->counts.full);
    if (status == 404 && !is_upload) {
        p->runner = 0; /* it says hello again, with all that it holds */
    } else if (is_upload && status >= 400 && status < 500) {
        /* Its lease is over, or the parts are gone: a report tells which. Without the file it says nothing of the trial. */
        if (p->tries > 3) {
            p->n_trials = 0;
            p->task = 0;
        }
    } else if (status != 429 && status != 503 && status != 507) {
        ledger_fail(p->fleet->ledger, "runner %s: call %d was refused: %d %s", p->session,
                    (int)p->call, status, json_text(j, "detail"));
    }
    try_again(p, "refused", status, j);
}

void fleet_on_answer(struct peer *p, int status, const json_t *j)
{
    struct msg_welcome w = { 0 };

    if (status < 200 || status > 299) {
        on_refused(p, status, j);
        return;
    }
    p->tries = 0;
    switch (p->call) {
    case CALL_HELLO:
        if (msg_welcome_parse(&w, j, NULL) < 0)
            ledger_fail(p->fleet->ledger, "a welcome that says nothing");
        p->runner = w.runner;
        go_on(p);
        return;
    case CALL_LEASE:
        on_grant(p, j);
        break;
    case CALL_REPORT:
        on_replies(p, j);
        break;
    case CALL_BEGIN:
    case CALL_PART:
    case CALL_COMMIT:
    default:
        on_upload(p, j);
        return;
    }
    if (unsaved(p) || !p->n_trials)
        go_on(p);
    else
        later(p, work_ms(p));
}

/* ---- the thread ---- */

static void vanish_one(struct peer *p)
{
    fleet_hang_up(p);
    event_del(p->timer);
    p->life++;
    p->runner = p->n = p->task = 0;
    p->n_trials = p->tries = 0;
    count(p, &p->fleet->counts.vanished);
    later(p, 10 + rng_below(&p->fleet->rng, 300));
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
    const struct timeval tick = { 0, TICK_MS * 1000 };
    struct fleet *f = arg;

    (void)fd, (void)what;
    if (atomic_load(&f->stop)) {
        event_base_loopbreak(f->base);
        return;
    }
    for (int n = atomic_exchange(&f->vanish, 0); n > 0; n--)
        vanish_one(&f->peers[rng_below(&f->rng, (uint32_t)f->conf.runners)]);
    event_add(f->tick, &tick);
}

static void *run(void *arg)
{
    struct fleet *f = arg;

    on_tick(-1, 0, f);
    for (int i = 0; i < f->conf.runners; i++)
        later(&f->peers[i], rng_below(&f->rng, 100));
    event_base_dispatch(f->base);
    return NULL;
}

struct fleet *fleet_start(const struct fleet_conf *conf, struct ledger *ledger)
{
    struct fleet *f = mem_zalloc(sizeof *f);
    int doors = 0;

    f->conf = *conf;
    f->ledger = ledger;
    f->base = event_base_new();
    f->peers = mem_array((size_t)conf->runners, sizeof *f->peers);
    pthread_mutex_init(&f->lock, NULL);
    rng_init(&f->rng, conf->seed, 4);
    CHECK(f->base && conf->group <= FLEET_GROUP);
    while (doors < FLEET_DOORS && conf->doors[doors])
        doors++;
    CHECK(doors > 0);
    for (int i = 0; i < conf->runners; i++) {
        f->peers[i] = (struct peer){ .fleet = f, .index = i, .door = conf->doors[i % doors] };
        f->peers[i].timer = evtimer_new(f->base, on_timer, &f->peers[i]);
    }
    f->tick = evtimer_new(f->base, on_tick, f);
    CHECK(pthread_create(&f->thread, NULL, run, f) == 0);
    return f;
}

struct fleet_counts fleet_counts(struct fleet *f)
{
    pthread_mutex_lock(&f->lock);
    struct fleet_counts c = f->counts;
    pthread_mutex_unlock(&f->lock);
    return c;
}

void fleet_vanish(struct fleet *f, int n)
{
    atomic_fetch_add(&f->vanish, n);
}

void fleet_stop(struct fleet *f)
{
    if (!f || !f->base)
        return;
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
    for (int i = 0; i < f->conf.runners; i++) {
        fleet_hang_up(&f->peers[i]);
        event_free(f->peers[i].timer);
        mem_free(f->peers[i].bytes);
    }
    event_free(f->tick);
    event_base_free(f->base);
    mem_free(f->peers);
    f->base = NULL;
}

int fleet_newest(struct fleet *f, struct fleet_report *out, int max)
{
    int n = 0;

    pthread_mutex_lock(&f->lock);
    for (int64_t i = f->counts.reports - 1; i >= 0 && n < max; i--)
        out[n++] = f->reports[i];
    pthread_mutex_unlock(&f->lock);
    return n;
}

const struct fleet_report *fleet_reports(const struct fleet *f, int64_t *n)
{
    *n = f->counts.reports;
    return f->reports;
}

void fleet_free(struct fleet *f)
{
    if (!f)
        return;
    fleet_stop(f);
    mem_free(f->reports);
    mem_free(f->known);
    pthread_mutex_destroy(&f->lock);
    mem_free(f);
}
