/* feed.c - see feed.h. Used by the readers of images, and by read.c to look at the first bytes of a
 * file. */
#include "ml/read/feed.h"

#include "base/base.h"

#include <string.h>

long feed_look(struct feed *f, size_t n, const uint8_t **out, struct err *err)
{
    CHECK(n <= FEED_AHEAD);
    if (f->at + n > FEED_AHEAD) {
        memmove(f->ahead, f->ahead + f->at, f->n - f->at);
        f->n -= f->at;
        f->at = 0;
    }
    while (f->n - f->at < n && !f->has_ended) {
        long got = f->source(f->ctx, f->ahead + f->n, n - (f->n - f->at), err);
        if (got < 0)
            return -1;
        f->has_ended = got == 0;
        f->n += (size_t)got;
    }
    *out = f->ahead + f->at;
    return (long)MIN(n, f->n - f->at);
}

long feed_read(struct feed *f, void *out, size_t n, struct err *err)
{
    size_t done = MIN(n, f->n - f->at);

    memcpy(out, f->ahead + f->at, done);
    f->at += done;
    while (done < n && !f->has_ended) {
        long got = f->source(f->ctx, (char *)out + done, n - done, err);
        if (got < 0)
            return -1;
        f->has_ended = got == 0;
        done += (size_t)got;
    }
    return (long)done;
}

int feed_exact(struct feed *f, void *out, size_t n, const char *part, struct err *err)
{
    long got = feed_read(f, out, n, err);

    if (got < 0)
        return -1;
    return (size_t)got == n ? 0 : err_set(err, ERR_ARG, "%s ends within its %s", f->name, part);
}

int feed_skip(struct feed *f, int64_t n, const char *part, struct err *err)
{
    char some[4096];

    while (n > 0) {
        size_t want = (size_t)MIN(n, (int64_t)sizeof some);
        long got = feed_read(f, some, want, err);
        if (got < 0)
            return -1;
        n -= got;
        if ((size_t)got < want)
            return f->may_be_cut ? 0
                                 : err_set(err, ERR_ARG, "%s ends within its %s", f->name, part);
    }
    return 0;
}

long feed_source(void *ctx, void *out, size_t n, struct err *err)
{
    return feed_read(ctx, out, n, err);
}
