/* fetch.h - downloads blobs of the controller into the cache. A blob is downloaded once, however
 * many callers wait for it. A download that was cut off continues where it stopped; one with
 * damaged bytes is thrown away and tried again. While the controller is away, it tries for ever.
 * Waiting ends with an error if the controller has no such blob (ERR_NOTFOUND), if the blob came
 * damaged three times, or if this machine's disk refused it five times. */
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
/* Calls on_ready(arg, path, NULL) or on_ready(arg, NULL, err) exactly once; if the blob is already
 * here, before this returns. The file stays only while its hash is pinned in the cache, so the
 * callback must pin it. */
void fetch_get(struct fetch *f, const char *sha256,
               void (*on_ready)(void *arg, const char *path, const struct err *err), void *arg);
void fetch_cancel(struct fetch *f, const void *arg); /* ends all waits with this arg, silently */

#endif
