/* test_load.c - studies come into memory and leave it: a reload gives the same study, an ended
 * study has no search, and only some ended studies stay in memory. That its searchers decide the
 * same after a reload is in tests/controller/state/test_restart.c. */
#include "tests/rig.h"

#include "controller/decide/search.h"
#include "controller/settle/load_beside.h"

#include <stdlib.h>
#include <string.h>

#define SPEC "{'name':'s','dataset':'d','target':'y','seed':5,'budget':{'trials':12}}"

static void a_reload_gives_the_same_study(void **state)
{
    int64_t counts[TS_STATES];
    struct fake f;
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    int64_t id = rig_study(&r, SPEC);
    fake_open(&f, &r, "one", 2);
    for (int i = 0; i < 6; i++) {
        if (f.n_trials == 0)
            fake_ask(&f);
        if (f.n_trials > 0)
            fake_step(&f, 0);
    }
    const struct study *st = rig_get(&r, id);
    int n_trials = st->n_trials, n_board = st->n_board;
    memcpy(counts, st->count, sizeof counts);
    char *board = rig_board(&r, id);
    assert_int_equal(RIG_CALL(&r, study_reload(r.ctl, rig_get(&r, id), &rig_err)), 0);
    st = rig_get(&r, id);
    assert_int_equal(st->n_trials, n_trials);
    assert_int_equal(st->n_board, n_board);
    assert_memory_equal(st->count, counts, sizeof counts);
    assert_non_null(st->search);
    char *again = rig_board(&r, id);
    assert_string_equal(again, board);
    free(again);
    free(board);
    rig_close(&r);
}

static void an_ended_study_comes_back_without_a_search(void **state)
{
    struct rig r;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    int64_t id = rig_study(&r, SPEC);
    rig_run(&r, id, 2, 3, 0, 0);
    char *board = rig_board(&r, id);
    rig_restart(&r);
    assert_null(study_loaded(r.ctl, id)); /* nobody asked for it yet */
    assert_null(rig_get(&r, id)->search);
    char *again = rig_board(&r, id);
    assert_string_equal(again, board);
    free(again);
    free(board);
    rig_close(&r);
}

static void few_ended_studies_stay_in_memory(void **state)
{
    enum { STUDIES = LOAD_KEPT + 3 };
    struct rig r;
    int n = 0;

    (void)state;
    rig_open(&r);
    rig_dataset(&r, "d");
    for (int i = 0; i < STUDIES; i++) {
        char ref[24], spec[120];
        json_t *out = NULL;

        snprintf(spec, sizeof spec, "{'name':'s%d','dataset':'d','target':'y'}", i);
        snprintf(ref, sizeof ref, "s%d", i);
        rig_study(&r, spec);
        assert_int_equal(RIG_CALL(&r, ctl_study_act(r.ctl, ref, CTL_KILL, &out, &rig_err)), 0);
        json_decref(out);
        rig_pass(&r, 10);
    }
    for (int i = 0; i < r.ctl->n_studies; i++)
        n += study_is_final(r.ctl->studies[i]->row.state);
    assert_int_equal(n, LOAD_KEPT);
    assert_non_null(rig_get(&r, 1)); /* the first one is read again when somebody asks */
    rig_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reload_gives_the_same_study),
        cmocka_unit_test(an_ended_study_comes_back_without_a_search),
        cmocka_unit_test(few_ended_studies_stay_in_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
