/* show.h - pools as JSON, for the API, and the sentence on what a pool waits for. */
#ifndef CONTROLLER_POOL_SHOW_H
#define CONTROLLER_POOL_SHOW_H

#include "controller/pool/pool.h"

/* {pools: [{name, state, why, min, max, devices, wanted, submitted, jobs: [...]}], slurm: {...}}.
 * p: NULL = no pools are configured. */
json_t *pools_json_new(const struct pools *p);

#endif
