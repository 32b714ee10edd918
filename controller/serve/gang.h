/* gang.h - trials that several devices train together (decide/gang.h says which devices): the grants
 * of their ranks, and what the loss of a rank does to its trial. Rank 0 has the trial's lease and
 * reports it; each other rank is a task of kind `rank`, which lives as long as that lease. */
#ifndef CONTROLLER_SERVE_GANG_H
#define CONTROLLER_SERVE_GANG_H

#include "controller/decide/gang.h"
#include "controller/state/runner.h"
#include "controller/state/task.h"

/* A device whose lease call can be answered now, and the answer. */
struct gang_seat {
    struct runner *runner;
    struct device *device;
    const struct msg_ask *ask; /* borrowed */
    json_t *grant;             /* a new reference; NULL = it gets nothing */
};
/* The seat that asks is the first; the others are those whose calls wait. They are added when a
 * gang is ready, because there may be many. */
struct gang_seats {
    struct ctl *ctl;
    struct gang_seat *seat; /* owned */
    int n, cap;
    bool is_filled;
    void (*fill)(struct gang_seats *s); /* adds the others; NULL = there are none */
};
void gang_seat_add(struct gang_seats *s, struct runner *r, struct device *d,
                   const struct msg_ask *ask);
void gang_seats_fini(struct gang_seats *s); /* grants that were not taken are freed */

/* The devices that could train a gang of this study, and which of them are free: those of `seats`.
 * out and seat_of are owned by the caller (mem_free); seat_of[i] is -1 for a busy device. */
int gang_fleet(struct ctl *ctl, const char *sig, const struct gang_seats *seats,
               struct gang_device **out, int **seat_of);
/* Whether this trial of several devices can go out now; GANG_GOES fills chosen with places of
 * seats. */
enum gang_answer gang_try(struct study *st, int64_t number, struct gang_seats *seats, int *chosen);
/* From now on this trial holds devices of this kind, until it goes or cannot go. */
void gang_hold(struct study *st, int64_t number, const char *kind);
/* Whether a gang of this study holds devices of this kind. */
bool gang_holds(const struct study *st, const char *kind);

/* The trial was granted to the first chosen seat with *first: grants its other ranks to the others,
 * and completes *first. */
int gang_grant(struct study *st, const struct trial_row *row, struct msg_grant *first,
               struct gang_seats *seats, const int *chosen, struct err *err);

/* The rank's task is lost or has failed: ends the task and this attempt of its trial. l: the lease
 * that the task had. */
int gang_rank_failed(struct ctl *ctl, struct task *t, const struct lease *l,
                     enum trial_reason reason, const char *detail, struct err *err);
/* MSG_MEET of rank 0 and MSG_TASK_MEET of another. */
void gang_meet(struct ctl *ctl, const struct msg_event *e);
void gang_where(struct ctl *ctl, const struct task *t, struct msg_reply *reply);

#endif
