/* test_ahead.c - suggestions beside the loop: nobody can see where they were made. A deterministic study ends the same; a
 * live one that is loaded again at any moment has the searchers it had; a user's trial never takes the number of one that
 * is being made. */
#include "tests/rig.h"

#include "base/rng.h"
#include "controller/decide/ahead.h"

#include <event2/event.h>
#include <stdlib.h>
#include <time.h>

#define SPEC(more)                                                                   \
    "{'name':'s','dataset':'d','target':'y','seed':7,'validation':'kfold','space':[" \
    "{'family':'boost'}]," more "}"

/* Slow enough to be made beside the loop, for the next hundred suggestions. */
static const int64_t SLOW_US = INT64_C(100000000000000000);

static void open_on_loop(struct rig *r, struct loop **loop, int threads)
{
    rig_open(r);
    rig_dataset(r, "d");
    *loop = loop_new(&r->clk, NULL);
    assert_non_null(*loop);
    loop_pool_start(*loop, threads);
    r->ctl->loop = *loop;
}

static void close_on_loop(struct rig *r, struct loop *loop)
{
    rig_close(r);
    loop_free(loop);
}

/* What has come from the thread meanwhile. */
static void pump(struct rig *r, struct loop *loop)
{
    struct timespec pause = { 0, 200000 };

    (void)nanosleep(&pause, NULL);
    (void)event_base_loop(loop_base(loop), EVLOOP_ONCE | EVLOOP_NONBLOCK);
    if (r->ctl->is_tick_due)
        ctl_tick(r->ctl);
    rig_turn(r);
}

/* One random thing that happens. */
static void happen(struct rig *r, struct loop *loop, struct fake *f, struct rng *rng, int64_t id,
                   bool slow)
{
    rig_get(r, id)->search->expect_us = slow ? SLOW_US : 0;
    if (f->n_trials < f->max_trials && rng_below(rng, 2))
        (void)fake_ask(f);
    else if (f->n_trials > 0)
        (void)fake_step(f, (int)rng_below(rng, (uint32_t)f->n_trials));
    if (rng_below(rng, 2))
        pump(r, loop);
}

static char *run_deterministic(const char *spec, bool beside, int64_t *begun)
{
    struct loop *loop = NULL;
    struct rig r;
    struct fake f;
    struct rng rng;

    open_on_loop(&r, &loop, beside ? 2 : 0);
    int64_t id = rig_study(&r, spec);
    rng_init(&rng, 1, beside);
    fake_open(&f, &r, "f", 4);
    for (int i = 0; i < 100000 && !study_is_final(rig_get(&r, id)->row.state); i++) {
        happen(&r, loop, &f, &rng, id, beside);
        pump(&r, loop);
    }
    assert_true(study_is_final(rig_get(&r, id)->row.state));
    char *board = rig_board(&r, id);
    *begun = r.ctl->stats.ahead;
    close_on_loop(&r, loop);
    return board;
}

static void a_deterministic_study_is_the_same(void **state)
{
    static const char *const specs[] = {
        SPEC("'sampler':'gp','scheduler':'none','budget':{'trials':30}"),
        SPEC("'sampler':'tpe','scheduler':'asha','budget':{'trials':40}"),
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        int64_t begun = 0, none = 0;
        char *beside = run_deterministic(specs[i], true, &begun);
        char *in_place = run_deterministic(specs[i], false, &none);

        assert_string_equal(beside, in_place);
        assert_true(begun > 10 && none == 0);
        free(beside);
        free(in_place);
    }
}

/* A start finds the suggestion that was begun and not taken, and gives it to the same trial. */
static void load_again_and_again(const char *spec, uint64_t stream)
{
    struct loop *loop = NULL;
    struct rig r;
    struct fake f;
    struct rng rng;
    int open = 0;
    bool is_enough = false;

    rng_init(&rng, test_seed(), stream);
    open_on_loop(&r, &loop, 2);
    int64_t id = rig_study(&r, spec);
    fake_open(&f, &r, "f", 4);
    /* A loaded machine makes few suggestions between two steps. */
    for (int i = 0; i < 240 || (!is_enough && i < 4000); i++) {
        happen(&r, loop, &f, &rng, id, true);
        is_enough = open > 3 && rig_get(&r, id)->n_trials > 30;
        if (rng_below(&rng, 10))
            continue;
        bool was_open = ahead_is_open(rig_get(&r, id));
        uint64_t before = rig_probe(&r, id);
        assert_int_equal(study_reload(r.ctl, rig_get(&r, id), &rig_err), 0);
        assert_int_equal(ahead_is_open(rig_get(&r, id)), was_open);
        assert_true(rig_probe(&r, id) == before);
        assert_int_equal(study_reload(r.ctl, rig_get(&r, id), &rig_err), 0);
        open += was_open;
    }
    assert_true(is_enough);
    close_on_loop(&r, loop);
}

static void a_live_study_that_is_loaded_again_goes_on(void **state)
{
    (void)state;
    load_again_and_again(SPEC("'sampler':'gp','scheduler':'none','budget':{'time':'1h'}"), 1);
    load_again_and_again(SPEC("'sampler':'duo','scheduler':'none','budget':{'time':'1h'}"), 2);
    load_again_and_again(SPEC("'sampler':'tpe','scheduler':'asha','budget':{'time':'1h'}"), 3);
    /* Portfolios of families that fall behind and come back, between the suggestions. */
    load_again_and_again("{'name':'s','dataset':'d','target':'y','seed':7,'validation':'kfold',"
                         "'sampler':'tpe','scheduler':'asha','budget':{'time':'1h'}}",
                         4);
}

static void a_users_trial_waits_for_the_one_in_the_making(void **state)
{
    static const char *const specs[] = {
        SPEC("'sampler':'gp','scheduler':'none','budget':{'time':'1h'}"),
        SPEC("'sampler':'gp','scheduler':'none','budget':{'trials':400}"),
        SPEC("'sampler':'tpe','scheduler':'asha','budget':{'trials':400}"),
    };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(specs); k++) {
        struct loop *loop = NULL;
        struct rig r;
        struct fake f;
        struct rng rng;
        int met = 0;

        rng_init(&rng, test_seed(), 2 + k);
        open_on_loop(&r, &loop, 2);
        int64_t id = rig_study(&r, specs[k]);
        fake_open(&f, &r, "f", 4);
        for (int i = 0; met < 5; i++) {
            assert_true(i < 3000);
            json_t *config = rig_json("{'family':'boost'}"), *out = NULL;

            happen(&r, loop, &f, &rng, id, true);
            if (ahead_is_open(rig_get(&r, id)) && rng_below(&rng, 4) == 0) {
                int n = rig_get(&r, id)->n_trials;
                assert_int_equal(
                    RIG_CALL(&r, ctl_trial_enqueue(r.ctl, "s", config, &out, &rig_err)), 0);
                assert_true(rig_get(&r, id)->n_trials >= n + 2); /* and the one that was begun */
                met++;
                json_decref(out);
            }
            json_decref(config);
        }
        close_on_loop(&r, loop);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deterministic_study_is_the_same),
        cmocka_unit_test(a_live_study_that_is_loaded_again_goes_on),
        cmocka_unit_test(a_users_trial_waits_for_the_one_in_the_making),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
