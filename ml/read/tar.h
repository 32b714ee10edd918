/* tar.h - private to the image readers: the files of a tar archive, one after the other, from a
 * stream. Reads the POSIX form (ustar, with pax names) and GNU's long names; sparse files and links
 * are passed over. Sizes are believed only as far as there are bytes. */
#ifndef ML_READ_TAR_H
#define ML_READ_TAR_H

#include "ml/read/feed.h"

enum { TAR_BLOCK = 512, TAR_MAX_NAME = 1024 };

struct tar {
    struct feed *feed;
    char name[TAR_MAX_NAME];
    /* of the file at hand: bytes in all, bytes not yet read, and zeros behind it */
    int64_t size, left, padding;
};

/* Is this the first block of an archive? */
bool tar_is(const uint8_t *block, long n);
/* The next regular file; what is left of the one before is passed over. 1 = there is one, 0 = the
 * end, -1 = error. */
int tar_next(struct tar *t, struct err *err);
/* Bytes of the file at hand, as a csv_source; ctx: the struct tar. */
long tar_source(void *ctx, void *out, size_t n, struct err *err);

#endif
