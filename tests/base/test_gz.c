/* test_gz.c - plain and gzipped streams read alike; damage and truncation are errors, never short data. */
#include "tests/unit.h"

#include "base/gz.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"

#include <lzma.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { CAP = 400000 };

static size_t pack(const void *in, size_t n, unsigned char *out, size_t cap)
{
    z_stream z = { 0 };

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    z.next_in = (unsigned char *)in;
    z.avail_in = (unsigned)n;
    z.next_out = out;
    z.avail_out = (unsigned)cap;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    assert_int_equal(deflateEnd(&z), Z_OK);
    return cap - z.avail_out;
}

/* Reads all of a file in pieces of up to `step`; returns the length, or -1. */
static long read_all(const char *path, char *out, size_t step, struct err *err)
{
    struct gz *g = gz_open(path, err);
    long total = 0, got = 0;

    if (!g)
        return -1;
    while ((got = gz_source(g, out + total, step, err)) > 0)
        total += got;
    assert_int_equal(gz_read(g, out, 0, err), 0);
    gz_close(g);
    return got < 0 ? -1 : total;
}

static void write_file(char path[400], const void *p, size_t n)
{
    test_path(path, 400, "x.gz");
    assert_int_equal(io_replace(path, p, n, 0600, NULL), 0);
}

static char *sample(size_t n)
{
    char *data = mem_alloc(CAP);
    struct rng r;

    rng_init(&r, test_seed(), n);
    for (size_t i = 0; i < n; i++)
        data[i] = (char)('a' + rng_below(&r, 20));
    return data;
}

static void plain_and_gzipped_content_is_the_same(void **state)
{
    static const size_t sizes[] = { 0, 1, 2, 1000, 131072, 300000 };
    static const size_t steps[] = { 1000, 70000, CAP };
    unsigned char *packed = mem_alloc(CAP);
    char *back = mem_alloc(CAP * 2), path[400];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char *data = sample(sizes[i]);
        size_t n = pack(data, sizes[i], packed, CAP);

        for (size_t k = 0; k < ARRAY_LEN(steps); k++) {
            write_file(path, data, sizes[i]);
            assert_int_equal(read_all(path, back, steps[k], NULL), sizes[i]);
            assert_memory_equal(back, data, sizes[i]);
            write_file(path, packed, n);
            memset(back, 0, CAP);
            assert_int_equal(read_all(path, back, steps[k], NULL), sizes[i]);
            assert_memory_equal(back, data, sizes[i]);
        }
        mem_free(data);
    }
    mem_free(packed);
    mem_free(back);
    unlink(path);
}

static void members_one_after_the_other_are_one_stream(void **state)
{
    unsigned char packed[4000] = { 0 };
    char back[4000], path[400];
    size_t n = pack("first ", 6, packed, 1000);

    (void)state;
    n += pack("", 0, packed + n, 1000);
    n += pack("second", 6, packed + n, 1000);
    write_file(path, packed, n + 512); /* zero padding at the end, as tape tools leave it */
    assert_int_equal(read_all(path, back, 5, NULL), 12);
    assert_memory_equal(back, "first second", 12);
    unlink(path);
}

static void every_truncation_and_garbage_is_an_error_with_its_place(void **state)
{
    unsigned char packed[2000];
    char *data = sample(600), back[4000], path[400];
    size_t n = pack(data, 600, packed, sizeof packed);
    struct err err = { 0 };

    (void)state;
    for (size_t cut = 2; cut < n; cut++) {
        write_file(path, packed, cut);
        assert_int_equal(read_all(path, back, 100, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        assert_non_null(strstr(err.text, " at byte "));
    }
    memcpy(packed + n, "garbage", 7);
    write_file(path, packed, n + 7);
    assert_int_equal(read_all(path, back, 100, &err), -1);
    packed[n / 2] ^= 0x55; /* found at the latest by the checksum */
    write_file(path, packed, n);
    assert_int_equal(read_all(path, back, 100, &err), -1);
    unlink(path);
    mem_free(data);
}

static void an_absent_file_is_not_found(void **state)
{
    struct err err = { 0 };

    (void)state;
    assert_null(gz_open("/no/such/file", &err));
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_null(gz_open("/tmp", &err));
    assert_int_equal(err.code, ERR_IO);
}

static void a_pipe_that_trickles_is_read_to_its_end(void **state)
{
    int fds[2];
    char back[10];
    struct gz *g = NULL;

    (void)state;
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "abc", 3), 3);
    g = gz_open_fd(fds[0], NULL);
    assert_non_null(g);
    assert_int_equal(gz_read(g, back, sizeof back, NULL), 3);
    assert_int_equal(write(fds[1], "d", 1), 1);
    assert_int_equal(gz_read(g, back, sizeof back, NULL), 1);
    close(fds[1]);
    assert_int_equal(gz_read(g, back, sizeof back, NULL), 0);
    gz_close(g);
    gz_close(NULL);
}

/* xz and zstd, in two parts one after the other, whole and cut short at every 97th byte. */
static void xz_and_zstd_are_unpacked_too(void **state)
{
    enum { N = 50000 };
    char *data = sample(N), *packed = mem_alloc(CAP), *out = mem_alloc(CAP), path[400];

    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct err err = { 0 };
        size_t n = 0;
        for (int part = 0; part < 2; part++) {
            const char *from = data + part * (N / 2);
            size_t made = 0;
            if (kind == 0)
                assert_int_equal(lzma_easy_buffer_encode(6, LZMA_CHECK_CRC64, NULL,
                                                         (const uint8_t *)from, N / 2,
                                                         (uint8_t *)packed + n, &made, CAP - n),
                                 LZMA_OK);
            else
                made = ZSTD_compress(packed + n, CAP - n, from, N / 2, 3);
            n += made;
        }
        write_file(path, packed, n);
        assert_int_equal(read_all(path, out, 1000, &err), N);
        assert_memory_equal(out, data, N);
        for (size_t cut = 13; cut < n / 2; cut += 97) {
            write_file(path, packed, cut);
            assert_int_equal(read_all(path, out, CAP, &err), -1);
            assert_non_null(strstr(err.text, kind == 0 ? "xz data" : "zstd data"));
        }
    }
    mem_free(data);
    mem_free(packed);
    mem_free(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_and_gzipped_content_is_the_same),
        cmocka_unit_test(members_one_after_the_other_are_one_stream),
        cmocka_unit_test(every_truncation_and_garbage_is_an_error_with_its_place),
        cmocka_unit_test(xz_and_zstd_are_unpacked_too),
        cmocka_unit_test(an_absent_file_is_not_found),
        cmocka_unit_test(a_pipe_that_trickles_is_read_to_its_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
