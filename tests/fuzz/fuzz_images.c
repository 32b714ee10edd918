/* fuzz_images.c - any bytes as images (idx, .npy, tar, PNG, JPEG): one clear error and no file, or a frame that passes its
 * own check, whose hash does not depend on how the bytes arrived. The first byte chooses the size of reads, and whether the
 * stream may be cut.
 * covers: ml/read/images.c ml/read/array.c ml/read/tar.c ml/read/image_out.c ml/read/feed.c ml/read/picture.c */
#include "tests/fuzz/feed.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "ml/read/read.h"
#include "ml/table/frame.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    feed_init("images");
    return 0;
}

static void check(const struct frame *f)
{
    double x[64];
    int64_t n = f->rows < 64 ? f->rows : 64;

    if (f->image.height < 1 || f->image.first + frame_image_values(&f->image) > f->n_cols)
        abort();
    for (int i = 0; i < frame_image_values(&f->image); i += 97)
        frame_numbers(f, f->image.first + i, f->rows - n, n, x);
    char *schema = frame_schema_json(f);
    if (!schema)
        abort();
    mem_free(schema);
}

static int run(const uint8_t *data, size_t size, size_t step, bool may_be_cut,
               char hash[SHA256_HEX])
{
    struct source s = { data, size, 0, step };
    const struct csv_opts opts = { .name = "x", .max_bytes = 64 << 20, .may_be_cut = may_be_cut };
    struct err err = { 0 };

    if (table_to_frame(source_read, &s, &opts, path, hash, &err) < 0) {
        if (err.text[0] == '\0' || !utf8_ok(err.text, strlen(err.text)) || access(path, F_OK) == 0)
            abort();
        return -1;
    }
    struct frame *f = frame_open(path, &err);
    if (!f)
        abort();
    if (f->image.height)
        check(f);
    frame_close(f);
    unlink(path);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char a[SHA256_HEX] = "", b[SHA256_HEX] = "";

    if (size < 1 || size > 1 << 16)
        return 0;
    bool cut = data[0] & 1;
    size_t step = (size_t)(data[0] >> 1) + 1;
    int whole = run(data + 1, size - 1, SIZE_MAX, cut, a);
    if (run(data + 1, size - 1, step, cut, b) != whole || strcmp(a, b) != 0)
        abort();
    return 0;
}
