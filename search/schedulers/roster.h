/* roster.h - which trials a scheduler with rungs knows: where each stands and what it does. In order of their numbers.
 * `home` and `rung` mean what the owner says. */
#ifndef SEARCH_SCHEDULERS_ROSTER_H
#define SEARCH_SCHEDULERS_ROSTER_H

#include "base/buf.h"
#include "search/contract/scheduler.h"

/* RUNNING: on the way to its rung. PAUSED: at its rung. CALLED: shall go on to its rung, LOST: shall be pruned, and the caller
 * was not told yet. STOPPED: by the scheduler. ENDED: for any other reason. */
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
    double value; /* at the last rung it came to */
    int home, rung;
    enum roster_state state;
    uint8_t flags; /* the owner's */
};

struct roster {
    struct roster_entry *entries;
    size_t n, cap;
    int64_t n_running;
};

void roster_fini(struct roster *r);
struct roster_entry *roster_find(const struct roster *r, int64_t trial); /* NULL = unknown */
/* A new trial, running; the pointer lasts until the next one comes. */
struct roster_entry *roster_add(struct roster *r, int64_t trial, int home, int rung);
void roster_move(struct roster *r, struct roster_entry *e, enum roster_state to);
int roster_unknown(int64_t trial, struct err *err); /* ERR_NOTFOUND, -1 */

#endif
