/* test_io.c - files: all or nothing under every fault, and trees removed without following links. */
#include "tests/unit.h"

#include "base/fault.h"
#include "base/io.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int entries(const char *dir)
{
    DIR *d = opendir(dir);
    int n = 0;

    assert_non_null(d);
    for (struct dirent *e = NULL; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void assert_content(const char *path, const char *want)
{
    struct buf b;

    assert_int_equal(io_read_file(path, 1000000, &b, NULL), 0);
    assert_int_equal(b.len, strlen(want));
    assert_string_equal(b.data, want);
    buf_fini(&b);
}

static void replace_is_all_or_nothing_under_every_fault(void **state)
{
    char dir[400], path[400];
    int failures = 0;

    (void)state;
    test_path(dir, sizeof dir, "replace");
    test_path(path, sizeof path, "replace/file");
    assert_int_equal(io_mkdirs(dir, 0700, NULL), 0);
    TEST_SWEEP(nth, fired, stays)
    {
        struct err err = { 0 };
        struct buf b;
        int rc = 0;

        assert_int_equal(io_replace(path, "old", 3, 0600, NULL), 0);
        test_fault(nth, stays);
        rc = io_replace(path, "newer", 5, 0600, &err);
        fired = fault_disarm();
        assert_int_equal(rc, fired ? -1 : 0);
        assert_true(!fired || err.code == ERR_IO || err.code == ERR_FULL);
        assert_int_equal(io_read_file(path, 100, &b, NULL), 0);
        /* A failed fsync of the folder comes after the rename: new content, but not acknowledged. */
        assert_true(strcmp(b.data, "newer") == 0 || (rc < 0 && strcmp(b.data, "old") == 0));
        buf_fini(&b);
        assert_int_equal(entries(dir), 1); /* nothing left over */
        failures += fired;
    }
    assert_true(failures >= 5);
    assert_int_equal(io_remove_tree(dir, NULL), 0);
}

static void replace_gives_the_mode_and_takes_an_empty_file(void **state)
{
    char path[400];
    struct stat st;

    (void)state;
    test_path(path, sizeof path, "mode");
    assert_int_equal(io_replace(path, "", 0, 0600, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_content(path, "");
    assert_int_equal(io_file_bytes(path), 0);
    unlink(path);
    assert_int_equal(io_file_bytes(path), -1);
}

static void reading_tells_absent_too_large_and_broken_apart(void **state)
{
    char path[400];
    struct buf b;
    struct err err = { 0 };

    (void)state;
    test_path(path, sizeof path, "read");
    assert_int_equal(io_read_file(path, 10, &b, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(io_replace(path, "0123456789", 10, 0600, NULL), 0);
    assert_int_equal(io_read_file(path, 10, &b, &err), 0);
    buf_fini(&b);
    assert_int_equal(io_read_file(path, 9, &b, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    fault_arm_name("io.read", 1, false);
    assert_int_equal(io_read_file(path, 10, &b, &err), -1);
    fault_disarm();
    assert_int_equal(err.code, ERR_IO);
    assert_null(b.data);
    unlink(path);
}

static ssize_t short_pwrite(int fd, const void *p, size_t n, off_t at)
{
    return pwrite(fd, p, n > 3 ? 3 : n, at);
}

static void short_writes_are_continued(void **state)
{
    struct io_ops ops = io_system;
    char path[400];

    (void)state;
    test_path(path, sizeof path, "short");
    ops.pwrite = short_pwrite;
    io = &ops;
    assert_int_equal(io_replace(path, "0123456789", 10, 0600, NULL), 0);
    io = &io_system;
    assert_content(path, "0123456789");
    unlink(path);
}

static void folders_are_made_in_depth_and_an_existing_one_is_fine(void **state)
{
    char path[400], file[400];
    struct err err = { 0 };

    (void)state;
    test_path(path, sizeof path, "a/b//c/");
    assert_int_equal(io_mkdirs(path, 0700, &err), 0);
    assert_int_equal(io_mkdirs(path, 0700, &err), 0);
    test_path(file, sizeof file, "a/file");
    assert_int_equal(io_replace(file, "x", 1, 0600, NULL), 0);
    test_path(path, sizeof path, "a/file/sub");
    assert_int_equal(io_mkdirs(path, 0700, &err), -1);
    test_path(path, sizeof path, "a");
    assert_int_equal(io_remove_tree(path, &err), 0);
    assert_int_equal(io_file_bytes(path), -1);
}

static void removing_a_tree_does_not_follow_links(void **state)
{
    char tree[400], sub[400], link[400], outside[400], inside[400];

    (void)state;
    test_path(tree, sizeof tree, "tree");
    test_path(sub, sizeof sub, "tree/x/y");
    test_path(link, sizeof link, "tree/x/link");
    test_path(outside, sizeof outside, "outside");
    test_path(inside, sizeof inside, "outside/kept");
    assert_int_equal(io_mkdirs(sub, 0700, NULL), 0);
    assert_int_equal(io_mkdirs(outside, 0700, NULL), 0);
    assert_int_equal(io_replace(inside, "x", 1, 0600, NULL), 0);
    assert_int_equal(symlink(outside, link), 0);
    assert_int_equal(io_remove_tree(tree, NULL), 0);
    assert_int_equal(io_file_bytes(tree), -1);
    assert_content(inside, "x");
    assert_int_equal(io_remove_tree(tree, NULL), 0); /* gone already: fine */
    assert_int_equal(io_remove_tree(outside, NULL), 0);
}

static void free_space_is_known(void **state)
{
    int64_t n = -1;

    (void)state;
    assert_int_equal(io_free_bytes("/", &n, NULL), 0);
    assert_true(n >= 0);
    assert_int_equal(io_free_bytes("/no/such/folder", &n, NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replace_is_all_or_nothing_under_every_fault),
        cmocka_unit_test(replace_gives_the_mode_and_takes_an_empty_file),
        cmocka_unit_test(reading_tells_absent_too_large_and_broken_apart),
        cmocka_unit_test(short_writes_are_continued),
        cmocka_unit_test(folders_are_made_in_depth_and_an_existing_one_is_fine),
        cmocka_unit_test(removing_a_tree_does_not_follow_links),
        cmocka_unit_test(free_space_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
