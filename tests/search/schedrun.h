/* schedrun.h - drives a scheduler through a made-up study as a controller would, with what goes wrong in one: trials that
 * fail or are cancelled (paused ones too), NaN and infinities, late and repeated reports, restarts from a journal of
 * the calls that gave something. Keeps what was reported, so that a test can work out by itself what had to be
 * decided. It checks what holds for every scheduler. */
#ifndef TESTS_SEARCH_SCHEDRUN_H
#define TESTS_SEARCH_SCHEDRUN_H

#include "base/rng.h"
#include "search/contract/scheduler.h"

enum { RUN_MAX_TRIALS = 400, RUN_MAX_LEVEL = 128 };
enum run_state { RUN_NONE, RUN_RUNNING, RUN_PAUSED, RUN_STOPPED, RUN_ENDED };

struct run_trial {
    enum run_state state;
    enum obs_state end; /* of an ENDED one */
    int family, max_level, level, to;
    int resumed;                     /* times */
    double value[RUN_MAX_LEVEL + 1]; /* by level; NaN where none was reported */
};

/* What a journal keeps of a call. */
struct run_call {
    enum { RUN_CALL_START, RUN_CALL_REPORT, RUN_CALL_RESUME, RUN_CALL_RETIRE } what;
    bool flag; /* idle, closing */
    int family;
    struct observation o; /* its trial and max_resource: of a start too */
};

struct schedrun {
    const struct scheduler_ops *ops;
    struct search_setup setup;
    int n_trials, slots, n_groups, max_level[3];                   /* by group */
    uint32_t fail, cancel, special, replay, late;                  /* in 1000 */
    void (*on_resume)(struct schedrun *r, int64_t trial);          /* before it counts as running */
    void (*on_quiet)(struct schedrun *r);                          /* resume has nothing to give */
    double (*value)(struct schedrun *r, int64_t trial, int level); /* NULL = random */

    struct scheduler *s;
    struct rng rng;
    int n_started, n_running;
    struct run_trial trials[RUN_MAX_TRIALS + 1];
    struct run_call *calls;
    int n_calls, cap_calls;
};

void schedrun_open(struct schedrun *r, uint64_t seed);
void schedrun_all(struct schedrun *r); /* to the end of the study */
/* A whole study with failures, cancelled trials, odd values and restarts; the caller closes it. */
void schedrun_stormy(struct schedrun *r, struct rng *g);
void schedrun_close(struct schedrun *r);
/* Goes on with one that was given the calls again, which must decide the same. */
void schedrun_replay(struct schedrun *r);

/* One call each, for examples. */
int schedrun_start(struct schedrun *r, int family); /* level it runs to */
struct sched_decision schedrun_report(struct schedrun *r, int64_t trial, enum obs_state state,
                                      int level, double value);
int64_t schedrun_resume(struct schedrun *r, bool idle); /* the trial, 0 = none */
int64_t schedrun_retire(struct schedrun *r, bool closing);
/* The row of describe for this bracket and rung of a group. */
struct sched_rung schedrun_row(struct schedrun *r, int family, int bracket, int rung);

#endif
