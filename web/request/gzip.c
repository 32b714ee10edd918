/* gzip.c - see gzip.h. Only text that was made for this answer is compressed: files carry a length and ranges, and the
 * page's own files are compressed once. Called by req.c, on the loop's thread; the pool's part touches nothing but a job. */
#include "web/request/gzip.h"

#include "base/loop.h"
#include "base/mem.h"
#include "base/str.h"

#include <zlib.h>

/* Under a packet's size nothing is won; up to HERE bytes take a quarter of a millisecond, less than a thread's turn. */
enum { WORTH = 1400, HERE = 16 << 10, LEVEL = 5 };

void *web_gzip(const void *p, size_t n, int level, size_t *out_n)
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

struct job {
    struct web_req *r; /* held */
    void *text, *packed;
    size_t text_len, packed_len;
};

static void work(void *arg)
{
    struct job *j = arg;

    j->packed = web_gzip(j->text, j->text_len, LEVEL, &j->packed_len);
}

static void done(void *arg)
{
    struct job *j = arg;
    struct web_answer *a = &j->r->answer;

    mem_free(j->text);
    a->bytes = j->packed;
    a->len = j->packed_len;
    a->is_owned = true;
    web_header_add(j->r, "Content-Encoding", "gzip");
    web_send(j->r);
    web_release(j->r);
    mem_free(j);
}

static bool is_worth_it(struct web_req *r)
{
    const struct web_answer *a = &r->answer;

    return r->web && r->wire && r->method != WEB_HEAD && a->is_owned && a->len >= WORTH &&
           a->type &&
           (str_starts(a->type, "application/json") || str_starts(a->type, "text/plain")) &&
           a->n_headers + 2 <= WEB_HEADERS_MAX;
}

void web_send_packed(struct web_req *r)
{
    struct web_answer *a = &r->answer;
    struct job *j = NULL;

    if (!is_worth_it(r)) {
        web_send(r);
        return;
    }
    web_header_add(r, "Vary", "Accept-Encoding");
    if (!args_gzip_ok(web_header(r, "Accept-Encoding"))) {
        web_send(r);
        return;
    }
    j = mem_zalloc(sizeof *j);
    j->r = r;
    j->text = a->bytes;
    j->text_len = a->len;
    a->bytes = NULL;
    a->len = 0;
    a->is_owned = false;
    web_hold(r);
    if (j->text_len > HERE) {
        loop_pool_submit(web_loop(r->web), work, done, j);
        return;
    }
    work(j);
    done(j);
}
