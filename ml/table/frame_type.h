/* frame_type.h - the type of a column, which the file format (frame_file.h) and the open table (frame.h) share. */
#ifndef ML_TABLE_FRAME_TYPE_H
#define ML_TABLE_FRAME_TYPE_H

/* The numbers are written into frame files: they must not change. */
enum frame_type {
    FRAME_NUMERIC,
    FRAME_CATEGORICAL,
    FRAME_IGNORED /* kept out of training; the column's values are not stored */
};

#endif
