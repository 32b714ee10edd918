/* test_known.c - a file is hashed once, and again when it changed on disk. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/known.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
    assert_int_equal(io_replace(path, text, strlen(text), 0600, NULL), 0);
}

static void a_good_file_is_read_once(void **state)
{
    struct known *k = known_new(16);
    char path[200], sha[SHA256_HEX];
    struct stat before, after;

    (void)state;
    sha256_hex("good", 4, sha);
    write_text(test_path(path, sizeof path, "good"), "good");
    assert_false(known_is_good(k, path, sha));
    assert_int_equal(known_check(k, path, sha, NULL), 0);
    assert_true(known_is_good(k, path, sha));
    assert_int_equal(stat(path, &before), 0);
    assert_int_equal(known_check(k, path, sha, NULL), 0);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(before.st_atim.tv_nsec, after.st_atim.tv_nsec);
    known_free(k);
}

static void a_changed_file_is_read_again(void **state)
{
    struct known *k = known_new(16);
    char path[200], sha[SHA256_HEX];
    struct err err = { 0 };
    int fd = -1;

    (void)state;
    sha256_hex("good", 4, sha);
    write_text(test_path(path, sizeof path, "changed"), "good");
    assert_int_equal(known_check(k, path, sha, NULL), 0);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "f", 1, 0), 1);
    close(fd);
    assert_int_equal(known_check(k, path, sha, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.text, "is damaged"));
    write_text(path, "good");
    assert_int_equal(known_check(k, path, sha, NULL), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(known_check(k, path, sha, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    known_free(k);
}

static void hashes_that_share_a_slot_do_not_vouch_for_each_other(void **state)
{
    struct known *k = known_new(1);
    char path[2][200], sha[2][SHA256_HEX];

    (void)state;
    for (int i = 0; i < 2; i++) {
        write_text(test_path(path[i], sizeof path[i], i ? "two" : "one"), i ? "two" : "one");
        sha256_hex(i ? "two" : "one", 3, sha[i]);
        assert_int_equal(known_check(k, path[i], sha[i], NULL), 0);
    }
    assert_false(known_is_good(k, path[0], sha[0]));
    assert_false(known_is_good(k, path[1], sha[0]));
    assert_true(known_is_good(k, path[1], sha[1]));
    assert_int_equal(known_check(k, path[0], sha[1], NULL), -1);
    known_free(k);
}

static void a_link_is_no_file(void **state)
{
    struct known *k = known_new(16);
    char path[200], link[200], sha[SHA256_HEX];

    (void)state;
    sha256_hex("good", 4, sha);
    write_text(test_path(path, sizeof path, "target"), "good");
    assert_int_equal(symlink(path, test_path(link, sizeof link, "link")), 0);
    assert_int_equal(known_check(k, link, sha, NULL), -1);
    known_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_file_is_read_once),
        cmocka_unit_test(a_changed_file_is_read_again),
        cmocka_unit_test(hashes_that_share_a_slot_do_not_vouch_for_each_other),
        cmocka_unit_test(a_link_is_no_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
