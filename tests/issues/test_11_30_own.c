/* test_11_30_own.c - three mends of issue 11, point 30, that had no test of their own: two commits of one upload are one piece
 * of work with two answers; the scratch files of a worker that died are removed, those of others stay; a worker's memory
 * is its own, without the pages of files that it maps. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/proc.h"
#include "base/str.h"
#include "controller/api.h"
#include "controller/serve/turn.h"
#include "tests/runner/stage.h"
#include "trial-runner/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- commits ---- */

struct asked {
    struct loop *loop;
    int *left;
    int64_t bytes;
    int answers;
    struct err err;
};

static void on_commit(void *arg, int64_t bytes, const struct err *err)
{
    struct asked *a = arg;

    a->answers++;
    a->bytes = bytes;
    a->err = err ? *err : (struct err){ 0 };
    if (--*a->left == 0)
        loop_stop(a->loop);
}

static void two_commits_of_one_upload_are_joined(void **state)
{
    char dir[200], id[33], sha[SHA256_HEX], other[SHA256_HEX];
    struct ctl_conf conf = { .data_dir = dir, .lease_ms = 1000 };
    struct clk clk;
    struct loop *loop = NULL;
    struct ctl *ctl = NULL;
    struct err err = { 0 };
    int left = 2;

    (void)state;
    test_path(dir, sizeof dir, "data");
    clk_init_system(&clk);
    loop = loop_new(&clk, NULL);
    assert_int_equal(io_private_dir(dir, NULL), 0);
    ctl = ctl_new(&conf, &clk, loop, &err);
    assert_non_null(ctl);
    loop_pool_start(loop, 1);
    struct asked a = { .loop = loop, .left = &left }, b = a, c = a;
    sha256_hex("bytes", 5, sha);
    sha256_hex("other", 5, other);
    assert_int_equal(ctl_upload_new(ctl, &(struct ctl_upload_by){ .who = "me" }, id, &err), 0);
    assert_int_equal(ctl_upload_write(ctl, id, 0, "bytes", 5, &err), 0);
    assert_int_equal(ctl_upload_commit(ctl, id, sha, on_commit, &a, &err), 0);
    assert_int_equal(ctl_upload_commit(ctl, id, sha, on_commit, &b, &err), 0);
    assert_int_equal(ctl_upload_commit(ctl, id, other, on_commit, &c, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(loop_run(loop, NULL), 0);
    /* Done twice, the second would not have found the upload any more. */
    assert_int_equal(a.answers + b.answers, 2);
    assert_int_equal(a.err.code, ERR_NONE);
    assert_int_equal(b.err.code, ERR_NONE);
    assert_int_equal(a.bytes, 5);
    assert_int_equal(b.bytes, 5);
    assert_int_equal(c.answers, 0);
    ctl_free(ctl);
    loop_free(loop);
}

/* ---- scratch ---- */

static pid_t worker_pid(void)
{
    char path[80], text[80] = "";
    FILE *f = NULL;
    long pid = 0;

    snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
    f = fopen(path, "r");
    assert_non_null(f);
    if (fgets(text, sizeof text, f))
        pid = strtol(text, NULL, 10);
    fclose(f);
    return (pid_t)pid;
}

static bool has_worker(struct stage *g)
{
    (void)g;
    return worker_pid() > 1;
}

static char left_over[400];

static bool is_cleared(struct stage *g)
{
    (void)g;
    return access(left_over, F_OK) < 0;
}

/* Not by way of a file aside: a worker that starts removes such ones. */
static void put(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

static void what_a_dead_worker_left_is_removed_and_nothing_else(void **state)
{
    struct stage *g = *state;
    char other[400];
    pid_t pid = 0;

    stage_start(g);
    stage_run_until(g, has_worker);
    pid = worker_pid();
    snprintf(left_over, sizeof left_over, "%s/cpu0/model-%ld-1", cache_scratch(g->cache),
             (long)pid);
    snprintf(other, sizeof other, "%s/cpu0/model-%ld-1", cache_scratch(g->cache),
             (long)pid + 100000000);
    put(left_over);
    put(other);
    kill(pid, SIGKILL);
    stage_run_until(g, is_cleared);
    assert_int_equal(access(other, F_OK), 0);
}

/* ---- memory ---- */

enum { SIZE = 32 << 20, SLACK = 4 << 20 };

static void a_mapped_file_is_not_a_workers_own_memory(void **state)
{
    char path[200];
    int fd = open(test_path(path, sizeof path, "file"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int64_t own = 0, sum = 0;
    char *file = NULL, *memory = NULL;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(posix_fallocate(fd, 0, SIZE), 0);
    own = proc_anon_bytes(getpid());
    file = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(file != MAP_FAILED);
    for (int i = 0; i < SIZE; i += 4096)
        sum += file[i];
    assert_int_equal(sum, 0);
    assert_true(proc_anon_bytes(getpid()) - own < SLACK);
    memory = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    memset(memory, 1, SIZE);
    assert_true(proc_anon_bytes(getpid()) - own > SIZE - SLACK);
    munmap(memory, SIZE);
    munmap(file, SIZE);
    close(fd);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_commits_of_one_upload_are_joined),
        cmocka_unit_test_setup_teardown(what_a_dead_worker_left_is_removed_and_nothing_else,
                                        stage_setup, stage_teardown),
        cmocka_unit_test(a_mapped_file_is_not_a_workers_own_memory),
    };

    if (argc > 1 && str_eq(argv[1], "--worker"))
        return runner_main(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
