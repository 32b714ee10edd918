/* scheduler.c - the registry of schedulers: one row each, in the order help shows them. */
#include "search/scheduler.h"

#include "search/searchers.h"

#include <string.h>

/* clang-format off */
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

void scheduler_close(struct scheduler *s)
{
    if (s)
        s->ops->close(s);
}
