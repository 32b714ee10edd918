/* test_11_34_framing.c - a request with two different Content-Length headers, or with `Content-Length :`, was
 * read by one of its lengths, where another reader takes the other: what follows is a request of its own to
 * one of them. Unknown methods (point 36) were answered 400 with a word on the address, and one POST in
 * thousands hung on a connection that was used before. Addresses beyond this machine (point 35) were
 * listened on without a question. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include "base/log.h"

#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define TOP "POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n"
#define OWN "GET /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_read(void **state)
{
    static const char *const cases[] = {
        TOP "Content-Length: 2\r\nContent-Length: 52\r\n\r\n{}" OWN,
        TOP "Content-Length: 52\r\nContent-Length: 2\r\n\r\n{}" OWN,
        TOP "Content-Length : 2\r\n\r\n{}" OWN,
        TOP "Content-Length\t: 2\r\n\r\n{}" OWN,
        TOP "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" OWN,
        TOP "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n" OWN,
        TOP "X: y\r\n Content-Length: 2\r\n\r\n{}" OWN,
        TOP "Content-Length: 2\nX: y\r\n\r\n{}" OWN,
    };
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd = web_rig_connect(rig, true);
        char *got = NULL;

        web_rig_write(rig, fd, cases[i], strlen(cases[i]));
        got = web_rig_read_raw(rig, fd, "no such text");
        if (!strstr(got, "HTTP/1.1 400 ") || strstr(got + 1, "HTTP/1.1") ||
            !strstr(got, "problem+json"))
            fail_msg("case %zu: %s", i, got);
        mem_free(got);
        close(fd);
    }
    assert_int_equal(rig->ctl->calls, 0);
    web_rig_free(rig, fake_ctl_free);
}

static void an_unknown_method_is_answered_with_a_word_on_the_method(void **state)
{
    static const struct {
        const char *method, *path;
        int status;
    } cases[] = {
        { "BREW", "/api/v1/studies", 405 },
        { "OPTIONS", "/api/v1/studies", 405 },
        { "TRACE", "/health", 405 },
        { "get", "/health", 405 },
        { "QUERY", "/api/v1/backup", 405 },
        { "BREW", "/nothing/here", 501 },
        { "OPTIONS", "*", 501 },
        { "CONNECT", "evil.example:443", 501 },
        { "M-SEARCH", "/api/v1/nothing", 501 },
        { "DELETE", "/api/v1/studies", 405 },
    };
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct web_reply r = web_rig_call(rig, true, cases[i].method, cases[i].path, NULL, NULL);

        if (r.status != cases[i].status || !strstr(r.body, cases[i].method))
            fail_msg("%s %s: %d, %.300s", cases[i].method, cases[i].path, r.status,
                     r.body ? r.body : "-");
        if (r.status == 405)
            assert_non_null(web_reply_header(&r, "Allow"));
        web_reply_free(&r);
    }
    web_rig_free(rig, fake_ctl_free);
}

/* Anybody can send them, without a token: they must not fill the log. */
static void unknown_methods_leave_no_line_in_the_log(void **state)
{
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    char text[2000] = "";
    int fds[2];

    (void)state;
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    log_to_fd(fds[1]);
    for (int i = 0; i < 3; i++) {
        struct web_reply r = web_rig_call(rig, false, "BREW", "/nothing", NULL, NULL);

        assert_int_equal(r.status, 501);
        web_reply_free(&r);
    }
    log_to_fd(2);
    (void)!read(fds[0], text, sizeof text - 1);
    assert_string_equal(text, "");
    close(fds[0]);
    close(fds[1]);
    web_rig_free(rig, fake_ctl_free);
}

static void a_connection_that_is_used_again_answers_every_post(void **state)
{
    static const char *const texts[] = {
        "POST /api/v1/backup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 12\r\n\r\n{\"name\":\"a\"}",
        "POST /api/v1/backup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n[1]",
        "POST /api/v1/backup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
        "POST /api/v1/backup HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "DELETE /api/v1/studies/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
        "GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
        "BREW /api/v1/backup HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
        "POST /nothing HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    };
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    int fd = web_rig_connect(rig, true);

    (void)state;
    for (size_t i = 0; i < 25 * ARRAY_LEN(texts); i++) {
        const char *text = texts[i * 5 % ARRAY_LEN(texts)];
        size_t cut = i * 7 % strlen(text);
        struct web_reply r;

        web_rig_write(rig, fd, text, cut);
        web_rig_pump(rig, (int)(i % 3));
        web_rig_write(rig, fd, text + cut, strlen(text) - cut);
        if (web_rig_read(rig, fd, false, &r) != 1)
            fail_msg("no answer to request %zu: %s", i, text);
        if (r.status >= 500)
            fail_msg("%d to request %zu: %s", r.status, i, text);
        if (web_reply_header(&r, "Connection")) { /* it says so when it does not go on */
            assert_string_equal(web_reply_header(&r, "Connection"), "close");
            close(fd);
            fd = web_rig_connect(rig, true);
        }
        web_reply_free(&r);
    }
    close(fd);
    web_rig_free(rig, fake_ctl_free);
}

static void an_address_beyond_this_machine_needs_insecure_and_is_named(void **state)
{
    static const char *const beyond[] = { "0.0.0.0:0", "[::]:0", "192.0.2.1:0" };
    struct web_rig *rig = web_rig_new(fake_ctl_new, NULL);
    struct web_conf conf = { 0 };
    struct err err = { 0 };

    (void)state;
    assert_string_equal(http_server_beyond(web_http(rig->web)), "");
    for (size_t i = 0; i < ARRAY_LEN(beyond); i++) {
        conf.http.listen = beyond[i];
        assert_int_equal(http_conf_check(&conf.http, &err), -1);
        assert_null(web_new(rig->ctl, rig->loop, &conf, &err));
        assert_non_null(strstr(err.text, "--insecure"));
        assert_non_null(strstr(err.text, beyond[i]));
    }
    conf.http.listen = "0.0.0.0:0";
    conf.http.insecure = true;
    assert_int_equal(http_conf_check(&conf.http, &err), 0);
    struct web *web = web_new(rig->ctl, rig->loop, &conf, &err);
    assert_non_null(web);
    assert_true(str_starts(http_server_beyond(web_http(web)), "0.0.0.0:"));
    assert_string_equal(strrchr(http_server_beyond(web_http(web)), ':'),
                        strrchr(http_server_address(web_http(web)), ':'));
    assert_null(strstr(http_server_address(web_http(web)), "0.0.0.0"));
    web_free(web);
    conf.http.listen = "127.0.0.2:0"; /* the whole of 127/8 stays on this machine */
    conf.http.insecure = false;
    web = web_new(rig->ctl, rig->loop, &conf, &err);
    assert_non_null(web);
    assert_true(str_starts(http_server_address(web_http(web)), "http://127.0.0.2:"));
    web_free(web);
    web_rig_free(rig, fake_ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_body_of_two_lengths_is_refused_and_nothing_behind_it_is_read),
        cmocka_unit_test(an_unknown_method_is_answered_with_a_word_on_the_method),
        cmocka_unit_test(unknown_methods_leave_no_line_in_the_log),
        cmocka_unit_test(a_connection_that_is_used_again_answers_every_post),
        cmocka_unit_test(an_address_beyond_this_machine_needs_insecure_and_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
