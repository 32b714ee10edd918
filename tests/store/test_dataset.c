/* test_dataset.c - rows of datasets: names, the four ways to find one, deletion. */
#include "tests/store/store_rig.h"

#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A ready dataset whose blob and frame are made from seed. */
static struct dataset_row dataset_make(struct store_rig *r, const char *name, unsigned seed)
{
    struct dataset_row row = { .name = mem_strdup(name),
                               .file_name = mem_strdup("x.csv"),
                               .columns = mem_strdup("{}"),
                               .state = mem_strdup("ready"),
                               .schema = mem_strdup("[]"),
                               .rows = 150,
                               .cols = 5,
                               .bytes = 99 };

    store_rig_blob(r, seed, 50, "csv", row.blob);
    store_rig_blob(r, seed + 1, 60, "frame", row.frame);
    sha256_hex(name, strlen(name), row.identity);
    assert_int_equal(store_dataset_put(r->store, &row, NULL), 0);
    return row;
}

static void a_dataset_is_found_by_name_and_by_each_of_its_hashes(void **state)
{
    struct store_rig *r = store_rig_new();
    struct dataset_row in = dataset_make(r, "iris", 10);
    const char *const keys[] = { "iris", in.blob, in.identity, in.frame };
    struct dataset_row out = { 0 };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        assert_int_equal(store_dataset_find(r->store, keys[i], &out, NULL), 1);
        assert_int_equal(out.id, in.id);
        assert_int_equal(out.rows, 150);
        assert_string_equal(out.schema, "[]");
        assert_string_equal(out.frame, in.frame);
        dataset_row_fini(&out);
    }
    assert_int_equal(store_dataset_find(r->store, "wine", &out, NULL), 0);
    assert_int_equal(store_dataset_find(r->store, "", &out, NULL), 0);
    dataset_row_fini(&in);
    store_rig_free(r);
    (void)state;
}

static void a_name_is_taken_once_and_blobs_must_be_stored(void **state)
{
    struct store_rig *r = store_rig_new();
    struct dataset_row one = dataset_make(r, "iris", 10);
    struct dataset_row two = { .name = mem_strdup("iris"), .state = mem_strdup("ingesting") };
    struct err err = { 0 };

    str_copy(two.identity, sizeof two.identity, one.identity);
    assert_int_equal(store_dataset_put(r->store, &two, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    mem_free(two.name);
    two.name = mem_strdup("wine");
    sha256_hex("never uploaded", 14, two.blob);
    assert_int_equal(store_dataset_put(r->store, &two, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_int_equal(two.id, 0);
    dataset_row_fini(&one);
    dataset_row_fini(&two);
    store_rig_free(r);
    (void)state;
}

static void it_cannot_go_while_an_unfinished_study_uses_it(void **state)
{
    struct store_rig *r = store_rig_new();
    struct dataset_row d = dataset_make(r, "iris", 10), out = { 0 };
    struct study_row study = { .name = mem_strdup("uses it"),
                               .spec = mem_strdup("{}"),
                               .dataset = d.id };
    struct err err = { 0 };
    int64_t bytes = 0;
    char *name = NULL;
    bool is_deleted = false;

    assert_int_equal(store_study_insert(r->store, &study, NULL), 0);
    assert_int_equal(store_dataset_delete(r->store, d.id, &err), -1);
    assert_int_equal(err.code, ERR_CONFLICT);
    assert_non_null(strstr(err.text, "uses it"));
    assert_int_equal(store_rig_study_step(r->store, study.id, SE_FAIL, NULL), 0);
    assert_int_equal(store_dataset_delete(r->store, d.id, NULL), 0);
    assert_int_equal(store_dataset_delete(r->store, d.id, &err), -1);
    assert_int_equal(err.code, ERR_NOTFOUND);
    assert_int_equal(store_dataset_get(r->store, d.id, &out, NULL), 0);
    assert_int_equal(store_dataset_find(r->store, "iris", &out, NULL), 0);
    assert_int_equal(store_dataset_find(r->store, d.blob, &out, NULL), 0);
    study_row_fini(&study);
    assert_int_equal(store_study_get(r->store, 1, &study, NULL), 1);
    assert_int_equal(study.dataset, d.id); /* the ended study still says what it was */
    assert_int_equal(store_dataset_name(r->store, d.id, &name, &is_deleted, NULL), 1);
    assert_string_equal(name, "iris");
    assert_true(is_deleted);
    mem_free(name);
    /* Its name and its blobs are free. */
    dataset_row_fini(&d);
    store_rig_commit(r);
    assert_int_equal(store_blob_collect(r->store, r->data, &store_rig_all, &bytes, NULL), 0);
    assert_int_equal(store_rig_count(r, "SELECT count(*) FROM blob"), 0);
    d = dataset_make(r, "iris", 20);
    assert_int_equal(d.id, 2);
    dataset_row_fini(&d);
    study_row_fini(&study);
    store_rig_free(r);
    (void)state;
}

static int on_dataset(void *arg, struct dataset_row *row)
{
    assert_non_null(row->name);
    *(int64_t *)arg = *(int64_t *)arg * 10 + row->id;
    return 0;
}

static void live_ones_are_listed(void **state)
{
    struct store_rig *r = store_rig_new();
    struct dataset_row a = dataset_make(r, "a", 1), b = dataset_make(r, "b", 3),
                       c = dataset_make(r, "c", 5);
    int64_t seen = 0;

    assert_int_equal(store_dataset_delete(r->store, b.id, NULL), 0);
    assert_int_equal(store_dataset_each(r->store, on_dataset, &seen, NULL), 0);
    assert_int_equal(seen, 13);
    dataset_row_fini(&a);
    dataset_row_fini(&b);
    dataset_row_fini(&c);
    store_rig_free(r);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_dataset_is_found_by_name_and_by_each_of_its_hashes),
        cmocka_unit_test(a_name_is_taken_once_and_blobs_must_be_stored),
        cmocka_unit_test(it_cannot_go_while_an_unfinished_study_uses_it),
        cmocka_unit_test(live_ones_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
