/* load.h - studies come into memory and leave it; see load.c. */
#ifndef CONTROLLER_SETTLE_LOAD_H
#define CONTROLLER_SETTLE_LOAD_H

#include "controller/state/rows.h"
#include "controller/state/study.h"

struct study *study_load(struct ctl *ctl, int64_t id, struct err *err);
/* From memory, or loaded, also an ended one. `ref` is an id in digits or a name. */
struct study *study_by_id(struct ctl *ctl, int64_t id, struct err *err);
struct study *study_by_ref(struct ctl *ctl, const char *ref, struct err *err);
/* Memory follows the rows: 0, or st is gone: 1 its row is gone, too; -1 it cannot be read, and damage.h knows. */
int study_reload(struct ctl *ctl, struct study *st, struct err *err);
void study_drop(struct ctl *ctl, struct study *st); /* it leaves memory */
void study_free(struct study *st); /* one that the controller does not have, or not any more */
/* The controller takes in an ended study that was filled beside the loop; -1 when its row is gone. */
int study_adopt(struct ctl *ctl, struct study *st, struct err *err);
/* The data became ready: space, script, sampler and scheduler are made. */
int study_open_search(struct study *st, struct err *err);

void damage_convict(
    struct ctl *ctl); /* the study that made a request fail leaves memory (damage_suspect) */
void damage_tick(struct ctl *ctl); /* tries again what is due */

#endif
