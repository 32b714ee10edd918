/* gz.c - plain or packed bytes behind one read function. A struct gz belongs to one thread at a
 * time. It looks at the first bytes to tell the kinds apart, and keeps them for the caller. */
#include "base/gz.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { IN_BYTES = 128 * 1024 };

struct gz {
    int fd;
    bool in_member; /* inside a packed part: an end of the file here means it was truncated */
    bool at_eof;
    struct unpack *unpack;       /* NULL = the bytes are not packed */
    unsigned long long in_total; /* bytes taken from the file */
    unsigned long long made;     /* bytes unpacked */
    unsigned long long floor;    /* see gz_bound; 0 = no limit */
    unsigned ratio;
    unsigned char *in;
    size_t pos, len; /* in[pos] to in[len - 1] were read and not yet used */
};

/* Appends to `in` until it holds at least `want` unused bytes or the file ends. */
static int fill(struct gz *g, size_t want, struct err *err)
{
    CHECK(want <= IN_BYTES && g->pos <= g->len && g->len <= IN_BYTES);
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
    struct err why = { 0 };
    if (fill(g, UNPACK_LOOK, err) < 0) {
        gz_close(g);
        return NULL;
    }
    g->unpack = unpack_new(g->in, g->len, &why);
    g->in_member = g->unpack != NULL;
    if (!g->unpack && why.code != ERR_NONE) {
        err_set(err, why.code, "%s", why.text);
        gz_close(g);
        return NULL;
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

/* After a packed part comes another one or the end. Zero bytes behind the last one are padding,
 * which gzip(1) and xz(1) ignore too. */
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
    if (unpack_again(g->unpack, err) < 0)
        return err_wrap(err, "%s", unpack_name(g->unpack));
    g->in_member = true;
    return 0;
}

static int damaged(struct gz *g, const char *what, struct err *err)
{
    return err_set(err, ERR_ARG, "%s data %s at byte %llu", unpack_name(g->unpack), what,
                   g->in_total - (g->len - g->pos));
}

static int bound_check(const struct gz *g, struct err *err)
{
    if (!g->floor || g->made <= g->floor || g->made / g->ratio <= g->in_total)
        return 0;
    return err_set(err, ERR_TOOBIG,
                   "the %s data unpacks to more than %u times its length (%llu bytes of %llu): "
                   "unpack it first, so that its real length is known",
                   unpack_name(g->unpack), g->ratio, g->made, g->in_total);
}

static long read_packed(struct gz *g, void *out, size_t n, struct err *err)
{
    while (g->in_member) {
        struct err why = { 0 };
        size_t used = 0, made = n;
        int rc = 0;

        if (fill(g, 1, err) < 0)
            return -1;
        used = g->len - g->pos;
        rc = unpack_step(g->unpack, g->in + g->pos, &used, out, &made, &why);
        g->pos += used;
        if (rc < 0 && why.code == ERR_TOOBIG)
            return err_set(err, why.code, "the %s data %s", unpack_name(g->unpack), why.text);
        if (rc < 0)
            return damaged(g, why.text, err);
        if (rc == 0) {
            g->in_member = false;
            if (next_member(g, err) < 0)
                return -1;
        } else if (!made && !used && g->at_eof) {
            return damaged(g, "ends too early", err);
        }
        g->made += made;
        if (bound_check(g, err) < 0)
            return -1;
        if (made)
            return (long)made;
    }
    return 0;
}

void gz_bound(struct gz *g, int64_t floor, int ratio)
{
    CHECK(floor >= 0 && ratio > 0);
    g->floor = (unsigned long long)floor;
    g->ratio = (unsigned)ratio;
}

void gz_bound_table(struct gz *g)
{
    enum { FLOOR = 64 << 20, RATIO = 100 };

    gz_bound(g, FLOOR, RATIO);
}

long gz_read(struct gz *g, void *out, size_t n, struct err *err)
{
    if (n == 0)
        return 0;
    return g->unpack ? read_packed(g, out, n, err) : read_plain(g, out, n, err);
}

long gz_source(void *ctx, void *out, size_t n, struct err *err)
{
    return gz_read(ctx, out, n, err);
}

int64_t gz_plain_bytes(const struct gz *g)
{
    struct stat st;

    if (g->unpack || fstat(g->fd, &st) < 0 || !S_ISREG(st.st_mode))
        return -1;
    return (int64_t)st.st_size;
}

long gz_read_at(void *ctx, void *out, size_t n, int64_t at, struct err *err)
{
    const struct gz *g = ctx;

    return io_read_at(g->fd, out, n, at, err);
}

void gz_close(struct gz *g)
{
    if (!g)
        return;
    unpack_free(g->unpack);
    if (g->fd >= 0)
        close(g->fd);
    mem_free(g->in);
    mem_free(g);
}
