/* auth.h - who sends a request, and whether they may. run.c calls it once per request; the handlers
 * of sessions use web_auth_cookie. */
#ifndef WEB_REQUEST_AUTH_H
#define WEB_REQUEST_AUTH_H

#include "web/request/req.h"

/* Sets r->who; ERR_AUTH or ERR_DENIED. uri: as on the request's first line. */
int web_auth_check(struct web_req *r, const char *uri, struct err *err);
/* Host and Origin of a TCP request: ERR_DENIED. */
int web_auth_origin(const struct web_req *r, struct err *err);
/* The cookie of the page's session on its way out; NULL = it is taken back. */
void web_auth_cookie(struct web_req *r, const char *cookie);

#endif
