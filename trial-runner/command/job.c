/* job.c - the life of one trial's program: reports, limits, verdicts (job.h). */
#include "trial-runner/command/job.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* WATCH_MS, DISK_MS: between two looks at memory and processes, and at the folder. TELL_MS: between
 * two messages of progress. ODD_MAX: broken reports that are answered in the output.
 * KILL_MS: how long killing may take before the machine is held to be broken. */
enum { WATCH_MS = 200, DISK_MS = 2000, TELL_MS = 1000, ODD_MAX = 20, KILL_MS = 20000 };
enum { READS = 8, STOP_GRACE_MS = 2000 };

/* ---- ending it ---- */

void job_quit(struct job *j, enum job_end end, enum trial_reason reason, const char *fmt, ...)
{
    int64_t now = host_now(j->host);
    int64_t grace = end == END_FAIL   ? 0
                    : end == END_DROP ? MIN(j->command.grace_ms, STOP_GRACE_MS)
                                      : j->command.grace_ms;
    va_list args;

    if (j->state == JOB_OVER || (j->end == END_FAIL && end != END_DROP))
        return;
    if (j->end == END_NONE || j->end == END_EXIT || end == END_DROP || end == END_FAIL) {
        j->end = end;
        j->reason = reason;
        va_start(args, fmt);
        (void)vsnprintf(j->why, sizeof j->why, fmt, args);
        va_end(args);
    }
    if (j->state == JOB_DEAD) {
        job_finish(j);
        return;
    }
    if (j->state == JOB_RUNS) {
        log_info("program.quit trial=%" PRId64 " why=\"%s\"", j->trial, j->why);
        if (grace > 0)
            program_signal(&j->program, SIGTERM);
        j->state = JOB_ENDS;
        j->term_ms = now;
        j->kill_ms = now + grace;
    }
    j->kill_ms = MIN(j->kill_ms, now + grace);
}

/* ---- what the program says ---- */

static int take_report(struct job *j, const struct report *r, struct err *err)
{
    int level = r->level ? r->level : MIN(j->reached + 1, j->levels);

    if (level > j->levels)
        return err_set(err, ERR_ARG, "has level %d, and the study has %d levels", level, j->levels);
    if (!isfinite(r->value)) {
        if (j->end == END_NONE)
            job_quit(j, END_FAIL, TR_DIVERGED, "it reported a score at level %d that is no number",
                     level);
        return level;
    }
    if (!isfinite(j->values[level])) {
        j->values[level] = r->value;
        j->n_more = r->n_more;
        memcpy(j->more, r->more, sizeof j->more);
    }
    j->reached = MAX(j->reached, level);
    return level;
}

static void on_line(void *arg, const char *line)
{
    struct job *j = arg;
    struct report r;
    struct err err = { 0 };
    int rc = report_line(&r, line, j->grant.data.metric, &err);

    if (rc == 1)
        rc = take_report(j, &r, &err);
    if (rc < 0 && ++j->n_odd <= ODD_MAX)
        output_note(&j->output, host_now(j->host), "the last report %s%s", err.text,
                    j->n_odd == ODD_MAX ? "; further ones are not mentioned" : "");
}

static void on_piece(void *arg, const char *text)
{
    struct job *j = arg;
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = MSG_OUTPUT;
    ev.detail = mem_strdup(text);
    host_event(j->host, j->trial, j->fence, &ev, NULL);
}

static int on_report(void *arg, const struct report *r, struct err *err)
{
    struct job *j = arg;
    int before = j->reached, level = take_report(j, r, err);

    if (level > before) /* only then, or a program could write without end */
        output_note(&j->output, host_now(j->host), "report over HTTP: level %d, score %g", level,
                    r->value);
    return level;
}

static void tell_progress(struct job *j)
{
    struct msg_event ev;
    int64_t now = host_now(j->host);

    if (j->is_asked || now - j->told_ms < TELL_MS || j->to <= j->from)
        return;
    j->told_ms = now;
    msg_event_init(&ev);
    ev.type = MSG_PROGRESS;
    ev.level = j->reached;
    ev.progress = MIN(MAX((double)(j->reached - j->from) / (j->to - j->from), 0.0), 1.0);
    host_event(j->host, j->trial, j->fence, &ev, NULL);
}

/* Answers the calls whose verdict is known without the controller. */
static void answer_calls(struct job *j)
{
    if (j->end == END_NONE && j->to > 1)
        inbox_verdict(&j->inbox, j->to - 1, "continue", j->to);
    if (j->end == END_NONE && j->to >= j->levels)
        inbox_verdict(&j->inbox, j->levels, "done", j->levels);
    if (j->end == END_PAUSE || j->end == END_DRAIN)
        inbox_verdict(&j->inbox, j->levels, "pause", j->to);
    else if (j->end != END_NONE)
        inbox_verdict(&j->inbox, j->levels, "stop", j->to);
}

/* ---- limits ---- */

static void watch_memory(struct job *j, const struct program_use *use)
{
    int64_t own = j->grant.trial_memory_bytes, device = j->host->memory_bytes;
    bool is_own = own > 0 && (device <= 0 || own < device);
    int64_t limit = is_own ? own : device;
    char a[32], b[32];

    j->peak_bytes = MAX(j->peak_bytes, use->memory_bytes);
    if (limit <= 0 || use->memory_bytes <= limit)
        return;
    str_fmt_bytes(use->memory_bytes, a, sizeof a);
    str_fmt_bytes(limit, b, sizeof b);
    job_quit(j, END_FAIL, TR_MEMORY, "the program held %s of memory; %s is %s", a,
             is_own ? "budget.trial_memory" : "the limit of this device", b);
}

static void watch_disk(struct job *j)
{
    int64_t bytes = folder_bytes(&j->folder);
    char a[32], b[32];

    if (bytes <= j->command.disk_bytes)
        return;
    str_fmt_bytes(bytes, a, sizeof a);
    str_fmt_bytes(j->command.disk_bytes, b, sizeof b);
    job_quit(j, END_FAIL, TR_INVALID, "the program's files take %s; limits.disk is %s", a, b);
}

static void watch_time(struct job *j, int64_t now)
{
    int64_t limit = j->grant.trial_time_ms;
    char text[32];

    if (limit > 0 && j->before_ms + job_spent_ms(j) >= limit) {
        str_fmt_ms(limit, text, sizeof text);
        job_quit(j, END_CUT, TR_TIME, "no score within %s (budget.trial_time)", text);
    } else if (j->deadline_ms > 0 && now >= j->deadline_ms) {
        job_quit(j, END_CUT, TR_BUDGET, "the study's time ended before it reported a score");
        j->kill_ms = MIN(j->kill_ms, now + STOP_GRACE_MS);
    }
}

static void watch(struct job *j, int64_t now)
{
    struct program_use use;

    watch_time(j, now);
    if (now - j->watched_ms < WATCH_MS)
        return;
    j->watched_ms = now;
    program_use(&j->program, &use);
    watch_memory(j, &use);
    if (use.processes > j->command.processes)
        job_quit(j, END_FAIL, TR_INVALID, "the program has %d processes; limits.processes is %d",
                 use.processes, (int)j->command.processes);
    if (now - j->disk_ms >= DISK_MS) {
        j->disk_ms = now;
        watch_disk(j);
    }
}

/* ---- a turn ---- */

/* A program that prints beyond its limit is read slowly: once in a turn, and turns by the clock. */
static bool is_read_slowly(const struct job *j)
{
    return j->output.dropped > 0 || output_is_full(&j->output);
}

static void read_output(struct job *j, int reads)
{
    int64_t now = host_now(j->host);

    for (int i = 0; i < reads && j->program.out_fd >= 0 && !output_is_full(&j->output); i++) {
        if (output_read(&j->output, j->program.out_fd, now) <= 0)
            return;
    }
}

/* All that the program started is killed; true = nothing is left. */
static bool is_cleared(struct job *j, int64_t now)
{
    if (program_kill(&j->program))
        return true;
    if (now - MAX(j->kill_ms, j->term_ms) < KILL_MS)
        return false;
    log_error("program.stuck trial=%" PRId64 " err=\"a process does not end after SIGKILL\"",
              j->trial);
    return true;
}

static void turn_alive(struct job *j, int64_t now)
{
    read_output(j, is_read_slowly(j) ? 1 : READS);
    if (program_ended(&j->program) && j->state == JOB_RUNS) {
        j->end = END_EXIT;
        j->state = JOB_ENDS;
        j->term_ms = j->kill_ms = now;
    }
    if (j->state == JOB_RUNS) {
        watch(j, now);
    } else if ((j->program.pid == 0 || now >= j->kill_ms) && is_cleared(j, now)) {
        read_output(j, READS * 64);
        j->output.is_held = j->is_asked;
        output_flush(&j->output, now, true);
        job_finish(j);
        if (j->state == JOB_DEAD)
            program_close(&j->program);
    }
}

void job_turn(struct job *j)
{
    int64_t now = host_now(j->host);

    if (j->state == JOB_RUNS || j->state == JOB_ENDS)
        turn_alive(j, now);
    if (j->state == JOB_OVER)
        return;
    inbox_turn(&j->inbox, now);
    job_ask(j);
    if (j->state == JOB_OVER)
        return;
    answer_calls(j);
    output_flush(&j->output, now, false);
    if (j->state == JOB_RUNS) {
        job_checkpoint(j);
        tell_progress(j);
    }
}

int job_poll(const struct job *j, struct pollfd *fds)
{
    int n = inbox_poll(&j->inbox, fds);

    if (j->program.out_fd >= 0 && (j->state == JOB_RUNS || j->state == JOB_ENDS) &&
        !is_read_slowly(j))
        fds[n++] = (struct pollfd){ .fd = j->program.out_fd, .events = POLLIN };
    return n;
}

/* ---- the supervisor's words ---- */

void job_answer(struct job *j, const char *action, int to, int64_t deadline_ms)
{
    if (deadline_ms > 0)
        j->deadline_ms = deadline_ms;
    if (!j->is_asked || str_eq(action, msg_action_name[MSG_OK]))
        return;
    j->is_asked = j->output.is_held = false;
    if (str_eq(action, msg_action_name[MSG_RUN_TO])) {
        j->from = j->to;
        j->to = MIN(MAX(to, j->to), j->levels);
        if (j->state == JOB_DEAD && j->end == END_EXIT && j->program.status != 0)
            job_finish(j); /* it failed while it was asked about */
    } else if (str_eq(action, msg_action_name[MSG_PAUSE])) {
        job_quit(j, END_PAUSE, TR_NONE, "paused at level %d", j->to);
    } else {
        job_stop(j);
    }
}

void job_stop(struct job *j)
{
    j->is_asked = j->output.is_held = false;
    job_quit(j, END_DROP, TR_STOPPED, "stopped");
}

void job_drain(struct job *j)
{
    job_quit(j, END_DRAIN, TR_DRAINED, "the runner is shutting down");
}

/* ---- life ---- */

static int open_grant(struct job *j, const json_t *msg, struct err *err)
{
    const struct msg_trial *t = NULL;
    json_t *o = NULL;

    if (jsonx_i64(msg, NULL, "run", JSONX_REQUIRED, 1, INT64_MAX, &j->run, err) < 0 ||
        jsonx_i64(msg, NULL, "deadline_at_ms", JSONX_OPTIONAL, 0, INT64_MAX, &j->deadline_ms, err) <
            0 ||
        msg_grant_parse(&j->grant, json_object_get(msg, "grant"), err) != 1)
        return -1;
    CHECK(j->grant.n_trials == 1 && j->grant.command);
    t = &j->grant.trials[0];
    j->trial = t->trial;
    j->fence = t->fence;
    j->from = t->from;
    j->to = t->to;
    j->levels = j->grant.levels;
    j->values = mem_array((size_t)j->levels + 1, sizeof *j->values);
    for (int i = 0; i <= j->levels; i++)
        j->values[i] = NAN;
    j->params = jsonx_load(t->config, strlen(t->config), "config", err);
    if (!j->params)
        return -1;
    (void)json_object_del(j->params, "family");
    o = jsonx_load(j->grant.command, strlen(j->grant.command), "command", err);
    int rc = o ? command_parse(&j->command, o, NULL, err) : -1;
    json_decref(o);
    return rc;
}

/* The checkpoint of an earlier attempt. One that cannot be used costs only the work it holds. */
static void unpack(struct job *j, const json_t *msg)
{
    char key[32];
    struct err err = { 0 };
    const char *path = NULL;
    json_t *state = NULL;

    (void)snprintf(key, sizeof key, "%" PRId64, j->trial);
    path = json_string_value(json_object_get(json_object_get(msg, "checkpoints"), key));
    if (!path)
        return;
    if (folder_unpack(&j->folder, path, j->command.checkpoint_bytes, &state, &err) < 0) {
        log_warn("checkpoint.bad trial=%" PRId64 " err=\"%s\"", j->trial, err.text);
        output_note(&j->output, host_now(j->host), "the checkpoint cannot be used: %s", err.text);
        (void)folder_make(&j->folder, j->host->home, "again", j->host->uid, j->command.files, &err);
    }
    job_state_load(j, state);
    json_decref(state);
}

static int prepare(struct job *j, const json_t *msg, struct err *err)
{
    char name[64];
    char *params = NULL;
    int rc = 0;

    (void)snprintf(name, sizeof name, "%" PRId64 "-%" PRId64, j->trial, j->fence);
    if (folder_make(&j->folder, j->host->home, name, j->host->uid, j->command.files, err) < 0)
        return -1;
    unpack(j, msg);
    params = jsonx_dump(j->params);
    rc = folder_write(&j->folder, "params.json", params, strlen(params), err);
    mem_free(params);
    if (rc < 0)
        return -1;
    j->packed_stamp = folder_checkpoint_stamp(&j->folder);
    j->packed_ms = host_now(j->host);
    return inbox_open(&j->inbox, err);
}

struct job *job_new(struct host *h, const json_t *msg)
{
    static const struct output_ops ops = { on_line, on_piece };
    struct job *j = mem_zalloc(sizeof *j);
    struct err err = { 0 };

    j->host = h;
    j->program.out_fd = -1;
    j->inbox = (struct inbox){ .fd = -1, .on_report = on_report, .arg = j };
    for (int i = 0; i < INBOX_CALLS; i++)
        j->inbox.calls[i].fd = -1;
    if (open_grant(j, msg, &err) < 0) {
        log_error("command.run err=\"%s\"", err.text);
        mem_free(j->values);
        msg_grant_fini(&j->grant);
        json_decref(j->params);
        mem_free(j);
        return NULL;
    }
    output_init(&j->output, j->command.output_bytes, &ops, j);
    j->inbox.params = j->params;
    j->inbox.metric = j->grant.data.metric;
    host_send(h, json_pack("{s:s, s:I, s:I, s:b}", "op", "lane", "trial", (json_int_t)j->trial,
                           "fence", (json_int_t)j->fence, "task", 0));
    if (prepare(j, msg, &err) < 0 || job_start(j, &err) < 0)
        job_fail(j, TR_DEVICE, err.text);
    return j;
}

void job_free(struct job *j)
{
    if (!j)
        return;
    if (j->program.pid || j->state == JOB_ENDS || j->state == JOB_RUNS) {
        for (int64_t end = host_now(j->host) + KILL_MS; !program_kill(&j->program);) {
            if (host_now(j->host) > end)
                break;
            (void)poll(NULL, 0, 5);
        }
    }
    program_close(&j->program);
    inbox_close(&j->inbox);
    folder_remove(&j->folder);
    output_fini(&j->output);
    command_fini(&j->command);
    json_decref(j->params);
    msg_grant_fini(&j->grant);
    mem_free(j->values);
    mem_free(j);
}
