/* pool.c - the rounds of pools (pool.h).
 *
 * A look (every LOOK_MS) counts what waits, in memory only. If jobs should be submitted or
 * cancelled by the last list of jobs, or if the list is old, a round begins: squeue lists the jobs,
 * the plan is made anew from that list, and its steps are carried out one after another, each by
 * one command. So what a plan counts on is never older than the last submission. When a command
 * fails, the round ends, and the next one waits for a pause that doubles: with Slurm as a whole if
 * squeue failed, with one pool if its sbatch failed. */
#include "controller/pool/pool.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/pool/pool_private.h"
#include "controller/state/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

enum {
    LOOK_MS = 500,
    GAP_MS = 1000,      /* between two rounds; a change is carried out at most so late */
    COMMAND_MS = 20000, /* a command of Slurm that takes longer is killed */
    FIRST_PAUSE_MS = 5000,
    LAST_PAUSE_MS = 300000,
    CANCEL_MOST = 100 /* jobs of one scancel */
};

enum step_kind { STEP_SUBMIT, STEP_CANCEL, STEP_END };
struct step {
    enum step_kind kind;
    int pool; /* its place; -1 = one that is no more configured */
    int n;
    bool is_kept;
};

static int64_t now_ms(const struct pools *p)
{
    return ctl_now(p->ctl);
}

/* ---- patience ---- */

static void failed(const struct pools *p, struct patience *w, const char *why)
{
    int64_t pause = FIRST_PAUSE_MS << MIN(w->fails, 10);

    w->fails++;
    w->until_ms = now_ms(p) + MIN(pause, LAST_PAUSE_MS);
    str_copy(w->why, sizeof w->why, why);
}

static void worked(struct patience *w)
{
    *w = (struct patience){ 0 };
}

/* ---- jobs ---- */

static int pool_at(const struct pools *p, const char *name)
{
    for (int i = 0; i < p->conf.n; i++) {
        if (str_eq(p->conf.pools[i].name, name))
            return i;
    }
    return -1;
}

static struct pool_job *job_find(struct pool_job *jobs, int n, const char *id)
{
    for (int i = 0; i < n; i++) {
        if (str_eq(jobs[i].is.id, id))
            return &jobs[i];
    }
    return NULL;
}

/* A job that is gone without us, and whose runner never came, failed: also where it was last seen
 * waiting, because it may begin and fail between two looks. */
static void note_gone(struct pools *p, const struct pool_job *j)
{
    int at = pool_at(p, j->is.pool);
    char why[200];

    log_info("pool.job_gone job=%s pool=%s had_runner=%d", j->is.id, j->is.pool, j->had_runner);
    if (at < 0 || j->had_runner || j->is_cancelled)
        return;
    (void)snprintf(why, sizeof why, "job %s ended before its runner came: see its log (%.80s)",
                   j->is.id, p->conf.pools[at].log ? p->conf.pools[at].log : "the pool names none");
    log_warn("pool.job_failed job=%s pool=%s", j->is.id, j->is.pool);
    failed(p, &p->pool[at].patience, why);
}

/* Takes over a new list; what is known of a job that is still there stays. */
static void jobs_take(struct pools *p, const struct slurm_job *list, int n)
{
    struct pool_job *jobs = mem_array((size_t)n + 1, sizeof *jobs);

    for (int i = 0; i < n; i++) {
        const struct pool_job *old = job_find(p->jobs, p->n_jobs, list[i].id);
        struct pool_job *j = &jobs[i];

        if (old)
            *j = *old;
        if (old && old->is.state != list[i].state)
            j->is_cancelled = false; /* it began before it could be cancelled, or was requeued */
        j->is = list[i];
        if (j->is.state == SLURM_PENDING || j->is.state == SLURM_LATE)
            j->had_runner = false, j->started_ms = 0; /* it has been requeued */
        else if (j->started_ms == 0)
            j->started_ms = now_ms(p);
    }
    CHECK(p->jobs || p->n_jobs == 0);
    for (int i = 0; i < p->n_jobs; i++) {
        if (!job_find(jobs, n, p->jobs[i].is.id))
            note_gone(p, &p->jobs[i]);
    }
    mem_free(p->jobs);
    p->jobs = jobs;
    p->n_jobs = n;
}

/* The job that this runner says it is, by its label; false = it says nothing. */
static bool runner_job(const struct runner *r, char *out, size_t size)
{
    static const char key[] = "slurm_job=";
    const char *at = r->row.labels ? strstr(r->row.labels, key) : NULL;

    if (!at || (at > r->row.labels && at[-1] != ','))
        return false;
    at += sizeof key - 1;
    size_t n = MIN(strcspn(at, ","), size - 1);
    memcpy(out, at, n);
    out[n] = '\0';
    return n > 0;
}

/* Notes which jobs have a runner now. */
static void runners_note(struct pools *p)
{
    char id[SLURM_ID_MAX];

    for (int i = 0; i < p->n_jobs; i++)
        p->jobs[i].runner = 0;
    for (int i = 0; i < p->ctl->n_runners; i++) {
        const struct runner *r = p->ctl->runners[i];
        struct pool_job *j = runner_job(r, id, sizeof id) && runner_is_here(p->ctl, r)
                                 ? job_find(p->jobs, p->n_jobs, id)
                                 : NULL;

        if (!j || j->is.state == SLURM_PENDING || j->is.state == SLURM_LATE)
            continue; /* the runner of the job's life before it was requeued */
        j->runner = r->row.id;
        if (!j->had_runner) {
            int at = pool_at(p, j->is.pool);

            j->had_runner = true;
            log_info("pool.runner job=%s pool=%s runner=%" PRId64, j->is.id, j->is.pool, r->row.id);
            if (at >= 0 && p->pool[at].patience.fails > 0)
                worked(&p->pool[at].patience);
        }
    }
}

void pools_count(const struct pools *p, int at, struct plan_in *in)
{
    const struct pool_conf *c = &p->conf.pools[at];
    const struct pool *pool = &p->pool[at];

    *in = (struct plan_in){ .min = c->min,
                            .max = c->max,
                            .devices = pool_devices(c),
                            .idle_ms = c->idle_ms,
                            .is_closed = pool->patience.until_ms > now_ms(p),
                            .unwanted_ms = pool->unwanted_ms ? now_ms(p) - pool->unwanted_ms : 0 };
    for (int i = 0; i < p->n_jobs; i++) {
        const struct pool_job *j = &p->jobs[i];

        if (!str_eq(j->is.pool, c->name))
            continue;
        in->jobs++;
        in->pending += j->is.state == SLURM_PENDING;
        in->late += j->is.state == SLURM_LATE;
        in->running += j->is.state == SLURM_RUNNING;
        in->leaving += j->is.state == SLURM_LEAVING;
        in->starting += j->is.state == SLURM_RUNNING && !j->had_runner;
        in->kept += j->is.is_kept && j->is.state != SLURM_LEAVING;
    }
}

/* ---- the plan ---- */

/* What a pool may bring of what is wanted. The demand is for devices that no pool brings yet. */
static int wanted_of(const struct pool_conf *c, const struct demand *d)
{
    int n = d->any + (c->commands ? d->commands : 0) +
            (c->commands && c->gpus > 0 ? d->gpu_commands : 0);

    return MIN(n, DEMAND_MOST);
}

static void take(int *from, int *n)
{
    int taken = MIN(*from, *n);

    *from -= taken;
    *n -= taken;
}

static void taken_of(const struct pool_conf *c, struct demand *d, int n)
{
    if (c->commands && c->gpus > 0)
        take(&d->gpu_commands, &n);
    if (c->commands)
        take(&d->commands, &n);
    take(&d->any, &n);
}

/* Plans all pools, in the order of the file: what the first can bring, the next need not. True if
 * something is to be done. */
static bool plan_all(struct pools *p, struct plan *plans)
{
    struct demand left = p->demand;
    struct plan_in in;
    bool any = false;

    for (int i = 0; i < p->conf.n; i++) {
        struct pool *pool = &p->pool[i];

        pools_count(p, i, &in);
        in.wanted = pool->wanted = wanted_of(&p->conf.pools[i], &left);
        plan_pool(&in, &plans[i]);
        taken_of(&p->conf.pools[i], &left, plans[i].taken);
        if (!plans[i].is_unwanted)
            pool->unwanted_ms = 0;
        else if (pool->unwanted_ms == 0)
            pool->unwanted_ms = now_ms(p);
        any = any || plans[i].submit || plans[i].submit_kept || plans[i].cancel || plans[i].end;
    }
    for (int i = 0; i < p->n_jobs; i++)
        any = any || (pool_at(p, p->jobs[i].is.pool) < 0 && !p->jobs[i].is_cancelled);
    return any;
}

static void step_add(struct pools *p, enum step_kind kind, int pool, int n, bool is_kept)
{
    if (n <= 0)
        return;
    MEM_GROW(p->steps, p->n_steps, p->cap_steps);
    p->steps[p->n_steps++] = (struct step){ kind, pool, n, is_kept };
}

static void steps_make(struct pools *p)
{
    struct plan plans[POOLS_MAX];
    int strangers = 0;

    p->n_steps = p->at_step = 0;
    (void)plan_all(p, plans);
    for (int i = 0; i < p->conf.n; i++) {
        step_add(p, STEP_CANCEL, i, plans[i].cancel, false);
        step_add(p, STEP_END, i, plans[i].end, false);
        step_add(p, STEP_SUBMIT, i, plans[i].submit_kept, true);
        step_add(p, STEP_SUBMIT, i, plans[i].submit, false);
    }
    for (int i = 0; i < p->n_jobs; i++)
        strangers += pool_at(p, p->jobs[i].is.pool) < 0;
    step_add(p, STEP_CANCEL, -1, strangers, false);
    step_add(p, STEP_END, -1, strangers, false);
}

/* ---- rounds ---- */

static void step_next(struct pools *p);

static void round_end(struct pools *p)
{
    command_free(p->command);
    p->command = NULL;
    p->is_round = false;
}

static int run(struct pools *p, struct slurm_command *c, size_t max,
               void (*on_end)(void *arg, const char *out, const struct err *err), struct err *err)
{
    struct command_spec spec = { .loop = p->ctl->loop,
                                 .argv = c->argv,
                                 .input = c->text.data,
                                 .limit_ms = COMMAND_MS,
                                 .max_output = max,
                                 .on_end = on_end,
                                 .arg = p };

    command_free(p->command);
    p->command = command_start(&spec, err);
    slurm_command_fini(c);
    return p->command ? 0 : -1;
}

static void slurm_failed(struct pools *p, const struct err *err)
{
    if (p->patience.fails == 0)
        log_warn("pool.slurm err=\"%s\"", err->text);
    failed(p, &p->patience, err->text);
    round_end(p);
}

static void step_failed(struct pools *p, const struct step *s, const struct err *err)
{
    log_warn("pool.step pool=%s err=\"%s\"", s->pool < 0 ? "-" : p->conf.pools[s->pool].name,
             err->text);
    if (s->kind == STEP_SUBMIT)
        failed(p, &p->pool[s->pool].patience, err->text);
    else
        failed(p, &p->patience, err->text);
    step_next(p);
}

/* Jobs that were submitted count from now on: one that is gone when Slurm is asked next has failed,
 * although no list ever had it. */
static void jobs_add(struct pools *p, const struct step *s, const char *id)
{
    struct pool_job *jobs = mem_array((size_t)(p->n_jobs + s->n) + 1, sizeof *jobs);

    for (int i = 0; i < p->n_jobs; i++)
        jobs[i] = p->jobs[i];
    for (int i = 1; i <= s->n; i++) {
        struct slurm_job *is = &jobs[p->n_jobs++].is;

        *is = (struct slurm_job){ .is_kept = s->is_kept, .state = SLURM_PENDING };
        if (s->n == 1)
            str_copy(is->id, sizeof is->id, id);
        else
            (void)snprintf(is->id, sizeof is->id, "%.24s_%d", id, i);
        str_copy(is->pool, sizeof is->pool, p->conf.pools[s->pool].name);
        str_copy(is->says, sizeof is->says, "PENDING");
    }
    mem_free(p->jobs);
    p->jobs = jobs;
}

static void on_step(void *arg, const char *out, const struct err *err)
{
    struct pools *p = arg;
    const struct step *s = &p->steps[p->at_step - 1];
    char id[SLURM_ID_MAX];
    struct err why = { 0 };

    if (err) {
        step_failed(p, s, err);
        return;
    }
    if (s->kind == STEP_SUBMIT) {
        if (slurm_read_id(out, id, &why) < 0) {
            step_failed(p, s, &why);
            return;
        }
        p->pool[s->pool].submitted += s->n;
        jobs_add(p, s, id);
        log_info("pool.submitted pool=%s job=%s n=%d kept=%d", p->conf.pools[s->pool].name, id,
                 s->n, s->is_kept);
    }
    step_next(p);
}

/* The jobs to be cancelled or ended: the last ones of the list, and those that are kept at the
 * end. */
static int pick_jobs(struct pools *p, const struct step *s, const char *ids[CANCEL_MOST])
{
    int n = 0;

    for (int kept = 0; kept < 2; kept++) {
        for (int i = p->n_jobs - 1; i >= 0 && n < MIN(s->n, CANCEL_MOST); i--) {
            struct pool_job *j = &p->jobs[i];
            bool waits = j->is.state == SLURM_PENDING || j->is.state == SLURM_LATE;

            if (pool_at(p, j->is.pool) != s->pool || j->is.is_kept != (kept == 1) ||
                j->is_cancelled || j->is.state == SLURM_LEAVING ||
                waits != (s->kind == STEP_CANCEL))
                continue;
            j->is_cancelled = true;
            ids[n++] = j->is.id;
        }
    }
    return n;
}

static void step_next(struct pools *p)
{
    struct slurm_command c;
    struct err err = { 0 };
    const char *ids[CANCEL_MOST];

    while (p->at_step < p->n_steps) {
        const struct step *s = &p->steps[p->at_step++];
        int n = s->kind == STEP_SUBMIT ? 0 : pick_jobs(p, s, ids), rc = 0;

        if (s->kind != STEP_SUBMIT && n == 0)
            continue;
        if (s->kind == STEP_SUBMIT)
            rc = slurm_sbatch(&c, &p->conf.pools[s->pool], p->word, s->n, s->is_kept, &err);
        else if (s->kind == STEP_CANCEL)
            slurm_scancel(&c, ids, n);
        else
            slurm_terminate(&c, ids, n);
        if (n > 0)
            log_info("pool.%s n=%d first=%s", s->kind == STEP_CANCEL ? "cancel" : "end", n, ids[0]);
        p->listed_ms = INT64_MIN; /* the next look asks for a new list */
        if (rc == 0 && run(p, &c, 64 << 10, on_step, &err) == 0)
            return;
        if (rc < 0)
            slurm_command_fini(&c);
        slurm_failed(p, &err);
        return;
    }
    round_end(p);
}

static void on_list(void *arg, const char *out, const struct err *err)
{
    struct pools *p = arg;
    struct slurm_job *list = NULL;
    struct err why = { 0 };
    int n = 0;

    if (err || slurm_read_jobs(out, p->word, &list, &n, &why) < 0) {
        slurm_failed(p, err ? err : &why);
        return;
    }
    if (p->patience.fails > 0)
        log_info("pool.slurm_back jobs=%d", n);
    worked(&p->patience);
    jobs_take(p, list, n);
    mem_free(list);
    p->listed_ms = p->asked_ms;
    runners_note(p);
    demand_count(p->ctl, &p->demand);
    steps_make(p);
    step_next(p);
}

static void round_begin(struct pools *p)
{
    struct slurm_command c;
    struct err err = { 0 };

    p->is_round = true;
    p->asked_ms = now_ms(p);
    slurm_squeue(&c);
    if (run(p, &c, SLURM_LIST_MAX, on_list, &err) < 0)
        slurm_failed(p, &err);
}

static void on_look(void *arg)
{
    struct pools *p = arg;
    struct plan plans[POOLS_MAX];
    int64_t now = now_ms(p);

    if (p->ctl->is_stopping || p->is_round || now < p->patience.until_ms ||
        now - p->asked_ms < GAP_MS)
        return;
    runners_note(p);
    demand_count(p->ctl, &p->demand);
    if (p->listed_ms == INT64_MIN || now - p->listed_ms >= p->conf.poll_ms || plan_all(p, plans))
        round_begin(p);
}

/* ---- life ---- */

/* The word by which this data folder's jobs are known; made at the first start. */
static int word_read(struct pools *p, struct err *err)
{
    char path[1100];
    uint8_t bytes[4];
    struct buf file;
    int rc = 0;

    if (snprintf(path, sizeof path, "%s/pool-word", p->ctl->conf.data_dir) >= (int)sizeof path)
        return err_set(err, ERR_ARG, "the data folder's path is too long");
    rc = io_read_file(path, 64, &file, err);
    if (rc == 0 && file.len > 0 && strspn(file.data, "0123456789abcdef") >= 8)
        str_copy(p->word, 9, file.data);
    buf_fini(&file);
    if (p->word[0])
        return 0;
    if (rc == 0 || err->code != ERR_NOTFOUND)
        return rc == 0 ? err_set(err, ERR_IO, "%s holds no word", path) : -1;
    err_clear(err);
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return err_errno(err, "random bytes");
    str_hex(bytes, sizeof bytes, p->word);
    return io_replace(path, p->word, strlen(p->word), 0600, err);
}

struct pools *pools_new(struct ctl *ctl, const char *path, struct err *err)
{
    struct pools *p = mem_zalloc(sizeof *p);

    p->ctl = ctl;
    p->path = mem_strdup(path);
    p->listed_ms = INT64_MIN;
    if (pools_conf_load(&p->conf, path, err) < 0 || word_read(p, err) < 0) {
        pools_free(p);
        return NULL;
    }
    p->timer = loop_timer_new(ctl->loop, 0, LOOK_MS, on_look, p);
    ctl->pools = p;
    return p;
}

void pools_free(struct pools *p)
{
    if (!p)
        return;
    if (p->ctl->pools == p)
        p->ctl->pools = NULL;
    command_free(p->command);
    loop_timer_free(p->timer);
    pools_conf_fini(&p->conf);
    mem_free(p->jobs);
    mem_free(p->steps);
    mem_free(p->path);
    mem_free(p);
}

int pools_reload(struct pools *p, struct err *err)
{
    struct pools_conf now;

    if (pools_conf_load(&now, p->path, err) < 0) {
        pools_conf_fini(&now);
        return -1;
    }
    /* Steps and a command's arguments refer to the former pools. */
    round_end(p);
    p->listed_ms = INT64_MIN;
    memset(p->pool, 0, sizeof p->pool);
    pools_conf_fini(&p->conf);
    p->conf = now;
    return 0;
}
