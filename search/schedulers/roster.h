/* roster.h - the trials that a scheduler with rungs has started: where each stands and what it
 * does. The entries are sorted by the trials' numbers. What `home`, `rung`, `value` and `flags`
 * mean is for the scheduler that owns the roster to say: home is its bracket or ladder, rung the
 * place on it that the trial is at or runs to. */
#ifndef SEARCH_SCHEDULERS_ROSTER_H
#define SEARCH_SCHEDULERS_ROSTER_H

#include "base/buf.h"
#include "search/contract/scheduler.h"

/* What a trial is doing.
 *
 *   RUNNING  it is on its way to its rung
 *   PAUSED   it waits at its rung
 *   CALLED   it will go on to its rung; the caller was not told yet
 *   LOST     it will be pruned; the caller was not told yet
 *   STOPPED  the scheduler has stopped it
 *   ENDED    it has ended for any other reason */
enum roster_state {
    ROSTER_RUNNING,
    ROSTER_PAUSED,
    ROSTER_CALLED,
    ROSTER_LOST,
    ROSTER_STOPPED,
    ROSTER_ENDED,
    ROSTER_STATES
};

struct roster_entry {
    int64_t trial;
    /* its value at the last rung that it came to */
    double value;
    int home, rung;
    enum roster_state state;
    uint8_t flags; /* for the scheduler's own use */
};

struct roster {
    struct roster_entry *entries;
    size_t n, cap;
    int64_t n_running;
};

void roster_fini(struct roster *r);
/* NULL = the trial is unknown. */
struct roster_entry *roster_find(const struct roster *r, int64_t trial);
/* Adds a new trial, which is running. The pointer is valid until the next one is added. */
struct roster_entry *roster_add(struct roster *r, int64_t trial, int home, int rung);
/* Changes what a trial is doing, and keeps count of the running ones. */
void roster_move(struct roster *r, struct roster_entry *e, enum roster_state to);
/* Sets ERR_NOTFOUND and returns -1. */
int roster_unknown(int64_t trial, struct err *err);

#endif
