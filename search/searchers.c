/* searchers.c - the list of samplers and schedulers, one row each. */
#include "search/searchers.h"

#include "search/samplers/gp/gp.h"
#include "search/samplers/samplers.h"
#include "search/samplers/tpe/tpe.h"
#include "search/schedulers/schedulers.h"

#include <string.h>

/* clang-format off */
static const struct sampler_ops *const samplers[] = {
    &search_random,
    &search_tpe,
    &search_duo,
    &search_families,
    &search_grid,
    &search_sobol,
    &search_halton,
    &search_gp,
    &search_local,
    &search_bohb,
    &search_testhash_sampler,
};

static const struct scheduler_ops *const schedulers[] = {
    &search_none,
    &search_asha,
    &search_hyperband,
    &search_sha,
    &search_median,
    &search_patience,
    &search_testhash_scheduler,
};
/* clang-format on */

const struct sampler_ops *sampler_at(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(samplers) ? samplers[i] : NULL;
}

const struct sampler_ops *sampler_find(const char *name)
{
    for (int i = 0; name && sampler_at(i); i++) {
        if (strcmp(samplers[i]->name, name) == 0)
            return samplers[i];
    }
    return NULL;
}

const struct scheduler_ops *scheduler_at(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(schedulers) ? schedulers[i] : NULL;
}

const struct scheduler_ops *scheduler_find(const char *name)
{
    for (int i = 0; name && scheduler_at(i); i++) {
        if (strcmp(schedulers[i]->name, name) == 0)
            return schedulers[i];
    }
    return NULL;
}
