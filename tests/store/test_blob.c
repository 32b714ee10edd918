/* test_blob.c - the files of blobs: uploads in parts, commits, names that try to leave the folder, faults. */
#include "tests/store/store_rig.h"
#include "tests/unit.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t uploads(const struct store_rig *r)
{
    char path[260];
    int64_t n = 0;
    DIR *d = NULL;

    snprintf(path, sizeof path, "%s/uploads", r->data);
    d = opendir(path);
    for (struct dirent *e = NULL; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void an_upload_in_parts_becomes_one_blob(void **state)
{
    struct store_rig *r = store_rig_new();
    char id[33], sha256[SHA256_HEX], path[400];
    int64_t size = -1;
    struct buf text;

    sha256_hex("hello, blob", 11, sha256);
    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    assert_int_equal(blob_upload_size(r->data, id, &size, NULL), 0);
    assert_int_equal(size, 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "hello", 5, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, id, 5, ", blob", 6, NULL), 0);
    assert_int_equal(blob_upload_commit(r->data, id, sha256, &size, NULL), 0);
    assert_int_equal(size, 11);
    assert_int_equal(blob_path(r->data, sha256, path, sizeof path, NULL), 0);
    assert_int_equal(io_read_file(path, 100, &text, NULL), 0);
    assert_string_equal(text.data, "hello, blob");
    buf_fini(&text);
    assert_int_equal(blob_verify(r->data, sha256, NULL), 0);
    assert_int_equal(uploads(r), 0);
    store_rig_free(r);
    (void)state;
}

static void an_upload_goes_on_where_it_was_cut_off(void **state)
{
    struct store_rig *r = store_rig_new();
    char id[33], sha256[SHA256_HEX];
    struct err err = { 0 };
    int64_t size = -1;

    sha256_hex("0123456789", 10, sha256);
    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "0123", 4, NULL), 0);
    store_rig_restart(r);
    assert_int_equal(blob_upload_write(r->data, id, 6, "6789", 4, &err), -1); /* a gap */
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.text, "has 4 bytes"));
    assert_int_equal(blob_upload_size(r->data, id, &size, NULL), 0);
    assert_int_equal(size, 4);
    assert_int_equal(blob_upload_write(r->data, id, 2, "2345", 4, NULL),
                     0); /* a part repeated and longer */
    assert_int_equal(blob_upload_write(r->data, id, 6, "6789", 4, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "0123", 4, NULL),
                     0); /* a part that came twice */
    assert_int_equal(blob_upload_commit(r->data, id, sha256, &size, NULL), 0);
    assert_int_equal(size, 10);
    store_rig_free(r);
    (void)state;
}

static void another_hash_keeps_the_upload(void **state)
{
    struct store_rig *r = store_rig_new();
    char id[33], wrong[SHA256_HEX], right[SHA256_HEX], path[400];
    struct err err = { 0 };
    int64_t size = 0;

    sha256_hex("abc", 3, right);
    sha256_hex("abd", 3, wrong);
    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "abc", 3, NULL), 0);
    assert_int_equal(blob_upload_commit(r->data, id, wrong, &size, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_non_null(strstr(err.text, right));
    assert_int_equal(blob_path(r->data, wrong, path, sizeof path, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(blob_upload_commit(r->data, id, right, &size, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static void the_same_blob_twice_is_one_file_and_mends_a_damaged_one(void **state)
{
    struct store_rig *r = store_rig_new();
    char one[SHA256_HEX], two[SHA256_HEX], path[400];
    struct err err = { 0 };

    assert_int_equal(blob_put(r->data, "same", 4, one, NULL), 0);
    assert_int_equal(blob_path(r->data, one, path, sizeof path, NULL), 0);
    assert_int_equal(io_replace(path, "sane", 4, 0600, NULL), 0);
    assert_int_equal(blob_verify(r->data, one, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(blob_put(r->data, "same", 4, two, NULL), 0);
    assert_string_equal(one, two);
    assert_int_equal(blob_verify(r->data, one, NULL), 0);
    assert_int_equal(uploads(r), 0);
    store_rig_free(r);
    (void)state;
}

static void a_commit_asked_again_is_answered_again(void **state)
{
    struct store_rig *r = store_rig_new();
    char id[33], sha256[SHA256_HEX], other[SHA256_HEX];
    struct err err = { 0 };
    int64_t size = 0;

    sha256_hex("abc", 3, sha256);
    sha256_hex("other", 5, other);
    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "abc", 3, NULL), 0);
    assert_int_equal(blob_upload_commit(r->data, id, sha256, &size, NULL), 0);
    size = 0;
    assert_int_equal(blob_upload_commit(r->data, id, sha256, &size, NULL), 0);
    assert_int_equal(size, 3);
    assert_int_equal(blob_upload_commit(r->data, id, other, &size, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    store_rig_free(r);
    (void)state;
}

static void an_empty_blob_is_a_blob(void **state)
{
    struct store_rig *r = store_rig_new();
    char sha256[SHA256_HEX];

    assert_int_equal(blob_put(r->data, "", 0, sha256, NULL), 0);
    assert_int_equal(blob_verify(r->data, sha256, NULL), 0);
    store_rig_free(r);
    (void)state;
}

static void names_that_are_not_plain_hexadecimal_are_refused(void **state)
{
    static const char *const ids[] = {
        "",
        "..",
        "../lock",
        "../assay.db",
        "0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0",
        "0123456789abcdef0123456789abcdeg",
        "../../../../../../../../etc/passw",
        "0123456789abcdef/0123456789abcde",
        "%2e%2e%2f0123456789abcdef0123456",
        ".123456789abcdef0123456789abcdef",
        "0123456789abcdef0123456789abcde\n",
    };
    static const char *const hashes[] = {
        "",
        "..",
        "../../uploads/x",
        "ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789ABCDEF0123456789",
        "../..6789abcdef0123456789abcdef0123456789abcdef0123456789abcdef01",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde",
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0",
        "/123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    };
    struct store_rig *r = store_rig_new();
    char id[33], path[400], sha256[SHA256_HEX];
    int64_t size = 0;

    sha256_hex("abc", 3, sha256);
    assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct err err[4] = { 0 };

        assert_int_equal(blob_upload_size(r->data, ids[i], &size, &err[0]), -1);
        assert_int_equal(blob_upload_write(r->data, ids[i], 0, "x", 1, &err[1]), -1);
        assert_int_equal(blob_upload_commit(r->data, ids[i], sha256, &size, &err[2]), -1);
        assert_int_equal(blob_upload_drop(r->data, ids[i], &err[3]), -1);
        for (size_t k = 0; k < ARRAY_LEN(err); k++)
            assert_int_equal(err[k].code, ERR_ARG);
    }
    for (size_t i = 0; i < ARRAY_LEN(hashes); i++) {
        struct err err[4] = { 0 };

        assert_int_equal(blob_upload_commit(r->data, id, hashes[i], &size, &err[0]), -1);
        assert_int_equal(blob_path(r->data, hashes[i], path, sizeof path, &err[1]), -1);
        assert_int_equal(blob_verify(r->data, hashes[i], &err[2]), -1);
        assert_int_equal(store_blob_add(r->store, hashes[i], 1, "x", &err[3]), -1);
        for (size_t k = 0; k < ARRAY_LEN(err); k++)
            assert_int_equal(err[k].code, ERR_ARG);
    }
    assert_int_equal(uploads(r), 1);
    store_rig_free(r);
    (void)state;
}

static void unknown_uploads_and_limits_are_told(void **state)
{
    static const char id[] = "0123456789abcdef0123456789abcdef";
    struct store_rig *r = store_rig_new();
    struct err err = { 0 };
    char real[33];
    int64_t size = 0;

    assert_int_equal(blob_upload_size(r->data, id, &size, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(blob_upload_write(r->data, id, 0, "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(blob_upload_drop(r->data, id, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(blob_upload_new(r->data, real, NULL), 0);
    assert_int_equal(blob_upload_write(r->data, real, 0, "x", BLOB_PART_MAX + 1, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_int_equal(blob_upload_write(r->data, real, -1, "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_ARG);
    assert_int_equal(blob_upload_write(r->data, real, BLOB_MAX_BYTES, "x", 1, &err), -1);
    assert_int_equal(err.code, ERR_TOOBIG);
    assert_int_equal(blob_upload_drop(r->data, real, NULL), 0);
    assert_int_equal(uploads(r), 0);
    store_rig_free(r);
    (void)state;
}

static void a_link_in_the_place_of_an_upload_is_not_followed(void **state)
{
    static const char id[] = "0123456789abcdef0123456789abcdef";
    struct store_rig *r = store_rig_new();
    char path[300], target[300];

    snprintf(path, sizeof path, "%s/uploads/%s", r->data, id);
    snprintf(target, sizeof target, "%s/victim", r->dir);
    assert_int_equal(io_replace(target, "precious", 8, 0600, NULL), 0);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(blob_upload_write(r->data, id, 0, "x", 1, NULL), -1);
    assert_int_equal(io_file_bytes(target), 8);
    store_rig_free(r);
    (void)state;
}

/* Whatever fails, a name under blobs/ stands for its bytes, and asking again succeeds. */
static void a_failed_commit_can_be_repeated(void **state)
{
    TEST_SWEEP(nth, fired, stays)
    {
        struct store_rig *r = store_rig_new();
        char id[33], sha256[SHA256_HEX], path[400];
        struct err err = { 0 };
        int64_t size = 0;
        int rc = 0;

        sha256_hex("abc", 3, sha256);
        assert_int_equal(blob_upload_new(r->data, id, NULL), 0);
        assert_int_equal(blob_upload_write(r->data, id, 0, "abc", 3, NULL), 0);
        test_fault(nth, stays);
        rc = blob_upload_commit(r->data, id, sha256, &size, &err);
        fired = fault_disarm();
        assert_int_equal(rc, fired ? -1 : 0);
        assert_int_equal(err.code != ERR_NONE, fired);
        if (blob_path(r->data, sha256, path, sizeof path, NULL) == 0)
            assert_int_equal(blob_verify(r->data, sha256, NULL), 0);
        assert_int_equal(blob_upload_commit(r->data, id, sha256, &size, NULL), 0);
        assert_int_equal(blob_verify(r->data, sha256, NULL), 0);
        store_rig_free(r);
    }
    (void)state;
}

static void a_failed_put_leaves_nothing_behind(void **state)
{
    TEST_SWEEP(nth, fired, stays)
    {
        struct store_rig *r = store_rig_new();
        char sha256[SHA256_HEX];
        int rc = 0;

        test_fault(nth, stays);
        rc = blob_put(r->data, "abc", 3, sha256, NULL);
        fired = fault_disarm();
        assert_int_equal(rc, fired ? -1 : 0);
        assert_int_equal(uploads(r), 0);
        assert_int_equal(blob_put(r->data, "abc", 3, sha256, NULL), 0);
        assert_int_equal(blob_verify(r->data, sha256, NULL), 0);
        store_rig_free(r);
    }
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upload_in_parts_becomes_one_blob),
        cmocka_unit_test(an_upload_goes_on_where_it_was_cut_off),
        cmocka_unit_test(another_hash_keeps_the_upload),
        cmocka_unit_test(the_same_blob_twice_is_one_file_and_mends_a_damaged_one),
        cmocka_unit_test(a_commit_asked_again_is_answered_again),
        cmocka_unit_test(an_empty_blob_is_a_blob),
        cmocka_unit_test(names_that_are_not_plain_hexadecimal_are_refused),
        cmocka_unit_test(unknown_uploads_and_limits_are_told),
        cmocka_unit_test(a_link_in_the_place_of_an_upload_is_not_followed),
        cmocka_unit_test(a_failed_commit_can_be_repeated),
        cmocka_unit_test(a_failed_put_leaves_nothing_behind),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
