/* replay.h - rebuilds the searchers of a live study from its journal. Called by load.c. */
#ifndef CONTROLLER_SETTLE_REPLAY_H
#define CONTROLLER_SETTLE_REPLAY_H

#include "controller/state/study.h"

/* Tells the study's fresh searchers everything that its journal holds, in the order of the
 * journal. */
int replay_study(struct study *st, struct err *err);
/* Reads the trials of a warm start from the journal into search.warm (decide/warm.h). */
int replay_warm(struct study *st, struct err *err);

#endif
