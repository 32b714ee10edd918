/* test_gang.c - decisions about trials of several devices, without a database: which devices a gang gets, when it waits and when
 * it never goes, and that waiting comes to an end: neither small trials nor another gang keep a gang from its devices for
 * ever, and two gangs never hold half of what the other needs. */
#include "tests/unit.h"

#include "base/base.h"
#include "base/rng.h"
#include "controller/decide/gang.h"

#include <stdlib.h>
#include <string.h>

/* ---- which devices ---- */

static void a_gang_goes_when_enough_of_its_kind_are_free(void **state)
{
    static const struct gang_device d[] = {
        { 1, "cpu", true },   { 1, "cuda", true }, { 2, "cuda", false },
        { 2, "cuda", false }, { 3, "cpu", true },
    };
    static const struct {
        int asker, need;
        enum gang_answer answer;
    } cases[] = {
        { 0, 1, GANG_GOES }, { 0, 2, GANG_GOES },  { 4, 2, GANG_GOES },  { 0, 3, GANG_NEVER },
        { 1, 1, GANG_GOES }, { 1, 2, GANG_WAITS }, { 1, 3, GANG_WAITS }, { 1, 4, GANG_NEVER },
    };
    int chosen[8];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        enum gang_answer got = gang_choose(d, ARRAY_LEN(d), cases[i].asker, cases[i].need, chosen);
        if (got != cases[i].answer)
            fail_msg("case %zu: %d", i, got);
        if (got == GANG_GOES)
            assert_int_equal(chosen[0], cases[i].asker);
    }
}

/* The asker's own runner first, then the runner with the most free devices: as few as can be. */
static void a_gang_is_on_few_runners(void **state)
{
    static const struct gang_device d[] = {
        { 1, "cpu", true }, { 2, "cpu", true }, { 3, "cpu", true },  { 3, "cpu", true },
        { 4, "cpu", true }, { 1, "cpu", true }, { 3, "cpu", false }, { 5, "cuda", true },
    };
    static const int want[] = { 0, 5, 2, 3, 1, 4 };
    int chosen[8];

    (void)state;
    assert_int_equal(gang_choose(d, ARRAY_LEN(d), 0, 6, chosen), GANG_GOES);
    for (size_t i = 0; i < ARRAY_LEN(want); i++)
        assert_int_equal(chosen[i], want[i]);
}

static void the_largest_kind_is_told(void **state)
{
    static const struct gang_device d[] = { { 1, "cpu", true },
                                            { 1, "cuda", false },
                                            { 2, "cuda", false } };
    const char *kind = NULL;

    (void)state;
    assert_int_equal(gang_most(d, ARRAY_LEN(d), &kind), 2);
    assert_string_equal(kind, "cuda");
    assert_int_equal(gang_most(d, 0, &kind), 0);
    assert_string_equal(kind, "");
}

/* ---- whose turn ---- */

static void the_order_is_as_said(void **state)
{
    struct gang_claim c[] = {
        { 5, 0, false, 0, 6 }, { 4, 0, false, 3, 1 }, { 3, 0, true, 9, 9 },  { 2, 0, false, 0, 7 },
        { 9, 1, false, 7, 9 }, { 1, -1, true, 0, 0 }, { 8, 0, true, 10, 0 }, { 7, 0, false, 0, 6 },
    };
    static const int64_t want[] = { 9, 3, 8, 5, 7, 2, 4, 1 };

    (void)state;
    qsort(c, ARRAY_LEN(c), sizeof *c, gang_compare);
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        assert_int_equal(c[i].study, want[i]);
}

/* ---- a fleet at work ---- */

enum { DEVICES = 6, STUDIES = 4, TURNS = 4000 };

/* Studies without an end, each with trials that need so many devices. */
struct work {
    int need, priority;
    int64_t running, started, served;
    bool holds;
    int waits, most_waits; /* turns since its last start, while others started */
};

struct fleet {
    struct rng rng;
    struct work work[STUDIES];
    int n_work;
    int busy[DEVICES];  /* 1 + the study whose trial runs there; 0 = its call waits */
    int trial[DEVICES]; /* the trial, to end all its devices at once */
    int trials;
};

static void fleet_init(struct fleet *f, const struct work *work, int n)
{
    memset(f, 0, sizeof *f);
    rng_init(&f->rng, test_seed(), 3);
    memcpy(f->work, work, (size_t)n * sizeof *work);
    f->n_work = n;
}

static void start(struct fleet *f, int study, const int *devices, int n)
{
    f->trials++;
    for (int i = 0; i < n; i++) {
        assert_int_equal(f->busy[devices[i]], 0); /* no device is in two gangs */
        f->busy[devices[i]] = 1 + study;
        f->trial[devices[i]] = f->trials;
    }
    f->work[study].running++;
    f->work[study].started++;
    f->work[study].served += n;
    f->work[study].holds = false;
    for (int i = 0; i < f->n_work; i++) {
        struct work *w = &f->work[i];
        w->waits = i == study ? 0 : w->waits + 1;
        w->most_waits = w->waits > w->most_waits ? w->waits : w->most_waits;
    }
}

/* A device asks, as dispatch.c lets it. */
static void ask(struct fleet *f, int asker)
{
    struct gang_device d[DEVICES];
    struct gang_claim c[STUDIES];
    const struct gang_claim *waits = NULL;
    int chosen[DEVICES];

    for (int i = 0; i < DEVICES; i++)
        d[i] = (struct gang_device){ 1 + i / 2, "cpu", f->busy[i] == 0 };
    for (int i = 0; i < f->n_work; i++) {
        const struct work *w = &f->work[i];
        c[i] = (struct gang_claim){ i, w->priority, w->holds, w->running, w->served };
    }
    qsort(c, (size_t)f->n_work, sizeof *c, gang_compare);
    for (int i = 0; i < f->n_work; i++) {
        struct work *w = &f->work[c[i].study];
        if (waits && !gang_yields(waits, &c[i]))
            continue;
        enum gang_answer a = gang_choose(d, DEVICES, asker, w->need, chosen);
        if (a == GANG_GOES) {
            start(f, (int)c[i].study, chosen, w->need);
            return;
        }
        if (a == GANG_WAITS && !waits)
            waits = &c[i];
        if (a == GANG_NEVER)
            w->holds = false;
    }
    if (waits)
        f->work[waits->study].holds = true;
}

/* One trial, chosen by chance, ends, and its devices ask in an order by chance. */
static void turn(struct fleet *f)
{
    int at = (int)rng_below(&f->rng, DEVICES), asks[DEVICES], n = 0;

    if (f->busy[at]) {
        f->work[f->busy[at] - 1].running--;
        int trial = f->trial[at];
        for (int i = 0; i < DEVICES; i++) {
            if (f->busy[i] && f->trial[i] == trial)
                f->busy[i] = 0;
        }
    }
    for (int i = 0; i < DEVICES; i++) {
        if (!f->busy[i])
            asks[n++] = i;
    }
    for (int i = n - 1; i > 0; i--) {
        int j = (int)rng_below(&f->rng, (uint32_t)i + 1), t = asks[i];
        asks[i] = asks[j];
        asks[j] = t;
    }
    for (int i = 0; i < n; i++) {
        if (!f->busy[asks[i]])
            ask(f, asks[i]);
    }
}

static void run(struct fleet *f, const struct work *work, int n)
{
    fleet_init(f, work, n);
    for (int i = 0; i < TURNS; i++)
        turn(f);
}

/* A study of small trials that is older, one that is younger, and a gang of all devices: the gang starts again and again,
 * although one device becomes free at a time, and all get about as many devices. */
static void small_trials_do_not_starve_a_gang_nor_it_them(void **state)
{
    static const struct work work[] = { { .need = 1 }, { .need = DEVICES }, { .need = 1 } };
    struct fleet f;

    (void)state;
    run(&f, work, 3);
    for (int i = 0; i < 3; i++) {
        if (f.work[i].started < 50)
            fail_msg("study %d started %lld trials", i, (long long)f.work[i].started);
        if (llabs(f.work[i].served - f.work[0].served) > 3 * DEVICES)
            fail_msg("study %d got %lld devices, study 0 %lld", i, (long long)f.work[i].served,
                     (long long)f.work[0].served);
        /* from one start of a study to its next one, others start at most so many trials */
        if (f.work[i].most_waits > 5 * DEVICES)
            fail_msg("study %d: %d starts of others between two of its own", i,
                     f.work[i].most_waits);
    }
}

/* Each needs more than half of the devices, so both can never run: neither waits for the other for ever. */
static void two_gangs_take_turns(void **state)
{
    static const struct work work[] = { { .need = 4 }, { .need = 5 } };
    struct fleet f;

    (void)state;
    run(&f, work, 2);
    for (int i = 0; i < 2; i++) {
        if (f.work[i].started < 300 || f.work[i].most_waits > 3)
            fail_msg("study %d started %lld, %d of the other between two of its own", i,
                     (long long)f.work[i].started, f.work[i].most_waits);
    }
}

static void a_gang_that_the_fleet_cannot_hold_holds_nothing_up(void **state)
{
    static const struct work work[] = { { .need = DEVICES + 1 }, { .need = 1 } };
    struct fleet f;

    (void)state;
    run(&f, work, 2);
    assert_int_equal(f.work[0].started, 0);
    assert_true(f.work[1].started > 500);
    for (int i = 0; i < DEVICES; i++)
        assert_true(f.busy[i]); /* no device is idle */
}

static void a_higher_priority_goes_before_a_gang_that_waits(void **state)
{
    static const struct work work[] = { { .need = 4 }, { .need = 1, .priority = 1 } };
    struct fleet f;

    (void)state;
    run(&f, work, 2);
    assert_int_equal(f.work[0].started, 0);
    assert_true(f.work[1].started > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_goes_when_enough_of_its_kind_are_free),
        cmocka_unit_test(a_gang_is_on_few_runners),
        cmocka_unit_test(the_largest_kind_is_told),
        cmocka_unit_test(the_order_is_as_said),
        cmocka_unit_test(small_trials_do_not_starve_a_gang_nor_it_them),
        cmocka_unit_test(two_gangs_take_turns),
        cmocka_unit_test(a_gang_that_the_fleet_cannot_hold_holds_nothing_up),
        cmocka_unit_test(a_higher_priority_goes_before_a_gang_that_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
