/* trial.h - reading and changing trials. Every change of a trial goes through here, so that its
 * row, the journal, its lease and the study's memory change together, and so that what happened to
 * it is noted for the next decision (study_happened). Nobody is called back: what follows from a
 * change is decided at the end of the request (settle/settle.h).
 *
 * A caller loads the row, changes fields of it, and gives it to trial_move (a change of state) or
 * trial_save (no change of state). Each load is followed by trial_row_fini, also after an error. */
#ifndef CONTROLLER_STATE_TRIAL_H
#define CONTROLLER_STATE_TRIAL_H

#include "controller/state/study.h"

/* Reads the row of the trial with this number. */
int trial_load(struct study *st, int64_t number, struct trial_row *row, struct err *err);
/* Reads its configuration. out->family is NULL if what is stored cannot be understood, for example
 * because another version of the controller wrote it. */
int trial_config(struct study *st, int64_t number, struct config *out, struct err *err);
/* Finds the score that it reported at this level: 1, 0 = it reported none there, -1. */
int trial_report_at(struct study *st, int64_t number, int level, double *value, struct err *err);

/* Changes the trial's state by this event and writes the row and a line of the journal. A trial
 * that was running loses its lease, and its attempt ends with `end_reason` (NULL = the event's
 * name). An event that the state does not allow is ERR_CONFLICT and changes nothing. data is the
 * journal's object; the call takes it over, and it may be NULL. */
int trial_move(struct study *st, struct trial_row *row, enum trial_event ev, json_t *data,
               const char *end_reason, struct err *err);
/* Writes the row without a change of state. */
int trial_save(struct study *st, struct trial_row *row, struct err *err);
/* Records that a running trial reached this level, below its highest one, with this score. */
int trial_report(struct study *st, struct trial_row *row, int level, double value, double se,
                 struct err *err);
/* Loads a trial, gives it this reason and detail (NULL = it keeps its detail), and moves it: for
 * callers that change nothing else of the row. */
int trial_end(struct study *st, int64_t number, enum trial_event ev, enum trial_reason reason,
              const char *detail, struct err *err);

/* Makes a queued trial with the next number. run_to 0 = it runs nowhere yet, because the plan of a
 * deterministic study has not started it. retry_of is the id of the trial it repeats; 0 = none. */
int trial_create(struct study *st, const struct config *c, enum trial_source source, int run_to,
                 int64_t retry_of, int64_t *number, struct err *err);

/* Forgets the artifacts that are no longer worth keeping (board_keeps). Their files are deleted
 * later (files/rubbish.h). */
int trial_evict(struct study *st, struct err *err);

/* Takes over into the study's memory what the row says: counts, lists, board, the short record. */
void trial_note(struct study *st, const struct trial_row *row);
/* The short record; the number must exist. Valid until a trial is created. */
struct trial_mem *trial_mem(struct study *st, int64_t number);
/* The row's info as an object, which always has "source"; a new reference. Who changes it calls
 * trial_info_set with it. */
json_t *trial_info(const struct trial_row *row);
/* The row's configuration as a value, parsed once for each row in memory; borrowed, NULL = it
 * cannot be parsed. */
const json_t *trial_config_json(struct trial_row *row);
void trial_info_set(struct trial_row *row, json_t *info); /* takes the object over */
/* Its score on the first fold alone; NaN = unknown. */
double trial_first_score(const struct trial_row *row);
/* Whether the score comes from fewer folds than the study has, because the trial was cut early. */
bool trial_is_part(const struct study *st, const struct trial_row *row);
enum trial_source trial_source_of(const struct trial_row *row);

#endif
