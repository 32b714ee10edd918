/* test_plan.c - which jobs follow from what a pool has and what waits. */
#include "tests/unit.h"

#include "base/base.h"
#include "controller/pool/plan.h"

static const struct {
    const char *what;
    struct plan_in in;
    int submit, submit_kept, cancel, end, taken;
} cases[] = {
    { "nothing waits", { .max = 4, .devices = 1 }, 0, 0, 0, 0, 0 },
    { "one trial waits", { .max = 4, .devices = 1, .wanted = 1 }, 1, 0, 0, 0, 1 },
    { "no more than max", { .max = 4, .devices = 1, .wanted = 90 }, 4, 0, 0, 0, 4 },
    { "a job of four devices serves four trials",
      { .max = 4, .devices = 4, .wanted = 5 },
      2,
      0,
      0,
      0,
      5 },
    { "growth is limited to a burst", { .max = 90, .devices = 1, .wanted = 90 }, 4, 0, 0, 0, 4 },
    { "or to as many as run",
      { .max = 90, .devices = 1, .wanted = 70, .jobs = 20, .running = 20 },
      20,
      0,
      0,
      0,
      20 },
    { "what is pending will come",
      { .max = 9, .devices = 1, .wanted = 3, .jobs = 2, .pending = 2 },
      1,
      0,
      0,
      0,
      3 },
    { "and so will a runner that starts",
      { .max = 9, .devices = 1, .wanted = 1, .jobs = 1, .running = 1, .starting = 1 },
      0,
      0,
      0,
      0,
      1 },
    { "nothing is expected of a held job, but it counts",
      { .max = 2, .devices = 1, .wanted = 5, .jobs = 1, .late = 1 },
      1,
      0,
      0,
      0,
      1 },
    { "min is kept without work", { .min = 2, .max = 4, .devices = 1 }, 0, 2, 0, 0, 0 },
    { "kept jobs are not submitted twice",
      { .min = 2, .max = 4, .devices = 1, .jobs = 2, .kept = 2, .pending = 2 },
      0,
      0,
      0,
      0,
      0 },
    { "a closed pool submits nothing",
      { .min = 1, .max = 4, .devices = 1, .wanted = 9, .is_closed = true },
      0,
      0,
      0,
      0,
      0 },
    { "unwanted jobs wait a while",
      { .max = 4, .devices = 1, .jobs = 2, .pending = 2, .unwanted_ms = 9, .idle_ms = 10 },
      0,
      0,
      0,
      0,
      0 },
    { "then they are cancelled",
      { .max = 4,
        .devices = 1,
        .jobs = 3,
        .pending = 2,
        .late = 1,
        .unwanted_ms = 10,
        .idle_ms = 10 },
      0,
      0,
      3,
      0,
      0 },
    { "but not the kept ones",
      { .min = 1,
        .max = 4,
        .devices = 1,
        .jobs = 2,
        .kept = 1,
        .pending = 2,
        .unwanted_ms = 10,
        .idle_ms = 10 },
      0,
      0,
      1,
      0,
      0 },
    { "a smaller max cancels what is pending, then ends what runs",
      { .max = 1, .devices = 1, .jobs = 5, .pending = 2, .running = 3, .wanted = 9 },
      0,
      0,
      2,
      2,
      0 },
};

static void a_plan_follows_from_what_is_there(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct plan p;

        plan_pool(&cases[i].in, &p);
        if (p.submit != cases[i].submit || p.submit_kept != cases[i].submit_kept ||
            p.cancel != cases[i].cancel || p.end != cases[i].end || p.taken != cases[i].taken)
            fail_msg("%s: submit %d, kept %d, cancel %d, end %d, taken %d", cases[i].what, p.submit,
                     p.submit_kept, p.cancel, p.end, p.taken);
    }
}

/* Whatever is there: never more jobs than max, never a cancelled job beside a submitted one. */
static void no_plan_exceeds_max(void **state)
{
    struct plan_in in = { .devices = 2, .idle_ms = 1 };
    struct plan p;

    (void)state;
    for (unsigned n = 0; n < 200000; n++) {
        unsigned h = n * 2654435761u;

        in.max = (int)(h % 7);
        in.min = (int)((h >> 3) % 8) % (in.max + 1);
        in.pending = (int)((h >> 6) % 5);
        in.late = (int)((h >> 9) % 3);
        in.running = (int)((h >> 12) % 5);
        in.leaving = (int)((h >> 15) % 2);
        in.starting = MIN(in.running, (int)((h >> 17) % 3));
        in.jobs = in.pending + in.late + in.running + in.leaving;
        in.kept = MIN(in.jobs - in.leaving, (int)((h >> 19) % 4));
        in.wanted = (int)((h >> 22) % 20);
        in.unwanted_ms = (h >> 27) % 2;
        plan_pool(&in, &p);
        assert_true(in.jobs + p.submit + p.submit_kept <= MAX(in.max, in.jobs));
        assert_true(p.submit >= 0 && p.submit_kept >= 0 && p.cancel >= 0 && p.end >= 0);
        assert_true(p.cancel <= in.pending + in.late && p.end <= in.running);
        assert_true(p.taken <= in.wanted && (p.cancel == 0 || p.submit == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plan_follows_from_what_is_there),
        cmocka_unit_test(no_plan_exceeds_max),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
