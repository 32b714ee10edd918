/* test_tempdir.c - temporary folders: those of the dead go, those of the living, of children that live on, kept ones and
 * whatever else lies there stay. */
#include "tests/unit.h"

#include "base/io.h"
#include "cli/tempdir.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[200];

struct told {
    char path[240];
    pid_t heir;
};

static int setup(void **state)
{
    (void)state;
    test_path(base, sizeof(base), "tempdirs");
    io_remove_tree(base, NULL);
    return mkdir(base, 0700) < 0 || setenv("TMPDIR", base, 1) < 0;
}

static bool there(const char *path)
{
    return access(path, F_OK) == 0;
}

static int make(struct tempdir *t)
{
    return tempdir_make(t, 300, NULL);
}

/* A process that makes a folder, says which, and waits for its end; heir: a child of it that has inherited the lock. */
static pid_t owner(char path[240], pid_t *heir)
{
    int fds[2];

    assert_int_equal(pipe(fds), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct tempdir t;
        struct told said = { .heir = 0 };
        if (make(&t) < 0)
            _exit(1);
        memcpy(said.path, t.path, sizeof(said.path));
        if (heir && (said.heir = fork()) == 0) {
            pause();
            _exit(0);
        }
        if (heir)
            close(t.lock_fd);
        (void)!write(fds[1], &said, sizeof(said));
        pause();
        _exit(0);
    }
    struct told told;
    assert_int_equal(read(fds[0], &told, sizeof(told)), sizeof(told));
    close(fds[0]);
    close(fds[1]);
    memcpy(path, told.path, sizeof(told.path));
    if (heir)
        *heir = told.heir;
    return pid;
}

static void end(pid_t pid)
{
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_folder_is_private_and_goes_with_its_owner(void **state)
{
    struct tempdir t, none = { 0 };
    struct stat st;
    char path[240];

    (void)state;
    assert_int_equal(make(&t), 0);
    memcpy(path, t.path, sizeof(path));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(strncmp(path, base, strlen(base)), 0);
    tempdir_end(&t, false);
    tempdir_end(&t, false);
    tempdir_end(&none, false);
    assert_false(there(path));
}

static void the_next_one_sweeps_what_a_kill_left(void **state)
{
    struct tempdir t;
    char dead[240], alive[240];

    (void)state;
    pid_t a = owner(dead, NULL), b = owner(alive, NULL);
    end(a);
    assert_true(there(dead));
    assert_int_equal(make(&t), 0);
    assert_false(there(dead));
    assert_true(there(alive));
    tempdir_end(&t, false);
    end(b);
    assert_int_equal(make(&t), 0);
    assert_false(there(alive));
    tempdir_end(&t, false);
}

static void a_child_at_work_keeps_the_folder(void **state)
{
    struct tempdir t;
    char path[240];
    pid_t heir = 0;

    (void)state;
    end(owner(path, &heir));
    assert_int_equal(make(&t), 0);
    assert_true(there(path));
    tempdir_end(&t, false);
    assert_int_equal(kill(heir, SIGKILL), 0);
    for (int i = 0; i < 500 && there(path);
         i++) { /* it is not our child: the kernel needs a moment */
        assert_int_equal(make(&t), 0);
        tempdir_end(&t, false);
    }
    assert_false(there(path));
}

static void kept_folders_and_those_of_others_stay(void **state)
{
    static const char *const names[] = { "assay-abcdef", "assay-open01", "assay-x", "other" };
    struct tempdir t;
    char kept[240], path[300];

    (void)state;
    assert_int_equal(make(&t), 0);
    memcpy(kept, t.path, sizeof(kept));
    tempdir_end(&t, true);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", base, names[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    (void)snprintf(path, sizeof(path), "%s/assay-open01/lock", base); /* others may write here */
    assert_int_equal(io_replace(path, "", 0, 0600, NULL), 0);
    (void)snprintf(path, sizeof(path), "%s/assay-open01", base);
    assert_int_equal(chmod(path, 0770), 0);
    (void)snprintf(path, sizeof(path), "%s/assay-link01", base);
    assert_int_equal(symlink(kept, path), 0);
    assert_int_equal(make(&t), 0);
    assert_true(there(kept));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", base, names[i]);
        assert_true(there(path));
    }
    tempdir_end(&t, false);
}

static void no_folder_can_be_made_is_an_error_that_names_the_place(void **state)
{
    struct tempdir t;
    struct err err = { 0 };
    char path[300];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/nowhere", base);
    assert_int_equal(setenv("TMPDIR", path, 1), 0);
    assert_int_equal(tempdir_make(&t, 300, &err), -1);
    assert_non_null(strstr(err.text, path));
    tempdir_end(&t, false);
    assert_int_equal(tempdir_make(&t, 3, &err), 0); /* too long for the caller: /tmp */
    assert_int_equal(strncmp(t.path, "/tmp/assay-", 11), 0);
    tempdir_end(&t, false);
    assert_int_equal(setenv("TMPDIR", base, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_is_private_and_goes_with_its_owner),
        cmocka_unit_test(the_next_one_sweeps_what_a_kill_left),
        cmocka_unit_test(a_child_at_work_keeps_the_folder),
        cmocka_unit_test(kept_folders_and_those_of_others_stay),
        cmocka_unit_test(no_folder_can_be_made_is_an_error_that_names_the_place),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
