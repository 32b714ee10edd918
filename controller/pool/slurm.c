/* slurm.c - the words of Slurm's commands (slurm.h). */
#include "controller/pool/slurm.h"

#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SCRIPT_MAX = 32 << 10, LINE_FIELDS = 5 };

const char *const slurm_state_name[] = { "pending", "late", "running", "leaving" };

/* ---- arguments ---- */

static void begin(struct slurm_command *c, const char *program)
{
    *c = (struct slurm_command){ 0 };
    buf_init(&c->text, SCRIPT_MAX);
    c->argv[c->argc++] = program;
}

void slurm_command_fini(struct slurm_command *c)
{
    for (int i = 0; i < c->n_own; i++)
        mem_free(c->own[i]);
    buf_fini(&c->text);
    c->n_own = c->argc = 0;
}

static void arg(struct slurm_command *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void arg(struct slurm_command *c, const char *fmt, ...)
{
    char text[1400];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    CHECK(c->argc < SLURM_ARGS_MAX - 1);
    c->own[c->n_own] = mem_strdup(text);
    c->argv[c->argc++] = c->own[c->n_own++];
    c->argv[c->argc] = NULL;
}

void slurm_squeue(struct slurm_command *c)
{
    begin(c, "squeue");
    arg(c, "--noheader");
    arg(c, "--array"); /* each task of an array on a line of its own */
    arg(c, "--me");
    arg(c, "--format=%%i|%%T|%%r|%%N|%%j");
}

void slurm_scancel(struct slurm_command *c, const char *const *ids, int n)
{
    begin(c, "scancel");
    arg(c, "--state=PENDING");
    for (int i = 0; i < n && i < SLURM_ARGS_MAX - 8; i++)
        arg(c, "%s", ids[i]);
}

void slurm_terminate(struct slurm_command *c, const char *const *ids, int n)
{
    begin(c, "scancel");
    arg(c, "--batch");
    arg(c, "--signal=TERM");
    for (int i = 0; i < n && i < SLURM_ARGS_MAX - 8; i++)
        arg(c, "%s", ids[i]);
}

/* ---- the script of a job ---- */

/* Between single quotes the shell takes everything as it is, except a single quote. */
static int quoted(struct buf *b, const char *s, struct err *err)
{
    if (buf_adds(b, "'", err) < 0)
        return -1;
    for (; *s; s++) {
        if (*s == '\'' ? buf_adds(b, "'\\''", err) < 0 : buf_add(b, s, 1, err) < 0)
            return -1;
    }
    return buf_adds(b, "'", err);
}

static int option(struct buf *b, const char *name, const char *value, struct err *err)
{
    return !value || (buf_addf(b, err, " %s ", name) == 0 && quoted(b, value, err) == 0) ? 0 : -1;
}

static int devices(struct buf *b, const struct pool_conf *p, struct err *err)
{
    if (p->gpus > 0 ? buf_adds(b, " --devices cuda", err) < 0
                    : buf_addf(b, err, " --devices cpu:%d", p->cpus) < 0)
        return -1;
    /* The tenth that is left is for the supervisor and for what the system counts otherwise. */
    return p->memory_bytes == 0 ||
                   buf_addf(b, err, " --memory %" PRId64, p->memory_bytes / 10 * 9) == 0
               ? 0
               : -1;
}

/* The shell becomes the runner, so that the signals of Slurm reach it. */
static int script(struct buf *b, const struct pool_conf *p, bool is_kept, struct err *err)
{
    const json_t *v = NULL;
    size_t i = 0;

    if (buf_adds(b,
                 "#!/bin/sh\n"
                 "job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}\n"
                 "job=${job:-$SLURM_JOB_ID}\n"
                 "exec ",
                 err) < 0 ||
        quoted(b, p->program, err) < 0 || option(b, "--controller", p->controller, err) < 0 ||
        option(b, "--token-file", p->token_file, err) < 0 ||
        option(b, "--tls-pin", p->tls_pin, err) < 0 || option(b, "--tls-ca", p->tls_ca, err) < 0 ||
        devices(b, p, err) < 0 ||
        buf_addf(b, err, " --away-exit %" PRId64 "ms --idle-exit %" PRId64 "ms", p->away_ms,
                 is_kept ? 0 : p->idle_ms) < 0 ||
        buf_addf(b, err, " --name '%s-'\"$job\" --labels 'pool=%s,slurm_job='\"$job\"", p->name,
                 p->name) < 0)
        return -1;
    if (p->labels && (buf_adds(b, ",", err) < 0 || quoted(b, p->labels, err) < 0))
        return -1;
    if (p->commands && buf_adds(b, " --allow-command", err) < 0)
        return -1;
    json_array_foreach((json_t *)p->runner, i, v)
    {
        if (buf_adds(b, " ", err) < 0 || quoted(b, json_string_value(v), err) < 0)
            return -1;
    }
    return buf_adds(b, "\n", err);
}

static void resources(struct slurm_command *c, const struct pool_conf *p)
{
    if (p->partition)
        arg(c, "--partition=%s", p->partition);
    arg(c, "--nodes=1");
    arg(c, "--ntasks=1");
    arg(c, "--cpus-per-task=%d", p->cpus);
    if (p->gpus > 0)
        arg(c, "--gres=gpu%s%s:%d", p->gpu_type ? ":" : "", p->gpu_type ? p->gpu_type : "",
            p->gpus);
    if (p->memory_bytes > 0)
        arg(c, "--mem=%" PRId64 "M", (p->memory_bytes + (1 << 20) - 1) >> 20);
    if (p->time_ms > 0) {
        arg(c, "--time=%" PRId64, (p->time_ms + 59999) / 60000);
        arg(c, "--signal=B:TERM@%" PRId64, p->drain_ms / 1000);
    }
}

int slurm_sbatch(struct slurm_command *c, const struct pool_conf *p, const char *word, int n,
                 bool is_kept, struct err *err)
{
    const json_t *v = NULL;
    size_t i = 0;

    begin(c, "sbatch");
    arg(c, "--parsable");
    arg(c, "--job-name=assay-%s.%s%s", word, p->name, is_kept ? "+" : "");
    if (n > 1)
        arg(c, "--array=1-%d", n);
    resources(c, p);
    arg(c, "--requeue");
    arg(c, "--chdir=/tmp");
    arg(c, "--output=%s", p->log ? p->log : "/dev/null");
    arg(c, "--open-mode=append");
    json_array_foreach((json_t *)p->options, i, v)
    {
        arg(c, "%s", json_string_value(v));
    }
    return script(&c->text, p, is_kept, err);
}

/* ---- answers ---- */

static bool is_one_of(const char *s, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(s, list[i]))
            return true;
    }
    return false;
}

static enum slurm_state state_of(const char *says, const char *reason)
{
    /* What a pending job waits for when more room would not help. */
    static const char *const late[] = {
        "BeginTime",        "Dependency", "JobHeldUser", "JobHeldAdmin", "DependencyNeverSatisfied",
        "JobLaunchFailure", "Reservation"
    };
    static const char *const runs[] = { "RUNNING", "CONFIGURING", "SIGNALING", "STAGE_OUT" };

    if (str_eq(says, "PENDING") || str_starts(says, "REQUEUE") || str_eq(says, "SPECIAL_EXIT"))
        return !str_eq(says, "PENDING") || is_one_of(reason, late, ARRAY_LEN(late)) ||
                       strstr(reason, "held")
                   ? SLURM_LATE
                   : SLURM_PENDING;
    return is_one_of(says, runs, ARRAY_LEN(runs)) ? SLURM_RUNNING : SLURM_LEAVING;
}

/* Copies one field, in which nothing but printable ASCII is kept. */
static void take(char *out, size_t size, const char *from, size_t n)
{
    size_t len = 0;

    for (size_t i = 0; i < n && len + 1 < size; i++)
        out[len++] = from[i] >= ' ' && from[i] < 127 ? from[i] : '?';
    out[len] = '\0';
}

/* The name is "assay-WORD.POOL" or "assay-WORD.POOL+": false = it is somebody else's job. */
static bool read_name(struct slurm_job *j, const char *name, size_t n, const char *word)
{
    size_t head = strlen("assay-") + strlen(word) + 1;
    char mine[64];

    (void)snprintf(mine, sizeof mine, "assay-%s.", word);
    if (n <= head || strncmp(name, mine, head) != 0)
        return false;
    j->is_kept = name[n - 1] == '+';
    take(j->pool, sizeof j->pool, name + head, n - head - j->is_kept);
    return true;
}

/* One line of squeue: 1 = our job, 0 = another's, -1. */
static int read_line(struct slurm_job *j, const char *line, size_t n, const char *word,
                     struct err *err)
{
    const char *at[LINE_FIELDS], *end = line + n, *c = line;
    size_t len[LINE_FIELDS];

    for (int i = 0; i < LINE_FIELDS; i++) {
        const char *stop = i + 1 < LINE_FIELDS ? memchr(c, '|', (size_t)(end - c)) : end;

        if (!stop)
            return err_set(err, ERR_IO, "squeue printed a line that is no job: \"%.60s\"", line);
        at[i] = c;
        len[i] = (size_t)(stop - c);
        c = stop + (stop < end);
    }
    *j = (struct slurm_job){ 0 };
    if (!read_name(j, at[4], len[4], word))
        return 0;
    if (len[0] == 0 || len[0] >= sizeof j->id)
        return err_set(err, ERR_IO, "squeue printed a job without an id");
    take(j->id, sizeof j->id, at[0], len[0]);
    take(j->says, sizeof j->says, at[1], len[1]);
    take(j->reason, sizeof j->reason, at[2], len[2]);
    take(j->node, sizeof j->node, at[3], len[3]);
    j->state = state_of(j->says, j->reason);
    if (str_eq(j->reason, "None"))
        j->reason[0] = '\0';
    return 1;
}

int slurm_read_jobs(const char *out, const char *word, struct slurm_job **jobs, int *n,
                    struct err *err)
{
    int cap = 0, rc = 0;

    *jobs = NULL;
    *n = 0;
    while (*out) {
        size_t len = strcspn(out, "\n");
        struct slurm_job job;

        rc = len > 0 ? read_line(&job, out, len, word, err) : 0;
        if (rc < 0)
            break;
        if (rc == 1) {
            MEM_GROW(*jobs, *n, cap);
            (*jobs)[(*n)++] = job;
        }
        out += len + (out[len] == '\n');
    }
    if (rc < 0) {
        mem_free(*jobs);
        *jobs = NULL;
        *n = 0;
        return -1;
    }
    return 0;
}

int slurm_read_id(const char *out, char id[SLURM_ID_MAX], struct err *err)
{
    size_t n = strspn(out, "0123456789");

    if (n == 0 || n >= SLURM_ID_MAX)
        return err_set(err, ERR_IO, "sbatch printed \"%.60s\" instead of the job's number", out);
    take(id, SLURM_ID_MAX, out, n);
    return 0;
}

void slurm_complaint(const char *text, char *out, size_t size)
{
    static const char *const before[] = { "sbatch: ", "squeue: ", "scancel: ", "error: ",
                                          "slurm_load_jobs " };

    for (bool is_cut = true; is_cut;) {
        is_cut = false;
        for (size_t i = 0; i < ARRAY_LEN(before); i++) {
            if (str_starts(text, before[i])) {
                text += strlen(before[i]);
                is_cut = true;
            }
        }
    }
    take(out, size, text, strcspn(text, "\n"));
}
