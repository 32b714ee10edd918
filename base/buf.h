/* buf.h - a growing buffer of bytes with a maximum size, and a bounds-checked reader. The maximum
 * is given at init; an add that would exceed it fails with ERR_TOOBIG, and a failed add leaves the
 * content as it was. `data` has a NUL behind its last byte after every add, so text in a buffer is
 * a C string. Everything that builds JSON, files or HTTP bodies uses it. */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int buf_sink_fn(void *ctx, const void *p, size_t n, struct err *err);

struct buf {
    char *data; /* NULL until the first add */
    size_t len, cap, max;
    buf_sink_fn *sink; /* NULL: the buffer keeps all bytes */
    void *sink_ctx;
    size_t passed; /* bytes that went to the sink and are no longer in data */
};

void buf_init(struct buf *b, size_t max);
/* For long output in little memory: the buffer passes its bytes on to `sink` whenever it holds
 * about 64 KiB. So its writer must not look back at data or len. `max` counts all bytes. End with
 * buf_flush, which passes the rest on. */
void buf_init_sink(struct buf *b, size_t max, buf_sink_fn *sink, void *ctx);
int buf_flush(struct buf *b, struct err *err);
void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
/* Makes room for n more bytes at once. A large buffer that grows step by step is copied each time
 * and leaves holes in the heap, so reserve where the length is known. */
int buf_reserve(struct buf *b, size_t n, struct err *err);
int buf_add(struct buf *b, const void *p, size_t n, struct err *err);
int buf_adds(struct buf *b, const char *s, struct err *err);
int buf_addf(struct buf *b, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The bytes with their final NUL; the caller frees them with mem_free. The buffer becomes empty. */
char *buf_take(struct buf *b, size_t *len);

/* Binary fields in little-endian order, as in all of this program's file formats. */
int buf_put_u8(struct buf *b, uint8_t v, struct err *err);
int buf_put_u32(struct buf *b, uint32_t v, struct err *err);
int buf_put_u64(struct buf *b, uint64_t v, struct err *err);
int buf_put_f32(struct buf *b, float v, struct err *err);
int buf_put_f64(struct buf *b, double v, struct err *err);
int buf_put_str(struct buf *b, const char *s, struct err *err); /* u32 length, bytes */

/* A bounds-checked reader of bytes that it borrows. Reading past the end fails with ERR_ARG. */
struct view {
    const uint8_t *data;
    size_t len, pos;
};
int view_u8(struct view *v, uint8_t *out, struct err *err);
int view_u32(struct view *v, uint32_t *out, struct err *err);
int view_u64(struct view *v, uint64_t *out, struct err *err);
int view_f32(struct view *v, float *out, struct err *err);
int view_f64(struct view *v, double *out, struct err *err);
int view_bytes(struct view *v, const void **out, size_t n, struct err *err); /* borrowed */
/* Heap, with a final NUL. A text longer than max or with a NUL inside is an error. */
int view_str(struct view *v, char **out, size_t max, struct err *err);

#ifdef __cplusplus
}
#endif
#endif
