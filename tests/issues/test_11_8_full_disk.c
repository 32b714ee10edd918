/* test_11_8_full_disk.c - the disk of the data folder is full for two minutes of the rig's clock: every write of SQLite and
 * of base/io answers ENOSPC, and statvfs says that nothing is free. Requests are refused as full and change nothing. Within
 * 10 s of there being room again a study is accepted, an upload is accepted and a trial ends, although the runner asks no
 * more often than its longest pause allows. At the end the study is the same as without a full disk.
 * tests/e2e/test_full_disk.c does the same to real processes, where a small disk may be mounted. */
#include "tests/rig.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "trial-runner/agent/backoff.h"
#include "trial-runner/agent/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define SPEC                                                                               \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':16},'seed':3,'parallel':3," \
    "'sampler':'testhash','scheduler':'testhash','validation':'holdout'}"
#define SMALL \
    "{'name':'%s','dataset':'d','target':'y','budget':{'trials':2},'validation':'holdout'}"
#define SENTENCE \
    "the disk of the data folder is full: nothing can be stored until there is room again"

enum { STEP_MS = 250, FULL_MS = 120000, WHOLE_MS = 10000, ENDED_BEFORE = 4, FIRST_PAUSE_MS = 100 };

/* ---- the disk ---- */

static bool is_full;

static int no_space(void)
{
    errno = ENOSPC;
    return -1;
}

static ssize_t on_pwrite(int fd, const void *p, size_t n, off_t at)
{
    return is_full ? no_space() : pwrite(fd, p, n, at);
}

static ssize_t on_write(int fd, const void *p, size_t n)
{
    return is_full ? no_space() : write(fd, p, n);
}

/* Takes the place of the C library's function in this program. */
int statvfs(const char *restrict path, struct statvfs *restrict out)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 ? -1 : fstatvfs(fd, out);

    if (fd >= 0)
        close(fd);
    if (rc == 0 && is_full)
        out->f_bfree = out->f_bavail = 0;
    return rc;
}

static void disk_open(void)
{
    static struct io_ops ops;
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");
    sqlite3_syscall_ptr at = (sqlite3_syscall_ptr)on_pwrite;

    ops = io_system;
    ops.pwrite = on_pwrite;
    io = &ops;
    assert_non_null(vfs);
    /* SQLite uses one of the three; a name that it was built without is not found. */
    (void)vfs->xSetSystemCall(vfs, "pwrite", at);
    (void)vfs->xSetSystemCall(vfs, "pwrite64", at);
    assert_int_equal(vfs->xSetSystemCall(vfs, "write", (sqlite3_syscall_ptr)on_write), SQLITE_OK);
}

static void disk_close(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

    is_full = false;
    io = &io_system;
    (void)vfs->xSetSystemCall(vfs, NULL, NULL);
}

/* ---- who asks ---- */

struct client {
    struct rig r;
    struct fake f;
    struct backoff pause; /* the runner's own */
    int64_t due_ms, longest_ms, study;
    int refused;
};

static int64_t now(struct client *c)
{
    return clk_now_ms(&c->r.clk);
}

/* As web/ does it: asked whether the controller admits it, then done and committed. */
static int submit(struct client *c, const char *name)
{
    char spec[200];
    json_t *json = NULL, *out = NULL;
    int rc = -1;

    rig_err = (struct err){ 0 };
    if (ctl_admit(c->r.ctl, &rig_err) < 0)
        return -1;
    (void)!snprintf(spec, sizeof spec, SMALL, name);
    json = rig_json(spec);
    rc = RIG_CALL(&c->r, ctl_study_create(c->r.ctl, json, "tester", false, &out, &rig_err));
    json_decref(json);
    json_decref(out);
    return rc;
}

static int upload(struct client *c)
{
    const struct ctl_upload_by by = { .who = "tester" };
    char id[33];

    rig_err = (struct err){ 0 };
    if (ctl_upload_new(c->r.ctl, &by, id, &rig_err) < 0)
        return -1;
    return ctl_upload_write(c->r.ctl, id, 0, "some bytes", 10, &rig_err);
}

/* The runner says what it has, or asks for work, when its pause is over. */
static void runner_acts(struct client *c)
{
    struct err err = { 0 };
    struct msg_answer a;
    struct msg_event e;

    if (now(c) < c->due_ms)
        return;
    if (is_full && c->f.n_trials > 0) {
        fake_event(&c->f, 0, &e);
        assert_int_equal(fake_report(&c->f, &e, 1, &a), -1);
        assert_int_equal(rig_err.code, ERR_FULL);
        c->refused++;
        c->due_ms = now(c) + backoff_next_ms(&c->pause);
    } else if (ctl_admit(c->r.ctl, &err) < 0) {
        c->due_ms = now(c) + backoff_next_ms(&c->pause);
    } else {
        if (c->f.n_trials > 0)
            fake_step(&c->f, 0);
        else
            fake_ask(&c->f);
        backoff_reset(&c->pause);
    }
}

static int64_t n_ended(struct client *c)
{
    return rig_count(&c->r, c->study, TS_COMPLETED) + rig_count(&c->r, c->study, TS_PRUNED);
}

/* ---- its life ---- */

static void digest(struct client *c, char out[SHA256_HEX])
{
    assert_int_equal(store_digest(c->r.ctl->store, out, &rig_err), 0);
}

static void refusal(struct client *c, const char *what, int rc)
{
    if (rc >= 0)
        fail_msg("%s was accepted on a full disk", what);
    if (rig_err.code != ERR_FULL || !strstr(rig_err.text, "the disk of the data folder is full"))
        fail_msg("%s was refused with: %s", what, rig_err.text);
    c->refused++;
}

static void while_it_is_full(struct client *c)
{
    char acked[SHA256_HEX], got[SHA256_HEX];
    int64_t end = now(c) + FULL_MS;
    bool has_said = false;

    digest(c, acked);
    is_full = true;
    while (now(c) < end) {
        rig_pass(&c->r, STEP_MS);
        runner_acts(c);
        refusal(c, "an upload", upload(c));
        refusal(c, "a study", submit(c, "refused"));
        has_said = has_said || strcmp(rig_err.text, SENTENCE) == 0;
        digest(c, got);
        assert_string_equal(got, acked);
    }
    assert_true(has_said);
    assert_true(c->refused > FULL_MS / STEP_MS);
}

static void with_room_again(struct client *c)
{
    int64_t from = now(c), before = n_ended(c);
    bool has_study = false, has_upload = false;

    is_full = false;
    c->due_ms = from + c->longest_ms; /* the worst case: the runner was refused just before */
    while (!has_study || !has_upload || n_ended(c) == before) {
        rig_pass(&c->r, STEP_MS);
        runner_acts(c);
        has_upload = has_upload || upload(c) == 0;
        has_study = has_study || submit(c, "after") == 0;
        if (now(c) - from > WHOLE_MS)
            fail_msg("10 s after there was room: study %d, upload %d, %d trials ended, %s",
                     has_study, has_upload, (int)(n_ended(c) - before), rig_err.text);
    }
}

/* The board without the trials' ids: they depend on when the study "after" was submitted. */
static char *board_of(struct client *c)
{
    char *text = rig_board(&c->r, c->study), *out = NULL;
    json_t *all = rig_json(text), *row = NULL;
    size_t i = 0;

    json_array_foreach(json_object_get(json_object_get(all, "board"), "rows"), i, row)
    {
        json_object_del(row, "trial");
    }
    json_object_del(json_object_get(all, "result"), "trial");
    out = jsonx_dump(all);
    json_decref(all);
    free(text);
    return out;
}

static char *life(bool fills)
{
    char program[] = "assay-runner", *args[] = { program, NULL }, *board = NULL;
    int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct runner_conf conf;
    struct client c = { .due_ms = 0 };
    bool help = false;

    disk_open();
    rig_open(&c.r);
    assert_int_equal(runner_conf_load(&conf, 1, args, &help, &rig_err), 0);
    c.longest_ms = conf.backoff_max_ms;
    backoff_init(&c.pause, FIRST_PAUSE_MS, c.longest_ms, 1);
    runner_conf_fini(&conf);
    rig_dataset(&c.r, "d");
    c.study = rig_study(&c.r, SPEC);
    fake_open(&c.f, &c.r, "one", 2);
    while (n_ended(&c) < ENDED_BEFORE || c.f.n_trials == 0 || c.f.trials[0].next == MSG_COMPLETE ||
           c.f.trials[0].next == MSG_PAUSED)
        runner_acts(&c);
    if (fills) {
        log_to_fd(quiet); /* the errors are wanted */
        while_it_is_full(&c);
        log_to_fd(2);
        with_room_again(&c);
    }
    rig_run(&c.r, c.study, 1, 5, 0, 0);
    board = board_of(&c);
    rig_close(&c.r);
    disk_close();
    close(quiet);
    return board;
}

static void service_is_whole_10_s_after_a_full_disk(void **state)
{
    char *want = life(false), *got = life(true);

    (void)state;
    assert_string_equal(got, want);
    free(want);
    free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(service_is_whole_10_s_after_a_full_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
