/* backoff.c - see backoff.h. Half of each pause is fixed, so that a server in trouble is never
 * asked again at once; the other half is random. */
#include "trial-runner/agent/backoff.h"

#include "base/base.h"

void backoff_init(struct backoff *b, int64_t first_ms, int64_t max_ms, uint64_t seed)
{
    CHECK(first_ms > 0 && MAX(first_ms, max_ms) <= UINT32_MAX);
    *b = (struct backoff){ .first_ms = first_ms, .max_ms = MAX(first_ms, max_ms) };
    rng_init(&b->rng, seed, 0);
    backoff_reset(b);
}

void backoff_reset(struct backoff *b)
{
    b->now_ms = b->first_ms;
}

int64_t backoff_next_ms(struct backoff *b)
{
    int64_t pause = b->now_ms;

    b->now_ms = MIN(b->now_ms * 2, b->max_ms);
    return pause / 2 + rng_below(&b->rng, (uint32_t)(pause - pause / 2) + 1);
}
