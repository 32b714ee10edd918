/* pool.h - the pools of a controller: looks every half second whether trials wait that no runner
 * can take, and then lets Slurm start runners. Made and freed by main.c, read by api/pool.c. On the
 * loop's thread; the commands run beside it (command.h). */
#ifndef CONTROLLER_POOL_POOL_H
#define CONTROLLER_POOL_POOL_H

#include "controller/state/ctl.h"

struct pools;

/* Reads the file of pools, and sets ctl->pools. */
struct pools *pools_new(struct ctl *ctl, const char *path, struct err *err);
/* Jobs go on: their runners end when they are idle, or when no controller comes back. */
void pools_free(struct pools *p);
/* Reads the file again. If it is wrong, the pools stay as they are. */
int pools_reload(struct pools *p, struct err *err);

#endif
