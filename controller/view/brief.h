/* brief.h - ended studies in lists. A list shows of a study how many trials ended in which state
 * and which was the best; both are stored in the study's row when it ends, so a list needs not read
 * any trials. Called by api/study.c; settle/load.c says when a study's row may have changed. */
#ifndef CONTROLLER_VIEW_BRIEF_H
#define CONTROLLER_VIEW_BRIEF_H

#include "controller/state/rows.h"

/* What a list shows of a study that is not in memory, as a new reference. Ended studies are read
 * once and then taken from a cache of limited size. */
json_t *brief_json(struct ctl *ctl, int64_t id, struct err *err);
void brief_forget(struct ctl *ctl, int64_t id); /* the row may have changed */
void brief_free_all(struct ctl *ctl);

#endif
