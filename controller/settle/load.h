/* load.h - brings studies into memory and removes them from it; see load.c. Called by the verbs in
 * api/, by serve/ at a start and after something was undone, and by dataset.c when a study's data
 * becomes known. */
#ifndef CONTROLLER_SETTLE_LOAD_H
#define CONTROLLER_SETTLE_LOAD_H

#include "controller/state/rows.h"
#include "controller/state/study.h"

/* Loads a study that is not in memory. NULL with ERR_NOTFOUND if there is none, or with what is
 * wrong with its rows; it is then on the list of damaged studies. */
struct study *study_load(struct ctl *ctl, int64_t id, struct err *err);
/* Fills an empty study from its rows and its journal, with its search and without its leases: 1,
 * 0 = there is no such row, -1. */
int study_build(struct study *st, int64_t id, struct err *err);
/* The study from memory, or loaded, also an ended one. `ref` is an id in digits or a name. */
struct study *study_by_id(struct ctl *ctl, int64_t id, struct err *err);
struct study *study_by_ref(struct ctl *ctl, const char *ref, struct err *err);
/* Makes memory equal to the rows again. Returns 0, or st was freed: 1 = its row is gone, too; -1 =
 * it cannot be read, and is on the list of damaged studies. */
int study_reload(struct ctl *ctl, struct study *st, struct err *err);
void study_drop(struct ctl *ctl, struct study *st); /* removes it from memory, with its leases */
void study_free(struct study *st); /* frees one that is not in the controller's list */
/* Takes an ended study that was read beside the loop into the list; -1 if its row is gone. */
int study_adopt(struct ctl *ctl, struct study *st, struct err *err);
/* The study's data has become known: makes its space, its script, its sampler and its scheduler.
 * After an error it has no search. */
int study_open_search(struct study *st, struct err *err);

/* The study that made the present request fail (damage_suspect) leaves memory and is listed as
 * damaged. */
void damage_convict(struct ctl *ctl);
void damage_tick(struct ctl *ctl); /* reads damaged studies again whose next attempt is due */

#endif
