/* test_head.c - heads and bodies of requests as bytes: what they mean, what is refused, and that it does not
 * matter in which pieces they come. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/mem.h"
#include "web/http/body.h"
#include "web/http/head.h"

#include <event2/buffer.h>

static int parse(const char *text, size_t n, struct head *h, char **copy)
{
    const char *why = NULL;
    size_t seen = 0;
    int rc = 0;

    assert_int_equal(head_end(text, n, &seen), n);
    *copy = mem_dup(text, n + 1);
    rc = head_parse(*copy, n, h, &why);
    assert_non_null(why);
    return rc;
}

static void a_plain_head_is_understood(void **state)
{
    static const char text[] = "POST /a/b?c=d HTTP/1.1\r\nHost: x:1\r\ncontent-length: 12\r\n"
                               "X-Empty:\r\nX-Spaces: \t a b \t\r\n\r\n";
    struct head h;
    char *copy = NULL;

    (void)state;
    assert_int_equal(parse(text, sizeof text - 1, &h, &copy), 0);
    assert_string_equal(h.method, "POST");
    assert_string_equal(h.target, "/a/b?c=d");
    assert_int_equal(h.minor, 1);
    assert_int_equal(h.length, 12);
    assert_true(h.is_kept && !h.is_chunked && !h.wants_continue);
    assert_string_equal(head_find(&h, "HOST"), "x:1");
    assert_string_equal(head_find(&h, "x-empty"), "");
    assert_string_equal(head_find(&h, "x-spaces"), "a b");
    assert_null(head_find(&h, "x"));
    mem_free(copy);
}

static void version_and_connection_say_who_stays(void **state)
{
    static const struct {
        const char *text;
        bool is_kept;
    } cases[] = {
        { "GET / HTTP/1.1\r\n\r\n", true },
        { "GET / HTTP/1.0\r\n\r\n", false },
        { "GET / HTTP/1.7\r\n\r\n", true },
        { "GET / HTTP/1.1\r\nConnection: close\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nConnection: TE, CLOSE\r\n\r\n", false },
        { "GET / HTTP/1.1\r\nConnection: closed\r\n\r\n", true },
        { "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true },
        { "GET / HTTP/1.0\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct head h;
        char *copy = NULL;

        assert_int_equal(parse(cases[i].text, strlen(cases[i].text), &h, &copy), 0);
        if (h.is_kept != cases[i].is_kept)
            fail_msg("%s", cases[i].text);
        mem_free(copy);
    }
}

static void what_two_readers_could_read_differently_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t n;
        int status;
    } cases[] = {
#define RAW(s, status) { s, sizeof s - 1, status }
#define POST           "POST / HTTP/1.1\r\n"
        RAW(POST "Content-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        RAW(POST "Content-Length: 5\r\ncontent-length: 5\r\n\r\n", 400),
        RAW(POST "Content-Length : 5\r\n\r\n", 400),
        RAW(POST "Content-Length\t: 5\r\n\r\n", 400),
        RAW(POST " Content-Length: 5\r\n\r\n", 400),
        RAW(POST "A: b\r\n Content-Length: 5\r\n\r\n", 400),
        RAW(POST "Content-Length: 5, 5\r\n\r\n", 400),
        RAW(POST "Content-Length: +5\r\n\r\n", 400),
        RAW(POST "Content-Length: -5\r\n\r\n", 400),
        RAW(POST "Content-Length: 0x5\r\n\r\n", 400),
        RAW(POST "Content-Length:\r\n\r\n", 400),
        RAW(POST "Content-Length: 99999999999999999999\r\n\r\n", 413),
        RAW(POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        RAW(POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        RAW(POST "Transfer-Encoding: gzip, chunked\r\n\r\n", 501),
        RAW(POST "Transfer-Encoding: identity\r\n\r\n", 501),
        RAW("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        RAW(POST "Host: a\r\nHost: b\r\n\r\n", 400),
        RAW(POST "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400),
        RAW(POST "A: b\rc\r\n\r\n", 400),
        RAW(POST "A: b\0c\r\n\r\n", 400),
        RAW(POST "A\0: b\r\n\r\n", 400),
        RAW(POST ": b\r\n\r\n", 400),
        RAW(POST "no colon\r\n\r\n", 400),
        RAW(POST "Expect: tea\r\n\r\n", 417),
        RAW("GET /\r\n\r\n", 400),
        RAW("GET / \r\n\r\n", 400),
        RAW("GET  HTTP/1.1\r\n\r\n", 400),
        RAW("GET  / HTTP/1.1\r\n\r\n", 400),
        RAW(" GET / HTTP/1.1\r\n\r\n", 400),
        RAW("GET / HTTP/1.1 \r\n\r\n", 400),
        RAW("GET / HTTP/1.1 x\r\n\r\n", 400),
        RAW("GET / http/1.1\r\n\r\n", 400),
        RAW("GET / HTTP/11\r\n\r\n", 400),
        RAW("GET / HTTP/2.0\r\n\r\n", 505),
        RAW("GET /a\0b HTTP/1.1\r\n\r\n", 400),
        RAW("GET /a\tb HTTP/1.1\r\n\r\n", 400),
        RAW("G\"T / HTTP/1.1\r\n\r\n", 400),
        RAW("ABCDEFGHIJKLMNOPQRSTUVWXYZ / HTTP/1.1\r\n\r\n", 400),
#undef RAW
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct head h;
        char *copy = NULL;
        int rc = parse(cases[i].text, cases[i].n, &h, &copy);

        if (rc != cases[i].status)
            fail_msg("status %d, wanted %d: %s", rc, cases[i].status, cases[i].text);
        mem_free(copy);
    }
}

static void lines_without_cr_and_too_many_fields_are_refused(void **state)
{
    static const char *const bare[] = { "GET / HTTP/1.1\n\n", "GET / HTTP/1.1\r\nA: b\n\r\n",
                                        "\n" };
    char text[2000] = "GET / HTTP/1.1\r\n", *copy = NULL;
    struct head h;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bare); i++) {
        size_t seen = 0;

        assert_int_equal(head_end(bare[i], strlen(bare[i]), &seen), -1);
    }
    for (int i = 0; i <= HEAD_FIELDS_MAX; i++)
        strncat(text, "A: b\r\n", sizeof text - strlen(text) - 1);
    strncat(text, "\r\n", sizeof text - strlen(text) - 1);
    assert_int_equal(parse(text, strlen(text), &h, &copy), 431);
    mem_free(copy);
}

static void the_end_is_found_in_whatever_pieces_it_comes(void **state)
{
    static const char text[] = "GET / HTTP/1.1\r\nA: b\r\n\r\nGET /";
    size_t seen = 0;

    (void)state;
    for (size_t n = 0; n < 24; n++)
        assert_int_equal(head_end(text, n, &seen), 0);
    assert_int_equal(head_end(text, sizeof text - 1, &seen), 24);
}

/* Feeds a body in pieces of `step` bytes. */
static int feed(const struct head *head, int64_t max, const char *text, size_t n, size_t step,
                char out[64], size_t *rest)
{
    struct evbuffer *in = evbuffer_new(), *content = evbuffer_new();
    struct body b;
    int rc = body_init(&b, head, max);

    for (size_t at = 0; at < n && rc == 0; at += step) {
        evbuffer_add(in, text + at, MIN(step, n - at));
        rc = body_take(&b, in, content);
        *rest = evbuffer_get_length(in) + (n - MIN(n, at + step));
    }
    memset(out, 0, 64);
    evbuffer_copyout(content, out, 63);
    evbuffer_free(in);
    evbuffer_free(content);
    return rc;
}

static void bodies_come_in_any_pieces(void **state)
{
    static const struct {
        const char *text, *body;
        size_t rest;
        int rc;
        bool is_chunked;
    } cases[] = {
        { "hello, you", "hello, you", 0, 1, false },
        { "5\r\nhello\r\n5\r\n, you\r\n0\r\n\r\nGET", "hello, you", 3, 1, true },
        { "A;x=\"y\"\r\nhello, you\r\n000\r\nTrailer: z\r\n\r\n", "hello, you", 0, 1, true },
        { "0\r\n\r\n", "", 0, 1, true },
        { "5\r\nhel", "hel", 0, 0, true },
        { "zz\r\n", "", 0, 400, true },
        { "-5\r\n", "", 0, 400, true },
        { "\r\n", "", 0, 400, true },
        { "5\nhello", "", 0, 400, true },
        { "fffffffff\r\n", "", 0, 400, true },
        { "ffffffff\r\n", "", 0, 413, true },
        { "1\r\nxyz", "x", 0, 400, true },
        { "15\r\n", "", 0, 413, true },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct head h = { .is_chunked = cases[i].is_chunked,
                          .length = cases[i].is_chunked ? 0 : 10 };

        for (size_t step = 1; step <= 64; step++) {
            size_t n = strlen(cases[i].text), rest = 0;
            char out[64];
            int rc = feed(&h, 20, cases[i].text, n, step, out, &rest);

            if (rc != cases[i].rc || strcmp(out, cases[i].body) != 0 ||
                (rc == 1 && rest != cases[i].rest))
                fail_msg("case %zu in steps of %zu: %d, \"%s\", %zu left", i, step, rc, out, rest);
        }
    }
}

static void a_length_over_the_limit_is_refused_at_once(void **state)
{
    struct head h = { .length = 21 };
    struct body b;

    (void)state;
    assert_int_equal(body_init(&b, &h, 20), 413);
    assert_int_equal(body_init(&b, &h, 21), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plain_head_is_understood),
        cmocka_unit_test(version_and_connection_say_who_stays),
        cmocka_unit_test(what_two_readers_could_read_differently_is_refused),
        cmocka_unit_test(lines_without_cr_and_too_many_fields_are_refused),
        cmocka_unit_test(the_end_is_found_in_whatever_pieces_it_comes),
        cmocka_unit_test(bodies_come_in_any_pieces),
        cmocka_unit_test(a_length_over_the_limit_is_refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
