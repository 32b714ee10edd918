/* live.h - studies with a limit in time (not deterministic): decisions are taken when results arrive, trials are made when
 * somebody asks for work. */
#ifndef CONTROLLER_DECIDE_LIVE_H
#define CONTROLLER_DECIDE_LIVE_H

#include "controller/state/study.h"

/* Makes trials or promotes paused ones until `want` wait in the queue, or no more may be. */
int live_fill(struct study *st, int want, struct err *err);
/* Makes the script's trials until the one with this configuration; its number. */
int live_make_until(struct study *st, const char *config, int64_t *number, struct err *err);
/* The trial that a suggestion was begun for, if it is there (ahead.h). */
int live_make_begun(struct study *st, struct err *err);
/* Trials in flight; those whose answer was `pause` or `keep` hold no device and come on top, LIVE_LEAVING_MOST times as many
 * at most, lest files pile up before a slow line. Where the last trial took less
 * than LIVE_SHORT_MS, each device has its next one before word of the last has come and gone: it is chosen without that
 * one's result, as with one worker more. */
enum { LIVE_SHORT_MS = 400, LIVE_LEAVING_MOST = 4 };
int64_t live_parallel(const struct study *st);

/* A trial reached a rung below its top: what the scheduler says. */
int live_rung(struct study *st, int64_t number, int level, double score, struct sched_decision *out,
              struct err *err);
/* A trial was ended (its row is final): sampler, scheduler and stop rules hear of it. */
int live_hear(struct study *st, struct sched_decision *rung, struct err *err);
int live_settle(
    struct study *st,
    struct err *err); /* prunes what will never be resumed; ends the study when all is done */

/* Rebuilds sampler and scheduler, fresh ones, by making the calls again that the study's journal tells of. */
int live_replay(struct study *st, struct err *err);

#endif
