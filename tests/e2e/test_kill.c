/* test_kill.c - kill -9 of the controller, of a supervisor and of a worker at random moments, 200 rounds (ASSAY_KILL_ROUNDS),
 * while studies run, files go up and somebody reads along. Moments follow from ASSAY_TEST_SEED; some lie within the
 * first milliseconds of a restart, so that recovery is killed too. After it all, everything acknowledged is there, every
 * trial has ended once, every study by itself, and no process is left. */
#include "tests/unit.h"

#include "base/rng.h"
#include "base/str.h"
#include "tests/e2e/feed.h"
#include "tests/e2e/ledger.h"
#include "tests/e2e/service.h"
#include "tests/e2e/user.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/wait.h>

enum {
    ROUNDS = TEST_ROUNDS(200, 60),
    KILLING_MS = 72000,
    ENDING_MS = 150000,
    RUNNERS = 2,
    CALM_EVERY = 20,
    CALM_MS = 900
};

struct rig {
    struct service s;
    struct ledger *ledger;
    struct feed *feed;
    struct user *user;
    struct client *client;
    struct rng rng;
    int kills[5]; /* controller, supervisor, worker, all, at a fault point */
};

static int rounds_wanted(void)
{
    const char *text = getenv("ASSAY_KILL_ROUNDS");
    int64_t n = ROUNDS;

    if (text && str_i64(text, 1, 1000000, &n, NULL) < 0)
        n = ROUNDS;
    return (int)n;
}

/* Ends the test with what is known, and leaves the folder for a look. */
static void give_up(struct rig *r, const char *why)
{
    print_error("seed %" PRIu64 ": %s\n", test_seed(), why);
    feed_stop(r->feed);
    user_stop(r->user);
    service_print_logs(&r->s, 40);
    service_close(&r->s, true);
    fail_msg("seed %" PRIu64 ": %s (folder %s)", test_seed(), why, r->s.dir);
}

static void must(struct rig *r, int rc, const struct err *err, const char *what)
{
    char text[600];

    if (rc == 0)
        return;
    (void)!snprintf(text, sizeof text, "%s: %s", what, err->text);
    give_up(r, text);
}

static void check(struct rig *r)
{
    const char *wrong = ledger_wrong(r->ledger);

    if (wrong)
        give_up(r, wrong);
}

static void set_up(struct rig *r)
{
    /* Three workers killed in a row look like a broken device: it is out for a while, and comes back by itself. */
    const struct service_conf conf = { .n_runners = RUNNERS,
                                       .devices = { 2, 2 },
                                       .lease_ms = 400,
                                       .quarantine_ms = 500,
                                       .seed = test_seed() };
    struct err err = { 0 };
    char table[200];
    int64_t id = 0;

    memset(r, 0, sizeof *r);
    rng_init(&r->rng, test_seed(), 1);
    r->ledger = ledger_new();
    must(r, service_open(&r->s, &conf, &err), &err, "folder");
    must(r, service_start(&r->s, &err), &err, "start");
    r->client = service_client(&r->s);
    must(r, service_table(&r->s, "main", 300, 1, table, sizeof table, &err), &err, "table");
    must(r, api_dataset(r->client, table, "main", 60000, &id, &err), &err, "dataset");
    ledger_dataset(r->ledger, id);
    r->feed = feed_start(r->s.sock, r->ledger);
    r->user = user_start(&r->s, r->ledger, "main", test_seed());
}

/* Nobody may end but by our hand. */
static void check_alive(struct rig *r)
{
    int status = 0;

    if (!service_is_up(&r->s)) {
        if (!r->s.may_die || !WIFSIGNALED(r->s.ended_status) ||
            WTERMSIG(r->s.ended_status) != SIGKILL)
            give_up(r, "the controller ended by itself");
        r->kills[4]++;
    }
    for (int i = 0; i < RUNNERS; i++) {
        if (r->s.runners[i] > 0 && waitpid(r->s.runners[i], &status, WNOHANG) == r->s.runners[i]) {
            r->s.runners[i] = 0;
            give_up(r, "a supervisor ended by itself");
        }
    }
}

static void kill_something(struct rig *r)
{
    uint32_t what = rng_below(&r->rng, 100);
    int i = (int)rng_below(&r->rng, RUNNERS), kind = what < 45   ? 0
                                                     : what < 65 ? 1
                                                     : what < 92 ? 2
                                                                 : 3;

    if (kind == 0 || kind == 3)
        service_kill_controller(&r->s);
    if (kind == 1)
        service_kill_runner(&r->s, i);
    if (kind == 2)
        service_kill_worker(&r->s, i, rng_u32(&r->rng));
    for (int k = 0; kind == 3 && k < RUNNERS; k++)
        service_kill_runner(&r->s, k);
    r->kills[kind]++;
}

/* Some controllers are born to die at an exact place: the nth passing of a point where something could fail. */
static void arm_fault(struct rig *r)
{
    static const char *const points[] = { "*",
                                          "turn.commit",
                                          "blob.fsync",
                                          "blob.rename",
                                          "report.event",
                                          "dispatch.grant",
                                          "lease.expire",
                                          "task.event" };

    if (rng_below(&r->rng, 100) >= 25)
        return;
    uint32_t which = rng_below(&r->rng, 2 * ARRAY_LEN(points)),
             at = which < ARRAY_LEN(points) ? which : 0;
    (void)!snprintf(r->s.fault, sizeof r->s.fault, "%s:%u:kill", points[at],
                    1 + rng_below(&r->rng, at == 0 ? 8u << rng_below(&r->rng, 8) : 12));
}

static void restart(struct rig *r)
{
    struct err err = { 0 };
    char what[120] = "";

    /* The workers of a dead supervisor go with it. */
    if (service_orphans(&r->s, 3000, what, sizeof what) > 0)
        give_up(r, what);
    if (r->s.controller == 0)
        arm_fault(r);
    if (r->s.controller == 0)
        must(r, service_start_controller(&r->s, &err), &err, "restart of the controller");
    for (int i = 0; i < RUNNERS; i++) {
        if (r->s.runners[i] == 0)
            must(r, service_start_runner(&r->s, i, &err), &err, "restart of a runner");
    }
}

static void one_round(struct rig *r)
{
    struct err err = { 0 };
    bool at_once = rng_below(&r->rng, 100) < 30; /* recovery is killed, too */

    pause_ms(at_once ? rng_below(&r->rng, 40) : 20 + rng_below(&r->rng, 440));
    check_alive(r);
    kill_something(r);
    restart(r);
    if (rng_below(&r->rng, 100) < 40 && !r->s.may_die) {
        must(r, service_wait(&r->s, 60000, &err), &err, "after a restart");
        ledger_check_live(r->ledger, r->client, 1);
    }
    check(r);
}

static void debug_call(struct rig *r, const char *verb, json_t **out)
{
    struct err err = { 0 };
    json_t *body = json_object();

    must(r, client_post(r->client, body, out, &err, "/debug/%s", verb), &err, verb);
    json_decref(body);
}

/* All facts, hashed: a restart of an idle service changes none. */
static void restart_changes_no_fact(struct rig *r)
{
    json_t *before = NULL, *after = NULL;
    struct err err = { 0 };

    for (int i = 0; i < RUNNERS; i++)
        service_kill_runner(&r->s, i);
    debug_call(r, "digest", &before);
    service_kill_controller(&r->s);
    must(r, service_start_controller(&r->s, &err), &err, "last restart");
    must(r, service_wait(&r->s, 60000, &err), &err, "last restart");
    debug_call(r, "digest", &after);
    if (!json_equal(before, after))
        ledger_fail(r->ledger, "the digest changed: %s, then %s", json_text(before, "digest"),
                    json_text(after, "digest"));
    json_decref(before);
    json_decref(after);
    check(r);
}

static void let_all_end(struct rig *r)
{
    int64_t end = now_ms() + patience_ms(ENDING_MS);
    json_t *all = NULL, *row = NULL;
    struct err err = { 0 };
    size_t i = 0;

    user_submit_no_more(r->user);
    if (r->s.may_die) {
        service_kill_controller(&r->s);
        must(r, service_start_controller(&r->s, &err), &err, "the last restart");
    }
    must(r, service_wait(&r->s, 60000, &err), &err, "after the last kill");
    pause_ms(300); /* a submission may have been on its way */
    must(r, client_get(r->client, &all, &err, "/studies?limit=1000"), &err, "studies");
    json_array_foreach(json_object_get(all, "studies"), i, row)
    {
        int64_t id = json_i64(row, "id");

        must(r, api_await_study(r->client, id, MAX(end - now_ms(), 1), NULL, &err), &err,
             "a study that should end by itself");
        ledger_study(r->ledger, id);
    }
    json_decref(all);
    check_alive(r);
    user_stop(r->user);
    r->user = NULL;
    ledger_check_live(r->ledger, r->client, 1000);
    check(r);
}

static void tear_down(struct rig *r)
{
    json_t *replay = NULL;
    struct err err = { 0 };
    char what[120] = "";

    debug_call(r, "replay", &replay);
    if (json_array_size(json_object_get(replay, "differences")) > 0)
        ledger_fail(r->ledger, "debug replay differs: %s",
                    json_string_value(json_array_get(json_object_get(replay, "differences"), 0)));
    json_decref(replay);
    feed_stop(r->feed);
    r->feed = NULL;
    must(r, service_stop(&r->s, 15000, &err), &err, "stop");
    if (service_orphans(&r->s, 2000, what, sizeof what) > 0)
        give_up(r, what);
    ledger_check_folder(r->ledger, r->s.data, true);
    check(r);
    service_close(&r->s, false);
    client_free(r->client);
    ledger_free(r->ledger);
}

static void whatever_is_killed_nothing_acknowledged_is_lost(void **state)
{
    int64_t start = now_ms(), bound = start + patience_ms(KILLING_MS);
    int wanted = rounds_wanted(), n = 0, ended = 0;
    struct rig r;

    (void)state;
    if (getenv("ASSAY_KILL_ROUNDS"))
        bound = INT64_MAX; /* asked for by hand: as long as it takes */
    set_up(&r);
    for (; n < wanted && now_ms() < bound; n++) {
        if (n % CALM_EVERY == CALM_EVERY - 1)
            pause_ms(CALM_MS); /* so that studies get on, and end, between the storms */
        one_round(&r);
    }
    int64_t killed_ms = now_ms() - start;
    let_all_end(&r);
    struct ledger_counts c = ledger_counts(r.ledger);
    restart_changes_no_fact(&r);
    ended = c.studies;
    tear_down(&r);
    print_message(
        "%d of %d rounds in %" PRId64
        " ms (controller %d, supervisor %d, worker %d, all %d, at a fault point %d), then %" PRId64
        " ms; acknowledged: %d studies, %d datasets, %d blobs, %d events, %d ends of trials; seed %" PRIu64
        "\n",
        n, wanted, killed_ms, r.kills[0], r.kills[1], r.kills[2], r.kills[3], r.kills[4],
        now_ms() - start - killed_ms, c.studies, c.datasets, c.blobs, c.events, c.ends,
        test_seed());
    assert_true(ended > 0);
    assert_true(c.ends > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_is_killed_nothing_acknowledged_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
