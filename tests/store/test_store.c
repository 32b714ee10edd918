/* test_store.c - opening, refusing, locking and closing a data folder; the read-only view beside a writer. */
#include "tests/store/store_rig.h"

#include "base/io.h"
#include "base/str.h"
#include "store/impl.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void what_was_committed_is_there_after_a_restart(void **state)
{
    struct store_rig *r = store_rig_new();
    char before[SHA256_HEX], after[SHA256_HEX];
    int64_t study = store_rig_study(r, "one"), trial = store_rig_trial(r, study, 1);

    assert_int_equal(store_rig_step(r->store, trial, TE_LEASE, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(store_digest(r->store, before, NULL), 0);
    store_rig_trial(r, study, 2); /* not committed */
    store_rig_restart(r);
    assert_int_equal(store_digest(r->store, after, NULL), 0);
    assert_string_equal(before, after);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM trial"), 1);
    assert_int_equal(journal_last(r->store), 3);
    store_rig_check_replay(r);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static int synchronous(const struct store_rig *r)
{
    sqlite3_stmt *stmt = NULL;
    int value = -1;

    assert_int_equal(sqlite3_prepare_v2(r->store->db, "PRAGMA synchronous", -1, &stmt, NULL),
                     SQLITE_OK);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        value = sqlite3_column_int(stmt, 0);
    sqlite3_finalize(stmt);
    return value;
}

/* Without waiting for the disk a kill still loses nothing: the system has the bytes. */
static void an_unsynced_folder_waits_for_no_disk_and_outlives_a_kill(void **state)
{
    struct store_rig *r = store_rig_new();
    int status = 0;

    assert_int_equal(synchronous(r), 2);
    io = &io_unsynced;
    store_rig_restart(r);
    assert_int_equal(synchronous(r), 0);
    store_rig_free(r);
    r = store_rig_new();
    store_close(r->store);
    r->store = NULL;
    pid_t pid = fork();
    if (pid == 0) {
        r->store = store_open(r->data, NULL, &r->clk, NULL);
        store_rig_study(r, "one");
        store_rig_commit(r);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    r->store = store_open(r->data, NULL, &r->clk, NULL);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 1);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    store_rig_free(r);
    io = &io_system;
    (void)state;
}

static void a_new_folder_is_private(void **state)
{
    struct store_rig *r = store_rig_new();
    struct stat st;

    assert_int_equal(stat(r->data, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    store_rig_free(r);
    (void)state;
}

static void a_second_opener_is_refused_until_the_first_is_gone(void **state)
{
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };
    int status = 0;
    pid_t pid = 0;

    assert_null(store_open(r->data, NULL, &r->clk, &err));
    assert_int_equal(err.code, ERR_BUSY);
    assert_non_null(strstr(err.text, "another assayd"));
    fflush(NULL);
    pid = fork(); /* another process */
    if (pid == 0)
        _exit(store_open(r->data, NULL, &r->clk, &err) || err.code != ERR_BUSY);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    store_rig_restart(r); /* the refused ones left the lock alone */
    store_rig_free(r);
    (void)state;
}

/* The bytes of a file, for comparing. */
static void hash_of_file(const char *path, char out[SHA256_HEX])
{
    struct buf text;

    assert_int_equal(io_read_file(path, 1 << 26, &text, NULL), 0);
    sha256_hex(text.data, text.len, out);
    buf_fini(&text);
}

/* Big-endian at byte `at` of the database file. */
static void header_put(const char *path, off_t at, uint32_t v)
{
    uint8_t b[4] = { (uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v };
    int fd = open(path, O_WRONLY);

    assert_int_equal(pwrite(fd, b, 4, at), 4);
    close(fd);
}

static void a_file_that_is_not_ours_is_refused_and_not_touched(void **state)
{
    static const struct {
        const char *name;
        off_t at;
        uint32_t value;
        enum err_code code;
        const char *text;
    } cases[] = {
        { "a newer schema", 60, 9999, ERR_VERSION, "schema 9999" },
        { "another program's", 68, 0x12345678, ERR_ARG, "not one of Assay's" },
        { "no database", 0, 0x41414141, ERR_IO, "not a database" },
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store_rig *r = store_rig_new();
        char path[300], wal[300], before[SHA256_HEX], after[SHA256_HEX];
        struct err err = { 0 };

        snprintf(path, sizeof path, "%s/assay.db", r->data);
        snprintf(wal, sizeof wal, "%s/assay.db-wal", r->data);
        store_rig_study(r, "one");
        store_rig_commit(r);
        store_close(r->store);
        r->store = NULL;
        header_put(path, cases[i].at, cases[i].value);
        hash_of_file(path, before);
        assert_null(store_open(r->data, NULL, &r->clk, &err));
        if (err.code != cases[i].code || !strstr(err.text, cases[i].text))
            fail_msg("%s: %s", cases[i].name, err.text);
        assert_null(store_open_readonly(r->data, &err));
        assert_int_equal(err.code, cases[i].code);
        hash_of_file(path, after);
        assert_string_equal(before, after);
        assert_int_equal(io_file_bytes(wal), -1);
        store_rig_free(r);
    }
    (void)state;
}

/* The newer schema may still be in the log when its program was killed. */
static void a_newer_schema_in_the_log_is_refused_and_not_touched(void **state)
{
    struct store_rig *r = store_rig_new();
    char path[300], wal[300], before[SHA256_HEX], after[SHA256_HEX], logged[SHA256_HEX];
    struct err err = { 0 };
    int status = 0;
    pid_t pid = 0;

    snprintf(path, sizeof path, "%s/assay.db", r->data);
    snprintf(wal, sizeof wal, "%s/assay.db-wal", r->data);
    store_close(r->store);
    r->store = NULL;
    fflush(NULL);
    pid = fork();
    if (pid == 0) { /* a program that raises the version and dies */
        execlp("sqlite3", "sqlite3", path, "PRAGMA wal_autocheckpoint=0; PRAGMA user_version=9999;",
               ".shell kill -9 $PPID", NULL);
        _exit(77);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status)) {
        store_rig_free(r);
        print_message("skipped: no sqlite3 shell to die in the middle\n");
        skip();
    }
    assert_true(io_file_bytes(wal) > 0);
    hash_of_file(path, before);
    hash_of_file(wal, logged);
    assert_null(store_open(r->data, NULL, &r->clk, &err));
    assert_int_equal(err.code, ERR_VERSION);
    hash_of_file(path, after);
    assert_string_equal(before, after);
    hash_of_file(wal, after);
    assert_string_equal(logged, after);
    store_rig_free(r);
    (void)state;
}

static void a_reader_sees_what_is_committed_beside_a_live_writer(void **state)
{
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };
    struct study_row row = { 0 };
    struct store *reader = NULL;

    store_rig_study(r, "one");
    store_rig_commit(r);
    store_rig_study(r, "two"); /* not committed */
    reader = store_open_readonly(r->data, &err);
    assert_non_null(reader);
    assert_int_equal(store_study_find(reader, "one", &row, NULL), 1);
    study_row_fini(&row);
    assert_int_equal(store_study_find(reader, "two", &row, NULL), 0);
    store_rig_commit(r);
    assert_int_equal(store_study_find(reader, "two", &row, NULL), 1);
    study_row_fini(&row);
    assert_int_equal(store_meta_put(reader, "x", "y", &err), -1);
    assert_int_equal(err.code, ERR_DENIED);
    assert_int_equal(store_replay(reader, NULL, NULL, NULL), 0);
    store_close(reader);
    store_rig_free(r);
    (void)state;
}

static void a_reader_of_nothing_is_told_so(void **state)
{
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };

    assert_null(store_open_readonly(r->dir, &err));
    assert_int_equal(err.code, ERR_NOTFOUND);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_committed_is_there_after_a_restart),
        cmocka_unit_test(an_unsynced_folder_waits_for_no_disk_and_outlives_a_kill),
        cmocka_unit_test(a_new_folder_is_private),
        cmocka_unit_test(a_second_opener_is_refused_until_the_first_is_gone),
        cmocka_unit_test(a_file_that_is_not_ours_is_refused_and_not_touched),
        cmocka_unit_test(a_newer_schema_in_the_log_is_refused_and_not_touched),
        cmocka_unit_test(a_reader_sees_what_is_committed_beside_a_live_writer),
        cmocka_unit_test(a_reader_of_nothing_is_told_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
