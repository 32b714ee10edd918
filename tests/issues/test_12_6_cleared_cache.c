/* test_12_6_cleared_cache.c - found by clearing a runner's cache folder while it ran: every download failed from then on
 * ("part/...: No such file or directory"), and the runner tried again for ever. Now the folders are made again. */
#include "tests/unit.h"

#include "base/io.h"
#include "trial-runner/agent/cache.h"

#include <string.h>

static void a_cache_that_was_cleared_takes_files_again(void **state)
{
    static const char bytes[] = "a table";
    char dir[200], path[4096], sha[SHA256_HEX];
    int64_t have = -1;
    struct err err = { 0 };
    struct cache *c = cache_open(test_path(dir, sizeof dir, "cache"), NULL, 1 << 20, NULL);

    (void)state;
    sha256_hex(bytes, strlen(bytes), sha);
    for (int round = 0; round < 2;
         round++) { /* the second one finds nothing of what the first put there */
        if (cache_part(c, sha, path, sizeof path, &have, &err) < 0 ||
            io_replace(path, bytes, strlen(bytes), 0600, &err) < 0 ||
            cache_commit(c, sha, &err) < 0)
            fail_msg("%s", err.text);
        assert_int_equal(have, 0);
        assert_int_equal(cache_find(c, sha, path, sizeof path), 1);
        assert_int_equal(io_remove_tree(dir, &err), 0);
        assert_int_equal(cache_find(c, sha, path, sizeof path), 0);
    }
    cache_close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cache_that_was_cleared_takes_files_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
