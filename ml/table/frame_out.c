/* frame_out.c - a frame file being written: chunks, then tables, then column records, then the
 * trailer, strictly front to back through one buffer, hashed on the way (layout: frame_file.h).
 *
 * The file grows under a temporary name beside its path and appears there, synced, only when it is
 * whole; an abort leaves nothing. Memory: the buffer and 88 bytes a column. One writer is used by
 * one thread. Called by frame_write.c and ml/read. */
#include "ml/table/frame_file.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { OUT_BUFFER = 1 << 18 };

struct frame_out {
    char *path, *temp;
    int fd;
    uint8_t *fill;
    size_t n_fill;
    /* bytes already in the file */
    int64_t flushed;
    struct sha256 hash;
    struct frame_image image;
    struct frame_rec *recs;
    size_t n_recs, cap_recs;
    /* of the column that is added next */
    enum frame_kind kind;
    char *note;
};

static void out_free(struct frame_out *o, bool remove)
{
    if (o->fd >= 0)
        io->close(o->fd);
    if (remove)
        io->unlink(o->temp);
    mem_free(o->path);
    mem_free(o->temp);
    mem_free(o->recs);
    mem_free(o->note);
    mem_free(o->fill);
    mem_free(o);
}

static int out_flush(struct frame_out *o, struct err *err)
{
    if (io_write_all(o->fd, o->fill, o->n_fill, o->flushed, err) < 0)
        return err_wrap(err, "%s", o->path);
    sha256_add(&o->hash, o->fill, o->n_fill);
    o->flushed += (int64_t)o->n_fill;
    o->n_fill = 0;
    return 0;
}

static int out_put(struct frame_out *o, const void *p, size_t n, struct err *err)
{
    const uint8_t *bytes = p;

    while (n > 0) {
        size_t part = MIN(n, OUT_BUFFER - o->n_fill);
        memcpy(o->fill + o->n_fill, bytes, part);
        o->n_fill += part;
        bytes += part;
        n -= part;
        if (o->n_fill == OUT_BUFFER && out_flush(o, err) < 0)
            return -1;
    }
    return 0;
}

int64_t frame_out_bytes(const struct frame_out *o)
{
    return o->flushed + (int64_t)o->n_fill;
}

static int out_align(struct frame_out *o, struct err *err)
{
    static const uint8_t zeros[8];

    return out_put(o, zeros, (size_t)(-frame_out_bytes(o) & 7), err);
}

static uint32_t version_of(const struct frame_out *o)
{
    return o->image.height ? FRAME_VERSION_IMAGES : FRAME_VERSION;
}

struct frame_out *frame_out_images(const char *path, const struct frame_image *image,
                                   struct err *err)
{
    struct frame_out *o = mem_zalloc(sizeof(*o));
    uint8_t head[FRAME_EDGE_BYTES] = { 0 };

    o->image = *image;
    uint32_t version = version_of(o);

    o->path = mem_strdup(path);
    o->fill = mem_alloc(OUT_BUFFER);
    sha256_init(&o->hash);
    o->fd = io_open_aside(path, "tmp", 0600, &o->temp, err);
    memcpy(head, FRAME_MAGIC, 8);
    memcpy(head + 8, &version, sizeof(version));
    if (o->fd < 0 || out_put(o, head, sizeof(head), err) < 0) {
        out_free(o, o->fd >= 0);
        return NULL;
    }
    return o;
}

void frame_out_shape(struct frame_out *o, const struct frame_image *image)
{
    CHECK(o->image.height && image->height);
    o->image = *image;
}

struct frame_out *frame_out_new(const char *path, struct err *err)
{
    return frame_out_images(path, &(struct frame_image){ 0 }, err);
}

void frame_out_abort(struct frame_out *o)
{
    if (o)
        out_free(o, true);
}

int frame_out_chunk(struct frame_out *o, enum frame_chunk type, const void *data, int64_t bytes,
                    uint64_t *entry, struct err *err)
{
    if (out_align(o, err) < 0)
        return -1;
    *entry = (uint64_t)frame_out_bytes(o) | type;
    return out_put(o, data, (size_t)bytes, err);
}

int frame_out_read(struct frame_out *o, uint64_t entry, void *out, int64_t bytes, struct err *err)
{
    int64_t at = (int64_t)(entry & ~7ull), got = 0;
    uint8_t *to = out;

    if (at + bytes > o->flushed && out_flush(o, err) < 0)
        return -1;
    while (got < bytes) {
        ssize_t n = pread(o->fd, to + got, (size_t)(bytes - got), at + got);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_errno(err, "read back %s", o->temp);
        got += n;
    }
    return 0;
}

/* Writes a table at an 8-aligned place; *at gets the place. */
static int out_table(struct frame_out *o, const void *p, size_t n, uint64_t *at, struct err *err)
{
    if (out_align(o, err) < 0)
        return -1;
    *at = (uint64_t)frame_out_bytes(o);
    return out_put(o, p, n, err);
}

/* Writes texts in their order (most frequent first, then by text), their offsets, and the map from
 * codes. */
static int out_levels(struct frame_out *o, struct frame_rec *rec, const struct frame_levels *l,
                      struct err *err)
{
    uint32_t *order = mem_try_alloc(((size_t)l->n + 1) * sizeof(*order));
    uint64_t *at = mem_try_alloc(((size_t)l->n + 1) * sizeof(*at));
    uint32_t *map = mem_try_alloc(((size_t)l->n + 1) * sizeof(*map));
    int rc = -1;

    if (!order || !at || !map) {
        err_set(err, ERR_NOMEM, "no memory for %lld levels", (long long)l->n);
        goto out;
    }
    if (frame_levels_order(l, order, err) < 0)
        goto out;
    for (int64_t i = 0; i < l->n; i++) {
        const char *text = l->text + l->text_at[order[i]];
        map[order[i]] = (uint32_t)i;
        at[i] = (uint64_t)frame_out_bytes(o);
        if (out_put(o, text, strlen(text) + 1, err) < 0)
            goto out;
    }
    at[l->n] = (uint64_t)frame_out_bytes(o);
    rec->n_levels = (uint32_t)l->n;
    if (out_table(o, at, ((size_t)l->n + 1) * sizeof(*at), &rec->levels_at, err) < 0 ||
        out_table(o, map, (size_t)l->n * sizeof(*map), &rec->map_at, err) < 0)
        goto out;
    rc = 0;
out:
    mem_try_free(order);
    mem_try_free(at);
    mem_try_free(map);
    return rc;
}

void frame_out_kind(struct frame_out *o, enum frame_kind kind, const char *note)
{
    CHECK(kind < FRAME_KINDS && (!note || strlen(note) <= FRAME_MAX_NOTE));
    mem_free(o->note);
    o->kind = kind;
    o->note = note && *note ? mem_strdup(note) : NULL;
}

/* Writes the name and the note, and forgets kind and note. */
static int out_name(struct frame_out *o, struct frame_rec *rec, const char *name, struct err *err)
{
    size_t note = o->note ? strlen(o->note) : 0;
    int rc = out_table(o, name, rec->name_bytes + 1, &rec->name_at, err);

    rec->what |= (uint32_t)o->kind << 8 | (uint32_t)note << 16;
    if (rc == 0 && note)
        rc = out_put(o, o->note, note + 1, err);
    frame_out_kind(o, FRAME_PLAIN, NULL);
    return rc;
}

int frame_out_col(struct frame_out *o, const char *name, enum frame_type type,
                  const struct frame_stats *stats, const uint64_t *chunks, int64_t n_chunks,
                  const struct frame_levels *levels, struct err *err)
{
    struct frame_rec rec = { .name_bytes = (uint32_t)strlen(name),
                             .what = type,
                             .missing = stats->missing,
                             .not_numbers = (uint32_t)MIN(stats->not_numbers, UINT32_MAX) };

    CHECK((type == FRAME_CATEGORICAL) == (levels != NULL));
    CHECK(frame_kind_fits(o->kind, type));
    rec.min = rec.max = rec.mean = NAN;
    rec.distinct = levels ? levels->n : stats->distinct;
    if (type == FRAME_NUMERIC && stats->finite > 0) {
        rec.min = stats->min;
        rec.max = stats->max;
        rec.mean = stats->sum / (double)stats->finite;
    }
    if (out_name(o, &rec, name, err) < 0 ||
        (type != FRAME_IGNORED &&
         out_table(o, chunks, (size_t)n_chunks * sizeof(*chunks), &rec.chunks_at, err) < 0) ||
        (levels && out_levels(o, &rec, levels, err) < 0))
        return -1;
    MEM_GROW(o->recs, o->n_recs, o->cap_recs);
    o->recs[o->n_recs++] = rec;
    return 0;
}

/* Syncs the file, renames it, and syncs its folder: all or nothing. */
static int out_publish(struct frame_out *o, struct err *err)
{
    char *dir = mem_strdup(o->path), *slash = strrchr(dir, '/');
    int rc = -1;

    if (slash)
        slash[slash == dir] = '\0';
    if (FAULT("frame.sync") || io->fsync(o->fd) < 0)
        err_errno(err, "sync %s", o->temp);
    else if (FAULT("frame.rename") || io->rename(o->temp, o->path) < 0)
        err_errno(err, "rename to %s", o->path);
    else if (io_fsync_dir(slash ? dir : ".", err) < 0)
        /* after a crash it might still appear, so it is removed now */
        io->unlink(o->path);
    else
        rc = 0;
    mem_free(dir);
    return rc;
}

int frame_out_end(struct frame_out *o, int64_t rows, int64_t chunk_rows, char hash[SHA256_HEX],
                  struct err *err)
{
    struct frame_trailer t = { .version = version_of(o),
                               .n_cols = (uint32_t)o->n_recs,
                               .rows = (uint64_t)rows,
                               .image_first = (uint32_t)o->image.first,
                               .image_channels = (uint32_t)o->image.channels,
                               .image_height = (uint32_t)o->image.height,
                               .image_width = (uint32_t)o->image.width };
    int rc = -1;

    CHECK(sizeof(t) == FRAME_EDGE_BYTES && o->n_recs <= FRAME_MAX_COLS);
    memcpy(t.magic, FRAME_MAGIC, sizeof(t.magic));
    t.chunk_rows = (uint32_t)chunk_rows;
    if (out_table(o, o->recs, o->n_recs * sizeof(*o->recs), &t.cols_at, err) == 0) {
        t.file_bytes = (uint64_t)frame_out_bytes(o) + sizeof(t);
        if (out_put(o, &t, sizeof(t), err) == 0 && out_flush(o, err) == 0)
            rc = out_publish(o, err);
    }
    if (rc == 0)
        sha256_end_hex(&o->hash, hash);
    out_free(o, rc < 0);
    return rc;
}
