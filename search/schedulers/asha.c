/* asha.c - asynchronous successive halving with promotion and resume (L. Li et al., A System for
 * Massively Parallel Hyperparameter Tuning, MLSys 2020, algorithm 2). A trial that comes to a rung
 * goes on if it is among the best 1/eta of all trials that ever came there; otherwise it pauses. It
 * is resumed when later results move it among the best 1/eta. When a worker is free, the highest
 * rung with a promotable trial provides it, and only if there is none a new trial starts. So no
 * worker waits.
 *
 * The top level. It costs as much as all levels below it together, and while the sampler still
 * learns, the best third of a rung are trials that it will soon improve on. So from the last rung
 * before the top, unless it is the first rung of its bracket, only one in eta * top goes on (the
 * first one when there are 2 eta). A paused trial loses nothing by waiting. A ladder that is behind
 * the others at its lowest rung (asha_rival.c) also sends only one in eta * top from there. With
 * stop_only nothing can be resumed later, so the share is eta everywhere, and a trial below the
 * best 1/eta is stopped for good, as in tools that cannot resume.
 *
 * Rungs whose ranks mislead. Successive halving relies on the ranks of its lowest rung. Rungs from
 * R/eta^2 upwards, where the papers' defaults put them, are relied on at once. A lower rung must
 * prove itself first: until the values at it and at the next rung are clearly correlated (trust.h),
 * trials pass it whatever their rank. Afterwards one in eta^3 still does, so that the estimate
 * stays current. This costs little, because the low rungs are the cheap ones.
 *
 * Brackets. A trial is put into a bracket by a draw keyed by its number, with Hyperband's weight
 * eta^(k-1)/k for a bracket of k rungs. Trials are compared only within their bracket.
 *
 * Ends. A failed trial counts as the worst of the rung that it ran to. A cancelled trial does not
 * count. A trial that completed early counts with its value in all rungs above, because it will
 * never be better. If no new trial can start, and a ladder has no running trial and none at its
 * top, its best trial goes on out of turn, so even two trials give one that is fully trained. A
 * paused trial is given up if it is below the best 1/eta by four standard errors of that share, or,
 * when no new trials will come, if it could not go on even if all trials still to come were worse
 * than it. */
#include "search/schedulers/asha.h"

#include "base/mem.h"
#include "base/rng.h"
#include "search/schedulers/schedulers.h"

#include <math.h>
#include <string.h>

enum {
    OPT_ETA,
    OPT_MIN_LEVEL,
    OPT_PER_LEVEL,
    OPT_BRACKETS,
    OPT_STOP_ONLY,
    OPT_STRICT,
    OPT_TRUST,
    OPT_TOP
};
/* What a random draw decides: the bracket of a trial, or whether it passes a proven rung whatever
 * its rank. */
enum { DRAW_BRACKET = 1, DRAW_SCOUT = 2 };
/* Standard errors below the share that goes on at which a paused trial is given up. */
enum { HOPELESS_ERRORS = 4 };

static const struct search_option asha_options[ASHA_OPTIONS] = {
    [OPT_ETA] = { "eta", 2, RUNG_ETA_MAX, 3, true,
                  "the best 1/eta of the trials go on from each rung" },
    [OPT_MIN_LEVEL] = { "min_level", 1, 1000000, 1, true,
                        "lowest level at which trials are compared" },
    [OPT_PER_LEVEL] = { "per_level", 0, RUNG_MAX, 6, true,
                        "a ladder of at most this many levels has a rung at each level" },
    [OPT_BRACKETS] = { "brackets", 1, ASHA_MAX_BRACKETS, 1, true,
                       "number of brackets; each starts one rung higher than the one before" },
    [OPT_STOP_ONLY] = { "stop_only", 0, 1, 0, true,
                        "1: trials are stopped for good instead of paused" },
    [OPT_STRICT] = { "strict", 0, 1, 0, true,
                     "1: never more than 1/eta of a rung goes on, even if later trials are better" },
    [OPT_TRUST] = { "trust", 0, 1, 0.3, false,
                    "rank correlation with the next rung that the lowest rungs must show before they hold trials back; 0: none is needed" },
    [OPT_TOP] = { "top", 1, RUNG_ETA_MAX, 3, true,
                  "promotions to the top level are rarer than others by this factor" },
};

static struct asha *of(struct scheduler *s)
{
    return (struct asha *)s;
}

static struct scheduler *asha_open(const struct search_setup *setup, struct err *err)
{
    struct asha *a = mem_zalloc(sizeof *a);

    (void)err;
    a->base = (struct scheduler){ &search_asha, setup->seed };
    if (setup->options)
        memcpy(a->options, setup->options, sizeof a->options);
    else
        search_options_default(asha_options, ASHA_OPTIONS, a->options);
    a->rule = (struct rung_rule){ (int)a->options[OPT_ETA], (int)a->options[OPT_MIN_LEVEL],
                                  (int)a->options[OPT_PER_LEVEL] };
    a->partial = setup->partial;
    a->n_brackets = (int)a->options[OPT_BRACKETS];
    a->is_stop_only = a->options[OPT_STOP_ONLY] != 0;
    a->is_strict = a->options[OPT_STRICT] != 0;
    a->trust_least = a->options[OPT_TRUST];
    a->top = a->is_stop_only ? 1 : (int)a->options[OPT_TOP];
    return &a->base;
}

static void asha_close(struct scheduler *s)
{
    struct asha *a = of(s);

    for (int i = 0; i < a->n_ladders; i++) {
        for (int b = 0; b < a->ladders[i].n_tracks; b++) {
            for (int k = 0; k < RUNG_MAX; k++)
                rung_fini(&a->ladders[i].tracks[b].rungs[k]);
        }
    }
    mem_free(a->ladders);
    roster_fini(&a->roster);
    mem_free(a);
}

/* ---- starting ---- */

struct asha_ladder *asha_ladder_add(struct asha *a, int family, int max_level)
{
    for (int i = 0; i < a->n_ladders; i++) {
        if (a->ladders[i].family == family && a->ladders[i].max_level == max_level)
            return &a->ladders[i];
    }
    a->ladders = mem_resize(a->ladders, (size_t)(a->n_ladders + 1) * sizeof *a->ladders);
    struct asha_ladder *l = &a->ladders[a->n_ladders++];
    *l = (struct asha_ladder){ .family = family, .max_level = max_level };
    rung_ladder_init(&l->rungs, &a->rule, max_level);
    l->n_tracks = MIN(a->n_brackets, l->rungs.n);
    return l;
}

/* The weights eta^(k-1)/k are whole numbers of 1/256, so that every machine draws the same
 * bracket. */
static int bracket_draw(const struct asha *a, const struct asha_ladder *l, int64_t trial)
{
    int64_t weight[ASHA_MAX_BRACKETS], sum = 0;
    struct rng r;
    int b = 0;

    for (int i = 0; i < l->n_tracks; i++) {
        int k = l->rungs.n - i;
        weight[i] = MAX((rung_power(a->rule.eta, MIN(k - 1, 7)) << 8) / k, 1);
        sum += weight[i];
    }
    rng_init(&r, rng_mix(a->base.seed, DRAW_BRACKET), (uint64_t)trial);
    CHECK(sum > 0);
    int64_t at = (int64_t)(rng_u64(&r) % (uint64_t)sum);
    while (b + 1 < l->n_tracks && at >= weight[b])
        at -= weight[b++];
    return b;
}

static int level_of(const struct asha *a, const struct roster_entry *e)
{
    return asha_ladder_of(a, e)->rungs.level[e->rung];
}

static int asha_start(struct scheduler *s, int64_t trial, int family, int max_level,
                      struct err *err)
{
    struct asha *a = of(s);
    struct roster_entry *e = roster_find(&a->roster, trial);

    if (max_level < 1)
        return err_set(err, ERR_ARG, "a ladder has at least one level, not %d", max_level);
    if (e)
        return level_of(a, e);
    struct asha_ladder *l = asha_ladder_add(a, family, max_level);
    int b = bracket_draw(a, l, trial);
    e = roster_add(&a->roster, trial, (int)(l - a->ladders) * ASHA_MAX_BRACKETS + b, b);
    return level_of(a, e);
}

/* ---- comparing ---- */

/* One in this many trials goes on from rung k of bracket b. */
static size_t share_of(const struct asha *a, const struct asha_ladder *l, int b, int k)
{
    return (size_t)a->rule.eta * (size_t)(k > b && k == l->rungs.n - 2 ? a->top : 1);
}

static size_t limit_of(const struct asha *a, const struct asha_ladder *l, int b, int k, size_t n)
{
    return rung_limit(&a->rule, share_of(a, l, b, k), n);
}

static bool is_held(const struct asha *a, const struct asha_ladder *l)
{
    return l->family >= 0 && l->family < 64 && (a->held >> l->family & 1);
}

/* Whether the best open trial of a rung is among those that go on. With `strict`, no more trials
 * than the share ever go on, even if later ones are better than those that went. */
static bool has_promotable(const struct asha *a, const struct asha_ladder *l, int b, int k)
{
    const struct rung *r = &l->tracks[b].rungs[k];
    size_t limit = limit_of(a, l, b, k, r->n);

    if (limit > 0 && b == 0 && k == 0 && asha_is_behind(a, l))
        limit = rung_limit(&a->rule, (size_t)a->rule.eta * (size_t)a->top, r->n);
    return !a->is_stop_only && r->first_open < limit &&
           (!a->is_strict || r->n_promoted < (int64_t)limit);
}

/* Whether the trial goes on from its rung whatever its rank. Either this rung's ranking is not
 * trusted yet (see trust.h), or the trial is one of the few that pass regardless so that the trust
 * estimate stays up to date. */
static bool is_free(const struct asha *a, const struct roster_entry *e)
{
    const struct asha_ladder *l = asha_ladder_of(a, e);
    uint32_t draw[4];

    if (a->trust_least <= 0 || e->rung + 3 >= l->rungs.n)
        return false;
    const struct trust *t = &l->trust[e->rung];
    if (!t->holds && (t->n >= ASHA_PROOF || t->n + l->n_free[e->rung] < ASHA_PROOF))
        return true; /* not more than ASHA_PROOF at once: with many workers the others are compared */
    rng_at(a->base.seed, DRAW_SCOUT, (uint32_t)e->rung, (uint64_t)e->trial, draw);
    return draw[0] % (uint32_t)(a->rule.eta * a->rule.eta * a->rule.eta) == 0;
}

static void go_on(struct asha *a, struct roster_entry *e)
{
    e->rung++;
    roster_move(&a->roster, e, ROSTER_RUNNING);
}

/* A trial that passed the rung below whatever its rank came to this rung (has_come), or ended
 * before it. */
static void leave_free(const struct asha *a, struct roster_entry *e, bool has_come, double value)
{
    struct asha_ladder *l = asha_ladder_of(a, e);

    if (!(e->flags & ASHA_FREE))
        return;
    if (has_come)
        trust_add(&l->trust[e->rung - 1], e->value, value, a->trust_least);
    l->n_free[e->rung - 1]--;
    e->flags = 0;
}

/* The trial came to its rung with a value. It goes on, pauses or stops. */
static void arrive(struct asha *a, struct roster_entry *e, double value)
{
    struct asha_ladder *l = asha_ladder_of(a, e);
    struct rung *r = asha_rung_of(a, e);
    int b = e->home % ASHA_MAX_BRACKETS;

    leave_free(a, e, true, value);
    e->value = value;
    bool goes_free = !isnan(value) && !is_held(a, l) && is_free(a, e);
    bool may_pause = !isnan(value) && !a->is_stop_only && !goes_free;
    size_t at = rung_add(r, (struct rung_entry){ value, e->trial, may_pause });
    if (goes_free) {
        e->flags = ASHA_FREE;
        l->n_free[e->rung]++;
        go_on(a, e);
    } else if (may_pause) {
        roster_move(&a->roster, e, ROSTER_PAUSED);
        if (!is_held(a, l) && has_promotable(a, l, b, e->rung) && r->first_open == at) {
            rung_close(r, at);
            r->n_promoted++;
            go_on(a, e);
        }
    } else if (a->is_stop_only && !isnan(value) && at < MAX(limit_of(a, l, b, e->rung, r->n), 1)) {
        go_on(a, e);
    } else {
        roster_move(&a->roster, e, ROSTER_STOPPED);
    }
}

/* The trial ended. A failure counts as the worst of its rung. A completed trial is entered in all
 * rungs from its own to the top. */
static void end(struct asha *a, struct roster_entry *e, enum obs_state state, double value)
{
    struct asha_ladder *l = asha_ladder_of(a, e);
    struct rung *r = asha_rung_of(a, e);

    if (e->state == ROSTER_RUNNING && state == OBS_FAILED) {
        rung_add(r, (struct rung_entry){ NAN, e->trial, false });
    } else if (e->state == ROSTER_RUNNING && (state == OBS_COMPLETED || state == OBS_RUNNING)) {
        leave_free(a, e, true, value);
        for (; e->rung < l->rungs.n; e->rung++, r++)
            rung_add(r, (struct rung_entry){ value, e->trial, false });
        e->rung--;
    } else if (e->state == ROSTER_PAUSED) {
        size_t at = rung_find(r, e->value, e->trial);
        if (state == OBS_CANCELLED)
            rung_remove(r, at);
        else
            rung_close(r, at);
    }
    leave_free(a, e, false, NAN);
    roster_move(&a->roster, e, ROSTER_ENDED);
}

static struct sched_decision decision_of(const struct asha *a, const struct roster_entry *e)
{
    switch (e->state) {
    case ROSTER_RUNNING:
        return (struct sched_decision){ SCHED_RUN_TO, level_of(a, e) };
    case ROSTER_PAUSED:
        return (struct sched_decision){ SCHED_PAUSE, 0 };
    case ROSTER_STOPPED:
        return (struct sched_decision){ SCHED_STOP, 0 };
    default:
        return (struct sched_decision){ SCHED_DONE, 0 };
    }
}

static int asha_report(struct scheduler *s, const struct observation *o, struct sched_decision *out,
                       struct err *err)
{
    struct asha *a = of(s);
    struct roster_entry *e = roster_find(&a->roster, o->trial);
    double value = isnan(o->value) ? NAN : o->value;

    if (!e)
        return roster_unknown(o->trial, err);
    if (e->state != ROSTER_ENDED) {
        const struct rung_ladder *l = &asha_ladder_of(a, e)->rungs;
        if (o->state != OBS_RUNNING || o->level >= l->level[l->n - 1])
            end(a, e, o->state, value);
        else if (e->state == ROSTER_RUNNING && o->level >= level_of(a, e))
            arrive(a, e, value);
    }
    *out = decision_of(a, e);
    return 0;
}

/* ---- going on ---- */

static struct sched_resume promote(struct asha *a, struct rung *r, size_t at)
{
    struct roster_entry *e = roster_find(&a->roster, r->entries[at].trial);

    CHECK(e && e->state == ROSTER_PAUSED);
    rung_close(r, at);
    r->n_promoted++;
    go_on(a, e);
    return (struct sched_resume){ e->trial, level_of(a, e) };
}

/* The rung nearest to its ladder's top that has a trial to promote. all: also of families that are
 * held. */
static struct rung *promotable_rung(struct asha *a, bool all)
{
    for (int below = 1; below < RUNG_MAX; below++) {
        for (int i = 0; i < a->n_ladders; i++) {
            struct asha_ladder *l = &a->ladders[i];
            int k = l->rungs.n - 1 - below;
            for (int b = 0; b < l->n_tracks && b <= k && (all || !is_held(a, l)); b++) {
                if (has_promotable(a, l, b, k))
                    return &l->tracks[b].rungs[k];
            }
        }
    }
    return NULL;
}

static bool has_top(const struct asha_ladder *l)
{
    for (int b = 0; b < l->n_tracks; b++) {
        const struct rung *top = &l->tracks[b].rungs[l->rungs.n - 1];
        if (top->n > 0 && !isnan(top->entries[0].value))
            return true;
    }
    return false;
}

static bool is_running(const struct asha *a, const struct asha_ladder *l)
{
    for (size_t i = 0; a->roster.n_running > 0 && i < a->roster.n; i++) {
        const struct roster_entry *e = &a->roster.entries[i];
        if (e->state == ROSTER_RUNNING && asha_ladder_of(a, e) == l)
            return true;
    }
    return false;
}

/* The rung whose best open trial goes on out of turn: the highest one of a ladder that has no trial
 * at its top. */
static struct rung *needy_rung(struct asha *a)
{
    for (int i = 0; i < a->n_ladders; i++) {
        struct asha_ladder *l = &a->ladders[i];
        if (has_top(l) || is_running(a, l))
            continue;
        for (int k = l->rungs.n - 2; k >= 0; k--) {
            struct rung *best = NULL;
            for (int b = 0; b < l->n_tracks; b++) {
                struct rung *r = &l->tracks[b].rungs[k];
                if (r->first_open < r->n &&
                    (!best ||
                     rung_before(&r->entries[r->first_open], &best->entries[best->first_open])))
                    best = r;
            }
            if (best)
                return best;
        }
    }
    return NULL;
}

static int asha_resume(struct scheduler *s, int n, bool idle, struct sched_resume *out,
                       struct err *err)
{
    struct asha *a = of(s);
    int given = 0;

    (void)err;
    while (given < n) {
        struct rung *r = promotable_rung(a, false);
        if (!r && idle)
            r = promotable_rung(a, true);
        if (!r && idle)
            r = needy_rung(a);
        if (!r)
            break;
        out[given++] = promote(a, r, r->first_open);
    }
    return given;
}

static void asha_hold(struct scheduler *s, uint64_t families)
{
    of(s)->held = families;
}

/* ---- giving up ---- */

/* Gives up the open trials of a rung from place `from` on, at most n. */
static int give_up(struct asha *a, struct rung *r, size_t from, int n, int64_t *trials)
{
    int given = 0;

    for (size_t i = MAX(from, r->first_open); i < r->n && given < n; i++) {
        if (!r->entries[i].is_open)
            continue;
        struct roster_entry *e = roster_find(&a->roster, r->entries[i].trial);
        CHECK(e && e->state == ROSTER_PAUSED);
        rung_close(r, i);
        roster_move(&a->roster, e, ROSTER_STOPPED);
        trials[given++] = e->trial;
    }
    return given;
}

/* The first place of the ranking from which no trial will go on: the expected number n / eta plus
 * four standard errors of a binomial with that share, sqrt(n (1/eta) (1 - 1/eta)) = sqrt(n (eta -
 * 1)) / eta. */
static size_t hopeless_from(size_t n_there, size_t share)
{
    double n = (double)n_there, eta = (double)share;

    return (size_t)((n + HOPELESS_ERRORS * sqrt(n * (eta - 1))) / eta) + 1;
}

/* Whether no trial of the ladder runs and none may go on. */
static bool is_over(const struct asha *a, const struct asha_ladder *l)
{
    for (int b = 0; b < l->n_tracks; b++) {
        for (int k = b; k + 1 < l->rungs.n; k++) {
            if (has_promotable(a, l, b, k))
                return false;
        }
    }
    return !is_running(a, l);
}

/* How many trials may still come to this rung of the bracket `home`. */
static size_t coming(const struct asha *a, int home, int rung)
{
    size_t n = 0;

    for (size_t i = 0; i < a->roster.n; i++) {
        const struct roster_entry *e = &a->roster.entries[i];
        n += e->home == home && ((e->state == ROSTER_RUNNING && e->rung <= rung) ||
                                 (e->state == ROSTER_PAUSED && e->rung < rung));
    }
    return n;
}

/* Gives up trials of one bracket. If no trials will be added (closing) and the ladder has one at
 * its top, trials that cannot go on any more are given up too, and when the ladder is over, all of
 * them. */
static int retire_track(struct asha *a, int home, bool closing, int n, int64_t *trials)
{
    struct asha_ladder *l = &a->ladders[home / ASHA_MAX_BRACKETS];
    bool is_last = closing && has_top(l), takes_all = is_last && is_over(a, l);
    int given = 0, b = home % ASHA_MAX_BRACKETS;

    for (int k = 0; k + 1 < l->rungs.n && given < n; k++) {
        struct rung *r = &l->tracks[b].rungs[k];
        if (r->first_open == r->n)
            continue;
        size_t from = takes_all ? 0 : hopeless_from(r->n, share_of(a, l, b, k));
        if (is_last)
            from = MIN(from, limit_of(a, l, b, k, r->n + coming(a, home, k)));
        given += give_up(a, r, from, n - given, trials + given);
    }
    return given;
}

static int asha_retire(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err)
{
    struct asha *a = of(s);
    int given = 0;

    (void)err;
    for (int i = 0; i < a->n_ladders; i++) {
        for (int b = 0; b < a->ladders[i].n_tracks && given < n; b++)
            given += retire_track(a, i * ASHA_MAX_BRACKETS + b, closing, n - given, trials + given);
    }
    return given;
}

const struct scheduler_ops search_asha = {
    .name = "asha",
    .help =
        "asynchronous successive halving: the best 1/eta of each rung go on, and a paused trial is resumed when it comes among them",
    .options = asha_options,
    .n_options = ASHA_OPTIONS,
    .open = asha_open,
    .close = asha_close,
    .start = asha_start,
    .report = asha_report,
    .resume = asha_resume,
    .retire = asha_retire,
    .hold = asha_hold,
    .describe = asha_describe,
};
