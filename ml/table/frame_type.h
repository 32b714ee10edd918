/* frame_type.h - the type and the kind of a column, and the shape of images, which the file format (frame_file.h)
 * and the open table (frame.h) share. */
#ifndef ML_TABLE_FRAME_TYPE_H
#define ML_TABLE_FRAME_TYPE_H

#include <stdbool.h>

/* The numbers are written into frame files: they must not change. */
enum frame_type {
    FRAME_NUMERIC,
    FRAME_CATEGORICAL,
    FRAME_IGNORED /* kept out of training; the column's values are not stored */
};

/* What a column means, beside how it is stored. The numbers are written into frame files. */
enum frame_kind {
    FRAME_PLAIN, /* a number, or a level as it is */
    FRAME_DATE,  /* numeric: seconds since 1970-01-01 00:00 UTC; may be negative or fractional */
    FRAME_TEXT,  /* categorical: each level is a text to be cut into words */
    FRAME_LIST,  /* categorical: each level is a list of items in one cell, such as "red|blue" */
    FRAME_KINDS
};

/* bytes of a column's note (frame.h) */
enum { FRAME_MAX_NOTE = 4000 };
/* A plain column of numbers of at most so many values may have the note {"spelt":["1.0","+1"]}: how
 * those numbers are written that would be written otherwise, in at most so many bytes. They are
 * labels where the column is a target of classes, and mean nothing else. */
#define FRAME_SPELT "{\"spelt\":["
enum { FRAME_SPELT_VALUES = 20, FRAME_SPELT_BYTES = 1000 };

static inline bool frame_kind_fits(enum frame_kind kind, enum frame_type type)
{
    return kind == FRAME_PLAIN || (kind == FRAME_DATE && type == FRAME_NUMERIC) ||
           ((kind == FRAME_TEXT || kind == FRAME_LIST) && type == FRAME_CATEGORICAL);
}

/* A table of images: its columns first .. first + height * width * channels - 1 are numeric and
 * hold one image a row, from the top line down, each line from left to right, the channels of a
 * pixel side by side. height 0: it has no images. */
enum { FRAME_MAX_CHANNELS = 16 };
struct frame_image {
    int first, height, width, channels;
    bool is_bytes; /* all values are whole numbers from 0 to 255 */
};
static inline int frame_image_values(const struct frame_image *m)
{
    return m->height * m->width * m->channels;
}

#endif
