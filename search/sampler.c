/* sampler.c - the registry of samplers: one row each, in the order help shows them. */
#include "search/sampler.h"

#include "search/searchers.h"

#include <string.h>

/* clang-format off */
static const struct sampler_ops *const samplers[] = {
    &search_random,
    &search_tpe,
    &search_duo,
    &search_grid,
    &search_sobol,
    &search_halton,
    &search_gp,
    &search_local,
    &search_bohb,
    &search_testhash_sampler,
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

void sampler_close(struct sampler *s)
{
    if (s)
        s->ops->close(s);
}
