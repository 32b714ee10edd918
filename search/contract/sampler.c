/* sampler.c - closing a sampler of any kind. */
#include "search/contract/sampler.h"

void sampler_close(struct sampler *s)
{
    if (s)
        s->ops->close(s);
}
