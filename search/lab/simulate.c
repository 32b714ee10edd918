/* simulate.c - the event loop of the simulated clock (simulate.h). Time is in the table's seconds.
 *
 * There is one event for each running trial: it reaches the level that it was sent to. Nothing can
 * happen to it before, so the epochs on the way are counted when it sets off, each at the time at
 * which it will end. Events are handled in order of (time, trial number). Equal times are common in
 * grids; there the oldest trial is told first. */
#include "search/lab/simulate.h"

#include "base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Retired trials are asked for in groups of this many. */
enum { RETIRE_BATCH = 32 };
static const uint64_t NOISE_TAG = 0x6e6f697365; /* "noise" */
enum sim_state { SIM_RUNNING, SIM_PAUSED, SIM_ENDED };

/* config: the table's entry. level: the one reached. to: the one that it runs to. */
struct sim_trial {
    size_t config;
    int level, to;
    enum sim_state state;
};
/* A running trial reaches its level at this time. */
struct event {
    double at;
    int64_t trial;
};

struct sim {
    const struct sim_conf *conf;
    struct sim_result *r;
    struct sampler *sampler;
    struct scheduler *scheduler;
    double *point;            /* scratch */
    bool *taken;              /* by configuration */
    struct sim_trial *trials; /* by number - 1 */
    size_t cap_trials, cap_trace;
    struct event *heap;
    int n_running;
    /* The limit of trials is reached, or the sampler or the table has no more. */
    bool is_exhausted;
    double now, best, best_told; /* best_told: with noise */
};

/* ---- the queue of events: a binary heap ---- */

static bool before(const struct event *a, const struct event *b)
{
    return a->at < b->at || (a->at == b->at && a->trial < b->trial);
}

static void heap_push(struct sim *m, struct event e)
{
    CHECK(m->n_running < m->conf->workers);
    int i = m->n_running++;

    for (; i > 0 && before(&e, &m->heap[(i - 1) / 2]); i = (i - 1) / 2)
        m->heap[i] = m->heap[(i - 1) / 2];
    m->heap[i] = e;
}

static struct event heap_pop(struct sim *m)
{
    struct event top = m->heap[0], e = m->heap[--m->n_running];
    int i = 0;

    for (int c = 1; c < m->n_running; c = 2 * i + 1) {
        if (c + 1 < m->n_running && before(&m->heap[c + 1], &m->heap[c]))
            c++;
        if (!before(&m->heap[c], &e))
            break;
        m->heap[i] = m->heap[c];
        i = c;
    }
    m->heap[i] = e;
    return top;
}

/* ---- the best so far ---- */

/* A value that is known at time `at`. With a clock it goes into the first share of the trace that
 * ends at or after `at`; trace_close makes it count from there on. */
static void trace_value(struct sim *m, double at, double value)
{
    double clock = m->conf->clock;

    if (isnan(value) || (clock > 0 && at > clock))
        return;
    m->best = fmax(m->best, value);
    if (clock <= 0)
        return;
    int i = MIN(SIM_SHARES, (int)(at / clock * SIM_SHARES));
    while (i > 0 && at <= clock * (i - 1) / SIM_SHARES)
        i--;
    while (i < SIM_SHARES && at > clock * i / SIM_SHARES)
        i++;
    m->r->trace[i] = fmax(m->r->trace[i], value);
}

/* With a clock: each share takes over the best of the one before. */
static void trace_close(struct sim *m)
{
    for (size_t i = 1; i < m->r->n_trace && m->conf->clock > 0; i++)
        m->r->trace[i] = fmax(m->r->trace[i], m->r->trace[i - 1]);
}

/* Without a clock the trace has an entry for each trial that has ended. */
static void trace_end(struct sim *m)
{
    struct sim_result *r = m->r;

    if (m->conf->clock > 0)
        return;
    MEM_GROW(r->trace, r->n_trace, m->cap_trace);
    r->trace[r->n_trace++] = m->best;
}

/* ---- trials ---- */

/* The epochs that a level of the ladder spends in all; level 0 spends none. */
static int epoch_of(const struct sim *m, int level)
{
    return level > 0 ? m->conf->ladder[level - 1] : 0;
}

static struct sim_trial *trial_of(struct sim *m, int64_t trial)
{
    return trial >= 1 && trial <= m->r->started ? &m->trials[trial - 1] : NULL;
}

/* Sends a trial to a level, starting now. */
static int run(struct sim *m, int64_t trial, int to, struct err *err)
{
    struct sim_trial *t = trial_of(m, trial);
    const struct tabular *table = m->conf->table;

    if (!t || to <= t->level || to > m->conf->n_levels)
        return err_set(err, ERR_CONFLICT, "%s sends trial %" PRId64 " to level %d",
                       m->scheduler->ops->name, trial, to);
    int from = epoch_of(m, t->level), until = epoch_of(m, to);
    double since = m->now - tabular_seconds(table, t->config, from);
    for (int e = from + 1; e <= until && m->conf->clock > 0; e++)
        trace_value(m, since + tabular_seconds(table, t->config, e),
                    tabular_value(table, t->config, e));
    t->to = to;
    t->state = SIM_RUNNING;
    heap_push(m, (struct event){ since + tabular_seconds(table, t->config, until), trial });
    return 0;
}

static void trial_add(struct sim *m, size_t config)
{
    MEM_GROW(m->trials, m->r->started, m->cap_trials);
    m->trials[m->r->started++] = (struct sim_trial){ .config = config };
    m->r->repeats += m->taken[config];
    m->taken[config] = true;
}

/* Starts a new trial: 1 = started, 0 = there are no more, -1 = error. */
static int start_one(struct sim *m, struct err *err)
{
    int64_t trial = m->r->started + 1;
    size_t config = TABULAR_NONE;

    if (m->is_exhausted)
        return 0;
    m->is_exhausted = true;
    if (m->conf->trials > 0 && trial > m->conf->trials)
        return 0;
    /* A table of curves has few configurations in a space with many points: the sampler would go on
     * proposing, but no configuration is left. */
    if (!m->conf->table->is_grid && (uint64_t)m->r->started >= m->conf->table->n)
        return 0;
    int rc = m->sampler->ops->suggest(m->sampler, trial, 1, m->point, err);
    if (rc <= 0)
        return rc;
    if (space_check(m->conf->table->space, m->point, err) < 0)
        return err_wrap(err, "%s proposes", m->sampler->ops->name);
    config = tabular_find(m->conf->table, m->point, m->taken);
    CHECK(config != TABULAR_NONE);
    trial_add(m, config);
    m->is_exhausted = false;
    int to = m->scheduler->ops->start(m->scheduler, trial, 0, m->conf->n_levels, err);
    return to < 0 || run(m, trial, to, err) < 0 ? -1 : 1;
}

static int resume_one(struct sim *m, bool idle, struct err *err)
{
    struct sched_resume go = { 0 };
    int rc = m->scheduler->ops->resume(m->scheduler, 1, idle, &go, err);

    if (rc <= 0)
        return rc;
    struct sim_trial *t = trial_of(m, go.trial);
    if (!t || t->state != SIM_PAUSED)
        return err_set(err, ERR_CONFLICT, "%s resumes trial %" PRId64 ", which is not paused",
                       m->scheduler->ops->name, go.trial);
    m->r->resumed++;
    m->r->paused--;
    return run(m, go.trial, go.to, err) < 0 ? -1 : 1;
}

/* Gives every free worker a trial, in the order that scheduler.h asks of a study: resume, start,
 * then resume once more with `idle`, which lets a scheduler close a bracket that will not be
 * filled. */
static int fill(struct sim *m, struct err *err)
{
    while (m->n_running < m->conf->workers) {
        int rc = resume_one(m, false, err);

        if (rc == 0)
            rc = start_one(m, err);
        if (rc == 0)
            rc = resume_one(m, true, err);
        if (rc < 0)
            return -1;
        if (rc == 0)
            break;
    }
    return 0;
}

/* ---- noise ---- */

/* What is told in place of a value. The draw belongs to the search's seed and the trial, so two
 * samplers are told the same noise and a repeated configuration gets another draw. */
static double noisy(const struct sim *m, int64_t trial, int epoch, double value)
{
    struct rng r;

    if (m->conf->noise <= 0 || isnan(value))
        return value;
    rng_init(&r, rng_mix(m->conf->seed, NOISE_TAG), rng_mix((uint64_t)trial, (uint64_t)epoch));
    return value + m->conf->noise * m->conf->table->spread * rng_normal(&r);
}

/* With noise the best so far is what the user would be given: the configuration that looked best,
 * by its true value. */
static void trace_told(struct sim *m, double value, double told)
{
    if (m->conf->noise <= 0 || isnan(told)) {
        trace_value(m, m->now, value);
    } else if (isnan(m->best_told) || told > m->best_told) {
        m->best_told = told;
        m->best = value;
    }
}

/* ---- reports ---- */

static struct observation observation_of(const struct sim *m, int64_t trial, enum obs_state state,
                                         double value)
{
    const struct sim_trial *t = &m->trials[trial - 1];

    return (struct observation){
        .trial = trial,
        .state = state,
        .level = t->level,
        .max_level = m->conf->n_levels,
        .value = value,
        .cost =
            floor(1000 * tabular_seconds(m->conf->table, t->config, epoch_of(m, t->level)) + 0.5),
    };
}

/* A trial was stopped or retired. The scheduler knows; the sampler is told that no more values will
 * come. */
static int prune(struct sim *m, int64_t trial, struct err *err)
{
    struct observation o = observation_of(m, trial, OBS_PRUNED, NAN);

    m->trials[trial - 1].state = SIM_ENDED;
    if (m->sampler->ops->observe(m->sampler, &o, err) < 0)
        return -1;
    trace_end(m);
    return 0;
}

/* Carries out what the scheduler decided. */
static int obey(struct sim *m, int64_t trial, const struct sched_decision *d, struct err *err)
{
    struct sim_trial *t = &m->trials[trial - 1];

    switch (d->action) {
    case SCHED_RUN_TO:
        return run(m, trial, d->to, err);
    case SCHED_PAUSE:
        t->state = SIM_PAUSED;
        m->r->paused++;
        return 0;
    case SCHED_STOP:
        m->r->stopped++;
        return prune(m, trial, err);
    case SCHED_DONE:
        break;
    }
    return err_set(err, ERR_CONFLICT, "%s calls trial %" PRId64 " done at level %d of %d",
                   m->scheduler->ops->name, trial, t->level, m->conf->n_levels);
}

/* A trial has reached its level: the sampler is told, then the scheduler, whose decision is carried
 * out. */
static int report(struct sim *m, int64_t trial, struct err *err)
{
    struct sim_trial *t = &m->trials[trial - 1];
    struct sched_decision d = { SCHED_DONE, 0 };
    int from = t->level;

    t->level = t->to;
    double value = tabular_value(m->conf->table, t->config, epoch_of(m, t->level));
    double told = noisy(m, trial, epoch_of(m, t->level), value);
    bool is_top = t->level == m->conf->n_levels, is_failure = isnan(value);
    enum obs_state state = is_failure ? OBS_FAILED : is_top ? OBS_COMPLETED : OBS_RUNNING;
    struct observation o = observation_of(m, trial, state, told);

    for (int k = from; k < t->level; k++)
        m->r->reached[k]++;
    if (m->sampler->ops->observe(m->sampler, &o, err) < 0 ||
        m->scheduler->ops->report(m->scheduler, &o, &d, err) < 0)
        return -1;
    if (m->conf->clock <= 0)
        trace_told(m, value, told);
    if (state == OBS_RUNNING)
        return obey(m, trial, &d, err);
    t->state = SIM_ENDED;
    m->r->completed += !is_failure;
    m->r->failed += is_failure;
    trace_end(m);
    return 0;
}

/* Asks which paused trials will never go on, and ends them. */
static int retire(struct sim *m, bool closing, struct err *err)
{
    int64_t trials[RETIRE_BATCH];
    int n;

    while (m->r->paused > 0 &&
           (n = m->scheduler->ops->retire(m->scheduler, RETIRE_BATCH, closing, trials, err)) != 0) {
        for (int i = 0; i < n; i++) {
            struct sim_trial *t = trial_of(m, trials[i]);
            if (!t || t->state != SIM_PAUSED)
                return err_set(err, ERR_CONFLICT,
                               "%s retires trial %" PRId64 ", which is not paused",
                               m->scheduler->ops->name, trials[i]);
            m->r->paused--;
            m->r->retired++;
            if (prune(m, trials[i], err) < 0)
                return -1;
        }
        if (n < 0)
            return -1;
    }
    return 0;
}

/* ---- the loop ---- */

/* Moves the clock and books what the workers did meanwhile. */
static void advance(struct sim *m, double to)
{
    double dt = to - m->now;

    m->r->busy += dt * m->n_running;
    m->r->idle += dt * (m->conf->workers - m->n_running);
    if (!m->is_exhausted)
        m->r->idle_open += dt * (m->conf->workers - m->n_running);
    m->now = to;
}

static int loop(struct sim *m, struct err *err)
{
    double clock = m->conf->clock;

    for (;;) {
        if (fill(m, err) < 0)
            return -1;
        if (m->n_running == 0)
            break;
        if (clock > 0 && m->heap[0].at > clock)
            break;
        advance(m, m->heap[0].at);
        struct event e = heap_pop(m);
        if (report(m, e.trial, err) < 0 || retire(m, m->is_exhausted, err) < 0)
            return -1;
    }
    if (clock > 0)
        advance(m, clock);
    m->r->end = m->now;
    m->r->running = m->n_running;
    return m->n_running == 0 ? retire(m, true, err) : 0;
}

/* The sampler and the scheduler draw from seeds of their own, so that changing one does not change
 * the other's draws. */
static int sim_open(struct sim *m, struct err *err)
{
    const struct sim_conf *c = m->conf;
    double options[SEARCH_MAX_OPTIONS];
    struct search_setup setup = {
        .options = options, .budget_trials = c->trials, .parallel = c->workers, .n_objectives = 1
    };

    if (c->workers < 1 || c->workers > SIM_MAX_WORKERS)
        return err_at(err, "workers", "must be from 1 to %d", SIM_MAX_WORKERS);
    search_options_default(c->sampler->options, c->sampler->n_options, options);
    if (c->sampler_options)
        setup.options = c->sampler_options;
    setup.seed = rng_mix(c->seed, 1);
    m->sampler = c->sampler->open(c->table->space, &setup, err);
    if (!m->sampler)
        return -1;
    search_options_default(c->scheduler->options, c->scheduler->n_options, options);
    setup.options = c->scheduler_options ? c->scheduler_options : options;
    setup.seed = rng_mix(c->seed, 2);
    m->scheduler = c->scheduler->open(&setup, err);
    return m->scheduler ? 0 : -1;
}

static void check_ladder(const struct sim_conf *c)
{
    CHECK(c->n_levels >= 1 && c->n_levels <= TABULAR_MAX_LEVELS);
    for (int i = 0; i < c->n_levels; i++)
        CHECK(c->ladder[i] > (i > 0 ? c->ladder[i - 1] : 0));
    CHECK(c->ladder[c->n_levels - 1] == c->table->epochs);
}

int simulate(const struct sim_conf *conf, struct sim_result *r, struct err *err)
{
    struct sim_result result = { .n_trace = conf->clock > 0 ? SIM_SHARES + 1 : 1 };
    struct sim m = { .conf = conf, .r = &result, .best = NAN, .best_told = NAN };

    check_ladder(conf);
    m.cap_trace = conf->clock > 0 ? result.n_trace : 256;
    result.trace = mem_array(m.cap_trace, sizeof *result.trace);
    for (size_t i = 0; i < result.n_trace; i++)
        result.trace[i] = NAN;
    m.point = mem_array((size_t)MAX(conf->table->space->n, 1), sizeof *m.point);
    m.taken = mem_array(conf->table->n, sizeof *m.taken);
    int rc = sim_open(&m, err);
    if (rc == 0) {
        m.heap = mem_array((size_t)conf->workers, sizeof *m.heap);
        rc = loop(&m, err);
    }
    trace_close(&m);
    sampler_close(m.sampler);
    scheduler_close(m.scheduler);
    mem_free(m.point);
    mem_free(m.taken);
    mem_free(m.trials);
    mem_free(m.heap);
    if (rc == 0)
        *r = result;
    else
        sim_result_fini(&result);
    return rc;
}

void sim_result_fini(struct sim_result *r)
{
    mem_free(r->trace);
    *r = (struct sim_result){ 0 };
}
