/* roster.h - which trials a scheduler with rungs knows: where each stands and what it does. In
 * order of their numbers. `home` and `rung` mean what the owner says. */
#ifndef SEARCH_SCHEDULERS_ROSTER_H
#define SEARCH_SCHEDULERS_ROSTER_H

#include "base/buf.h"
#include "search/contract/scheduler.h"

/* What a trial is doing.
 * RUNNING  it is on its way to its rung.
 * PAUSED   it waits at its rung.
 * CALLED   it is to go on to its rung, but the caller was not told yet.
 * LOST     it is to be pruned, but the caller was not told yet.
 * STOPPED  the scheduler stopped it.
 * ENDED    it ended for any other reason. */
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
    double value; /* at the last rung that it came to */
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
struct roster_entry *roster_find(const struct roster *r, int64_t trial); /* NULL = unknown */
/* Adds a new trial, which is running. The pointer is valid until the next one is added. */
struct roster_entry *roster_add(struct roster *r, int64_t trial, int home, int rung);
void roster_move(struct roster *r, struct roster_entry *e, enum roster_state to);
int roster_unknown(int64_t trial, struct err *err); /* ERR_NOTFOUND, -1 */

#endif
