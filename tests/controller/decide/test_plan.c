/* test_plan.c - same seed, same study: whoever answers first, whoever dies, whenever the controller is killed. Shown with
 * random search, with the test searchers, whose next decision hashes the exact sequence of what they were told, and with
 * pairs of any sampler and any scheduler, other ones for each seed of the run. */
#include "tests/rig.h"

#include "base/log.h"
#include "base/rng.h"
#include "controller/decide/plan.h"
#include "controller/decide/propose.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"

enum { PAIRS = 5 };

#define SPEC(sampler, scheduler, more)                                                           \
    "{'name':'s','dataset':'d','target':'y','budget':{'trials':40},'seed':7,'sampler':'" sampler \
    "','scheduler':'" scheduler "'" more "}"

/* The board of one life; freed by the caller. */
static char *board_of(const char *spec, int runners, uint64_t seed, int restart_every,
                      int die_every)
{
    struct rig r;
    char *board = NULL;
    int64_t id = 0;

    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r, spec);
    rig_run(&r, id, runners, seed, restart_every, die_every);
    board = rig_board(&r, id);
    rig_close(&r);
    return board;
}

static const struct {
    const char *what, *spec;
} studies[] = {
    { "random", SPEC("random", "none", "") },
    { "testhash sampler", SPEC("testhash", "none", "") },
    { "testhash both", SPEC("testhash", "testhash", "") },
    { "testhash both, 3 workers", SPEC("testhash", "testhash", ",'parallel':3") },
    { "testhash both, 1 worker", SPEC("testhash", "testhash", ",'parallel':1") },
    { "testhash both, stops early", SPEC("testhash", "testhash", ",'stop':{'no_gain_trials':9}") },
    { "asha", SPEC("random", "asha", "") },
    { "hyperband, 3 workers", SPEC("random", "hyperband", ",'parallel':3") },
    { "holdout with a refit", SPEC("testhash", "testhash", ",'validation':'holdout'") },
};

static void compare(const char *what, const char *want, char *got)
{
    if (strcmp(want, got) != 0)
        fail_msg("%s:\n%s\n%s", what, want, got);
    free(got);
}

/* With one quiet runner; made once. */
static const char *board_alone(size_t i)
{
    static char *boards[ARRAY_LEN(studies)];

    if (!boards[i])
        boards[i] = board_of(studies[i].spec, 1, 1, 0, 0);
    return boards[i];
}

static void same_seed_same_board_with_any_runners(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(studies); i++)
        compare(studies[i].what, board_alone(i),
                board_of(studies[i].spec, 5, test_seed() + i, 0, 0));
}

static void same_seed_same_board_across_restarts_and_deaths(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(studies); i++) {
        const char *spec = studies[i].spec;

        compare(studies[i].what, board_alone(i), board_of(spec, 2, test_seed() + i, 0, 30));
        compare(studies[i].what, board_alone(i), board_of(spec, 3, test_seed() + i, 25, 25));
    }
}

/* Without portfolios, so that the sampler is asked at once; one is soon used up. */
static const char *const spaces[] = {
    "{'family':'boost'},{'family':'forest'}",
    "{'family':'boost'}",
    "{'family':'forest','min_leaf':{'choice':[1,5]},'max_samples':1,'criterion':'gini'}",
};

struct pair {
    const char *sampler, *scheduler, *space;
    bool is_warm;
};

static char *board_of_pair(const struct pair *p, int runners, uint64_t seed, int every)
{
    struct rig r;
    char spec[500];

    rig_open(&r);
    rig_dataset(&r, "d");
    if (p->is_warm)
        rig_run(&r, rig_study(&r, "{'name':'w','dataset':'d','target':'y','budget':{'trials':12}}"),
                2, 1, 0, 0);
    snprintf(spec, sizeof spec,
             "{'name':'s','dataset':'d','target':'y','budget':{'trials':45},'seed':7,'parallel':5,"
             "'space':[%s],'sampler':'%s','scheduler':'%s'%s}",
             p->space, p->sampler, p->scheduler, p->is_warm ? ",'warm_start':'w'" : "");
    int64_t id = rig_study(&r, spec);
    rig_run(&r, id, runners, seed, every, every);
    char *board = rig_board(&r, id);
    rig_close(&r);
    return board;
}

static void any_sampler_with_any_scheduler_is_the_same_study(void **state)
{
    uint32_t n_samplers = 0, n_schedulers = 0;
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 3);
    while (sampler_at((int)n_samplers))
        n_samplers++;
    while (scheduler_at((int)n_schedulers))
        n_schedulers++;
    for (int i = 0; i < PAIRS; i++) {
        struct pair p = { .sampler = sampler_at((int)rng_below(&rng, n_samplers))->name,
                          .scheduler = scheduler_at((int)rng_below(&rng, n_schedulers))->name,
                          .space = spaces[rng_below(&rng, ARRAY_LEN(spaces))],
                          .is_warm = rng_below(&rng, 3) == 0 };
        char *one = board_of_pair(&p, 1, 1, 0), what[300];

        snprintf(what, sizeof what, "%s, %s, %s%s", p.sampler, p.scheduler, p.space,
                 p.is_warm ? ", warm" : "");
        compare(what, one, board_of_pair(&p, 3, rng_u64(&rng), 25));
        free(one);
    }
}

/* The share of a turn that samplers may take is used up at random moments: what is put off is decided the same. */
static void what_is_put_off_to_the_next_turn_changes_nothing(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 9);
    for (size_t i = 0; i < ARRAY_LEN(studies); i++) {
        char *got = NULL;
        struct rig r;
        struct fake f;

        rig_open(&r);
        rig_dataset(&r, "d");
        int64_t id = rig_study(&r, studies[i].spec);
        fake_open(&f, &r, "f", 5);
        for (int k = 0; k < 5000 && !study_is_final(rig_get(&r, id)->row.state); k++) {
            r.ctl->suggest_us = rng_below(&rng, 2) ? PROPOSE_TURN_US : 0;
            if (f.n_trials < 5)
                fake_ask(&f);
            r.ctl->suggest_us = rng_below(&rng, 2) ? PROPOSE_TURN_US : 0;
            if (f.n_trials > 0)
                fake_step(&f, (int)rng_below(&rng, (uint32_t)f.n_trials));
            rig_pass(&r, 2);
        }
        got = rig_board(&r, id);
        compare(studies[i].what, board_alone(i), got);
        rig_close(&r);
    }
}

static void another_seed_is_another_study(void **state)
{
    char *a = board_of(SPEC("random", "none", ""), 1, 1, 0, 0);
    char *b = board_of("{'name':'s','dataset':'d','target':'y','budget':{'trials':40},'seed':8}", 1,
                       1, 0, 0);

    (void)state;
    assert_string_not_equal(a, b);
    free(a);
    free(b);
}

static void the_test_searchers_pause_and_prune(void **state)
{
    struct rig r;
    int64_t id = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    id = rig_study(&r, SPEC("testhash", "testhash", ""));
    rig_run(&r, id, 3, 5, 0, 0);
    assert_int_equal(rig_get(&r, id)->n_trials, 40);
    assert_true(rig_count(&r, id, TS_PRUNED) > 0);
    assert_int_equal(rig_count(&r, id, TS_PAUSED), 0);
    assert_int_equal(rig_count(&r, id, TS_QUEUED), 0);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_seed_same_board_with_any_runners),
        cmocka_unit_test(same_seed_same_board_across_restarts_and_deaths),
        cmocka_unit_test(any_sampler_with_any_scheduler_is_the_same_study),
        cmocka_unit_test(what_is_put_off_to_the_next_turn_changes_nothing),
        cmocka_unit_test(another_seed_is_another_study),
        cmocka_unit_test(the_test_searchers_pause_and_prune),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
