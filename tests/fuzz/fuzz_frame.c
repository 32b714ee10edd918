/* fuzz_frame.c - any bytes as a frame file: refused with one clear error, or every cell, level and statistic can be read.
 * covers: ml/table/frame_check.c ml/table/frame.c ml/table/frame_schema.c */
#include "base/err.h"
#include "base/mem.h"
#include "ml/table/frame.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROWS = 256 };

static void read_all(const struct frame *f)
{
    double x[ROWS];
    int32_t code[ROWS];
    int64_t last = f->rows > ROWS ? f->rows - ROWS : 0, n = f->rows - last;

    for (int c = 0; c < f->n_cols; c++) {
        const struct frame_col *col = &f->cols[c];
        size_t bytes = 0;
        for (int l = 0; l < col->n_levels; l++)
            bytes += strlen(col->levels[l]);
        CHECK(bytes < 1 << 28 && frame_find(f, col->name) == c);
        if (col->type == FRAME_NUMERIC) {
            frame_numbers(f, c, 0, n, x);
            frame_numbers(f, c, last, n, x);
        } else if (col->type == FRAME_CATEGORICAL) {
            frame_codes(f, c, 0, n, code);
            frame_codes(f, c, last, n, code);
            for (int64_t i = 0; i < n; i++)
                CHECK(code[i] >= -1 && code[i] < col->n_levels);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { 0 };
    char path[40];
    int fd = memfd_create("frame", MFD_CLOEXEC);

    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    struct frame *f = frame_open(path, &err);
    if (f) {
        read_all(f);
        mem_free(frame_schema_json(f));
    } else {
        CHECK(err.code != ERR_NONE && err.text[0]);
    }
    frame_close(f);
    close(fd);
    return 0;
}
