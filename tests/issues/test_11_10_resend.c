/* test_11_10_resend.c - found by a proxy that flipped bits: a model whose bytes arrived damaged was refused once by its hash,
 * and at once its trial failed as if the device were broken. Three such trials quarantined the device. Now the runner
 * sends the bytes again before it blames anything, and gives up only when every try arrives damaged. */
#include "tests/unit.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/runner/mock.h"
#include "trial-runner/agent/fetch.h"
#include "trial-runner/agent/upload.h"

#include <unistd.h>

#define DAMAGED "{\"detail\":\"the 5 bytes received hash to 00, not 01\"}"

struct rig {
    struct clk clk;
    struct loop *loop;
    struct mock *mock;
    struct http *http;
    char file[300];
    int damaged; /* so many more commits find another hash */
    int commits, done;
    struct err err;
};

static bool damage(void *arg, const struct server_request *r, struct server_answer *a)
{
    struct rig *g = arg;

    if (!strstr(r->path, "/commit"))
        return false;
    g->commits++;
    if (g->damaged == 0)
        return false;
    g->damaged--;
    a->status = 400;
    a->body = mem_strdup(DAMAGED);
    a->len = strlen(DAMAGED);
    return true;
}

static int setup(void **state)
{
    struct rig *g = mem_zalloc(sizeof *g);
    char name[60], path[200], url[220];
    struct http_conf conf = { .controller = url };
    struct mock_rules rules = { .lease_ms = 1000, .on_request = damage, .arg = g };
    static int count;

    clk_init_system(&g->clk);
    g->loop = loop_new(&g->clk, NULL);
    snprintf(name, sizeof name, "again-%ld-%d.sock", (long)getpid(), ++count);
    snprintf(url, sizeof url, "unix:%s", test_path(path, sizeof path, name));
    g->mock = mock_new(g->loop, path, &rules);
    g->http = http_new(g->loop, &conf, NULL);
    test_path(g->file, sizeof g->file, "model");
    *state = g;
    return 0;
}

static int teardown(void **state)
{
    struct rig *g = *state;

    http_free(g->http);
    mock_free(g->mock);
    loop_free(g->loop);
    mem_free(g);
    return 0;
}

static void on_uploaded(void *arg, const struct err *err)
{
    struct rig *g = arg;

    g->done++;
    g->err = err ? *err : (struct err){ 0 };
    loop_stop(g->loop);
}

static void put(struct rig *g, int damaged, char sha[SHA256_HEX])
{
    static const char bytes[] = "model";

    sha256_hex(bytes, sizeof bytes, sha);
    assert_int_equal(io_replace(g->file, bytes, sizeof bytes, 0600, NULL), 0);
    g->damaged = damaged;
    upload_start(g->loop, g->http, g->file, sha, 20, on_uploaded, g);
    loop_run(g->loop, NULL);
    assert_int_equal(g->done, 1);
}

static void what_arrived_damaged_is_sent_again(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX];

    put(g, 2, sha);
    assert_int_equal(g->err.code, ERR_NONE);
    assert_int_equal(g->commits, 3);
    assert_int_equal(mock_drops(g->mock), 2); /* the damaged ones are deleted at the controller */
    assert_true(mock_has_blob(g->mock, sha, NULL, NULL));
}

static void what_arrives_damaged_every_time_is_given_up(void **state)
{
    struct rig *g = *state;
    char sha[SHA256_HEX];

    put(g, 1000, sha);
    assert_int_equal(g->commits, 6);
    assert_non_null(strstr(g->err.text, "hash to 00"));
    assert_false(mock_has_blob(g->mock, sha, NULL, NULL));
}

static void on_fetched(void *arg, const char *path, const struct err *err)
{
    assert_null(path);
    on_uploaded(arg, err);
}

/* Was tried for ever, without a word to the controller: the study said that the trial was running. */
static void a_cache_disk_that_stays_full_is_told_after_a_few_tries(void **state)
{
    struct rig *g = *state;
    char dir[200], sha[SHA256_HEX];
    struct cache *cache = cache_open(test_path(dir, sizeof dir, "full"), NULL, 1 << 20, NULL);
    struct fetch *fetch = fetch_new(g->loop, g->http, cache, 20);

    mock_blob(g->mock, "table", 5, sha);
    fault_arm_from("fetch.write", 1);
    fetch_get(fetch, sha, on_fetched, g);
    loop_run(g->loop, NULL);
    assert_int_equal(fault_disarm(), 1);
    assert_int_equal(g->done, 1);
    assert_int_equal(g->err.code, ERR_FULL);
    assert_non_null(strstr(g->err.text, "the runner's cache"));
    fetch_free(fetch);
    cache_close(cache);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void)
{
    const struct CMUnitTest tests[] = {
        T(what_arrived_damaged_is_sent_again),
        T(what_arrives_damaged_every_time_is_given_up),
        T(a_cache_disk_that_stays_full_is_told_after_a_few_tries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
