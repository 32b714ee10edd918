/* share.c - the rules of share.h.
 *
 * Everything is computed anew from the records of the trials at each question: some thousand trials
 * take some microseconds, and nothing has to be kept right by hand. A replay does not ask: the
 * family of each trial is in its configuration. */
#include "controller/decide/share.h"

#include "base/log.h"
#include "base/str.h"
#include "controller/decide/budget.h"
#include "controller/problem/ladder.h"
#include "controller/state/honest.h"
#include "controller/state/runner.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* An early trial may take one EARLY_SHARE-th of the time left, and of a family that does not trail the
 * second one a DEAR_SHARE-th: sparse counts need a linear model's second configuration, which a loaded
 * machine never came to. A family of which a trial takes more than one DEAR_SHARE-th is judged by what it
 * has. The weights are shares of time: a family that is behind gets little, and the leader most, because
 * what ships is most likely its. */
enum { EARLY_SHARE = 8, DEAR_SHARE = 4, WEIGHT_LEADS = 40, WEIGHT_OPEN = 10, WEIGHT_BEHIND = 1 };
/* After LEAST_TRIES, a family that is behind by what it has is early only while its trials together
 * take at most one TRAIL_SHARE-th of the whole time: eight first trials of forests took a fifth of 10 s
 * where boosting led by far. */
enum { LEAST_TRIES = 2, TRAIL_SHARE = 20 };
/* Standard errors that are added to what a family may reach. */
static const double ERRORS = 2;
/* A family that had this many times its share does not go on from a rung. */
static const double OVER_SHARE = 1.5;
/* What a trial takes besides computing: asking, granting, the model file, the messages. Without it,
 * 600 linear trials of .2 ms took half of the time of a search on 120 rows, and counted as a
 * hundredth. */
enum { TRIAL_US = 5000 };
/* Trials of the lead family that it has as many shares for as the leader. */
enum { LEAD_TRIES = 30 };
/* The family that leads is at its end, and gets little time, once so many of its whole trials are as good as
 * its best one but for NEAR of that one's standard error: then its sampler only moves about one place. */
enum { MOST_NEAR = 32 };
static const double NEAR = 0.02;

const char *const share_state_name[] = { [SHARE_NONE] = "none",
                                         [SHARE_IS_EARLY] = "early",
                                         [SHARE_LEADS] = "leads",
                                         [SHARE_OPEN] = "open",
                                         [SHARE_BEHIND] = "behind" };

/* ---- what is known of the families ---- */

static bool is_open_trial(const struct trial_mem *t)
{
    return t->state == TS_RUNNING || t->state == TS_QUEUED;
}

/* The score of the first fold alone: told at the end, or by the first level of a family whose first
 * level is a whole fit of that fold. */
static double first_of(const struct study *st, const struct trial_mem *t)
{
    bool is_partial = st->families[t->family]->has_partial_levels;

    if (t->state == TS_COMPLETED)
        return t->first_score;
    return t->level == 1 && !is_partial && t->max_level > 1 ? t->score : (double)NAN;
}

/* Whether the trial's score is of all folds: it is completed, or waits above the level that adds
 * them. */
static bool is_whole(const struct study *st, const struct trial_mem *t)
{
    int adds = st->families[t->family]->adds_folds;

    if (isnan(t->score) || t->is_part)
        return false;
    return t->state == TS_COMPLETED ||
           (t->state != TS_PRUNED && adds > 0 && t->level >= adds && !st->problem.data.holdout);
}

static int64_t spent_on(const struct trial_mem *t)
{
    return t->work_us + TRIAL_US;
}

static void take_best(const struct study *st, struct share_family *f, int64_t number)
{
    const struct trial_mem *t = &st->trials[number - 1];
    double gain = study_gain(st, t->score);

    if (!is_whole(st, t))
        return;
    f->whole++;
    if (f->best_number && gain <= f->best)
        return;
    f->best = gain;
    f->best_number = number;
}

static void take(const struct study *st, struct share_family *f, int64_t number)
{
    const struct trial_mem *t = &st->trials[number - 1];
    double first = study_gain(st, first_of(st, t));

    f->tries++;
    f->n_open += is_open_trial(t);
    f->open_to = is_open_trial(t) ? MAX(f->open_to, t->run_to) : f->open_to;
    f->spent_us += spent_on(t);
    f->first = fmax(f->first, first); /* a NaN counts for nothing */
    take_best(st, f, number);
}

/* What was the family's best when half of its time was spent? */
static void take_half(const struct study *st, struct share_family *f, int family)
{
    int64_t spent = 0;

    for (int i = 0; i < st->n_trials; i++) {
        const struct trial_mem *t = &st->trials[i];
        if (t->family != family)
            continue;
        spent += spent_on(t);
        if (spent * 2 > f->spent_us && !isnan(f->half))
            return;
        if (is_whole(st, t))
            f->half = fmax(f->half, study_gain(st, t->score));
    }
}

/* How many whole trials are as good as the best one of their family but for next to nothing? */
static void take_near(const struct study *st, struct shares *s)
{
    for (int i = 0; i < st->n_trials; i++) {
        const struct trial_mem *t = &st->trials[i];
        struct share_family *f = &s->of[t->family];
        if (!f->best_number || !is_whole(st, t))
            continue;
        double se = st->trials[f->best_number - 1].score_se;
        f->near += f->best - study_gain(st, t->score) <= NEAR * (isfinite(se) ? se : 0);
    }
}

static int64_t left_us(const struct study *st)
{
    int n_devices = 0, n_idle = 0;

    if (!st->spec.budget_time_ms)
        return INT64_MAX;
    (void)runner_capacity(st->ctl, st->row.numeric_sig, &n_devices, &n_idle);
    return MAX(budget_left(st) - budget_reserve(st), 0) * 1000 * MAX(n_devices, 1);
}

/* ---- judging ---- */

/* Until a trial of the family has ended, what its first one costs by the formula; where it has begun, as
 * far as it is to run now. Without that it counted as nothing while it ran: a second network was begun on
 * covertype, and the first one went past its lowest rung, where one epoch took a fifth of 60 s. */
static double cost_of(const struct study *st, const struct share_family *f, int family)
{
    int ended = f->tries - f->n_open;

    if (ended > 0)
        return (double)f->spent_us / ended;
    for (int i = 0; i < st->space.n_families; i++) {
        const struct config *c = &st->space.first[i];
        int to = f->open_to > 0 ? f->open_to : ladder_levels(&st->problem, c->family);
        if (c->family == st->families[family])
            return (double)family_level_cost(c->family, &st->problem.shape, c->params, 0, to);
    }
    return 0;
}

/* The error of the difference between two trials. On the same rows it is smaller than either's. */
static double error_between(const struct study *st, int64_t a, int64_t b)
{
    double known = honest_error(st, a, b);

    if (!isnan(known))
        return known;
    double x = st->trials[a - 1].score_se, y = st->trials[b - 1].score_se;
    return (isfinite(x) ? x : 0) / 2 + (isfinite(y) ? y : 0) / 2;
}

/* The latest slope held for the time left, and what chance may have taken. */
static double reach_of(const struct study *st, const struct shares *s, const struct share_family *f)
{
    const struct share_family *leader = &s->of[s->leader];
    double rise = fmax(f->best - f->half, 0), time = (double)f->spent_us / 2;
    double chance = ERRORS * error_between(st, f->best_number, leader->best_number);

    return f->best + chance + rise * fmin((double)s->left_us / fmax(time, 1), 1e6);
}

/* A family without a whole trial is compared on the first fold, which nearly all trials tell. */
static bool is_behind(const struct study *st, const struct shares *s, struct share_family *f)
{
    const struct share_family *leader = &s->of[s->leader];

    if (f->whole > 0) {
        f->reach = reach_of(st, s, f);
        return f->reach < leader->best;
    }
    if (f->tries == f->n_open)
        return false; /* nothing has ended */
    return isnan(f->first) || f->first < leader->first;
}

/* Whether a family that is behind has had the time that its first trials may take. The lead family
 * has all of them, because its first guesses may learn noise. */
static bool has_had_its_chance(const struct study *st, const struct shares *s, int family)
{
    const struct share_family *f = &s->of[family];
    double all = (double)s->left_us + (double)s->spent_us;

    return !st->families[family]->is_lead && f->tries - f->n_open >= LEAST_TRIES &&
           ((double)f->spent_us + f->cost_us) * TRAIL_SHARE > all;
}

static enum share_state judge(const struct study *st, const struct shares *s, int family,
                              struct share_family *f)
{
    double share = f->cost_us / (double)MAX(s->left_us, 1);
    bool trails = s->leader && family != s->leader && is_behind(st, s, f);
    bool is_over = trails && has_had_its_chance(st, s, family);

    int most = f->tries < LEAST_TRIES && !trails ? DEAR_SHARE : EARLY_SHARE;
    if (f->tries < SHARE_EARLY && share * most <= 1 && !is_over)
        return SHARE_IS_EARLY;
    if (family == s->leader)
        return SHARE_LEADS;
    /* One guess or two are no reason to give a family up, unless another one is too dear. */
    bool is_judged = f->tries - f->n_open >= SHARE_EARLY || share * DEAR_SHARE > 1 || is_over;
    return trails && is_judged ? SHARE_BEHIND : SHARE_OPEN;
}

void share_make(const struct study *st, struct shares *out)
{
    *out = (struct shares){ .left_us = left_us(st) };
    for (int i = 0; i < st->n_families; i++) {
        struct share_family *f = &out->of[i];
        f->best = f->half = f->first = f->reach = (double)NAN;
    }
    for (int i = 0; i < st->n_trials; i++)
        take(st, &out->of[st->trials[i].family], i + 1);
    take_near(st, out);
    for (int i = 1; i < st->n_families; i++) {
        struct share_family *f = &out->of[i];
        take_half(st, f, i);
        f->cost_us = cost_of(st, f, i);
        out->spent_us += f->spent_us;
        if (f->best_number && (!out->leader || f->best > out->of[out->leader].best))
            out->leader = i;
    }
    for (int i = 1; i < st->n_families; i++)
        out->of[i].state = judge(st, out, i, &out->of[i]);
}

/* ---- networks in parts ---- */

double share_part_won(const struct study *st, double score)
{
    int64_t base = honest_baseline(st);
    double least = base ? study_gain(st, st->trials[base - 1].first_score) : (double)NAN;
    double won = study_gain(st, score) - least, best = (double)NAN;
    struct shares s;

    share_make(st, &s);
    for (int i = 1; i < st->n_families; i++)
        best = fmax(best, s.of[i].first);
    return isnan(won) || isnan(best) || best <= least ? 1 : won / (best - least);
}

/* ---- choosing ---- */

bool share_decides(const struct study *st)
{
    return !st->is_deterministic && st->space.is_auto && st->n_families > 2;
}

/* On 111 rows linear models that led had 6,900 of the trials of a minute, nearly all of them one model. */
static bool is_at_its_end(const struct share_family *f)
{
    return f->state == SHARE_LEADS && f->near >= MOST_NEAR;
}

/* Time that the family has had or is about to have, by its weight. */
static double load_of(const struct study *st, const struct shares *s, int family)
{
    const struct share_family *f = &s->of[family];
    static const int weight[] = { [SHARE_NONE] = 1,
                                  [SHARE_IS_EARLY] = WEIGHT_OPEN,
                                  [SHARE_LEADS] = WEIGHT_LEADS,
                                  [SHARE_OPEN] = WEIGHT_OPEN,
                                  [SHARE_BEHIND] = WEIGHT_BEHIND };
    /* What is usually the strongest has as much as the leader, until it is shown to be behind or
     * has had its chance: on 120 rows the bound is so wide that it had 250 trials for nothing. */
    bool leads = st->families[family]->is_lead && f->state == SHARE_OPEN && f->tries < LEAD_TRIES;
    int by = leads ? WEIGHT_LEADS : is_at_its_end(f) ? WEIGHT_BEHIND : weight[f->state];

    return ((double)f->spent_us + f->cost_us * f->n_open) / by;
}

static int choose(const struct study *st, const struct shares *s)
{
    int best = 0;

    for (int i = 1; i < st->n_families; i++) {
        const struct share_family *f = &s->of[i];
        if (f->state == SHARE_IS_EARLY && (!best || f->tries < s->of[best].tries))
            best = i;
    }
    if (best)
        return best;
    for (int i = 1; i < st->n_families; i++) {
        if (!best || load_of(st, s, i) < load_of(st, s, best))
            best = i;
    }
    return best;
}

uint64_t share_held(const struct study *st)
{
    struct shares s;
    double least = INFINITY;
    uint64_t held = 0;

    share_make(st, &s);
    /* Beside a leader at its end the others gain more by whole trials, which may join an ensemble. */
    bool is_ended = s.leader && is_at_its_end(&s.of[s.leader]);
    for (int i = 1; i < st->n_families; i++) {
        if (s.of[i].state != SHARE_BEHIND || is_ended)
            least = fmin(least, load_of(st, &s, i));
    }
    for (int i = 1; i < st->n_families && i < 64; i++) {
        bool is_over =
            (s.of[i].state == SHARE_BEHIND && !is_ended) || load_of(st, &s, i) > least * OVER_SHARE;
        /* What leads most likely ships, and its best trials wait at their rungs: on 120 rows networks
         * had nine tenths of the time, but 5 of 19 that reached the last rung became whole. */
        if (is_over && s.leader && i != s.leader)
            held |= UINT64_C(1) << i;
    }
    return held;
}

void share_why(const struct study *st, const struct shares *s, int family, char *out, size_t size)
{
    const struct share_family *f = &s->of[family];
    const char *leader = s->leader ? st->families[s->leader]->name : "";
    double sign = study_gain(st, 1);

    switch (f->state) {
    case SHARE_IS_EARLY:
        (void)snprintf(out, size, "it has had %d of %d first trials", f->tries, SHARE_EARLY);
        break;
    case SHARE_LEADS:
        (void)snprintf(out, size, "its best score of %.5g is the best of all%s", sign * f->best,
                       is_at_its_end(f) ? ", found again and again" : "");
        break;
    case SHARE_OPEN:
        if (isnan(f->best))
            (void)snprintf(out, size, "no trial of all its folds has ended yet");
        else
            (void)snprintf(out, size, "from %.5g it may reach %.5g in the time left",
                           sign * f->best, sign * f->reach);
        break;
    case SHARE_BEHIND:
        if (isnan(f->best))
            (void)snprintf(out, size, "on the first fold it is behind %s, or its time was over",
                           leader);
        else
            (void)snprintf(out, size, "from %.5g it may reach %.5g, but %s has %.5g",
                           sign * f->best, sign * f->reach, leader, sign * s->of[s->leader].best);
        break;
    default:
        (void)snprintf(out, size, "it is not searched");
    }
}

/* Notes in log and journal what became of each family. */
static void say(struct study *st, const struct shares *s, struct actions *out)
{
    for (int i = 1; i < st->n_families; i++) {
        char why[120];

        if (st->search->share_said[i] == s->of[i].state)
            continue;
        st->search->share_said[i] = (uint8_t)s->of[i].state;
        share_why(st, s, i, why, sizeof why);
        log_info("study.family study=%" PRId64 " family=%s state=%s why=\"%s\"", st->row.id,
                 st->families[i]->name, share_state_name[s->of[i].state], why);
        struct action *a = action_add(out, ACT_SAY, 0);
        a->say = "search.family";
        (void)snprintf(a->data, sizeof a->data,
                       "{\"family\":\"%s\",\"state\":\"%s\",\"why\":\"%s\"}", st->families[i]->name,
                       share_state_name[s->of[i].state], why);
    }
}

int share_next(struct study *st, struct actions *out)
{
    struct shares s;

    if (!share_decides(st))
        return 0;
    share_make(st, &s);
    say(st, &s, out);
    return choose(st, &s);
}
