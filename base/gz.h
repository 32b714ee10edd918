/* gz.h - a stream of bytes from a file or a descriptor, gunzipped on the way when it starts as gzip does.
 * A truncated or damaged gzip stream is ERR_ARG naming the byte offset. */
#ifndef BASE_GZ_H
#define BASE_GZ_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct gz;
struct gz *gz_open(const char *path, struct err *err); /* ERR_NOTFOUND, ERR_IO */
struct gz *gz_open_fd(int fd, struct err *err);        /* takes the descriptor, on failure too */
/* Fills up to n bytes: > 0 bytes read, 0 at the end, -1 on error. Concatenated members are one stream. */
long gz_read(struct gz *g, void *out, size_t n, struct err *err);
/* The same as a callback, for ml/read/csv.h: ctx is the struct gz. */
long gz_source(void *ctx, void *out, size_t n, struct err *err);
/* A few bytes may unpack to a thousand times as many: beyond `floor` bytes, more than `ratio` times the input is ERR_TOOBIG. */
void gz_bound(struct gz *g, int64_t floor, int ratio);
void gz_close(struct gz *g);

#endif
