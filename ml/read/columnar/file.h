/* file.h - a file that can be read at any place, as its caller offers it to the readers here. */
#ifndef ML_READ_COLUMNAR_FILE_H
#define ML_READ_COLUMNAR_FILE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct columnar_file {
    /* Returns how many of the n bytes there are: fewer only at the end of the file; -1 = error. */
    long (*read_at)(void *ctx, void *out, size_t n, int64_t at, struct err *err);
    void *ctx;
    int64_t bytes;
};

#endif
