/* test_full.c - a full disk loses nothing: the call that meets it says ERR_FULL, what was acknowledged stays, and when there
 * is room again the same call succeeds. On a real small tmpfs when we may mount one (visibly skipped when not), and for
 * blobs and the database each by a limit of their own. */
#include "tests/store/store_rig.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "store/query.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a disk with room for so many bytes more, as blobs see it ---- */

static int64_t room;

static ssize_t on_pwrite(int fd, const void *p, size_t n, off_t at)
{
    if (room <= 0) {
        errno = ENOSPC;
        return -1;
    }
    n = MIN(n, (size_t)room); /* a short write first, as a real disk does */
    room -= (int64_t)n;
    return pwrite(fd, p, n, at);
}

static void a_part_that_does_not_fit_can_be_sent_again(void **state)
{
    struct store_rig *r = store_rig_new();
    struct io_ops small = io_system;
    char id[33], bytes[1000], sha256[SHA256_HEX];
    struct err err = { 0 };
    int64_t size = 0;

    memset(bytes, 'x', sizeof bytes);
    sha256_hex(bytes, sizeof bytes, sha256);
    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    small.pwrite = on_pwrite;
    room = 400;
    io = &small;
    assert_int_equal(blob_upload_write(r->data, id, 0, bytes, sizeof bytes, &err), -1);
    io = &io_system;
    assert_int_equal(err.code, ERR_FULL);
    assert_int_equal(blob_upload_size(r->data, id, &size, NULL), 0);
    assert_int_equal(size, 400); /* the client may go on from here */
    assert_int_equal(
        blob_upload_write(r->data, id, size, bytes + size, sizeof bytes - (size_t)size, NULL), 0);
    assert_int_equal(blob_upload_commit(r->data, id, sha256, &size, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static void a_blob_that_does_not_fit_is_not_there_and_takes_no_room(void **state)
{
    for (int64_t fits = 0; fits < 3000; fits += 300) {
        struct store_rig *r = store_rig_new();
        struct io_ops small = io_system;
        char bytes[3000], sha256[SHA256_HEX], path[400];
        struct err err = { 0 };

        memset(bytes, 'y', sizeof bytes);
        small.pwrite = on_pwrite;
        room = fits;
        io = &small;
        assert_int_equal(blob_put(r->data, bytes, sizeof bytes, sha256, &err), -1);
        io = &io_system;
        assert_int_equal(err.code, ERR_FULL);
        assert_int_equal(blob_path(r->data, sha256, path, sizeof path, NULL), -1);
        assert_int_equal(blob_put(r->data, bytes, sizeof bytes, sha256, NULL), 0);
        store_rig_free(r);
    }
    (void)state;
}

/* ---- a database that may grow by so many pages more ---- */

static void pages_limit(struct store_rig *r, int more)
{
    char sql[100];

    snprintf(sql, sizeof sql, "PRAGMA max_page_count = %d", more);
    assert_int_equal(sqlite3_exec(r->store->db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void a_request_that_does_not_fit_is_undone_and_the_turn_goes_on(void **state)
{
    struct store_rig *r = store_rig_new();
    size_t n = 100000;
    char *big = mem_zalloc(n + 1), before[SHA256_HEX], after[SHA256_HEX];
    struct err err = { 0 };
    struct savepoint sp;

    memset(big, 'z', n);
    store_rig_study(r, "one");
    assert_int_equal(store_meta_put(r->store, "small", "1", NULL), 0);
    assert_int_equal(store_digest(r->store, before, NULL), 0);
    pages_limit(r, 1); /* = as many as there are */
    assert_int_equal(savepoint_open(&sp, r->store, NULL), 0);
    assert_int_equal(store_meta_put(r->store, "big", big, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    savepoint_undo(&sp);
    if (store_turn_commit(r->store, &err) ==
        0) { /* SQLite may also have ended the whole turn: then it must say so */
        assert_int_equal(store_digest(r->store, after, NULL), 0);
        assert_string_equal(before, after);
    } else {
        assert_int_equal(store_rig_count(r, "SELECT count(*) FROM study"), 0);
        pages_limit(r, 1000000);
        store_rig_study(r, "one");
    }
    pages_limit(r, 1000000);
    assert_int_equal(store_meta_put(r->store, "big", big, NULL), 0);
    store_rig_commit(r);
    store_rig_restart(r);
    assert_int_equal(store_rig_count(r, "SELECT length(value) FROM meta WHERE name = 'big'"),
                     (int64_t)n);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    mem_free(big);
    store_rig_free(r);
    (void)state;
}

/* ---- a real one ---- */

static void fill(const char *path)
{
    static char zeros[65536];
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    assert_true(fd >= 0);
    for (size_t n = sizeof zeros; n; n /= 2) {
        while (write(fd, zeros, n) == (ssize_t)n)
            ;
    }
    close(fd);
}

/* Turns until the disk refuses one; what was acknowledged last is in `acked`. */
static int turns_until_full(struct store_rig *r, int64_t study, int64_t *number,
                            char acked[SHA256_HEX], struct err *err)
{
    for (int i = 0; i < 100000; i++) {
        struct trial_row row = { .study = study,
                                 .number = *number + 1,
                                 .config = mem_strdup("{\"family\":\"boost\"}") };
        int rc = store_trial_insert(r->store, &row, err);

        trial_row_fini(&row);
        if (rc < 0) {
            store_turn_rollback(r->store);
            return -1;
        }
        if (store_turn_commit(r->store, err) < 0)
            return -1;
        ++*number;
        assert_int_equal(store_digest(r->store, acked, NULL), 0);
    }
    return 0;
}

static void a_full_disk_refuses_and_loses_nothing(void **state)
{
    struct store_rig *r = store_rig_new();
    char mount_point[260], data[280], ballast[280], acked[SHA256_HEX], got[SHA256_HEX],
        sha256[SHA256_HEX];
    struct err err = { 0 };
    char bytes[50000];
    int64_t study = 0, number = 0;

    snprintf(mount_point, sizeof mount_point, "%s/small", r->dir);
    snprintf(data, sizeof data, "%s/data", mount_point);
    snprintf(ballast, sizeof ballast, "%s/ballast", mount_point);
    assert_int_equal(io_mkdirs(mount_point, 0700, NULL), 0);
    if (mount("none", mount_point, "tmpfs", 0, "size=4m") < 0) {
        print_message("skipped: no right to mount a small tmpfs (%s)\n", strerror(errno));
        store_rig_free(r);
        skip();
    }
    store_close(r->store);
    str_copy(r->data, sizeof r->data, data);
    r->store = store_open(data, NULL, &r->clk, NULL);
    assert_non_null(r->store);
    study = store_rig_study(r, "one");
    store_rig_commit(r);
    assert_int_equal(store_digest(r->store, acked, NULL), 0);
    fill(ballast);
    assert_int_equal(turns_until_full(r, study, &number, acked, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    assert_int_equal(store_digest(r->store, got, NULL), 0);
    assert_string_equal(acked, got);
    memset(bytes, 'b', sizeof bytes);
    assert_int_equal(blob_put(data, bytes, sizeof bytes, sha256, &err), -1);
    assert_int_equal(err.code, ERR_FULL);
    store_close(
        r->store); /* and a restart on the full disk, which may be refused, but harms nothing */
    r->store = store_open(data, NULL, &r->clk, NULL);
    store_close(r->store);
    assert_int_equal(unlink(ballast), 0);
    r->store = store_open(data, NULL, &r->clk, &err);
    assert_non_null(r->store);
    assert_int_equal(store_digest(r->store, got, NULL), 0);
    assert_string_equal(acked, got);
    assert_int_equal(store_integrity(r->store, NULL), 0);
    store_rig_check_replay(r);
    store_rig_trial(r, study, number + 1);
    store_rig_commit(r);
    assert_int_equal(blob_put(data, bytes, sizeof bytes, sha256, NULL), 0);
    store_close(r->store);
    r->store = NULL;
    assert_int_equal(umount(mount_point), 0);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_that_does_not_fit_can_be_sent_again),
        cmocka_unit_test(a_blob_that_does_not_fit_is_not_there_and_takes_no_room),
        cmocka_unit_test(a_request_that_does_not_fit_is_undone_and_the_turn_goes_on),
        cmocka_unit_test(a_full_disk_refuses_and_loses_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
