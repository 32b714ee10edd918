/* feed.h - what the fuzzers of the readers share: bytes that arrive in pieces of `step`, and a scratch file on a fast disk
 * that is never synchronised. Included by one program each, so everything is static. */
#ifndef TESTS_FUZZ_FEED_H
#define TESTS_FUZZ_FEED_H

#include "base/io.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct io_ops quick; /* nothing needs to last here */
static char path[80];

static int no_sync(int fd)
{
    (void)fd;
    return 0;
}

/* name: of the scratch file, whose path is in `path` from now on. */
static void feed_init(const char *name)
{
    quick = io_system;
    quick.fsync = no_sync;
    io = &quick;
    (void)snprintf(path, sizeof(path), "%s/assay-fuzz-%s-%ld",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name, (long)getpid());
}

struct source {
    const uint8_t *data;
    size_t n, at, step;
};

static long source_read(void *ctx, void *out, size_t n, struct err *err)
{
    struct source *s = ctx;
    size_t part = s->n - s->at;

    (void)err;
    part = part > n ? n : part;
    part = part > s->step ? s->step : part;
    memcpy(out, s->data + s->at, part);
    s->at += part;
    return (long)part;
}

#endif
