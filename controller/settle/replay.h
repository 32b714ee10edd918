/* replay.h - the searchers of a live study are rebuilt from its journal. */
#ifndef CONTROLLER_SETTLE_REPLAY_H
#define CONTROLLER_SETTLE_REPLAY_H

#include "controller/state/study.h"

/* Tells fresh searchers what the study's journal holds, in its order. */
int replay_study(struct study *st, struct err *err);
/* The warm start's trials from the journal into study.warm (warm.h); NULL without. */
int replay_warm(struct study *st, struct err *err);

#endif
