/* test_snapshot.c - snapshots of searchers are a shortcut that nobody can see: with one taken at any moment, or a damaged
 * one, a study that is loaded again stands where it stood. */
#include "tests/rig.h"

#include "base/rng.h"
#include "controller/snapshot.h"
#include "search/contract/scheduler.h"
#include "search/searchers.h"
#include "store/study.h"

enum { PAIRS = 6 };

#define BASE "'name':'s','dataset':'d','target':'y','seed':7,"

static int64_t start(struct rig *r, const char *searched)
{
    char spec[400];

    snprintf(spec, sizeof spec, "{" BASE "'validation':'kfold',%s}", searched);
    rig_open(r);
    rig_dataset(r, "d");
    return rig_study(r, spec);
}

static struct buf searchers_of(const struct study *st)
{
    struct buf b;

    buf_init(&b, 1 << 24);
    assert_int_equal(st->sampler->ops->save(st->sampler, &b, &rig_err), 0);
    assert_int_equal(st->scheduler->ops->save(st->scheduler, &b, &rig_err), 0);
    return b;
}

static void assert_same_searchers(struct rig *r, int64_t id, const struct buf *want)
{
    struct buf got = searchers_of(rig_get(r, id));

    assert_int_equal(got.len, want->len);
    assert_memory_equal(got.data, want->data, want->len);
    buf_fini(&got);
}

static void reload_and_compare(struct rig *r, int64_t id, const char *what)
{
    struct buf whole = searchers_of(rig_get(r, id)), again;

    assert_int_equal(study_reload(r->ctl, rig_get(r, id), &rig_err), 0);
    assert_int_equal(RIG_CALL(r, study_settle(rig_get(r, id), &rig_err)), 0);
    if (!rig_get(r, id)->sampler) { /* it ended: nobody knows anything any more */
        buf_fini(&whole);
        return;
    }
    again = searchers_of(rig_get(r, id));
    if (again.len != whole.len || memcmp(again.data, whole.data, whole.len) != 0)
        fail_msg("%s: other searchers after a start", what);
    buf_fini(&whole);
    buf_fini(&again);
}

static const char *const searched[] = {
    "'budget':{'time':'1h'},'sampler':'testhash','scheduler':'testhash'",
    "'budget':{'trials':200},'sampler':'testhash','scheduler':'testhash'",
    "'budget':{'time':'1h'}",
    "'budget':{'trials':200}",
    "'budget':{'time':'1h'},'objectives':['score','predict_time']",
    "'budget':{'trials':200},'objectives':['model_bytes','score']",
};

/* With a snapshot at any moment: a start from it and what came after is a start from the whole history. */
static void a_snapshot_and_the_rest_are_the_whole_history(void **state)
{
    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(searched); k++) {
        struct rig r;
        struct fake f;
        int64_t id = start(&r, searched[k]);

        fake_open(&f, &r, "f", 4);
        for (int i = 0; i < 90; i++) {
            if (f.n_lanes < 4)
                fake_ask(&f);
            if (f.n_lanes > 0)
                fake_step(&f, i % f.n_lanes);
            if (i % 20 == 10)
                assert_int_equal(RIG_CALL(&r, snapshot_save(rig_get(&r, id), &rig_err)), 0);
            struct buf whole = searchers_of(rig_get(&r, id));
            int next = (int)rig_get(&r, id)->plan.next_number, runs = rig_get(&r, id)->plan.n_runs;
            assert_int_equal(study_reload(r.ctl, rig_get(&r, id), &rig_err), 0);
            assert_int_equal(RIG_CALL(&r, study_settle(rig_get(&r, id), &rig_err)), 0);
            assert_same_searchers(&r, id, &whole);
            assert_int_equal(rig_get(&r, id)->snapshot_trials > 0, i >= 10); /* it was taken */
            assert_int_equal(rig_get(&r, id)->plan.next_number, next);
            assert_int_equal(rig_get(&r, id)->plan.n_runs, runs);
            buf_fini(&whole);
        }
        rig_close(&r);
    }
}

/* Without portfolios, so that the sampler is asked at once; one is soon used up. */
static const char *const spaces[] = {
    "{'family':'boost'},{'family':'forest'}",
    "{'family':'boost'}",
    "{'family':'forest','min_leaf':{'choice':[1,5]},'max_samples':1,'criterion':'gini'}",
};

/* Any sampler with any scheduler, live or planned, other pairs for each seed of the run: what its searchers know after a
 * start is what they knew, with lanes lost and taken again, also where the space is used up. */
static void a_start_finds_the_searchers_as_they_were(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 5);
    for (int k = 0; k < PAIRS; k++) {
        const struct sampler_ops *sampler = NULL;
        const struct scheduler_ops *scheduler = NULL;
        char what[240];
        struct rig r;
        struct fake f;
        int sessions = 0;

        while (!(sampler = sampler_at((int)rng_below(&rng, 16))))
            continue;
        while (!(scheduler = scheduler_at((int)rng_below(&rng, 16))))
            continue;
        snprintf(what, sizeof what, "'space':[%s],'budget':{%s},'sampler':'%s','scheduler':'%s'",
                 spaces[rng_below(&rng, ARRAY_LEN(spaces))],
                 rng_below(&rng, 2) ? "'time':'1h'" : "'trials':60", sampler->name,
                 scheduler->name);
        int64_t id = start(&r, what);
        fake_open(&f, &r, "f", 4);
        for (int i = 0; i < 120 && !study_is_final(rig_get(&r, id)->row.state); i++) {
            char session[32];

            snprintf(session, sizeof session, "f%d", ++sessions);
            if (rng_below(&rng, 40) == 0)
                fake_open(&f, &r, session, 4);
            if (f.n_lanes < 4)
                fake_ask(&f);
            if (f.n_lanes > 0)
                fake_step(&f, (int)rng_below(&rng, (uint32_t)f.n_lanes));
            rig_pass(&r, rng_below(&rng, 2000));
            if (rng_below(&rng, 30) == 0 && rig_get(&r, id)->sampler)
                assert_int_equal(RIG_CALL(&r, snapshot_save(rig_get(&r, id), &rig_err)), 0);
            if (rng_below(&rng, 10) == 0 && rig_get(&r, id)->sampler)
                reload_and_compare(&r, id, what);
        }
        rig_close(&r);
    }
}

/* Any byte of it changed, or any part cut off: the study goes on from its whole history. */
static void a_damaged_snapshot_is_passed_over(void **state)
{
    struct rng rng;

    (void)state;
    rng_init(&rng, test_seed(), 3);
    for (size_t k = 0; k < ARRAY_LEN(searched); k++) {
        struct rig r;
        int64_t id = start(&r, searched[k]), seq = 0;
        struct fake f;

        fake_open(&f, &r, "f", 4);
        for (int i = 0; i < 40; i++) {
            if (f.n_lanes < 4)
                fake_ask(&f);
            if (f.n_lanes > 0)
                fake_step(&f, i % f.n_lanes);
        }
        assert_int_equal(RIG_CALL(&r, snapshot_save(rig_get(&r, id), &rig_err)), 0);
        struct buf whole = searchers_of(rig_get(&r, id)), bytes;
        buf_init(&bytes, 1 << 24);
        assert_int_equal(store_search_get(r.ctl->store, id, &seq, &bytes, &rig_err), 1);
        for (int i = 0; i < 60; i++) {
            size_t at = rng_below(&rng, (uint32_t)bytes.len), n = bytes.len;
            char was = bytes.data[at];

            if (i % 3 == 0)
                n = at;
            else
                bytes.data[at] = (char)(was ^ (1 + rng_below(&rng, 255)));
            rig_begin(&r);
            assert_int_equal(store_search_put(r.ctl->store, id, seq, bytes.data, n, &rig_err), 0);
            rig_end(&r, 0);
            bytes.data[at] = was;
            assert_int_equal(study_reload(r.ctl, rig_get(&r, id), &rig_err), 0);
            assert_int_equal(RIG_CALL(&r, study_settle(rig_get(&r, id), &rig_err)), 0);
            assert_same_searchers(&r, id, &whole);
            assert_int_equal(rig_get(&r, id)->snapshot_trials, 0); /* it was refused */
        }
        buf_fini(&whole);
        buf_fini(&bytes);
        rig_close(&r);
    }
}

/* Hundreds of trials: written by the clock, not for each of them. */
static void snapshots_are_written_as_a_study_grows(void **state)
{
    struct rig r;
    struct fake f;
    struct buf bytes;
    int64_t id = start(
                &r, "'budget':{'time':'1h'},'stop':{'no_gain_trials':100000},'sampler':'random'"),
            seq = 0, last = 0;
    int written = 0;

    (void)state;
    fake_open(&f, &r, "f", 16);
    for (int i = 0; i < 2000 && rig_get(&r, id)->n_trials < 900; i++) {
        if (f.n_lanes == 0)
            fake_ask(&f);
        while (f.n_lanes > 0)
            fake_step(&f, 0);
        rig_pass(&r, 10);
        buf_init(&bytes, 1 << 24);
        if (store_search_get(r.ctl->store, id, &seq, &bytes, &rig_err) == 1 && seq > last) {
            assert_true(rig_get(&r, id)->n_trials >= 256);
            last = seq;
            written++;
        }
        buf_fini(&bytes);
    }
    assert_in_range(written, 1, 2);
    ctl_stop(r.ctl); /* a graceful end leaves little to replay */
    rig_turn(&r);
    buf_init(&bytes, 1 << 24);
    assert_int_equal(store_search_get(r.ctl->store, id, &seq, &bytes, &rig_err), 1);
    buf_fini(&bytes);
    assert_true(seq > last);
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_snapshot_and_the_rest_are_the_whole_history),
        cmocka_unit_test(a_start_finds_the_searchers_as_they_were),
        cmocka_unit_test(a_damaged_snapshot_is_passed_over),
        cmocka_unit_test(snapshots_are_written_as_a_study_grows),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
