/* test_board.c - which trial stands for a study when some scores come from a part of the folds. */
#include "base/base.h"
#include "base/mem.h"
#include "controller/state/board.h"
#include "tests/unit.h"

#include <math.h>

enum { TRIALS = 16, PARTS = 12 };

struct made {
    struct study st;
    struct trial_mem trials[TRIALS];
    int32_t kept[TRIALS];
};

/* A trial of a study whose metric is the better the larger it is. */
static int64_t add(struct made *m, double score, double se, bool is_part)
{
    int64_t number = m->st.n_trials + 1;

    m->st.trials = m->trials;
    m->st.kept = m->kept;
    m->trials[m->st.n_trials++] = (struct trial_mem){ .state = TS_COMPLETED,
                                                      .score = score,
                                                      .score_se = se,
                                                      .first_score = (double)NAN,
                                                      .is_cut = is_part,
                                                      .is_part = is_part,
                                                      .has_artifact = true };
    m->kept[m->st.n_kept++] = (int32_t)number;
    board_add(&m->st, number);
    return number;
}

static void made_fini(struct made *m)
{
    mem_free(m->st.board);
}

/* The cut trial came first, so that nothing was there to outdo it; it must not ship by luck. */
static void a_cut_trial_that_came_first_ships_only_if_far_better(void **state)
{
    static const struct {
        double by, se; /* by: in errors of the difference, where the other score has .01 */
        bool wins;
    } cases[] = { { -1, 0.01, false },
                  { 1.9, 0.01, false },
                  { 2.1, 0.01, true },
                  { 1.9, 0.05, false },
                  { 2.1, 0.05, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made m = { 0 };
        double by = cases[i].by * hypot(cases[i].se, 0.01);
        int64_t cut = add(&m, 0.8 + by, cases[i].se, true);
        assert_int_equal(board_best(&m.st), cut);
        assert_int_equal(board_best_artifact(&m.st), cut);
        int64_t whole = add(&m, 0.8, 0.01, false), other = add(&m, 0.7, 0.01, false);
        assert_int_equal(board_best(&m.st), cases[i].wins ? cut : whole);
        assert_int_equal(board_best_artifact(&m.st), cases[i].wins ? cut : whole);
        /* the board itself tells scores as they are */
        assert_int_equal(board_rank(&m.st, cut), by > 0 ? 1 : 2);
        assert_int_equal(board_rank(&m.st, other), 3);
        made_fini(&m);
    }
}

static bool is_outdone(const struct made *m, double score, double se)
{
    const struct trial_mem t = { .score = score, .score_se = se, .first_score = (double)NAN };

    return board_outdoes(&m->st, &t);
}

/* The first fold is an easy one: .87 there is no more than the best trial of all folds has. */
static void trials_are_compared_on_the_fold_that_both_have(void **state)
{
    static const struct {
        double first;
        bool wins;
    } cases[] = { { 0.86, false }, { 0.878, false }, { 0.882, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made m = { 0 };
        int64_t whole = add(&m, 0.846, 0.004, false);
        m.trials[whole - 1].first_score = 0.87;
        int64_t cut = add(&m, cases[i].first, 0.01, true);
        m.trials[cut - 1].first_score = cases[i].first;
        assert_int_equal(board_outdoes(&m.st, &m.trials[cut - 1]), !cases[i].wins);
        assert_int_equal(board_best(&m.st), cases[i].wins ? cut : whole);
        assert_int_equal(board_best_artifact(&m.st), cases[i].wins ? cut : whole);
        made_fini(&m);
    }
}

/* The first fold is a hard one: .84 there is far better than what the best trial of all folds has, which
 * is the first of the board with .85 all the same. */
static void what_ships_is_what_stands_for_the_study(void **state)
{
    struct made m = { 0 };

    (void)state;
    int64_t whole = add(&m, 0.85, 0.004, false);
    m.trials[whole - 1].first_score = 0.8;
    int64_t cut = add(&m, 0.84, 0.01, true);
    m.trials[cut - 1].first_score = 0.84;
    assert_true(board_is_far_better(&m.st, &m.trials[cut - 1], &m.trials[whole - 1]));
    assert_int_equal(board_best(&m.st), whole);
    assert_int_equal(board_best_artifact(&m.st), whole);
    made_fini(&m);
}

/* The error that a fold of few rows tells is near 0 where it has no wrong row; that of all five folds,
 * times the root of 5, counts there. */
static void a_fold_without_an_error_wins_by_the_error_of_others(void **state)
{
    static const struct {
        double first;
        bool wins;
    } cases[] = { { 0.0001, false }, { -0.01, true } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct made m = { 0 };
        int64_t whole = add(&m, 0.9548, 0.0194, false);
        m.st.problem.data.folds = 5;
        m.trials[whole - 1].first_score = 0.966;
        int64_t cut = add(&m, 1 - cases[i].first, 0.00003, true);
        m.trials[cut - 1].first_score = 1 - cases[i].first;
        assert_int_equal(board_outdoes(&m.st, &m.trials[cut - 1]), !cases[i].wins);
        assert_int_equal(board_best(&m.st), cases[i].wins ? cut : whole);
        made_fini(&m);
    }
}

static void scores_of_some_folds_are_outdone_within_two_errors(void **state)
{
    struct made m = { 0 };

    (void)state;
    assert_false(is_outdone(&m, 0.5, 0.01));
    add(&m, 0.9, 0.01, true);
    assert_false(is_outdone(&m, 0.5, 0.01)); /* by a whole score only */
    add(&m, 0.8, 0.01, false);
    assert_true(is_outdone(&m, 0.82, 0.01));
    assert_false(is_outdone(&m, 0.83, 0.01));
    assert_false(is_outdone(&m, 0.83, (double)NAN)); /* an unknown error is none */
    made_fini(&m);
}

/* Cut trials in front of it must not push the model out that ships in the end. */
static void the_model_of_the_best_whole_trial_is_kept(void **state)
{
    struct made m = { 0 };

    (void)state;
    for (int i = 0; i < PARTS; i++)
        add(&m, 0.9 - 0.001 * i, 0.1, true);
    const struct trial_mem whole = { .state = TS_COMPLETED, .score = 0.8, .score_se = 0.01 };
    assert_true(board_keeps(&m.st, PARTS + 1, &whole));
    add(&m, 0.8, 0.01, false);
    assert_true(board_keeps(&m.st, PARTS + 1, &m.trials[PARTS]));
    assert_int_equal(board_best_artifact(&m.st), PARTS + 1);
    const struct trial_mem worse = { .state = TS_COMPLETED, .score = 0.7, .score_se = 0.01 };
    assert_false(board_keeps(&m.st, PARTS + 2, &worse));
    made_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cut_trial_that_came_first_ships_only_if_far_better),
        cmocka_unit_test(trials_are_compared_on_the_fold_that_both_have),
        cmocka_unit_test(what_ships_is_what_stands_for_the_study),
        cmocka_unit_test(a_fold_without_an_error_wins_by_the_error_of_others),
        cmocka_unit_test(scores_of_some_folds_are_outdone_within_two_errors),
        cmocka_unit_test(the_model_of_the_best_whole_trial_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
