/* test_blobs.c - fetch.c and upload.c against a controller whose connections tear at every place. */
#include "tests/unit.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/runner/mock.h"
#include "trial-runner/agent/fetch.h"
#include "trial-runner/agent/upload.h"

#include <unistd.h>

struct rig {
    struct clk clk;
    struct loop *loop;
    struct mock *mock;
    struct http *http;
    struct cache *cache;
    struct fetch *fetch;
    int requests, bad_request, bad_count, done, wanted;
    int tear_after; /* of the bad request's answer; -2: closed without a word; > 0 also a status */
    int status;
    size_t body_max; /* > 0: a longer body never arrives whole */
    char path[4096], file[200];
    struct err err;
};

static bool misbehave(void *arg, const struct server_request *r, struct server_answer *a)
{
    struct rig *g = arg;
    int at = g->requests++;

    if (g->body_max > 0 && r->len > g->body_max) {
        a->close = true;
        return true;
    }
    if (at < g->bad_request || at >= g->bad_request + g->bad_count)
        return false;
    if (g->status) {
        a->status = g->status;
        a->body = mem_strdup("{\"detail\":\"not now\"}");
        a->len = strlen(a->body);
        a->headers = "Retry-After: 0\r\n";
    } else {
        a->close = true;
    }
    return true;
}

static int setup(void **state)
{
    static int count;
    struct rig *g = mem_zalloc(sizeof *g);
    char name[60], path[200], url[220];
    struct http_conf conf = { .controller = url };
    struct mock_rules rules = { .lease_ms = 1000, .on_request = misbehave, .arg = g };

    count++;
    clk_init_system(&g->clk);
    g->loop = loop_new(&g->clk, NULL);
    g->bad_request = -1;
    snprintf(name, sizeof name, "blobs-%ld-%d.sock", (long)getpid(), count);
    snprintf(url, sizeof url, "unix:%s", test_path(path, sizeof path, name));
    g->mock = mock_new(g->loop, path, &rules);
    g->http = http_new(g->loop, &conf, NULL);
    snprintf(name, sizeof name, "blobs-%ld-%d", (long)getpid(), count);
    g->cache = cache_open(test_path(path, sizeof path, name), NULL, 1 << 30, NULL);
    snprintf(g->file, sizeof g->file, "%s/file", cache_scratch(g->cache));
    g->fetch = fetch_new(g->loop, g->http, g->cache, 20);
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    struct rig *g = *state;

    fetch_free(g->fetch);
    http_free(g->http);
    mock_free(g->mock);
    cache_close(g->cache);
    loop_free(g->loop);
    mem_free(g);
    return 0;
}

static void on_ready(void *arg, const char *path, const struct err *err)
{
    struct rig *g = arg;

    str_copy(g->path, sizeof g->path, path ? path : "");
    g->err = err ? *err : (struct err){ 0 };
    if (++g->done == g->wanted)
        loop_stop(g->loop);
}

static void on_uploaded(void *arg, const struct err *err)
{
    on_ready(arg, NULL, err);
}

static void get(struct rig *g, const char *sha256)
{
    g->wanted = g->done + 1;
    fetch_get(g->fetch, sha256, on_ready, g);
    if (g->done < g->wanted)
        loop_run(g->loop, NULL);
}

static char *noise(size_t n, char sha256[SHA256_HEX])
{
    char *p = mem_alloc(n);

    for (size_t i = 0; i < n; i++)
        p[i] = (char)(i * 2654435761u >> 13);
    sha256_hex(p, n, sha256);
    return p;
}

static void expect_file(const char *path, const char *bytes, size_t n)
{
    struct buf got;

    assert_int_equal(io_read_file(path, n + 1, &got, NULL), 0);
    assert_int_equal(got.len, n);
    assert_memory_equal(got.data, bytes, n);
    buf_fini(&got);
}

static void a_blob_is_downloaded_once_for_all_who_wait(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(300000, sha);

    mock_blob(g->mock, bytes, 300000, sha);
    g->wanted = 3;
    for (int i = 0; i < 3; i++)
        fetch_get(g->fetch, sha, on_ready, g);
    loop_run(g->loop, NULL);
    expect_file(g->path, bytes, 300000);
    get(g, sha);
    assert_int_equal(mock_blob_gets(g->mock), 1);
    mem_free(bytes);
}

static void a_torn_download_goes_on_where_it_stopped(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(100000, sha), part[4096];
    int64_t have = 0;

    /* What an earlier try left behind. */
    assert_int_equal(cache_part(g->cache, sha, part, sizeof part, &have, NULL), 0);
    assert_int_equal(io_replace(part, bytes, 60000, 0600, NULL), 0);
    mock_blob(g->mock, bytes, 100000, sha);
    get(g, sha);
    expect_file(g->path, bytes, 100000);
    mem_free(bytes);
}

static void a_part_that_is_already_whole_is_taken(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(1000, sha), part[4096];
    int64_t have = 0;

    assert_int_equal(cache_part(g->cache, sha, part, sizeof part, &have, NULL), 0);
    assert_int_equal(io_replace(part, bytes, 1000, 0600, NULL), 0);
    mock_blob(g->mock, bytes, 1000, sha);
    get(g, sha);
    expect_file(g->path, bytes, 1000);
    mem_free(bytes);
}

static void a_damaged_part_is_thrown_away_and_fetched_again(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(1000, sha), part[4096];
    int64_t have = 0;

    assert_int_equal(cache_part(g->cache, sha, part, sizeof part, &have, NULL), 0);
    assert_int_equal(io_replace(part, "rubbish", 7, 0600, NULL), 0);
    mock_blob(g->mock, bytes, 1000, sha);
    get(g, sha);
    expect_file(g->path, bytes, 1000);
    assert_int_equal(mock_blob_gets(g->mock), 2);
    mem_free(bytes);
}

static void a_blob_that_does_not_exist_is_told_at_once(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX];

    sha256_hex("nowhere", 7, sha);
    get(g, sha);
    assert_string_equal(g->path, "");
    assert_int_equal(g->err.code, ERR_NOTFOUND);
}

static void one_who_went_away_is_not_called(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(1000, sha);
    int other = 0;

    mock_blob(g->mock, bytes, 1000, sha);
    fetch_get(g->fetch, sha, on_ready, &other);
    fetch_cancel(g->fetch, &other);
    get(g, sha);
    assert_int_equal(g->done, 1);
    mem_free(bytes);
}

static void a_disk_that_refuses_only_delays(void **state)
{
    static const char *const points[] = { "fetch.write", "cache.part", "cache.rename",
                                          "http.answer" };
    struct rig *g = *state;

    for (size_t i = 0; i < ARRAY_LEN(points); i++) {
        size_t n = 1000 + i;
        char sha[SHA256_HEX], *bytes = noise(n, sha);

        mock_blob(g->mock, bytes, n, sha);
        fault_arm_name(points[i], 1, false);
        get(g, sha);
        assert_int_equal(fault_disarm(), 1);
        expect_file(g->path, bytes, n);
        mem_free(bytes);
    }
}

/* Uploads n bytes while request `bad` of this upload (and count - 1 after it) goes wrong. */
static void put(struct rig *g, size_t n, int bad, int count, int status)
{
    char sha[SHA256_HEX], *bytes = noise(n, sha);
    const char *got = NULL;
    size_t got_n = 0;

    assert_int_equal(io_replace(g->file, bytes, n, 0600, NULL), 0);
    g->bad_request = g->requests + bad;
    g->bad_count = count;
    g->status = status;
    g->wanted = g->done + 1;
    upload_start(g->loop, g->http, g->file, sha, 20, on_uploaded, g);
    loop_run(g->loop, NULL);
    assert_int_equal(g->err.code, ERR_NONE);
    assert_true(mock_has_blob(g->mock, sha, &got, &got_n));
    assert_int_equal(got_n, n);
    assert_memory_equal(got, bytes, n);
    mem_free(bytes);
}

static void a_file_goes_up_in_parts(void **state)
{
    struct rig *g = *state;
    int before = 0;

    put(g, 9 << 20, 0, 0, 0);
    assert_int_equal(g->requests, 1 + 1 + 3 + 1);
    before = g->requests;
    put(g, 9 << 20, 0, 0, 0);
    assert_int_equal(g->requests, before + 1); /* asked first: it is there already */
    put(g, 0, 0, 0, 0);
}

static void an_upload_survives_a_failure_at_every_step(void **state)
{
    static const int statuses[] = { 0, 500, 503, 507, 401 };
    struct rig *g = *state;

    for (size_t s = 0; s < ARRAY_LEN(statuses); s++) {
        for (int bad = 0; bad < 5; bad++)
            put(g, (5 << 20) + s * 10 + (size_t)bad, bad, 1 + bad % 2, statuses[s]);
    }
}

static void parts_shrink_until_they_get_through_a_bad_line(void **state)
{
    struct rig *g = *state;

    g->body_max = 100000;
    put(g, 1 << 20, 0, 0, 0);
}

static void an_upload_the_controller_forgot_begins_again(void **state)
{
    struct rig *g = *state;

    put(g, 5 << 20, 3, 1, 404);
    put(g, (5 << 20) + 1, 4, 1, 404);
    put(g, (5 << 20) + 2, 2, 1, 409);
}

static void turn(struct rig *g)
{
    struct loop_timer *t = loop_timer_new(g->loop, 1, 0, (void (*)(void *))loop_stop, g->loop);

    loop_run(g->loop, NULL);
    loop_timer_free(t);
}

static void an_upload_that_is_given_up_is_deleted_at_the_controller(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(9 << 20, sha);
    struct upload *u = NULL;

    assert_int_equal(io_replace(g->file, bytes, 9 << 20, 0600, NULL), 0);
    g->wanted = 1;
    u = upload_start(g->loop, g->http, g->file, sha, 20, on_uploaded, g);
    upload_for(u, false, 7, 1);
    while (g->requests < 3) /* asked, begun, a part */
        turn(g);
    upload_cancel(u);
    while (mock_drops(g->mock) == 0)
        turn(g);
    assert_int_equal(g->done, 0);
    mem_free(bytes);
}

static void a_refusal_that_cannot_change_ends_the_upload(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX];

    sha256_hex("x", 1, sha);
    assert_int_equal(io_replace(g->file, "x", 1, 0600, NULL), 0);
    g->bad_request = g->requests + 1;
    g->bad_count = 1;
    g->status = 413;
    g->wanted = 1;
    upload_start(g->loop, g->http, g->file, sha, 20, on_uploaded, g);
    loop_run(g->loop, NULL);
    assert_int_equal(g->err.code, ERR_TOOBIG);
    g->wanted = 2;
    upload_start(g->loop, g->http, "/nowhere/at/all", sha, 20, on_uploaded, g);
    loop_run(g->loop, NULL);
    assert_int_equal(g->err.code, ERR_IO);
}

static void uploads_and_downloads_wait_for_a_controller_that_is_away(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX], *bytes = noise(1000, sha);

    assert_int_equal(io_replace(g->file, bytes, 1000, 0600, NULL), 0);
    server_away(mock_server(g->mock));
    upload_start(g->loop, g->http, g->file, sha, 20, on_uploaded, g);
    g->wanted = -1;
    for (int64_t end = clk_now_ms(&g->clk) + 100; clk_now_ms(&g->clk) < end;) {
        struct loop_timer *t = loop_timer_new(g->loop, 10, 0, (void (*)(void *))loop_stop, g->loop);

        loop_run(g->loop, NULL);
        loop_timer_free(t);
    }
    assert_int_equal(g->done, 0);
    server_back(mock_server(g->mock));
    g->wanted = 1;
    loop_run(g->loop, NULL);
    assert_true(mock_has_blob(g->mock, sha, NULL, NULL));
    mem_free(bytes);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_blob_is_downloaded_once_for_all_who_wait),
        T(a_torn_download_goes_on_where_it_stopped),
        T(a_part_that_is_already_whole_is_taken),
        T(a_damaged_part_is_thrown_away_and_fetched_again),
        T(a_blob_that_does_not_exist_is_told_at_once),
        T(one_who_went_away_is_not_called),
        T(a_disk_that_refuses_only_delays),
        T(a_file_goes_up_in_parts),
        T(an_upload_survives_a_failure_at_every_step),
        T(parts_shrink_until_they_get_through_a_bad_line),
        T(an_upload_the_controller_forgot_begins_again),
        T(an_upload_that_is_given_up_is_deleted_at_the_controller),
        T(a_refusal_that_cannot_change_ends_the_upload),
        T(uploads_and_downloads_wait_for_a_controller_that_is_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
