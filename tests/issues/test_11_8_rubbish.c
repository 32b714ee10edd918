/* test_11_8_rubbish.c - after a study of 20 minutes 5,897 abandoned uploads and 547 MB of blobs were there, of which 1.3 MB
 * were named by a row; and a clock that jumped a day collected blobs that had just been brought. */
#include "tests/rig.h"

#include "base/io.h"
#include "base/str.h"
#include "controller/files/upload.h"
#include "controller/serve/housekeep.h"
#include "store/blob.h"

#include <dirent.h>

enum { HOUR = 3600 * 1000, LOOKS = 40 };

static void open_rig(struct rig *r)
{
    rig_open(r);
    r->ctl->conf.blob_age_ms = HOUR;
    rig_dataset(r, "d");
}

/* As the timer does it, until every folder was seen; hardly any time passes. */
static void look(struct rig *r)
{
    for (int i = 0; i < LOOKS; i++) {
        housekeep_collect(r->ctl);
        ctl_turn_end(r->ctl);
    }
}

static int count_uploads(const struct rig *r)
{
    char path[340];
    int n = 0;

    snprintf(path, sizeof path, "%s/uploads", r->dir);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (const struct dirent *e = NULL; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static bool is_there(const struct rig *r, const char *sha256)
{
    char path[400];

    return blob_path(r->dir, sha256, path, sizeof path, NULL) == 0;
}

static void begin(struct rig *r, const struct ctl_upload_by *by, const char *text, char id[33])
{
    struct err err = { 0 };

    if (ctl_upload_new(r->ctl, by, id, &err) < 0 ||
        ctl_upload_write(r->ctl, id, 0, text, strlen(text), &err) < 0)
        fail_msg("upload: %s", err.text);
}

static void bring(struct rig *r, const struct ctl_upload_by *by, const char *text,
                  char sha256[SHA256_HEX])
{
    int64_t bytes = 0;
    char id[33];

    begin(r, by, text, id);
    sha256_hex(text, strlen(text), sha256);
    assert_int_equal(blob_upload_commit(r->dir, id, sha256, &bytes, NULL), 0);
    assert_int_equal(RIG_CALL(r, ctl_blob_add(r->ctl, sha256, bytes, "x", &rig_err)), 0);
    assert_int_equal(RIG_CALL(r, ctl_upload_named(r->ctl, id, sha256, &rig_err)), 0);
}

static void study_with_a_trial(struct rig *r, struct fake *f, struct ctl_upload_by *by)
{
    rig_study(r, "{'name':'s','dataset':'d','target':'y','budget':{'trials':4}}");
    fake_open(f, r, "one", 1);
    while (f->n_trials == 0)
        fake_ask(f);
    *by = (struct ctl_upload_by){ .trial = f->trials[0].trial, .fence = f->trials[0].fence };
}

static void what_a_trial_brought_goes_with_it(void **state)
{
    struct ctl_upload_by by;
    char sha256[SHA256_HEX], id[33];
    struct fake f;
    struct rig r;

    (void)state;
    open_rig(&r);
    study_with_a_trial(&r, &f, &by);
    begin(&r, &by, "half of it", id);
    bring(&r, &by, "a checkpoint", sha256);
    rig_pass(&r, RIG_LEASE_MS / 2);
    look(&r);
    assert_int_equal(count_uploads(&r), 1);
    assert_true(is_there(&r, sha256));
    while (f.n_trials > 0 && f.trials[0].trial == by.trial)
        fake_step(&f, 0);
    look(&r); /* nothing can name either of them any more */
    assert_int_equal(count_uploads(&r), 0);
    assert_false(is_there(&r, sha256));
    rig_close(&r);
}

static void a_trial_that_may_come_back_keeps_what_it_brought(void **state)
{
    struct ctl_upload_by by;
    char sha256[SHA256_HEX];
    struct fake f;
    struct rig r;

    (void)state;
    open_rig(&r);
    study_with_a_trial(&r, &f, &by);
    bring(&r, &by, "a checkpoint", sha256);
    rig_pass(&r, RIG_LEASE_MS * 3); /* its lease runs out, its fence stays until the next grant */
    look(&r);
    assert_true(is_there(&r, sha256));
    rig_close(&r);
}

static void a_clock_that_jumps_collects_nothing_fresh(void **state)
{
    const struct ctl_upload_by user = { .who = "ann", .is_limited = true };
    char sha256[SHA256_HEX], stray[SHA256_HEX], id[33];
    struct rig r;

    (void)state;
    open_rig(&r);
    begin(&r, &user, "half of it", id);
    bring(&r, &user, "a table", sha256);
    assert_int_equal(blob_put(r.dir, "no row yet", 10, stray, NULL), 0);
    look(&r);
    r.clk.wall_ms += INT64_C(400) * 24 * HOUR;
    look(&r);
    assert_true(is_there(&r, sha256) && is_there(&r, stray));
    assert_int_equal(count_uploads(&r), 1);
    /* What nobody names goes after its age by a clock that does not jump. */
    rig_pass(&r, 2 * HOUR);
    look(&r);
    assert_false(is_there(&r, sha256) || is_there(&r, stray));
    assert_int_equal(count_uploads(&r), 0);
    rig_close(&r);
}

static void a_blob_that_was_let_go_of_goes_at_the_next_look(void **state)
{
    const struct ctl_upload_by user = { .who = "ann", .is_limited = true };
    char sha256[SHA256_HEX], asked[SHA256_HEX], body[300];
    json_t *out = NULL, *json = NULL;
    struct rig r;

    (void)state;
    open_rig(&r);
    rig_pass(&r, HOUR);
    for (int i = 0; i < 2; i++) {
        bring(&r, &user, i ? "a\n2\n" : "a\n1\n", i ? asked : sha256);
        snprintf(body, sizeof body, "{'name':'t%d','blob':'%s'}", i, i ? asked : sha256);
        json = rig_json(body);
        assert_int_equal(RIG_CALL(&r, ctl_dataset_create(r.ctl, json, &out, &rig_err)), 0);
        json_decref(json);
        json_decref(out);
    }
    look(&r);
    rig_pass(&r, 3 * HOUR); /* named: its age is of no account */
    look(&r);
    assert_true(is_there(&r, sha256) && is_there(&r, asked));
    assert_int_equal(RIG_CALL(&r, ctl_dataset_delete(r.ctl, "t0", &rig_err)), 0);
    assert_int_equal(RIG_CALL(&r, ctl_dataset_delete(r.ctl, "t1", &rig_err)), 0);
    /* Somebody asks for one of them, and may be about to name it. */
    assert_int_equal(ctl_blob_path(r.ctl, asked, body, sizeof body, NULL), 0);
    look(&r);
    assert_false(is_there(&r, sha256));
    assert_true(is_there(&r, asked));
    rig_pass(&r, HOUR / 2);
    look(&r);
    assert_false(is_there(&r, asked));
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_trial_brought_goes_with_it),
        cmocka_unit_test(a_trial_that_may_come_back_keeps_what_it_brought),
        cmocka_unit_test(a_clock_that_jumps_collects_nothing_fresh),
        cmocka_unit_test(a_blob_that_was_let_go_of_goes_at_the_next_look),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
