/* test_args.c - the parsers of what a client wrote, as tables: path, query, Range, Cookie, Host, Origin, token,
 * listen address, file names. */
#include "web/http/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void paths_are_split_decoded_and_refused(void **state)
{
    static const struct {
        const char *path;
        int rc;
        const char *joined; /* segments joined by '|' */
    } cases[] = {
        { "/", 0, "" },
        { "/api/v1/studies", 0, "api|v1|studies" },
        { "/a%20b/c%C3%A9", 0, "a b|c\xc3\xa9" },
        { "/a+b", 0, "a+b" },
        { "", ERR_ARG, NULL },
        { "a", ERR_ARG, NULL },
        { "http://x/a", ERR_ARG, NULL },
        { "//", ERR_NOTFOUND, NULL },
        { "/a/", ERR_NOTFOUND, NULL },
        { "/a//b", ERR_NOTFOUND, NULL },
        { "/a/../b", ERR_NOTFOUND, NULL },
        { "/a/%2e%2e/b", ERR_NOTFOUND, NULL },
        { "/a/.", ERR_NOTFOUND, NULL },
        { "/a%2fb", ERR_NOTFOUND, NULL },
        { "/a%00b", ERR_ARG, NULL },
        { "/a%0ab", ERR_ARG, NULL },
        { "/a%7f", ERR_ARG, NULL },
        { "/a%", ERR_ARG, NULL },
        { "/a%2", ERR_ARG, NULL },
        { "/a%zz", ERR_ARG, NULL },
        { "/a%ff", ERR_ARG, NULL },
        { "/a%c0%af", ERR_ARG, NULL },
        { "/1/2/3/4/5/6/7/8", 0, "1|2|3|4|5|6|7|8" },
        { "/1/2/3/4/5/6/7/8/9", ERR_NOTFOUND, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        struct args_path path;
        struct err err = { 0 };
        char joined[100] = "";
        int rc = 0;

        arena_init(&a);
        rc = args_path_parse(&a, cases[i].path, strlen(cases[i].path), &path, &err);
        if (cases[i].rc != (rc < 0 ? (int)err.code : 0))
            fail_msg("%s: code %d", cases[i].path, err.code);
        for (int s = 0; rc == 0 && s < path.n; s++) {
            size_t n = strlen(joined);

            (void)!snprintf(joined + n, sizeof joined - n, "%s%s", s ? "|" : "", path.segments[s]);
        }
        if (rc == 0)
            assert_string_equal(joined, cases[i].joined);
        arena_fini(&a);
    }
}

static void overlong_path_is_refused(void **state)
{
    char path[ARGS_TEXT_MAX + 3];
    struct arena a;
    struct args_path out;

    (void)state;
    arena_init(&a);
    memset(path, 'a', sizeof path);
    path[0] = '/';
    assert_int_equal(args_path_parse(&a, path, ARGS_TEXT_MAX + 1, &out, NULL), -1);
    assert_int_equal(args_path_parse(&a, path, ARGS_TEXT_MAX, &out, NULL), 0);
    arena_fini(&a);
}

static void queries_are_pairs_or_refused(void **state)
{
    static const struct {
        const char *text;
        int n; /* -1 = refused */
        const char *key, *value;
    } cases[] = {
        { NULL, 0, NULL, NULL },
        { "", 0, NULL, NULL },
        { "a=1", 1, "a", "1" },
        { "a=1&b=x%20y", 2, "b", "x y" },
        { "a=x+y", 1, "a", "x y" },
        { "a=", 1, "a", "" },
        { "a=b=c", 1, "a", "b=c" },
        { "a", -1, NULL, NULL },
        { "=1", -1, NULL, NULL },
        { "a=1&", -1, NULL, NULL },
        { "&a=1", -1, NULL, NULL },
        { "a=1&&b=2", -1, NULL, NULL },
        { "a=1&a=2", -1, NULL, NULL },
        { "a=%00", -1, NULL, NULL },
        { "a=%", -1, NULL, NULL },
        { "a=%ff", -1, NULL, NULL },
        { "%61=1", 1, "a", "1" },
        { "a=1&%61=2", -1, NULL, NULL },
        { "a=1&b=1&c=1&d=1&e=1&f=1&g=1&h=1&i=1&j=1&k=1&l=1&m=1&n=1&o=1&p=1&q=1", -1, NULL, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a;
        struct args_query q;
        int rc = 0;

        arena_init(&a);
        rc = args_query_parse(&a, cases[i].text, &q, NULL);
        if ((rc < 0) != (cases[i].n < 0))
            fail_msg("%s: rc %d", cases[i].text, rc);
        if (rc == 0)
            assert_int_equal(q.n, cases[i].n);
        if (cases[i].key)
            assert_string_equal(args_query_get(&q, cases[i].key), cases[i].value);
        arena_fini(&a);
    }
}

static void ranges_follow_rfc_9110(void **state)
{
    static const struct {
        const char *header;
        int64_t size;
        int rc;
        int64_t from, len;
    } cases[] = {
        { NULL, 10, 0, 0, 0 },
        { "bytes=0-4", 10, 1, 0, 5 },
        { "bytes=5-", 10, 1, 5, 5 },
        { "bytes=-3", 10, 1, 7, 3 },
        { "bytes=-30", 10, 1, 0, 10 },
        { "bytes=0-999999999999999999", 10, 1, 0, 10 },
        { "bytes=9-9", 10, 1, 9, 1 },
        { "BYTES=1-2", 10, 1, 1, 2 },
        { "bytes=10-", 10, -1, 0, 0 },
        { "bytes=10-20", 10, -1, 0, 0 },
        { "bytes=-0", 10, -1, 0, 0 },
        { "bytes=0-", 0, -1, 0, 0 },
        { "bytes=-5", 0, -1, 0, 0 },
        { "bytes=4-2", 10, 0, 0, 0 },
        { "bytes=0-1,3-4", 10, 0, 0, 0 },
        { "bytes=", 10, 0, 0, 0 },
        { "bytes=-", 10, 0, 0, 0 },
        { "bytes=a-b", 10, 0, 0, 0 },
        { "bytes=0", 10, 0, 0, 0 },
        { "bytes=0-1 ", 10, 0, 0, 0 },
        { "bytes=9999999999999999999-", 10, 0, 0, 0 },
        { "lines=0-1", 10, 0, 0, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t from = 0, len = 0;
        int rc = args_range(cases[i].header, cases[i].size, &from, &len);

        if (rc != cases[i].rc || (rc == 1 && (from != cases[i].from || len != cases[i].len)))
            fail_msg("%s of %d: %d %d %d", cases[i].header, (int)cases[i].size, rc, (int)from,
                     (int)len);
    }
}

static void cookies_are_found_among_others(void **state)
{
    static const struct {
        const char *header;
        const char *value; /* NULL = absent */
    } cases[] = {
        { NULL, NULL },
        { "", NULL },
        { "s=1", "1" },
        { "a=2; s=1", "1" },
        { "as=2;s=1; sa=3", "1" },
        { "ss=1", NULL },
        { "s", NULL },
        { "s=", NULL },
        { "  s=abc", "abc" },
        { ";;;; s=x", "x" },
        { "s=0123456789abcdef", NULL }, /* longer than what we make */
    };
    char out[9];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int rc = args_cookie(cases[i].header, "s", out, sizeof out);

        if (rc != (cases[i].value != NULL))
            fail_msg("%s: %d", cases[i].header, rc);
        if (rc)
            assert_string_equal(out, cases[i].value);
    }
}

static void bearer_tokens_are_one_word(void **state)
{
    static const struct {
        const char *header;
        int rc;
    } cases[] = {
        { NULL, 0 },           { "Bearer abc", 1 },  { "bearer abc", 1 },
        { "Bearer  abc", 1 },  { "Bearer ", -1 },    { "Bearer", -1 },
        { "abc", -1 },         { "Basic YTpi", -1 }, { "Bearer a b", -1 },
        { "Bearer a\"b", -1 }, { "", -1 },           { "Bearer 0123456789", -1 },
    };
    char out[9];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (args_bearer(cases[i].header, out, sizeof out) != cases[i].rc)
            fail_msg("%s", cases[i].header);
    }
}

static void only_hosts_nobody_can_rebind_pass(void **state)
{
    static const struct {
        const char *host;
        bool ok;
    } cases[] = {
        { "127.0.0.1", true },
        { "127.0.0.1:7878", true },
        { "[::1]:7878", true },
        { "localhost:7878", true },
        { "LOCALHOST", true },
        { "assay.lan", true },
        { "Assay.Lan:80", true },
        { "b", true },
        { "evil.example", false },
        { "localhost.evil", false },
        { "127.0.0.1.evil", false },
        { "assay.lan.evil", false },
        { "", false },
        { NULL, false },
        { "127.0.0.1:x", false },
        { "127.0.0.1:99999", false },
        { "[::1", false },
        { "[zz]", false },
        { "a b", false },
        { "assay", false },
        { "127.0.0.1/x", false },
        { "user@127.0.0.1", false },
        { "1.2.3", false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (args_host_ok(cases[i].host, "assay.lan,b") != cases[i].ok)
            fail_msg("%s", cases[i].host ? cases[i].host : "NULL");
    }
}

static void origins_must_be_our_own(void **state)
{
    static const struct {
        const char *origin, *host;
        bool ok;
    } cases[] = {
        { NULL, "127.0.0.1:1", true },
        { "http://127.0.0.1:1", "127.0.0.1:1", true },
        { "https://a:1", "a:1", true },
        { "http://A:1", "a:1", true },
        { "http://127.0.0.1:2", "127.0.0.1:1", false },
        { "http://evil", "127.0.0.1:1", false },
        { "null", "127.0.0.1:1", false },
        { "", "127.0.0.1:1", false },
        { "ftp://127.0.0.1:1", "127.0.0.1:1", false },
        { "http://127.0.0.1:1/x", "127.0.0.1:1", false },
        { "http://127.0.0.1:1", NULL, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (args_origin_ok(cases[i].origin, cases[i].host) != cases[i].ok)
            fail_msg("%s", cases[i].origin);
    }
}

static void small_headers_are_read_right(void **state)
{
    (void)state;
    assert_true(args_gzip_ok("gzip"));
    assert_true(args_gzip_ok("br, gzip;q=0.5"));
    assert_true(args_gzip_ok("deflate,gzip, br"));
    assert_false(args_gzip_ok("gzip;q=0"));
    assert_false(args_gzip_ok("gzip;q=0.0, br"));
    assert_false(args_gzip_ok("xgzip"));
    assert_false(args_gzip_ok("gzipx"));
    assert_false(args_gzip_ok(NULL));
    assert_true(args_etag_ok("\"a\"", "\"a\""));
    assert_true(args_etag_ok("\"b\", W/\"a\"", "\"a\""));
    assert_true(args_etag_ok("*", "\"a\""));
    assert_false(args_etag_ok("\"ab\"", "\"a\""));
    assert_false(args_etag_ok("a", "\"a\""));
    assert_false(args_etag_ok(NULL, "\"a\""));
}

static void file_names_cannot_break_the_header(void **state)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        { "adult-best.assay", "attachment; filename=\"adult-best.assay\"" },
        { "a\"b\r\nX: y",
          "attachment; filename=\"a_b__X__y\"; filename*=UTF-8''a%22b%0D%0AX%3A%20y" },
        { "\xc3\xa9", "attachment; filename=\"__\"; filename*=UTF-8''%C3%A9" },
    };
    char out[600], longest[1000];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        args_disposition(cases[i].name, out, sizeof out);
        assert_string_equal(out, cases[i].want);
    }
    memset(longest, '"', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    args_disposition(longest, out, sizeof out);
    assert_true(strlen(out) < 500);
}

static void listen_addresses_are_literal(void **state)
{
    static const struct {
        const char *text;
        int rc;
    } cases[] = {
        { "127.0.0.1:7878", 0 },   { "0.0.0.0:0", 0 },    { "[::1]:80", 0 },
        { "localhost:1", 0 },      { "127.0.0.1", -1 },   { "example.org:1", -1 },
        { "127.0.0.1:70000", -1 }, { ":80", -1 },         { "", -1 },
        { "127.0.0.1:", -1 },      { "256.0.0.1:1", -1 },
    };
    struct sockaddr_storage ss;
    socklen_t len = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (args_listen_parse(cases[i].text, &ss, &len, NULL) != cases[i].rc)
            fail_msg("%s", cases[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_split_decoded_and_refused),
        cmocka_unit_test(overlong_path_is_refused),
        cmocka_unit_test(queries_are_pairs_or_refused),
        cmocka_unit_test(ranges_follow_rfc_9110),
        cmocka_unit_test(cookies_are_found_among_others),
        cmocka_unit_test(bearer_tokens_are_one_word),
        cmocka_unit_test(only_hosts_nobody_can_rebind_pass),
        cmocka_unit_test(origins_must_be_our_own),
        cmocka_unit_test(small_headers_are_read_right),
        cmocka_unit_test(file_names_cannot_break_the_header),
        cmocka_unit_test(listen_addresses_are_literal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
