/* parquet_pages.c - see parquet_pages.h. Called by parquet.c. */
#include "ml/read/columnar/parquet_pages.h"

#include "base/mem.h"

#include <string.h>

/* READ_BYTES: read at once. HEAD_BYTES: tried first for the head of a page; texts that a head may
 * hold as statistics make it longer, but no longer than HEAD_MOST. */
enum { READ_BYTES = 256 << 10, HEAD_BYTES = 1 << 10, HEAD_MOST = 16 << 20, PAGE_MOST = 256 << 20 };

enum { DATA_PAGE, INDEX_PAGE, DICTIONARY_PAGE, DATA_PAGE_V2 };

struct head {
    int64_t type, unpacked, packed;
    bool has_crc;
    uint32_t crc;
    int64_t values, encoding, level_encoding;
    /* of version 2 */
    int64_t def_bytes, rep_bytes;
    bool is_packed;
    size_t bytes;
};

void parquet_pages_start(struct parquet_pages *s, const struct columnar_file *file,
                         const struct parquet_chunk *chunk, bool is_optional)
{
    s->file = file;
    s->chunk = *chunk;
    s->is_optional = is_optional;
    s->from = s->to = 0;
    s->unread = chunk->bytes;
    s->number = 0;
}

void parquet_pages_fini(struct parquet_pages *s)
{
    mem_try_free(s->packed);
    mem_try_free(s->unpacked);
    *s = (struct parquet_pages){ 0 };
}

int64_t parquet_pages_bytes(const struct parquet_pages *s)
{
    return (int64_t)(s->cap + s->unpacked_cap);
}

/* Makes room for n bytes; what is kept stays. Grows as bytes arrive, never by what a file claims. */
static int packed_room(struct parquet_pages *s, size_t n, struct err *err)
{
    if (s->from > 0) {
        memmove(s->packed, s->packed + s->from, s->to - s->from);
        s->to -= s->from;
        s->from = 0;
    }
    if (n + CELLS_PAD <= s->cap)
        return 0;
    size_t cap = MAX(n + CELLS_PAD, s->cap + s->cap / 2);
    uint8_t *p = mem_try_alloc(cap);
    if (!p)
        return err_set(err, ERR_NOMEM, "no memory for a page of %zu bytes", n);
    if (s->to)
        memcpy(p, s->packed, s->to);
    mem_try_free(s->packed);
    s->packed = p;
    s->cap = cap;
    return 0;
}

/* Sees that n bytes are there, or all that are left. */
static int packed_fill(struct parquet_pages *s, size_t n, struct err *err)
{
    while (s->to - s->from < n && s->unread > 0) {
        size_t have = s->to - s->from;
        size_t want = (size_t)MIN(s->unread, (int64_t)MAX(n - have, READ_BYTES));
        want = MIN(want, 16u << 20);
        if (packed_room(s, have + want, err) < 0)
            return -1;
        long got = s->file->read_at(s->file->ctx, s->packed + s->to, want,
                                    s->chunk.at + s->chunk.bytes - s->unread, err);
        if (got < 0)
            return -1;
        if (got == 0)
            return err_set(err, ERR_ARG, "the file ends within its pages");
        s->to += (size_t)got;
        s->unread -= got;
    }
    if (s->cap)
        memset(s->packed + s->to, 0, CELLS_PAD);
    return 0;
}

/* ---- heads ---- */

/* The heads of data pages and dictionaries have their first two fields in common. */
static void data_head(struct thrift *t, struct head *h)
{
    struct thrift_field f = { 0 };

    while (thrift_next(t, &f)) {
        if (f.id == 1)
            h->values = thrift_int(t, &f);
        else if (f.id == 2)
            h->encoding = thrift_int(t, &f);
        else if (f.id == 3)
            h->level_encoding = thrift_int(t, &f);
        else
            thrift_skip(t, f.type);
    }
}

static void data_head_v2(struct thrift *t, struct head *h)
{
    struct thrift_field f = { 0 };

    h->level_encoding = PQ_RLE;
    while (thrift_next(t, &f)) {
        if (f.id == 1)
            h->values = thrift_int(t, &f);
        else if (f.id == 4)
            h->encoding = thrift_int(t, &f);
        else if (f.id == 5)
            h->def_bytes = thrift_int(t, &f);
        else if (f.id == 6)
            h->rep_bytes = thrift_int(t, &f);
        else if (f.id == 7)
            h->is_packed = thrift_bool(&f);
        else
            thrift_skip(t, f.type);
    }
}

static bool head_parse(const uint8_t *p, size_t n, struct head *h)
{
    struct thrift t = { .p = p, .end = p + n };
    struct thrift_field f = { 0 };

    *h = (struct head){ .type = -1, .values = -1, .encoding = -1, .is_packed = true };
    while (thrift_next(&t, &f)) {
        bool is_struct = f.type == THRIFT_STRUCT;
        if (f.id == 1) {
            h->type = thrift_int(&t, &f);
        } else if (f.id == 2) {
            h->unpacked = thrift_int(&t, &f);
        } else if (f.id == 3) {
            h->packed = thrift_int(&t, &f);
        } else if (f.id == 4) {
            h->has_crc = true;
            h->crc = (uint32_t)thrift_int(&t, &f);
        } else if (((f.id == 5 && h->type == DATA_PAGE) ||
                    (f.id == 7 && h->type == DICTIONARY_PAGE)) &&
                   is_struct) {
            data_head(&t, h);
        } else if (f.id == 8 && h->type == DATA_PAGE_V2 && is_struct) {
            data_head_v2(&t, h);
        } else {
            thrift_skip(&t, f.type);
        }
    }
    h->bytes = (size_t)(t.p - p);
    return !t.bad;
}

static int head_check(const struct head *h, struct err *err)
{
    bool is_data = h->type == DATA_PAGE || h->type == DATA_PAGE_V2;

    if (h->packed < 0 || h->unpacked < 0 || h->type < 0)
        return err_set(err, ERR_ARG, "its head is damaged");
    if (h->packed > PAGE_MOST || h->unpacked > PAGE_MOST)
        return err_set(err, ERR_TOOBIG, "pages of more than %d MiB are not read", PAGE_MOST >> 20);
    if ((is_data || h->type == DICTIONARY_PAGE) &&
        (h->values < 0 || h->values > INT32_MAX || h->encoding < 0))
        return err_set(err, ERR_ARG, "its head is damaged");
    if (h->type == DATA_PAGE_V2 &&
        (h->def_bytes < 0 || h->rep_bytes < 0 || h->def_bytes > h->packed ||
         h->rep_bytes > h->packed - h->def_bytes || h->def_bytes + h->rep_bytes > h->unpacked))
        return err_set(err, ERR_ARG, "its levels do not fit into it");
    return 0;
}

static int head_read(struct parquet_pages *s, struct head *h, struct err *err)
{
    for (size_t n = HEAD_BYTES;; n *= 4) {
        if (packed_fill(s, n, err) < 0)
            return -1;
        if (head_parse(s->packed + s->from, s->to - s->from, h))
            break;
        if (s->unread == 0 || n >= HEAD_MOST)
            return err_set(err, ERR_ARG, "its head is damaged");
    }
    s->from += h->bytes;
    return head_check(h, err);
}

/* ---- bytes ---- */

static int unpacked_room(struct parquet_pages *s, size_t n, struct err *err)
{
    if (n + CELLS_PAD > s->unpacked_cap) {
        mem_try_free(s->unpacked);
        s->unpacked_cap = 0;
        s->unpacked = mem_try_alloc(n + CELLS_PAD);
        if (!s->unpacked)
            return err_set(err, ERR_NOMEM, "no memory for a page of %zu bytes", n);
        s->unpacked_cap = n + CELLS_PAD;
    }
    memset(s->unpacked + n, 0, CELLS_PAD);
    return 0;
}

/* The page's bytes, unpacked: *p to *end. Levels of version 2 come before and are never packed. */
static int page_unpack(struct parquet_pages *s, const struct head *h, const uint8_t *in,
                       const uint8_t **p, const uint8_t **end, struct err *err)
{
    size_t levels = h->type == DATA_PAGE_V2 ? (size_t)(h->def_bytes + h->rep_bytes) : 0;
    size_t packed = (size_t)h->packed - levels, unpacked = (size_t)h->unpacked - levels;

    if (s->chunk.codec == CODEC_NONE || !h->is_packed) {
        if (packed != unpacked)
            return err_set(err, ERR_ARG, "its lengths disagree");
        *p = in;
        *end = in + h->packed;
        return 0;
    }
    if (unpacked_room(s, levels + unpacked, err) < 0)
        return -1;
    if (levels)
        memcpy(s->unpacked, in, levels);
    if (unpacked + packed > 0 && !(unpacked == 0 && packed == 0) &&
        codec_unpack(s->chunk.codec, in + levels, packed, s->unpacked + levels, unpacked, err) < 0)
        return -1;
    *p = s->unpacked;
    *end = s->unpacked + levels + unpacked;
    return 0;
}

static int levels_find(const struct head *h, struct parquet_page *page, bool is_optional,
                       struct err *err)
{
    uint32_t n = 0;

    page->levels = page->levels_end = page->p;
    if (h->type == DATA_PAGE_V2) {
        page->levels = page->p + h->rep_bytes;
        page->p = page->levels_end = page->levels + h->def_bytes;
        return 0;
    }
    if (h->type != DATA_PAGE || !is_optional)
        return 0;
    if (h->level_encoding != PQ_RLE)
        return err_set(err, ERR_ARG, "its levels have an encoding that is no longer used");
    if (page->end - page->p < 4)
        return err_set(err, ERR_ARG, "its levels do not fit into it");
    memcpy(&n, page->p, 4);
    page->levels = page->p + 4;
    if (n > (size_t)(page->end - page->levels))
        return err_set(err, ERR_ARG, "its levels do not fit into it");
    page->p = page->levels_end = page->levels + n;
    return 0;
}

static int page_read(struct parquet_pages *s, const struct head *h, struct parquet_page *page,
                     struct err *err)
{
    const uint8_t *in = s->packed + s->from;

    if (h->has_crc && codec_crc(in, (size_t)h->packed) != h->crc)
        return err_set(err, ERR_ARG, "its checksum does not match: the file is damaged");
    *page = (struct parquet_page){ .is_dictionary = h->type == DICTIONARY_PAGE,
                                   .values = h->values,
                                   .encoding = (int)h->encoding };
    if (page_unpack(s, h, in, &page->p, &page->end, err) < 0)
        return -1;
    return levels_find(h, page, s->is_optional, err);
}

static int page_next(struct parquet_pages *s, struct parquet_page *page, struct err *err)
{
    struct head h;

    for (;;) {
        if (s->from == s->to && s->unread == 0)
            return 0;
        s->number++;
        if (head_read(s, &h, err) < 0)
            return -1;
        if (h.packed > s->unread + (int64_t)(s->to - s->from))
            return err_set(err, ERR_ARG, "it is cut short");
        if (packed_fill(s, (size_t)h.packed, err) < 0)
            return -1;
        if (h.type == DATA_PAGE || h.type == DATA_PAGE_V2 || h.type == DICTIONARY_PAGE)
            break;
        s->from += (size_t)h.packed;
    }
    if (page_read(s, &h, page, err) < 0)
        return -1;
    s->from += (size_t)h.packed;
    return 1;
}

int parquet_pages_next(struct parquet_pages *s, struct parquet_page *page, struct err *err)
{
    int rc = page_next(s, page, err);

    return rc < 0 ? err_wrap(err, "page %d", s->number) : rc;
}
