/* backoff.h - how long to wait before the next try: doubling from a first pause up to a ceiling, each time a random
 * part of it, so that a hundred runners do not come back in one instant. Keyed by a seed: tests repeat. */
#ifndef TRIAL_RUNNER_AGENT_BACKOFF_H
#define TRIAL_RUNNER_AGENT_BACKOFF_H

#include "base/rng.h"

#include <stdint.h>

struct backoff {
    int64_t first_ms, max_ms, now_ms;
    struct rng rng;
};

void backoff_init(struct backoff *b, int64_t first_ms, int64_t max_ms, uint64_t seed);
void backoff_reset(struct backoff *b); /* it worked */
int64_t backoff_next_ms(
    struct backoff
        *b); /* between half of the present pause and all of it; the next is twice as long */

#endif
