/* fuzz_tables.c - any bytes as a table that is no CSV: Parquet, Arrow and JSON lines. One clear error and no file, or a frame
 * whose cells can be read and whose hash does not depend on how the bytes arrived. The first byte chooses read size and options.
 * covers: ml/read/columnar/parquet.c ml/read/columnar/arrow.c ml/read/jsonl.c ml/read/typed.c */
#include "tests/fuzz/feed.h"

#include "base/mem.h"
#include "base/utf8.h"
#include "ml/read/read.h"
#include "ml/table/frame.h"

#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    feed_init("tables");
    return 0;
}

static void check_frame(void)
{
    struct err err = { 0 };
    struct frame *f = frame_open(path, &err);

    CHECK(f && f->rows >= 1 && f->n_cols >= 1);
    int64_t n = f->rows < 4096 ? f->rows : 4096;
    double *x = mem_array((size_t)n, sizeof(*x));
    int32_t *code = mem_array((size_t)n, sizeof(*code));
    for (int c = 0; c < f->n_cols && c < 100; c++) {
        CHECK(frame_find(f, f->cols[c].name) == c);
        if (f->cols[c].type == FRAME_NUMERIC)
            frame_numbers(f, c, f->rows - n, n, x);
        if (f->cols[c].type == FRAME_CATEGORICAL)
            frame_codes(f, c, f->rows - n, n, code);
    }
    mem_free(x);
    mem_free(code);
    frame_close(f);
}

static int convert(const uint8_t *data, size_t size, size_t step, const struct csv_opts *opts,
                   char hash[SHA256_HEX])
{
    struct source s = { data, size, 0, step };
    struct err err = { 0 };
    int rc = table_to_frame(source_read, &s, opts, path, hash, &err);

    if (rc < 0) {
        CHECK(err.code != ERR_NONE && err.text[0] && utf8_ok(err.text, strlen(err.text)));
        CHECK(access(path, F_OK) < 0);
    }
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct csv_override over[] = { { .name = "a", .type = FRAME_CATEGORICAL },
                                                { .name = "b", .type = FRAME_NUMERIC },
                                                { .name = "c", .type = FRAME_IGNORED } };
    char one[SHA256_HEX] = "", two[SHA256_HEX] = "";

    if (size < 9 || table_is_csv(data + 1, (long)(size - 1)))
        return 0;
    struct csv_opts opts = { .name = "fuzz", .overrides = over, .max_bytes = 256 << 20 };
    opts.n_overrides = data[0] & 3;
    opts.overrides_optional = (data[0] & 4) != 0;
    opts.most_rows = data[0] & 8 ? 100 : 100000;
    int rc = convert(data + 1, size - 1, size, &opts, one);
    if (rc == 0)
        check_frame();
    unlink(path);
    CHECK(convert(data + 1, size - 1, 1 + (data[0] >> 4) * 7, &opts, two) == rc);
    CHECK(strcmp(one, two) == 0);
    unlink(path);
    return 0;
}
