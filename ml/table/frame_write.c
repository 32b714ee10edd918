/* frame_write.c - the builder for whole columns, used where the values are already in memory:
 * `assay data make`, tests, other readers. Packs a column chunk by chunk and hands it to
 * frame_out.c. The first column fixes the number of rows. Names must be unique, non-empty UTF-8. */
#include "ml/table/frame.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/table/frame_file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct frame_writer {
    struct frame_out *out;
    /* -1 before the first column */
    int64_t rows;
    uint64_t *entries;
    int64_t n_entries;
    void *pack;
    /* of one chunk */
    uint32_t *codes;
    char **names;
    int n_names;
};

struct frame_writer *frame_writer_new(const char *path, struct err *err)
{
    struct frame_out *out = frame_out_new(path, err);

    if (!out)
        return NULL;
    struct frame_writer *w = mem_zalloc(sizeof(*w));
    w->out = out;
    w->rows = -1;
    w->pack = mem_alloc(FRAME_CHUNK_ROWS * sizeof(double));
    w->codes = mem_alloc(FRAME_CHUNK_ROWS * sizeof(uint32_t));
    return w;
}

static void writer_free(struct frame_writer *w)
{
    for (int i = 0; i < w->n_names; i++)
        mem_free(w->names[i]);
    mem_free(w->names);
    mem_free(w->entries);
    mem_free(w->pack);
    mem_free(w->codes);
    mem_free(w);
}

void frame_writer_abort(struct frame_writer *w)
{
    if (!w)
        return;
    frame_out_abort(w->out);
    writer_free(w);
}

void frame_writer_kind(struct frame_writer *w, enum frame_kind kind, const char *note)
{
    frame_out_kind(w->out, kind, note);
}

static int writer_begin(struct frame_writer *w, const char *name, int64_t n, struct err *err)
{
    if (!name || !*name || !utf8_ok(name, strlen(name)) || strlen(name) >= FRAME_MAX_TEXT)
        return err_set(err, ERR_ARG, "column %d has no valid name", w->n_names + 1);
    if (n < 1 || (w->rows >= 0 && n != w->rows))
        return err_set(err, ERR_ARG, "column \"%.100s\" has %lld rows where %lld are expected",
                       name, (long long)n, (long long)w->rows);
    if (w->rows < 0) {
        w->rows = n;
        w->n_entries = (n + FRAME_CHUNK_ROWS - 1) / FRAME_CHUNK_ROWS;
        w->entries = mem_array((size_t)w->n_entries, sizeof(*w->entries));
    }
    w->names = mem_resize(w->names, ((size_t)w->n_names + 1) * sizeof(*w->names));
    w->names[w->n_names++] = mem_strdup(name);
    return 0;
}

int frame_writer_numeric(struct frame_writer *w, const char *name, const double *v, int64_t n,
                         struct err *err)
{
    struct frame_stats stats;
    int rc = 0;

    if (writer_begin(w, name, n, err) < 0)
        return -1;
    frame_stats_init(&stats);
    for (int64_t c = 0; c < w->n_entries && rc == 0; c++) {
        enum frame_chunk type = FC_F64;
        const double *from = v + c * FRAME_CHUNK_ROWS;
        int64_t rows = MIN(n - c * FRAME_CHUNK_ROWS, FRAME_CHUNK_ROWS);
        int64_t bytes = frame_pack_numbers(from, rows, w->pack, &type);
        frame_stats_numbers(&stats, from, rows);
        rc = frame_out_chunk(w->out, type, w->pack, bytes, &w->entries[c], err);
    }
    if (rc == 0)
        rc =
            frame_out_col(w->out, name, FRAME_NUMERIC, &stats, w->entries, w->n_entries, NULL, err);
    frame_stats_fini(&stats);
    return rc;
}

/* Counts the levels and writes the chunks. */
static int put_codes(struct frame_writer *w, const int32_t *codes, int64_t n, int n_levels,
                     int64_t *count, struct frame_stats *stats, struct err *err)
{
    for (int64_t c = 0; c < w->n_entries; c++) {
        enum frame_chunk type = FC_U8;
        const int32_t *from = codes + c * FRAME_CHUNK_ROWS;
        int64_t rows = MIN(n - c * FRAME_CHUNK_ROWS, FRAME_CHUNK_ROWS);
        for (int64_t i = 0; i < rows; i++) {
            if (from[i] >= n_levels)
                return err_set(err, ERR_ARG, "row %lld: code %d is no level",
                               (long long)(c * FRAME_CHUNK_ROWS + i), from[i]);
            w->codes[i] = from[i] < 0 ? FRAME_CODE_MISSING : (uint32_t)from[i];
            if (from[i] < 0)
                stats->missing++;
            else
                count[from[i]]++;
        }
        int64_t bytes = frame_pack_codes(w->codes, rows, w->pack, &type);
        if (frame_out_chunk(w->out, type, w->pack, bytes, &w->entries[c], err) < 0)
            return -1;
    }
    return 0;
}

int frame_writer_categorical(struct frame_writer *w, const char *name, const int32_t *codes,
                             int64_t n, const char *const *levels, int n_levels, struct err *err)
{
    struct frame_stats stats;
    struct frame_levels l = { n_levels, NULL, NULL, NULL };
    uint64_t *at = NULL;
    int64_t *count = NULL;
    char *text = NULL;
    size_t bytes = 0;
    int rc = -1;

    if (writer_begin(w, name, n, err) < 0)
        return -1;
    frame_stats_init(&stats);
    at = mem_array((size_t)n_levels + 1, sizeof(*at));
    count = mem_array((size_t)n_levels + 1, sizeof(*count));
    for (int i = 0; i < n_levels; i++) {
        at[i] = bytes;
        bytes += strlen(levels[i]) + 1;
    }
    text = mem_alloc(bytes + 1);
    for (int i = 0; i < n_levels; i++) {
        size_t len = strlen(levels[i]);
        if (len >= FRAME_MAX_TEXT || !utf8_ok(levels[i], len)) {
            err_set(err, ERR_ARG, "column \"%.100s\": level %d is no valid text", name, i);
            goto out;
        }
        memcpy(text + at[i], levels[i], len + 1);
    }
    l.text = text, l.text_at = at, l.count = count;
    if (put_codes(w, codes, n, n_levels, count, &stats, err) == 0)
        rc = frame_out_col(w->out, name, FRAME_CATEGORICAL, &stats, w->entries, w->n_entries, &l,
                           err);
out:
    mem_free(at);
    mem_free(count);
    mem_free(text);
    frame_stats_fini(&stats);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int names_check(struct frame_writer *w, struct err *err)
{
    if (w->n_names == 0)
        return err_set(err, ERR_ARG, "a frame needs at least one column");
    qsort(w->names, (size_t)w->n_names, sizeof(*w->names), by_name);
    for (int i = 1; i < w->n_names; i++) {
        if (strcmp(w->names[i - 1], w->names[i]) == 0)
            return err_set(err, ERR_ARG, "two columns are called \"%.100s\"", w->names[i]);
    }
    return 0;
}

int frame_writer_end(struct frame_writer *w, char hash[SHA256_HEX], struct err *err)
{
    int rc = names_check(w, err);

    if (rc < 0)
        frame_out_abort(w->out);
    else
        rc = frame_out_end(w->out, w->rows, FRAME_CHUNK_ROWS, hash, err);
    writer_free(w);
    return rc;
}
