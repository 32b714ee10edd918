/* unpack.h - unpacks a stream of bytes that gzip, xz or zstd packed, told by how it begins. Memory is
 * bounded whatever the stream is. Used by gz.c. */
#ifndef BASE_UNPACK_H
#define BASE_UNPACK_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Two bytes tell, because no text begins with those of a packed stream. */
enum { UNPACK_LOOK = 2 };

struct unpack;
/* head: the first bytes of the stream, UNPACK_LOOK of them or all there are. NULL without an error
 * set = it is not packed. */
struct unpack *unpack_new(const uint8_t *head, size_t n, struct err *err);
void unpack_free(struct unpack *u);
const char *unpack_name(const struct unpack *u);
/* Unpacks from in[0 .. *n_in) into out[0 .. *n_out) and sets both to what was used and made.
 * 1 = go on, 0 = the packed part ends here, -1 = error, whose text is only what is wrong. */
int unpack_step(struct unpack *u, const uint8_t *in, size_t *n_in, uint8_t *out, size_t *n_out,
                struct err *err);
/* After an end: another packed part of the same kind may follow. */
int unpack_again(struct unpack *u, struct err *err);

#endif
