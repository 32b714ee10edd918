/* serve.h - who waits for this controller: calls for work in their long polls, subscribers of the live
 * feed, and requests whose answers leave after the commit. There is one such struct (ctl.serve),
 * made and freed with the controller (turn.c). Nobody here survives a restart: clients connect
 * again and ask again, so nothing of it is stored. */
#ifndef CONTROLLER_SERVE_SERVE_H
#define CONTROLLER_SERVE_SERVE_H

#include "controller/state/ctl.h"

enum { SERVE_CLASSES = 32 };

struct ctl_hold;
struct ctl_wait;
struct ctl_sub;
struct durable;

/* Who must be told when this turn's transaction has been committed, or could not be. */
struct after_commit {
    void (*on_done)(void *arg, bool ok, const struct err *err);
    void *arg;
};

struct after_list {
    struct after_commit *v;
    int n, cap;
};

/* A device of this kind finds work if and only if another one does. */
struct wait_class {
    char kind[16], sig[64];
    int n_devices; /* of its runner */
    bool commands, meets, blends;
    int n_waits;  /* calls of such devices that wait */
    bool is_poor; /* one of them has found nothing in this turn */
};

struct serve {
    /* Lease calls that wait, oldest first (wait.c). A turn tries only as many of them as its time
     * allows; the next turn goes on where it stopped. */
    struct ctl_wait *waits, *waits_last;
    struct ctl_wait *wait_next; /* is tried next; NULL = the oldest */
    int n_waits;
    int waits_left;    /* calls that were not tried since something changed */
    int64_t waits_due; /* none ends before */
    /* The waiting calls of devices that are alike, of the most frequent kinds. */
    struct wait_class classes[SERVE_CLASSES];
    int n_classes;

    /* Calls of programs that wait for a trial, oldest first (hold.c). */
    struct ctl_hold *holds, *holds_last;
    int64_t holds_due;  /* none ends before */
    int64_t hold_round; /* counts the walks over them */
    bool is_hold_due;   /* something changed since they were tried */

    struct ctl_sub *subs; /* of the live feed (events.c) */
    bool is_telling; /* rows go out to subscribers now: none may be freed before that is over */

    /* In the order of the requests: of this turn, and of the turn that is being synced (turn.c). */
    struct after_list after, syncing;
    struct durable *durable; /* syncs beside the loop; NULL = commits wait for the disk */
};

#endif
