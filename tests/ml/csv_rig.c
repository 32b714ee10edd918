/* csv_rig.c - see csv_rig.h. */
#include "tests/ml/csv_rig.h"

#include "ml/read/read.h"

#include <unistd.h>

long text_source_read(void *ctx, void *out, size_t n, struct err *err)
{
    struct text_source *s = ctx;
    size_t left = s->n - s->at, part = left < n ? left : n;

    (void)err;
    if (s->step && part > s->step)
        part = s->step;
    memcpy(out, s->text + s->at, part);
    s->at += part;
    return (long)part;
}

static const char *next_path(void)
{
    static char path[512];
    static int count;
    char name[40];

    (void)snprintf(name, sizeof(name), "csv-%ld-%d.frame", (long)getpid(), count++);
    return test_path(path, sizeof(path), name);
}

static int convert(const char *text, size_t n, size_t step, const struct csv_opts *opts,
                   const char *path, char hash[SHA256_HEX], struct err *err)
{
    struct text_source s = { text, n, 0, step };
    struct csv_opts o = opts ? *opts : (struct csv_opts){ 0 };

    o.name = "t.csv";
    return csv_to_frame(text_source_read, &s, &o, path, hash, err);
}

struct frame *csv_frame_n(const char *text, size_t n, size_t step, const struct csv_opts *opts,
                          char hash[SHA256_HEX])
{
    struct err err = { 0 };
    const char *path = next_path();
    struct frame *f = NULL;

    if (convert(text, n, step, opts, path, hash, &err) < 0)
        fail_msg("%s", err.text);
    f = frame_open(path, &err);
    if (!f)
        fail_msg("%s", err.text);
    unlink(path);
    return f;
}

struct frame *csv_frame(const char *text, const struct csv_opts *opts)
{
    char hash[SHA256_HEX];

    return csv_frame_n(text, strlen(text), 0, opts, hash);
}

int csv_try(const char *text, size_t n, size_t step, const struct csv_opts *opts, struct err *err)
{
    const char *path = next_path();
    char hash[SHA256_HEX];
    int rc = convert(text, n, step, opts, path, hash, err);

    if (rc < 0)
        assert_int_equal(access(path, F_OK), -1);
    else
        unlink(path);
    return rc;
}

int table_try(const char *text, size_t n, struct err *err)
{
    const char *path = next_path();
    struct text_source s = { text, n, 0, 0 };
    struct csv_opts o = { .name = "t.csv" };
    char hash[SHA256_HEX];
    int rc = table_to_frame(text_source_read, &s, &o, path, hash, err);

    if (rc < 0)
        assert_int_equal(access(path, F_OK), -1);
    else
        unlink(path);
    return rc;
}

double cell_number(const struct frame *f, const char *col, int64_t row)
{
    double v = 0;
    int c = frame_find(f, col);

    assert_true(c >= 0 && f->cols[c].type == FRAME_NUMERIC);
    frame_numbers(f, c, row, 1, &v);
    return v;
}

const char *cell_text(const struct frame *f, const char *col, int64_t row)
{
    int32_t code = 0;
    int c = frame_find(f, col);

    assert_true(c >= 0 && f->cols[c].type == FRAME_CATEGORICAL);
    frame_codes(f, c, row, 1, &code);
    return code < 0 ? "" : f->cols[c].levels[code];
}
