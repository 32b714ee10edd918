/* test_spec_doc.c - docs/SPEC.md is true: every example in it is a spec that spec_parse takes, and every key
 * that a stored spec can have has its row there. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/str.h"
#include "proto/spec.h"
#include "proto/yaml.h"

enum { TEXT_BYTES = 1 << 18 };

static char *document_read(void)
{
    char *text = mem_zalloc(TEXT_BYTES);
    FILE *f = fopen("docs/SPEC.md", "r");

    assert_non_null(f);
    size_t n = fread(text, 1, TEXT_BYTES - 1, f);
    (void)fclose(f);
    assert_true(n > 1000 && n < TEXT_BYTES - 1);
    return text;
}

/* Required keys that the example does not name are added. */
static void example_parses(const char *example, size_t n)
{
    char yaml[4096] = "";
    struct err err = { 0 };
    struct spec s;

    assert_true(n < sizeof yaml - 100);
    memcpy(yaml, example, n);
    yaml[n] = '\0';
    const char *dataset = strstr(yaml, "dataset:");
    bool has_dataset = dataset && (dataset == yaml || dataset[-1] == '\n');
    if (!has_dataset)
        (void)snprintf(yaml + n, sizeof yaml - n, "\ndataset: houses\n");
    if (!strstr(yaml, "target:"))
        (void)snprintf(yaml + strlen(yaml), sizeof yaml - strlen(yaml), "\ntarget: price\n");
    json_t *j = yamlx_load(yaml, strlen(yaml), "example", &err);
    if (!j || spec_parse(&s, j, &err) < 0)
        fail_msg("%s: %s\n%s", err.where, err.text, yaml);
    json_decref(j);
    spec_fini(&s);
}

static void every_block_of_yaml_is_a_spec(void **state)
{
    char *text = document_read();
    int n = 0;

    (void)state;
    for (char *at = text; (at = strstr(at, "```yaml\n")); n++) {
        at += strlen("```yaml\n");
        char *end = strstr(at, "```");
        assert_non_null(end);
        example_parses(at, (size_t)(end - at));
        at = end + 3;
    }
    assert_true(n >= 3);
    mem_free(text);
}

/* Calls on_row with the key of each row of the tables of keys, and its example. */
static int rows_each(char *text, void (*on_row)(const char *key, const char *example, void *arg),
                     void *arg)
{
    char *at = strstr(text, "## All keys"), *end = strstr(text, "## Columns");
    int n = 0;

    assert_true(at && end && at < end);
    *end = '\0';
    for (char *line = strtok_r(at, "\n", &at); line; line = strtok_r(NULL, "\n", &at)) {
        char *cell[6] = { 0 }, *rest = line;
        if (!str_starts(line, "| `"))
            continue;
        for (int i = 0; i < 6 && rest; i++) {
            cell[i] = rest;
            rest = strstr(rest, " | ");
            if (rest) {
                *rest = '\0';
                rest += 3;
            }
        }
        assert_non_null(cell[4]);
        char *key = cell[0] + strlen("| `"), *example = cell[3];
        key[strcspn(key, "`")] = '\0';
        example += strspn(example, "`");
        example[strcspn(example, "`")] = '\0';
        on_row(key, example, arg);
        n++;
    }
    return n;
}

static void on_example(const char *key, const char *example, void *arg)
{
    char root[64];

    (void)arg;
    str_copy(root, sizeof root, key);
    root[strcspn(root, ".")] = '\0';
    if (!str_starts(example, root))
        fail_msg("the example of %s is about something else: %s", key, example);
    example_parses(example, strlen(example));
}

static void every_example_of_a_key_is_a_spec(void **state)
{
    char *text = document_read();

    (void)state;
    assert_true(rows_each(text, on_example, NULL) >= 30);
    mem_free(text);
}

static void on_key(const char *key, const char *example, void *arg)
{
    json_t *rows = arg;

    (void)example;
    if (json_object_get(rows, key))
        fail_msg("%s has two rows", key);
    json_object_set_new(rows, key, json_true());
}

/* A spec that names everything, as it is stored. */
static json_t *stored_new(void)
{
    static const char yaml[] =
        "name: n\ndataset: d\ntarget: t\ncolumns: {a: numeric}\nmonotone: {a: increasing}\n"
        "positive: p\ngroups: g\nweights: w\nmetric: logloss\nobjectives: [logloss, model_bytes]\ntest: {fraction: 0.2}\n"
        "validation: {kind: kfold, folds: 3}\nresource: rows\npriority: 1\nparallel: 2\nseed: 3\n"
        "budget: {time: 1m, trials: 9, trial_time: 1s, trial_memory: 1GiB}\nenqueue: [{}]\n"
        "stop: {score: 1, no_gain_trials: 5}\nspace: [{family: boost}]\nwarm_start: other\n";
    struct err err = { 0 };
    struct spec s;
    json_t *j = yamlx_load(yaml, sizeof yaml - 1, "spec", &err);

    assert_non_null(j);
    if (spec_parse(&s, j, &err) < 0)
        fail_msg("%s: %s", err.where, err.text);
    json_decref(j);
    j = spec_json_new(&s);
    spec_fini(&s);
    return j;
}

static void every_key_of_a_stored_spec_has_a_row(void **state)
{
    static const char *const objects[] = { "validation", "test", "budget", "stop" };
    char *text = document_read(), path[64];
    const char *key = NULL;
    json_t *rows = json_object(), *stored = stored_new(), *v = NULL;

    (void)state;
    (void)rows_each(text, on_key, rows);
    json_object_foreach(stored, key, v)
    {
        if (!json_object_get(rows, key) && !json_is_object(v))
            fail_msg("docs/SPEC.md has no row for %s", key);
    }
    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        json_object_foreach(json_object_get(stored, objects[i]), key, v)
        {
            (void)snprintf(path, sizeof path, "%s.%s", objects[i], key);
            if (!json_object_get(rows, path))
                fail_msg("docs/SPEC.md has no row for %s", path);
        }
    }
    json_decref(rows);
    json_decref(stored);
    mem_free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_of_yaml_is_a_spec),
        cmocka_unit_test(every_example_of_a_key_is_a_spec),
        cmocka_unit_test(every_key_of_a_stored_spec_has_a_row),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
