/* propose.c - where configurations come from, and what the searchers are told (propose.h).
 *
 * The state of a sampler and of a scheduler follows from the sequence of calls that they got, and
 * from nothing else. In a deterministic study the plan makes that sequence, and a restart runs the
 * plan again. In a live study the journal holds it, and a restart replays the journal. Therefore a
 * call that changes a searcher must be repeatable from one of the two, or it must not be made.
 *
 * Configurations that the sampler did not propose (the script, a user's trials) are adopted by it
 * if they lie in its space, so that it learns from them and does not propose them again. */
#include "controller/decide/propose.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "controller/decide/ahead.h"
#include "controller/decide/script.h"
#include "controller/decide/searchers.h"
#include "controller/decide/share.h"
#include "controller/decide/stage.h"
#include "controller/problem/ladder.h"
#include "controller/state/objective.h"
#include "controller/state/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMED_EVERY = 8 }; /* suggestions of a sampler that ignores results */

/* ---- opening ---- */

int propose_open(struct study *st, struct err *err)
{
    CHECK(!st->search->sampler && !st->search->scheduler && !st->search->script);
    if (script_make(st, err) < 0 || searchers_open(st, err) < 0) {
        propose_close(st);
        return -1;
    }
    return 0;
}

void propose_close(struct study *st)
{
    struct search *s = st->search;

    if (!s)
        return;
    ahead_close(st);
    sampler_close(s->sampler);
    scheduler_close(s->scheduler);
    s->sampler = NULL;
    s->scheduler = NULL;
    search_close(st);
}

/* ---- proposals ---- */

/* Tells the sampler that this trial has a configuration from elsewhere. */
static int adopt(struct study *st, int64_t number, const struct config *c, struct err *err)
{
    double *point = mem_array((size_t)st->space.space->n, sizeof *point);
    struct err outside = { 0 };
    int rc = ahead_settle(st, err);

    /* The baseline and a user's configuration outside the space have no point: the sampler need not
     * know them. */
    if (rc == 0 && config_to_point(c, st->space.space, point, &outside) == 0)
        rc = st->search->sampler->ops->adopt(st->search->sampler, number, point, err);
    mem_free(point);
    return rc;
}

/* Asks the sampler now, on the loop. Reading the clock of the thread takes longer than drawing
 * numbers, so of a sampler that does only that one suggestion in TIMED_EVERY is timed. */
static int suggest_here(struct study *st, int64_t number, double *point, struct err *err)
{
    const struct sampler *s = st->search->sampler;
    bool is_timed = !s->ops->ignores_results || number % TIMED_EVERY == 0;
    int64_t start_us = is_timed ? clk_cpu_us(st->ctl->clk) : 0;
    int rc = s->ops->suggest(st->search->sampler, number, 1, point, err);

    if (is_timed)
        ahead_took(st, clk_cpu_us(st->ctl->clk) - start_us, true);
    return rc;
}

/* Makes a suggestion at once where that is quick, and otherwise begins it beside the loop. A live
 * study notes the beginning in its journal: before the trial is created the sampler may be told
 * further results, and a replay must make the suggestion before it tells them. */
static int suggest_or_begin(struct study *st, int64_t number, double *point, struct actions *out,
                            struct err *err)
{
    if (ahead_is_open(st))
        return ahead_take(st, number, point, err);
    if (st->search->holds_suggestions) {
        st->ctl->is_deferred = true;
        return AHEAD_LATER;
    }
    if (!ahead_is_wanted(st))
        return suggest_here(st, number, point, err);
    if (!st->is_deterministic) {
        struct action *a = action_add(out, ACT_SAY, 0);

        a->say = "search.suggest";
        (void)snprintf(a->data, sizeof a->data, "{\"number\":%" PRId64 "}", number);
    }
    ahead_begin(st, number);
    return AHEAD_LATER;
}

static int suggest(struct study *st, int64_t number, struct config *c, struct actions *out,
                   struct err *err)
{
    double *point = mem_array((size_t)st->space.space->n, sizeof *point);
    int rc = suggest_or_begin(st, number, point, out, err);

    if (rc == 1)
        config_from_point(c, st->space.space, st->space.own, point);
    mem_free(point);
    return rc;
}

bool propose_must_wait(struct study *st, int64_t number)
{
    if (st->ctl->suggest_us < PROPOSE_TURN_US || ahead_is_made(st, number))
        return false;
    st->ctl->is_deferred = true;
    return true;
}

/* Tells the sampler which family the next suggestion should be of. */
static void prefer(struct study *st, int wanted)
{
    const struct sampler *s = st->search->sampler;
    int root = space_find(st->space.space, "family"), choice = -1;

    if (!s->ops->prefer || ahead_is_open(st))
        return;
    for (int i = 0; wanted && root >= 0 && i < st->space.space->params[root].n_choices; i++) {
        if (str_eq(st->space.space->params[root].choices[i], st->families[wanted]->name))
            choice = i;
    }
    s->ops->prefer(st->search->sampler, choice);
}

int propose_next(struct study *st, int64_t number, struct config *c, enum trial_source *source,
                 struct actions *out, struct err *err)
{
    /* A suggestion under way was begun for this number, so it goes before the script. */
    int wanted = ahead_is_open(st) ? 0 : share_next(st, out);
    const struct script_item *item =
        ahead_is_open(st) ? NULL : script_next(st, wanted ? st->families[wanted] : NULL);

    if (item) {
        *c = item->config;
        *source = item->source;
        return adopt(st, number, c, err) < 0 ? -1 : 1;
    }
    *source = SRC_SAMPLER;
    prefer(st, wanted);
    return suggest(st, number, c, out, err);
}

/* Replay: tells the sampler which configuration it proposed for this trial: 1, 0 = the stored
 * configuration is outside its space, so that it must propose again, -1. */
static int recall(struct study *st, int64_t number, const struct config *c, struct err *err)
{
    double *point = mem_array((size_t)st->space.space->n, sizeof *point);
    struct err outside = { 0 };
    int rc = 0;

    if (config_to_point(c, st->space.space, point, &outside) == 0)
        rc = st->search->sampler->ops->recall(st->search->sampler, number, point, err) < 0 ? -1 : 1;
    mem_free(point);
    return rc;
}

/* Replay: tells the sampler of a trial that exists. is_own = the sampler proposed it then. c NULL =
 * the configuration is read from the trial's row. */
static int adopt_again(struct study *st, int64_t number, const struct config *c, bool is_own,
                       struct err *err)
{
    struct config stored;

    if (!c) {
        if (trial_config(st, number, &stored, err) < 0)
            return -1;
        c = &stored;
    }
    if (!c->family)
        return err_set(err, ERR_DAMAGED,
                       "the stored configuration of trial %" PRId64 " cannot be read", number);
    return is_own ? recall(st, number, c, err) : adopt(st, number, c, err);
}

/* Replay: makes the suggestion for this number again, or takes it if it was begun; waits for it. */
static int propose_here(struct study *st, int64_t number, struct config *c, struct err *err)
{
    double *point = mem_array((size_t)st->space.space->n, sizeof *point);
    int rc = ahead_settle(st, err);

    if (rc == 0)
        rc = ahead_is_made(st, number) ? ahead_take(st, number, point, err)
                                       : suggest_here(st, number, point, err);
    if (rc == 1)
        config_from_point(c, st->space.space, st->space.own, point);
    mem_free(point);
    return rc;
}

/* If the suggestion became a trial, the sampler is told of it here and not again where the trial
 * was created (search.recalled). If it never became one, it is made again and kept for its number.
 * A sampler that cannot be told (no `recall`) makes it again in both cases. */
int propose_begun(struct study *st, int64_t number, struct err *err)
{
    bool is_made =
        number >= 1 && number <= st->n_trials && trial_mem(st, number)->source == SRC_SAMPLER;

    if (number < 1 || ahead_is_open(st))
        return 0;
    if (is_made && st->search->sampler->ops->recall) {
        int rc = adopt_again(st, number, NULL, true, err);

        st->search->recalled = rc == 1 ? number : 0;
        return rc < 0 ? -1 : 0;
    }
    ahead_begin(st, number);
    return ahead_settle(st, err);
}

int propose_again(struct study *st, int64_t number, enum trial_source source,
                  const struct config *config, struct err *err)
{
    struct config proposed;
    int rc = 0;

    if (source == SRC_SCRIPT || source == SRC_FIRST)
        script_took(st, trial_mem(st, number)->config);
    if (number == st->search->recalled)
        return 0;
    if (source != SRC_SAMPLER)
        return adopt_again(st, number, config, false, err);
    if (st->search->sampler->ops->recall && (rc = adopt_again(st, number, config, true, err)) != 0)
        return rc < 0 ? -1 : 0;
    rc = propose_here(st, number, &proposed, err);
    if (rc < 0)
        return -1;
    if (rc == 1 && config_hash_of(&proposed) == trial_mem(st, number)->config)
        return 0;
    /* Another version of the sampler proposed it then. The trial that was tried is what counts. */
    log_warn("study.replay_differs study=%" PRId64 " number=%" PRId64, st->row.id, number);
    return adopt_again(st, number, config, false, err);
}

/* ---- results ---- */

int64_t propose_cost(const struct study *st, const struct config *c, int from, int to)
{
    if (from >= to || !c->family)
        return 1;
    return family_level_cost(c->family, &st->problem.shape, c->params, from, to);
}

enum obs_state propose_obs_of(enum trial_state s)
{
    switch (s) {
    case TS_COMPLETED:
        return OBS_COMPLETED;
    case TS_PRUNED:
        return OBS_PRUNED;
    case TS_FAILED:
        return OBS_FAILED;
    default:
        return OBS_CANCELLED;
    }
}

static struct observation observation_of(struct study *st, int64_t number, enum obs_state state,
                                         int level, double score)
{
    const struct trial_mem *t = trial_mem(st, number);
    struct observation o = { .trial = number,
                             .state = state,
                             .level = level,
                             .max_level = t->max_level,
                             .value = isnan(score) ? NAN : study_gain(st, score),
                             /* of a report nothing is kept from which a replay could read it */
                             .error = state == OBS_COMPLETED ? t->score_se : NAN };

    if (objective_count(st) > 1) { /* what a trial costs is known only once it is completed */
        double all[SPEC_MAX_OBJECTIVES];

        objective_all(st, t, all);
        for (int i = 1; i < objective_count(st); i++)
            o.more[i - 1] = state == OBS_COMPLETED ? all[i] : NAN;
    }
    return o;
}

int propose_observe(struct study *st, int64_t number, enum obs_state state, int level, double score,
                    struct err *err)
{
    struct observation o = observation_of(st, number, state, level, score);

    return ahead_observe(st, &o, err);
}

int propose_start(struct study *st, int64_t number, enum trial_source source, const char *family,
                  int max_level, struct err *err)
{
    const struct family *f = family_find(family);

    if (source == SRC_FIRST || source == SRC_CONFIRM)
        return max_level;
    bool is_short = f && ladder_is_short(&st->problem, number, f);
    int to = st->search->scheduler->ops->start(
        st->search->scheduler, number, searchers_group(st, family),
        is_short ? ladder_top(&st->problem, f, true) : max_level, err);

    return to > 0 && is_short ? ladder_to_family(f, true, to) : to;
}

/* Whether the scheduler counts this trial's levels on the short ladder (problem/ladder.h). */
static bool is_on_short(struct study *st, int64_t number, const struct family **f)
{
    *f = st->families[trial_mem(st, number)->family];
    return ladder_is_short(&st->problem, number, *f);
}

int propose_resume(struct study *st, bool idle, struct sched_resume *out, struct err *err)
{
    const struct family *f;
    int n = st->search->scheduler->ops->resume(st->search->scheduler, 1, idle, out, err);

    if (n > 0 && is_on_short(st, out->trial, &f))
        out->to = ladder_to_family(f, true, out->to);
    return n;
}

int propose_report(struct study *st, int64_t number, enum obs_state state, int level, double score,
                   struct sched_decision *out, struct err *err)
{
    struct observation o = observation_of(st, number, state, level, score);

    enum trial_source source = (enum trial_source)trial_mem(st, number)->source;

    if (source == SRC_FIRST || source == SRC_CONFIRM) {
        *out = state == OBS_RUNNING ? stage_next(st, number, score)
                                    : (struct sched_decision){ SCHED_DONE, 0 };
        return 0;
    }
    const struct family *f;
    bool is_short = is_on_short(st, number, &f);

    if (is_short) {
        o.level = ladder_to_scheduler(f, true, level);
        o.max_level = ladder_top(&st->problem, f, true);
    }
    int rc = st->search->scheduler->ops->report(st->search->scheduler, &o, out, err);
    if (rc == 0 && is_short && out->action == SCHED_RUN_TO)
        out->to = ladder_to_family(f, true, out->to);
    return rc;
}
