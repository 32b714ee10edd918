/* hold.h - calls of programs that ask for a trial while there is none for them (api/ask.c). Such a
 * call is kept until there is one, its study is over, its time is over, or its client goes away.
 * The verb is ctl_study_hold in api.h; these functions are for it and for turn.c. */
#ifndef CONTROLLER_SERVE_HOLD_H
#define CONTROLLER_SERVE_HOLD_H

#include "controller/state/ctl.h"

struct hold_call {
    int64_t study;
    int64_t wait_ms; /* at most so long, and at most the controller's longest wait */
    /* Within a request: 1 = *out is the answer, 0 = *out is the answer if the time is over, -1. */
    int (*try)(struct ctl *ctl, void *state, json_t **out, struct err *err);
    void (*free)(void *state);
    void *state; /* freed with the call */
    void (*on_answer)(void *arg, json_t *answer_new, const struct err *err); /* called once */
    void *arg;
};

/* answer: what it gets if it must end before it was tried; borrowed. */
struct ctl_hold *hold_add(struct ctl *ctl, const struct hold_call *call, json_t *answer);
/* At the end of a turn in which something changed: tries the calls that wait, oldest first. After
 * one that gets nothing, others of its study get nothing, too, and are not tried. */
void hold_serve(struct ctl *ctl);
bool hold_goes_on(const struct ctl *ctl); /* hold_serve stopped for want of time */
void hold_tick(struct ctl *ctl);          /* answers calls whose time is over */
int64_t hold_due(const struct ctl *ctl);  /* monotonic ms when the next one's time is over */
void hold_end_all(struct ctl *ctl);  /* answers all calls without a try: the controller stops */
void hold_free_all(struct ctl *ctl); /* frees all calls without an answer */

#endif
