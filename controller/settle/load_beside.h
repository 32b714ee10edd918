/* load_beside.h - ended studies come back into memory beside the loop: their trials are read on the pool through a connection of
 * its own, and kept in a cache with a limit. Unfinished studies are always in memory (recover.c). */
#ifndef CONTROLLER_SETTLE_LOAD_BESIDE_H
#define CONTROLLER_SETTLE_LOAD_BESIDE_H

#include "controller/state/ctl.h"

/* Forgets ended studies nobody asked for lately: so many may stay, with so many trials in all. */
enum { LOAD_KEPT = 32, LOAD_KEPT_TRIALS = 300000, LOAD_WAITING = 8 };
void load_trim(struct ctl *ctl);
void load_free_all(struct ctl *ctl); /* whoever waits is not called */

#endif
