/* preview.c - runs the scheduler on made-up trials, with a clock that counts cost. A trial's values
 * rise along its ladder, so rules that look at one trial alone let it run. Between trials, values
 * are random (typical) or rise with the trial's number (the worst case). A few thousand trials take
 * milliseconds. */
#include "search/preview.h"

#include "base/mem.h"
#include "base/rng.h"

#include <string.h>

/* MAX_SLOTS: the most trials in flight at a time. OPEN_TRIALS: trials of a preview without budget
 * and brackets. RETIRE_BATCH: retired trials asked for in one call. */
enum { MAX_SLOTS = 64, OPEN_TRIALS = 100, MAX_LEVEL = 1 << 20, RETIRE_BATCH = 16 };

struct made_up {
    int ladder, level, to;
    double end; /* the time at which it comes to `to` */
};

struct run {
    const struct scheduler_ops *ops;
    struct scheduler *s;
    const struct preview_ladder *ladders;
    int n_ladders, n_slots, n_running;
    bool is_worst;
    struct made_up *trials; /* number - 1 */
    int64_t *running;       /* trial numbers, n_slots at most */
    int64_t n_trials, n_started;
    double clock;
};

/* What a trial spends up to a level in all. */
static double cost_of(const struct preview_ladder *l, int level)
{
    return level < 1 ? 0 : l->cost ? l->cost[level - 1] : (double)level / l->max_level;
}

/* Sends a trial to its next level; it arrives when the clock has moved by the difference of
 * costs. */
static void run_on(struct run *r, int64_t trial, int to)
{
    struct made_up *t = &r->trials[trial - 1];
    const struct preview_ladder *l = &r->ladders[t->ladder];

    CHECK(to > t->level && to <= l->max_level);
    t->to = to;
    t->end = r->clock + cost_of(l, to) - cost_of(l, t->level);
}

/* Gives work to one free slot, in the order that scheduler.h prescribes. False if there is none. */
static bool fill_one(struct run *r, struct err *err)
{
    struct sched_resume go = { 0 };
    int got = r->ops->resume(r->s, 1, false, &go, err);

    if (got == 0 && r->n_started < r->n_trials) {
        int64_t trial = ++r->n_started;
        struct made_up *t = &r->trials[trial - 1];
        t->ladder = (int)((trial - 1) % r->n_ladders);
        const struct preview_ladder *l = &r->ladders[t->ladder];
        go = (struct sched_resume){ trial,
                                    r->ops->start(r->s, trial, l->family, l->max_level, err) };
        got = 1;
    }
    if (got == 0)
        got = r->ops->resume(r->s, 1, true, &go, err);
    if (got <= 0)
        return false;
    run_on(r, go.trial, go.to);
    r->running[r->n_running++] = go.trial;
    return true;
}

/* Rises with the level by less than one half in all, so that it never changes the order of two
 * trials. */
static double value_of(const struct run *r, int64_t trial, int level)
{
    uint32_t draw[4];

    if (r->is_worst)
        return (double)trial + (double)level / (2.0 * MAX_LEVEL);
    rng_at(r->s->seed, 1, 0, (uint64_t)trial, draw);
    return (double)draw[0] + (double)level / (2.0 * MAX_LEVEL);
}

/* The running trial that ends first comes to its level. */
static int step(struct run *r, struct err *err)
{
    struct sched_decision d = { SCHED_DONE, 0 };
    int first = 0;

    CHECK(r->n_running > 0);
    for (int i = 1; i < r->n_running; i++) {
        double a = r->trials[r->running[i] - 1].end, b = r->trials[r->running[first] - 1].end;
        if (a < b || (a == b && r->running[i] < r->running[first]))
            first = i;
    }
    int64_t trial = r->running[first];
    struct made_up *t = &r->trials[trial - 1];
    int top = r->ladders[t->ladder].max_level;
    r->clock = t->end;
    t->level = t->to;
    struct observation o = { .trial = trial,
                             .state = t->level == top ? OBS_COMPLETED : OBS_RUNNING,
                             .level = t->level,
                             .max_level = top,
                             .value = value_of(r, trial, t->level),
                             .cost = cost_of(&r->ladders[t->ladder], t->level) };
    if (r->ops->report(r->s, &o, &d, err) < 0)
        return -1;
    if (d.action == SCHED_RUN_TO)
        run_on(r, trial, d.to);
    else
        r->running[first] = r->running[--r->n_running];
    return 0;
}

static int run_all(struct run *r, struct err *err)
{
    int64_t retired[RETIRE_BATCH];
    int n = 0;

    for (;;) {
        while (r->n_running < r->n_slots && fill_one(r, err))
            continue;
        if (r->n_running == 0)
            return 0;
        if (step(r, err) < 0)
            return -1;
        /* Retired trials end at the level where they are; count() sees them there. */
        do {
            n = r->ops->retire(r->s, RETIRE_BATCH, r->n_started == r->n_trials, retired, err);
        } while (n == RETIRE_BATCH);
        if (n < 0)
            return -1;
    }
}

/* ---- counting ---- */

/* The line of a ladder and level; a new one is put in its place. */
static int line_of(struct preview *p, int ladder, int level)
{
    int at = 0;

    while (at < p->n_lines && (p->lines[at].ladder < ladder ||
                               (p->lines[at].ladder == ladder && p->lines[at].level < level)))
        at++;
    if (at < p->n_lines && p->lines[at].ladder == ladder && p->lines[at].level == level)
        return at;
    p->lines = mem_resize(p->lines, (size_t)(p->n_lines + 1) * sizeof *p->lines);
    memmove(p->lines + at + 1, p->lines + at, (size_t)(p->n_lines - at) * sizeof *p->lines);
    p->lines[at] = (struct preview_line){ .ladder = ladder, .level = level };
    p->n_lines++;
    return at;
}

/* Adds every made-up trial to the line of the level at which it ended. */
static void count(struct preview *p, const struct run *r)
{
    for (int64_t i = 0; i < r->n_started; i++) {
        const struct made_up *t = &r->trials[i];
        const struct preview_ladder *l = &r->ladders[t->ladder];
        int at = line_of(p, t->ladder, t->level); /* may move the lines */
        struct preview_line *line = &p->lines[at];
        if (r->is_worst) {
            line->most++;
            p->most += cost_of(l, t->level);
            p->full += cost_of(l, l->max_level);
        } else {
            line->typical++;
            p->typical += cost_of(l, t->level);
        }
    }
}

/* One run over n trials, counted into *out. */
static int run_once(const struct scheduler_ops *ops, const struct search_setup *setup,
                    const struct preview_ladder *ladders, int n_ladders, int64_t n, bool is_worst,
                    struct preview *out, struct err *err)
{
    struct run r = { .ops = ops,
                     .ladders = ladders,
                     .n_ladders = n_ladders,
                     .n_slots = MIN(MAX(setup->parallel, 1), MAX_SLOTS),
                     .is_worst = is_worst,
                     .n_trials = n };
    int rc = -1;

    r.s = ops->open(setup, err);
    if (!r.s)
        return -1;
    r.trials = mem_array((size_t)n, sizeof *r.trials);
    r.running = mem_array((size_t)r.n_slots, sizeof *r.running);
    if (run_all(&r, err) == 0) {
        count(out, &r);
        rc = 0;
    }
    mem_free(r.running);
    mem_free(r.trials);
    scheduler_close(r.s);
    return rc;
}

/* ---- how many ---- */

/* The first rung of the last bracket. False if the scheduler has no bracket of planned size. */
static bool last_bracket(const struct scheduler *s, struct sched_rung *out)
{
    struct sched_rung rows[64];
    int n = s->ops->describe ? s->ops->describe(s, 0, 0, NULL) : 0;
    int first = MAX(n - (int)ARRAY_LEN(rows), 0);

    if (n == 0)
        return false;
    (void)s->ops->describe(s, first, (int)ARRAY_LEN(rows), rows);
    for (int i = n - first - 1; i >= 0; i--) {
        if (rows[i].rung == 0) {
            *out = rows[i];
            return rows[i].size > 0;
        }
    }
    return false;
}

/* The number of trials in one round of brackets, until a bracket like the first opens again. 0 =
 * there are no rounds. */
static int64_t round_of(const struct scheduler_ops *ops, const struct search_setup *setup,
                        const struct preview_ladder *l)
{
    struct scheduler *s = ops->open(setup, NULL);
    struct sched_rung first = { 0 }, last = { 0 };
    int64_t n = 0;

    for (int64_t trial = 1; s && trial <= PREVIEW_MAX_TRIALS && n == 0; trial++) {
        if (ops->start(s, trial, l->family, l->max_level, NULL) < 0 || !last_bracket(s, &last))
            break;
        if (trial == 1)
            first = last;
        else if (last.bracket > 0 && last.level == first.level && last.size == first.size)
            n = trial - 1;
    }
    scheduler_close(s);
    return n;
}

static int check(const struct search_setup *setup, const struct preview_ladder *ladders,
                 int n_ladders, struct err *err)
{
    if (n_ladders < 1)
        return err_set(err, ERR_ARG, "a preview needs at least one ladder");
    if (setup->budget_trials < 0)
        return err_set(err, ERR_ARG, "a budget of trials cannot be negative");
    for (int i = 0; i < n_ladders; i++) {
        if (ladders[i].max_level < 1 || ladders[i].max_level > MAX_LEVEL)
            return err_set(err, ERR_ARG, "a ladder has from 1 to %d levels, not %d", MAX_LEVEL,
                           ladders[i].max_level);
        for (int k = 1; ladders[i].cost && k < ladders[i].max_level; k++) {
            if (!(ladders[i].cost[k] >= ladders[i].cost[k - 1]))
                return err_set(err, ERR_ARG, "the cost of level %d is below that of level %d",
                               k + 1, k);
        }
    }
    return 0;
}

static void scale_up(struct preview *p, double by)
{
    for (int i = 0; i < p->n_lines; i++) {
        p->lines[i].typical = (int64_t)((double)p->lines[i].typical * by + 0.5);
        p->lines[i].most = (int64_t)((double)p->lines[i].most * by + 0.5);
    }
    p->typical *= by;
    p->most *= by;
    p->full *= by;
}

int preview_make(const struct scheduler_ops *ops, const struct search_setup *setup,
                 const struct preview_ladder *ladders, int n_ladders, struct preview *out,
                 struct err *err)
{
    int64_t n = setup->budget_trials, most = 0;

    *out = (struct preview){ 0 };
    if (check(setup, ladders, n_ladders, err) < 0)
        return -1;
    out->is_open = n == 0;
    for (int i = 0; n == 0 && i < n_ladders; i++)
        most = MAX(most, round_of(ops, setup, &ladders[i]));
    if (n == 0)
        n = most > 0 ? most * n_ladders : OPEN_TRIALS;
    out->trials = n;
    out->is_scaled = n > PREVIEW_MAX_TRIALS;
    n = MIN(n, PREVIEW_MAX_TRIALS);
    if (run_once(ops, setup, ladders, n_ladders, n, false, out, err) < 0 ||
        run_once(ops, setup, ladders, n_ladders, n, true, out, err) < 0) {
        preview_fini(out);
        return -1;
    }
    if (out->is_scaled)
        scale_up(out, (double)out->trials / (double)n);
    return 0;
}

void preview_fini(struct preview *p)
{
    mem_free(p->lines);
    *p = (struct preview){ 0 };
}
