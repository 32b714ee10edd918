/* gzip.h - the coding "gzip" for bodies of answers. JSON shrinks to a sixth. */
#ifndef WEB_HTTP_GZIP_H
#define WEB_HTTP_GZIP_H

#include <stddef.h>

/* The bytes as a gzip file, on the heap; level 1 (fast) to 9 (small). May be called on any thread.
 */
void *http_gzip(const void *p, size_t n, int level, size_t *out_n);

#endif
