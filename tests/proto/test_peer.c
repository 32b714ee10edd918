/* test_peer.c - whom a client trusts (proto/peer.h): which addresses are this machine, which pins are pins, and that no token
 * is sent in clear text to another machine. */
#include "tests/unit.h"

#include "proto/peer.h"

#include <stdio.h>

#define PIN "sha256//cwagILOZIY8OadzdTisFDqz/09XoMuI9nYn15evp8NE="

static void only_this_machine_is_here(void **state)
{
    static const char *const here[] = { "http://localhost",       "http://LocalHost:7878",
                                        "http://127.0.0.1:7878/", "http://127.8.9.1",
                                        "http://[::1]:7878",      "http://[::1]",
                                        "http://me@localhost:1/", "http://127.0.0.1?a=@x" };
    static const char *const there[] = { "http://example.com",
                                         "http://127.0.0.1.example.com",
                                         "http://localhost.example.com:80",
                                         "http://localhost@example.com",
                                         "http://127.0.0.1:80@example.com/",
                                         "http://[::2]:7878",
                                         "http://[::1]x",
                                         "http://10.0.0.1",
                                         "http://0.0.0.0:7878",
                                         "http://128.0.0.1",
                                         "http://",
                                         "localhost" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(here); i++) {
        if (!peer_is_here(here[i]))
            fail_msg("%s is this machine", here[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(there); i++) {
        if (peer_is_here(there[i]))
            fail_msg("%s is not this machine", there[i]);
    }
}

static void tokens_do_not_travel_in_clear_text(void **state)
{
    static const struct row {
        struct peer peer;
        const char *where; /* NULL = it may go on */
    } rows[] = {
        { { .url = "http://example.com", .has_token = true }, "token" },
        { { .url = "http://example.com", .has_token = true, .is_clear = true }, NULL },
        { { .url = "http://example.com" }, NULL },
        { { .url = "http://127.0.0.1:7878", .has_token = true }, NULL },
        { { .url = "https://example.com", .has_token = true }, NULL },
        { { .url = "unix:assay-data/sock", .has_token = true }, NULL },
        { { .url = "https://example.com", .pin = PIN }, NULL },
        { { .url = "https://example.com", .pin = "" }, NULL },
        { { .url = "unix:sock", .pin = PIN }, NULL },
        { { .url = "http://127.0.0.1", .pin = PIN }, "tls_pin" },
        { { .url = "http://127.0.0.1", .ca = "ca.pem" }, "tls_ca" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct err err = { 0 };

        assert_int_equal(peer_check(&rows[i].peer, &err), rows[i].where ? -1 : 0);
        if (rows[i].where)
            assert_string_equal(err.where, rows[i].where);
    }
}

/* libcurl takes a text that does not begin with "sha256//" for the name of a file, and would then not look at the hash. */
static void what_is_no_pin_is_refused(void **state)
{
    static const char *const bad[] = { "sha256//",
                                       "sha256//short=",
                                       "SHA256//cwagILOZIY8OadzdTisFDqz/09XoMuI9nYn15evp8NE=",
                                       "cwagILOZIY8OadzdTisFDqz/09XoMuI9nYn15evp8NE=",
                                       "sha256//cwagILOZIY8OadzdTisFDqz/09XoMuI9nYn15evp8N==",
                                       "sha256//cwagILOZIY8OadzdTisFDqz;09XoMuI9nYn15evp8NE=",
                                       "/etc/passwd" };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = { 0 };

        if (peer_check(&(struct peer){ .url = "https://a", .pin = bad[i] }, &err) == 0)
            fail_msg("%s was taken", bad[i]);
        assert_string_equal(err.where, "tls_pin");
    }
    char two[200];
    struct err err = { 0 };

    snprintf(two, sizeof two, "%s;%s", PIN, PIN);
    assert_int_equal(peer_check(&(struct peer){ .url = "https://a", .pin = two }, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_this_machine_is_here),
        cmocka_unit_test(tokens_do_not_travel_in_clear_text),
        cmocka_unit_test(what_is_no_pin_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
