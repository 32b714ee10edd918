/* test_sweep.c - every function of store/ that writes is all or nothing: the 1st, 2nd, 3rd ... fault point on its way
 * fails, and the facts are those from before it, both in the turn that goes on and after a restart. Without a fault it must
 * change something, or the sweep would prove nothing. A new function gets its line in the table. */
#include "tests/store/store_rig.h"
#include "tests/unit.h"

#include "base/fault.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A rig with what each act finds: ids are 1 for the first of everything. */
static struct store_rig *world_new(void)
{
    struct store_rig *r = store_rig_new();
    char named[SHA256_HEX], unnamed[SHA256_HEX];
    struct dataset_row d = { .name = mem_strdup("iris"),
                             .file_name = mem_strdup("iris.csv"),
                             .state = mem_strdup("ready") };
    struct task_row t = { .kind = mem_strdup("ingest"), .state = mem_strdup("queued") };
    struct attempt_row a = {
        .trial = 1, .fence = 1, .runner = 1, .session = "s1", .device = "cpu0"
    };
    struct token_row k = { .name = mem_strdup("me"), .role = mem_strdup("admin") };
    struct session_row n = { .name = mem_strdup("me"), .role = mem_strdup("admin"), .ends_at = 9 };

    store_rig_blob(r, 1, 100, "csv", named);
    store_rig_blob(r, 2, 100, "csv", unnamed);
    str_copy(d.blob, sizeof d.blob, named);
    str_copy(d.identity, sizeof d.identity, named);
    str_copy(k.hash, sizeof k.hash, named);
    assert_int_equal(store_dataset_put(r->store, &d, NULL), 0);
    assert_int_equal(store_rig_study(r, "one"), 1);
    assert_int_equal(store_rig_trial(r, 1, 1), 1);
    assert_int_equal(store_rig_trial(r, 1, 2), 2);
    assert_int_equal(store_rig_runner(r, "s1"), 1);
    assert_int_equal(store_rig_step(r->store, 1, TE_LEASE, NULL), 0);
    assert_int_equal(store_attempt_open(r->store, &a, NULL), 0);
    t.dataset = d.id;
    assert_int_equal(store_task_put(r->store, &t, NULL), 0);
    assert_int_equal(store_report_add(r->store, 1, 1, 0.5, 0.1, NULL), 0);
    assert_int_equal(store_token_put(r->store, &k, NULL), 0);
    n.token = k.id;
    str_copy(n.cookie_hash, sizeof n.cookie_hash, named);
    str_copy(n.secret_hash, sizeof n.secret_hash, named);
    assert_int_equal(store_session_put(r->store, &n, NULL), 0);
    dataset_row_fini(&d);
    task_row_fini(&t);
    token_row_fini(&k);
    session_row_fini(&n);
    store_rig_commit(r);
    return r;
}

static int study_insert(struct store_rig *r, struct err *err)
{
    struct study_row row = { .name = mem_strdup("two"), .spec = mem_strdup("{}") };
    int rc = store_study_insert(r->store, &row, err);

    assert_int_equal(row.id != 0, rc == 0); /* a row that was not stored has no id */
    study_row_fini(&row);
    return rc;
}

static int study_event(struct store_rig *r, struct err *err)
{
    return store_rig_study_step(r->store, 1, SE_START, err);
}

static int study_update(struct store_rig *r, struct err *err)
{
    struct study_row row = { 0 };
    int rc = store_study_get(r->store, 1, &row, err);

    row.priority = 7;
    rc = rc == 1 ? store_study_update(r->store, &row, err) : -1;
    study_row_fini(&row);
    return rc;
}

static int study_delete(struct store_rig *r, struct err *err)
{
    return store_study_delete(r->store, 1, err);
}

static int trial_insert(struct store_rig *r, struct err *err)
{
    struct trial_row row = { .study = 1, .number = 3, .config = mem_strdup("{}") };
    int rc = store_trial_insert(r->store, &row, err);

    assert_int_equal(row.id != 0, rc == 0);
    trial_row_fini(&row);
    return rc;
}

static int trial_event(struct store_rig *r, struct err *err)
{
    return store_rig_step(r->store, 1, TE_COMPLETE, err);
}

static int trial_update(struct store_rig *r, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = store_trial_get(r->store, 1, &row, err);

    row.msg_seq = 9;
    rc = rc == 1 ? store_trial_update(r->store, &row, err) : -1;
    trial_row_fini(&row);
    return rc;
}

static int report_add(struct store_rig *r, struct err *err)
{
    return store_report_add(r->store, 1, 2, 0.25, NAN, err);
}

static int epochs_put(struct store_rig *r, struct err *err)
{
    return store_epochs_put(r->store, 1, 4, "{\"level\":4}", err);
}

static int output_add(struct store_rig *r, struct err *err)
{
    return store_output_add(r->store, 1, 1, "a line\n", 1 << 20, err);
}

static int attempt_open(struct store_rig *r, struct err *err)
{
    struct attempt_row a = {
        .trial = 2, .fence = 1, .runner = 1, .session = "s1", .device = "cpu0"
    };

    return store_attempt_open(r->store, &a, err);
}

static int attempt_close(struct store_rig *r, struct err *err)
{
    return store_attempt_close(r->store, 1, 1, "completed", err);
}

static int attempt_reopen(struct store_rig *r, struct err *err)
{
    struct savepoint sp;
    int rc = -1;

    if (savepoint_open(&sp, r->store, err) < 0)
        return -1;
    if (store_attempt_close(r->store, 1, 1, "lost", err) == 0 &&
        store_attempt_reopen(r->store, 1, 1, err) == 0 &&
        store_attempt_close(r->store, 1, 1, "completed", err) == 0)
        rc = savepoint_keep(&sp, err);
    else
        savepoint_undo(&sp);
    return rc;
}

static int runner_insert(struct store_rig *r, struct err *err)
{
    struct runner_row row = { .session = mem_strdup("s2"), .state = mem_strdup("enabled") };
    int rc = store_runner_put(r->store, &row, err);

    assert_int_equal(row.id != 0, rc == 0);
    runner_row_fini(&row);
    return rc;
}

static int runner_update(struct store_rig *r, struct err *err)
{
    struct runner_row row = { 0 };
    int rc = store_runner_find(r->store, "s1", &row, err);

    if (rc == 1) {
        mem_free(row.state);
        row.state = mem_strdup("quarantined");
        rc = store_runner_put(r->store, &row, err);
    }
    runner_row_fini(&row);
    return rc;
}

static int task_insert(struct store_rig *r, struct err *err)
{
    struct task_row row = { .kind = mem_strdup("refit"),
                            .study = 1,
                            .state = mem_strdup("queued") };
    int rc = store_task_put(r->store, &row, err);

    assert_int_equal(row.id != 0, rc == 0);
    task_row_fini(&row);
    return rc;
}

static int task_update(struct store_rig *r, struct err *err)
{
    struct task_row row = { 0 };
    int rc = store_task_get(r->store, 1, &row, err);

    if (rc == 1) {
        mem_free(row.state);
        row.state = mem_strdup("running");
        rc = store_task_put(r->store, &row, err);
    }
    task_row_fini(&row);
    return rc;
}

static int dataset_insert(struct store_rig *r, struct err *err)
{
    struct dataset_row row = { .name = mem_strdup("wine"), .state = mem_strdup("ingesting") };
    int rc = 0;

    sha256_hex("wine", 4, row.identity);
    rc = store_dataset_put(r->store, &row, err);
    assert_int_equal(row.id != 0, rc == 0);
    dataset_row_fini(&row);
    return rc;
}

static int dataset_update(struct store_rig *r, struct err *err)
{
    struct dataset_row row = { 0 };
    int rc = store_dataset_find(r->store, "iris", &row, err);

    row.rows = 150;
    rc = rc == 1 ? store_dataset_put(r->store, &row, err) : -1;
    dataset_row_fini(&row);
    return rc;
}

static int dataset_delete(struct store_rig *r, struct err *err)
{
    return store_dataset_delete(r->store, 1, err);
}

static int token_insert(struct store_rig *r, struct err *err)
{
    struct token_row row = { .name = mem_strdup("you"), .role = mem_strdup("viewer") };
    int rc = 0;

    sha256_hex("you", 3, row.hash);
    rc = store_token_put(r->store, &row, err);
    assert_int_equal(row.id != 0, rc == 0);
    token_row_fini(&row);
    return rc;
}

static int token_delete(struct store_rig *r, struct err *err)
{
    return store_token_delete(r->store, 1, err);
}

static int session_insert(struct store_rig *r, struct err *err)
{
    struct session_row row = { .name = mem_strdup("you"), .role = mem_strdup("viewer") };
    int rc = 0;

    sha256_hex("c", 1, row.cookie_hash);
    sha256_hex("s", 1, row.secret_hash);
    rc = store_session_put(r->store, &row, err);
    session_row_fini(&row);
    return rc;
}

static int session_delete(struct store_rig *r, struct err *err)
{
    return store_session_delete(r->store, 1, err);
}

static int session_expire(struct store_rig *r, struct err *err)
{
    return store_session_expire(r->store, 10, err) < 0 ? -1 : 0;
}

static int session_trim(struct store_rig *r, struct err *err)
{
    return store_session_trim(r->store, 1, 0, err) < 0 ? -1 : 0;
}

static int blob_add(struct store_rig *r, struct err *err)
{
    char sha256[SHA256_HEX];

    sha256_hex("x", 1, sha256);
    return store_blob_add(r->store, sha256, 1, "model", err);
}

static int blob_collect(struct store_rig *r, struct err *err)
{
    int64_t bytes = 0;

    return store_blob_collect(r->store, r->data, &store_rig_all, &bytes, err);
}

static int journal_row(struct store_rig *r, struct err *err)
{
    return journal_add(r->store, 1, 0, "note", "{}", err);
}

static const struct {
    const char *name;
    int (*act)(struct store_rig *r, struct err *err);
} acts[] = {
    { "study insert", study_insert },
    { "study event", study_event },
    { "study update", study_update },
    { "study delete", study_delete },
    { "trial insert", trial_insert },
    { "trial event", trial_event },
    { "trial update", trial_update },
    { "report add", report_add },
    { "output add", output_add },
    { "epochs put", epochs_put },
    { "attempt open", attempt_open },
    { "attempt close", attempt_close },
    { "attempt reopen", attempt_reopen },
    { "runner insert", runner_insert },
    { "runner update", runner_update },
    { "task insert", task_insert },
    { "task update", task_update },
    { "dataset insert", dataset_insert },
    { "dataset update", dataset_update },
    { "dataset delete", dataset_delete },
    { "token insert", token_insert },
    { "token delete", token_delete },
    { "session insert", session_insert },
    { "session delete", session_delete },
    { "session expire", session_expire },
    { "session trim", session_trim },
    { "blob add", blob_add },
    { "blob collect", blob_collect },
    { "journal row", journal_row },
};

/* One act with the nth fault; 1 when the fault was reached. is_done: the world is another one now. */
static int act_once(struct store_rig *r, size_t i, int nth, int stays, bool *is_done)
{
    char before[SHA256_HEX], after[SHA256_HEX];
    struct err err = { 0 };
    int rc = 0, fired = 0;

    assert_int_equal(store_digest(r->store, before, NULL), 0);
    test_fault(nth, stays);
    rc = acts[i].act(r, &err);
    fired = fault_disarm();
    assert_int_equal(store_digest(r->store, after, NULL), 0);
    if (rc < 0 && (!fired || err.code == ERR_NONE || strcmp(before, after) != 0))
        fail_msg("%s, fault %d: half done, or no reason: %s", acts[i].name, nth, err.text);
    if (rc == 0 && strcmp(before, after) == 0)
        fail_msg("%s, fault %d: nothing changed", acts[i].name, nth);
    store_rig_commit(r); /* the turn goes on whatever one request met */
    store_rig_restart(r);
    str_copy(before, sizeof before, after);
    assert_int_equal(store_digest(r->store, after, NULL), 0);
    assert_string_equal(before, after);
    store_rig_check_replay(r);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    *is_done = rc == 0;
    return fired;
}

/* What failed left nothing behind, so the next attempt starts from the same world. */
static void every_write_is_all_or_nothing_at_every_fault(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(acts); i++) {
        struct store_rig *r = NULL;

        TEST_SWEEP(nth, fired, stays)
        {
            bool is_done = false;

            r = r ? r : world_new();
            fired = act_once(r, i, nth, stays, &is_done);
            if (is_done) {
                store_rig_free(r);
                r = NULL;
            }
            assert_true(nth < 1000);
        }
        assert_null(r);
    }
    (void)state;
}

/* Opening fails cleanly at every point, and the next opening finds everything. */
static void an_open_that_fails_leaves_a_store_that_opens(void **state)
{
    struct store_rig *r = store_rig_new();

    store_rig_study(r, "one");
    store_rig_commit(r);
    TEST_SWEEP(nth, fired, stays)
    {
        struct err err = { 0 };
        struct store *s = NULL;

        store_close(r->store);
        test_fault(nth, stays);
        s = store_open(r->data, NULL, &r->clk, &err);
        fired = fault_disarm();
        assert_int_equal(s == NULL, fired);
        assert_int_equal(err.code != ERR_NONE, fired);
        store_close(s);
        r->store = store_open(r->data, NULL, &r->clk, NULL);
        assert_non_null(r->store);
        assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 1);
    }
    store_rig_free(r);
    (void)state;
}

/* The same for a folder that does not exist yet: the schema is there wholly or not at all. */
static void a_first_open_that_fails_leaves_a_folder_that_opens(void **state)
{
    struct store_rig *r = store_rig_new();

    TEST_SWEEP(nth, fired, stays)
    {
        char fresh[260];
        struct store *s = NULL;

        snprintf(fresh, sizeof fresh, "%s/fresh-%d-%d", r->dir, stays, nth);
        test_fault(nth, stays);
        s = store_open(fresh, NULL, &r->clk, NULL);
        fired = fault_disarm();
        store_close(s);
        s = store_open(fresh, NULL, &r->clk, NULL);
        assert_non_null(s);
        assert_int_equal(store_integrity(s, NULL), 0);
        store_close(s);
    }
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_write_is_all_or_nothing_at_every_fault),
        cmocka_unit_test(an_open_that_fails_leaves_a_store_that_opens),
        cmocka_unit_test(a_first_open_that_fails_leaves_a_folder_that_opens),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
