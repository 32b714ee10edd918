/* picture.h - private to the image readers: turns one PNG or JPEG file in memory into an array of
 * bytes. This is the only unit of ml/ that needs libraries (libpng, libjpeg). */
#ifndef ML_READ_PICTURE_H
#define ML_READ_PICTURE_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct picture {
    /* channels: 1 = gray, 3 = red, green and blue */
    int height, width, channels;
    /* [height][width][channels]; the caller frees it with mem_try_free */
    uint8_t *pixels;
};

/* Whether a file that begins with these n bytes is a PNG or a JPEG. */
bool picture_is(const uint8_t *head, long n);
/* channels: 1 or 3 as wanted, or 0 for as many as the file has. If 3 are wanted, a gray picture
 * gets three equal channels; if 1 is wanted, a coloured picture is an error. Transparent places
 * become black. A picture of more than most_values numbers is refused before memory is taken.
 * Errors do not name the file; the caller adds its name. */
int picture_decode(const uint8_t *bytes, size_t n, int channels, int64_t most_values,
                   struct picture *out, struct err *err);

#endif
