/* buf.h - growing bytes with a ceiling. A buffer must be given its maximum at init; going past it fails
 * with ERR_TOOBIG and leaves the content as it was. data is NUL-terminated after every add. */
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
    char *data; /* NULL while empty and never grown */
    size_t len, cap, max;
    buf_sink_fn *sink; /* NULL = keeps all */
    void *sink_ctx;
    size_t passed; /* on to the sink, no longer in data */
};

void buf_init(struct buf *b, size_t max);
/* Long output in little memory: passes on what it holds whenever that is much, so only for writers who never look back at
 * data or len. max counts all bytes. End with buf_flush, which passes on the rest. */
void buf_init_sink(struct buf *b, size_t max, buf_sink_fn *sink, void *ctx);
int buf_flush(struct buf *b, struct err *err);
void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */
/* Room for n more bytes at once: large ones that grow are copied, and leave holes. */
int buf_reserve(struct buf *b, size_t n, struct err *err);
int buf_add(struct buf *b, const void *p, size_t n, struct err *err);
int buf_adds(struct buf *b, const char *s, struct err *err);
int buf_addf(struct buf *b, struct err *err, const char *fmt, ...) PRINTF_LIKE(3, 4);
char *buf_take(struct buf *b,
               size_t *len); /* caller frees with mem_free; the buffer becomes empty */

/* Little-endian binary fields, the way of every file format of ours. */
int buf_put_u8(struct buf *b, uint8_t v, struct err *err);
int buf_put_u32(struct buf *b, uint32_t v, struct err *err);
int buf_put_u64(struct buf *b, uint64_t v, struct err *err);
int buf_put_f32(struct buf *b, float v, struct err *err);
int buf_put_f64(struct buf *b, double v, struct err *err);
int buf_put_str(struct buf *b, const char *s, struct err *err); /* u32 length, bytes */

/* A bounds-checked reader over borrowed bytes; every get past the end fails with ERR_ARG. */
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
int view_str(struct view *v, char **out, size_t max,
             struct err *err); /* heap, NUL-terminated; embedded NUL is an error */

#ifdef __cplusplus
}
#endif
#endif
