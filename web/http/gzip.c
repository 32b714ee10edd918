/* gzip.c - see gzip.h. */
#include "web/http/gzip.h"

#include "base/base.h"
#include "base/mem.h"

#include <stdint.h>
#include <zlib.h>

void *http_gzip(const void *p, size_t n, int level, size_t *out_n)
{
    z_stream z = { 0 };
    size_t room = 0;
    void *out = NULL;

    CHECK(deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    room = deflateBound(&z, (uLong)n);
    out = mem_alloc(room);
    z.next_in = (Bytef *)(uintptr_t)p;
    z.avail_in = (uInt)n;
    z.next_out = out;
    z.avail_out = (uInt)room;
    CHECK(deflate(&z, Z_FINISH) == Z_STREAM_END);
    *out_n = room - z.avail_out;
    deflateEnd(&z);
    return out;
}
