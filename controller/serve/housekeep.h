/* housekeep.h - what must be done now and then. Called by main.c: by its timers, at the start and
 * at the end. */
#ifndef CONTROLLER_SERVE_HOUSEKEEP_H
#define CONTROLLER_SERVE_HOUSEKEEP_H

#include "controller/state/ctl.h"

/* Deletes files that nothing names any more, and old idempotency keys. A request of its own. */
void housekeep_collect(struct ctl *ctl);
/* If the last process did not end in order: checks on the pool whether the database's pages are
 * whole. Damage is logged, and /health shows it. */
void housekeep_check_database(struct ctl *ctl);
/* Moves what is in the write-ahead log into the database file, on the pool. */
void housekeep_checkpoint(struct ctl *ctl);
/* The same if the log has grown much since it was done last. */
void housekeep_log(struct ctl *ctl);

#endif
