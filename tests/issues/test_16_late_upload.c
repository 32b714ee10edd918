/* test_16_late_upload.c - found by hand: `fit --time 2s` of a table of 200 MB took 3.6 s. The upload was repeated five times, with
 * pauses of 1.5 s in all, though the time was over; and a file was hashed to its end, however large. Here the server never answers. */
#include "tests/unit.h"

#include "base/clk.h"
#include "cli/client.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { TIME_MS = 200, MOST_MS = 900 };

/* A file of so many bytes, nearly all of which are holes. */
static const char *file_of(char *path, size_t size, off_t bytes)
{
    int fd = open(test_path(path, size, "table"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0 && write(fd, "a,b\n", 4) == 4 && ftruncate(fd, bytes) == 0);
    close(fd);
    return path;
}

static void an_upload_ends_with_its_time(void **state)
{
    static const off_t bytes[] = { 100, (off_t)16 << 30 };
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char url[120], path[300];
    struct clk clk;

    (void)state;
    snprintf(a.sun_path, sizeof a.sun_path, "/tmp/assay-late-%d", (int)getpid());
    unlink(a.sun_path);
    assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(fd, 16), 0);
    snprintf(url, sizeof url, "unix:%s", a.sun_path);
    clk_init_system(&clk);
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        struct err err = { 0 };
        char sha256[SHA256_HEX];
        struct client *c = client_new(url, NULL, &err);
        const char *file = file_of(path, sizeof path, bytes[i]);
        int64_t from = clk_now_ms(&clk);
        client_deadline(c, &clk, from + TIME_MS);
        assert_int_equal(client_upload(c, file, sha256, &err), -1);
        int64_t took = clk_now_ms(&clk) - from;
        if (took > MOST_MS)
            fail_msg("%lld bytes: %lld ms: %s", (long long)bytes[i], (long long)took, err.text);
        client_free(c);
        unlink(file);
    }
    close(fd);
    unlink(a.sun_path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_upload_ends_with_its_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
