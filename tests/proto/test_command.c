/* test_command.c - the command of a spec: words and their places, files, limits, retry rules; and a table of bad ones, each
 * with one error that names its place. */
#include "tests/unit.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/command.h"
#include "proto/spec.h"
#include "proto/yaml.h"

static const char HEAD[] = "space: {lr: {log: [0.001, 1]}, opt: {choice: [a, b]}}\n";

static int parse(struct spec *s, const char *rest, struct err *err)
{
    char yaml[2000];

    (void)snprintf(yaml, sizeof yaml, "%s%s", HEAD, rest);
    json_t *j = yamlx_load(yaml, strlen(yaml), "spec", err);
    if (!j)
        fail_msg("%s", err->text);
    int rc = spec_parse(s, j, err);
    json_decref(j);
    return rc;
}

static char *filled(const char *words, const char *params)
{
    struct err err = { 0 };
    struct command c;
    json_t *o = json_pack("{s:o}", "command", jsonx_load(words, strlen(words), "words", &err));
    json_t *p = jsonx_load(params, strlen(params), "params", &err);

    if (command_parse(&c, o, NULL, &err) < 0)
        fail_msg("%s", err.text);
    json_t *list = command_words_new(&c, p);
    char *text = jsonx_dump(list);
    json_decref(list);
    json_decref(p);
    json_decref(o);
    command_fini(&c);
    return text;
}

static void places_are_filled_and_absent_parameters_take_their_option_with_them(void **state)
{
    static const struct {
        const char *words, *params, *want;
    } cases[] = {
        { "[\"p\",\"--lr\",\"{lr}\"]", "{\"lr\":0.1}", "[\"p\",\"--lr\",\"0.1\"]" },
        { "[\"p\",\"--lr={lr}/{lr}\"]", "{\"lr\":1e-7}", "[\"p\",\"--lr=1e-07/1e-07\"]" },
        { "[\"p\",\"{n}\",\"{b}\",\"{s}\"]", "{\"n\":3,\"b\":true,\"s\":\"a b\"}",
          "[\"p\",\"3\",\"true\",\"a b\"]" },
        { "[\"p\",\"--m\",\"{m}\",\"--x\",\"1\"]", "{}", "[\"p\",\"--x\",\"1\"]" },
        { "[\"p\",\"a\",\"{m}\"]", "{}", "[\"p\",\"a\"]" },
        { "[\"p\",\"{{x}}\",\"}}{{\"]", "{}", "[\"p\",\"{x}\",\"}{\"]" },
        { "[\"p\",\"{v}\"]", "{\"v\":0.30000000000000004}", "[\"p\",\"0.30000000000000004\"]" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *got = filled(cases[i].words, cases[i].params);
        assert_string_equal(got, cases[i].want);
        mem_free(got);
    }
}

static void a_whole_command_is_kept_and_reads_back_the_same(void **state)
{
    struct err err = { 0 };
    struct spec s, again;

    (void)state;
    if (parse(&s,
              "command: [python3, train.py, \"{lr}\"]\nenvironment: {A: \"{opt}\", N: 4}\n"
              "files: {train.py: \"print(1)\", data/x.bin: {base64: \"AAEC\"}}\ngpus: 1\n"
              "limits: {processes: 9, output: 2MiB, checkpoint: 3GiB, disk: 4GiB, grace: 30s}\n"
              "retry: [{exit: 75, where: elsewhere}, {output: \"CUDA (out|error)\", times: 3}]\n"
              "levels: 27\nbudget: {trials: 5, trial_memory: 1GiB}\n",
              &err) < 0)
        fail_msg("%s: %s", err.where, err.text);
    assert_non_null(s.command);
    assert_int_equal(s.lost_after_ms, 0);
    json_t *written = spec_json_new(&s);
    assert_int_equal(spec_parse(&again, written, &err), 0);
    assert_true(json_equal(s.command, again.command));
    struct command c;
    assert_int_equal(command_parse(&c, again.command, again.space, &err), 0);
    assert_int_equal(c.gpus, 1);
    assert_int_equal(c.processes, 9);
    assert_int_equal(c.output_bytes, 2 << 20);
    assert_true(c.checkpoint_bytes == INT64_C(3) << 30);
    assert_int_equal(c.grace_ms, 30000);
    assert_int_equal(c.n_retry, 2);
    assert_true(c.retry[0].elsewhere && c.retry[0].exit == 75);
    assert_int_equal(c.retry[1].times, 3);
    void *bytes = NULL;
    size_t n = 0;
    assert_int_equal(command_file(json_object_get(c.files, "data/x.bin"), &bytes, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_memory_equal(bytes, "\0\1\2", 3);
    mem_free(bytes);
    command_fini(&c);
    json_decref(written);
    spec_fini(&s);
    spec_fini(&again);
}

static void a_bad_command_names_its_place(void **state)
{
    static const struct {
        const char *yaml, *where, *what;
    } cases[] = {
        { "command: python3 train.py\n", "command", "list of words" },
        { "command: []\n", "command", "list of words" },
        { "command: [\"{lr}\"]\n", "command[0]", "cannot be a parameter" },
        { "command: [p, \"{rate}\"]\n", "command[1]", "not the name of a parameter" },
        { "command: [p, \"{lr\"]\n", "command[1]", "without its }" },
        { "command: [p, \"lr}\"]\n", "command[1]", "without its {" },
        { "command: [p, {a: 1}]\n", "command[1]", "must be text" },
        { "command: [p]\nfiles: [train.py]\n", "files", "list of names" },
        { "command: [p]\nfiles: {../x: a}\n", "files.../x", "no path inside" },
        { "command: [p]\nfiles: {/etc/x: a}\n", "files./etc/x", "no path inside" },
        { "command: [p]\nfiles: {a/./b: a}\n", "files.a/./b", "no path inside" },
        { "command: [p]\nfiles: {a: {base64: \"?\"}}\n", "files.a", "not base64" },
        { "command: [p]\nfiles: {a: 3}\n", "files.a", "must be the file's text" },
        { "command: [p]\nenvironment: {ASSAY_X: a}\n", "environment.ASSAY_X", "no name for" },
        { "command: [p]\nenvironment: {2A: a}\n", "environment.2A", "no name for" },
        { "command: [p]\nenvironment: {A: \"{q}\"}\n", "environment.A", "not the name" },
        { "command: [p]\ngpus: 2\n", "gpus", "1" },
        { "command: [p]\nlimits: {proceses: 3}\n", "limits.proceses", "did you mean processes" },
        { "command: [p]\nlimits: {output: 1GiB}\n", "limits.output", "must be from" },
        { "command: [p]\nlimits: {grace: 1h}\n", "limits.grace", "at most 10m" },
        { "command: [p]\nretry: [{times: 2}]\n", "retry[0]", "needs exit" },
        { "command: [p]\nretry: [{output: \"(\"}]\n", "retry[0]", "regular expression" },
        { "command: [p]\nretry: [{exit: 1, where: there}]\n", "retry[0].where", "not" },
        { "command: [p]\nlost_after: 5s\n", "lost_after", "ask and tell" },
        { "gpus: 1\n", "gpus", "belongs to a study with a `command`" },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { 0 };
        struct spec s;

        if (parse(&s, cases[i].yaml, &err) == 0)
            fail_msg("accepted: %s", cases[i].yaml);
        if (strcmp(err.where, cases[i].where) != 0 || !strstr(err.text, cases[i].what))
            fail_msg("%s: got \"%s\": %s", cases[i].yaml, err.where, err.text);
    }
}

static void a_command_without_a_space_of_its_own_is_refused(void **state)
{
    struct err err = { 0 };
    struct spec s;
    json_t *j = json_pack("{s:s, s:s, s:[s]}", "dataset", "d", "target", "t", "command", "p");

    (void)state;
    assert_int_equal(spec_parse(&s, j, &err), -1);
    assert_string_equal(err.where, "command");
    json_decref(j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_filled_and_absent_parameters_take_their_option_with_them),
        cmocka_unit_test(a_whole_command_is_kept_and_reads_back_the_same),
        cmocka_unit_test(a_bad_command_names_its_place),
        cmocka_unit_test(a_command_without_a_space_of_its_own_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
