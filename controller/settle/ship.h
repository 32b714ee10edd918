/* ship.h - the end of a study as rows: see ship.c. */
#ifndef CONTROLLER_SETTLE_SHIP_H
#define CONTROLLER_SETTLE_SHIP_H

#include "controller/state/study.h"

/* running or paused -> finishing: the row, the rungs as they stand, the clock. The rest follows when it is settled. */
int ship_finish(struct study *st, const char *why, bool cut_running, struct err *err);
int ship_refit(struct study *st, int64_t number, struct err *err); /* creates the task */
/* The refit task ended; artifact NULL = it failed or was given up. */
int ship_refitted(struct study *st, const char *artifact, double test_score, double test_se,
                  struct err *err);
/* The study ends; this trial ships, 0 = none has a model. */
int ship_close(struct study *st, int64_t number, struct err *err);
int ship_kill(struct study *st, struct err *err); /* everything is cancelled, there is no model */

#endif
