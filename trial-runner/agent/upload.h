/* upload.h - a file becomes a blob of the controller: asked for first (HEAD), sent in parts of at most 4 MiB, committed
 * by its hash. Torn connections and restarts of the controller only cost the part that was under way; an upload that
 * the controller no longer knows begins again, and so does one whose bytes arrived damaged (another hash), a few times.
 * Everything else is tried for ever, since a blob must be acknowledged before the message that names it; only a refusal
 * that cannot change (too big) and a file whose hash is wrong at every try end with an error. */
#ifndef TRIAL_RUNNER_AGENT_UPLOAD_H
#define TRIAL_RUNNER_AGENT_UPLOAD_H

#include "base/err.h"
#include "base/loop.h"
#include "base/sha256.h"
#include "trial-runner/agent/http.h"

struct upload;

/* on_done is called once, never from inside upload_start: err NULL = the commit was acknowledged. The file stays the
 * caller's and must not change until then. After on_done, and after upload_cancel, the upload is gone. */
struct upload *upload_start(struct loop *loop, struct http *http, const char *path,
                            const char *sha256, int64_t backoff_max_ms,
                            void (*on_done)(void *arg, const struct err *err), void *arg);
/* For which trial or task of which fence: the controller deletes what it brought in vain when that ends. Before the first
 * turn of the loop. */
void upload_for(struct upload *u, bool is_task, int64_t id, int64_t fence);
/* What was sent of it is deleted at the controller. NULL is legal. */
void upload_cancel(struct upload *u);

#endif
