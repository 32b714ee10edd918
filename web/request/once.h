/* once.h - the Idempotency-Key header. A client that does not know whether its request arrived
 * sends it again under the same key; it gets the first answer, and nothing is made twice. It is for
 * routes with WEB_ONCE, which make something new each time. A key belongs to the token that sent it
 * and is kept for a day, together with a hash of the request, so that it cannot answer another
 * request. Refused requests keep nothing: they changed nothing, and may be corrected and sent
 * again. */
#ifndef WEB_REQUEST_ONCE_H
#define WEB_REQUEST_ONCE_H

#include "web/request/req.h"

/* Called inside the request's savepoint, before the handler. 1: the request was done before, and r
 * has its answer. 0: it is new; the handler must run. -1: the key is malformed (ERR_ARG) or came
 * with another request (ERR_CONFLICT). */
int once_recall(struct web_req *r, const char *uri, struct err *err);
/* Keeps the handler's answer in the same savepoint, so that either both are stored or neither.
 * Without a key it does nothing. */
int once_keep(const struct web_req *r, const char *uri, struct err *err);

#endif
