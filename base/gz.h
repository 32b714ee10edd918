/* gz.h - reads a stream of bytes from a file or a descriptor. If the stream begins as gzip, xz or
 * zstd does, it is unpacked while it is read, so a caller need not know whether a table was packed.
 * Truncated or damaged data is ERR_ARG with the byte offset. */
#ifndef BASE_GZ_H
#define BASE_GZ_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct gz;
struct gz *gz_open(const char *path, struct err *err); /* ERR_NOTFOUND, ERR_IO */
struct gz *gz_open_fd(int fd, struct err *err);        /* owns the descriptor, also if it fails */
/* Reads up to n bytes: the number of bytes, 0 at the end, -1 on error. Several packed
 * parts one after the other are read as one stream. */
long gz_read(struct gz *g, void *out, size_t n, struct err *err);
/* gz_read in the form of a callback for ml/read/csv.h; ctx is the struct gz. */
long gz_source(void *ctx, void *out, size_t n, struct err *err);
/* Limits how far data may expand, because a few packed bytes can unpack to a thousand times as many.
 * From `floor` unpacked bytes on, more than `ratio` times the packed length is ERR_TOOBIG. */
void gz_bound(struct gz *g, int64_t floor, int ratio);
/* gz_bound for a table. Text tables pack to a tenth, rarely to a fiftieth. What packs to less than a
 * hundredth was made to fill memory or disks. */
void gz_bound_table(struct gz *g);
/* The length of a regular file that is not packed, which can be read at any place; else -1. */
int64_t gz_plain_bytes(const struct gz *g);
/* Reads n bytes at a place, fewer only at the end; -1 on error. ctx is the struct gz. Does not move
 * the stream. */
long gz_read_at(void *ctx, void *out, size_t n, int64_t at, struct err *err);
void gz_close(struct gz *g);

#endif
