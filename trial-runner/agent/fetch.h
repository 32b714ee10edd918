/* fetch.h - blobs from the controller into the cache: each is downloaded once however many wait for it, a torn download
 * goes on where it stopped, a damaged one is thrown away and tried again. Retries for ever while the controller is away.
 * A wait ends with an error when the controller says that the blob does not exist (ERR_NOTFOUND), when the blob came
 * damaged three times, or when this machine's disk refused to take it five times. */
#ifndef TRIAL_RUNNER_AGENT_FETCH_H
#define TRIAL_RUNNER_AGENT_FETCH_H

#include "base/err.h"
#include "base/loop.h"
#include "trial-runner/agent/cache.h"
#include "trial-runner/agent/http.h"

struct fetch;

struct fetch *fetch_new(struct loop *loop, struct http *http, struct cache *cache,
                        int64_t backoff_max_ms);
void fetch_free(struct fetch *f);
/* Calls on_ready(arg, path, NULL) or (arg, NULL, err) exactly once: before it returns when the blob is here already. The
 * path stays good while the caller pins the hash in the cache; pin it in the callback. */
void fetch_get(struct fetch *f, const char *sha256,
               void (*on_ready)(void *arg, const char *path, const struct err *err), void *arg);
void fetch_cancel(struct fetch *f, const void *arg); /* nobody calls arg back any more */

#endif
