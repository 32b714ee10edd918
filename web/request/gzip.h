/* gzip.h - answers in fewer bytes. JSON shrinks to a sixth; a long answer is compressed beside the loop, so that no turn
 * waits for it. */
#ifndef WEB_REQUEST_GZIP_H
#define WEB_REQUEST_GZIP_H

#include "web/request/req.h"

/* The bytes as a gzip file, on the heap; level 1 to 9. */
void *web_gzip(const void *p, size_t n, int level, size_t *out_n);

/* Sends the answer that was set: as it is, or compressed where the client takes that and it is worth it. */
void web_send_packed(struct web_req *r);

#endif
