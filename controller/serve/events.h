/* events.h - the live feed: journal rows after their commit, and progress of running trials, to whoever subscribed. */
#ifndef CONTROLLER_SERVE_EVENTS_H
#define CONTROLLER_SERVE_EVENTS_H

#include "controller/state/ctl.h"
#include "proto/msg.h"
#include "store/trial.h"

void events_flush(struct ctl *ctl); /* after a commit: new journal rows go out */
void events_progress(struct ctl *ctl, int64_t study, const struct trial_row *row,
                     const struct msg_event *e);
void events_free_all(struct ctl *ctl);
/* {seq, at, study, trial, event, data} of a journal row; the caller owns it. */
struct journal_row;
json_t *events_json(const struct journal_row *row);

#endif
