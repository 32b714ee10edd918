/* demand.h - how many devices the trials and tasks that wait could use, beside the devices that are
 * idle. Reads memory only. */
#ifndef CONTROLLER_POOL_DEMAND_H
#define CONTROLLER_POOL_DEMAND_H

#include "controller/state/ctl.h"

/* A study that says nothing of how many trials may be in flight wants at most so many devices. */
enum { DEMAND_MOST = 10000 };

/* By what the device must be able to do. */
struct demand {
    int any;          /* devices of any kind */
    int commands;     /* those of runners that run programs of users */
    int gpu_commands; /* and have a GPU */
};

void demand_count(struct ctl *ctl, struct demand *out);

#endif
