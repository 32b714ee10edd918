/* test_upload.c - uploads under way and blobs at rest: quotas, idle uploads, and looking at a file
 * before it is relied on. What may be deleted, and when, is in tests/issues/test_11_8_rubbish.c. */
#include "tests/rig.h"

#include "controller/files/look.h"
#include "controller/files/upload.h"

#include <string.h>

enum { MINUTE = 60 * 1000, QUOTA = 1000 };

static const struct ctl_upload_by nobody;

static int begin(struct rig *r, size_t bytes, char id[33])
{
    char data[QUOTA] = { 0 };

    memset(&rig_err, 0, sizeof rig_err);
    return ctl_upload_new(r->ctl, &nobody, id, &rig_err) < 0
               ? -1
               : ctl_upload_write(r->ctl, id, 0, data, bytes, &rig_err);
}

static void unfinished_uploads_count_against_the_quota(void **state)
{
    char first[33], second[33];
    struct rig r;

    (void)state;
    rig_open(&r);
    r.ctl->conf.disk_quota = QUOTA;
    assert_int_equal(begin(&r, 600, first), 0);
    assert_int_equal(begin(&r, 600, second), -1);
    assert_int_equal(rig_err.code, ERR_FULL);
    assert_int_equal(ctl_upload_drop(r.ctl, first, NULL), 0);
    assert_int_equal(ctl_upload_write(r.ctl, second, 0, "room", 4, NULL), 0);
    rig_close(&r);
}

static void an_upload_that_nobody_goes_on_with_is_deleted(void **state)
{
    char idle[33], used[33];
    int64_t size = 0;
    struct rig r;

    (void)state;
    rig_open(&r);
    assert_int_equal(begin(&r, 10, idle), 0);
    assert_int_equal(begin(&r, 10, used), 0);
    rig_pass(&r, 40 * MINUTE);
    assert_int_equal(ctl_upload_write(r.ctl, used, 10, "more", 4, NULL), 0);
    rig_pass(&r, 40 * MINUTE);
    uploads_sweep(r.ctl);
    assert_int_equal(ctl_upload_size(r.ctl, idle, &size, NULL), -1);
    assert_int_equal(ctl_upload_size(r.ctl, used, &size, NULL), 0);
    assert_int_equal(size, 14);
    rig_close(&r);
}

static void a_missing_or_damaged_blob_is_seen(void **state)
{
    char sha256[SHA256_HEX];
    struct err err = { 0 };
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_blob(&r, "whole", sha256); /* its row; the file comes below */
    assert_int_equal(blob_look(r.ctl, sha256, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    rig_file(&r, sha256, "w h o l e", 9);
    assert_int_equal(blob_look(r.ctl, sha256, &err), -1);
    assert_int_equal(err.code, ERR_IO);
    rig_file(&r, sha256, "whole", 5);
    assert_int_equal(blob_look(r.ctl, sha256, &err), 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unfinished_uploads_count_against_the_quota),
        cmocka_unit_test(an_upload_that_nobody_goes_on_with_is_deleted),
        cmocka_unit_test(a_missing_or_damaged_blob_is_seen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
