/* test_11_2_silent_readers.c - an event stream whose client reads nothing held 866 kB of the controller, where
 * 256 kB are promised, and the memory stayed when the clients had left. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include "base/base.h"
#include "web/request/req.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

enum { STREAMS = 24, EVENTS = 6000, SPARE = 48 << 10 };

static void a_stream_that_is_not_read_holds_what_is_promised_and_gives_it_back(void **state)
{
    static const char ask[] = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n"
                              "Authorization: Bearer admin-token\r\n\r\n";
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fds[STREAMS];
    char json[180];
    int64_t empty = mem_in_use(), full = 0, held = 0, left = 0;

    (void)state;
    memset(json, 'x', sizeof json);
    (void)!memcpy(json, "{\"a\":\"", 6);
    (void)!memcpy(json + sizeof json - 3, "\"}", 3);
    for (int i = 0; i < STREAMS; i++) {
        fds[i] = web_rig_connect(rig, i % 2);
        web_rig_write(rig, fds[i], ask, sizeof ask - 1);
    }
    web_rig_pump(rig, 20);
    assert_int_equal(http_server_count(web_http(rig->web)), STREAMS);
    for (int i = 0; i < EVENTS; i++) {
        fake_emit(rig->ctl, 1, "trial", json);
        if (i % 20 == 0)
            web_rig_pump(rig, 1);
    }
    web_rig_pump(rig, 50);
    full = mem_in_use();
    for (int i = 0; i < STREAMS; i++)
        close(fds[i]);
    web_rig_pump(rig, 50);
    left = mem_in_use() - empty;
    held = (full - empty - left) / STREAMS;
    printf("held by each stream: %lld kB; left when all are gone: %lld kB\n", (long long)held >> 10,
           (long long)left >> 10);
    assert_int_equal(http_server_count(web_http(rig->web)), 0);
    assert_true(held <= WEB_STREAM_MAX + SPARE);
    assert_true(left < 4 << 20); /* of the feed's ring of events, which all streams share */
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_that_is_not_read_holds_what_is_promised_and_gives_it_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
