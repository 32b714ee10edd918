/* test_11_4_damaged_file.c - a flipped bit in a table's file gave another model and exit code 0, in `fit`, `run` and with
 * --blob-dir; an emptied one gave a study "completed" of failed trials; `export` saved a damaged model. Files are hashed
 * before their first use in a process and again after they changed on disk, by runner and controller. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/mem.h"
#include "store/blob.h"
#include "tests/e2e/service.h"
#include "trial-runner/agent/cache.h"

#include <fcntl.h>
#include <unistd.h>

static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte = 0;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void a_damaged_file_of_the_controller_beside_us_is_not_used(void **state)
{
    char data[200], dir[200], blobs[250], sha[SHA256_HEX], path[4096];
    struct cache *c = NULL;

    (void)state;
    test_path(data, sizeof data, "data");
    test_path(dir, sizeof dir, "cache");
    snprintf(blobs, sizeof blobs, "%s/uploads", data);
    assert_int_equal(io_mkdirs(blobs, 0700, NULL), 0);
    snprintf(blobs, sizeof blobs, "%s/blobs", data);
    assert_int_equal(io_mkdirs(blobs, 0700, NULL), 0);
    assert_int_equal(blob_put(data, "a table", 7, sha, NULL), 0);
    c = cache_open(dir, blobs, 1 << 20, NULL);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 1);
    flip(path, 3); /* after it was found good */
    assert_int_equal(cache_find(c, sha, path, sizeof path), 0);
    cache_close(c);
    c = cache_open(dir, blobs, 1 << 20, NULL);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 0);
    snprintf(path, sizeof path, "%s/%.2s/%s", blobs, sha, sha);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 0);
    cache_close(c);
}

static void a_file_in_the_cache_is_hashed_again_after_it_changed(void **state)
{
    char dir[200], sha[SHA256_HEX], path[4096];
    struct cache *c = cache_open(test_path(dir, sizeof dir, "own"), NULL, 1 << 20, NULL);
    int64_t have = 0;

    (void)state;
    sha256_hex("a table", 7, sha);
    assert_int_equal(cache_part(c, sha, path, sizeof path, &have, NULL), 0);
    assert_int_equal(io_replace(path, "a table", 7, 0600, NULL), 0);
    assert_int_equal(cache_commit(c, sha, NULL), 0);
    for (int i = 0; i < 3; i++) /* being used is no change */
        assert_int_equal(cache_find(c, sha, path, sizeof path), 1);
    flip(path, 0);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 0);
    assert_int_equal(io_file_bytes(path), -1);
    cache_close(c);
}

/* Serving beside an upload of the same bytes, which is what mends it. */
static void a_damaged_blob_is_refused_until_its_bytes_are_uploaded_again(void **state)
{
    const struct service_conf conf = { 0 };
    char table[200], copy[300], sha256[SHA256_HEX], path[300], url[120];
    struct service s;
    struct err err = { 0 };

    (void)state;
    assert_int_equal(service_open(&s, &conf, &err), 0);
    assert_int_equal(service_start(&s, &err), 0);
    struct client *c = service_client(&s);
    /* Large and small ones take two ways through the controller. */
    for (int rows = 50; rows <= 20000; rows *= 400) {
        snprintf(copy, sizeof copy, "%s/copy", s.dir);
        assert_int_equal(service_table(&s, "t", rows, 1, table, sizeof table, &err), 0);
        assert_int_equal(client_upload(c, table, sha256, &err), 0);
        snprintf(url, sizeof url, "/blobs/%s", sha256);
        snprintf(path, sizeof path, "%s/blobs/%.2s/%s", s.data, sha256, sha256);
        assert_int_equal(client_download(c, url, copy, &err), 0);
        unlink(copy);
        flip(path, 100);
        assert_int_equal(client_download(c, url, copy, &err), -1);
        assert_int_equal(err.code, ERR_NOTFOUND);
        assert_non_null(strstr(err.text, "is damaged"));
        assert_int_equal(access(copy, F_OK), -1); /* no file is better than a wrong one */
        assert_int_equal(client_upload(c, table, sha256, &err), 0);
        assert_int_equal(client_download(c, url, copy, &err), 0);
        unlink(copy);
    }
    client_free(c);
    assert_int_equal(service_stop(&s, 5000, &err), 0);
    service_close(&s, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_file_of_the_controller_beside_us_is_not_used),
        cmocka_unit_test(a_file_in_the_cache_is_hashed_again_after_it_changed),
        cmocka_unit_test(a_damaged_blob_is_refused_until_its_bytes_are_uploaded_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
