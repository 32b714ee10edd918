/* place.h - which trials a device takes before others, where GPUs and cores serve the same studies.
 *
 * A GPU takes trials of the families that it trains best (family.device), and a core takes the
 * others first. On a large table a core also leaves a few trials of such a family to the GPUs that
 * will take them soon, as long as other trials can be made instead: a GPU that finds none of them
 * would train what a core does as well, while a core would take many times as long for the one that
 * it took. On small tables a GPU is worth about a core, so nobody leaves anything. Called by
 * dispatch.c. */
#ifndef CONTROLLER_SERVE_PLACE_H
#define CONTROLLER_SERVE_PLACE_H

#include "controller/state/runner.h"
#include "controller/state/study.h"
#include "ml/family/family.h"

struct place {
    int choice; /* enum family_device of the trials that it takes now; -1 = any */
};

/* How many ready trials of FAMILY_GPU this device leaves to others at most; 0 for a GPU. */
int place_leaves(const struct study *st, const struct device *d);
/* What the device takes of the trials that are ready. */
struct place place_of(const struct study *st, const struct device *d);
/* Whether a ready trial is one of those. */
bool place_takes(const struct place *p, const struct study *st, const struct trial_mem *t);
/* Whether this GPU leaves reading tables and making ensembles, which one core does as well, to a
 * core that is idle and asks. */
bool place_leaves_tasks(struct ctl *ctl, const struct runner *r, const struct device *d);

#endif
