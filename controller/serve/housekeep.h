/* housekeep.h - what must be done now and then, called by main.c's timers. */
#ifndef CONTROLLER_SERVE_HOUSEKEEP_H
#define CONTROLLER_SERVE_HOUSEKEEP_H

#include "controller/state/ctl.h"

void housekeep_collect(
    struct ctl *ctl); /* unused blobs, old idempotency keys; a request of its own */
void housekeep_check_database(
    struct ctl *ctl); /* after a bad end: is its file whole? on the pool, the answer in the log */
void housekeep_checkpoint(
    struct ctl *ctl); /* folds the write-ahead log into the database, on the pool */

#endif
