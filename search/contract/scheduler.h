/* scheduler.h - what a scheduler is: it decides how far each trial is trained. Pure, as sampler.h
 * says. Levels are those of the trial's ladder, 1..max_level. A trial whose ladder has one level
 * runs to it and is never compared below. Below the top a trial is compared only with trials of its
 * own family and with a ladder of the same length.
 *
 * What the caller does when there is room for a trial: first resume(), then start() of a new trial,
 * and if none can be started, resume() once more with `idle`. After each report it calls retire().
 * Calls of resume and retire that return nothing change nothing, so it does not matter how often
 * they are made. Every trial must be reported with its end, also a failed or cancelled one, or its
 * rung may wait for it for ever.
 *
 * resume() may name a trial whose PAUSE was decided but whose checkpoint is still being uploaded;
 * the caller waits until it really is paused. A decision is a pure function of the calls so far, so
 * a deterministic study makes its calls in the order of virtual time. */
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

/* One rung as the page and the API show it. A trial is in exactly one of the four counts of each
 * rung that it was sent to. */
struct sched_rung {
    int family, max_level; /* whose ladder */
    int bracket;           /* from 0, in the order they were opened within the ladder */
    int rung, level;       /* from 0, the lowest; where on the ladder it is */
    int64_t size;          /* trials planned; 0 = no plan */
    int64_t n_running;     /* trials on the way to it */
    int64_t n_waiting;     /* paused here: undecided, or about to go on */
    int64_t n_promoted;    /* went on from here */
    int64_t n_done;        /* ended here: at the top, stopped, failed or cancelled */
    double best;           /* NaN = no value yet */
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
    /* A new trial with its family (any number that stands for it) and its ladder. Returns to which
     * level it runs first (1..max_level), or -1. */
    int (*start)(struct scheduler *s, int64_t trial, int family, int max_level, struct err *err);
    /* A trial reported `value` (larger is better, NaN = failed) at a level below max_level; *out
     * says what it does next. At max_level, or at an end (a state other than OBS_RUNNING), the
     * answer is SCHED_DONE. A level that was reported before changes nothing, and the answer is
     * what the trial is to do at present. */
    int (*report)(struct scheduler *s, const struct observation *o, struct sched_decision *out,
                  struct err *err);
    /* Paused trials that are to go on, at most n, each given once. Returns how many. `idle`: there
     * is room for a trial and no new one can be started. */
    int (*resume)(struct scheduler *s, int n, bool idle, struct sched_resume *out, struct err *err);
    /* Paused trials that will never be resumed and are to be pruned, at most n, each given once.
     * Returns how many. `closing`: no more trials will be started; once no trial runs and resume
     * gives none, this returns all the rest. */
    int (*retire)(struct scheduler *s, int n, bool closing, int64_t *trials, struct err *err);
    /* Families, as bits by the number that stands for them, whose trials are not to go on from a rung
     * until this is said anew: their time is better spent otherwise. They pause as if they were not
     * among the best. A resume with `idle` takes no notice. NULL: this scheduler cannot. */
    void (*hold)(struct scheduler *s, uint64_t families);
    /* Rungs from position `first` on, at most n, in order of family, ladder, bracket and rung.
     * Returns how many there are in all. NULL: this scheduler has no rungs. */
    int (*describe)(const struct scheduler *s, int first, int n, struct sched_rung *out);
};
struct scheduler {
    const struct scheduler_ops *ops;
    uint64_t seed;
};

void scheduler_close(struct scheduler *s); /* NULL is legal */

#endif
