/* test_outfile.c - files that a command writes: whole or not at all, through links, and never in the place of a device. */
#include "tests/unit.h"

#include "base/io.h"
#include "cli/modelfile.h"
#include "cli/outfile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static char dir[200], file[300], other[300];

static int setup(void **state)
{
    (void)state;
    test_path(dir, sizeof(dir), "outfiles");
    io_remove_tree(dir, NULL);
    (void)snprintf(file, sizeof(file), "%s/a", dir);
    (void)snprintf(other, sizeof(other), "%s/b", dir);
    return mkdir(dir, 0700);
}

static int teardown(void **state)
{
    (void)state;
    return io_remove_tree(dir, NULL);
}

static void put(const char *path, const char *text)
{
    assert_int_equal(io_replace(path, text, strlen(text), 0600, NULL), 0);
}

static void assert_holds(const char *path, const char *want)
{
    struct buf b;

    assert_int_equal(io_read_file(path, 1000, &b, NULL), 0);
    assert_string_equal(b.data, want);
    buf_fini(&b);
}

static int hello(FILE *out, void *ctx, struct err *err)
{
    const bool *fails = ctx;

    fputs("hello", out);
    return *fails ? err_set(err, ERR_ARG, "no") : 0;
}

static int write_to(const char *path, bool fails, struct err *err)
{
    return output_write(path, hello, &fails, err);
}

static void failure_leaves_what_was_there(void **state)
{
    struct err err = { 0 };

    (void)state;
    put(file, "old");
    assert_int_equal(write_to(file, true, &err), -1);
    assert_string_equal(err.text, "no");
    assert_holds(file, "old");
    assert_int_equal(write_to(other, true, &err), -1);
    assert_int_equal(access(other, F_OK), -1);
    assert_int_equal(write_to(file, false, &err), 0);
    assert_holds(file, "hello");
    assert_int_equal(rmdir(dir), -1);
    assert_int_equal(unlink(file), 0);
    assert_int_equal(rmdir(dir), 0); /* no part was left */
}

static void links_are_followed(void **state)
{
    struct stat st;

    (void)state;
    put(file, "old");
    assert_int_equal(symlink(file, other), 0);
    assert_int_equal(outfile_check(other, NULL), 0);
    assert_int_equal(write_to(other, false, NULL), 0);
    assert_holds(file, "hello");
    assert_int_equal(lstat(other, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

/* A pipe stands for every device: writing it must not put a file in its place. */
static void pipes_are_written_as_they_are(void **state)
{
    struct stat st;
    char got[16] = "";

    (void)state;
    assert_int_equal(mkfifo(file, 0600), 0);
    assert_int_equal(outfile_check(file, NULL), 0); /* and does not wait for a reader */
    int fd = open(file, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write_to(file, false, NULL), 0);
    assert_int_equal(read(fd, got, sizeof(got)), 5);
    assert_string_equal(got, "hello");
    close(fd);
    assert_int_equal(lstat(file, &st), 0);
    assert_true(S_ISFIFO(st.st_mode));
}

static void folders_and_missing_places_are_refused(void **state)
{
    struct err err = { 0 };
    char deep[320];

    (void)state;
    assert_int_equal(outfile_check(dir, &err), -1);
    assert_non_null(strstr(err.text, "is a folder"));
    assert_int_equal(write_to(dir, false, NULL), -1);
    (void)snprintf(deep, sizeof(deep), "%s/no/such", dir);
    assert_int_equal(outfile_check(deep, &err), -1);
    assert_int_equal(outfile_check(file, NULL), 0);
    assert_int_equal(access(file, F_OK), -1); /* a check leaves nothing */
    put(file, "old");
    assert_int_equal(outfile_check(file, NULL), 0);
    assert_holds(file, "old");
}

static void an_output_is_no_input(void **state)
{
    struct err err = { 0 };
    char link[400];

    (void)state;
    put(file, "table");
    put(other, "model");
    (void)snprintf(link, sizeof(link), "%s/link", dir);
    assert_int_equal(symlink(file, link), 0);
    assert_int_equal(outfile_apart(file, other, &err), 0);
    assert_int_equal(outfile_apart("-", file, &err), 0);
    assert_int_equal(outfile_apart("/dev/null", "/dev/null", &err), 0);
    assert_int_equal(outfile_apart("nowhere", file, &err), 0);
    assert_int_equal(outfile_apart(file, file, &err), -1);
    assert_non_null(strstr(err.text, "is the file that is read: name another one"));
    assert_int_equal(outfile_apart(link, file, &err), -1);
    assert_int_equal(outfile_apart(file, link, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(failure_leaves_what_was_there, setup, NULL),
        cmocka_unit_test_setup_teardown(links_are_followed, setup, teardown),
        cmocka_unit_test_setup_teardown(pipes_are_written_as_they_are, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_and_missing_places_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(an_output_is_no_input, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
