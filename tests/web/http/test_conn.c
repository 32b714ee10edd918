/* test_conn.c - one connection: how bodies may come, who may stay, and that an answer reaches clients which
 * are not done with sending. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include "base/base.h"
#include "base/rng.h"
#include "tests/unit.h"
#include "web/request/req.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#define ADMIN  "Authorization: Bearer admin-token\r\n"
#define HOST   "Host: localhost\r\n"
#define SHA    "9372c470eeadd5ecd9c3c74c2b3cb633f8e2f2fad799250a0f70d652b6b825e4"
#define UPLOAD "PUT /api/v1/uploads/00000000000000000000000000000001?offset=0 HTTP/1.1\r\n" HOST

static struct web_rig *rig_new(void)
{
    return web_rig_new(fake_ctl_new, NULL);
}

static void say(struct web_rig *rig, int fd, const char *text)
{
    web_rig_write(rig, fd, text, strlen(text));
}

static void expect(struct web_rig *rig, int fd, int status)
{
    struct web_reply r;

    if (web_rig_read(rig, fd, false, &r) != 1 || r.status != status)
        fail_msg("status %d, wanted %d: %.300s", r.status, status, r.body ? r.body : "-");
    web_reply_free(&r);
}

static bool is_closed(struct web_rig *rig, int fd)
{
    char byte = 0;

    web_rig_pump(rig, 20);
    return recv(fd, &byte, 1, 0) == 0;
}

static void a_client_may_ask_before_it_sends_its_body(void **state)
{
    struct web_rig *rig = rig_new();
    int fd = web_rig_connect(rig, false);
    char *got = NULL;

    (void)state;
    say(rig, fd, UPLOAD ADMIN "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    got = web_rig_read_raw(rig, fd, "\r\n\r\n");
    assert_string_equal(got, "HTTP/1.1 100 Continue\r\n\r\n");
    mem_free(got);
    say(rig, fd, "hello");
    expect(rig, fd, 200);
    say(rig, fd, UPLOAD "Content-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    expect(rig, fd, 401); /* and not a word of going on */
    assert_true(is_closed(rig, fd));
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

static void a_chunked_body_arrives_whole_and_the_connection_goes_on(void **state)
{
    struct web_rig *rig = rig_new();
    int fd = web_rig_connect(rig, true);

    (void)state;
    say(rig, fd, UPLOAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n");
    web_rig_pump(rig, 3);
    say(rig, fd, "2;x=y\r\nde\r\n0\r\nTrailer: z\r\n\r\n");
    expect(rig, fd, 200);
    assert_string_equal(rig->ctl->last, "upload_write 0000 0 5");
    say(rig, fd, "GET /health HTTP/1.1\r\n" HOST "\r\n");
    expect(rig, fd, 200);
    say(rig, fd, UPLOAD "Transfer-Encoding: chunked\r\n\r\nxyz\r\n");
    expect(rig, fd, 400);
    assert_true(is_closed(rig, fd));
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

static void version_and_header_say_whether_the_connection_goes_on(void **state)
{
    static const struct {
        const char *text, *header;
        bool stays;
    } cases[] = {
        { "GET /health HTTP/1.1\r\n" HOST "\r\n", NULL, true },
        { "GET /health HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", "close", false },
        { "GET /health HTTP/1.0\r\n\r\n", "close", false },
        { "GET /health HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", true },
        { "GET /nothing HTTP/1.1\r\n" HOST "\r\n", NULL, true },
        { "POST /health HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabc", NULL, true },
        { "POST /health HTTP/1.1\r\n" HOST "Content-Length: 4\r\n\r\nabc", "close", false },
    };
    struct web_rig *rig = rig_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd = web_rig_connect(rig, true);
        struct web_reply r;
        const char *got = NULL;

        say(rig, fd, cases[i].text);
        assert_int_equal(web_rig_read(rig, fd, false, &r), 1);
        got = web_reply_header(&r, "Connection");
        if (!str_eq(got, cases[i].header) || is_closed(rig, fd) == cases[i].stays)
            fail_msg("case %zu: Connection: %s", i, got ? got : "-");
        web_reply_free(&r);
        close(fd);
    }
    web_rig_free(rig, fake_ctl_free);
}

static void a_client_that_has_said_all_still_hears_its_answer(void **state)
{
    struct web_rig *rig = rig_new();
    int fd = web_rig_connect(rig, false);

    (void)state;
    say(rig, fd, "GET /api/v1/studies HTTP/1.1\r\n" HOST ADMIN "\r\n");
    shutdown(fd, SHUT_WR);
    expect(rig, fd, 200);
    assert_true(is_closed(rig, fd));
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

/* A plain close with unread bytes sends a reset, which takes the answer from the client. */
static void a_refusal_reaches_a_client_that_goes_on_sending(void **state)
{
    enum { PIECE = 65536, PIECES = 40 };
    static const char *const heads[] = {
        UPLOAD "Content-Length: 7000000\r\n\r\n",             /* 401 */
        UPLOAD ADMIN "Content-Length: 9000000\r\n\r\n",       /* 413 */
        "PUT / HTTP/1.1\r\nContent-Length : 7000000\r\n\r\n", /* 400 */
    };
    static const int status[] = { 401, 413, 400 };
    static char piece[PIECE];
    struct web_rig *rig = rig_new();

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        int fd = web_rig_connect(rig, false);

        say(rig, fd, heads[i]);
        for (int k = 0; k < PIECES; k++) {
            ssize_t n = send(fd, piece, PIECE, MSG_NOSIGNAL);

            if (n < 0 && errno != EAGAIN)
                fail_msg("case %zu: reset at piece %d", i, k);
            web_rig_pump(rig, 2);
        }
        expect(rig, fd, status[i]);
        close(fd);
    }
    for (int i = 0; i < 5000 && http_server_count(web_http(rig->web)) > 0; i++)
        web_rig_pump(rig, 1); /* what had been sent is read and thrown away */
    assert_int_equal(http_server_count(web_http(rig->web)), 0);
    web_rig_free(rig, fake_ctl_free);
}

static void many_requests_at_once_are_answered_one_after_another(void **state)
{
    enum { N = 300 };
    struct web_rig *rig = rig_new();
    int fd = web_rig_connect(rig, true), n = 0;
    char *text = mem_alloc(N * 100), *got = NULL;
    size_t len = 0;

    (void)state;
    for (int i = 0; i < N; i++)
        len += (size_t)snprintf(text + len, 100, "GET /no%d HTTP/1.1\r\n" HOST "%s\r\n", i,
                                i == N - 1 ? "Connection: close\r\n" : "");
    web_rig_write(rig, fd, text, len);
    got = web_rig_read_raw(rig, fd, "Connection: close");
    for (const char *p = got; (p = strstr(p, "HTTP/1.1 404 ")); p++)
        n++;
    assert_int_equal(n, N);
    mem_free(got);
    mem_free(text);
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

/* Some clients end a body with a line's end that its length does not count. It may come byte by byte. */
static void an_empty_line_before_a_request_is_ignored_also_in_two_pieces(void **state)
{
    struct web_rig *rig = rig_new();
    int fd = web_rig_connect(rig, true);

    (void)state;
    for (int i = 0; i < 2; i++) {
        say(rig, fd, "\r");
        web_rig_pump(rig, 3);
        say(rig, fd, "\n");
        web_rig_pump(rig, 3);
        say(rig, fd, "GET /health HTTP/1.1\r\n" HOST "\r\n");
        expect(rig, fd, 200);
    }
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

/* However the bytes of several requests are cut into pieces, each is answered once and in order. */
static void the_pieces_in_which_requests_arrive_make_no_difference(void **state)
{
    static const char text[] = UPLOAD
        "Content-Length: 5\r\n\r\nhello" /* 200 */
        "GET /nothing HTTP/1.1\r\n" HOST "\r\n" /* 404 */ UPLOAD
        "Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nT: z\r\n\r\n" /* 200 */
        "\r\nHEAD /health HTTP/1.1\r\n" HOST "\r\n"                                      /* 200 */
        UPLOAD "Expect: 100-continue\r\nContent-Length: 4\r\n\r\nabcd"                   /* 200 */
        "GET /health HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n";                     /* 200 */
    static const char *const want[] = { "200", "404", "200", "200", "200", "200" };
    struct web_rig *rig = rig_new();
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 1);
    for (int round = 0; round < 60; round++) {
        int fd = web_rig_connect(rig, true);
        size_t at = 0, n = 0;
        char *got = NULL;

        while (at < sizeof text - 1) {
            size_t k = 1 + rng_below(&rng, round < 5 ? 1 : 80);

            k = MIN(k, sizeof text - 1 - at);
            web_rig_write(rig, fd, text + at, k);
            web_rig_pump(rig, (int)rng_below(&rng, 4));
            at += k;
        }
        got = web_rig_read_raw(rig, fd, "Connection: close");
        for (const char *p = got; (p = strstr(p, "HTTP/1.1 ")); p += 9) {
            if (memcmp(p + 9, "100", 3) == 0)
                continue;
            if (n == ARRAY_LEN(want) || memcmp(p + 9, want[n], 3) != 0)
                fail_msg("round %d, answer %zu: %.60s", round, n, p);
            n++;
        }
        assert_int_equal(n, ARRAY_LEN(want));
        mem_free(got);
        close(fd);
    }
    web_rig_free(rig, fake_ctl_free);
}

/* The client sees that bytes are missing; nobody else notices. */
static void a_file_that_shrinks_while_it_is_sent_ends_only_its_connection(void **state)
{
    enum { SIZE = 24 << 20 };
    struct web_rig *rig = rig_new();
    int fd = web_rig_connect(rig, true);
    char path[300], head[300], *got = NULL;
    static char piece[1 << 16];
    ssize_t n = 0;
    size_t all = 0;

    (void)state;
    (void)!snprintf(path, sizeof path, "%s/blobs/%s", rig->dir, SHA);
    assert_int_equal(io_replace(path, "x", 1, 0600, NULL), 0);
    assert_int_equal(truncate(path, SIZE), 0);
    (void)!snprintf(head, sizeof head, "GET /api/v1/blobs/%s HTTP/1.1\r\n" HOST "\r\n", SHA);
    say(rig, fd, head);
    web_rig_pump(rig, 5);
    assert_int_equal(truncate(path, 1), 0);
    do {
        web_rig_pump(rig, 2);
        n = recv(fd, piece, sizeof piece, 0);
        all += n > 0 ? (size_t)n : 0;
    } while (n > 0 || (n < 0 && errno == EAGAIN));
    assert_true(all < SIZE);
    close(fd);
    fd = web_rig_connect(rig, true);
    say(rig, fd, "GET /health HTTP/1.1\r\n" HOST "\r\n");
    got = web_rig_read_raw(rig, fd, "200");
    assert_non_null(strstr(got, "200"));
    mem_free(got);
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_client_may_ask_before_it_sends_its_body),
        cmocka_unit_test(a_chunked_body_arrives_whole_and_the_connection_goes_on),
        cmocka_unit_test(version_and_header_say_whether_the_connection_goes_on),
        cmocka_unit_test(a_client_that_has_said_all_still_hears_its_answer),
        cmocka_unit_test(a_refusal_reaches_a_client_that_goes_on_sending),
        cmocka_unit_test(many_requests_at_once_are_answered_one_after_another),
        cmocka_unit_test(an_empty_line_before_a_request_is_ignored_also_in_two_pieces),
        cmocka_unit_test(the_pieces_in_which_requests_arrive_make_no_difference),
        cmocka_unit_test(a_file_that_shrinks_while_it_is_sent_ends_only_its_connection),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
