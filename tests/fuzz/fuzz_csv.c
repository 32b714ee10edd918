/* fuzz_csv.c - any bytes as CSV: one clear error and no file, or a frame that passes its own check, whose hash and cells do
 * not depend on how the bytes arrived or on the instructions that read them. The first three bytes choose options and read size.
 * covers: ml/cells/form.c ml/cells/date.c ml/cells/words.c ml/cells/judge.c ml/cells/judge_numbers.c ml/cells/measure.c ml/cells/judge_measures.c ml/cells/judge_dates.c ml/cells/judge_shape.c
 * covers: ml/read/csv_end.c ml/read/csv.c ml/read/csv_scan.c ml/cells/csv_num.c ml/read/csv_col.c ml/read/csv_table.c ml/read/csv_retype.c ml/read/csv_dict.c ml/read/csv_dialect.c ml/read/csv_wide.c ml/read/csv_seen.c */
#include "tests/fuzz/feed.h"

#include "base/mem.h"
#include "base/simd.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/read/csv.h"
#include "ml/read/csv_scan.h"
#include "ml/table/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    feed_init("csv");
    return 0;
}

static void check_col(const struct frame *f, int c, double *x, int32_t *code)
{
    const struct frame_col *col = &f->cols[c];
    int64_t missing = 0;

    CHECK(utf8_ok(col->name, strlen(col->name)));
    if (col->type == FRAME_IGNORED)
        return;
    if (col->type == FRAME_NUMERIC)
        frame_numbers(f, c, 0, f->rows, x);
    else
        frame_codes(f, c, 0, f->rows, code);
    for (int64_t i = 0; i < f->rows; i++) {
        if (col->type == FRAME_NUMERIC) {
            missing += isnan(x[i]);
            CHECK(isnan(x[i]) || isinf(x[i]) || (x[i] >= col->min && x[i] <= col->max));
        } else {
            missing += code[i] < 0;
            CHECK(code[i] >= -1 && code[i] < col->n_levels);
        }
    }
    CHECK(missing == col->missing);
    for (int l = 0; l < col->n_levels; l++)
        CHECK(utf8_ok(col->levels[l], strlen(col->levels[l])));
}

static void check_frame(void)
{
    struct err err = { 0 };
    struct frame *f = frame_open(path, &err);

    CHECK(f && f->rows >= 1 && f->n_cols >= 1);
    double *x = mem_array((size_t)f->rows, sizeof(*x));
    int32_t *code = mem_array((size_t)f->rows, sizeof(*code));
    for (int c = 0; c < f->n_cols; c++) {
        CHECK(frame_find(f, f->cols[c].name) == c);
        check_col(f, c, x, code);
    }
    mem_free(frame_schema_json(f));
    mem_free(x);
    mem_free(code);
    frame_close(f);
}

static int convert(const uint8_t *data, size_t size, size_t step, const struct csv_opts *opts,
                   char hash[SHA256_HEX])
{
    struct source s = { data, size, 0, step };
    struct err err = { 0 };
    int rc = csv_to_frame(source_read, &s, opts, path, hash, &err);

    if (rc < 0) {
        CHECK(err.code != ERR_NONE && err.text[0] && utf8_ok(err.text, strlen(err.text)));
        CHECK(access(path, F_OK) < 0);
    }
    return rc;
}

/* The fast and the portable masks see the same text the same way. */
static void check_scans(const uint8_t *data, size_t n, char delimiter)
{
    uint8_t *text = mem_zalloc(n + CSV_SCAN_STEP);
    struct csv_scan one = { .ends = mem_array(n + CSV_SCAN_STEP, 4), .cap_ends = n };
    struct csv_scan two = { .ends = mem_array(n + CSV_SCAN_STEP, 4), .cap_ends = n };

    memcpy(text, data, n);
    csv_scan(&one, text, n, delimiter);
    csv_scan_portable(&two, text, n, delimiter);
    CHECK(one.n_ends == two.n_ends && one.n_lines == two.n_lines && one.in_quotes == two.in_quotes);
    CHECK(one.fault == two.fault && one.fault_at == two.fault_at &&
          one.has_escapes == two.has_escapes);
    CHECK(memcmp(one.ends, two.ends, one.n_ends * 4) == 0);
    mem_free(one.ends);
    mem_free(two.ends);
    mem_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char delimiters[] = { 0, 0, ',', ';', '\t', '|' };
    static const struct csv_override over[] = { { .name = "a", .type = FRAME_CATEGORICAL },
                                                { .name = "b", .type = FRAME_NUMERIC },
                                                { .name = "c", .type = FRAME_IGNORED } };
    static const struct csv_override kinds[] = {
        { .name = "a", .type = FRAME_NUMERIC, .kind = FRAME_DATE },
        { .name = "b", .type = FRAME_NUMERIC, .note = "{\"decimal\":\",\",\"magnitudes\":true}" },
        { .name = "c", .type = FRAME_CATEGORICAL, .kind = FRAME_LIST }
    };
    static const struct csv_override amounts[] = {
        { .name = "a", .type = FRAME_NUMERIC, .note = "{\"measure\":\"time\"}" },
        { .name = "b",
          .type = FRAME_NUMERIC,
          .note = "{\"measure\":\"length\",\"decimal\":\",\"}" },
        { .name = "c", .type = FRAME_NUMERIC }
    };
    char one[SHA256_HEX] = "", two[SHA256_HEX] = "";

    if (size < 3)
        return 0;
    struct csv_opts opts = { .name = "fuzz.csv",
                             .overrides = data[1] & 64   ? amounts
                                          : data[1] & 32 ? kinds
                                                         : over };
    opts.delimiter = delimiters[(data[0] & 15) % sizeof(delimiters)];
    opts.header = (enum csv_header)((data[0] >> 4) % 3);
    opts.n_overrides = data[1] & 3;
    opts.overrides_optional = (data[1] & 4) != 0;
    opts.max_bytes = data[1] & 8 ? 2 << 20 : 0;
    opts.chunk_rows = data[1] & 16 ? 0 : 32;
    check_scans(data + 3, size - 3, opts.delimiter ? opts.delimiter : ',');
    size_t step = data[2] ? data[2] : size;
    int rc = convert(data + 3, size - 3, size, &opts, one);
    if (rc == 0)
        check_frame();
    unlink(path);
    simd_force(SIMD_PLAIN);
    CHECK(convert(data + 3, size - 3, step, &opts, two) == rc);
    simd_force(simd_best());
    CHECK(strcmp(one, two) == 0);
    unlink(path);
    return 0;
}
