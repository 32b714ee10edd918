/* trial.h - what may be done to a trial: read its row, change it, write it with its event. Every change of a trial goes
 * through here, so that row, journal, leases and the study's memory move together. */
#ifndef CONTROLLER_STATE_TRIAL_H
#define CONTROLLER_STATE_TRIAL_H

#include "controller/state/study.h"

/* The row by number; trial_row_fini after it, also on error. */
int trial_load(struct study *st, int64_t number, struct trial_row *row, struct err *err);
/* Its configuration; out->family is NULL when what is stored is none (another version wrote it). */
int trial_config(struct study *st, int64_t number, struct config *out, struct err *err);
/* The score that it reported at this level: 1, 0 = it did not, -1. */
int trial_report_at(struct study *st, int64_t number, int level, double *value, struct err *err);
/* Steps the state machine, writes the row and the journal; a trial that leaves RUNNING loses its lease and its attempt ends
 * with `end_reason` (NULL: the event's name). data is stolen, may be NULL. */
int trial_move(struct study *st, struct trial_row *row, enum trial_event ev, json_t *data,
               const char *end_reason, struct err *err);
int trial_save(struct study *st, struct trial_row *row, struct err *err); /* no change of state */
/* A running trial reached this level, below its top: the report's row, and the trial's. */
int trial_report(struct study *st, struct trial_row *row, int level, double value, double se,
                 struct err *err);
/* Load, move, done; for callers that change nothing else of the row. reason and detail as stored; detail may be NULL. */
int trial_end(struct study *st, int64_t number, enum trial_event ev, enum trial_reason reason,
              const char *detail, struct err *err);

/* A new trial, queued. run_to 0 = the plan has not started it yet. */
int trial_create(struct study *st, const struct config *c, enum trial_source source, int run_to,
                 int64_t retry_of, int64_t *number, struct err *err);

/* Lets go of the artifacts that are no longer among those that are kept (board_keeps). */
int trial_evict(struct study *st, struct err *err);

/* The study's memory takes over what the row says. */
void trial_note(struct study *st, const struct trial_row *row);
struct trial_mem *trial_mem(struct study *st, int64_t number); /* CHECKs the number */
/* info of a row as an object that always has "source"; the caller owns it. */
json_t *trial_info(const struct trial_row *row);
/* Its score is of fewer folds than the study has: it was cut too early. */
bool trial_is_part(const struct study *st, const struct trial_row *row);
void trial_info_set(struct trial_row *row, json_t *info); /* steals */
enum trial_source trial_source_of(const struct trial_row *row);

#endif
