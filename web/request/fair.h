/* fair.h - which request is handled next when there is more to do than one turn of the loop has time for. Requests then wait
 * in lines, one line for each token, and the line that has used the least processor time is served first. So whoever
 * sends costly requests over 1,000 connections waits for himself, and somebody else's request is served in the next turn.
 * A runner's time counts an eighth: when runners wait, trials lose their leases.
 *
 * While nobody waits and the turn is young, a request is handled at once and nothing is counted. */
#ifndef WEB_REQUEST_FAIR_H
#define WEB_REQUEST_FAIR_H

#include "web/request/req.h"

struct fair;

/* Calls run(r) now or in a later turn. The caller's hold on r must last until then; run is called exactly once unless
 * fair_free comes first. */
void fair_run(struct web_req *r, void (*run)(struct web_req *r));
/* For the end of the server; requests that wait are released by `drop`. NULL is legal. */
void fair_free(struct fair *f, void (*drop)(struct web_req *r));
/* The line that a request waits in: one for each token, for all of the Unix socket, and for all strangers together. */
int64_t fair_line_of(const struct web_req *r);

#endif
