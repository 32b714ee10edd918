/* test_maint.c - backup while writing, checkpoints, integrity, the digest, the read-only shell. */
#include "tests/store/store_rig.h"
#include "tests/unit.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The backup as a data folder of its own, opened. */
static struct store *backup_open(struct store_rig *r, const char *name, struct err *err)
{
    char from[300], dir[300], to[320];

    snprintf(from, sizeof from, "%s/%s", r->dir, name);
    snprintf(dir, sizeof dir, "%s/restored-%s", r->dir, name);
    snprintf(to, sizeof to, "%s/assay.db", dir);
    assert_int_equal(io_mkdirs(dir, 0700, NULL), 0);
    assert_int_equal(rename(from, to), 0);
    return store_open(dir, NULL, &r->clk, err);
}

static void a_backup_holds_what_was_committed_and_opens(void **state)
{
    struct store_rig *r = store_rig_new();
    char path[300], before[SHA256_HEX], after[SHA256_HEX];
    struct store *copy = NULL;

    snprintf(path, sizeof path, "%s/copy", r->dir);
    store_rig_trial(r, store_rig_study(r, "one"), 1);
    store_rig_commit(r);
    assert_int_equal(store_digest(r->store, before, NULL), 0);
    store_rig_study(r, "two"); /* an open turn is no part of it */
    assert_int_equal(store_backup(r->store, path, NULL), 0);
    copy = backup_open(r, "copy", NULL);
    assert_non_null(copy);
    assert_int_equal(store_digest(copy, after, NULL), 0);
    assert_string_equal(before, after);
    assert_int_equal(store_integrity(copy, NULL), 0);
    store_close(copy);
    store_rig_commit(r);
    store_rig_free(r);
    (void)state;
}

static void a_backup_never_overwrites(void **state)
{
    struct store_rig *r = store_rig_new();
    char path[300];
    struct err err = { 0 };

    snprintf(path, sizeof path, "%s/there", r->dir);
    assert_int_equal(io_replace(path, "mine", 4, 0600, NULL), 0);
    assert_int_equal(store_backup(r->store, path, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(io_file_bytes(path), 4);
    snprintf(path, sizeof path, "%s/no/such/folder", r->dir);
    assert_int_equal(store_backup(r->store, path, &err), -1);
    store_rig_free(r);
    (void)state;
}

static void a_backup_that_fails_leaves_no_file(void **state)
{
    TEST_SWEEP(nth, fired, stays)
    {
        struct store_rig *r = store_rig_new();
        char path[300];
        int rc = 0;

        snprintf(path, sizeof path, "%s/copy", r->dir);
        store_rig_study(r, "one");
        store_rig_commit(r);
        test_fault(nth, stays);
        rc = store_backup(r->store, path, NULL);
        fired = fault_disarm();
        assert_int_equal(rc, fired ? -1 : 0);
        if (!fired ||
            io_file_bytes(path) >= 0) { /* only the folder's last sync may leave it: whole, then */
            struct store *copy = backup_open(r, "copy", NULL);

            assert_non_null(copy);
            store_close(copy);
        }
        store_rig_free(r);
    }
    (void)state;
}

struct writer {
    struct store_rig *rig;
    int stop, failed;
};

static void *on_backup_thread(void *arg)
{
    struct writer *w = arg;
    char path[300];

    for (int i = 0; i < 5 && !w->failed; i++) {
        snprintf(path, sizeof path, "%s/copy%d", w->rig->dir, i);
        if (store_backup(w->rig->store, path, NULL) < 0 ||
            store_wal_checkpoint(w->rig->data, NULL) < 0)
            w->failed = 1;
    }
    __atomic_store_n(&w->stop, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void backups_and_checkpoints_run_on_another_thread_while_the_loop_writes(void **state)
{
    struct store_rig *r = store_rig_new();
    struct writer w = { .rig = r };
    int64_t study = store_rig_study(r, "one"), number = 0;
    pthread_t thread;

    store_rig_commit(r);
    assert_int_equal(pthread_create(&thread, NULL, on_backup_thread, &w), 0);
    while (!__atomic_load_n(&w.stop, __ATOMIC_ACQUIRE)) {
        store_rig_trial(r, study, ++number);
        store_rig_commit(r);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(w.failed, 0);
    for (int i = 0; i < 5; i++) {
        char name[20];
        struct store *copy = NULL;

        snprintf(name, sizeof name, "copy%d", i);
        copy = backup_open(r, name, NULL);
        assert_non_null(copy);
        assert_int_equal(store_integrity(copy, NULL), 0);
        assert_int_equal(store_replay(copy, NULL, NULL, NULL), 0);
        store_close(copy);
    }
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM trial"), number);
    store_rig_free(r);
    (void)state;
}

static void a_checkpoint_empties_the_log_for_reuse(void **state)
{
    struct store_rig *r = store_rig_new();
    int64_t study = store_rig_study(r, "one"), most = 0;

    for (int i = 1; i <= 40; i++) {
        store_rig_trial(r, study, i);
        store_rig_commit(r);
        if (i == 20)
            most = store_db_bytes(r->store);
        if (i >= 20)
            assert_int_equal(store_wal_checkpoint(r->data, NULL), 0);
    }
    /* The pages themselves, once; twenty more turns of log would be twice that. */
    assert_true(most > 0 && store_db_bytes(r->store) <= most + 300 * 1024);
    store_rig_free(r);
    (void)state;
}

/* The log is moved when 32 MiB have come: that is told once for each, and again after it has begun anew. */
static void a_log_that_grows_asks_to_be_moved(void **state)
{
    struct store_rig *r = store_rig_new();
    enum { MIB = 1 << 20 };
    char *text = mem_alloc(MIB + 1);
    int asked = 0;

    text[MIB] = '\0';
    for (int i = 0; i < 80; i++) {
        memset(text, 'a' + i % 26, MIB); /* pages that do not change are not written */
        assert_int_equal(store_meta_put(r->store, "much", text, NULL), 0);
        store_rig_commit(r);
        if (!store_log_grown(r->store))
            continue;
        asked++;
        assert_true(i >= 25); /* a page of the log holds 4 KiB and a head */
        assert_false(store_log_grown(r->store));
        assert_int_equal(store_wal_checkpoint(r->data, NULL), 0);
    }
    assert_int_equal(asked, 2);
    /* it began anew twice, so it never held much more than that */
    assert_true(store_db_bytes(r->store) < 50 * MIB);
    mem_free(text);
    store_rig_free(r);
    (void)state;
}

static void damage_is_found(void **state)
{
    struct store_rig *r = store_rig_new();
    char path[300];
    struct err err = { 0 };
    uint8_t junk[4096];
    int fd = -1;

    for (int i = 1; i < 200; i++)
        assert_int_equal(journal_add(r->store, 0, 0, "note",
                                     "{\"text\":\"some words to fill pages with\"}", NULL),
                         0);
    store_rig_commit(r);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    store_close(r->store);
    snprintf(path, sizeof path, "%s/assay.db", r->data);
    memset(junk, 0xa5, sizeof junk);
    fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, junk, sizeof junk, io_file_bytes(path) - (off_t)sizeof junk),
                     (ssize_t)sizeof junk);
    close(fd);
    r->store = store_open(r->data, NULL, &r->clk, &err);
    assert_true(!r->store || store_integrity(r->store, &err) < 0);
    assert_int_equal(err.code, ERR_DAMAGED);
    store_rig_free(r);
    (void)state;
}

static void the_digest_knows_facts_and_not_times(void **state)
{
    struct store_rig *a = store_rig_new(), *b = store_rig_new();
    char da[SHA256_HEX], db[SHA256_HEX];

    clk_advance(&b->clk, 1000000);
    store_rig_trial(a, store_rig_study(a, "one"), 1);
    store_rig_trial(b, store_rig_study(b, "one"), 1);
    assert_int_equal(store_digest(a->store, da, NULL), 0);
    assert_int_equal(store_digest(b->store, db, NULL), 0);
    assert_string_equal(da, db);
    assert_int_equal(store_report_add(b->store, 1, 1, 0.5, 0.1, NULL), 0);
    assert_int_equal(store_digest(b->store, db, NULL), 0);
    assert_string_not_equal(da, db);
    store_rig_free(a);
    store_rig_free(b);
    (void)state;
}

static int on_row(void *arg, const char *json)
{
    struct buf *out = arg;

    assert_int_equal(buf_addf(out, NULL, "%s\n", json), 0);
    return 0;
}

static void the_shell_reads(void **state)
{
    static const struct {
        const char *sql, *want;
    } cases[] = {
        { "SELECT id, name FROM study ORDER BY id", "{\"id\":1,\"name\":\"one\"}\n" },
        { "SELECT 1.5 AS a, NULL AS b, 'x' AS c, x'0102' AS d;  ",
          "{\"a\":1.5,\"b\":null,\"c\":\"x\",\"d\":{\"bytes\":2}}\n" },
        { "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT sum(i) AS s FROM n",
          "{\"s\":6}\n" },
        { "SELECT cast(x'ff' AS text) AS t", "{\"t\":\"(not UTF-8)\"}\n" },
    };
    struct store_rig *r = store_rig_new();

    store_rig_study(r, "one");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        struct buf out;

        buf_init(&out, 4096);
        if (store_sql_readonly(r->store, cases[i].sql, on_row, &out, &err) < 0)
            fail_msg("%s: %s", cases[i].sql, err.text);
        assert_string_equal(out.data, cases[i].want);
        buf_fini(&out);
    }
    store_rig_free(r);
    (void)state;
}

static void the_shell_does_nothing_but_read(void **state)
{
    static const struct {
        const char *sql;
        enum err_code code;
    } cases[] = {
        { "DELETE FROM study", ERR_DENIED },
        { "INSERT INTO meta VALUES ('a', 'b')", ERR_DENIED },
        { "UPDATE study SET name = 'x'", ERR_DENIED },
        { "DROP TABLE study", ERR_DENIED },
        { "CREATE TABLE t (a)", ERR_DENIED },
        { "CREATE TEMP TABLE t (a)", ERR_DENIED },
        { "PRAGMA journal_mode = DELETE", ERR_DENIED },
        { "PRAGMA user_version", ERR_DENIED },
        { "ATTACH 'other.db' AS o", ERR_DENIED },
        { "VACUUM", ERR_DENIED },
        { "VACUUM INTO 'copy.db'", ERR_DENIED },
        { "BEGIN", ERR_DENIED },
        { "COMMIT", ERR_DENIED },
        { "SAVEPOINT a", ERR_DENIED },
        { "REINDEX", ERR_DENIED },
        { "ANALYZE", ERR_DENIED },
        { "SELECT 1; DELETE FROM study", ERR_ARG },
        { "SELECT 1; SELECT 2", ERR_ARG },
        { "", ERR_ARG },
        { "-- nothing", ERR_ARG },
        { "SELEC 1", ERR_ARG },
        { "SELECT nope FROM study", ERR_ARG },
    };
    struct store_rig *r = store_rig_new();
    char before[SHA256_HEX], after[SHA256_HEX];

    store_rig_study(r, "one");
    store_rig_commit(r);
    assert_int_equal(store_digest(r->store, before, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        struct buf out;

        buf_init(&out, 4096);
        if (store_sql_readonly(r->store, cases[i].sql, on_row, &out, &err) != -1 ||
            err.code != cases[i].code)
            fail_msg("%s: code %s, %s", cases[i].sql, err_code_name(err.code), err.text);
        buf_fini(&out);
    }
    assert_int_equal(store_digest(r->store, after, NULL), 0);
    assert_string_equal(before, after);
    assert_int_equal(store_meta_put(r->store, "a", "b", NULL),
                     0); /* and its guard is gone with it */
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backup_holds_what_was_committed_and_opens),
        cmocka_unit_test(a_backup_never_overwrites),
        cmocka_unit_test(a_backup_that_fails_leaves_no_file),
        cmocka_unit_test(backups_and_checkpoints_run_on_another_thread_while_the_loop_writes),
        cmocka_unit_test(a_checkpoint_empties_the_log_for_reuse),
        cmocka_unit_test(a_log_that_grows_asks_to_be_moved),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(the_digest_knows_facts_and_not_times),
        cmocka_unit_test(the_shell_reads),
        cmocka_unit_test(the_shell_does_nothing_but_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
