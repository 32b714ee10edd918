/* events.h - the live feed: subscribers get the rows of the journal after their commit, and the
 * progress of running trials. The verbs to subscribe are in api.h; these functions are for the rest
 * of controller/. */
#ifndef CONTROLLER_SERVE_EVENTS_H
#define CONTROLLER_SERVE_EVENTS_H

#include "controller/state/ctl.h"
#include "proto/msg.h"
#include "store/trial.h"

/* Sends the rows that this turn added to the journal. Called after the commit. */
void events_flush(struct ctl *ctl);
/* Sends a running trial's progress at once; it is in no journal. */
void events_progress(struct ctl *ctl, int64_t study, const struct trial_row *row,
                     const struct msg_event *e);
void events_free_all(struct ctl *ctl); /* forgets all subscribers */
struct journal_row;
/* A row of the journal as {seq, at, study, trial, event, data}, a new reference. */
json_t *events_json(const struct journal_row *row);

#endif
