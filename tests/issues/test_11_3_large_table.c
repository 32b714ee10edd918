/* test_11_3_large_table.c - a table's file over 1 MiB is only measured before a grant, since hashing it would stop the loop. A
 * flipped bit in it is therefore found by the runner, which hashes every file before it maps it. A real runner, a real
 * table: attempts are few, nobody is blamed, and the study goes on with a table that was made again, or pauses with a
 * sentence when the file that the user brought is gone too. */
#include "tests/unit.h"

#include "base/io.h"
#include "base/str.h"
#include "tests/e2e/service.h"

#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

enum { ROWS = 12000, LIMIT_MS = 60000 };

struct world {
    struct service s;
    struct client *c;
    char frame[SHA256_HEX], source[SHA256_HEX];
};

static void blob_file(const struct world *w, const char *sha256, char *out, size_t size)
{
    snprintf(out, size, "%s/blobs/%.2s/%s", w->s.data, sha256, sha256);
}

static void flip(const char *path, off_t at)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    char byte = 0;

    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

static void world_open(struct world *w)
{
    const struct service_conf conf = { .n_runners = 1, .seed = test_seed() };
    char table[200], path[400];
    json_t *row = NULL;
    struct err err = { 0 };
    int64_t id = 0;

    if (service_open(&w->s, &conf, &err) < 0 || service_start(&w->s, &err) < 0)
        fail_msg("start: %s", err.text);
    w->c = service_client(&w->s);
    assert_int_equal(service_table(&w->s, "t", ROWS, 1, table, sizeof table, &err), 0);
    if (api_dataset(w->c, table, "d", LIMIT_MS, &id, &err) < 0)
        fail_msg("dataset: %s", err.text);
    assert_int_equal(client_get(w->c, &row, &err, "/datasets/%" PRId64, id), 0);
    str_copy(w->frame, sizeof w->frame, json_text(row, "frame"));
    str_copy(w->source, sizeof w->source, json_text(row, "blob"));
    json_decref(row);
    blob_file(w, w->frame, path, sizeof path);
    assert_true(io_file_bytes(path) > 1 << 20);
    /* What was hashed in this process is only looked at again: the damage is done while it is away. */
    service_kill_controller(&w->s);
    flip(path, (off_t)io_file_bytes(path) / 2);
    assert_int_equal(service_start_controller(&w->s, &err), 0);
    assert_int_equal(service_wait(&w->s, 60000, &err), 0);
}

static int64_t submit(struct world *w)
{
    json_t *spec = json_pack("{s:s, s:s, s:s, s:{s:i}, s:[{s:s}], s:b}", "name", "s", "dataset",
                             "d", "target", "class", "budget", "trials", 2, "space", "family",
                             "linear", "deterministic", 0),
           *out = NULL;
    struct err err = { 0 };
    int64_t id = 0;

    if (client_post(w->c, spec, &out, &err, "/studies") < 0)
        fail_msg("submit: %s", err.text);
    id = json_i64(out, "id");
    json_decref(out);
    json_decref(spec);
    return id;
}

static int count_in_log(const struct world *w, const char *text)
{
    char path[300];
    struct buf log = { 0 };
    int n = 0;

    service_log_path(&w->s, "assayd", path, sizeof path);
    assert_int_equal(io_read_file(path, 64 << 20, &log, NULL), 0);
    for (const char *p = strstr(log.data, text); p; p = strstr(p + 1, text))
        n++;
    buf_fini(&log);
    return n;
}

static void world_close(struct world *w)
{
    struct err err = { 0 };

    client_free(w->c);
    if (service_stop(&w->s, 15000, &err) < 0)
        fail_msg("stop: %s", err.text);
    service_close(&w->s, false);
}

static void a_flipped_bit_in_a_large_table_is_mended_from_its_source(void **state)
{
    struct world w = { 0 };
    json_t *out = NULL;
    struct err err = { 0 };

    (void)state;
    world_open(&w);
    if (api_await_study(w.c, submit(&w), patience_ms(LIMIT_MS), &out, &err) < 0)
        fail_msg("study: %s", err.text);
    assert_string_equal(json_text(out, "state"), "completed");
    json_decref(out);
    assert_int_equal(count_in_log(&w, "dataset.again"), 1);
    assert_int_equal(count_in_log(&w, "runner.quarantined"), 0);
    assert_in_range(count_in_log(&w, "group.leased"), 2, 8);
    world_close(&w);
}

static void without_its_source_the_study_pauses_with_a_sentence(void **state)
{
    struct world w = { 0 };
    char path[400], state_is[20] = "", reason[400] = "";
    int64_t id = 0, end = now_ms() + patience_ms(LIMIT_MS);
    struct err err = { 0 };

    (void)state;
    world_open(&w);
    blob_file(&w, w.source, path, sizeof path);
    assert_int_equal(unlink(path), 0);
    id = submit(&w);
    while (now_ms() < end && strcmp(state_is, "paused") != 0) {
        json_t *out = NULL;

        assert_int_equal(client_get(w.c, &out, &err, "/studies/%" PRId64, id), 0);
        str_copy(state_is, sizeof state_is, json_text(out, "state"));
        str_copy(reason, sizeof reason, json_text(out, "reason"));
        json_decref(out);
        pause_ms(50);
    }
    assert_string_equal(state_is, "paused");
    if (!strstr(reason, "the table d cannot be read") || !strstr(reason, w.frame))
        fail_msg("the reason is \"%s\"", reason);
    assert_int_equal(count_in_log(&w, "runner.quarantined"), 0);
    assert_in_range(count_in_log(&w, "group.leased"), 2, 12);
    world_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flipped_bit_in_a_large_table_is_mended_from_its_source),
        cmocka_unit_test(without_its_source_the_study_pauses_with_a_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
