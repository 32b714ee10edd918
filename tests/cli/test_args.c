/* test_args.c - command lines: options and operands in any order, one usage error with exit status 2, help with 0. */
#include "tests/unit.h"

#include "base/mem.h"
#include "cli/cmd.h"

struct target {
    char *output;
    int64_t rows;
    bool json;
};
static const struct conf_opt opts[] = {
    { "output", CONF_STR, offsetof(struct target, output), "out", 0, 0, "where to" },
    { "rows", CONF_I64, offsetof(struct target, rows), "5", 1, 10, "how many" },
    { "json", CONF_BOOL, offsetof(struct target, json), "false", 0, 0, "as JSON" },
};
static const struct cmd cmd = { "try", "FILE [FILE]", "tries", NULL, NULL };

static int parse(const char *line, struct target *t, const char **operands, int *n, char *copy,
                 size_t size)
{
    char *argv[20], *save = NULL;
    int argc = 0;

    snprintf(copy, size, "%s", line);
    for (char *p = strtok_r(copy, " ", &save); p && argc < 20; p = strtok_r(NULL, " ", &save))
        argv[argc++] = p;
    memset(t, 0, sizeof(*t));
    return cli_args(&cmd, opts, ARRAY_LEN(opts), t, argc, argv, operands, 1, 2, n);
}

static void lines_are_read_or_refused(void **state)
{
    static const struct {
        const char *line;
        int rc, operands, rows;
        const char *output;
    } cases[] = {
        { "try a", -1, 1, 5, "out" },
        { "try a b", -1, 2, 5, "out" },
        { "try --rows 7 a", -1, 1, 7, "out" },
        { "try a --rows=7 b -o x", -1, 2, 7, "x" },
        { "try a --json --output y", -1, 1, 5, "y" },
        { "try -- --rows", -1, 1, 5, "out" },
        { "try", CLI_USAGE, 0, 0, NULL },
        { "try a b c", CLI_USAGE, 0, 0, NULL },
        { "try a --rows 11", CLI_USAGE, 0, 0, NULL },
        { "try a --rows x", CLI_USAGE, 0, 0, NULL },
        { "try a --rows", CLI_USAGE, 0, 0, NULL },
        { "try a --row 7", CLI_USAGE, 0, 0, NULL },
        { "try a -x", CLI_USAGE, 0, 0, NULL },
        { "try --help", CLI_OK, 0, 0, NULL },
        { "try a -h", CLI_OK, 0, 0, NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct target t;
        const char *operands[CLI_MAX_OPERANDS];
        char copy[200];
        int n = 0;
        assert_int_equal(parse(cases[i].line, &t, operands, &n, copy, sizeof(copy)), cases[i].rc);
        if (cases[i].rc < 0) {
            assert_int_equal(n, cases[i].operands);
            assert_int_equal(t.rows, cases[i].rows);
            assert_string_equal(t.output, cases[i].output);
        }
        conf_fini(&t, opts, ARRAY_LEN(opts));
    }
}

static void errors_become_exit_statuses(void **state)
{
    static const struct {
        enum err_code code;
        int exit;
    } cases[] = {
        { ERR_NOTFOUND, 3 }, { ERR_UNREACHABLE, 4 }, { ERR_ARG, 1 }, { ERR_IO, 1 }, { ERR_BUSY, 1 }
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = { .code = cases[i].code };
        assert_int_equal(cli_exit_code(&err), cases[i].exit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_or_refused),
        cmocka_unit_test(errors_become_exit_statuses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
