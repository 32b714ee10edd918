/* upload.h - makes a file a blob of the controller. It asks whether the blob is there already
 * (HEAD), sends parts of at most 4 MiB, and commits them by their hash.
 *   - A broken connection or a restart of the controller costs only the part under way.
 *   - An upload that the controller no longer knows, or whose bytes arrived damaged, begins again,
 *     a few times at most.
 *   - Whatever else fails is tried for ever, because a blob must be acknowledged before the message
 *     that names it can be sent.
 *   - It ends with an error only if the controller refuses for good (the file is too big), or if
 *     the hash is wrong at every try.
 * outbox.c starts and cancels uploads. */
#ifndef TRIAL_RUNNER_AGENT_UPLOAD_H
#define TRIAL_RUNNER_AGENT_UPLOAD_H

#include "base/err.h"
#include "base/loop.h"
#include "base/sha256.h"
#include "trial-runner/agent/http.h"

struct upload;

/* Calls on_done once, never from inside upload_start; err NULL means that the commit was
 * acknowledged. The file belongs to the caller and must not change until then. After on_done, and
 * after upload_cancel, the upload is gone. */
struct upload *upload_start(struct loop *loop, struct http *http, const char *path,
                            const char *sha256, int64_t backoff_max_ms,
                            void (*on_done)(void *arg, const struct err *err), void *arg);
/* Names the trial or task, and the fence, for which the file is uploaded. If that ends first, the
 * controller deletes what arrived. Call it right after upload_start. */
void upload_for(struct upload *u, bool is_task, int64_t id, int64_t fence);
/* Ends the upload. The controller is told to delete what arrived. NULL is legal. */
void upload_cancel(struct upload *u);

#endif
