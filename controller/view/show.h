/* show.h - studies and trials as the JSON that api.h describes. */
#ifndef CONTROLLER_VIEW_SHOW_H
#define CONTROLLER_VIEW_SHOW_H

#include "controller/state/study.h"

json_t *show_study(struct study *st, bool whole, struct err *err); /* whole: with spec and data */
#define SHOW_DAMAGED "damaged" /* the state of a study whose rows cannot be understood */
/* What can be said of a study that is not in memory because of `why` (damage.h). */
json_t *show_damaged(struct ctl *ctl, int64_t id, const struct err *why);
json_t *show_trial(const struct trial_row *row);
json_t *show_board_row(const struct trial_row *row, int64_t rank);
/* By number - 1: is it on the front of the study's objectives; NULL where there is one only; owned. */
bool *show_front_new(struct study *st);
json_t *show_id(const char *sha256); /* null when empty */

#endif
