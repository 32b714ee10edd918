/* pool.c - the verb on pools: list them. What a pool does follows from its file (pool/conf.h) and
 * from what waits, so there is nothing to command. */
#include "controller/pool/show.h"

#include "base/err.h"

int ctl_pools(struct ctl *ctl, json_t **out, struct err *err)
{
    *out = pools_json_new(ctl->pools);
    return *out ? 0 : err_set(err, ERR_IO, "the pools cannot be shown");
}
