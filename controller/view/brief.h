/* brief.h - ended studies in lists, from their rows alone: how its trials ended is stored with a study when it ends. */
#ifndef CONTROLLER_VIEW_BRIEF_H
#define CONTROLLER_VIEW_BRIEF_H

#include "controller/state/rows.h"

/* The list's form of a study that is not in memory (a new reference): from the row, once, and then from a bounded cache. */
json_t *brief_json(struct ctl *ctl, int64_t id, struct err *err);
void brief_forget(struct ctl *ctl, int64_t id); /* its row may have changed */
void brief_free_all(struct ctl *ctl);

#endif
