/* test_11_18_progress.c - the progress line wrapped on 80 columns and left a line each time it was drawn. It fits the width
 * that the terminal has at that moment, and says how many trials were started, run and are done, the best and since when. */
#include "tests/unit.h"

#include "base/base.h"
#include "cli/print.h"
#include "cli/progress.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

static const struct progress_facts facts = { .state = "running",
                                             .started = 147,
                                             .running = 16,
                                             .done = 131,
                                             .metric = "balanced_accuracy",
                                             .score = "0.91342",
                                             .family = "extra_trees",
                                             .gain_ms = 12999,
                                             .left_ms = 83000,
                                             .share = 0.4 };

static void every_width_is_kept(void **state)
{
    struct progress_facts f = facts;
    char text[700];

    (void)state;
    for (int silent = 0; silent < 2; silent++) {
        f.silent_ms = silent ? 100000 : 0;
        f.why = silent ? "no runner is connected that can take this work" : NULL;
        f.running = silent ? 0 : 16;
        for (int columns = 2; columns < 300; columns++) {
            progress_text(&f, columns, text, sizeof text);
            if (print_width(text) >= columns)
                fail_msg("%d columns: \"%s\"", columns, text);
        }
    }
}

static void what_is_said_at_which_width(void **state)
{
    static const struct {
        int columns;
        const char *want[6], *absent;
    } cases[] = {
        { 0,
          { "running: 131 done", "16 running", "147 started", "0.91342 (extra_trees)", "12s ago",
            "1m23s left" },
          "█" },
        { 200,
          { "█", "131 done", "balanced_accuracy 0.91342", "(extra_trees)", "12s ago",
            "1m23s left" },
          NULL },
        { 80,
          { "131 done", "16 running", "147 started", "best 0.91342", "12s ago", "1m23s left" },
          "█" },
        { 60, { "131/147 done", "best 0.91342", "12s ago", "1m23s left" }, "running" },
        { 40, { "131/147 done", "best 0.91342" }, "ago" },
    };
    char text[700];

    (void)state;
    setenv("LC_ALL", "C.UTF-8", 1);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        progress_text(&facts, cases[i].columns, text, sizeof text);
        for (size_t k = 0; k < 6 && cases[i].want[k]; k++) {
            if (!strstr(text, cases[i].want[k]))
                fail_msg("%d columns: no \"%s\" in \"%s\"", cases[i].columns, cases[i].want[k],
                         text);
        }
        if (cases[i].absent && strstr(text, cases[i].absent))
            fail_msg("%d columns: \"%s\" in \"%s\"", cases[i].columns, cases[i].absent, text);
    }
}

static void what_is_not_known_is_not_said(void **state)
{
    struct progress_facts f = {
        .state = "queued", .why = "no runner is connected", .gain_ms = -1, .left_ms = -1
    };
    char text[700];

    (void)state;
    progress_text(&f, 100, text, sizeof text);
    assert_non_null(strstr(text, "queued: 0 done, 0 running, 0 started; no runner is connected"));
    assert_null(strstr(text, "best"));
    assert_null(strstr(text, "ago"));
    assert_null(strstr(text, "left"));
}

static void a_locale_without_utf8_gets_a_bar_of_plain_characters(void **state)
{
    char text[700];

    (void)state;
    setenv("LC_ALL", "C", 1);
    progress_text(&facts, 200, text, sizeof text);
    assert_non_null(strstr(text, "##"));
    assert_null(strstr(text, "█"));
    setenv("LC_ALL", "C.UTF-8", 1);
}

/* What lies between two returns to the line's beginning. */
static void each_piece_fits(const char *bytes, size_t n, int columns)
{
    char piece[2000];
    size_t len = 0;

    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n')
            fail_msg("a line was left behind");
        if (bytes[i] == '\033') {
            i += 2;
        } else if (bytes[i] == '\r') {
            piece[len] = '\0';
            assert_true(print_width(piece) < columns);
            len = 0;
        } else {
            piece[len++] = bytes[i];
        }
    }
}

static void a_resize_is_followed(void **state)
{
    static const int widths[] = { 120, 50, 25, 90 };
    int master = posix_openpt(O_RDWR | O_NOCTTY), old = dup(STDERR_FILENO);
    char bytes[4096];
    struct progress p;

    (void)state;
    setenv("TERM", "xterm", 1);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip();
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    assert_true(slave >= 0 && dup2(slave, STDERR_FILENO) >= 0);
    progress_init(&p);
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        struct winsize w = { .ws_row = 24, .ws_col = (unsigned short)widths[i] };
        assert_int_equal(ioctl(slave, TIOCSWINSZ, &w), 0);
        progress_draw(&p, &facts, (int64_t)i * 1000);
        ssize_t n = read(master, bytes, sizeof bytes);
        assert_true(n > 0 && n < (ssize_t)sizeof bytes);
        each_piece_fits(bytes, (size_t)n, widths[i]);
        /* "clear from here" must stand at the beginning: it also takes the rows of a line that was folded */
        assert_memory_equal(bytes, "\r\033[J", 4);
        assert_int_equal(bytes[n - 1], '\r');
    }
    progress_end(&p);
    dup2(old, STDERR_FILENO);
    close(old);
    close(slave);
    close(master);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_is_kept),
        cmocka_unit_test(what_is_said_at_which_width),
        cmocka_unit_test(what_is_not_known_is_not_said),
        cmocka_unit_test(a_locale_without_utf8_gets_a_bar_of_plain_characters),
        cmocka_unit_test(a_resize_is_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
