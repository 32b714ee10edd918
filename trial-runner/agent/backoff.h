/* backoff.h - how long to wait before the next try. The pause doubles from a first one up to a
 * maximum, and a random part of it is left out, so that a hundred runners do not come back at the
 * same instant. The random numbers come from a seed, so that tests repeat. Used by every file here
 * that talks to the controller, and for restarting workers. */
#ifndef TRIAL_RUNNER_AGENT_BACKOFF_H
#define TRIAL_RUNNER_AGENT_BACKOFF_H

#include "base/rng.h"

#include <stdint.h>

struct backoff {
    int64_t first_ms, max_ms, now_ms;
    struct rng rng;
};

void backoff_init(struct backoff *b, int64_t first_ms, int64_t max_ms, uint64_t seed);
void backoff_reset(struct backoff *b); /* the try has worked */
/* From half of the present pause to all of it. The next pause is twice as long. */
int64_t backoff_next_ms(struct backoff *b);

#endif
