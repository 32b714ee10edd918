/* turn.h - the controller's life, its requests and its turns; see turn.c. The frame of a single request is in api.h. */
#ifndef CONTROLLER_SERVE_TURN_H
#define CONTROLLER_SERVE_TURN_H

#include "controller/state/ctl.h"

/* Opens the data folder and loads what is unfinished (recover.c). conf's strings must outlive the controller. */
struct ctl *ctl_new(const struct ctl_conf *conf, struct clk *clk, struct loop *loop,
                    struct err *err);
void ctl_free(struct ctl *ctl); /* commits nothing: the turn's end did */
/* Graceful stop: grants no more, waiting lease calls are answered "none"; reports still pass. */
void ctl_stop(struct ctl *ctl);

/* Everything that is due by the clock: expired leases, ends of budgets, long polls that waited long enough. One request. */
void ctl_tick(struct ctl *ctl);
/* The end of a turn: waiting leases are served, the turn is committed, the answers go out. */
void ctl_turn_end(struct ctl *ctl);

#endif
