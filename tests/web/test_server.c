/* test_server.c - the wire: both doors, keep-alive and pipelining, limits, answers that wait for the commit,
 * clients that leave before them, connections that never finish. */
#include "tests/web/fake_ctl.h"
#include "tests/web/web_rig.h"

#include "web/request/req.h"

#include <setjmp.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define ADMIN "Authorization: Bearer admin-token\r\n"

static struct web_rig *rig_with(const struct web_conf *conf)
{
    return web_rig_new(fake_ctl_new, conf);
}

static void rig_end(struct web_rig *rig)
{
    web_rig_free(rig, fake_ctl_free);
}

static void expect(struct web_reply r, int status, const char *part)
{
    if (r.status != status || (part && !strstr(r.body ? r.body : "", part)))
        fail_msg("status %d, wanted %d; body: %.300s", r.status, status, r.body ? r.body : "-");
    web_reply_free(&r);
}

static void both_doors_answer(void **state)
{
    struct web_rig *rig = rig_with(NULL);
    struct stat st;

    (void)state;
    assert_true(str_starts(http_server_address(web_http(rig->web)), "http://127.0.0.1:"));
    expect(web_rig_call(rig, true, "GET", "/health", NULL, NULL), 200, "\"ok\"");
    expect(web_rig_call(rig, false, "GET", "/health", NULL, NULL), 200, "\"ok\"");
    assert_int_equal(stat(rig->socket_path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    rig_end(rig);
}

static void socket_folder_open_to_others_is_refused(void **state)
{
    struct web_rig *rig = rig_with(NULL);
    char path[300];
    struct web_conf conf = { .http.socket_path = path };
    struct err err = { 0 };

    (void)state;
    (void)!snprintf(path, sizeof path, "%s/open", rig->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    strncat(path, "/sock", sizeof path - strlen(path) - 1);
    assert_null(web_new(rig->ctl, rig->loop, &conf, &err));
    assert_non_null(strstr(err.text, "other users may write to the socket's folder"));
    conf.http.socket_path = rig->socket_path; /* a living one */
    assert_null(web_new(rig->ctl, rig->loop, &conf, &err));
    assert_int_equal(err.code, ERR_CONFLICT);
    rig_end(rig);
}

static void stale_socket_file_is_replaced(void **state)
{
    struct web_rig *rig = rig_with(NULL);
    struct web_conf conf = { 0 };
    char path[300];
    struct sockaddr_storage unused;
    struct web *second = NULL;

    (void)state, (void)unused;
    (void)!snprintf(path, sizeof path, "%s/old", rig->dir);
    conf.http.socket_path = path;
    second = web_new(rig->ctl, rig->loop, &conf, NULL);
    assert_non_null(second);
    assert_int_equal(link(path, rig->dir[0] ? "/dev/null/x" : ""), -1);
    /* As after kill -9: the file stays, nobody listens. */
    {
        char kept[320];

        (void)!snprintf(kept, sizeof kept, "%s.kept", path);
        assert_int_equal(link(path, kept), 0);
        web_free(second);
        assert_int_equal(rename(kept, path), 0);
    }
    second = web_new(rig->ctl, rig->loop, &conf, NULL);
    assert_non_null(second);
    web_free(second);
    rig_end(rig);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    static const char text[] =
        "POST /api/v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n{\"name\":\"a\"}"
        "GET /api/v1/studies/adult HTTP/1.1\r\nHost: x\r\n\r\n"
        "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n";
    struct web_rig *rig = rig_with(NULL);
    int fd = web_rig_connect(rig, true);
    char *all = NULL;
    const char *a = NULL, *b = NULL, *c = NULL;

    (void)state;
    web_rig_write(rig, fd, text, sizeof text - 1);
    all = web_rig_read_raw(rig, fd, "404");
    a = strstr(all, "201"), b = strstr(all, "200 OK"), c = strstr(all, "404");
    assert_true(a && b && c && a < b && b < c);
    mem_free(all);
    close(fd);
    rig_end(rig);
}

static void write_is_answered_only_after_its_commit(void **state)
{
    struct web_rig *rig = rig_with(NULL);
    struct web_reply r =
        web_rig_call(rig, true, "POST", "/api/v1/studies", NULL, "{\"name\":\"a\"}");

    (void)state;
    expect(r, 201, "\"name\":\"a\"");
    assert_int_equal(rig->ctl->keeps, 1);
    assert_int_equal(rig->ctl->commits, 1);
    rig->ctl->commit_fails = true;
    r = web_rig_call(rig, true, "POST", "/api/v1/studies", NULL, "{\"name\":\"b\"}");
    assert_string_equal(web_reply_header(&r, "Retry-After"), "1");
    expect(r, 503, "nothing was changed: disk said no");
    rig->ctl->commit_fails = false;
    rig->ctl->end_fails = true;
    expect(web_rig_call(rig, true, "POST", "/api/v1/studies", NULL, "{\"name\":\"c\"}"), 507,
           "disk full");
    rig_end(rig);
}

/* A read that came while a write waited for its commit waits too. If the commit fails, it reads again. */
static void read_is_not_refused_with_the_write_before_it(void **state)
{
    static const char write[] = "POST /api/v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: "
                                "12\r\n\r\n{\"name\":\"a\"}";
    static const char read[] = "GET /api/v1/studies/adult HTTP/1.1\r\nHost: x\r\n\r\n";
    struct web_rig *rig = rig_with(NULL);
    int a = web_rig_connect(rig, true), b = web_rig_connect(rig, true);
    struct web_reply r;

    (void)state;
    loop_turn_hook(rig->loop, NULL, NULL); /* a turn ends when fake_turn is called */
    web_rig_write(rig, a, write, sizeof write - 1);
    for (int t = 0; t < 50 && rig->ctl->n_after < 1; t++)
        web_rig_pump(rig, 1);
    web_rig_write(rig, b, read, sizeof read - 1);
    for (int t = 0; t < 50 && rig->ctl->n_after < 2; t++)
        web_rig_pump(rig, 1);
    assert_int_equal(rig->ctl->n_after, 2);
    int calls = rig->ctl->calls;
    rig->ctl->commit_fails = true;
    fake_turn(rig->ctl);
    web_rig_read(rig, a, false, &r);
    expect(r, 503, "nothing was changed: disk said no");
    web_rig_read(rig, b, false, &r);
    expect(r, 200, "adult");
    assert_int_equal(rig->ctl->calls, calls + 1);
    close(a), close(b);
    rig_end(rig);
}

static void failed_write_is_undone(void **state)
{
    struct web_rig *rig = rig_with(NULL);

    (void)state;
    expect(web_rig_call(rig, true, "POST", "/api/v1/studies", NULL, "{\"name\":\"err-1\"}"), 400,
           "\"where\":\"budget.time\"");
    assert_int_equal(rig->ctl->undos, 1);
    assert_int_equal(rig->ctl->keeps, 0);
    rig_end(rig);
}

/* Closing and resetting at every step between request and commit, many times over. */
static void client_that_leaves_early_harms_nobody(void **state)
{
    static const char text[] = "POST /api/v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: "
                               "12\r\n\r\n{\"name\":\"a\"}";
    struct web_rig *rig = rig_with(NULL);

    (void)state;
    for (int i = 0; i < 60; i++) {
        struct linger reset = { 1, 0 };
        int fd = web_rig_connect(rig, i % 2);

        (void)!send(fd, text, sizeof text - 1 - (i % 3 == 2 ? 5 : 0), MSG_NOSIGNAL);
        web_rig_pump(rig, i % 5);
        if (i % 4 == 0)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        web_rig_pump(rig, i % 3);
    }
    web_rig_pump(rig, 20);
    expect(web_rig_call(rig, true, "GET", "/health", NULL, NULL), 200, NULL);
    rig_end(rig);
}

static void lease_waits_and_is_granted_later(void **state)
{
    static const char text[] =
        "POST /api/v1/runners/3/lease HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "2\r\n\r\n{}";
    struct web_rig *rig = rig_with(NULL);
    int fd = web_rig_connect(rig, true);
    struct web_reply r;

    (void)state;
    web_rig_write(rig, fd, text, sizeof text - 1);
    web_rig_pump(rig, 5);
    assert_non_null(rig->ctl->wait);
    fake_grant(rig->ctl, json_pack("{s:i}", "group", 5));
    assert_int_equal(web_rig_read(rig, fd, false, &r), 1);
    expect(r, 200, "{\"group\":5}");
    rig->ctl->grants_at_once = true;
    web_rig_write(rig, fd, text, sizeof text - 1); /* the same connection goes on */
    assert_int_equal(web_rig_read(rig, fd, false, &r), 1);
    expect(r, 200, "{\"grant\":null}");
    close(fd);
    rig_end(rig);
}

static void lease_of_a_client_that_left_is_cancelled(void **state)
{
    static const char text[] =
        "POST /api/v1/runners/3/lease HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "2\r\n\r\n{}";
    struct web_rig *rig = rig_with(NULL);

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct linger reset = { 1, 0 };
        int fd = web_rig_connect(rig, i % 2 == 0);

        if (i % 2)
            web_rig_write(rig, fd, "", 0);
        web_rig_write(rig, fd, text, i % 2 ? 0 : sizeof text - 1);
        if (i % 2) {
            static const char with_token[] =
                "POST /api/v1/runners/3/lease HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                "runner-token\r\nContent-Length: 2\r\n\r\n{}";

            web_rig_write(rig, fd, with_token, sizeof with_token - 1);
        }
        for (int t = 0; t < 50 && !rig->ctl->wait; t++)
            web_rig_pump(rig, 1);
        assert_non_null(rig->ctl->wait);
        if (i >= 3)
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        close(fd);
        for (int t = 0; t < 50 && rig->ctl->wait; t++)
            web_rig_pump(rig, 1);
        assert_null(rig->ctl->wait);
        assert_int_equal(rig->ctl->cancels, i + 1);
    }
    rig_end(rig);
}

static void waiting_lease_survives_the_end_of_the_server(void **state)
{
    static const char text[] =
        "POST /api/v1/runners/3/lease HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "2\r\n\r\n{}";
    struct web_rig *rig = rig_with(NULL);
    int fd = web_rig_connect(rig, true);

    (void)state;
    web_rig_write(rig, fd, text, sizeof text - 1);
    web_rig_pump(rig, 5);
    assert_non_null(rig->ctl->wait);
    rig_end(rig); /* checks that the wait was cancelled */
    close(fd);
}

static void a_call_for_a_trial_waits_as_a_lease_does(void **state)
{
    static const char *const texts[] = {
        "POST /api/v1/studies/a/suggest HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "14\r\n\r\n{\"wait_ms\":50}",
        "POST /api/v1/studies/a/tell HTTP/1.1\r\nHost: x\r\nContent-Length: "
        "14\r\n\r\n{\"wait_ms\":50}",
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct web_rig *rig = rig_with(NULL);
        int fd = web_rig_connect(rig, true);
        struct web_reply r;

        web_rig_write(rig, fd, texts[i], strlen(texts[i]));
        web_rig_pump(rig, 5);
        assert_non_null(rig->ctl->wait);
        fake_grant(rig->ctl, json_pack("{s:b}", "done", 1));
        assert_int_equal(web_rig_read(rig, fd, false, &r), 1);
        expect(r, 200, "{\"done\":true}");
        web_rig_write(rig, fd, texts[i], strlen(texts[i])); /* the client leaves */
        web_rig_pump(rig, 5);
        assert_non_null(rig->ctl->wait);
        close(fd);
        for (int t = 0; t < 50 && rig->ctl->wait; t++)
            web_rig_pump(rig, 1);
        assert_null(rig->ctl->wait);
        assert_int_equal(rig->ctl->cancels, 1);
        fd = web_rig_connect(rig, true);
        web_rig_write(rig, fd, texts[i], strlen(texts[i])); /* the server ends */
        web_rig_pump(rig, 5);
        assert_non_null(rig->ctl->wait);
        rig_end(rig); /* checks that the wait was cancelled */
        close(fd);
    }
}

static void server_may_end_while_commits_and_hashes_are_on_their_way(void **state)
{
    static const char write[] = "POST /api/v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: "
                                "12\r\n\r\n{\"name\":\"a\"}";
    static const char commit[] =
        "POST /api/v1/uploads/00000000000000000000000000000001/commit HTTP/1.1\r\nHost: "
        "x\r\nContent-Length: 77\r\n\r\n{\"sha256\":"
        "\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}";
    struct web_rig *rig = rig_with(NULL);
    int a = web_rig_connect(rig, true), b = web_rig_connect(rig, true);

    (void)state;
    rig->ctl->hash_waits = true;
    web_rig_write(rig, b, commit, sizeof commit - 1);
    for (int t = 0; t < 50 && !rig->ctl->hashed; t++)
        web_rig_pump(rig, 1);
    assert_non_null(rig->ctl->hashed);
    loop_turn_hook(rig->loop, NULL, NULL); /* a turn ends when fake_turn is called */
    web_rig_write(rig, a, write, sizeof write - 1);
    for (int t = 0; t < 50 && rig->ctl->n_after == 0; t++)
        web_rig_pump(rig, 1);
    web_free(rig->web);
    rig->web = NULL;
    fake_turn(rig->ctl);
    fake_hash_done(rig->ctl);
    close(a), close(b);
    rig_end(rig);
}

static void headers_and_bodies_have_limits(void **state)
{
    struct web_rig *rig = rig_with(NULL);
    char *big = mem_zalloc(20000), text[200];
    struct web_reply r;
    int fd = -1;

    (void)state;
    memset(big, 'a', 19000);
    (void)!memcpy(big, "X-Big: ", 7);
    (void)!memcpy(big + 18990, "\r\n", 3);
    r = web_rig_call(rig, true, "GET", "/health", big, NULL);
    assert_int_equal(r.status, 431);
    web_reply_free(&r);
    fd = web_rig_connect(rig, true);
    (void)!snprintf(
        text, sizeof text,
        "PUT /api/v1/uploads/x?offset=0 HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
        WEB_BODY_MAX + 1);
    web_rig_write(rig, fd, text, strlen(text));
    web_rig_read(rig, fd, false, &r);
    assert_int_equal(r.status, 413);
    web_reply_free(&r);
    close(fd);
    expect(web_rig_call(rig, true, "GET", "/health", NULL, NULL), 200, NULL);
    assert_int_equal(rig->ctl->calls, 0);
    mem_free(big);
    rig_end(rig);
}

static void bodies_in_flight_are_bounded(void **state)
{
    struct web_conf conf = { .http.max_inflight_bytes = 1 << 20 };
    struct web_rig *rig = rig_with(&conf);
    static char part[300000];
    int fds[6];
    int shed = 0;

    (void)state;
    for (int i = 0; i < 6; i++) {
        static const char head[] = "PUT /api/v1/uploads/00000000000000000000000000000001?offset=0 "
                                   "HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\n";

        fds[i] = web_rig_connect(rig, true);
        web_rig_write(rig, fds[i], head, sizeof head - 1);
        web_rig_write(rig, fds[i], part, sizeof part);
        web_rig_pump(rig, 10);
    }
    for (int i = 0; i < 6; i++) {
        char *got = web_rig_read_raw(rig, fds[i], NULL);

        shed += strstr(got, "503") != NULL;
        mem_free(got);
        close(fds[i]);
    }
    assert_true(shed >= 2);
    web_rig_pump(rig, 10);
    expect(web_rig_call(rig, true, "GET", "/health", NULL, NULL), 200, NULL);
    rig_end(rig);
}

static void request_that_never_ends_is_closed(void **state)
{
    struct web_conf conf = { .http.request_ms = 50 };
    struct web_rig *rig = rig_with(&conf);
    int fd = web_rig_connect(rig, true);
    char *got = NULL;

    (void)state;
    web_rig_write(rig, fd, "GET /hea", 8);
    got = web_rig_read_raw(rig, fd, "408");
    assert_non_null(strstr(got, "408"));
    mem_free(got);
    close(fd);
    rig_end(rig);
}

/* Who finds the door full is told so, may watch the health, and gets in when a place is free. */
static void a_full_house_says_so(void **state)
{
    static const char health[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n",
                      studies[] = "GET /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct web_conf conf = { .http.max_connections = 8 };
    struct web_rig *rig = rig_with(&conf);
    int fds[9];
    struct web_reply r;
    char *got = NULL;

    (void)state;
    for (int i = 0; i < 9; i++)
        fds[i] = web_rig_connect(rig, true);
    web_rig_write(rig, fds[8], health, sizeof health - 1);
    assert_int_equal(web_rig_read(rig, fds[8], false, &r), 1);
    expect(r, 200, NULL);
    web_rig_write(rig, fds[8], studies, sizeof studies - 1);
    got = web_rig_read_raw(rig, fds[8], "in use");
    assert_non_null(strstr(got, "503"));
    assert_non_null(strstr(got, "all 8 connections"));
    assert_non_null(strstr(got, "Retry-After: 1"));
    mem_free(got);
    close(fds[8]);
    close(fds[0]);
    web_rig_pump(rig, 20);
    fds[0] = web_rig_connect(rig, true);
    web_rig_write(rig, fds[0], studies, sizeof studies - 1);
    assert_int_equal(web_rig_read(rig, fds[0], false, &r), 1);
    expect(r, 200, NULL);
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    rig_end(rig);
}

/* In a process of its own, because a limit that was lowered cannot be raised again. 0 = as it should be. */
static int room_with(rlim_t files)
{
    struct rlimit limit = { files / 2, files };
    struct web_rig *rig = NULL;
    int64_t local = 0, tcp = 0, open = 0;

    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1;
    rig = rig_with(NULL);
    local = http_server_room(web_http(rig->web), HTTP_UNIX, &open);
    tcp = http_server_room(web_http(rig->web), HTTP_TCP, &open);
    (void)!getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur != files)
        return 2; /* the soft limit should have been raised */
    if (local < 8 || tcp < 2 * local)
        return 3;
    if (local + tcp > (int64_t)files || local + tcp < (int64_t)files / 4)
        return 4;
    return files >= 20000 && tcp < 10500 ? 5 : 0; /* the runners that docs/SCALE.md promises */
}

/* Half of the limit of open files is all that a shell often allows at first. */
static void the_doors_share_the_files_that_may_be_open(void **state)
{
    static const rlim_t limits[] = { 1000, 4096, 20000 };
    struct rlimit now = { 0 };

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &now), 0);
    for (size_t i = 0; i < ARRAY_LEN(limits) && limits[i] <= now.rlim_max; i++) {
        int status = 0;
        pid_t child = fork();

        if (child == 0)
            _exit(room_with(limits[i]));
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* Bytes that are no HTTP, or try to be two things at once: refused or dropped, and nobody else notices. */
static void garbage_on_the_wire_is_refused_or_dropped(void **state)
{
    static const struct {
        const char *bytes;
        size_t n;
    } cases[] = {
#define RAW(s) { s, sizeof s - 1 }
        RAW("\0\0\0\0\r\n\r\n"),
        RAW("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        RAW("GET\r\n\r\n"),
        RAW("GET  HTTP/1.1\r\n\r\n"),
        RAW("GET /health\r\n\r\n"),
        RAW("GET /health HTTP/9.9\r\n\r\n"),
        RAW("GET /health HTTP/1.1 x\r\n\r\n"),
        RAW("GET /hea\0lth HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("get /health HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("BREW /health HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("CONNECT evil:443 HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("GET http://evil.example/health HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("GET * HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
        RAW("GET /health HTTP/1.1\r\nno colon\r\n\r\n"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nContent-Length: -5\r\n\r\n{}"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n{}"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nContent-Length: 2x\r\n\r\n{}"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffff0\r\n"),
        RAW("POST /api/v1/studies HTTP/1.1\r\nContent-Length: 5\r\n\r\n{}"),
        RAW("\r\n\r\n\r\n\r\n"),
#undef RAW
    };
    struct web_rig *rig = rig_with(NULL);

    (void)state;
    for (size_t i = 0; i < 2 * ARRAY_LEN(cases); i++) {
        int fd = web_rig_connect(rig, i % 2);
        char *got = NULL;

        web_rig_write(rig, fd, cases[i / 2].bytes, cases[i / 2].n);
        got = web_rig_read_raw(rig, fd, NULL);
        if (strstr(got, " 200 ") || strstr(got, " 201 "))
            fail_msg("case %zu was taken: %.200s", i / 2, got);
        if (strstr(got, "HTML"))
            fail_msg("case %zu was answered with a page: %.300s", i / 2, got);
        mem_free(got);
        close(fd);
        web_rig_pump(rig, 3);
        expect(web_rig_call(rig, true, "GET", "/health", NULL, NULL), 200, NULL);
    }
    assert_int_equal(rig->ctl->calls, 0);
    rig_end(rig);
}

/* Refused before there is a request that could be answered; the answer has the form of every other error. */
static void what_is_no_request_is_a_problem_too(void **state)
{
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        { "GARBAGE\r\n\r\n", 400 },
        { "GET /health HTTP/1.1\r\nno colon\r\n\r\n", 400 },
        { "POST /api/v1/studies HTTP/1.1\r\nHost: localhost\r\n" ADMIN
          "Content-Length: 99999999999\r\n\r\n",
          413 },
        { "POST /api/v1/studies HTTP/1.1\r\nExpect: tea\r\nContent-Length: 2\r\n\r\n", 417 },
    };
    static const char good[] = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct web_rig *rig = rig_with(NULL);

    (void)state;
    for (size_t i = 0; i < 4 * ARRAY_LEN(cases); i++) {
        const char *text = cases[i / 4].text;
        int fd = web_rig_connect(rig, i % 2);
        struct web_reply r = { 0 };

        if (i % 4 >= 2) { /* behind a good one on the same connection */
            web_rig_write(rig, fd, good, sizeof good - 1);
            assert_int_equal(web_rig_read(rig, fd, false, &r), 1);
            assert_int_equal(r.status, 200);
            web_reply_free(&r);
        }
        web_rig_write(rig, fd, text, strlen(text));
        assert_int_equal(web_rig_read(rig, fd, false, &r), 1);
        assert_int_equal(r.status, cases[i / 4].status);
        assert_string_equal(web_reply_header(&r, "Content-Type"), "application/problem+json");
        assert_string_equal(web_reply_header(&r, "Connection"), "close");
        json_t *problem = json_loads(r.body, 0, NULL);
        assert_int_equal(json_integer_value(json_object_get(problem, "status")), r.status);
        assert_true(json_string_length(json_object_get(problem, "detail")) > 10);
        json_decref(problem);
        web_reply_free(&r);
        close(fd);
    }
    assert_int_equal(rig->ctl->calls, 0);
    rig_end(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_doors_answer),
        cmocka_unit_test(socket_folder_open_to_others_is_refused),
        cmocka_unit_test(stale_socket_file_is_replaced),
        cmocka_unit_test(pipelined_requests_are_answered_in_order),
        cmocka_unit_test(write_is_answered_only_after_its_commit),
        cmocka_unit_test(read_is_not_refused_with_the_write_before_it),
        cmocka_unit_test(failed_write_is_undone),
        cmocka_unit_test(client_that_leaves_early_harms_nobody),
        cmocka_unit_test(lease_waits_and_is_granted_later),
        cmocka_unit_test(lease_of_a_client_that_left_is_cancelled),
        cmocka_unit_test(waiting_lease_survives_the_end_of_the_server),
        cmocka_unit_test(a_call_for_a_trial_waits_as_a_lease_does),
        cmocka_unit_test(server_may_end_while_commits_and_hashes_are_on_their_way),
        cmocka_unit_test(headers_and_bodies_have_limits),
        cmocka_unit_test(bodies_in_flight_are_bounded),
        cmocka_unit_test(request_that_never_ends_is_closed),
        cmocka_unit_test(a_full_house_says_so),
        cmocka_unit_test(the_doors_share_the_files_that_may_be_open),
        cmocka_unit_test(what_is_no_request_is_a_problem_too),
        cmocka_unit_test(garbage_on_the_wire_is_refused_or_dropped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
