/* wait.h - lease calls, by which runners ask for work. A call is answered at once if there is work.
 * Otherwise it waits (a long poll) until there is work, its time is over, or the client goes away.
 * The verb itself is ctl_runner_lease in api.h; these functions are for turn.c. */
#ifndef CONTROLLER_SERVE_WAIT_H
#define CONTROLLER_SERVE_WAIT_H

#include "controller/state/ctl.h"

/* At the end of a turn: gives work to waiting calls, for at most 4 ms. */
void wait_serve(struct ctl *ctl);
/* Whether wait_serve stopped for want of time, so that the next turn should come at once. */
bool wait_goes_on(const struct ctl *ctl);
void wait_tick(struct ctl *ctl);         /* answers "no work" to calls whose time is over */
int64_t wait_due(const struct ctl *ctl); /* monotonic ms when the next one's time is over */
void wait_end_all(struct ctl *ctl);      /* answers "no work" to all calls */
void wait_free_all(struct ctl *ctl);     /* frees all calls without an answer */

#endif
