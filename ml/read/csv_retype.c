/* csv_retype.c - a column of numbers has met a text, so all of it is text now: its chunks are read
 * back, each number is written as it stood in the file, and codes take the numbers' place.
 *
 * Numbers that "%.15g" gives back exactly need no memory of their spelling. The others ("007",
 * "1.50", "1e5") were noted when they were read, chunk by chunk, in a spool file beside the frame
 * that has no name any more, so that no end of the program leaves it behind. Called by
 * csv_col.c. */
#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "ml/read/csv_table.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* csv_spelt: the longest spelling it keeps, and of how many chunks. */
enum { SPELT_LONGEST = 40, SPELT_CHUNKS = 8 };

static int spool_open(struct csv_table *t, struct err *err)
{
    char *name = NULL;

    if (FAULT("csv.spool"))
        return err_set(err, ERR_FULL, "spool file beside %s: injected", t->path);
    t->spool = io_open_aside(t->path, "spool", 0600, &name, err);
    if (t->spool < 0)
        return -1;
    unlink(name);
    mem_free(name);
    return 0;
}

static int spool_move(const struct csv_table *t, void *data, size_t n, uint64_t at, bool is_write,
                      struct err *err)
{
    char *p = data;

    while (n > 0) {
        ssize_t done =
            is_write ? pwrite(t->spool, p, n, (off_t)at) : pread(t->spool, p, n, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            errno = done == 0 ? EIO : errno;
            return err_errno(err, "spool file beside %s", t->path);
        }
        p += done, at += (uint64_t)done, n -= (size_t)done;
    }
    return 0;
}

int csv_spool(struct csv_table *t, struct csv_col *col, struct err *err)
{
    if (col->odd_bytes == 0 && !col->odd_at)
        return 0;
    if (t->spool < 0 && spool_open(t, err) < 0)
        return -1;
    size_t had = col->odd_at ? (size_t)t->n_chunks * 2 : 0;
    col->odd_at = mem_resize(col->odd_at, ((size_t)t->n_chunks + 1) * 2 * sizeof(*col->odd_at));
    /* the first chunk with odd spellings: those before it had none */
    if (had == 0)
        memset(col->odd_at, 0, (size_t)t->n_chunks * 2 * sizeof(*col->odd_at));
    col->odd_at[t->n_chunks * 2] = t->spool_bytes;
    col->odd_at[t->n_chunks * 2 + 1] = col->odd_bytes;
    if (spool_move(t, col->odd, col->odd_bytes, t->spool_bytes, true, err) < 0)
        return -1;
    t->spool_bytes += col->odd_bytes;
    col->odd_bytes = 0;
    return 0;
}

/* Goes through the odd spellings of a chunk. */
struct odd {
    const uint8_t *p, *end;
    /* row of the next one; -1 = none left */
    int64_t row;
    const char *text;
    size_t n;
};

static void odd_next(struct odd *o)
{
    uint16_t row;
    uint32_t n;

    o->row = -1;
    if (o->p == o->end)
        return;
    memcpy(&row, o->p, 2);
    n = o->p[2];
    o->p += 3;
    if (n == 255) {
        memcpy(&n, o->p, 4);
        o->p += 4;
    }
    o->row = row;
    o->text = (const char *)o->p;
    o->n = n;
    o->p += n;
}

static int intern(struct csv_table *t, struct csv_col *col, const char *s, size_t n, uint32_t *code,
                  struct err *err)
{
    if (t->scratch_cap < n + 16) {
        t->scratch_cap = n * 2 + 64;
        t->scratch = mem_resize(t->scratch, t->scratch_cap);
    }
    /* the dictionary reads past the end */
    memcpy(t->scratch, s, n);
    if (csv_dict_add(col->dict, t->scratch, n, code, err) < 0)
        return -1;
    /* a listed number in an odd spelling */
    if (*code == FRAME_CODE_MISSING) {
        col->stats.missing++;
        return 0;
    }
    csv_dict_count(col->dict, *code);
    return 0;
}

static int recode(struct csv_table *t, struct csv_col *col, const double *v, int64_t n,
                  struct odd *o, uint32_t *codes, struct err *err)
{
    char text[40];

    odd_next(o);
    for (int64_t i = 0; i < n; i++) {
        codes[i] = FRAME_CODE_MISSING;
        /* a word among the numbers has a spelling and no value */
        if (isnan(v[i]) && o->row != i) {
            col->stats.missing++;
            continue;
        }
        int len = 0;
        if (o->row != i)
            len = v[i] == floor(v[i]) && fabs(v[i]) < 1e15
                      ? snprintf(text, sizeof(text), "%" PRId64, (int64_t)v[i])
                      : snprintf(text, sizeof(text), "%.15g", v[i]);
        int rc = o->row == i ? intern(t, col, o->text, o->n, &codes[i], err)
                             : intern(t, col, text, (size_t)len, &codes[i], err);
        if (rc < 0)
            return -1;
        if (o->row == i)
            odd_next(o);
    }
    return 0;
}

/* Whether the text may stand in a note as it is. */
static bool is_simple(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!strchr("0123456789+-.eE", s[i]))
            return false;
    }
    return n > 0;
}

/* Adds a spelling to {"spelt":["1.0" unless it is there. False = there is no room. */
static bool spelt_add(char *note, size_t size, const char *s, size_t n)
{
    char quoted[SPELT_LONGEST + 4];
    size_t at = strlen(note);

    if (n > SPELT_LONGEST)
        return false;
    (void)!snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int)n, s);
    if (strstr(note, quoted))
        return true;
    if (at + strlen(quoted) + 4 > size)
        return false;
    (void)!snprintf(note + at, size - at, "%s%s", at ? "," : "{\"spelt\":[", quoted);
    return true;
}

int csv_spelt(struct csv_table *t, const struct csv_col *col, char *note, size_t size,
              struct err *err)
{
    bool fits = true;
    int rc = 0;

    note[0] = '\0';
    for (int64_t i = 0; col->odd_at && i < MIN(t->n_chunks, SPELT_CHUNKS) && fits && rc == 0; i++) {
        uint64_t bytes = col->odd_at[i * 2 + 1];
        uint8_t *spelled = mem_alloc(bytes + 1);
        struct odd o = { .p = spelled, .end = spelled + bytes };
        rc = bytes > 0 ? spool_move(t, spelled, bytes, col->odd_at[i * 2], false, err) : 0;
        for (odd_next(&o); rc == 0 && fits && o.row >= 0; odd_next(&o))
            fits = !is_simple(o.text, o.n) || spelt_add(note, size, o.text, o.n);
        mem_free(spelled);
    }
    if (!fits)
        note[0] = '\0';
    if (note[0])
        (void)!snprintf(note + strlen(note), size - strlen(note), "]}");
    return rc;
}

/* A chunk that is in the file already. */
static int retype_chunk(struct csv_table *t, struct csv_col *col, int64_t chunk, double *v,
                        uint32_t *codes, struct err *err)
{
    enum frame_chunk type = (enum frame_chunk)(col->entries[chunk] & 7);
    uint64_t odd_bytes = col->odd_at ? col->odd_at[chunk * 2 + 1] : 0;
    uint8_t *spelled = mem_alloc(odd_bytes + 1);
    struct odd o = { .p = spelled, .end = spelled + odd_bytes };
    int64_t rows = csv_chunk_rows(t, chunk);
    int rc = -1;

    if (odd_bytes > 0 && spool_move(t, spelled, odd_bytes, col->odd_at[chunk * 2], false, err) < 0)
        goto out;
    if (frame_out_read(t->out, col->entries[chunk], t->pack, rows * frame_chunk_width(type), err) <
        0)
        goto out;
    frame_unpack_numbers(t->pack, type, rows, v);
    if (recode(t, col, v, rows, &o, codes, err) < 0)
        goto out;
    int64_t bytes = frame_pack_codes(codes, rows, t->pack, &type);
    rc = frame_out_chunk(t->out, type, t->pack, bytes, &col->entries[chunk], err);
out:
    mem_free(spelled);
    return rc;
}

int csv_col_retype(struct csv_table *t, int c, int64_t place, struct err *err)
{
    struct csv_col *col = &t->cols[c];
    double *v = mem_alloc((size_t)t->chunk_rows * sizeof(*v));
    uint32_t *codes = mem_alloc((size_t)t->chunk_rows * sizeof(*codes));
    struct odd o = { .p = col->odd, .end = col->odd ? col->odd + col->odd_bytes : NULL };
    int rc = 0;

    col->dict = mem_alloc(sizeof(*col->dict));
    csv_dict_init(col->dict);
    col->dict->missing = col->missing;
    t->set_bytes -= (int64_t)col->stats.set_cap * 8;
    frame_stats_fini(&col->stats);
    frame_stats_init(&col->stats);
    for (int64_t i = 0; i < t->n_chunks && rc == 0; i++)
        rc = retype_chunk(t, col, i, v, codes, err);
    for (int64_t i = 0; i < place; i++)
        v[i] = col->mode == COL_DOUBLE             ? col->doubles[i]
               : col->ints[i] == FRAME_INT_MISSING ? (double)NAN
                                                   : col->ints[i];
    for (int m = 0; m < col->n_marks; m++) {
        for (int64_t i = 0; i < place; i++)
            v[i] = v[i] == col->marks[m] ? (double)NAN : v[i];
    }
    if (rc == 0)
        rc = recode(t, col, v, place, &o, codes, err);
    if (rc == 0)
        memcpy(col->codes, codes, (size_t)place * sizeof(*codes));
    col->mode = COL_TEXT;
    mem_free(col->odd);
    mem_free(col->odd_at);
    col->odd = NULL;
    col->odd_at = NULL;
    col->odd_bytes = col->odd_cap = 0;
    mem_free(v);
    mem_free(codes);
    return rc;
}
