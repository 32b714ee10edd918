/* job_end.c - what the controller is asked and told: rungs, the end of a program and what its exit
 * code means, checkpoints. While a question is open nothing else is said of the trial, because a
 * repeated question must be the last message that the controller knows. */
#include "trial-runner/command/job.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* EXIT_ELSEWHERE: EX_TEMPFAIL of sysexits.h. PACK_MS: the longest time that packing may take. */
enum { EXIT_ELSEWHERE = 75, PACK_MS = 600000, CRASH_BASE = 128 };

double job_value_at(const struct job *j, int level)
{
    for (int i = MAX(level, 1); i <= j->levels; i++) {
        if (isfinite(j->values[i]))
            return j->values[i];
    }
    return NAN;
}

int64_t job_spent_ms(const struct job *j)
{
    return j->spent_ms + (j->began_ms ? host_now(j->host) - j->began_ms : 0);
}

static void event_fill(const struct job *j, struct msg_event *ev, enum msg_type type, int level)
{
    msg_event_init(ev);
    ev->type = type;
    ev->level = level;
    ev->fit_us = job_spent_ms(j) * 1000;
    ev->peak_bytes = j->peak_bytes;
}

static void over(struct job *j)
{
    j->state = JOB_OVER;
    host_send(j->host, json_pack("{s:s, s:I}", "op", "end", "run", (json_int_t)j->run));
}

void job_fail(struct job *j, enum trial_reason reason, const char *text)
{
    struct msg_event ev;

    log_info("program.failed trial=%" PRId64 " reason=%s err=\"%s\"", j->trial,
             trial_reason_name[reason], text);
    j->output.is_held = false;
    output_flush(&j->output, host_now(j->host), true);
    event_fill(j, &ev, MSG_FAILED, j->reached);
    ev.reason = reason;
    ev.detail = mem_strdup(text);
    host_event(j->host, j->trial, j->fence, &ev, NULL);
    over(j);
}

/* ---- questions ---- */

/* The values of further objectives as a message's detail; mem_free it. */
static char *more_text(const struct job *j)
{
    json_t *list = json_array(), *o = json_pack("{s:o}", "values", list);

    for (int i = 0; i < j->n_more; i++)
        json_array_append_new(list, jsonx_real(j->more[i]));
    char *text = jsonx_dump(o);
    json_decref(o);
    return text;
}

static void ask(struct job *j, enum msg_type type, int level, double value, bool cut)
{
    struct msg_event ev;

    output_flush(&j->output, host_now(j->host), true);
    j->output.is_held = true;
    j->is_asked = true;
    event_fill(j, &ev, type, level);
    ev.value = value;
    ev.cut = cut;
    if (type == MSG_FINAL && j->n_more > 0)
        ev.detail = more_text(j);
    host_event(j->host, j->trial, j->fence, &ev, NULL);
}

static void ask_final(struct job *j, bool cut)
{
    if (j->reached < 1) {
        job_fail(j, TR_INVALID,
                 "the program ended with exit code 0 and reported no score: print a line such as "
                 "assay: {\"score\": 0.9}");
        return;
    }
    int level = MIN(j->reached, cut ? j->levels : j->to);
    ask(j, MSG_FINAL, level, job_value_at(j, level), cut);
}

void job_ask(struct job *j)
{
    double value = job_value_at(j, j->to);

    if (j->is_asked || j->state == JOB_OVER || (j->end != END_NONE && j->end != END_EXIT))
        return;
    if (j->to < j->levels && isfinite(value))
        ask(j, MSG_RUNG, j->to, value, false);
    else if (j->state == JOB_DEAD)
        ask_final(j, false);
}

/* ---- checkpoints ---- */

/* Packs the checkpoint into a file to upload: 0, or -1. */
static int pack(struct job *j, char path[700], char sha256[SHA256_HEX], struct err *err)
{
    struct host *h = j->host;
    json_t *state = job_state_json(j);

    host_beat(h, PACK_MS);
    (void)snprintf(path, 700, "%s/checkpoint-%" PRId64 "-%" PRId64 "-%ld-%" PRId64, h->scratch,
                   j->trial, j->fence, (long)getpid(), ++h->files);
    int rc = folder_pack(&j->folder, state, j->command.checkpoint_bytes, path, sha256, err);
    json_decref(state);
    return rc;
}

static void send_checkpoint(struct job *j, enum msg_type type, int level, const char *path,
                            const char *sha256)
{
    struct msg_event ev;

    event_fill(j, &ev, type, level);
    str_copy(ev.blob, sizeof ev.blob, sha256);
    host_event(j->host, j->trial, j->fence, &ev, path);
}

/* A checkpoint's level is below the one that the trial runs to, or the controller would not start
 * from it. */
static void hand_over(struct job *j, const char *path, const char *sha256)
{
    if (str_eq(sha256, j->packed)) {
        unlink(path);
        return;
    }
    str_copy(j->packed, sizeof j->packed, sha256);
    send_checkpoint(j, MSG_CHECKPOINT, MIN(j->reached, j->to - 1), path, sha256);
}

void job_checkpoint(struct job *j)
{
    char path[700], sha256[SHA256_HEX], size[32];
    struct err err = { 0 };
    int64_t now = host_now(j->host);
    uint64_t stamp = 0;

    if (j->is_asked || now - j->packed_ms < j->host->checkpoint_ms)
        return;
    stamp = folder_checkpoint_stamp(&j->folder);
    j->packed_ms = now;
    if (stamp == 0 || stamp == j->packed_stamp)
        return;
    if (pack(j, path, sha256, &err) == 0) {
        j->packed_stamp = stamp;
        hand_over(j, path, sha256);
    } else if (err.code == ERR_BUSY) {
        j->packed_ms = now - j->host->checkpoint_ms + 1000; /* in a second */
    } else {
        j->packed_stamp = stamp; /* the same files would fail again */
        str_fmt_bytes(j->command.checkpoint_bytes, size, sizeof size);
        output_note(&j->output, now, "the checkpoint is not kept (limits.checkpoint is %s): %s",
                    size, err.text);
    }
}

static void finish_pause(struct job *j)
{
    char path[700], sha256[SHA256_HEX], text[500];
    struct err err = { 0 };

    if (pack(j, path, sha256, &err) < 0) {
        (void)snprintf(text, sizeof text, "it cannot be paused: %s%s", err.text,
                       err.code == ERR_TOOBIG ? " (limits.checkpoint)" : "");
        job_fail(j, err.code == ERR_TOOBIG ? TR_INVALID : TR_DEVICE, text);
        return;
    }
    j->output.is_held = false;
    output_flush(&j->output, host_now(j->host), true);
    send_checkpoint(j, MSG_PAUSED, j->to, path, sha256);
    over(j);
}

static void finish_drain(struct job *j)
{
    char path[700], sha256[SHA256_HEX];
    struct err err = { 0 };

    j->output.is_held = false;
    if (j->is_asked) /* its question is open: it runs again from its last checkpoint */
        ;
    else if (folder_checkpoint_stamp(&j->folder) != 0 && pack(j, path, sha256, &err) == 0)
        hand_over(j, path, sha256);
    job_fail(j, TR_DRAINED, "the runner is shutting down");
}

/* ---- the end ---- */

static int exit_code(int status)
{
    return WIFSIGNALED(status) ? CRASH_BASE + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool rule_fits(const struct command_retry *r, int code, const char *output)
{
    regex_t re;
    bool fits = r->exit < 0 || r->exit == code;

    if (!fits || !r->output[0])
        return fits;
    if (regcomp(&re, r->output, REG_EXTENDED | REG_NOSUB | REG_NEWLINE) != 0)
        return false;
    fits = regexec(&re, output, 0, NULL, 0) == 0;
    regfree(&re);
    return fits;
}

/* Starts the program again if a rule says so: true, and then it runs or its failure is reported. */
static bool starts_again(struct job *j, int code, const char *text)
{
    for (int i = 0; i < j->command.n_retry; i++) {
        const struct command_retry *r = &j->command.retry[i];
        struct err err = { 0 };

        if (!rule_fits(r, code, output_tail(&j->output)))
            continue;
        if (r->elsewhere) {
            job_fail(j, TR_DEVICE, text);
            return true;
        }
        if (j->tries[i] >= r->times)
            return false;
        j->tries[i]++;
        output_note(&j->output, host_now(j->host), "%s; retry[%d] starts it again (%d of %d)", text,
                    i, j->tries[i], r->times);
        program_close(&j->program);
        if (job_start(j, &err) < 0)
            job_fail(j, TR_DEVICE, err.text);
        return true;
    }
    return false;
}

static void failed_exit(struct job *j, int status)
{
    char text[700], how[80];
    const char *last = output_last_line(&j->output);
    int code = exit_code(status);

    proc_describe(status, how, sizeof how);
    (void)snprintf(text, sizeof text, "the program ended with %s%s%.400s",
                   WIFSIGNALED(status) ? "signal: " : "", how, "");
    if (last[0]) {
        size_t n = strlen(text);
        (void)snprintf(text + n, sizeof text - n, "; its last line: %.500s", last);
    }
    if (starts_again(j, code, text))
        return;
    /* SIGTERM was not from us: whoever ends this machine's job or session signals all its processes. */
    if (code == EXIT_ELSEWHERE || (WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM))
        job_fail(j, TR_DEVICE, text);
    else if (code == CRASH_BASE + SIGKILL)
        job_fail(j, TR_MEMORY,
                 "the program was killed by the system, which does so if memory runs "
                 "out");
    else
        job_fail(j, WIFSIGNALED(status) ? TR_CRASHED_ALONE : TR_INVALID, text);
}

static void finish_cut(struct job *j)
{
    if (j->is_asked)
        j->end = END_EXIT; /* the answer decides */
    else if (j->reached > 0)
        ask_final(j, true);
    else
        job_fail(j, j->reason, j->why);
}

void job_finish(struct job *j)
{
    int status = j->program.status;

    if (j->began_ms) {
        j->spent_ms += host_now(j->host) - j->began_ms;
        log_info("program.end trial=%" PRId64 " code=%d level=%d ms=%" PRId64, j->trial,
                 exit_code(status), j->reached, j->spent_ms);
    }
    j->began_ms = 0;
    j->state = JOB_DEAD;
    switch (j->end) {
    case END_PAUSE:
        finish_pause(j);
        break;
    case END_DRAIN:
        finish_drain(j);
        break;
    case END_CUT:
        finish_cut(j);
        break;
    case END_FAIL:
        job_fail(j, j->reason, j->why);
        break;
    case END_DROP:
        over(j);
        break;
    default:
        if (status != 0 && !j->is_asked)
            failed_exit(j, status);
        break; /* job_ask goes on */
    }
}
