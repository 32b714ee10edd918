/* worker.c - the messages and the life of a worker process; see worker.h. It looks at the socket
 * between slices, and every few milliseconds inside them through the engine's clock, so that a stop
 * takes effect within one step. While a parked job waits for the controller's answer, it keeps its
 * models, and the next jobs are computed: the device does not wait for the network. */
#include "trial-runner/worker/worker.h"

#include "base/fault.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/ops/ops.h"
#include "trial-runner/gpu.h"
#include "trial-runner/worker/detail.h"
#include "trial-runner/worker/worker_private.h"

#include <dirent.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often a slice looks at the socket, says that it is alive, and looks at its trial's memory. A
 * look at the socket is a system call; counting a trial's bytes is not. */
enum { POLL_EVERY_US = 4000, BEAT_EVERY_US = 200000, MEMORY_EVERY_US = 500 };
/* Room beside trials and shared data, for scratch of the engine. CUDA loads kernels when they are
 * first used, which takes hundreds of megabytes. */
enum { CPU_ROOM = 64 << 20, GPU_ROOM = 768 << 20 };

/* ---- out ---- */

/* Ends the process at once. Nothing is left to save: the supervisor has what was sent, and if the
 * supervisor is gone, nobody needs the rest. */
static void leave(int code) NO_RETURN;
static void leave(int code)
{
    _exit(code);
}

void worker_send(struct worker *w, json_t *msg_steal)
{
    struct err err = { 0 };

    if (wire_send(&w->wire, msg_steal, &err) == 0)
        return;
    log_error("worker.send err=\"%s\"", err.text);
    leave(err.code == ERR_IO ? 0 : 1);
}

void worker_event(struct worker *w, const struct job *j, struct msg_event *ev, const char *file)
{
    struct msg_report r = { .session = "worker", .n_events = 1, .events = ev };
    json_t *msg = NULL;

    ev->trial = j->trial;
    ev->fence = j->fence;
    ev->seq = 1; /* any valid number; the supervisor numbers the messages */
    msg = json_pack("{s:s, s:o}", "op", "event", "report", msg_report_json_new(&r));
    CHECK(msg);
    if (file)
        json_object_set_new(msg, "file", json_string(file));
    mem_free(ev->detail);
    mem_free(ev->epochs);
    ev->detail = ev->epochs = NULL;
    worker_send(w, msg);
}

void worker_fail(struct worker *w, struct job *j, enum trial_reason reason, const char *text)
{
    struct msg_event ev;

    log_info("job.failed trial=%" PRId64 " reason=%s err=\"%s\"", j->trial,
             trial_reason_name[reason], text);
    msg_event_init(&ev);
    ev.type = j->is_task ? MSG_TASK_FAILED : MSG_FAILED;
    ev.reason = reason;
    ev.detail = mem_strdup(text);
    if (j->fit && !j->is_task)
        ev.epochs = detail_epochs_new(j->fit, DETAIL_EPOCHS, &j->told_epoch);
    worker_event(w, j, &ev, NULL);
    j->state = JOB_DONE;
}

static int running_count(const struct run *r)
{
    int n = 0;

    for (int i = 0; i < r->n_jobs; i++)
        n += r->jobs[i].state == JOB_RUNNING && r->jobs[i].fit;
    return MAX(n, 1);
}

/* How large the process may become before the supervisor kills it: what it was without trials, what
 * they share, and the limit of each running trial with a quarter more. 0 = trials have no limit. */
static int64_t rss_limit(const struct worker *w)
{
    const struct job *j = w->now;
    int64_t own = j ? j->run->grant.trial_memory_bytes : 0;

    if (own <= 0 || !j->fit)
        return 0;
    own *= running_count(j->run);
    return j->alone_bytes + datasets_shared_bytes(w->datasets) + own + own / 4 +
           (w->compute.ops ? GPU_ROOM : CPU_ROOM);
}

void worker_beat(struct worker *w, int64_t within_ms)
{
    w->beat_us = worker_now_us(w);
    worker_send(w, json_pack("{s:s, s:I, s:I}", "op", "beat", "within_ms", (json_int_t)within_ms,
                             "rss_limit", (json_int_t)rss_limit(w)));
}

void worker_say_begin(struct worker *w, struct job *j)
{
    worker_send(w, json_pack("{s:s, s:I, s:I, s:b}", "op", "lane", "trial", (json_int_t)j->trial,
                             "fence", (json_int_t)j->fence, "task", (int)j->is_task));
    j->state = JOB_RUNNING;
}

void worker_begin(struct worker *w, struct job *j)
{
    log_debug("job.begin device=%s trial=%" PRId64 " idle_us=%" PRId64, w->device, j->trial,
              worker_now_us(w) - w->idle_us);
    CHECK(!w->now);
    w->now = j;
    worker_beat(w, LONG_MS);
    worker_say_begin(w, j);
}

void worker_soon(struct worker *w)
{
    if (w->said_soon)
        return;
    w->said_soon = true;
    worker_send(w, json_pack("{s:s}", "op", "soon"));
}

void worker_path(struct worker *w, const struct job *j, const char *kind,
                 char out[WORKER_PATH_BYTES])
{
    int n = snprintf(out, WORKER_PATH_BYTES, "%s/%s-%" PRId64 "-%" PRId64 "-%ld-%" PRId64,
                     w->scratch, kind, j->trial, j->fence, (long)getpid(), ++w->files);

    CHECK(n > 0 && n < WORKER_PATH_BYTES);
}

const char *worker_input(const struct job *j, const char *key)
{
    return json_string_value(json_object_get(j->run->msg, key));
}

int worker_table(struct worker *w, struct job *j, struct err *err)
{
    const struct table_file table = { worker_input(j, "frame"), worker_input(j, "frame_mark") };
    const struct table_file test = { worker_input(j, "test_frame"),
                                     worker_input(j, "test_frame_mark") };

    CHECK(!j->data);
    j->data = dataset_get(w->datasets, &j->run->grant.data, &table, &test, err);
    return j->data ? 0 : -1;
}

int64_t worker_now_us(const struct worker *w)
{
    return clk_now_us(&w->clk);
}

int worker_open_device(struct worker *w, struct err *err)
{
    int index = gpu_index(w->device);

    if (index < 0 || w->compute.ctx)
        return 0;
    worker_beat(w, LONG_MS);
    w->compute.ops = ml_cuda_open(err);
    w->compute.ctx = w->compute.ops ? w->compute.ops->open(index, err) : NULL;
    if (w->compute.ctx)
        return 0;
    w->compute.ops = NULL;
    if (err)
        err->code = ERR_DEVICE; /* so that the trial is not to blame, whatever the reason was */
    return -1;
}

/* ---- in ---- */

static void run_free(struct run *r)
{
    msg_grant_fini(&r->grant);
    json_decref(r->msg);
    mem_free(r->jobs);
    mem_free(r);
}

static void job_init(struct job *j, struct run *r, const struct msg_trial *granted,
                     int64_t deadline_ms)
{
    j->run = r;
    j->granted = granted;
    j->is_task = r->grant.kind != MSG_FIT;
    j->trial = j->is_task ? r->grant.task : granted->trial;
    j->fence = j->is_task ? r->grant.fence : granted->fence;
    j->to = granted ? granted->to : 0;
    j->deadline_ms = deadline_ms;
}

static void take_run(struct worker *w, json_t *msg)
{
    struct run *r = mem_zalloc(sizeof *r), **link = &w->runs;
    struct err err = { 0 };
    int64_t deadline_ms = 0;

    if (jsonx_i64(msg, NULL, "run", JSONX_REQUIRED, 1, INT64_MAX, &r->id, &err) < 0 ||
        jsonx_i64(msg, NULL, "deadline_at_ms", JSONX_OPTIONAL, 0, INT64_MAX, &deadline_ms, &err) <
            0 ||
        msg_grant_parse(&r->grant, json_object_get(msg, "grant"), &err) != 1) {
        log_error("worker.run err=\"%s\"", err.text);
        leave(1); /* both processes run the same build, so this is a bug, and dying reports it */
    }
    r->msg = json_incref(msg);
    r->n_jobs = r->grant.kind == MSG_FIT ? r->grant.n_trials : 1;
    r->jobs = mem_array((size_t)r->n_jobs, sizeof *r->jobs);
    for (int i = 0; i < r->n_jobs; i++)
        job_init(&r->jobs[i], r, i < r->grant.n_trials ? &r->grant.trials[i] : NULL, deadline_ms);
    while (*link)
        link = &(*link)->next;
    *link = r;
    w->said_soon = false;
}

static struct job *job_of(struct worker *w, const json_t *msg)
{
    int64_t trial = 0, fence = 0;
    bool is_task = false;

    if (jsonx_i64(msg, NULL, "trial", JSONX_REQUIRED, 0, INT64_MAX, &trial, NULL) < 0 ||
        jsonx_i64(msg, NULL, "fence", JSONX_REQUIRED, 0, INT64_MAX, &fence, NULL) < 0 ||
        jsonx_bool(msg, NULL, "task", JSONX_OPTIONAL, &is_task, NULL) < 0)
        return NULL;
    for (struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            struct job *j = &r->jobs[i];

            if (j->trial == trial && j->fence == fence && j->is_task == is_task &&
                j->state != JOB_DONE)
                return j;
        }
    }
    return NULL;
}

static void take_answer(struct worker *w, struct job *j, const json_t *msg)
{
    const char *action = json_string_value(json_object_get(msg, "action"));
    int64_t to = 0, deadline_ms = 0;

    (void)jsonx_i64(msg, NULL, "to", JSONX_OPTIONAL, 0, 1 << 20, &to, NULL);
    (void)jsonx_i64(msg, NULL, "deadline_at_ms", JSONX_OPTIONAL, 0, INT64_MAX, &deadline_ms, NULL);
    const char *address = json_string_value(json_object_get(msg, "address"));
    if (deadline_ms > 0)
        j->deadline_ms = deadline_ms;
    if (j->is_task && address)
        str_copy(j->meet, sizeof j->meet, address);
    /* `ok` answers an earlier progress message. It only brings a deadline, even if it arrives after
     * the job has asked something. */
    if (j->state != JOB_ASKED || str_eq(action, msg_action_name[MSG_OK]))
        return;
    for (int a = 0; action && a < MSG_ACTIONS; a++) {
        if (str_eq(action, msg_action_name[a]))
            j->answer = (enum msg_action)a;
    }
    if (j->answer == MSG_RUN_TO) {
        j->to = (int)to;
        j->state = JOB_RUNNING;
        return;
    }
    j->state = JOB_ANSWERED;
    w->interrupt = true; /* end the slice: the model file can be on its way at once */
}

/* An answer to a question that this process does not know. It must be reported, or the trial would
 * wait for ever under a lease that is renewed again and again. */
static void refuse_answer(struct worker *w, const json_t *msg)
{
    const char *action = json_string_value(json_object_get(msg, "action"));
    struct job nobody = { .trial = json_integer_value(json_object_get(msg, "trial")),
                          .fence = json_integer_value(json_object_get(msg, "fence")) };
    struct msg_event ev;

    if (str_eq(action, msg_action_name[MSG_OK]))
        return;
    log_error("worker.answer trial=%" PRId64 " action=%s err=\"no such job\"", nobody.trial,
              action ? action : "");
    msg_event_init(&ev);
    ev.type = MSG_FAILED;
    ev.reason = TR_DEVICE;
    ev.detail = mem_strdup("the worker does not hold this trial any more");
    worker_event(w, &nobody, &ev, NULL);
}

static void set_level(const json_t *msg)
{
    int level = log_level_parse(json_string_value(json_object_get(msg, "log_level")));

    if (level >= 0)
        log_level_set((enum log_level)level);
}

static void take_config(struct worker *w, const json_t *msg)
{
    const char *scratch = json_string_value(json_object_get(msg, "scratch"));
    const char *device = json_string_value(json_object_get(msg, "device"));
    const char *address = json_string_value(json_object_get(msg, "rank_address"));

    str_copy(w->scratch, sizeof w->scratch, scratch ? scratch : ".");
    str_copy(w->device, sizeof w->device, device ? device : "cpu");
    str_copy(w->rank_address, sizeof w->rank_address, address ? address : "");
    (void)jsonx_i64(msg, NULL, "slice_ms", JSONX_OPTIONAL, 1, 500, &w->slice_ms, NULL);
    (void)jsonx_i64(msg, NULL, "checkpoint_ms", JSONX_OPTIONAL, 1, INT64_MAX / 2000,
                    &w->checkpoint_ms, NULL);
    (void)jsonx_i64(msg, NULL, "memory_bytes", JSONX_OPTIONAL, 0, INT64_MAX, &w->memory_bytes,
                    NULL);
    set_level(msg);
    if (json_is_true(json_object_get(msg, "dev")))
        fault_arm_env();
}

static void take_message(struct worker *w, json_t *msg)
{
    const char *op = json_string_value(json_object_get(msg, "op"));
    struct job *j = NULL;

    if (str_eq(op, "run")) {
        take_run(w, msg);
    } else if (str_eq(op, "answer")) {
        j = job_of(w, msg);
        if (j)
            take_answer(w, j, msg);
        else
            refuse_answer(w, msg);
    } else if (str_eq(op, "stop")) {
        j = job_of(w, msg);
        if (j)
            j->stop = w->interrupt = true;
    } else if (str_eq(op, "drain")) {
        w->draining = w->interrupt = true;
    } else if (str_eq(op, "config")) {
        take_config(w, msg);
    } else if (str_eq(op, "quit")) {
        leave(0);
    } else {
        log_error("worker.op op=\"%s\"", op ? op : "");
    }
}

void worker_poll(struct worker *w, int64_t wait_ms)
{
    struct err err = { 0 };
    json_t *msg = NULL;
    int rc = 0;

    w->polled_us = worker_now_us(w);
    while ((rc = wire_recv(&w->wire, wait_ms, &msg, &err)) == 1) {
        take_message(w, msg);
        json_decref(msg);
        wait_ms = 0;
    }
    if (rc < 0) {
        log_debug("worker.end why=\"%s\"", err.text);
        leave(0);
    }
}

int64_t worker_stop_clock(void *worker)
{
    struct worker *w = worker;
    int64_t now = worker_now_us(w);

    if (now - w->polled_us >= POLL_EVERY_US) {
        if (wire_has_input(&w->wire))
            worker_poll(w, 0);
        w->polled_us = now;
        if (now - w->beat_us >= BEAT_EVERY_US)
            worker_beat(w, SLICE_WORD_MS);
    }
    if (FAULT("worker.step"))
        abort();
    /* Half a task is worth nothing, so only its own stop or a drain interrupts it. */
    if (w->now && w->now->is_task)
        return w->now->stop || w->draining ? INT64_MAX : now;
    if (w->now && now - w->asked_us >= MEMORY_EVERY_US) {
        w->asked_us = now;
        w->interrupt = w->interrupt || worker_memory_asks(w->now);
    }
    return w->interrupt ? INT64_MAX : now;
}

/* ---- life ---- */

/* Removes files that an earlier worker left half written. */
static void clear_scratch(const struct worker *w)
{
    DIR *dir = opendir(w->scratch);
    struct dirent *d = NULL;

    while (dir && (d = readdir(dir))) {
        if (strstr(d->d_name, ".tmp"))
            unlinkat(dirfd(dir), d->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

/* Reports runs of which nothing is left to compute, and frees those whose jobs are all done. */
static void run_sweep(struct worker *w)
{
    for (struct run **link = &w->runs; *link;) {
        struct run *r = *link;
        int n_to_do = 0, n_open = 0;

        for (int i = 0; i < r->n_jobs; i++) {
            /* while other devices wait for this one, it takes no other work */
            n_to_do += r->jobs[i].state <= JOB_RUNNING || r->jobs[i].link;
            n_open += r->jobs[i].state != JOB_DONE;
        }
        if (n_to_do == 0 && !r->ended) {
            r->ended = true;
            worker_send(w, json_pack("{s:s, s:I}", "op", "end", "run", (json_int_t)r->id));
        }
        if (n_open == 0) {
            *link = r->next;
            run_free(r);
        } else {
            link = &r->next;
        }
    }
}

/* The next job to compute: one that was told to go on comes first, then the order of arrival. NULL
 * if there is none, or if as many jobs are parked as may be. */
static struct job *next_job(const struct worker *w)
{
    struct job *first = NULL;
    int n_parked = 0;

    for (struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            struct job *j = &r->jobs[i];

            if (j->state == JOB_RUNNING)
                return j;
            if (j->state == JOB_WAITING && !first)
                first = j;
            n_parked += j->state == JOB_ASKED;
        }
    }
    return n_parked < PARKED_MAX || w->draining ? first : NULL;
}

static void compute(struct worker *w, struct job *j)
{
    switch (j->run->grant.kind) {
    case MSG_FIT:
        worker_fit(w, j);
        break;
    case MSG_INGEST:
        worker_ingest(w, j);
        break;
    case MSG_REFIT:
        worker_refit(w, j);
        break;
    case MSG_RANK:
        worker_rank(w, j);
        break;
    case MSG_ENSEMBLE:
        worker_ensemble(w, j);
        break;
    }
    log_debug("job.end device=%s trial=%" PRId64 " work_us=%" PRId64, w->device, j->trial,
              j->work_us);
    w->now = NULL;
    w->idle_us = worker_now_us(w);
    worker_beat(w, 0);
}

int worker_main(int fd)
{
    struct worker *w = mem_zalloc(sizeof *w);
    struct job *j = NULL;

    signal(SIGPIPE, SIG_IGN);
    /* Who ends a job or a session signals all its processes at once (Slurm, systemd, a terminal). Only
     * the supervisor is meant: it saves what the worker has, and then ends it with SIGKILL. A worker
     * that died first would count as a crash of its trials. */
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    mem_lean();
    clk_init_system(&w->clk);
    wire_init(&w->wire, fd);
    w->slice_ms = 500;
    w->checkpoint_ms = 30000;
    worker_poll(w, -1); /* waits for the `config` message */
    clear_scratch(w);
    w->datasets = datasets_new(w->memory_bytes, &w->compute);
    worker_send(w, json_pack("{s:s}", "op", "ready"));
    for (;;) {
        w->interrupt = false;
        worker_serve(w);
        run_sweep(w);
        j = next_job(w);
        worker_poll(w, j ? 0 : -1);
        if (j)
            compute(w, j);
    }
}
