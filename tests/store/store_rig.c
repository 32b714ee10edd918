/* store_rig.c - see store_rig.h. Failing here is a failed test: cmocka's asserts are used throughout. */
#include "tests/store/store_rig.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static void open_it(struct store_rig *r)
{
    struct err err = { 0 };

    r->store = store_open(r->data, NULL, &r->clk, &err);
    if (!r->store)
        fail_msg("open: %s", err.text);
}

struct store_rig *store_rig_new(void)
{
    struct store_rig *r = mem_zalloc(sizeof *r);
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

    /* In memory where that can be had: sweeps open hundreds of stores, and what fsync means is test_powercut.c's affair. */
    snprintf(r->dir, sizeof r->dir, "%s/assay-store-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    snprintf(r->data, sizeof r->data, "%s/data", r->dir);
    clk_init_system(&r->clk);
    open_it(r);
    return r;
}

void store_rig_free(struct store_rig *r)
{
    store_close(r->store);
    assert_int_equal(io_remove_tree(r->dir, NULL), 0);
    mem_free(r);
}

void store_rig_restart(struct store_rig *r)
{
    store_close(r->store);
    open_it(r);
}

void store_rig_commit(struct store_rig *r)
{
    struct err err = { 0 };

    if (store_turn_commit(r->store, &err) < 0)
        fail_msg("commit: %s", err.text);
}

int64_t store_rig_study(struct store_rig *r, const char *name)
{
    struct study_row row = { .name = mem_strdup(name),
                             .owner = mem_strdup("me"),
                             .spec = mem_strdup("{}") };
    struct err err = { 0 };
    int64_t id = 0;

    if (store_study_insert(r->store, &row, &err) < 0)
        fail_msg("study: %s", err.text);
    id = row.id;
    study_row_fini(&row);
    return id;
}

int64_t store_rig_trial(struct store_rig *r, int64_t study, int64_t number)
{
    struct trial_row row = { .study = study,
                             .number = number,
                             .config = mem_strdup("{\"family\":\"boost\"}"),
                             .family = mem_strdup("boost"),
                             .seed = UINT64_MAX - 1,
                             .max_level = 3,
                             .score = NAN,
                             .score_se = NAN,
                             .select_value = NAN,
                             .test_score = NAN,
                             .test_se = NAN };
    struct err err = { 0 };
    int64_t id = 0;

    if (store_trial_insert(r->store, &row, &err) < 0)
        fail_msg("trial: %s", err.text);
    id = row.id;
    trial_row_fini(&row);
    return id;
}

int64_t store_rig_runner(struct store_rig *r, const char *session)
{
    struct runner_row row = { .name = mem_strdup("host"),
                              .session = mem_strdup(session),
                              .numeric_sig = mem_strdup("assay-1/cpu"),
                              .devices = mem_strdup("[]"),
                              .state = mem_strdup("enabled") };
    struct err err = { 0 };
    int64_t id = 0;

    if (store_runner_put(r->store, &row, &err) < 0)
        fail_msg("runner: %s", err.text);
    id = row.id;
    runner_row_fini(&row);
    return id;
}

int store_rig_step(struct store *s, int64_t trial, enum trial_event ev, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = store_trial_get(s, trial, &row, err);

    if (rc == 1) {
        rc = trial_next(&row.state, ev, trial, err);
        row.fence += ev == TE_LEASE;
        if (rc == 0)
            rc = store_trial_event(s, &row, ev, NULL, err);
    }
    trial_row_fini(&row);
    return rc;
}

int store_rig_study_step(struct store *s, int64_t study, enum study_event ev, struct err *err)
{
    struct study_row row = { 0 };
    int rc = store_study_get(s, study, &row, err);

    if (rc == 1) {
        rc = study_next(&row.state, ev, study, err);
        if (rc == 0)
            rc = store_study_event(s, &row, ev, NULL, err);
    }
    study_row_fini(&row);
    return rc;
}

static int on_count(void *arg, const char *json)
{
    const char *colon = strrchr(json, ':');

    *(int64_t *)arg = colon ? strtoll(colon + 1, NULL, 10) : -1;
    return 0;
}

int64_t store_rig_count(struct store_rig *r, const char *sql)
{
    struct err err = { 0 };
    int64_t n = -1;

    if (store_sql_readonly(r->store, sql, on_count, &n, &err) < 0)
        fail_msg("%s: %s", sql, err.text);
    return n;
}

void store_rig_blob(struct store_rig *r, unsigned seed, size_t n, const char *kind,
                    char sha256[SHA256_HEX])
{
    unsigned char *bytes = mem_alloc(n);
    struct err err = { 0 };

    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)((seed = seed * 1664525 + 1013904223) >> 24);
    if (blob_put(r->data, bytes, n, sha256, &err) < 0 ||
        (kind && store_blob_add(r->store, sha256, (int64_t)n, kind, &err) < 0))
        fail_msg("blob: %s", err.text);
    mem_free(bytes);
}

static bool any_row(void *arg, const char *sha256, bool was_named)
{
    (void)arg, (void)sha256, (void)was_named;
    return true;
}

static bool any_file(void *arg, const char *name, const struct file_mark *mark)
{
    (void)arg, (void)name, (void)mark;
    return true;
}

const struct blob_judge store_rig_all = { any_row, any_file, NULL };

int64_t store_rig_collect(struct store_rig *r, const struct blob_judge *judge)
{
    int64_t sum = 0, bytes = 0;
    struct err err = { 0 };

    for (int i = 0; i <= BLOB_FOLDERS / BLOB_FOLDERS_AT_ONCE; i++) {
        if (store_blob_collect(r->store, r->data, judge, &bytes, &err) < 0)
            fail_msg("collect: %s", err.text);
        store_rig_commit(r);
        sum += bytes;
    }
    return sum;
}

static void on_diff(void *arg, const char *line)
{
    (void)arg;
    print_error("replay: %s\n", line);
}

void store_rig_check_replay(struct store_rig *r)
{
    struct err err = { 0 };
    int rc = store_replay(r->store, on_diff, NULL, &err);

    if (rc < 0)
        fail_msg("replay: %s", err.text);
    assert_int_equal(rc, 0);
}
