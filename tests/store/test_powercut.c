/* test_powercut.c - nothing acknowledged is lost when the power goes, at whatever operation.
 *
 * One round: open what survived the last cut with the store's ordinary code, compare it with what
 * was acknowledged, work on with random turns until the power goes. The expectation is exact: the
 * digest after the last acknowledged commit, or that of the turn whose commit was under way. Blobs
 * are rehashed. A sweep is one seed; a failing round prints it. The same sweep with any one fsync
 * taken out must find a loss: it runs in a child, since a damaged database may end it. */
#include "tests/store/powercut.h"
#include "tests/store/store_rig.h"
#include "tests/unit.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    CUTS = TEST_ROUNDS(1000, 100),
    /* Without an fsync. A sweep ends at its first loss, on average after about 50 cuts. */
    CUTS_TO_A_LOSS = 1000,
    ROUNDS_PER_FOLDER = 10,
    BLOBS = 4096,
    TURNS = 40,
    SECONDS = 60
};

struct sweep {
    char dir[200], data[220];
    uint64_t seed;
    struct rng rng;
    struct clk clk;
    enum powercut_omit omit;
    struct store *store;
    char acked[SHA256_HEX];       /* digest after the last acknowledged commit; "" = a new folder */
    char pending[SHA256_HEX];     /* of the turn whose commit was asked for; "" = none */
    char blob[BLOBS][SHA256_HEX]; /* files whose durability was acknowledged */
    int n_blobs;
    char last_id[33], last[SHA256_HEX]; /* upload whose commit was not answered; "" = none */
    bool may_collect;                   /* a collection was under way: unnamed files may be gone */
    int n_names;
    int64_t turns, cuts;
    char loss[500]; /* "" = none found */
};

static int lose(struct sweep *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
static int lose(struct sweep *w, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(w->loss, sizeof w->loss, fmt, args);
    va_end(args);
    return -1;
}

/* ---- work ---- */

static int blob_new(struct sweep *w, char sha256[SHA256_HEX], struct err *err)
{
    uint8_t bytes[3000];
    size_t n = 1 + rng_below(&w->rng, sizeof bytes);
    char id[33];
    int64_t size = 0;

    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)rng_u32(&w->rng);
    if (rng_below(&w->rng, 2)) {
        if (blob_put(w->data, bytes, n, sha256, err) < 0)
            return -1;
    } else {
        sha256_hex(bytes, n, sha256);
        if (blob_upload_new(w->data, id, err) < 0 ||
            blob_upload_write(w->data, id, 0, bytes, n / 2, err) < 0 ||
            blob_upload_write(w->data, id, (int64_t)(n / 2), bytes + n / 2, n - n / 2, err) < 0)
            return -1;
        str_copy(w->last_id, sizeof w->last_id, id);
        str_copy(w->last, sizeof w->last, sha256);
        if (blob_upload_commit(w->data, id, sha256, &size, err) < 0)
            return -1;
        w->last[0] = '\0';
    }
    if (w->n_blobs < BLOBS)
        str_copy(w->blob[w->n_blobs++], SHA256_HEX, sha256);
    return 0;
}

static int study_new(struct sweep *w, struct err *err)
{
    struct study_row row = { .spec = mem_strdup("{\"budget\":{\"trials\":9}}") };
    char name[40];
    int rc = 0;

    snprintf(name, sizeof name, "study-%d", ++w->n_names);
    row.name = mem_strdup(name);
    rc = store_study_insert(w->store, &row, err);
    for (int i = 1; rc == 0 && i <= 3; i++) {
        struct trial_row t = { .study = row.id,
                               .number = i,
                               .config = mem_strdup("{\"family\":\"linear\"}"),
                               .score = NAN };

        rc = store_trial_insert(w->store, &t, err);
        trial_row_fini(&t);
    }
    study_row_fini(&row);
    return rc;
}

static int trial_step(struct sweep *w, int64_t id, struct err *err)
{
    struct trial_row t = { 0 };
    enum trial_event ev = TE_LEASE;
    int rc = store_trial_get(w->store, id, &t, err);

    if (rc <= 0)
        return rc;
    if (t.state == TS_RUNNING) {
        static const enum trial_event next[] = { TE_PAUSE, TE_COMPLETE, TE_COMPLETE,
                                                 TE_LOST,  TE_FAIL,     TE_PRUNE };

        ev = next[rng_below(&w->rng, ARRAY_LEN(next))];
    } else if (t.state == TS_PAUSED) {
        ev = TE_PROMOTE;
    }
    if (trial_next(&t.state, ev, id, NULL) == 0) {
        rc = 0;
        t.fence += ev == TE_LEASE;
        t.score = rng_unit(&w->rng);
        if (ev == TE_PAUSE || ev == TE_COMPLETE) {
            char *name = ev == TE_PAUSE ? t.checkpoint : t.artifact;

            t.level++;
            rc = blob_new(w, name, err);
            if (rc == 0)
                rc = store_blob_add(w->store, name, 1, "model", err);
            if (rc == 0 && ev == TE_PAUSE)
                rc = store_report_add(w->store, id, t.level, t.score, NAN, err);
        }
        if (rc == 0)
            rc = store_trial_event(w->store, &t, ev, "{\"by\":\"powercut\"}", err);
    }
    trial_row_fini(&t);
    return rc;
}

static int collect(struct sweep *w, struct err *err)
{
    int64_t bytes = 0;

    w->may_collect = true;
    return store_blob_collect(w->store, w->data, &store_rig_all, &bytes, err);
}

static int on_last(void *arg, struct study_row *row)
{
    *(int64_t *)arg = row->id;
    return 1;
}

static int request(struct sweep *w, struct err *err)
{
    char sha256[SHA256_HEX], value[40];
    int64_t last = 0;

    switch (rng_below(&w->rng, 12)) {
    case 0:
        return study_new(w, err);
    case 1:
        return blob_new(w, sha256, err); /* uploaded, not yet named */
    case 2:
        snprintf(value, sizeof value, "%u", rng_u32(&w->rng));
        return store_meta_put(w->store, "value", value, err);
    case 3:
        return rng_below(&w->rng, 4) ? 0 : collect(w, err);
    case 4:
        if (store_study_each(w->store, 0, true, 0, 1, on_last, &last, err) < 0)
            return -1;
        return last && rng_below(&w->rng, 3) == 0 ? store_study_delete(w->store, last, err) : 0;
    default:
        return trial_step(w, 1 + rng_below(&w->rng, 60), err);
    }
}

/* One turn of a few requests; -1 when the power went. */
static int turn(struct sweep *w, struct err *err)
{
    int n = 1 + (int)rng_below(&w->rng, 5);

    for (int i = 0; i < n; i++) {
        struct savepoint sp;

        if (savepoint_open(&sp, w->store, err) < 0)
            return -1;
        if (request(w, err) < 0) {
            savepoint_undo(&sp);
            return -1;
        }
        if (savepoint_keep(&sp, err) < 0)
            return -1;
    }
    if (store_digest(w->store, w->pending, err) < 0 || store_turn_commit(w->store, err) < 0)
        return -1;
    if (store_owes_sync(w->store)) { /* as the controller does it beside its loop */
        if (store_sync(w->store, err) < 0)
            return -1;
        store_synced(w->store);
    }
    str_copy(w->acked, sizeof w->acked, w->pending);
    w->pending[0] = '\0';
    w->turns++;
    if (rng_below(&w->rng, 6) == 0)
        return store_wal_checkpoint(w->data, err);
    return 0;
}

/* ---- what must hold after a restart ---- */

static int facts_check(struct sweep *w)
{
    char got[SHA256_HEX];
    struct err err = { 0 };

    if (store_digest(w->store, got, &err) < 0)
        return lose(w, "digest: %s", err.text);
    if (w->acked[0] && strcmp(got, w->acked) != 0 && strcmp(got, w->pending) != 0)
        return lose(w, "the facts are neither those acknowledged nor those of the last turn");
    str_copy(w->acked, sizeof w->acked, got);
    w->pending[0] = '\0';
    if (store_integrity(w->store, &err) < 0)
        return lose(w, "%s", err.text);
    if (store_replay(w->store, NULL, NULL, &err) != 0)
        return lose(w, "the journal does not rebuild the state %s", err.text);
    return 0;
}

static int on_blob_row(void *arg, const char *json)
{
    struct sweep *w = arg;
    char sha256[SHA256_HEX];
    struct err err = { 0 };

    str_copy(sha256, sizeof sha256, strstr(json, "\":\"") + 3);
    if (blob_verify(w->data, sha256, &err) < 0)
        return lose(w, "a row names %s", err.text);
    return 0;
}

/* Rows name whole files; acknowledged files are there, unless collection may have taken those that
 * no row names. */
static int blobs_check(struct sweep *w)
{
    struct err err = { 0 };
    int n = 0;

    if (store_sql_readonly(w->store, "SELECT sha256 FROM blob", on_blob_row, w, &err) < 0)
        return w->loss[0] ? -1 : lose(w, "blobs: %s", err.text);
    for (int i = 0; i < w->n_blobs; i++) {
        int has = store_blob_has(w->store, w->blob[i], NULL, &err);

        if (has == 0 && w->may_collect)
            continue; /* forgotten from now on */
        if (has < 0 || blob_verify(w->data, w->blob[i], &err) < 0)
            return lose(w, "acknowledged blob: %s", err.text);
        if (n != i)
            str_copy(w->blob[n], SHA256_HEX, w->blob[i]);
        n++;
    }
    w->n_blobs = n;
    w->may_collect = false;
    return 0;
}

/* No name under blobs/ stands for other bytes than it says, named by a row or not. */
static int names_check(struct sweep *w)
{
    char folder[PATH_MAX];
    struct err err = { 0 };
    int rc = 0;

    for (int i = 0; i < 256 && rc == 0; i++) {
        DIR *d = NULL;

        snprintf(folder, sizeof folder, "%s/blobs/%02x", w->data, (unsigned)i);
        d = opendir(folder);
        for (struct dirent *e = NULL; d && rc == 0 && (e = readdir(d));) {
            if (e->d_name[0] != '.' && blob_verify(w->data, e->d_name, &err) < 0)
                rc = lose(w, "unnamed blob: %s", err.text);
        }
        if (d)
            closedir(d);
    }
    return rc;
}

/* ---- a sweep ---- */

/* A client that got no answer asks again; what it is told now counts. */
static void commit_again(struct sweep *w)
{
    int64_t size = 0;

    if (w->last[0] && w->n_blobs < BLOBS &&
        blob_upload_commit(w->data, w->last_id, w->last, &size, NULL) == 0)
        str_copy(w->blob[w->n_blobs++], SHA256_HEX, w->last);
    w->last[0] = '\0';
}

static int open_and_check(struct sweep *w)
{
    struct err err = { 0 };

    w->store = store_open(w->data, NULL, &w->clk, &err);
    if (!w->store)
        return powercut_happened() ? 0 : lose(w, "open: %s", err.text);
    if (facts_check(w) < 0 || blobs_check(w) < 0 || names_check(w) < 0)
        return -1;
    /* half of all lives wait for the disk within each commit, the other half after it */
    if (rng_below(&w->rng, 2) && store_sync_apart(w->store, &err) < 0 && !powercut_happened())
        return lose(w, "sync apart: %s", err.text);
    commit_again(w);
    return 0;
}

/* Opens, checks and works until the power or the process goes, or the turns are done. */
static int life(struct sweep *w)
{
    struct err err = { 0 };
    int rc = open_and_check(w);

    for (int i = 0; rc == 0 && w->store && i < TURNS && !powercut_happened(); i++) {
        if (turn(w, &err) < 0 && !powercut_happened())
            rc = lose(w, "turn: %s", err.text);
    }
    store_close(w->store);
    w->store = NULL;
    return rc;
}

/* Sooner or later; a first open alone makes some 100 operations. */
static int64_t moment(struct sweep *w)
{
    static const uint32_t spans[] = { 40, 150, 500 };

    return 1 + (int64_t)rng_below(&w->rng, spans[rng_below(&w->rng, ARRAY_LEN(spans))]);
}

static int round_run(struct sweep *w)
{
    int rc = 0;

    powercut_begin(w->dir, rng_mix(w->seed, (uint64_t)w->cuts), moment(w), w->omit);
    if (rng_below(&w->rng, 4) ==
        0) { /* killed first: what it left in the page cache is still to be lost */
        powercut_kill_at(moment(w));
        rc = life(w);
        powercut_revive(moment(w));
    }
    if (rc == 0)
        rc = life(w);
    w->cuts += powercut_happened();
    powercut_reboot();
    return rc;
}

static void folder_new(struct sweep *w)
{
    assert_int_equal(io_remove_tree(w->dir, NULL), 0);
    assert_int_equal(io_mkdirs(w->dir, 0700, NULL), 0);
    w->acked[0] = w->pending[0] = '\0';
    w->last[0] = '\0';
    w->n_blobs = w->n_names = 0;
}

static struct sweep *sweep_new(uint64_t seed, enum powercut_omit omit)
{
    struct sweep *w = mem_zalloc(sizeof *w);
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

    /* In memory where that can be had: what a crash leaves is modelled, the real disk would only
     * slow it down. */
    snprintf(w->dir, sizeof w->dir, "%s/assay-cut-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->data, sizeof w->data, "%s/data", w->dir);
    w->seed = seed;
    w->omit = omit;
    rng_init(&w->rng, seed, 1);
    clk_init_system(&w->clk);
    return w;
}

static void sweep_free(struct sweep *w)
{
    io_remove_tree(w->dir, NULL);
    mem_free(w);
}

/* Rounds until `cuts` cuts were made, a loss was found or the time is up. */
static void sweep_run(struct sweep *w, int cuts, int seconds)
{
    /* Only the first round of a folder can lose it as a whole, and the second round finds the
     * loss. */
    int rounds_per_folder = w->omit == OMIT_PARENT ? 2 : ROUNDS_PER_FOLDER;
    struct clk clk;
    int64_t until = 0;

    clk_init_system(&clk);
    until = clk_now_ms(&clk) + seconds * 1000;
    for (int i = 0; w->cuts < cuts && !w->loss[0] && clk_now_ms(&clk) < until; i++) {
        if (i % rounds_per_folder == 0)
            folder_new(w);
        if (round_run(w) < 0)
            print_message("seed %" PRIu64 ", round %d, cut %" PRId64 ", omit %s: %s\n", w->seed, i,
                          w->cuts, powercut_omit_name[w->omit], w->loss);
    }
}

static void a_power_cut_at_any_operation_loses_nothing_acknowledged(void **state)
{
    struct sweep *w = sweep_new(test_seed(), OMIT_NONE);

    sweep_run(w, CUTS, SECONDS);
    print_message("%" PRId64 " cuts, %" PRId64 " turns acknowledged, seed %" PRIu64 "\n", w->cuts,
                  w->turns, w->seed);
    assert_string_equal(w->loss, "");
    if (w->cuts < CUTS)
        print_message("the time was up before %d cuts: slow machine or sanitizer\n", (int)CUTS);
    assert_true(w->cuts >= CUTS / 10);
    sweep_free(w);
    (void)state;
}

static void the_same_sweep_finds_every_fsync_that_is_taken_out(void **state)
{
    for (int omit = OMIT_NONE + 1; omit < OMIT_COUNT; omit++) {
        struct sweep *w = sweep_new(test_seed(), (enum powercut_omit)omit);
        int status = 0;
        pid_t pid = 0;

        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            sweep_run(w, CUTS_TO_A_LOSS, SECONDS);
            fflush(NULL);
            _exit(w->loss[0] ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        sweep_free(w);
        if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
            fail_msg("no loss found without the fsync of: %s", powercut_omit_name[omit]);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_power_cut_at_any_operation_loses_nothing_acknowledged),
        cmocka_unit_test(the_same_sweep_finds_every_fsync_that_is_taken_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
