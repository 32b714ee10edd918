/* send.h - how an answer leaves: at once, after the turn's commit, compressed, or as a stream
 * without an end; and what happens to a request whose client leaves first. Handlers call the web_
 * functions. The send_ functions are hooks of a connection; run.c puts them into its table. */
#ifndef WEB_REQUEST_SEND_H
#define WEB_REQUEST_SEND_H

#include "web/request/req.h"

/* Sends what was set: at once, or after this turn's commit (a failed commit answers 503 instead).
 */
void web_finish(struct web_req *r, bool after_commit);
void web_fail(struct web_req *r, const struct err *err); /* web_problem, sent at once */
void web_send(struct web_req *r); /* the answer goes out as it is; the request is released */
/* Watches for the client's leaving while an answer is deferred; on_gone must be set. */
void web_watch(struct web_req *r);

/* An answer without an end: returns -1 when the client is gone. */
int web_stream_start(struct web_req *r, const char *type, void (*on_drained)(struct web_req *r));
void web_stream_add(struct web_req *r, const char *text, size_t n);
size_t web_stream_pending(const struct web_req *r); /* bytes not yet taken by the kernel */
void web_stream_end(struct web_req *r);

/* conn_hooks of the same names; request is a struct web_req. */
void send_gone(void *request);
void send_left(void *request);
void send_drained(void *request);

#endif
