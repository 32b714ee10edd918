/* test_2_blob_without_row.c - found by tests/e2e/test_kill.c: a controller killed between making an uploaded file durable and
 * writing its row answered HEAD /blobs/{hash} with 200 for ever after, so that clients skipped the upload, and refused
 * everything that named the blob. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/str.h"
#include "store/blob.h"
#include "tests/e2e/service.h"

static void a_file_without_a_row_is_uploaded_again(void **state)
{
    const struct service_conf conf = { 0 };
    char table[200], sha256[SHA256_HEX], found[SHA256_HEX];
    struct service s;
    struct err err = { 0 };
    struct buf bytes;
    json_t *body = NULL;

    (void)state;
    assert_int_equal(service_open(&s, &conf, &err), 0);
    assert_int_equal(service_start(&s, &err), 0);
    struct client *c = service_client(&s);
    assert_int_equal(service_table(&s, "main", 50, 1, table, sizeof table, &err), 0);
    assert_int_equal(io_read_file(table, 1 << 20, &bytes, &err), 0);
    assert_int_equal(blob_put(s.data, bytes.data, bytes.len, sha256, &err),
                     0); /* and then it was killed */
    buf_fini(&bytes);

    assert_int_equal(client_upload(c, table, found, &err), 0);
    assert_string_equal(found, sha256);
    body = json_pack("{s:s, s:s, s:s}", "name", "main", "blob", sha256, "file_name", "main.csv");
    if (client_post(c, body, NULL, &err, "/datasets") < 0)
        fail_msg("%s", err.text);

    json_decref(body);
    client_free(c);
    assert_int_equal(service_stop(&s, 5000, &err), 0);
    service_close(&s, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_file_without_a_row_is_uploaded_again) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
