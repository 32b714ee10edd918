/* test_11_25_gzip.c - JSON answers went out as they were made: 121 MB to open a study of 100,000 trials. They are compressed
 * for clients that take it, long ones on the pool, where the client may leave before they are done. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#define GZIP  "Accept-Encoding: gzip, br\r\n"
#define BOARD "/api/v1/studies/a/leaderboard?limit=%d"

static struct web_rig *rig_with_pool(void)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);

    rig->ctl->rows = 1000;
    loop_pool_start(rig->loop, 1);
    return rig;
}

static char *unpacked(const struct web_reply *r, size_t *len)
{
    size_t room = 64 << 20;
    char *out = mem_alloc(room);
    z_stream z = { .next_in = (Bytef *)r->body, .avail_in = (uInt)r->len };

    assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
    z.next_out = (Bytef *)out;
    z.avail_out = (uInt)room;
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    *len = room - z.avail_out;
    inflateEnd(&z);
    return out;
}

static void long_answers_shrink_for_those_who_take_it(void **state)
{
    static const int sizes[] = { 30, 1000 }; /* here, and on the pool */
    struct web_rig *rig = rig_with_pool();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        char path[100], *text = NULL;
        size_t len = 0;

        (void)!snprintf(path, sizeof path, BOARD, sizes[i]);
        struct web_reply plain = web_rig_call(rig, true, "GET", path, NULL, NULL);
        struct web_reply packed = web_rig_call(rig, true, "GET", path, GZIP, NULL);
        assert_null(web_reply_header(&plain, "Content-Encoding"));
        assert_string_equal(web_reply_header(&plain, "Vary"), "Accept-Encoding");
        assert_string_equal(web_reply_header(&packed, "Content-Encoding"), "gzip");
        assert_true(packed.len * 4 < plain.len);
        text = unpacked(&packed, &len);
        assert_int_equal(len, plain.len);
        assert_memory_equal(text, plain.body, len);
        mem_free(text);
        web_reply_free(&plain);
        web_reply_free(&packed);
    }
    web_rig_free(rig, fake_ctl_free);
}

static void short_answers_and_refused_gzip_stay_as_they_are(void **state)
{
    struct web_rig *rig = rig_with_pool();
    struct web_reply r = web_rig_call(rig, true, "GET", "/health", GZIP, NULL);

    (void)state;
    assert_int_equal(r.status, 200);
    assert_null(web_reply_header(&r, "Content-Encoding"));
    web_reply_free(&r);
    r = web_rig_call(rig, true, "GET", "/api/v1/studies/a/leaderboard",
                     "Accept-Encoding: gzip;q=0\r\n", NULL);
    assert_null(web_reply_header(&r, "Content-Encoding"));
    web_reply_free(&r);
    web_rig_free(rig, fake_ctl_free);
}

static void a_client_that_leaves_before_its_answer_is_packed_harms_nobody(void **state)
{
    static const char ask[] = "GET /api/v1/studies/a/leaderboard?limit=1000 HTTP/1.1\r\n"
                              "Host: localhost\r\nAccept-Encoding: gzip\r\n\r\n";
    struct web_rig *rig = rig_with_pool();
    struct web_reply r;

    (void)state;
    for (int i = 0; i < 20; i++) {
        int fd = web_rig_connect(rig, true);

        web_rig_write(rig, fd, ask, sizeof ask - 1);
        web_rig_pump(rig, i % 4);
        close(fd);
    }
    r = web_rig_call(rig, true, "GET", "/api/v1/studies/a/leaderboard?limit=1000", GZIP, NULL);
    assert_string_equal(web_reply_header(&r, "Content-Encoding"), "gzip");
    web_reply_free(&r);
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_answers_shrink_for_those_who_take_it),
        cmocka_unit_test(short_answers_and_refused_gzip_stay_as_they_are),
        cmocka_unit_test(a_client_that_leaves_before_its_answer_is_packed_harms_nobody),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
