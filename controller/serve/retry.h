/* retry.h - a trial that fails by the machine again and again: a cache disk that is full, an upload
 * that is refused for good. The first failure queues the trial again at once, since another device
 * may do better. From the second in a row on, the trial waits before its next attempt, and the wait
 * doubles each time; the fifth pauses the study with a sentence that names the trial, the runner
 * and the error. Other trials of the study go on meanwhile. A failure for which the device goes
 * into quarantine (state/quarantine.h) does not count. The counts are in memory only: after a
 * restart of the controller, and when a user resumes the study, they begin at zero. Called by
 * message.c, dispatch.c, turn.c and api/study.c. */
#ifndef CONTROLLER_SERVE_RETRY_H
#define CONTROLLER_SERVE_RETRY_H

#include "controller/state/lease.h"
#include "controller/state/study.h"

/* The trial failed by the machine under this lease (runner 0 = unknown), and the device was not put
 * into quarantine for it. detail: the runner's words, may be NULL. */
int retry_failed(struct study *st, int64_t number, const struct lease *l, const char *detail,
                 struct err *err);
/* The trial did what it was asked to: its next failure counts as a first one. */
void retry_worked(struct study *st, int64_t number);
void retry_forget(struct study *st); /* forgets the failures of all its trials */
/* Whether the trial must not be granted yet. */
bool retry_waits(const struct study *st, int64_t number);
int retry_n_waiting(const struct study *st); /* how many trials of the study must not */

void retry_tick(struct ctl *ctl);         /* ends the waits that are over */
int64_t retry_due(const struct ctl *ctl); /* monotonic ms when the next one is over */

#endif
