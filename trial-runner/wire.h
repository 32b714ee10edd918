/* wire.h - what supervisor and worker say to each other over their socket pair: frames of eight hex digits of length,
 * a blank, one JSON object, a newline. A frame is at most WIRE_MAX bytes; anything bigger travels as a file whose path
 * the frame names. A length out of bounds, a missing newline or anything but an object breaks the connection for
 * good: the worker exits, the supervisor kills it.
 *
 * supervisor -> worker   config {device, scratch, slice_ms, checkpoint_ms, memory_bytes, log_level, dev}, first and once
 *                        run {run, grant, frame, test_frame, source, checkpoints{trial: path}, deadline_at_ms}
 *                        answer {trial, fence, task, action, to, deadline_at_ms} | stop {trial, fence, task} | drain | quit
 * worker -> supervisor   ready | lane {trial, fence, task} (begins to compute it) | soon (will be idle soon)
 *                        event {report (one msg_event), file, sha256, bytes} | gone {trial, fence, task} (dropped)
 *                        end {run} (computed) | beat {within_ms, rss_limit} (hear of me within, or kill me)
 */
#ifndef RUNNER_WIRE_H
#define RUNNER_WIRE_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

enum { WIRE_MAX = 8 << 20, WIRE_HEAD = 9 };

/* Appends the frame of `j` to out. */
int wire_put(struct buf *out, const json_t *j, struct err *err);
/* Looks at the front of n bytes: 1 = a whole frame (*j is new, *used its bytes), 0 = more bytes are needed, -1 = broken. */
int wire_get(const char *data, size_t n, size_t *used, json_t **j, struct err *err);

/* The worker's end: blocking writes, reads with a limit. */
struct wire {
    int fd;
    struct buf in, out;
    size_t at; /* start of the unread part of `in` */
};
void wire_init(struct wire *w, int fd);
void wire_fini(struct wire *w); /* does not close */
int wire_send(struct wire *w, json_t *j_steal, struct err *err);
int wire_recv(struct wire *w, int64_t wait_ms, json_t **j,
              struct err *err);      /* 1/0/-1; -1 ms = for ever; the end is an error */
bool wire_has_input(struct wire *w); /* a whole or part frame is there, or the end; never blocks */

#endif
