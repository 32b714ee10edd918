/* finish.h - the end of a study: open work is ended, after a holdout the best configuration is fitted once more on all rows,
 * and what ships is named. The steps are repeatable: a restart in the middle goes on where the rows are. */
#ifndef CONTROLLER_DECIDE_FINISH_H
#define CONTROLLER_DECIDE_FINISH_H

#include "controller/state/study.h"
#include "controller/state/task.h"

#define FINISH_BY_USER "stopped by a user"

/* running or paused -> finishing. Queued and paused trials are cancelled; running ones too if cut_running, but for those
 * whose artifact is on its way. */
int finish_begin(struct study *st, const char *why, bool cut_running, struct err *err);
int finish_step(struct study *st, struct err *err); /* as far as it goes now */
int finish_kill(struct study *st, struct err *err); /* everything is cancelled, no model */
int64_t finish_due(const struct study *st); /* monotonic ms when finish_step should look again */
/* The refit task ended; artifact NULL = it failed. */
int finish_refitted(struct study *st, const char *artifact, double test_score, double test_se,
                    struct err *err);

#endif
