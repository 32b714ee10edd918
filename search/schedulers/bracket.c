/* bracket.c - filling brackets, and deciding a rung once all of its trials have come to it
 * (bracket.h).
 *
 * A trial's state in the roster says where it stands. RUNNING: it runs to its rung. PAUSED: it has
 * come there and waits for the others. CALLED: it was chosen to go on, and bracket_resume has not
 * handed it out yet. LOST: it was not chosen, and bracket_retire has not told yet. STOPPED and
 * ENDED are final. A bracket's n_pending counts its RUNNING and CALLED trials; when it is 0, all
 * have come, and the rung is decided. */
#include "search/schedulers/bracket.h"

#include "base/bisect.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- sets of trials ---- */

/* The place of an id, or the place where it belongs. */
static size_t id_place(const struct id_set *s, int64_t id)
{
    size_t at;

    BISECT(at, s->n, s->ids[at] < id);
    return at;
}

void id_set_add(struct id_set *s, int64_t id)
{
    size_t at = id_place(s, id);

    MEM_GROW(s->ids, s->n, s->cap);
    memmove(s->ids + at + 1, s->ids + at, (s->n - at) * sizeof *s->ids);
    s->ids[at] = id;
    s->n++;
}

static void id_set_remove(struct id_set *s, int64_t id)
{
    size_t at = id_place(s, id);

    CHECK(at < s->n && s->ids[at] == id);
    memmove(s->ids + at, s->ids + at + 1, (s->n - at - 1) * sizeof *s->ids);
    s->n--;
}

/* ---- the table ---- */

/* struct scheduler is the table's first member. */
static struct bracket_table *of(struct scheduler *s)
{
    return (struct bracket_table *)s;
}

struct bracket_table *bracket_open(const struct scheduler_ops *ops, bracket_planner *plan,
                                   const struct search_setup *setup)
{
    struct bracket_table *t = mem_zalloc(sizeof *t);

    CHECK(ops->n_options >= BRACKET_OPTIONS && ops->n_options <= BRACKET_MAX_OPTIONS);
    t->base = (struct scheduler){ ops, setup->seed };
    t->plan = plan;
    t->n_options = ops->n_options;
    search_options_default(ops->options, ops->n_options, t->options);
    if (setup->options)
        memcpy(t->options, setup->options, (size_t)ops->n_options * sizeof *t->options);
    t->rule = (struct rung_rule){ (int)t->options[BRACKET_ETA], (int)t->options[BRACKET_MIN_LEVEL],
                                  (int)t->options[BRACKET_PER_LEVEL] };
    return t;
}

void bracket_close(struct scheduler *s)
{
    struct bracket_table *t = of(s);

    for (int i = 0; i < t->n_brackets; i++) {
        mem_free(t->brackets[i].members.ids);
        mem_free(t->brackets[i].best);
    }
    mem_free(t->brackets);
    mem_free(t->ladders);
    mem_free(t->called.ids);
    mem_free(t->lost.ids);
    roster_fini(&t->roster);
    mem_free(t);
}

void bracket_plan_of(const struct bracket_table *t, const struct bracket *b,
                     struct bracket_plan *out)
{
    t->plan(t, t->ladders[b->ladder].max_level, b->nth, out);
    CHECK(out->n >= 1 && out->n <= RUNG_MAX);
}

/* The ladder of this family and number of levels; a new one is added. */
struct bracket_ladder *bracket_ladder_at(struct bracket_table *t, int family, int max_level)
{
    for (int i = 0; i < t->n_ladders; i++) {
        if (t->ladders[i].family == family && t->ladders[i].max_level == max_level)
            return &t->ladders[i];
    }
    t->ladders = mem_resize(t->ladders, (size_t)(t->n_ladders + 1) * sizeof *t->ladders);
    t->ladders[t->n_ladders] = (struct bracket_ladder){ family, max_level, 0, -1 };
    return &t->ladders[t->n_ladders++];
}

/* Opens the ladder's next bracket. New trials join it from now on. */
struct bracket *bracket_add(struct bracket_table *t, int ladder)
{
    struct bracket_plan plan;

    MEM_GROW(t->brackets, t->n_brackets, t->cap_brackets);
    struct bracket *b = &t->brackets[t->n_brackets++];
    *b = (struct bracket){ .ladder = ladder, .nth = t->ladders[ladder].n_brackets++ };
    bracket_plan_of(t, b, &plan);
    b->best = mem_array((size_t)plan.n, sizeof *b->best);
    for (int i = 0; i < plan.n; i++)
        b->best[i] = NAN;
    t->ladders[ladder].filling = t->n_brackets - 1;
    return b;
}

static bool is_filling(const struct bracket_table *t, const struct bracket *b)
{
    return t->ladders[b->ladder].filling == (int)(b - t->brackets);
}

/* A trial that has started before keeps its bracket and its rung. */
int bracket_start(struct scheduler *s, int64_t trial, int family, int max_level, struct err *err)
{
    struct bracket_table *t = of(s);
    struct roster_entry *e = roster_find(&t->roster, trial);
    struct bracket_plan plan;

    if (max_level < 1)
        return err_set(err, ERR_ARG, "a ladder has at least one level, not %d", max_level);
    if (e) {
        bracket_plan_of(t, &t->brackets[e->home], &plan);
        return plan.level[e->rung];
    }
    struct bracket_ladder *l = bracket_ladder_at(t, family, max_level);
    struct bracket *b =
        l->filling >= 0 ? &t->brackets[l->filling] : bracket_add(t, (int)(l - t->ladders));
    bracket_plan_of(t, b, &plan);
    roster_add(&t->roster, trial, (int)(b - t->brackets), 0);
    id_set_add(&b->members, trial);
    b->n_pending++;
    if (++b->n_in == plan.size[0])
        l->filling = -1;
    return plan.level[0];
}

/* ---- deciding a rung ---- */

/* The trials of the bracket's rung that may go on, unsorted. Returns their number. */
static size_t candidates(const struct bracket_table *t, const struct bracket *b,
                         struct rung_entry *out)
{
    size_t n = 0;

    for (size_t i = 0; i < b->members.n; i++) {
        const struct roster_entry *e = roster_find(&t->roster, b->members.ids[i]);
        bool competes = e->state == ROSTER_PAUSED || (e->flags & BRACKET_FINAL);
        if (e->rung == b->rung && competes && !isnan(e->value))
            out[n++] = (struct rung_entry){ e->value, e->trial, e->state == ROSTER_PAUSED };
    }
    return n;
}

/* The order for qsort. Two entries are never equal, because they are of different trials. */
static int best_first(const void *a, const void *b)
{
    return rung_before(a, b) ? -1 : 1;
}

/* How many trials go on from the bracket's rung: the planned number, or what is left of a bracket
 * that was not full. */
static int64_t keep_of(const struct bracket_table *t, const struct bracket *b,
                       const struct bracket_plan *p)
{
    if (b->n_in == p->size[0])
        return p->size[b->rung + 1];
    return MAX(b->n_in / rung_power(t->rule.eta, b->rung + 1), 1);
}

/* Sends a trial to the next rung. One that has ended already only counts there with its value. */
static void call(struct bracket_table *t, struct bracket *b, int64_t trial, double value)
{
    struct roster_entry *e = roster_find(&t->roster, trial);

    e->rung++;
    if (e->state == ROSTER_PAUSED) {
        roster_move(&t->roster, e, ROSTER_CALLED);
        id_set_add(&t->called, trial);
        b->n_pending++;
    } else if (!(b->best[e->rung] >= value)) {
        b->best[e->rung] = value;
    }
}

/* The paused trials of the decided rung will never go on. */
static void give_up_rest(struct bracket_table *t, const struct bracket *b)
{
    for (size_t i = 0; i < b->members.n; i++) {
        struct roster_entry *e = roster_find(&t->roster, b->members.ids[i]);
        if (e->state == ROSTER_PAUSED && e->rung == b->rung) {
            roster_move(&t->roster, e, ROSTER_LOST);
            id_set_add(&t->lost, e->trial);
        }
    }
}

/* All trials have come: the best go on and the rest is given up. If only ended trials went on,
 * nothing has to be waited for at the next rung, so it is decided at once. */
static void decide(struct bracket_table *t, struct bracket *b)
{
    struct rung_entry *all = mem_array(b->members.n, sizeof *all);
    struct bracket_plan plan;
    size_t n = 1;

    bracket_plan_of(t, b, &plan);
    while (n > 0 && b->n_pending == 0 && b->rung + 1 < plan.n) {
        n = candidates(t, b, all);
        qsort(all, n, sizeof *all, best_first);
        n = MIN(n, (size_t)keep_of(t, b, &plan));
        for (size_t i = 0; i < n; i++)
            call(t, b, all[i].trial, all[i].value);
        give_up_rest(t, b);
        b->rung += n > 0;
    }
    mem_free(all);
}

/* ---- reports ---- */

/* A running trial has come to its rung. One without a value cannot be compared: it stops. */
static void arrive(struct bracket_table *t, struct bracket *b, struct roster_entry *e, double value)
{
    CHECK(b->n_pending > 0);
    e->value = value;
    b->n_pending--;
    if (!isnan(value) && !(b->best[e->rung] >= value))
        b->best[e->rung] = value;
    roster_move(&t->roster, e, isnan(value) ? ROSTER_STOPPED : ROSTER_PAUSED);
}

/* A trial has ended. If it has a value it arrives with it, and competes with it in all later
 * rungs. */
static void end(struct bracket_table *t, struct bracket *b, struct roster_entry *e,
                enum obs_state state, double value)
{
    bool has_value = state == OBS_COMPLETED || state == OBS_RUNNING;

    if (e->state == ROSTER_RUNNING && has_value) {
        arrive(t, b, e, value);
        e->flags = isnan(value) ? 0 : BRACKET_FINAL;
    } else if (e->state == ROSTER_RUNNING || e->state == ROSTER_CALLED) {
        CHECK(b->n_pending > 0);
        b->n_pending--;
    }
    if (e->state == ROSTER_CALLED)
        id_set_remove(&t->called, e->trial);
    if (e->state == ROSTER_LOST)
        id_set_remove(&t->lost, e->trial);
    if (state == OBS_CANCELLED && is_filling(t, b))
        b->n_in--;
    roster_move(&t->roster, e, ROSTER_ENDED);
}

static struct sched_decision decision_of(const struct roster_entry *e,
                                         const struct bracket_plan *plan)
{
    switch (e->state) {
    case ROSTER_RUNNING:
        return (struct sched_decision){ SCHED_RUN_TO, plan->level[e->rung] };
    case ROSTER_STOPPED:
        return (struct sched_decision){ SCHED_STOP, 0 };
    case ROSTER_ENDED:
        return (struct sched_decision){ SCHED_DONE, 0 };
    default:
        return (struct sched_decision){ SCHED_PAUSE, 0 };
    }
}

/* The trial whose report decided the rung is told in the answer to that report. */
static void answer_now(struct bracket_table *t, struct roster_entry *e)
{
    if (e->state == ROSTER_CALLED) {
        id_set_remove(&t->called, e->trial);
        roster_move(&t->roster, e, ROSTER_RUNNING);
    } else if (e->state == ROSTER_LOST) {
        id_set_remove(&t->lost, e->trial);
        roster_move(&t->roster, e, ROSTER_STOPPED);
    }
}

int bracket_report(struct scheduler *s, const struct observation *o, struct sched_decision *out,
                   struct err *err)
{
    struct bracket_table *t = of(s);
    struct roster_entry *e = roster_find(&t->roster, o->trial);
    double value = isnan(o->value) ? NAN : o->value;
    struct bracket_plan plan;

    if (!e)
        return roster_unknown(o->trial, err);
    struct bracket *b = &t->brackets[e->home];
    bracket_plan_of(t, b, &plan);
    bool was_pending = e->state == ROSTER_RUNNING || e->state == ROSTER_CALLED;
    if (e->state != ROSTER_ENDED) {
        bool has_arrived = e->state == ROSTER_RUNNING && o->level >= plan.level[e->rung];
        if (o->state != OBS_RUNNING || o->level >= plan.level[plan.n - 1])
            end(t, b, e, o->state, value);
        else if (has_arrived)
            arrive(t, b, e, value);
        if (was_pending && b->n_pending == 0 && !is_filling(t, b)) {
            decide(t, b);
            answer_now(t, e);
        }
    }
    *out = decision_of(e, &plan);
    return 0;
}

/* ---- going on, giving up ---- */

/* The index of the called trial that is nearest to its ladder's top, -1 = none. */
static int64_t next_called(const struct bracket_table *t)
{
    int64_t best = -1;
    int least = RUNG_MAX;

    for (size_t i = 0; i < t->called.n; i++) {
        const struct roster_entry *e = roster_find(&t->roster, t->called.ids[i]);
        struct bracket_plan plan;
        bracket_plan_of(t, &t->brackets[e->home], &plan);
        if (plan.n - 1 - e->rung < least) {
            least = plan.n - 1 - e->rung;
            best = (int64_t)i;
        }
    }
    return best;
}

/* Whether a bracket that is still being filled could be closed now: all its trials have come, and a
 * paused one would go on. */
static bool can_close(const struct bracket_table *t, const struct bracket *b)
{
    struct bracket_plan plan;
    bool is_there = false;

    bracket_plan_of(t, b, &plan);
    if (b->n_pending > 0 || b->n_in == 0 || plan.n < 2)
        return false;
    struct rung_entry *all = mem_array(b->members.n, sizeof *all);
    size_t n = candidates(t, b, all);
    qsort(all, n, sizeof *all, best_first);
    n = MIN(n, (size_t)keep_of(t, b, &plan));
    for (size_t i = 0; i < n; i++)
        is_there = is_there || all[i].is_open;
    mem_free(all);
    return is_there;
}

/* No new trial can start, so brackets that are not full go on with the trials they have. */
static void close_early(struct bracket_table *t)
{
    for (int i = 0; i < t->n_ladders; i++) {
        struct bracket_ladder *l = &t->ladders[i];
        if (l->filling < 0 || !can_close(t, &t->brackets[l->filling]))
            continue;
        struct bracket *b = &t->brackets[l->filling];
        l->filling = -1;
        b->is_closed = true;
        decide(t, b);
    }
}

int bracket_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out, struct err *err)
{
    struct bracket_table *t = of(s);
    struct bracket_plan plan;
    int given = 0;

    (void)err;
    if (idle && n > 0)
        close_early(t);
    for (; given < n && t->called.n > 0; given++) {
        int64_t trial = t->called.ids[next_called(t)];
        struct roster_entry *e = roster_find(&t->roster, trial);
        bracket_plan_of(t, &t->brackets[e->home], &plan);
        id_set_remove(&t->called, trial);
        roster_move(&t->roster, e, ROSTER_RUNNING);
        out[given] = (struct sched_resume){ trial, plan.level[e->rung] };
    }
    return given;
}

/* Nothing runs, none is called and no bracket can be closed: those that still pause have nobody
 * left to wait for. */
static bool is_over(const struct bracket_table *t)
{
    for (int i = 0; i < t->n_ladders; i++) {
        if (t->ladders[i].filling >= 0 && can_close(t, &t->brackets[t->ladders[i].filling]))
            return false;
    }
    return t->roster.n_running == 0 && t->called.n == 0;
}

int bracket_retire(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err)
{
    struct bracket_table *t = of(s);
    int given = 0;

    (void)err;
    for (; given < n && t->lost.n > 0; given++) {
        trials[given] = t->lost.ids[0];
        roster_move(&t->roster, roster_find(&t->roster, t->lost.ids[0]), ROSTER_STOPPED);
        id_set_remove(&t->lost, t->lost.ids[0]);
    }
    if (!closing || given == n || !is_over(t))
        return given;
    for (size_t i = 0; i < t->roster.n && given < n; i++) {
        struct roster_entry *e = &t->roster.entries[i];
        if (e->state != ROSTER_PAUSED)
            continue;
        roster_move(&t->roster, e, ROSTER_STOPPED);
        trials[given++] = e->trial;
    }
    return given;
}
