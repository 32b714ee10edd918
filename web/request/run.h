/* run.h - from the head of a request to its handler, and from the handler's result to an answer. It
 * is the only unit that a connection calls: web_hooks is the table for web/http/conn.h, whose owner
 * is the struct web. */
#ifndef WEB_REQUEST_RUN_H
#define WEB_REQUEST_RUN_H

#include "web/http/conn.h"

struct web_req;

extern const struct conn_hooks web_hooks;

void run_drop(struct web_req *r); /* for fair_free: nobody is left to answer */

#endif
