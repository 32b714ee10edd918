/* unpack.c - see unpack.h. */
#include "base/unpack.h"

#include "base/mem.h"

#include <limits.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

enum kind { GZIP, XZ, ZSTD };

/* A stream says how much memory it needs. XZ_BYTES holds what `xz -9` makes, and ZSTD_WINDOW what
 * `zstd --ultra -22` does. */
enum { XZ_BYTES = 128 << 20, ZSTD_WINDOW = 27 };

struct unpack {
    enum kind kind;
    z_stream z;
    lzma_stream xz;
    ZSTD_DStream *zstd;
};

static const char *const names[] = { [GZIP] = "gzip", [XZ] = "xz", [ZSTD] = "zstd" };

static int begin(struct unpack *u)
{
    switch (u->kind) {
    case GZIP:
        return inflateInit2(&u->z, 15 + 16) == Z_OK ? 0 : -1;
    case XZ:
        return lzma_stream_decoder(&u->xz, XZ_BYTES, 0) == LZMA_OK ? 0 : -1;
    default:
        u->zstd = ZSTD_createDStream();
        return u->zstd && !ZSTD_isError(ZSTD_initDStream(u->zstd)) &&
                       !ZSTD_isError(
                           ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, ZSTD_WINDOW))
                   ? 0
                   : -1;
    }
}

struct unpack *unpack_new(const uint8_t *head, size_t n, struct err *err)
{
    struct unpack *u;
    enum kind kind;

    if (n < UNPACK_LOOK)
        return NULL;
    if (head[0] == 0x1f && head[1] == 0x8b)
        kind = GZIP;
    else if (head[0] == 0xfd && head[1] == '7')
        kind = XZ;
    else if (head[0] == 0x28 && head[1] == 0xb5)
        kind = ZSTD;
    else
        return NULL;
    u = mem_zalloc(sizeof(*u));
    u->kind = kind;
    if (begin(u) == 0)
        return u;
    unpack_free(u);
    err_set(err, ERR_NOMEM, "no memory for %s", names[kind]);
    return NULL;
}

void unpack_free(struct unpack *u)
{
    if (!u)
        return;
    if (u->kind == GZIP)
        inflateEnd(&u->z);
    lzma_end(&u->xz);
    ZSTD_freeDStream(u->zstd);
    mem_free(u);
}

const char *unpack_name(const struct unpack *u)
{
    return names[u->kind];
}

static int step_gzip(struct unpack *u, const uint8_t *in, size_t *n_in, uint8_t *out, size_t *n_out,
                     struct err *err)
{
    size_t give = MIN(*n_in, INT_MAX), room = MIN(*n_out, INT_MAX);
    int rc;

    u->z.next_in = (uint8_t *)(uintptr_t)in;
    u->z.avail_in = (unsigned)give;
    u->z.next_out = out;
    u->z.avail_out = (unsigned)room;
    rc = inflate(&u->z, Z_NO_FLUSH);
    *n_in = give - u->z.avail_in;
    *n_out = room - u->z.avail_out;
    if (rc == Z_STREAM_END)
        return 0;
    if (rc == Z_OK || rc == Z_BUF_ERROR)
        return 1;
    return err_set(err, ERR_ARG, "%s", u->z.msg ? u->z.msg : "is damaged");
}

static int step_xz(struct unpack *u, const uint8_t *in, size_t *n_in, uint8_t *out, size_t *n_out,
                   struct err *err)
{
    lzma_ret rc;

    u->xz.next_in = in;
    u->xz.avail_in = *n_in;
    u->xz.next_out = out;
    u->xz.avail_out = *n_out;
    rc = lzma_code(&u->xz, LZMA_RUN);
    *n_in -= u->xz.avail_in;
    *n_out -= u->xz.avail_out;
    if (rc == LZMA_STREAM_END)
        return 0;
    if (rc == LZMA_OK || rc == LZMA_BUF_ERROR)
        return 1;
    if (rc == LZMA_MEMLIMIT_ERROR)
        return err_set(err, ERR_TOOBIG, "needs more than %d MiB of memory to be unpacked",
                       XZ_BYTES >> 20);
    return err_set(err, ERR_ARG, "is damaged");
}

static int step_zstd(struct unpack *u, const uint8_t *in, size_t *n_in, uint8_t *out, size_t *n_out,
                     struct err *err)
{
    ZSTD_inBuffer from = { in, *n_in, 0 };
    ZSTD_outBuffer to = { out, *n_out, 0 };
    size_t rc = ZSTD_decompressStream(u->zstd, &to, &from);

    *n_in = from.pos;
    *n_out = to.pos;
    if (ZSTD_isError(rc))
        return err_set(err, ERR_ARG, "is damaged (%s)", ZSTD_getErrorName(rc));
    return rc != 0;
}

int unpack_step(struct unpack *u, const uint8_t *in, size_t *n_in, uint8_t *out, size_t *n_out,
                struct err *err)
{
    return u->kind == GZIP ? step_gzip(u, in, n_in, out, n_out, err)
           : u->kind == XZ ? step_xz(u, in, n_in, out, n_out, err)
                           : step_zstd(u, in, n_in, out, n_out, err);
}

int unpack_again(struct unpack *u, struct err *err)
{
    bool ok = true;

    if (u->kind == GZIP)
        ok = inflateReset(&u->z) == Z_OK;
    else if (u->kind == XZ)
        ok = lzma_stream_decoder(&u->xz, XZ_BYTES, 0) == LZMA_OK;
    else
        ok = !ZSTD_isError(ZSTD_initDStream(u->zstd));
    return ok ? 0 : err_set(err, ERR_IO, "cannot start over");
}
