/* codec.c - see codec.h. */
#include "ml/read/columnar/codec.h"

#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <stdbool.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

static const char *const codec_names[] = {
    [CODEC_NONE] = "uncompressed", [CODEC_SNAPPY] = "snappy", [CODEC_GZIP] = "gzip",
    [CODEC_ZSTD] = "zstd",         [CODEC_LZ4] = "lz4",       [CODEC_LZ4_FRAME] = "lz4"
};

static bool unpack_none(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    if (n == size)
        memcpy(out, in, n);
    return n == size;
}

static bool unpack_snappy(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    size_t made = size;

    return snappy_uncompress((const char *)in, n, (char *)out, &made) == SNAPPY_OK && made == size;
}

/* zlib counts in unsigned int, so both sides go in pieces. The header may be gzip's or zlib's. */
static bool unpack_gzip(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    z_stream z = { 0 };
    uint8_t end;
    int rc = Z_OK;

    if (inflateInit2(&z, 15 + 32) != Z_OK)
        return false;
    z.next_in = (uint8_t *)(uintptr_t)in;
    z.next_out = size ? out : &end;
    while (rc == Z_OK) {
        z.avail_in = (unsigned)MIN(n - (size_t)(z.next_in - in), 1u << 30);
        z.avail_out = (unsigned)(size ? MIN(size - (size_t)(z.next_out - out), 1u << 30) : 0);
        rc = inflate(&z, Z_NO_FLUSH);
        /* Several members in one block are legal gzip. */
        if (rc == Z_STREAM_END && size > 0 && (size_t)(z.next_out - out) < size &&
            (size_t)(z.next_in - in) < n)
            rc = inflateReset(&z);
    }
    bool whole = rc == Z_STREAM_END && (size == 0 || (size_t)(z.next_out - out) == size);
    inflateEnd(&z);
    return whole;
}

static bool unpack_zstd(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    return ZSTD_decompress(out, size, in, n) == size;
}

static bool unpack_lz4(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    if (n > LZ4_MAX_INPUT_SIZE || size > LZ4_MAX_INPUT_SIZE)
        return false;
    return LZ4_decompress_safe((const char *)in, (char *)out, (int)n, (int)size) == (int)size;
}

static bool unpack_lz4_frame(const uint8_t *in, size_t n, uint8_t *out, size_t size)
{
    LZ4F_dctx *d = NULL;
    size_t used = 0, made = 0, more = 1;

    if (LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION)))
        return false;
    while (more != 0) {
        size_t take = n - used, give = size - made;
        more = LZ4F_decompress(d, out + made, &give, in + used, &take, NULL);
        if (LZ4F_isError(more) || (take == 0 && give == 0))
            break;
        used += take, made += give;
    }
    LZ4F_freeDecompressionContext(d);
    return more == 0 && made == size;
}

int codec_unpack(enum codec codec, const uint8_t *in, size_t n, uint8_t *out, size_t size,
                 struct err *err)
{
    static bool (*const unpack[])(const uint8_t *, size_t, uint8_t *, size_t) = {
        [CODEC_NONE] = unpack_none, [CODEC_SNAPPY] = unpack_snappy,
        [CODEC_GZIP] = unpack_gzip, [CODEC_ZSTD] = unpack_zstd,
        [CODEC_LZ4] = unpack_lz4,   [CODEC_LZ4_FRAME] = unpack_lz4_frame,
    };

    if (unpack[codec](in, n, out, size))
        return 0;
    return err_set(err, ERR_ARG,
                   "%zu bytes of %s data are damaged: they do not unpack to %zu bytes", n,
                   codec_names[codec], size);
}

uint32_t codec_crc(const uint8_t *p, size_t n)
{
    return (uint32_t)crc32_z(0, p, n);
}
