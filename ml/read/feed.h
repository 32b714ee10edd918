/* feed.h - a stream of bytes for the readers of images: with a look ahead, exact reads, and the
 * name for errors. */
#ifndef ML_READ_FEED_H
#define ML_READ_FEED_H

#include "base/err.h"
#include "ml/read/csv.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FEED_AHEAD = 512 };

struct feed {
    csv_source *source;
    void *ctx;
    /* of the file or the member of an archive, for errors */
    const char *name;
    /* The stream may end anywhere, as the first part of a file does: what is whole is taken. */
    bool may_be_cut;
    /* bytes looked at and not yet read: ahead[at .. n) */
    uint8_t ahead[FEED_AHEAD];
    size_t n, at;
    bool has_ended;
};

/* Looks at the next n bytes, n <= FEED_AHEAD. Returns how many there are: fewer at the end; -1 =
 * error. The bytes begin at *out. */
long feed_look(struct feed *f, size_t n, const uint8_t **out, struct err *err);
/* Reads up to n bytes, fewer only at the end; -1 = error. */
long feed_read(struct feed *f, void *out, size_t n, struct err *err);
/* Reads exactly n bytes. An earlier end is an error: "NAME ends within its PART". */
int feed_exact(struct feed *f, void *out, size_t n, const char *part, struct err *err);
/* Passes over n bytes; a feed that may be cut may end before. */
int feed_skip(struct feed *f, int64_t n, const char *part, struct err *err);
/* feed_read as a csv_source; ctx: the feed. */
long feed_source(void *ctx, void *out, size_t n, struct err *err);

#endif
