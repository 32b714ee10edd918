/* test_full_disk.c - a full disk: the data folder lies on a small tmpfs (in a mount namespace of this process, so that nothing
 * stays mounted), which is filled to the last byte while a study runs. Writes get one clear error, reads go on, a controller
 * killed in that state comes back when there is room, and then everything ends as if nothing had been. Needs the right to
 * mount; skipped without. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/str.h"
#include "tests/e2e/disk.h"
#include "tests/e2e/feed.h"
#include "tests/e2e/ledger.h"
#include "tests/e2e/service.h"

#include <inttypes.h>
#include <unistd.h>

enum { DISK_BYTES = 24 << 20, STUDY_MS = 180000, FULL_MS = 3000, RECOVERY_MS = 30000 };

struct rig {
    struct service s;
    struct client *client;
    struct ledger *ledger;
    struct feed *feed;
};

static void give_up(struct rig *r, const char *what, const char *why)
{
    feed_stop(r->feed);
    service_print_logs(&r->s, 40);
    service_close(&r->s, true);
    fail_msg("seed %" PRIu64 ": %s: %s (folder %s)", test_seed(), what, why, r->s.dir);
}

static void must(struct rig *r, int rc, const struct err *err, const char *what)
{
    if (rc < 0)
        give_up(r, what, err->text);
}

static bool set_up(struct rig *r)
{
    const struct service_conf conf = {
        .n_runners = 1, .devices = { 2 }, .lease_ms = 3000, .seed = test_seed()
    };
    struct err err = { 0 };
    char table[200];
    int64_t id = 0;

    memset(r, 0, sizeof *r);
    r->ledger = ledger_new();
    must(r, service_open(&r->s, &conf, &err), &err, "folder");
    must(r, io_mkdirs(r->s.data, 0700, &err), &err, "data folder");
    if (!disk_mount(r->s.data, DISK_BYTES)) {
        service_close(&r->s, false);
        ledger_free(r->ledger);
        return false;
    }
    must(r, service_start(&r->s, &err), &err, "start");
    r->client = service_client(&r->s);
    must(r, service_table(&r->s, "main", 300, 1, table, sizeof table, &err), &err, "table");
    must(r, api_dataset(r->client, table, "main", 60000, &id, &err), &err, "dataset");
    ledger_dataset(r->ledger, id);
    r->feed = feed_start(r->s.sock, r->ledger);
    return true;
}

static int64_t submit(struct rig *r, const char *name, int trials, struct err *err)
{
    /* Few and small models: those that a study keeps must fit on this disk. */
    json_t *spec = json_pack("{s:s, s:s, s:s, s:i, s:{s:i}, s:[{s:s, s:s}]}", "name", name,
                             "dataset", "main", "target", "class", "seed", 3, "budget", "trials",
                             trials, "space", "family", "linear", "penalty", "l2");
    json_t *row = NULL;
    int rc = client_post(r->client, spec, &row, err, "/studies");
    int64_t id = json_i64(row, "id");

    if (rc == 0)
        ledger_study(r->ledger, id);
    json_decref(spec);
    json_decref(row);
    return rc == 0 ? id : -1;
}

static bool says_full(const struct err *err)
{
    return err->code == ERR_FULL && strlen(err->text) > 10;
}

static int upload(struct rig *r, const char *name, uint64_t seed, struct err *err)
{
    char path[200], sha256[SHA256_HEX] = "";
    int rc = service_table(&r->s, name, 4000, seed, path, sizeof path, err);

    if (rc == 0 && (rc = client_upload(r->client, path, sha256, err)) == 0)
        ledger_blob(r->ledger, sha256, name);
    unlink(path);
    return rc;
}

/* What a user and an operator see while nothing can be written. */
static void check_full(struct rig *r)
{
    struct err err = { 0 };
    int64_t end = now_ms() + FULL_MS;
    int refused = 0;

    for (int i = 0; now_ms() < end || refused < 3; i++) {
        char name[32];

        disk_fill(r->s.data);
        (void)!snprintf(name, sizeof name, "refused%d", i);
        err = (struct err){ 0 };
        if (upload(r, name, 100 + (uint64_t)i, &err) < 0) {
            if (!says_full(&err))
                give_up(r, "an upload was refused with", err.text);
            refused++;
        }
        disk_fill(r->s.data);
        err = (struct err){ 0 };
        if (submit(r, name, 3, &err) < 0 && !says_full(&err))
            give_up(r, "a study was refused with", err.text);
        must(r, client_get(r->client, NULL, &err, "/studies"), &err,
             "studies while the disk is full");
        must(r, client_get(r->client, NULL, &err, "/health"), &err,
             "health while the disk is full");
        if (!service_is_up(&r->s))
            give_up(r, "full disk", "the controller ended");
        if (now_ms() > end + 20000)
            give_up(r, "full disk", "nothing was ever refused");
        pause_ms(20);
    }
    if (ledger_wrong(r->ledger))
        give_up(r, "while the disk was full", ledger_wrong(r->ledger));
}

static int64_t ended_trials(struct rig *r, int64_t study, bool *is_over)
{
    struct err err = { 0 };
    json_t *row = NULL, *counts = NULL;
    int64_t n = 0;

    must(r, client_get(r->client, &row, &err, "/studies/%" PRId64, study), &err, "the study");
    counts = json_object_get(row, "trials");
    n = json_i64(counts, "completed") + json_i64(counts, "pruned") + json_i64(counts, "failed");
    *is_over = strcmp(json_text(row, "state"), "completed") == 0;
    json_decref(row);
    return n;
}

/* The running controller and runner go on by themselves, soon. */
static void check_recovery(struct rig *r, int64_t study)
{
    bool is_over = false;
    int64_t before = ended_trials(r, study, &is_over), start = now_ms();

    disk_make_room(r->s.data);
    while (!is_over && ended_trials(r, study, &is_over) == before) {
        if (now_ms() - start > patience_ms(RECOVERY_MS))
            give_up(r, "with room again", "no trial ended for so long");
        pause_ms(50);
    }
    print_message("a trial ended %" PRId64 " ms after there was room again\n", now_ms() - start);
}

/* It may refuse to start while there is no room; it must start once there is. */
static void kill_on_full_disk(struct rig *r)
{
    struct err err = { 0 };

    disk_fill(r->s.data);
    service_kill_controller(&r->s);
    disk_fill(r->s.data);
    must(r, service_start_controller(&r->s, &err), &err, "restart");
    int rc = service_wait(&r->s, 5000, &err);
    print_message("a controller started on a full disk %s%s\n",
                  rc == 0 ? "serves" : "says: ", rc == 0 ? "" : err.text);
    disk_fill(r->s.data);
    disk_make_room(r->s.data);
    if (!service_is_up(&r->s))
        must(r, service_start_controller(&r->s, &err), &err, "restart");
    must(r, service_wait(&r->s, 60000, &err), &err, "after there was room again");
}

static void await_all(struct rig *r)
{
    json_t *all = NULL, *row = NULL;
    struct err err = { 0 };
    size_t i = 0;

    must(r, client_get(r->client, &all, &err, "/studies?limit=1000"), &err, "studies");
    json_array_foreach(json_object_get(all, "studies"), i, row)
    {
        must(r, api_await_study(r->client, json_i64(row, "id"), STUDY_MS, NULL, &err), &err,
             "a study should end by itself");
    }
    json_decref(all);
}

static void a_full_disk_loses_nothing_and_the_service_goes_on(void **state)
{
    struct err err = { 0 };
    struct rig r;

    (void)state;
    if (!set_up(&r))
        skip();
    int64_t first = submit(&r, "before", 6, &err);
    must(&r, first < 0 ? -1 : 0, &err, "submit");
    must(&r, api_await_study(r.client, first, STUDY_MS, NULL, &err), &err,
         "before the disk was full");
    int64_t during = submit(&r, "during", 400, &err);
    must(&r, during < 0 ? -1 : 0, &err, "submit");
    pause_ms(100);
    check_full(&r);
    check_recovery(&r, during);
    kill_on_full_disk(&r);
    await_all(&r);
    must(&r, upload(&r, "after", 7, &err), &err, "an upload with room again");
    must(&r, submit(&r, "after", 4, &err) < 0 ? -1 : 0, &err, "submit with room again");
    await_all(&r);
    ledger_check_live(r.ledger, r.client, 100);
    feed_stop(r.feed);
    r.feed = NULL;
    must(&r, service_stop(&r.s, 15000, &err), &err, "stop");
    ledger_check_folder(r.ledger, r.s.data, true);
    if (ledger_wrong(r.ledger))
        give_up(&r, "after all", ledger_wrong(r.ledger));
    disk_unmount(r.s.data);
    client_free(r.client);
    ledger_free(r.ledger);
    service_close(&r.s, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(
        a_full_disk_loses_nothing_and_the_service_goes_on) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
