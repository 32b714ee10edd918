/* once.h - Idempotency-Key: a client that does not know whether its request arrived sends it again under the same key, gets
 * the first answer, and nothing is made twice. For routes with WEB_ONCE, those that make something new each time. A key
 * belongs to whoever sent it and is kept for a day, with what was asked, so that it cannot answer another question.
 * Refused requests keep nothing: they changed nothing and may be mended. */
#ifndef WEB_REQUEST_ONCE_H
#define WEB_REQUEST_ONCE_H

#include "web/request/req.h"

/* Within the request's savepoint, before the handler. 1: it was done before and r has its answer; 0: it is to be done, and
 * then kept; -1: ERR_ARG for a key that is none, ERR_CONFLICT for one that came with another request. */
int once_recall(struct web_req *r, const char *uri, struct err *err);
/* Keeps the answer of the handler, in the same savepoint, so that both stay or neither. Nothing without a key. */
int once_keep(const struct web_req *r, const char *uri, struct err *err);

#endif
