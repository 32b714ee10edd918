/* test_chaos.c - everything at once, bounded and by a seed: simulated runners (fleet.h) work on one study through bad networks
 * (proxy.h) while the controller is killed, machines vanish, networks go away, clocks jump and the disk fills up. After it,
 * nothing that was acknowledged is lost, every trial has ended once, and trials, leaderboard and model are those of the same
 * study unbroken. In the suite: 12 runners, 300 trials, one act of each kind. `make test-chaos`: 50 runners, 10,000 trials, 60
 * acts of chaos.
 *   ASSAY_CHAOS_RUNNERS  ASSAY_CHAOS_TRIALS  ASSAY_CHAOS_ACTS  ASSAY_TEST_SEED */
#include "tests/unit.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "store/store.h"
#include "store/trial.h"
#include "tests/e2e/disk.h"
#include "tests/e2e/feed.h"
#include "tests/e2e/fleet.h"
#include "tests/e2e/proxy.h"
#include "tests/e2e/service.h"

#include <glob.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

enum {
    PROXIES = 3,
    LEASE_MS = 2000,
    DISK_BYTES = 1 << 30,
    FULL_MS = 3000,
    NEWEST = 12,
    PAGE = 1000
};
enum act { ACT_KILL, ACT_FAULT, ACT_VANISH, ACT_NETWORK, ACT_LEASES, ACT_CLOCK, ACT_DISK, ACTS };

static const char *const act_names[ACTS] = {
    "controller killed",  "killed at a fault point",    "machines vanished",
    "networks went away", "all leases ran out at once", "date jumped",
    "disk full"
};

struct chaos {
    struct service s;
    struct client *client;
    struct ledger *ledger;
    struct feed *feed;
    struct fleet *fleet;
    struct proxy *proxies[PROXIES];
    char doors[PROXIES][128], clock_file[128], clock_env[2][200];
    struct proxy_counts cuts;
    struct rng rng;
    bool has_disk, has_clock;
    int order[ACTS], n_acts, done[ACTS];
    int64_t study, end_ms;
};
struct outcome {
    char *trials, *board;
    char artifact[SHA256_HEX];
    int64_t reports;
};

static int wanted(const char *name, int otherwise)
{
    const char *text = getenv(name);
    int64_t n = otherwise;

    if (text && str_i64(text, 1, 1000000, &n, NULL) < 0)
        fail_msg("%s=%s is no number", name, text);
    return (int)n;
}

static int n_trials(void)
{
    return wanted("ASSAY_CHAOS_TRIALS", 300);
}

static void give_up(struct chaos *c, const char *why)
{
    print_error("seed %" PRIu64 ": %s\n", test_seed(), why);
    fleet_stop(c->fleet);
    feed_stop(c->feed);
    service_print_logs(&c->s, 40);
    service_close(&c->s, true);
    fail_msg("seed %" PRIu64 ": %s (folder %s)", test_seed(), why, c->s.dir);
}

static void must(struct chaos *c, int rc, const struct err *err, const char *what)
{
    char text[600];

    if (rc == 0)
        return;
    (void)!snprintf(text, sizeof text, "%s: %s", what, err->text);
    give_up(c, text);
}

static void check(struct chaos *c)
{
    if (ledger_wrong(c->ledger))
        give_up(c, ledger_wrong(c->ledger));
    if (now_ms() > c->end_ms)
        give_up(c, "the time is over");
}

/* ---- networks ---- */

static void networks_up(struct chaos *c)
{
    /* One only slows, one cuts now and then, one cuts nearly every connection in the middle of a call or of its answer. */
    const struct proxy_conf confs[PROXIES] = {
        { .delay_ms = 30 },
        { .delay_ms = 5, .short_percent = 20, .short_bytes = 3000, .long_bytes = 200000 },
        { .delay_ms = 2, .short_percent = 70, .short_bytes = 1500, .long_bytes = 30000 }
    };
    struct err err = { 0 };

    for (int i = 0; i < PROXIES; i++) {
        struct proxy_conf conf = confs[i];

        conf.seed = rng_u64(&c->rng);
        (void)!snprintf(c->doors[i], sizeof c->doors[i], "%s/net%d", c->s.dir, i);
        unlink(c->doors[i]);
        c->proxies[i] = proxy_start(c->doors[i], c->s.sock, &conf, &err);
        must(c, c->proxies[i] ? 0 : -1, &err, "proxy");
    }
}

static void networks_down(struct chaos *c)
{
    for (int i = 0; i < PROXIES; i++) {
        struct proxy_counts n = proxy_stop(c->proxies[i]);

        c->proxies[i] = NULL;
        c->cuts.connections += n.connections;
        c->cuts.cuts += n.cuts;
        c->cuts.bytes += n.bytes;
        unlink(c->doors[i]);
    }
}

/* ---- clocks: the date through libfaketime, where it is installed ---- */

static void clock_set(struct chaos *c, int64_t by_s)
{
    FILE *f = fopen(c->clock_file, "w");

    assert_non_null(f);
    fprintf(f, "%+" PRId64 "\n", by_s);
    fclose(f);
}

static void clock_set_up(struct chaos *c)
{
    glob_t found;
    const char *san = getenv("SAN");

    (void)!snprintf(c->clock_file, sizeof c->clock_file, "%s/date", c->s.dir);
    clock_set(c, 0);
    c->has_clock =
        !(san && san[0]) && glob("/usr/lib/*/faketime/libfaketime.so.1", 0, NULL, &found) == 0;
    if (!c->has_clock) {
        print_message(
            "libfaketime is not here (or this is a sanitized build): the date does not jump\n");
        return;
    }
    (void)!snprintf(c->clock_env[0], sizeof c->clock_env[0], "LD_PRELOAD=%s", found.gl_pathv[0]);
    (void)!snprintf(c->clock_env[1], sizeof c->clock_env[1], "FAKETIME_TIMESTAMP_FILE=%s",
                    c->clock_file);
    const char *env[] = { c->clock_env[0], c->clock_env[1], "FAKETIME_CACHE_DURATION=1",
                          "FAKETIME_DONT_FAKE_MONOTONIC=1" };
    memcpy(c->s.conf.env, env, sizeof env);
    globfree(&found);
}

/* ---- a service with a study ---- */

static void set_up(struct chaos *c, bool has_disk)
{
    const struct service_conf conf = { .n_runners = 1,
                                       .devices = { 1 },
                                       .lease_ms = LEASE_MS,
                                       .quarantine_ms = 500,
                                       .seed = test_seed() };
    struct err err = { 0 };
    char table[200];
    int64_t id = 0;

    *c = (struct chaos){ .ledger = ledger_new() };
    rng_init(&c->rng, test_seed(), 5);
    c->end_ms = now_ms() + patience_ms(50000 + 150 * (int64_t)n_trials());
    must(c, service_open(&c->s, &conf, &err), &err, "folder");
    must(c, io_mkdirs(c->s.data, 0700, &err), &err, "data folder");
    c->has_disk = has_disk && disk_mount(c->s.data, DISK_BYTES);
    if (has_disk)
        clock_set_up(c);
    must(c, service_start(&c->s, &err), &err, "start");
    c->client = service_client(&c->s);
    must(c, service_table(&c->s, "main", 200, 1, table, sizeof table, &err), &err, "table");
    must(c, api_dataset(c->client, table, "main", 60000, &id, &err), &err, "dataset");
    ledger_dataset(c->ledger, id);
    service_kill_runner(&c->s, 0); /* it has read the table; the fleet does the rest */
    c->s.conf.n_runners = 0;
    c->feed = feed_start(c->s.sock, c->ledger);
}

static void submit(struct chaos *c)
{
    json_t *spec = json_pack(
               "{s:s, s:s, s:s, s:i, s:i, s:{s:i}, s:s, s:s, s:s, s:s, s:[{s:s}], s:{s:i}}", "name",
               "chaos", "dataset", "main", "target", "class", "seed", 9, "parallel", 64, "budget",
               "trials", n_trials(), "sampler", "tpe", "scheduler", "asha", "validation", "kfold",
               "ensemble", "off", "space", "family", "boost", "stop", "no_gain_trials", 100000000),
           *row = NULL;
    struct err err = { 0 };

    assert_non_null(spec);
    must(c, client_post(c->client, spec, &row, &err, "/studies"), &err, "submit");
    c->study = json_i64(row, "id");
    ledger_study(c->ledger, c->study);
    json_decref(spec);
    json_decref(row);
}

/* Every trial with its configuration and its end, as text. */
static char *trials_text(struct chaos *c)
{
    static const char *const kept[] = { "number", "state", "level", "score", "config" };
    json_t *all = json_array(), *page = NULL, *row = NULL;
    struct err err = { 0 };
    int64_t after = 0;
    size_t i = 0;

    do {
        must(c,
             client_get(c->client, &page, &err,
                        "/studies/%" PRId64 "/trials?after=%" PRId64 "&limit=%d", c->study, after,
                        PAGE),
             &err, "trials");
        json_array_foreach(json_object_get(page, "trials"), i, row)
        {
            json_t *line = json_array();

            for (size_t k = 0; k < ARRAY_LEN(kept); k++)
                json_array_append(line, json_object_get(row, kept[k])
                                            ? json_object_get(row, kept[k])
                                            : json_null());
            json_array_append_new(all, line);
            ledger_trial(c->ledger, row);
        }
        after = json_i64(page, "next");
        json_decref(page);
    } while (after > 0);
    char *text = jsonx_dump(all);
    json_decref(all);
    return text;
}

static void result(struct chaos *c, struct outcome *out)
{
    struct err err = { 0 };
    char path[80];

    out->trials = trials_text(c);
    out->board = api_leaderboard_text(c->client, c->study, &err);
    must(c, out->board ? 0 : -1, &err, "leaderboard");
    (void)!snprintf(path, sizeof path, "/studies/%" PRId64 "/best/artifact", c->study);
    must(c, api_download_sha(c->client, path, out->artifact, &err), &err, "model");
}

/* ---- chaos ---- */

static bool is_there(const json_t *trial, const struct fleet_report *what)
{
    json_t *row = NULL;
    size_t i = 0;

    if (what->level == 0)
        return !str_eq(json_text(trial, "state"), "running") &&
               !str_eq(json_text(trial, "state"), "queued") &&
               !str_eq(json_text(trial, "state"), "paused");
    json_array_foreach(json_object_get(trial, "reports"), i, row)
    {
        if (json_i64(row, "level") == what->level &&
            json_number_value(json_object_get(row, "value")) == what->value)
            return true;
    }
    return false;
}

/* What was acknowledged last is there now, before the same work could have been done again. */
static void check_newest(struct chaos *c)
{
    struct fleet_report newest[NEWEST];
    int n = fleet_newest(c->fleet, newest, NEWEST);
    json_t *trial = NULL;

    for (int i = 0; i < n; i++) {
        if (client_get(c->client, &trial, NULL, "/trials/%" PRId64, newest[i].trial) < 0)
            continue;
        if (!is_there(trial, &newest[i]))
            ledger_fail(c->ledger,
                        "trial %" PRId64
                        ": %.17g at level %d (0: its end) was acknowledged just now "
                        "and is not there",
                        newest[i].trial, newest[i].value, newest[i].level);
        json_decref(trial);
        trial = NULL;
    }
}

static void restart(struct chaos *c)
{
    struct err err = { 0 };

    service_kill_controller(&c->s);
    if (rng_below(&c->rng, 3) == 0) { /* and once more, while it recovers */
        must(c, service_start_controller(&c->s, &err), &err, "restart");
        pause_ms(rng_below(&c->rng, 60));
        service_kill_controller(&c->s);
    }
    must(c, service_start_controller(&c->s, &err), &err, "restart");
}

static void restart_to_die(struct chaos *c)
{
    static const char *const points[] = {
        "*", "turn.commit", "blob.rename", "report.event", "dispatch.grant", "lease.expire"
    };
    struct err err = { 0 };
    int64_t until = now_ms() + 1500;

    service_kill_controller(&c->s);
    (void)!snprintf(c->s.fault, sizeof c->s.fault, "%s:%u:kill",
                    points[rng_below(&c->rng, ARRAY_LEN(points))], 1 + rng_below(&c->rng, 200));
    must(c, service_start_controller(&c->s, &err), &err, "restart");
    while (service_is_up(&c->s) && now_ms() < until)
        pause_ms(5);
    service_kill_controller(&c->s);
    must(c, service_start_controller(&c->s, &err), &err, "restart");
}

static void all_leases_run_out(struct chaos *c)
{
    json_t *body = json_pack("{s:[s]}", "args", "+90m");
    struct err err = { 0 };

    must(c, service_wait(&c->s, 60000, &err), &err, "before the clocks move");
    must(c, client_post(c->client, body, NULL, &err, "/debug/clock"), &err, "clock");
    json_decref(body);
}

static void disk_full(struct chaos *c)
{
    int64_t until = now_ms() + 300 + rng_below(&c->rng, 900), last = now_ms() + FULL_MS,
            full = fleet_counts(c->fleet).full;
    bool is_killed = rng_below(&c->rng, 2) == 0;
    struct err err = { 0 };

    /* Until somebody was refused: the log of the database may have had room for a while. */
    while (now_ms() < until || (now_ms() < last && fleet_counts(c->fleet).full == full)) {
        disk_fill(c->s.data);
        check_newest(c); /* reads go on */
        pause_ms(20);
    }
    if (is_killed)
        service_kill_controller(&c->s);
    else if (!service_is_up(&c->s))
        give_up(c, "the controller ended because the disk was full");
    disk_make_room(c->s.data);
    if (is_killed)
        must(c, service_start_controller(&c->s, &err), &err, "restart");
}

/* All kinds of acts in a random order, then all of them in another one. */
static enum act act_next(struct chaos *c)
{
    int at = c->n_acts++ % ACTS;

    for (int i = 0; at == 0 && i < ACTS; i++) {
        int k = (int)rng_below(&c->rng, (uint32_t)i + 1);

        c->order[i] = c->order[k];
        c->order[k] = i;
    }
    return (enum act)c->order[at];
}

static void act(struct chaos *c, int runners)
{
    enum act a = act_next(c);

    if ((a == ACT_DISK && !c->has_disk) || (a == ACT_CLOCK && !c->has_clock))
        a = ACT_KILL;
    switch (a) {
    case ACT_FAULT:
        restart_to_die(c);
        break;
    case ACT_VANISH:
        fleet_vanish(c->fleet, 1 + (int)rng_below(&c->rng, (uint32_t)runners / 2));
        break;
    case ACT_NETWORK:
        networks_down(c);
        pause_ms(rng_below(&c->rng, LEASE_MS));
        networks_up(c);
        break;
    case ACT_LEASES:
        all_leases_run_out(c);
        break;
    case ACT_CLOCK: /* some years forth or back; the next restart may find another date again */
        clock_set(c, (int64_t)rng_below(&c->rng, 200000000) - 100000000);
        break;
    case ACT_DISK:
        disk_full(c);
        break;
    case ACT_KILL:
    case ACTS:
    default:
        restart(c);
        break;
    }
    c->done[a]++;
}

static bool is_running(struct chaos *c)
{
    json_t *row = NULL;
    bool has_ended = client_get(c->client, &row, NULL, "/studies/%" PRId64, c->study) == 0 &&
                     !str_eq(json_text(row, "state"), "running");

    json_decref(row);
    return !has_ended;
}

/* The nth act comes when so many reports were acknowledged, so that all of them fall into the study. A few answers less than
 * in the unbroken study may arrive, so its end ends the chaos too. */
static void do_harm(struct chaos *c, int runners, int acts, int64_t reports)
{
    for (int i = 0; i < acts; i++) {
        for (int k = 0; fleet_counts(c->fleet).reports < reports * (i + 1) / (acts + 1); k++) {
            check(c);
            if (!service_is_up(&c->s))
                give_up(c, "the controller ended by itself");
            pause_ms(10);
            if (k % 50 == 49 && !is_running(c))
                return;
        }
        act(c, runners);
        check_newest(c);
        check(c);
    }
}

static void await_end(struct chaos *c)
{
    struct err err = { 0 };
    json_t *row = NULL;

    must(c, service_wait(&c->s, 60000, &err), &err, "after the last act");
    while (api_await_study(c->client, c->study, 1000, &row, &err) < 0) {
        check(c);
        if (err.code != ERR_TIMEOUT)
            must(c, -1, &err, "the study's end");
    }
    if (!str_eq(json_text(row, "state"), "completed") ||
        json_i64(json_object_get(row, "trials"), "total") < n_trials())
        give_up(c, "the study has not completed with all its trials");
    json_decref(row);
}

/* ---- what must hold ---- */

struct level {
    int level;
    double value;
    bool is_there;
};

static int on_report(void *arg, int level, double value, double se)
{
    struct level *l = arg;

    (void)se;
    l->is_there = l->is_there || (level == l->level && value == l->value);
    return 0;
}

static void check_reports(struct chaos *c)
{
    struct err err = { 0 };
    struct store *store = store_open_readonly(c->s.data, &err);
    int64_t n = 0;
    const struct fleet_report *all = fleet_reports(c->fleet, &n);

    must(c, store ? 0 : -1, &err, "data folder");
    for (int64_t i = 0; i < n; i++) {
        struct level l = { all[i].level, all[i].value, all[i].level == 0 }; /* ends: the ledger */

        must(c, store_report_each(store, all[i].trial, on_report, &l, &err), &err, "reports");
        if (!l.is_there)
            ledger_fail(c->ledger,
                        "trial %" PRId64
                        " was acknowledged to be %.17g at level %d, which is not stored",
                        all[i].trial, l.value, l.level);
    }
    store_close(store);
}

static void tear_down(struct chaos *c, struct outcome *out)
{
    struct err err = { 0 };

    result(c, out);
    ledger_check_live(c->ledger, c->client, 100);
    fleet_stop(c->fleet);
    feed_stop(c->feed);
    c->feed = NULL;
    must(c, service_stop(&c->s, 15000, &err), &err, "stop");
    ledger_check_folder(c->ledger, c->s.data, true);
    check_reports(c);
    check(c);
    (void)fleet_reports(c->fleet, &out->reports);
}

static void close_all(struct chaos *c)
{
    fleet_free(c->fleet);
    client_free(c->client);
    ledger_free(c->ledger);
    if (c->has_disk)
        disk_unmount(c->s.data);
    service_close(&c->s, false);
}

static void run_unbroken(struct outcome *out)
{
    struct chaos c;

    set_up(&c, false);
    const struct fleet_conf conf = { .runners = 4,
                                     .group = 8,
                                     .doors = { c.s.sock },
                                     .fail_percent = 2,
                                     .seed = 1,
                                     .label = "calm" };
    submit(&c);
    c.fleet = fleet_start(&conf, c.ledger);
    await_end(&c);
    tear_down(&c, out);
    close_all(&c);
}

static void print_counts(struct chaos *c, int64_t ms)
{
    struct fleet_counts n = fleet_counts(c->fleet);
    struct ledger_counts l = ledger_counts(c->ledger);

    for (int i = 0; i < ACTS; i++)
        print_message("%3d times %s\n", c->done[i], act_names[i]);
    print_message("%" PRId64 " ms; %d connections, %d of them cut by a proxy, %" PRId64
                  " answers lost, %" PRId64 " calls made again, %" PRId64
                  " of them because the disk was full, %" PRId64 " machines vanished, %" PRId64
                  " trials resumed, %" PRId64 " messages stale; acknowledged: %" PRId64
                  " values, %d ends, %d events; seed %" PRIu64 "\n",
                  ms, c->cuts.connections, c->cuts.cuts, n.lost, n.again, n.full, n.vanished,
                  n.resumed, n.stale, n.reports, l.ends, l.events, test_seed());
}

static void chaos_loses_nothing_repeats_nothing_and_changes_nothing(void **state)
{
    int runners = wanted("ASSAY_CHAOS_RUNNERS", 12), acts = wanted("ASSAY_CHAOS_ACTS", 7);
    struct outcome calm = { 0 }, wild = { 0 };
    struct chaos c;

    (void)state;
    run_unbroken(&calm);
    int64_t start = now_ms();
    set_up(&c, true);
    networks_up(&c);
    const struct fleet_conf conf = { .runners = runners,
                                     .group = 4,
                                     .doors = { c.s.sock, c.doors[0], c.doors[1], c.doors[2] },
                                     .work_ms = 30,
                                     .silent_ms = 3 * LEASE_MS / 2,
                                     .fail_percent = 2,
                                     .seed = test_seed(),
                                     .label = "wild" };
    submit(&c);
    c.fleet = fleet_start(&conf, c.ledger);
    do_harm(&c, runners, acts, calm.reports);
    await_end(&c);
    networks_down(&c);
    tear_down(&c, &wild);
    print_counts(&c, now_ms() - start);
    assert_string_equal(calm.board, wild.board);
    assert_string_equal(calm.artifact, wild.artifact);
    if (!str_eq(calm.trials, wild.trials)) /* too long to be printed whole */
        give_up(&c, "trials ended otherwise than in the unbroken study");
    close_all(&c);
    mem_free(calm.trials);
    mem_free(calm.board);
    mem_free(wild.trials);
    mem_free(wild.board);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        chaos_loses_nothing_repeats_nothing_and_changes_nothing) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
