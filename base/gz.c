/* gz.c - plain or gzipped bytes behind one read function. Used by one thread at a time. */
#include "base/gz.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { IN_BYTES = 128 * 1024 };

struct gz {
    int fd;
    bool is_gzip, in_member; /* in_member: inside one, so an end of the file here is a truncation */
    bool at_eof;
    z_stream z;
    unsigned long long in_total; /* bytes taken from the file */
    unsigned long long made;     /* bytes unpacked */
    unsigned long long floor;    /* so many may be made whatever came in; 0 = no bound */
    unsigned ratio;
    unsigned char *in;
    size_t pos, len; /* what of `in` was not yet used */
};

/* Appends to `in` until it holds `want` bytes or the file ends. */
static int fill(struct gz *g, size_t want, struct err *err)
{
    if (g->pos == g->len)
        g->pos = g->len = 0;
    while (!g->at_eof && g->len - g->pos < want) {
        ssize_t got = read(g->fd, g->in + g->len, IN_BYTES - g->len);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_errno(err, "read");
        if (got == 0)
            g->at_eof = true;
        g->len += (size_t)got;
        g->in_total += (size_t)got;
    }
    return 0;
}

struct gz *gz_open_fd(int fd, struct err *err)
{
    struct gz *g = mem_zalloc(sizeof *g);

    g->fd = fd;
    g->in = mem_alloc(IN_BYTES);
    if (fill(g, 2, err) < 0) {
        gz_close(g);
        return NULL;
    }
    if (g->len >= 2 && g->in[0] == 0x1f && g->in[1] == 0x8b) {
        if (inflateInit2(&g->z, 15 + 16) != Z_OK) {
            err_set(err, ERR_NOMEM, "no memory for gzip");
            gz_close(g);
            return NULL;
        }
        g->is_gzip = g->in_member = true;
    }
    return g;
}

struct gz *gz_open(const char *path, struct err *err)
{
    struct gz *g = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        err_set(err, ERR_NOTFOUND, "%s: no such file", path);
    else if (fd < 0)
        err_errno(err, "open %s", path);
    else if (!(g = gz_open_fd(fd, err)))
        err_wrap(err, "%s", path);
    return g;
}

static long read_plain(struct gz *g, void *out, size_t n, struct err *err)
{
    size_t have = 0;

    if (fill(g, 1, err) < 0)
        return -1;
    have = MIN(n, g->len - g->pos);
    memcpy(out, g->in + g->pos, have);
    g->pos += have;
    return (long)have;
}

/* After a member: another one, or the end. Zero bytes behind the last one are padding (as gzip has it). */
static int next_member(struct gz *g, struct err *err)
{
    for (;;) {
        if (fill(g, 1, err) < 0)
            return -1;
        if (g->pos == g->len)
            return 0;
        if (g->in[g->pos] != 0)
            break;
        g->pos++;
    }
    if (inflateReset(&g->z) != Z_OK)
        return err_set(err, ERR_IO, "gzip: cannot start over");
    g->in_member = true;
    return 0;
}

static int damaged(struct gz *g, const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "gzip data %s at byte %llu", what,
                   g->in_total - (g->len - g->pos));
}

static long read_gzip(struct gz *g, void *out, size_t n, struct err *err)
{
    while (g->in_member) {
        size_t used = 0, made = 0;
        int rc = 0;

        if (fill(g, 1, err) < 0)
            return -1;
        g->z.next_in = g->in + g->pos;
        g->z.avail_in = (unsigned)(g->len - g->pos);
        g->z.next_out = out;
        g->z.avail_out = (unsigned)MIN(n, INT_MAX);
        rc = inflate(&g->z, Z_NO_FLUSH);
        used = g->len - g->pos - g->z.avail_in;
        made = MIN(n, INT_MAX) - g->z.avail_out;
        g->pos += used;
        if (rc == Z_STREAM_END) {
            g->in_member = false;
            if (next_member(g, err) < 0)
                return -1;
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            return damaged(g, g->z.msg ? g->z.msg : "is damaged", err);
        } else if (!made && !used && g->at_eof) {
            return damaged(g, "ends too early", err);
        }
        g->made += made;
        if (g->floor && g->made > g->floor && g->made / g->ratio > g->in_total)
            return err_set(err, ERR_TOOBIG,
                           "the gzip data unpacks to more than %u times its length (%llu bytes of "
                           "%llu): unpack it first, so that its real length is known",
                           g->ratio, g->made, g->in_total);
        if (made)
            return (long)made;
    }
    return 0;
}

void gz_bound(struct gz *g, int64_t floor, int ratio)
{
    g->floor = (unsigned long long)floor;
    g->ratio = (unsigned)ratio;
}

long gz_read(struct gz *g, void *out, size_t n, struct err *err)
{
    if (n == 0)
        return 0;
    return g->is_gzip ? read_gzip(g, out, n, err) : read_plain(g, out, n, err);
}

long gz_source(void *ctx, void *out, size_t n, struct err *err)
{
    return gz_read(ctx, out, n, err);
}

void gz_close(struct gz *g)
{
    if (!g)
        return;
    if (g->is_gzip)
        inflateEnd(&g->z);
    if (g->fd >= 0)
        close(g->fd);
    mem_free(g->in);
    mem_free(g);
}
