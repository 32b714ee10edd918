/* test_buf.c - the buffer never passes its ceiling, a failed add changes nothing, and the reader never
 * reads past the end. */
#include "tests/unit.h"

#include "base/buf.h"
#include "base/fault.h"
#include "base/mem.h"
#include "base/rng.h"

static void adding_up_to_the_ceiling_works_and_one_more_fails(void **state)
{
    struct buf b;
    struct err err = { 0 };

    (void)state;
    buf_init(&b, 10);
    assert_int_equal(buf_adds(&b, "0123456789", &err), 0);
    assert_int_equal(buf_adds(&b, "x", &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_string_equal(b.data, "0123456789");
    assert_int_equal(b.len, 10);
    buf_clear(&b);
    assert_string_equal(b.data, "");
    assert_int_equal(buf_addf(&b, &err, "%011d", 5), -1);
    assert_int_equal(b.len, 0);
    buf_fini(&b);
    buf_fini(&b);
}

static void content_is_always_terminated(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 100000);
    for (int i = 0; i < 3000; i++) {
        assert_int_equal(buf_addf(&b, NULL, "%d,", i), 0);
        assert_int_equal(b.data[b.len], 0);
    }
    assert_int_equal(strlen(b.data), b.len);
    buf_fini(&b);
}

static void a_long_format_is_not_cut(void **state)
{
    struct buf b;

    (void)state;
    buf_init(&b, 10000);
    assert_int_equal(buf_addf(&b, NULL, "%2000d|", 7), 0);
    assert_int_equal(b.len, 2001);
    assert_int_equal(b.data[2000], '|');
    buf_fini(&b);
}

static void take_empties_the_buffer(void **state)
{
    struct buf b;
    size_t n = 99;
    char *s = NULL;

    (void)state;
    buf_init(&b, 100);
    s = buf_take(&b, &n);
    assert_string_equal(s, "");
    assert_int_equal(n, 0);
    mem_free(s);
    buf_adds(&b, "abc", NULL);
    s = buf_take(&b, &n);
    assert_string_equal(s, "abc");
    assert_int_equal(n, 3);
    assert_null(b.data);
    assert_int_equal(b.max, 100);
    mem_free(s);
}

static void running_out_of_memory_leaves_the_content(void **state)
{
    struct buf b;
    struct err err = { 0 };

    (void)state;
    buf_init(&b, 1000);
    buf_adds(&b, "kept", NULL);
    fault_arm_name("buf.grow", 1, false);
    assert_int_equal(buf_addf(&b, &err, "%500d", 1), -1);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(err.code, ERR_NOMEM);
    assert_string_equal(b.data, "kept");
    buf_fini(&b);
}

static void fields_come_back_as_they_went_in(void **state)
{
    static const uint8_t want[] = { 0x07, 0x04, 0x03, 0x02, 0x01, 0x08, 0x07, 0x06, 0x05,
                                    0x04, 0x03, 0x02, 0x01, 0,    0,    0x80, 0x3f };
    struct buf b;
    struct view v = { 0 };
    uint8_t u8 = 0;
    uint32_t u32 = 0;
    uint64_t u64 = 0;
    float f32 = 0;
    double f64 = 0;
    char *s = NULL;

    (void)state;
    buf_init(&b, 1000);
    buf_put_u8(&b, 7, NULL);
    buf_put_u32(&b, 0x01020304, NULL);
    buf_put_u64(&b, 0x0102030405060708, NULL);
    buf_put_f32(&b, 1.0f, NULL);
    assert_memory_equal(b.data, want, sizeof want); /* little-endian on every machine */
    buf_put_f64(&b, -0.1, NULL);
    buf_put_str(&b, "h\xc3\xa9", NULL);
    v = (struct view){ (const uint8_t *)b.data, b.len, 0 };
    assert_int_equal(view_u8(&v, &u8, NULL), 0);
    assert_int_equal(view_u32(&v, &u32, NULL), 0);
    assert_int_equal(view_u64(&v, &u64, NULL), 0);
    assert_int_equal(view_f32(&v, &f32, NULL), 0);
    assert_int_equal(view_f64(&v, &f64, NULL), 0);
    assert_int_equal(view_str(&v, &s, 10, NULL), 0);
    assert_true(u8 == 7 && u32 == 0x01020304 && u64 == 0x0102030405060708 && f32 == 1 &&
                f64 == -0.1);
    assert_string_equal(s, "h\xc3\xa9");
    assert_int_equal(v.pos, v.len);
    mem_free(s);
    buf_fini(&b);
}

static void every_truncation_is_an_error_and_moves_nothing(void **state)
{
    struct buf b;
    struct err err = { 0 };
    uint64_t u64 = 0;
    char *s = NULL;

    (void)state;
    buf_init(&b, 1000);
    buf_put_str(&b, "text", NULL);
    for (size_t n = 0; n < b.len; n++) {
        struct view v = { (const uint8_t *)b.data, n, 0 };

        assert_int_equal(view_str(&v, &s, 10, &err), -1);
        assert_int_equal(err.code, ERR_ARG);
        assert_int_equal(v.pos, 0);
        if (n < 8)
            assert_int_equal(view_u64(&v, &u64, &err), -1);
    }
    buf_fini(&b);
}

static void a_text_too_long_or_with_a_nul_is_refused(void **state)
{
    const uint8_t huge[] = { 0xff, 0xff, 0xff, 0xff, 'a' }, nul[] = { 3, 0, 0, 0, 'a', 0, 'b' };
    struct view v = { huge, sizeof huge, 0 };
    char *s = NULL;

    (void)state;
    assert_int_equal(view_str(&v, &s, 1000, NULL), -1);
    assert_int_equal(view_str(&v, &s, SIZE_MAX, NULL), -1);
    v = (struct view){ nul, sizeof nul, 0 };
    assert_int_equal(view_str(&v, &s, 10, NULL), -1);
    assert_null(s);
}

static void random_bytes_never_crash_the_reader(void **state)
{
    struct rng r;

    (void)state;
    rng_init(&r, test_seed(), 2);
    for (int i = 0; i < 2000; i++) {
        uint8_t bytes[64];
        struct view v = { bytes, rng_below(&r, 64), 0 };
        uint32_t u = 0;
        double d = 0;
        char *s = NULL;

        for (size_t k = 0; k < sizeof bytes; k++)
            bytes[k] = (uint8_t)(rng_below(&r, 4) ? rng_below(&r, 8) : rng_u32(&r));
        while (view_str(&v, &s, 32, NULL) == 0) {
            mem_free(s);
            if (view_u32(&v, &u, NULL) < 0 || view_f64(&v, &d, NULL) < 0)
                break;
        }
        assert_true(v.pos <= v.len);
    }
}

struct kept {
    struct buf all;
    size_t most;
    bool is_full;
};

static int keep(void *ctx, const void *p, size_t n, struct err *err)
{
    struct kept *k = ctx;

    if (k->is_full)
        return err_set(err, ERR_FULL, "no more");
    k->most = MAX(k->most, n);
    return buf_add(&k->all, p, n, err);
}

static void a_sink_gets_all_bytes_in_order_and_the_buffer_stays_small(void **state)
{
    struct kept k = { .most = 0 };
    struct buf b, same;
    struct rng r;
    struct err err = { 0 };

    (void)state;
    rng_init(&r, test_seed(), 3);
    buf_init(&k.all, 8 << 20);
    buf_init(&same, 8 << 20);
    buf_init_sink(&b, 2 << 20, keep, &k);
    for (int i = 0; i < 12000; i++) {
        uint8_t bytes[500];
        size_t n = rng_below(&r, sizeof bytes);

        memset(bytes, (int)rng_below(&r, 256), sizeof bytes);
        int rc = buf_add(&b, bytes, n, &err);
        assert_int_equal(rc, same.len + n > 2 << 20 ? -1 : 0);
        if (rc == 0)
            assert_int_equal(buf_add(&same, bytes, n, NULL), 0);
    }
    assert_true(same.len > (2 << 20) - 500 && b.cap < 200 << 10);
    k.is_full = true;
    assert_int_equal(buf_flush(&b, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    k.is_full = false;
    assert_int_equal(buf_flush(&b, &err), 0);
    assert_int_equal(k.all.len, same.len);
    assert_memory_equal(k.all.data, same.data, same.len);
    assert_true(k.most < 100 << 10);
    buf_fini(&b);
    buf_fini(&same);
    buf_fini(&k.all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_up_to_the_ceiling_works_and_one_more_fails),
        cmocka_unit_test(content_is_always_terminated),
        cmocka_unit_test(a_long_format_is_not_cut),
        cmocka_unit_test(take_empties_the_buffer),
        cmocka_unit_test(running_out_of_memory_leaves_the_content),
        cmocka_unit_test(fields_come_back_as_they_went_in),
        cmocka_unit_test(every_truncation_is_an_error_and_moves_nothing),
        cmocka_unit_test(a_text_too_long_or_with_a_nul_is_refused),
        cmocka_unit_test(a_sink_gets_all_bytes_in_order_and_the_buffer_stays_small),
        cmocka_unit_test(random_bytes_never_crash_the_reader),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
