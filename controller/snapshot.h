/* snapshot.h - the searchers of a study as bytes in the database, so that a start need not go through its whole history. A
 * snapshot is written with the rows it belongs to, in one transaction; loading it and replaying what came after gives the
 * state that replaying everything gives. It is a shortcut only: damaged, missing or of another version, it is passed over. */
#ifndef CONTROLLER_SNAPSHOT_H
#define CONTROLLER_SNAPSHOT_H

#include "controller/state/study.h"

/* Writes one when enough trials have ended since the last; inside a request, after settling. */
int snapshot_tick(struct ctl *ctl, struct err *err);
int snapshot_all(struct ctl *ctl, struct err *err); /* of all that is unfinished: a graceful stop */
int snapshot_save(struct study *st, struct err *err);
/* Into searchers that were just opened: 1 with the journal's sequence it includes, 0 = there is none that fits (the
 * searchers are as opened), -1. */
int snapshot_load(struct study *st, int64_t *seq, struct err *err);

#endif
