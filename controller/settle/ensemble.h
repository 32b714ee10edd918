/* ensemble.h - writes into rows that an ensemble is looked for, and what became of it: at the end of
 * a study, and while its search still goes on. When either is done is decided in decide/ensemble.c
 * and decide/finish.c; settle.c calls these functions to do it. serve/task.c says how the task
 * ended. */
#ifndef CONTROLLER_SETTLE_ENSEMBLE_H
#define CONTROLLER_SETTLE_ENSEMBLE_H

#include "controller/state/study.h"
#include "proto/msg.h"

/* Creates the task that makes an ensemble of the best models, if there are enough of them. */
int ensemble_ask(struct study *st, struct err *err);
/* The same while the search goes on. */
int ensemble_ask_early(struct study *st, struct err *err);
/* The search is over, and the early ensemble ships. */
int ensemble_take_early(struct study *st, struct err *err);

/* A task of a study ended with this result, and with this artifact; "" = the best model alone is as
 * good. NULL = it failed or was given up. took_ms: how long a runner had it; 0 = unknown. The
 * references are borrowed. */
struct ensemble_end {
    int64_t task, took_ms;
    const char *artifact;
    const json_t *detail;
    const struct msg_event *event; /* NULL where artifact is */
};
int ensemble_ended(struct study *st, const struct ensemble_end *end, struct err *err);

#endif
