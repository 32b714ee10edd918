/* test_cache.c - blobs on the runner's disk: found again, evicted in order of use, never handed out damaged. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/mem.h"
#include "trial-runner/agent/cache.h"

#include <unistd.h>

static int count;

static const char *fresh(char out[200])
{
    char name[40];

    snprintf(name, sizeof name, "cache-%ld-%d", (long)getpid(), ++count);
    return test_path(out, 200, name);
}

/* A blob of n bytes of `c`, put in as a download would be; returns its hash. */
static void put(struct cache *c, char fill, size_t n, char sha256[SHA256_HEX])
{
    char *bytes = mem_zalloc(n), path[4096];
    int64_t have = -1;

    memset(bytes, fill, n);
    sha256_hex(bytes, n, sha256);
    assert_int_equal(cache_part(c, sha256, path, sizeof path, &have, NULL), 0);
    assert_int_equal(have, 0);
    assert_int_equal(io_replace(path, bytes, n, 0600, NULL), 0);
    assert_int_equal(cache_commit(c, sha256, NULL), 0);
    mem_free(bytes);
}

static int has(struct cache *c, const char *sha256)
{
    char path[4096];

    return cache_find(c, sha256, path, sizeof path);
}

static void a_blob_is_found_again_after_a_restart(void **state)
{
    char dir[200], sha[SHA256_HEX];
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL);

    (void)state;
    put(c, 'a', 1000, sha);
    assert_int_equal(has(c, sha), 1);
    cache_close(c);
    c = cache_open(dir, NULL, 1 << 20, NULL);
    assert_int_equal(has(c, sha), 1);
    assert_int_equal(cache_bytes(c), 1000);
    cache_close(c);
}

static void the_least_recently_used_goes_first(void **state)
{
    char dir[200], sha[4][SHA256_HEX];
    struct cache *c = cache_open(fresh(dir), NULL, 3000, NULL);

    (void)state;
    for (int i = 0; i < 3; i++)
        put(c, (char)('a' + i), 1000, sha[i]);
    assert_int_equal(has(c, sha[0]), 1); /* now sha[1] is the oldest */
    put(c, 'd', 1000, sha[3]);
    assert_int_equal(has(c, sha[0]), 1);
    assert_int_equal(has(c, sha[1]), 0);
    assert_int_equal(has(c, sha[2]), 1);
    assert_int_equal(has(c, sha[3]), 1);
    cache_close(c);
}

static void a_pinned_file_stays(void **state)
{
    char dir[200], sha[3][SHA256_HEX];
    struct cache *c = cache_open(fresh(dir), NULL, 2000, NULL);

    (void)state;
    put(c, 'a', 1000, sha[0]);
    cache_pin(c, sha[0]);
    put(c, 'b', 1000, sha[1]);
    put(c, 'c', 1000, sha[2]);
    assert_int_equal(has(c, sha[0]), 1);
    assert_int_equal(has(c, sha[1]), 0);
    cache_unpin(c, sha[0]);
    cache_close(c);
}

static void a_file_larger_than_the_limit_is_kept_while_it_is_the_newest(void **state)
{
    char dir[200], sha[2][SHA256_HEX];
    struct cache *c = cache_open(fresh(dir), NULL, 500, NULL);

    (void)state;
    put(c, 'a', 1000, sha[0]);
    assert_int_equal(has(c, sha[0]), 1);
    put(c, 'b', 10, sha[1]);
    assert_int_equal(has(c, sha[0]), 0);
    assert_int_equal(has(c, sha[1]), 1);
    cache_close(c);
}

static void a_damaged_file_is_removed_not_handed_out(void **state)
{
    char dir[200], sha[SHA256_HEX], path[4096];
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL);

    (void)state;
    put(c, 'a', 1000, sha);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 1);
    cache_close(c);
    assert_int_equal(truncate(path, 999), 0);
    c = cache_open(dir, NULL, 1 << 20, NULL);
    assert_int_equal(has(c, sha), 0);
    assert_int_equal(io_file_bytes(path), -1);
    cache_close(c);
}

static void a_file_taken_away_under_us_is_no_longer_here(void **state)
{
    char dir[200], sha[SHA256_HEX], path[4096];
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL);

    (void)state;
    put(c, 'a', 1000, sha);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 1);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(has(c, sha), 0);
    cache_close(c);
}

static void a_part_with_other_bytes_is_refused_and_removed(void **state)
{
    char dir[200], sha[SHA256_HEX], path[4096];
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL);
    struct err err = { 0 };
    int64_t have = 0;

    (void)state;
    sha256_hex("right", 5, sha);
    assert_int_equal(cache_part(c, sha, path, sizeof path, &have, NULL), 0);
    assert_int_equal(io_replace(path, "wrong", 5, 0600, NULL), 0);
    assert_int_equal(cache_part(c, sha, path, sizeof path, &have, NULL), 0);
    assert_int_equal(have, 5);
    assert_int_equal(cache_commit(c, sha, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    assert_int_equal(cache_part(c, sha, path, sizeof path, &have, NULL), 0);
    assert_int_equal(have, 0);
    assert_int_equal(has(c, sha), 0);
    cache_close(c);
}

static void two_runners_never_share_a_folder(void **state)
{
    char dir[200], sha[SHA256_HEX];
    struct cache *a = cache_open(fresh(dir), NULL, 1 << 20, NULL);
    struct cache *b = cache_open(dir, NULL, 1 << 20, NULL);

    (void)state;
    assert_non_null(b);
    assert_string_not_equal(cache_scratch(a), cache_scratch(b));
    put(a, 'a', 10, sha);
    assert_int_equal(has(b, sha), 0);
    cache_close(a);
    cache_close(b);
}

static void blobs_of_a_controller_beside_us_are_used_where_they_are(void **state)
{
    char dir[200], blobs[200], sub[300], sha[SHA256_HEX], path[4096], want[4096];
    struct cache *c = NULL;

    (void)state;
    fresh(blobs);
    sha256_hex("x", 1, sha);
    snprintf(sub, sizeof sub, "%s/%.2s", blobs, sha);
    snprintf(want, sizeof want, "%s/%s", sub, sha);
    assert_int_equal(io_mkdirs(sub, 0700, NULL), 0);
    assert_int_equal(io_replace(want, "x", 1, 0600, NULL), 0);
    c = cache_open(fresh(dir), blobs, 0, NULL);
    assert_int_equal(cache_find(c, sha, path, sizeof path), 1);
    assert_string_equal(path, want);
    cache_pin(c, sha);
    cache_trim(c);
    assert_int_equal(io_file_bytes(want), 1);
    assert_int_equal(cache_bytes(c), 0);
    cache_close(c);
}

static void the_list_names_the_last_used_first(void **state)
{
    char dir[200], sha[3][SHA256_HEX], list[2][SHA256_HEX];
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL);

    (void)state;
    for (int i = 0; i < 3; i++)
        put(c, (char)('a' + i), 10, sha[i]);
    assert_int_equal(has(c, sha[0]), 1);
    assert_int_equal(cache_list(c, list, 2), 2);
    assert_string_equal(list[0], sha[0]);
    assert_string_equal(list[1], sha[2]);
    cache_close(c);
}

static void scratch_files_of_a_former_life_are_gone(void **state)
{
    char dir[200], path[4096];
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL);

    (void)state;
    snprintf(path, sizeof path, "%s/left", cache_scratch(c));
    cache_close(c);
    assert_int_equal(io_mkdirs(path, 0700, NULL), 0);
    c = cache_open(dir, NULL, 1 << 20, NULL);
    assert_int_equal(io_file_bytes(path), -1);
    assert_int_equal(access(path, F_OK), -1);
    cache_close(c);
}

static void the_next_runner_learns_whose_folder_it_was(void **state)
{
    char dir[200], copy[200], path[300], before[33];
    struct buf text;
    struct cache *c = cache_open(fresh(dir), NULL, 1 << 20, NULL), *other = NULL;

    (void)state;
    cache_before(c, before, sizeof before);
    assert_string_equal(before, "");
    cache_session(c, "one");
    cache_session(c, "another");
    cache_close(c);
    c = cache_open(dir, NULL, 1 << 20, NULL);
    cache_before(c, before, sizeof before);
    assert_string_equal(before, "another");
    cache_session(c, "x");
    cache_before(c, before, sizeof before);
    assert_string_equal(before, "x");
    /* A copy of the folder is another runner's, whose neighbour may well live. */
    snprintf(path, sizeof path, "%s/lock", dir);
    assert_int_equal(io_read_file(path, 1000, &text, NULL), 0);
    assert_int_equal(io_mkdirs(fresh(copy), 0700, NULL), 0);
    snprintf(path, sizeof path, "%s/lock", copy);
    assert_int_equal(io_replace(path, text.data, text.len, 0600, NULL), 0);
    buf_fini(&text);
    other = cache_open(copy, NULL, 1 << 20, NULL);
    cache_before(other, before, sizeof before);
    assert_string_equal(before, "");
    cache_close(other);
    cache_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_blob_is_found_again_after_a_restart),
        cmocka_unit_test(the_least_recently_used_goes_first),
        cmocka_unit_test(a_pinned_file_stays),
        cmocka_unit_test(a_file_larger_than_the_limit_is_kept_while_it_is_the_newest),
        cmocka_unit_test(a_damaged_file_is_removed_not_handed_out),
        cmocka_unit_test(a_file_taken_away_under_us_is_no_longer_here),
        cmocka_unit_test(a_part_with_other_bytes_is_refused_and_removed),
        cmocka_unit_test(two_runners_never_share_a_folder),
        cmocka_unit_test(blobs_of_a_controller_beside_us_are_used_where_they_are),
        cmocka_unit_test(the_list_names_the_last_used_first),
        cmocka_unit_test(scratch_files_of_a_former_life_are_gone),
        cmocka_unit_test(the_next_runner_learns_whose_folder_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
