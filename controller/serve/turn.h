/* turn.h - the controller's life and its turns (see turn.c). Called by main.c and by tests. The
 * begin and the end of a single request are declared in api.h, because web/ frames its requests
 * with them. */
#ifndef CONTROLLER_SERVE_TURN_H
#define CONTROLLER_SERVE_TURN_H

#include "controller/state/ctl.h"

/* Opens the data folder and loads what is unfinished (recover.c). conf's strings must outlive the
 * controller. loop may be NULL in tests, which then call ctl_tick and ctl_turn_end themselves. */
struct ctl *ctl_new(const struct ctl_conf *conf, struct clk *clk, struct loop *loop,
                    struct err *err);
/* Frees everything and closes the database. What was not committed at the end of a turn is lost. */
void ctl_free(struct ctl *ctl);
/* Begins a graceful end: no more work is granted, and waiting lease calls are answered. Reports are
 * still accepted. */
void ctl_stop(struct ctl *ctl);

/* Does everything that is due by the clock, in one request: leases that ran out, budgets that are
 * used up, long polls whose time is over. */
void ctl_tick(struct ctl *ctl);
/* Ends a turn: serves waiting lease calls, commits, and lets the answers go out. */
void ctl_turn_end(struct ctl *ctl);
/* Ends a turn and waits until it is durable: 0, or -1 if it could not be committed. */
int ctl_turn_finish(struct ctl *ctl, struct err *err);

#endif
