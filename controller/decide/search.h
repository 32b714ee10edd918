/* search.h - the memory of a study's search: its sampler, its scheduler, and what the decisions of
 * this folder must remember between two calls. A study has one (study.search) from the moment when
 * its data is known until it leaves memory. It has none before that, and none when it was loaded
 * while it finished or after it had ended, because then nothing is decided by it any more.
 *
 * Only files of decide/ change it. Nothing in it is stored: after a restart, or when a request was
 * undone, it is built again by telling a fresh sampler and scheduler everything that happened, in
 * the same order (settle/replay.c for live studies, plan.c for deterministic ones). Therefore no
 * field may depend on the clock or on how many turns of the loop a decision took. */
#ifndef CONTROLLER_DECIDE_SEARCH_H
#define CONTROLLER_DECIDE_SEARCH_H

#include "controller/state/study.h"
#include "search/contract/sampler.h"
#include "search/contract/scheduler.h"

struct ahead_slot;

/* A configuration that is tried before the sampler is asked (script.h). */
struct script_item {
    struct config config;
    enum trial_source source; /* SRC_SCRIPT or SRC_FIRST */
};

/* One run of a trial on a virtual worker of a deterministic study: from one level to another, until
 * the virtual clock reaches `end`. */
struct plan_run {
    int64_t number, end;
    int from, to;
};

/* The virtual workers of a deterministic study (plan.h). */
struct plan {
    int64_t now;         /* the virtual clock, in units of cost */
    int64_t next_number; /* the trial that is started next */
    int16_t *levels; /* by number - 1: the level that the plan knows each trial to have; owned */
    int n_levels, cap_levels;
    struct plan_run *runs; /* `workers` places, n_runs of them in use; owned */
    int n_runs, workers;
    /* Free workers were offered trials since the last event. They are offered trials once per
     * event, because each question changes the scheduler, so that asking twice would be another
     * study. */
    bool is_filled;
};

struct search {
    struct sampler *sampler;     /* owned */
    struct scheduler *scheduler; /* owned */
    json_t *warm;                /* trials of the earlier study (warm.h); NULL = none; owned */

    /* The script (script.h): its first script_pos items were taken. Items from script_free on may
     * be taken out of order, as results suggest. */
    struct script_item *script; /* owned */
    int n_script, script_pos, script_free;

    struct sched_decision
        said;            /* live studies: the scheduler's answer to the last report (live.h) */
    struct plan plan;    /* deterministic studies */
    bool is_exhausted;   /* the sampler has no further configuration */
    const char *closing; /* why no more trials are made; NULL = more may be made; static text */
    /* trials that ended since the best score was reached, and count (budget.c) */
    int64_t since_gain;
    int8_t best_family; /* the family of that trial, by place in study.families; 0 = the baseline */
    int64_t gain_at;    /* wall ms at which that trial ended */
    double best_score;  /* the best score so far, in the order of decisions; NaN = none */

    /* The states of families that were told last (share.h), by place in study.families. A restart
     * forgets them, and they are told again. */
    uint64_t held; /* what the scheduler was told of them last (scheduler_ops.hold) */
    uint8_t share_said[STUDY_MAX_FAMILIES + 1];

    /* Suggestions that are made beside the loop (ahead.h). */
    struct ahead_slot *ahead; /* the suggestion under way, or made and not yet taken; NULL = none */
    int64_t expect_us;        /* how long the next suggestion may take, by the last ones */
    int64_t last_us;          /* how long the last one took */
    bool holds_suggestions;   /* none may be begun, because a user's trial takes the next number */
    int64_t recalled;         /* replay: the sampler was already told of this trial; 0 = none */
};

/* Gives the study an empty search; propose_open then opens the searchers. */
void search_open(struct study *st);
/* Frees it; NULL is legal. The sampler, the scheduler and the suggestion under way are closed
 * before (propose_close). */
void search_close(struct study *st);

#endif
