/* wire.h - what supervisor and worker say to each other over their socket pair. A frame is eight
 * hex digits of length, a space, one JSON object and a newline. It has at most WIRE_MAX bytes;
 * larger things travel as a file whose path the frame names. A length out of bounds, a missing
 * newline or anything but an object means that the stream is broken: the worker then exits, and the
 * supervisor kills its worker.
 *
 * supervisor -> worker
 *   config {device, rank_address, scratch, slice_ms, checkpoint_ms, memory_bytes, log_level, dev}   once, first
 *   run {run, grant, frame, test_frame, source, checkpoints{trial: path}, deadline_at_ms}
 *   answer {trial, fence, task, action, to, deadline_at_ms, address}   the controller's reply to an
 *                                                           event
 *   stop {trial, fence, task}                                 drop it; say nothing more about it
 *   drain                                                     save everything and hand it back
 *   quit
 * worker -> supervisor
 *   ready                                 it waits for work
 *   lane {trial, fence, task}             it begins to compute this one
 *   soon                                  it will be idle soon, so ask for more work
 *   event {report, file, sha256, bytes}   one msg_event; the file is to be uploaded first
 *   end {run}                             nothing of this run is left to compute
 *   beat {within_ms, rss_limit}           kill me if you hear nothing within this time (0: no
 *                                         limit), or if I take more memory than this */
#ifndef RUNNER_WIRE_H
#define RUNNER_WIRE_H

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* WIRE_MAX: room for a report with the description of a table. WIRE_HEAD: bytes before the JSON. */
enum { WIRE_MAX = 8 << 20, WIRE_HEAD = 9 };

/* Appends the frame of `j` to out. */
int wire_put(struct buf *out, const json_t *j, struct err *err);
/* Looks at the first n bytes: 1 = a whole frame (*j is a new reference, *used its length in bytes),
 * 0 = more bytes are needed, -1 = broken. */
int wire_get(const char *data, size_t n, size_t *used, json_t **j, struct err *err);

/* The worker's end: writes block, reads wait up to a limit. */
struct wire {
    int fd;
    struct buf in, out;
    size_t at; /* start of the unread part of `in` */
};
void wire_init(struct wire *w, int fd);
void wire_fini(struct wire *w); /* does not close the descriptor */
int wire_send(struct wire *w, json_t *j_steal, struct err *err);
/* 1 and *j; 0 if nothing came within wait_ms (-1 = wait for ever); -1, also if the supervisor has
 * closed its end. */
int wire_recv(struct wire *w, int64_t wait_ms, json_t **j, struct err *err);
bool wire_has_input(struct wire *w); /* are there bytes, or the end? Never waits */

#endif
