/* load_start.h - large unfinished studies are read beside the loop at a start, so that the
 * controller answers at once. Until such a study is read, requests about it are answered ERR_BUSY
 * (study_is_unread in
 * state/study.h), its runners repeat their reports, and nothing changes its
 * rows. Called by serve/recover.c and main.c. */
#ifndef CONTROLLER_SETTLE_LOAD_START_H
#define CONTROLLER_SETTLE_LOAD_START_H

#include "controller/state/ctl.h"

enum { LOAD_START_MANY = 20000 }; /* trials; reading fewer takes the loop less than half a second */

/* Whether the study has so many trials that it should be read beside the loop; it then is on the
 * list. */
bool load_start_takes(struct ctl *ctl, int64_t study, int64_t many);
/* Begins to read those on the list. The loop's pool must have its threads. */
void load_start_begin(struct ctl *ctl);
void load_start_free_all(struct ctl *ctl); /* the controller ends */

#endif
