/* test_torn.c - torn connections: runners and a client behind a bad network (proxy.h) that cuts connections at random bytes,
 * in the middle of requests, answers, uploads and long polls. Studies end by themselves, every trial once, nothing that
 * was told is lost, and a deterministic study gives what it gives over a good one. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/str.h"
#include "tests/e2e/feed.h"
#include "tests/e2e/ledger.h"
#include "tests/e2e/proxy.h"
#include "tests/e2e/service.h"
#include "tests/e2e/user.h"

#include <inttypes.h>
#include <unistd.h>

enum { STUDY_MS = 180000, TORN_MS = 12000 };

struct outcome {
    char *board;
    char sha256[SHA256_HEX];
};

static void must(struct service *s, int rc, const struct err *err, const char *what)
{
    if (rc == 0)
        return;
    service_print_logs(s, 40);
    service_close(s, true);
    fail_msg("seed %" PRIu64 ": %s: %s (folder %s)", test_seed(), what, err->text, s->dir);
}

static void must_hold(struct service *s, struct ledger *l)
{
    struct err err = { 0 };

    if (ledger_wrong(l)) {
        err_set(&err, ERR_IO, "%s", ledger_wrong(l));
        must(s, -1, &err, "the ledger");
    }
}

static void open_service(struct service *s, const char *runner_socket, struct err *err)
{
    const struct service_conf conf = { .n_runners = 2,
                                       .devices = { 1, 2 },
                                       .lease_ms = 3000,
                                       .runner_socket = runner_socket,
                                       .seed = test_seed() };

    must(s, service_open(s, &conf, err), err, "folder");
}

static void run_study(struct service *s, struct client *c, const char *name, struct outcome *out,
                      struct err *err)
{
    /* No networks: a network takes half a minute, and what it sends differs in nothing. */
    json_t *spec = json_pack(
        "{s:s, s:s, s:s, s:i, s:i, s:{s:i}, s:s, s:s, s:[{s:s},{s:s},{s:s},{s:s}]}", "name", name,
        "dataset", "main", "target", "class", "seed", 5, "parallel", 4, "budget", "trials", 12,
        "sampler", "testhash", "scheduler", "testhash", "space", "family", "linear", "family",
        "boost", "family", "forest", "family", "extra_trees");
    json_t *row = NULL;
    int64_t id = 0;

    must(s, client_post(c, spec, &row, err, "/studies"), err, "submit");
    json_decref(spec);
    id = json_i64(row, "id");
    json_decref(row);
    must(s, api_await_study(c, id, STUDY_MS, NULL, err), err, "study");
    out->board = api_leaderboard_text(c, id, err);
    must(s, out->board ? 0 : -1, err, "leaderboard");
    char path[64];
    (void)!snprintf(path, sizeof path, "/studies/%" PRId64 "/best/artifact", id);
    must(s, api_download_sha(c, path, out->sha256, err), err, "model");
}

static void run_on_good_network(struct outcome *out)
{
    struct service s;
    struct err err = { 0 };
    char table[200];
    int64_t id = 0;

    open_service(&s, NULL, &err);
    must(&s, service_start(&s, &err), &err, "start");
    struct client *c = service_client(&s);
    must(&s, service_table(&s, "main", 300, 1, table, sizeof table, &err), &err, "table");
    must(&s, api_dataset(c, table, "main", 60000, &id, &err), &err, "dataset");
    run_study(&s, c, "torn", out, &err);
    must(&s, service_stop(&s, 60000, &err), &err, "stop");
    client_free(c);
    service_close(&s, false);
}

/* A restless user, too, sits behind a bad network; the observer of the events does not. */
static void run_on_bad_network(struct outcome *out, struct proxy_counts counts[2], struct ledger *l)
{
    const struct proxy_conf runners = { .seed = test_seed(),
                                        .short_percent = 40,
                                        .short_bytes = 3000,
                                        .long_bytes = 400000,
                                        .delay_ms = 5 };
    const struct proxy_conf users = { .seed = test_seed() + 1,
                                      .short_percent = 40,
                                      .short_bytes = 2000,
                                      .long_bytes = 600000,
                                      .delay_ms = 3 };
    struct service s, beyond;
    struct err err = { 0 };
    char table[200], socket[2][128];
    int64_t id = 0;

    open_service(&s, NULL, &err);
    (void)!snprintf(socket[0], sizeof socket[0], "%s/torn0", s.dir);
    (void)!snprintf(socket[1], sizeof socket[1], "%s/torn1", s.dir);
    s.conf.runner_socket = socket[0];
    struct proxy *p = proxy_start(socket[0], s.sock, &runners, &err);
    struct proxy *q = proxy_start(socket[1], s.sock, &users, &err);
    must(&s, p && q ? 0 : -1, &err, "proxy");
    must(&s, service_start(&s, &err), &err, "start");
    struct client *c = service_client(&s);
    must(&s, service_table(&s, "main", 300, 1, table, sizeof table, &err), &err, "table");
    must(&s, api_dataset(c, table, "main", 60000, &id, &err), &err, "dataset over a torn network");
    beyond = s;
    str_copy(beyond.sock, sizeof beyond.sock, socket[1]);
    struct feed *feed = feed_start(s.sock, l);
    struct user *user = user_start(&beyond, l, "main", test_seed());
    run_study(&s, c, "torn", out, &err);
    for (int64_t end = now_ms() + TORN_MS; now_ms() < end && !ledger_wrong(l);)
        pause_ms(50);
    user_submit_no_more(user);
    pause_ms(300);

    json_t *all = NULL, *row = NULL;
    size_t i = 0;
    must(&s, client_get(c, &all, &err, "/studies?limit=1000"), &err, "studies");
    json_array_foreach(json_object_get(all, "studies"), i, row)
    {
        must(&s, api_await_study(c, json_i64(row, "id"), STUDY_MS, NULL, &err), &err,
             "a study of the user");
        ledger_study(l, json_i64(row, "id"));
    }
    json_decref(all);
    user_stop(user);
    ledger_check_live(l, c, 1000);
    feed_stop(feed);
    must_hold(&s, l);
    counts[1] = proxy_stop(q);
    must(&s, service_stop(&s, 60000, &err), &err, "stop");
    counts[0] = proxy_stop(p);
    ledger_check_folder(l, s.data, true);
    must_hold(&s, l);
    client_free(c);
    service_close(&s, false);
}

static void torn_connections_lose_and_repeat_nothing(void **state)
{
    struct outcome good = { 0 }, bad = { 0 };
    struct proxy_counts n[2];
    struct ledger *l = ledger_new();

    (void)state;
    run_on_good_network(&good);
    run_on_bad_network(&bad, n, l);
    struct ledger_counts c = ledger_counts(l);
    print_message("runners: %d connections, %d cut, %" PRId64
                  " bytes; user: %d connections, %d cut, %" PRId64 " bytes; "
                  "%d studies, %d blobs, %d ends, seed %" PRIu64 "\n",
                  n[0].connections, n[0].cuts, n[0].bytes, n[1].connections, n[1].cuts, n[1].bytes,
                  c.studies, c.blobs, c.ends, test_seed());
    assert_true(n[0].cuts > 20);
    assert_true(n[1].cuts > 10);
    assert_string_equal(good.board, bad.board);
    assert_string_equal(good.sha256, bad.sha256);
    mem_free(good.board);
    mem_free(bad.board);
    ledger_free(l);
}

static void write_random(const char *path, size_t bytes, uint64_t seed)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    for (size_t i = 0; i < bytes; i += 8) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        assert_int_equal(fwrite(&seed, 8, 1, f), 1);
    }
    assert_int_equal(fclose(f), 0);
}

/* One call of the client, several parts, cuts in the middle of each kind of request: the file arrives whole. */
static void an_upload_goes_on_where_it_was_cut(void **state)
{
    struct service s;
    struct err err = { 0 };
    char bad[108], url[120], file[160], sha256[SHA256_HEX], there[SHA256_HEX], path[120];
    int cuts = 0;

    (void)state;
    must(&s, service_open(&s, &(struct service_conf){ 0 }, &err), &err, "folder");
    must(&s, service_start(&s, &err), &err, "start");
    snprintf(bad, sizeof(bad), "%s/bad", s.dir);
    snprintf(url, sizeof(url), "unix:%s", bad);
    snprintf(file, sizeof(file), "%s/file", s.dir);
    for (uint64_t round = 1; round <= 8; round++) {
        const struct proxy_conf net = {
            .seed = round, .short_percent = 15, .short_bytes = 600, .long_bytes = 40 << 20
        };
        struct proxy *p = proxy_start(bad, s.sock, &net, &err);
        struct client *c = client_new(url, NULL, &err), *good = service_client(&s);

        must(&s, p && c ? 0 : -1, &err, "proxy");
        write_random(file, 9 << 20, round);
        must(&s, client_upload(c, file, sha256, &err), &err, "upload over a torn network");
        snprintf(path, sizeof(path), "/blobs/%s", sha256);
        must(&s, api_download_sha(good, path, there, &err), &err, "download");
        assert_string_equal(there, sha256);
        client_free(c);
        client_free(good);
        cuts += proxy_stop(p).cuts;
        unlink(bad);
    }
    assert_true(cuts > 0);
    must(&s, service_stop(&s, 60000, &err), &err, "stop");
    service_close(&s, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(torn_connections_lose_and_repeat_nothing),
                                        cmocka_unit_test(an_upload_goes_on_where_it_was_cut) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
