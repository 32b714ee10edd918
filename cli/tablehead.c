/* tablehead.c - see tablehead.h. Of CSV, JSON lines and images the first HEAD_BYTES are read; of
 * Parquet and Arrow files, which cannot be cut, the first HEAD_ROWS. Called by fit_head.c and
 * study_run.c. */
#include "cli/tablehead.h"
#include "cli/imagepack.h"

#include "base/gz.h"
#include "base/mem.h"

#include <string.h>

enum { HEAD_BYTES = 4 << 20, HEAD_ROWS = 20000, LOOK_BYTES = 512 };

struct head {
    struct gz *gz;
    char *text;
    size_t n, at;
};

/* CSV is cut after its last whole row. A line end within quotes does not end a row. */
static void rows_cut(struct head *h)
{
    bool is_quoted = false;
    size_t end = 0;

    for (size_t i = 0; h->n == HEAD_BYTES && i < h->n; i++) {
        is_quoted = is_quoted != (h->text[i] == '"');
        if (h->text[i] == '\n' && !is_quoted)
            end = i + 1;
    }
    h->n = h->n == HEAD_BYTES ? end : h->n;
}

/* What is in memory, and behind it the rest of the file where the caller needs all of it. */
static long head_take(void *ctx, void *out, size_t n, struct err *err)
{
    struct head *h = ctx;
    size_t some = MIN(n, h->n - h->at);

    if (some == 0 && h->gz)
        return gz_read(h->gz, out, n, err);
    memcpy(out, h->text + h->at, some);
    h->at += some;
    return (long)some;
}

static long head_take_at(void *ctx, void *out, size_t n, int64_t at, struct err *err)
{
    return gz_read_at(((struct head *)ctx)->gz, out, n, at, err);
}

static int head_convert(struct gz *g, const struct csv_opts *like, const char *path,
                        struct err *err)
{
    struct head h = { .text = mem_alloc(HEAD_BYTES) };
    struct csv_opts opts = *like;
    char hash[SHA256_HEX];
    long n = 0;

    while (h.n < HEAD_BYTES && (n = gz_read(g, h.text + h.n, HEAD_BYTES - h.n, err)) > 0)
        h.n += (size_t)n;
    if (n >= 0 && table_is_csv((const uint8_t *)h.text, (long)h.n)) {
        rows_cut(&h);
    } else if (n >= 0 && table_is_columnar((const uint8_t *)h.text, (long)h.n)) {
        h.gz = g;
        opts.most_rows = HEAD_ROWS;
        opts.file_bytes = gz_plain_bytes(g);
        opts.read_at = opts.file_bytes >= 0 ? head_take_at : NULL;
    }
    opts.may_be_cut = true;
    int rc = n < 0 ? -1 : table_to_frame(head_take, &h, &opts, path, hash, err);
    mem_free(h.text);
    return rc;
}

struct frame *tablehead_frame(const char *file, const struct csv_opts *opts, const char *path,
                              struct err *err)
{
    struct image_pack pack;

    if (image_pack_open(&pack, file, HEAD_BYTES, err) < 0)
        return NULL;
    struct gz *g = gz_open(pack.path, err);
    int rc = g ? head_convert(g, opts, path, err) : -1;
    gz_close(g);
    image_pack_close(&pack);
    return rc < 0 ? NULL : frame_open(path, err);
}

/* Reads the first bytes of the file; 0 = there are none. */
static long look(const char *file, uint8_t head[LOOK_BYTES])
{
    struct gz *g = gz_open(file, NULL);
    long n = 0, got = 0;

    while (g && n < LOOK_BYTES && (got = gz_read(g, head + n, (size_t)(LOOK_BYTES - n), NULL)) > 0)
        n += got;
    gz_close(g);
    return n;
}

bool tablehead_is_csv(const char *file)
{
    uint8_t head[LOOK_BYTES];
    long n = look(file, head);

    return n > 0 && table_is_csv(head, n);
}

bool tablehead_has_all_columns(const char *file)
{
    uint8_t head[LOOK_BYTES];
    long n = look(file, head);

    return n > 0 && (table_is_csv(head, n) || table_is_columnar(head, n));
}
