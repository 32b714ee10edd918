/* frame_file.h - private: how a frame lies in its file, and the pieces that write one. Included by
 * frame*.c and csv*.c.
 *
 * Little-endian, every table 8-aligned, written front to back so that it can be hashed on the way:
 *   header of 64 bytes (magic, version)
 *   chunks of all columns, in the order in which they were finished
 *   for each column: its name, its chunk table, its level offsets, level texts and code map
 *   column records
 *   trailer of 64 bytes
 * A column is cut into chunks of chunk_rows rows (the last one shorter); each chunk has the
 * narrowest type that holds its values exactly. A chunk table entry is the chunk's offset with its
 * type in the low 3 bits. Missing: the lowest integer, NaN, or the highest code. Codes are numbered
 * as they first appeared; the code map turns them into level indices. */
#ifndef ML_TABLE_FRAME_FILE_H
#define ML_TABLE_FRAME_FILE_H

#include "base/err.h"
#include "base/sha256.h"
#include "ml/table/frame_type.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FRAME_MAGIC        "ASSAYFRM"
#define FRAME_CODE_MISSING UINT32_MAX
#define FRAME_INT_MISSING  INT32_MIN
enum {
    FRAME_VERSION = 1,
    /* tables of images: numeric chunks may be FC_U8, and the trailer has the images' shape */
    FRAME_VERSION_IMAGES = 2,
    FRAME_CHUNK_ROWS = 65536,
    FRAME_MIN_CHUNK_ROWS = 32,
    FRAME_DISTINCT_CAP = 4096
};
enum { FRAME_EDGE_BYTES = 64, FRAME_MAX_COLS = 1 << 20, FRAME_MAX_TEXT = (1 << 20) + 1 };

enum frame_chunk { FC_I8, FC_I16, FC_I32, FC_F32, FC_F64, FC_U8, FC_U16, FC_U32 };
static inline int64_t frame_chunk_width(enum frame_chunk t)
{
    static const int8_t width[8] = { 1, 2, 4, 4, 8, 1, 2, 4 };
    return width[t];
}

struct frame_trailer {
    char magic[8];
    uint32_t version, n_cols;
    uint64_t rows;
    uint32_t chunk_rows, zero;
    uint64_t cols_at, file_bytes;
    /* zero where there are no images */
    uint32_t image_first, image_channels, image_height, image_width;
};

/* The record of a column. */
struct frame_rec {
    /* the name with its NUL; where there is a note, it follows with a NUL of its own */
    uint64_t name_at;
    /* without its NUL */
    uint32_t name_bytes;
    /* frame_rec_type and its like take it apart: type in the low 8 bits, kind in the next 8, bytes
     * of the note in the high 16. Plain columns without a note keep the bytes of frames that older
     * programs wrote. */
    uint32_t what;
    int64_t missing, distinct;
    double min, max, mean;
    /* n u64 entries */
    uint64_t chunks_at;
    /* n_levels + 1 u64 offsets of texts, which lie one after another, each with its NUL */
    uint64_t levels_at;
    uint64_t map_at; /* n_levels u32: stored code -> level index */
    uint32_t n_levels;
    /* as in frame.h; UINT32_MAX = so many or more */
    uint32_t not_numbers;
};

static inline enum frame_type frame_rec_type(const struct frame_rec *r)
{
    return (enum frame_type)(r->what & 255);
}
static inline enum frame_kind frame_rec_kind(const struct frame_rec *r)
{
    return (enum frame_kind)(r->what >> 8 & 255);
}
static inline uint32_t frame_rec_note(const struct frame_rec *r)
{
    return r->what >> 16;
}

/* ---- statistics of one column while it is written ---- */
struct frame_stats {
    int64_t rows, missing;
    /* over finite values, in row order */
    double min, max, sum;
    int64_t finite;
    /* the distinct values seen, until there are FRAME_DISTINCT_CAP of them */
    uint64_t *set;
    uint32_t set_cap;
    /* they are counted later: `distinct` is 0, and no set is kept */
    bool is_late;
    int64_t distinct;
    int64_t not_numbers;
};
void frame_stats_init(struct frame_stats *s);
void frame_stats_fini(struct frame_stats *s);
/* For tables of very many columns, whose sets would be large together: from now on no distinct
 * values are counted, until all values are given to frame_stats_distinct, chunk by chunk. */
void frame_stats_defer(struct frame_stats *s);
void frame_stats_distinct(struct frame_stats *s, const double *v, int64_t n);
void frame_stats_numbers(struct frame_stats *s, const double *v, int64_t n);
/* FRAME_INT_MISSING = missing */
void frame_stats_ints(struct frame_stats *s, const int32_t *v, int64_t n);

/* Packing: into `out` of at least n * 8 bytes. Returns the number of bytes used. */
int64_t frame_pack_numbers(const double *v, int64_t n, void *out, enum frame_chunk *type);
int64_t frame_pack_ints(const int32_t *v, int64_t n, void *out, enum frame_chunk *type);
int64_t frame_pack_codes(const uint32_t *v, int64_t n, void *out, enum frame_chunk *type);
void frame_unpack_numbers(const void *data, enum frame_chunk type, int64_t n, double *out);
/* out[i] = the number at place rows[i] - rows[0] of data. */
void frame_pick_numbers(const void *data, enum frame_chunk type, const int64_t *rows, int64_t n,
                        double *out);
/* Codes past n_map read as missing, because the file may come from a stranger. */
void frame_unpack_codes(const void *data, enum frame_chunk type, int64_t n, const uint32_t *map,
                        uint32_t n_map, int32_t *out);

/* ---- the file being written ---- */
struct frame_out;
struct frame_out *frame_out_new(const char *path, struct err *err); /* writes aside */
/* The same for a table of images. Their shape is written at the end: until then frame_out_shape may
 * change the first column. */
struct frame_out *frame_out_images(const char *path, const struct frame_image *image,
                                   struct err *err);
void frame_out_shape(struct frame_out *o, const struct frame_image *image);
void frame_out_abort(struct frame_out *o);
int frame_out_chunk(struct frame_out *o, enum frame_chunk type, const void *data, int64_t bytes,
                    uint64_t *entry, struct err *err);
/* Reads a chunk back: a column that turns out to be text late is packed anew. Its old chunk stays
 * in the file as a hole. */
int frame_out_read(struct frame_out *o, uint64_t entry, void *out, int64_t bytes, struct err *err);
/* The levels of a column in order of first appearance. */
struct frame_levels {
    int64_t n;
    const char *text;        /* texts one after the other, each with its NUL */
    const uint64_t *text_at; /* [n] */
    const int64_t *count;    /* [n] rows of each */
};
/* order[n]: the codes, most frequent first, then by text. */
int frame_levels_order(const struct frame_levels *l, uint32_t *order, struct err *err);
/* The kind and the note (NULL = none) of the column that is added next. */
void frame_out_kind(struct frame_out *o, enum frame_kind kind, const char *note);
/* Columns are added in their final order. levels: only for a categorical column. */
int frame_out_col(struct frame_out *o, const char *name, enum frame_type type,
                  const struct frame_stats *stats, const uint64_t *chunks, int64_t n_chunks,
                  const struct frame_levels *levels, struct err *err);
/* frees o */
int frame_out_end(struct frame_out *o, int64_t rows, int64_t chunk_rows, char hash[SHA256_HEX],
                  struct err *err);
int64_t frame_out_bytes(const struct frame_out *o); /* so far */

/* Checks everything in a mapped file that reading relies on, and fills in the trailer. */
int frame_check(const uint8_t *data, uint64_t size, struct frame_trailer *t, struct err *err);

#endif
