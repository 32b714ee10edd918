/* test_11_31_session.c - issue 11, points 31 and 23. The page's cookie goes to every port of its host, so whoever listens
 * there has it: alone it must open nothing, and nothing can be computed from it. A session has the role of what opened it,
 * makes no keys, is listed, ends when told, with its token, or in time, its event streams with it, and outlives a
 * restart. A real controller behind a real server. */
#include "tests/web/web_rig.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "controller/serve/auth.h"
#include "controller/serve/turn.h"
#include "controller/state/ctl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct ctl_conf conf; /* the controller keeps pointers into it */
static char data_dir[256];

static struct ctl *real_ctl_new(struct loop *loop, const char *dir)
{
    struct ctl *ctl = NULL;
    struct err err = { 0 };

    log_level_set(LOG_ERROR);
    (void)!snprintf(data_dir, sizeof data_dir, "%s/data", dir);
    assert_int_equal(io_mkdirs(data_dir, 0700, NULL), 0);
    conf = (struct ctl_conf){
        .data_dir = data_dir, .lease_ms = 30000, .max_wait_ms = 60000, .max_trials = 1000
    };
    ctl = ctl_new(&conf, loop_clk(loop), loop, &err);
    if (!ctl)
        fail_msg("%s", err.text);
    return ctl;
}

struct page { /* a browser that is signed in */
    char cookie[200], secret[65];
};

static void headers_of(const struct page *p, bool with_secret, char *out, size_t size)
{
    (void)!snprintf(out, size,
                    with_secret ? "Cookie: %s\r\nX-Assay-CSRF: %s\r\n" : "Cookie: %s\r\n",
                    p->cookie, p->secret);
}

static struct web_reply ask(struct web_rig *rig, const struct page *p, const char *method,
                            const char *path, const char *body)
{
    char headers[500];

    headers_of(p, true, headers, sizeof headers);
    return web_rig_call(rig, false, method, path, headers, body);
}

static int status_of(struct web_reply r)
{
    web_reply_free(&r);
    return r.status;
}

static json_t *json_of(struct web_reply r, int status)
{
    json_t *o = json_loads(r.body, 0, NULL);

    if (r.status != status)
        fail_msg("status %d, wanted %d: %.200s", r.status, status, r.body);
    web_reply_free(&r);
    return o;
}

static void cookie_take(struct page *p, const struct web_reply *r)
{
    str_copy(p->cookie, sizeof p->cookie, web_reply_header(r, "Set-Cookie"));
    p->cookie[strcspn(p->cookie, ";")] = '\0';
}

/* By the link that the service prints. */
static struct page page_by_link(struct web_rig *rig)
{
    json_t *o = json_of(web_rig_call(rig, true, "POST", "/api/v1/links", NULL, NULL), 201);
    struct web_reply r =
        web_rig_call(rig, false, "GET", json_string_value(json_object_get(o, "path")), NULL, NULL);
    struct page p = { "", "" };
    const char *key = strstr(r.body, "#key=");

    assert_int_equal(r.status, 200);
    cookie_take(&p, &r);
    if (key)
        (void)!snprintf(p.secret, sizeof p.secret, "%.64s", key + 5);
    json_decref(o);
    web_reply_free(&r);
    return p;
}

static int64_t token_make(struct web_rig *rig, const char *role, char out[65])
{
    char body[80];
    json_t *o = NULL;
    int64_t id = 0;

    (void)!snprintf(body, sizeof body, "{\"name\":\"t\",\"role\":\"%s\"}", role);
    o = json_of(web_rig_call(rig, true, "POST", "/api/v1/tokens", NULL, body), 201);
    str_copy(out, 65, json_string_value(json_object_get(o, "token")));
    id = json_integer_value(json_object_get(o, "id"));
    json_decref(o);
    return id;
}

/* By the sign-in form. */
static struct page page_by_token(struct web_rig *rig, const char *token)
{
    char body[120];
    struct page p;
    struct web_reply r;
    json_t *o = NULL;

    (void)!snprintf(body, sizeof body, "{\"token\":\"%s\"}", token);
    r = web_rig_call(rig, false, "POST", "/api/v1/session", NULL, body);
    assert_int_equal(r.status, 201);
    cookie_take(&p, &r);
    o = json_of(r, 201);
    str_copy(p.secret, sizeof p.secret, json_string_value(json_object_get(o, "secret")));
    json_decref(o);
    return p;
}

static void the_cookie_alone_opens_nothing_and_nothing_follows_from_it(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    struct page p = page_by_link(rig), forged;
    char headers[500], text[100];

    (void)state;
    headers_of(&p, false, headers, sizeof headers);
    assert_int_equal(status_of(web_rig_call(rig, false, "GET", "/api/v1/tokens", headers, NULL)),
                     401);
    assert_int_equal(status_of(web_rig_call(rig, false, "GET", "/api/v1/session", headers, NULL)),
                     401);
    assert_int_equal(status_of(web_rig_call(rig, false, "GET", "/api/v1/events", headers, NULL)),
                     401);
    forged = p; /* as the first version made its CSRF value */
    (void)!snprintf(text, sizeof text, "assay-csrf:%s", strchr(p.cookie, '=') + 1);
    sha256_hex(text, strlen(text), forged.secret);
    assert_int_equal(status_of(ask(rig, &forged, "POST", "/api/v1/tokens",
                                   "{\"name\":\"x\",\"role\":\"admin\"}")),
                     401);
    assert_int_equal(status_of(ask(rig, &p, "GET", "/api/v1/tokens", NULL)), 200);
    web_rig_free(rig, ctl_free);
}

static void a_session_makes_no_keys(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    struct page p = page_by_link(rig);

    (void)state;
    assert_int_equal(
        status_of(ask(rig, &p, "POST", "/api/v1/tokens", "{\"name\":\"x\",\"role\":\"admin\"}")),
        403);
    assert_int_equal(status_of(ask(rig, &p, "POST", "/api/v1/links", NULL)), 403);
    web_rig_free(rig, ctl_free);
}

static void a_session_has_the_role_of_its_token(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    char token[65], body[120];
    struct page p;

    (void)state;
    token_make(rig, "viewer", token);
    p = page_by_token(rig, token);
    assert_int_equal(status_of(ask(rig, &p, "GET", "/api/v1/studies", NULL)), 200);
    assert_int_equal(status_of(ask(rig, &p, "POST", "/api/v1/studies/x/pause", NULL)), 403);
    assert_int_equal(status_of(ask(rig, &p, "GET", "/api/v1/sessions", NULL)), 403);
    token_make(rig, "runner", token);
    (void)!snprintf(body, sizeof body, "{\"token\":\"%s\"}", token);
    assert_int_equal(status_of(web_rig_call(rig, false, "POST", "/api/v1/session", NULL, body)),
                     403);
    assert_int_equal(status_of(web_rig_call(rig, false, "POST", "/api/v1/session", NULL,
                                            "{\"token\":\"guess\"}")),
                     401);
    web_rig_free(rig, ctl_free);
}

static void sessions_are_listed_and_ended(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    struct page admin = page_by_link(rig), second = page_by_link(rig);
    json_t *o = json_of(ask(rig, &admin, "GET", "/api/v1/sessions", NULL), 200);
    const json_t *list = json_object_get(o, "sessions");
    char path[80];

    (void)state;
    assert_int_equal(json_array_size(list), 2);
    (void)!snprintf(path, sizeof path, "/api/v1/sessions/%d",
                    (int)json_integer_value(json_object_get(json_array_get(list, 1), "id")));
    json_decref(o);
    assert_int_equal(status_of(ask(rig, &admin, "DELETE", path, NULL)), 204);
    assert_int_equal(status_of(ask(rig, &second, "GET", "/api/v1/session", NULL)), 401);
    assert_int_equal(status_of(ask(rig, &admin, "DELETE", "/api/v1/session", NULL)), 204);
    assert_int_equal(status_of(ask(rig, &admin, "GET", "/api/v1/session", NULL)), 401);
    web_rig_free(rig, ctl_free);
}

/* Runs the loop until the server has shut this connection; what came is thrown away. */
static bool is_shut(struct web_rig *rig, int fd)
{
    char *all = web_rig_read_raw(rig, fd, "0\r\n\r\n");
    bool ended = strstr(all, "0\r\n\r\n") != NULL;

    mem_free(all);
    return ended;
}

static int stream_open(struct web_rig *rig, const char *headers)
{
    int fd = web_rig_connect(rig, false);
    char text[700], *hello = NULL;

    (void)!snprintf(text, sizeof text, "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n%s\r\n",
                    headers);
    web_rig_write(rig, fd, text, strlen(text));
    hello = web_rig_read_raw(rig, fd, "event: hello");
    assert_non_null(strstr(hello, "event: hello"));
    mem_free(hello);
    return fd;
}

static void a_revoked_token_takes_its_sessions_and_their_streams_along(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    char token[65], path[80], headers[500], bearer[120];
    int64_t id = token_make(rig, "user", token);
    struct page p = page_by_token(rig, token), other = page_by_link(rig);
    int by_page = 0, by_token = 0, kept = 0;

    (void)state;
    headers_of(&p, true, headers, sizeof headers);
    (void)!snprintf(bearer, sizeof bearer, "Authorization: Bearer %s\r\n", token);
    by_page = stream_open(rig, headers);
    by_token = stream_open(rig, bearer);
    headers_of(&other, true, headers, sizeof headers);
    kept = stream_open(rig, headers);
    (void)!snprintf(path, sizeof path, "/api/v1/tokens/%d", (int)id);
    assert_int_equal(status_of(web_rig_call(rig, true, "DELETE", path, NULL, NULL)), 204);
    assert_true(is_shut(rig, by_page));
    assert_true(is_shut(rig, by_token));
    assert_int_equal(status_of(ask(rig, &p, "GET", "/api/v1/studies", NULL)), 401);
    assert_int_equal(status_of(ask(rig, &other, "GET", "/api/v1/studies", NULL)), 200);
    /* The other one's stream goes on: it is told of what happens now. */
    assert_int_equal(status_of(ask(rig, &other, "DELETE", "/api/v1/session", NULL)), 204);
    assert_true(is_shut(rig, kept));
    close(by_page), close(by_token), close(kept);
    web_rig_pump(rig, 5);
    web_rig_free(rig, ctl_free);
}

static void a_session_ends_a_week_after_its_last_use_or_after_a_month(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    const int64_t day = 86400000;
    struct page used = page_by_link(rig), left = page_by_link(rig);
    char headers[500];
    int fd = -1, days = 0;

    (void)state;
    headers_of(&left, true, headers, sizeof headers);
    fd = stream_open(rig, headers);
    while (days < 40 && status_of(ask(rig, &used, "GET", "/api/v1/session", NULL)) == 200) {
        clk_advance(&rig->clk, 2 * day);
        days += 2;
        if (days == 8) {
            auth_collect(rig->ctl);
            assert_true(is_shut(rig, fd));
            assert_int_equal(status_of(ask(rig, &left, "GET", "/api/v1/session", NULL)), 401);
        }
    }
    assert_int_equal(days, 30);
    close(fd);
    web_rig_pump(rig, 5);
    web_rig_free(rig, ctl_free);
}

static void a_ticket_opens_one_file_once(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    struct page p = page_by_link(rig), thief = page_by_link(rig);
    static const char ask_for[] = "{\"path\":\"/api/v1/trials/1/artifact\"}";
    char headers[500], path[120], other[120];

    (void)state;
    for (int i = 0; i < 2; i++) { /* by another session, then by its own */
        json_t *o = json_of(ask(rig, &p, "POST", "/api/v1/tickets", ask_for), 201);
        const char *ticket = json_string_value(json_object_get(o, "ticket"));

        (void)!snprintf(path, sizeof path, "/api/v1/trials/1/artifact?ticket=%s", ticket);
        (void)!snprintf(other, sizeof other, "/api/v1/trials/2/artifact?ticket=%s", ticket);
        headers_of(i == 0 ? &thief : &p, false, headers, sizeof headers);
        assert_int_equal(status_of(web_rig_call(rig, false, "GET", other, headers, NULL)), 401);
        assert_int_equal(status_of(web_rig_call(rig, false, "GET", path, headers, NULL)),
                         i == 0 ? 401 : 404); /* 404: let in, there is no such trial */
        assert_int_equal(status_of(web_rig_call(rig, false, "GET", path, headers, NULL)), 401);
        json_decref(o);
    }
    assert_int_equal(status_of(ask(rig, &p, "GET", "/api/v1/studies?ticket=x", NULL)), 400);
    web_rig_free(rig, ctl_free);
}

/* The database of a stopped service must hold none of the secrets, and be enough to know them again. */
static void a_session_outlives_a_restart_and_is_stored_as_hashes(void **state)
{
    struct web_rig *rig = web_rig_new(real_ctl_new, NULL);
    struct page p = page_by_link(rig);
    struct web_conf web = { .http.socket_path = rig->socket_path };
    char listen[40], path[300];
    struct err err = { 0 };
    struct buf db;

    (void)state;
    (void)!snprintf(listen, sizeof listen, "127.0.0.1%s",
                    strrchr(http_server_address(web_http(rig->web)), ':'));
    web.http.listen = listen;
    web_free(rig->web);
    ctl_free(rig->ctl);
    (void)!snprintf(path, sizeof path, "%s/assay.db", data_dir);
    assert_int_equal(io_read_file(path, 64 << 20, &db, &err), 0);
    assert_null(memmem(db.data, db.len, strchr(p.cookie, '=') + 1, 64));
    assert_null(memmem(db.data, db.len, p.secret, 64));
    buf_fini(&db);
    rig->ctl = real_ctl_new(rig->loop, rig->dir);
    rig->web = web_new(rig->ctl, rig->loop, &web, &err);
    if (!rig->web)
        fail_msg("%s", err.text);
    assert_int_equal(status_of(ask(rig, &p, "GET", "/api/v1/studies", NULL)), 200);
    web_rig_free(rig, ctl_free);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cookie_alone_opens_nothing_and_nothing_follows_from_it),
        cmocka_unit_test(a_session_makes_no_keys),
        cmocka_unit_test(a_session_has_the_role_of_its_token),
        cmocka_unit_test(sessions_are_listed_and_ended),
        cmocka_unit_test(a_revoked_token_takes_its_sessions_and_their_streams_along),
        cmocka_unit_test(a_session_ends_a_week_after_its_last_use_or_after_a_month),
        cmocka_unit_test(a_ticket_opens_one_file_once),
        cmocka_unit_test(a_session_outlives_a_restart_and_is_stored_as_hashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
