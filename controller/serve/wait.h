/* wait.h - lease calls: answered at once, or kept waiting (long poll) until there is work, the time is over, or the client
 * goes away. */
#ifndef CONTROLLER_SERVE_WAIT_H
#define CONTROLLER_SERVE_WAIT_H

#include "controller/state/ctl.h"

void wait_serve(struct ctl *ctl);         /* at the end of a turn: whoever can have work gets it */
void wait_tick(struct ctl *ctl);          /* answers "none" to those who waited long enough */
void wait_end_all(struct ctl *ctl);       /* answers "none" to all */
void wait_free_all(struct ctl *ctl);      /* answers nobody */
bool wait_goes_on(const struct ctl *ctl); /* some are still to be tried, in the next turn */
int64_t wait_due(const struct ctl *ctl);

#endif
