/* scheduler.h - who decides how far each trial runs. Pure, as sampler.h says. Levels are those of the trial's family
 * ladder: 1..max. A family with one level (max = 1) runs to it and never competes in lower rungs. Trials compare below
 * the top only within their group (the family) and with a ladder as long as theirs.
 *
 * The caller, whenever a slot is free: resume() first, then start() of a new trial, and when none can be started
 * resume() once more with `idle`; retire() after each report. Calls of resume and retire that return nothing change
 * nothing, so how often they are asked does not matter. A trial that ends in any way (failed, cancelled) is reported with
 * that state, or its rung may wait for it for ever.
 * resume() may name a trial whose PAUSE was decided but whose checkpoint is still on its way: the caller holds it back
 * until it really is paused. A decision is a pure function of the calls so far, so deterministic studies make their calls
 * in the order of virtual time. */
#ifndef SEARCH_CONTRACT_SCHEDULER_H
#define SEARCH_CONTRACT_SCHEDULER_H

#include "search/contract/option.h"
#include "search/contract/sampler.h"

enum sched_action { SCHED_RUN_TO, SCHED_PAUSE, SCHED_STOP, SCHED_DONE };
struct sched_decision {
    enum sched_action action;
    int to; /* RUN_TO */
};
struct sched_resume {
    int64_t trial;
    int to;
};

/* One rung, for those who look. A trial stands in one of the four counts of each rung it was sent to. */
struct sched_rung {
    int group, max_level; /* whose ladder */
    int bracket;          /* from 0, in the order they were opened within the ladder */
    int rung, level;      /* from 0, the lowest; where on the ladder it is */
    int64_t size;         /* trials planned; 0 = as they come */
    int64_t n_running;    /* on the way to it */
    int64_t n_waiting;    /* paused here, undecided or about to go on */
    int64_t n_promoted;   /* went on from here */
    int64_t n_done;       /* ended here: at the top, stopped, failed, cancelled */
    double best;          /* NaN = no value yet */
};

struct scheduler;
struct scheduler_ops {
    const char *name;
    const char *help;
    bool is_test_only;
    const struct search_option *options;
    int n_options;
    struct scheduler *(*open)(const struct search_setup *setup, struct err *err);
    void (*close)(struct scheduler *s);
    /* A new trial with its group (any number that stands for its family) and its ladder: to which level it runs first
     * (1..max_level), or -1. */
    int (*start)(struct scheduler *s, int64_t trial, int group, int max_level, struct err *err);
    /* It reported `value` (larger is better, NaN = failed) at a level < max_level: what now. At max_level or at an end
     * (state other than OBS_RUNNING) the answer is SCHED_DONE. A level reported before changes nothing, and the answer is
     * what the trial is to do now. */
    int (*report)(struct scheduler *s, const struct observation *o, struct sched_decision *out,
                  struct err *err);
    /* Paused trials that shall go on, at most n, each given once; returns how many. `idle`: a slot is free and no new
     * trial can be started. */
    int (*resume)(struct scheduler *s, int n, bool idle, struct sched_resume *out, struct err *err);
    /* Paused trials that never will be resumed and should be pruned now, at most n, each given once; returns how many.
     * `closing`: no more trials will be started; once nothing runs and resume gives none, this hands out all the rest. */
    int (*retire)(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err);
    /* Is the best of this group (starts name it) clearly not among the best of all, as far as that can be compared? NULL:
     * this one compares no groups. */
    bool (*is_behind)(const struct scheduler *s, int group);
    /* Rungs from position `first` on, at most n, in order of group, ladder, bracket, rung; returns how many there are in
     * all. NULL: this one has no rungs. */
    int (*describe)(const struct scheduler *s, int first, int n, struct sched_rung *out);
};
struct scheduler {
    const struct scheduler_ops *ops;
    uint64_t seed;
};

void scheduler_close(struct scheduler *s); /* NULL is legal */

#endif
