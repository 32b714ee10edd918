/* test_conf.c - one table, four sources, errors that name place and nearest name. */
#include "tests/unit.h"

#include "base/conf.h"
#include "base/io.h"
#include "base/mem.h"

#include <stdbool.h>
#include <unistd.h>

struct sample {
    int64_t lease_ms, workers, cache_bytes;
    char *db_path, *api_token;
    bool dev;
};

#define AT(field) offsetof(struct sample, field)
static const struct conf_opt opts[] = {
    { "lease_ms", CONF_DURATION_MS, AT(lease_ms), "30s", 1000, 600000, "how long" },
    { "workers", CONF_I64, AT(workers), "4", 1, 64, "how many" },
    { "cache_bytes", CONF_BYTES, AT(cache_bytes), "1GiB", 0, 0, "how much" },
    { "db_path", CONF_STR, AT(db_path), "assay.db", 0, 0, "the file" },
    { "api_token", CONF_STR, AT(api_token), NULL, 0, 0, "the secret" },
    { "dev", CONF_BOOL, AT(dev), "false", 0, 0, "for developers" },
};
enum { N = sizeof opts / sizeof opts[0] };

static void write_conf(char path[400], const char *text)
{
    test_path(path, 400, "x.yaml");
    assert_int_equal(io_replace(path, text, strlen(text), 0600, NULL), 0);
}

static void defaults_fill_every_field(void **state)
{
    struct sample s = { 0 };

    (void)state;
    assert_int_equal(conf_defaults(&s, opts, N, NULL), 0);
    assert_true(s.lease_ms == 30000 && s.workers == 4 && s.cache_bytes == 1 << 30 && !s.dev);
    assert_string_equal(s.db_path, "assay.db");
    assert_null(s.api_token);
    conf_fini(&s, opts, N);
    assert_null(s.db_path);
    conf_fini(&s, opts, N);
}

static void flag_beats_environment_beats_file_beats_default(void **state)
{
    struct sample s = { 0 };
    char path[400];
    char *argv[] = { "assayd", "--lease-ms=4s", "--dev", "--db-path", "flag.db", "rest", "--dev" };
    int argi = 1;

    (void)state;
    write_conf(path, "# comment\n\nlease_ms: 2s # why\nworkers: 9\r\ndb_path: \"a # b.db\"  # x\n"
                     "api_token: 'q'\ndev: no\n");
    setenv("ASSAY_LEASE_MS", "3s", 1);
    setenv("ASSAY_WORKERS", "10", 1);
    assert_int_equal(conf_defaults(&s, opts, N, NULL), 0);
    assert_int_equal(conf_file(&s, opts, N, path, NULL), 0);
    assert_string_equal(s.db_path, "a # b.db");
    assert_string_equal(s.api_token, "q");
    assert_int_equal(s.lease_ms, 2000);
    assert_int_equal(conf_env(&s, opts, N, NULL), 0);
    assert_int_equal(s.lease_ms, 3000);
    assert_int_equal(conf_args(&s, opts, N, 7, argv, &argi, NULL), 0);
    assert_int_equal(argi, 5);
    assert_int_equal(s.lease_ms, 4000);
    assert_int_equal(s.workers, 10);
    assert_string_equal(s.db_path, "flag.db");
    assert_true(s.dev);
    unsetenv("ASSAY_LEASE_MS");
    unsetenv("ASSAY_WORKERS");
    unlink(path);
    conf_fini(&s, opts, N);
}

static void a_bad_file_names_line_and_nearest_key(void **state)
{
    static const struct {
        const char *text, *say;
    } cases[] = {
        { "dev: true\nlease_mss: 3s\n", ":2: lease_mss: unknown option; did you mean lease_ms?" },
        { "zzz: 1\n", ":1: zzz: unknown option" },
        { "workers: 65\n", ":1: workers: must be from 1 to 64" },
        { "lease_ms: 1ms\n", ":1: lease_ms: must be from 1.0s to 10m00s" },
        { "workers: many\n", ":1: workers: 'many' is not a whole number" },
        { "workers\n", ":1: not a \"name: value\" line" },
        { "db_path: \"open\n", ":1: a quote is not closed" },
        { "db_path: \"a\" b\n", ":1: a quote is not closed" },
        { "dev: maybe\n", ":1: dev: 'maybe' is not true or false" },
        { "dev: \xff\n", "is not UTF-8" },
    };
    char path[400];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sample s = { 0 };
        struct err err = { 0 };

        write_conf(path, cases[i].text);
        assert_int_equal(conf_file(&s, opts, N, path, &err), -1);
        if (!strstr(err.text, cases[i].say))
            fail_msg("'%s' should say '%s'", err.text, cases[i].say);
        conf_fini(&s, opts, N);
    }
    unlink(path);
    assert_int_equal(conf_file(&(struct sample){ 0 }, opts, N, path, NULL), -1);
}

static void bad_flags_are_explained(void **state)
{
    static const struct {
        char *argv[3];
        int argc;
        const char *say;
    } cases[] = {
        { { "x", "--leasems=3s", NULL },
          2,
          "unknown option --leasems=3s; did you mean --lease-ms?" },
        { { "x", "--qqqqqqqq", NULL }, 2, "unknown option --qqqqqqqq" },
        { { "x", "--workers", NULL }, 2, "--workers needs a value" },
        { { "x", "--workers", "-1" }, 3, "--workers: must be from 1 to 64" },
        { { "x", "--dev=perhaps", NULL }, 2, "--dev: 'perhaps' is not true or false" },
        { { "x", "--=", NULL }, 2, "unknown option --=" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sample s = { 0 };
        struct err err = { 0 };
        int argi = 1;

        assert_int_equal(conf_args(&s, opts, N, cases[i].argc, (char **)cases[i].argv, &argi, &err),
                         -1);
        assert_string_equal(err.text, cases[i].say);
        conf_fini(&s, opts, N);
    }
}

static void two_dashes_end_the_options(void **state)
{
    struct sample s = { 0 };
    char *argv[] = { "x", "--dev=off", "--", "--dev" };
    int argi = 1;

    (void)state;
    assert_int_equal(conf_args(&s, opts, N, 4, argv, &argi, NULL), 0);
    assert_int_equal(argi, 3);
    assert_false(s.dev);
}

static void help_lists_every_option_and_tokens_stay_hidden(void **state)
{
    struct sample s = { 0 };
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    json_t *o = NULL;

    (void)state;
    conf_help(out, opts, N);
    fclose(out);
    assert_non_null(strstr(text, "--lease-ms TIME"));
    assert_non_null(strstr(text, "the file (default assay.db)"));
    free(text);
    conf_defaults(&s, opts, N, NULL);
    assert_int_equal(conf_set(&s, &opts[4], "secret", "test", NULL), 0);
    o = conf_json_new(&s, opts, N);
    assert_string_equal(json_string_value(json_object_get(o, "api_token")), "(hidden)");
    assert_int_equal(json_integer_value(json_object_get(o, "lease_ms")), 30000);
    assert_true(json_is_false(json_object_get(o, "dev")));
    json_decref(o);
    conf_fini(&s, opts, N);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_fill_every_field),
        cmocka_unit_test(flag_beats_environment_beats_file_beats_default),
        cmocka_unit_test(a_bad_file_names_line_and_nearest_key),
        cmocka_unit_test(bad_flags_are_explained),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(help_lists_every_option_and_tokens_stay_hidden),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
