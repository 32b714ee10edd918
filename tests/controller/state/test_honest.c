/* test_honest.c - the best of many scores of noise is not worth what it says, and does not ship; a
 * model that is better does. */
#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "controller/state/board.h"
#include "controller/state/honest.h"
#include "tests/unit.h"

#include <math.h>

enum { TRIALS = 101, BLOCKS = 30, STUDIES = 40 };

struct made {
    struct study st;
    struct trial_mem trials[TRIALS];
    int32_t kept[TRIALS];
    float blocks[TRIALS][BLOCKS];
};

/* Roughly normal with deviation 1: the sum of twelve uniform numbers less 6. */
static double normal(struct rng *r)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += rng_unit(r);
    return sum;
}

/* The baseline (all blocks .5) and trials whose blocks are .5 + gain + noise of deviation .1, of
 * which a share is common to all trials, as trials on the same rows have it. */
static void make_of(struct made *m, uint64_t seed, int n_trials, int blocks, const double *gain,
                    double common)
{
    struct rng r;
    double shared[BLOCKS];

    *m = (struct made){ .st = { .trials = m->trials, .kept = m->kept } };
    rng_init(&r, seed, 1);
    for (int b = 0; b < blocks; b++)
        shared[b] = normal(&r) * common;
    for (int i = 0; i < n_trials; i++) {
        double sum = 0;
        for (int b = 0; b < blocks; b++) {
            double noise = shared[b] + normal(&r) * sqrt(1 - common * common);
            m->blocks[i][b] = (float)(i == 0 ? 0.5 : 0.5 + gain[b] + 0.1 * noise);
            sum += (double)m->blocks[i][b] / blocks;
        }
        m->trials[i] = (struct trial_mem){ .state = TS_COMPLETED,
                                           .source = i == 0 ? SRC_FIRST : SRC_SAMPLER,
                                           .family = i > 0,
                                           .score = sum,
                                           .score_se = 0.1 / sqrt(blocks),
                                           .first_score = (double)NAN,
                                           .has_artifact = true,
                                           .blocks = m->blocks[i],
                                           .n_blocks = blocks };
        m->st.n_trials++;
        m->kept[m->st.n_kept++] = i + 1;
        board_add(&m->st, i + 1);
    }
}

static void make(struct made *m, uint64_t seed, int n_trials, double gain, double common)
{
    double of[BLOCKS];

    for (int b = 0; b < BLOCKS; b++)
        of[b] = gain;
    make_of(m, seed, n_trials, BLOCKS, of, common);
}

static void noise_ships_the_baseline_in_nine_of_ten(void **state)
{
    static struct made m;
    int n = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make(&m, seed, TRIALS, 0, 0.7);
        n += board_best(&m.st) == 1 && board_best_artifact(&m.st) == 1;
        mem_free(m.st.board);
    }
    assert_in_range(n, STUDIES * 9 / 10, STUDIES);
}

/* Five folds forward in time: a gain that differs much between them is still one, and noise is none. */
static void few_blocks_are_judged_by_their_signs(void **state)
{
    static const double none[5] = { 0 }, uneven[5] = { 0.5, 3, 0.6, 1, 0.7 },
                        one_level[5] = { 0.77, 0.72, 0.5, 0, 0.4 };
    static struct made m;
    int n = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make_of(&m, seed, TRIALS, 5, none, 0.7);
        n += board_best(&m.st) == 1;
        mem_free(m.st.board);
        make_of(&m, seed, TRIALS, 5, uneven, 0.7);
        assert_int_equal(board_best(&m.st), m.st.board[0]);
        mem_free(m.st.board);
        make_of(&m, seed, TRIALS, 5, one_level, 0.7);
        assert_int_equal(board_best(&m.st), m.st.board[0]);
        mem_free(m.st.board);
    }
    print_message("noise in five folds: the baseline ships %d times of %d\n", n, STUDIES);
    assert_in_range(n, STUDIES * 9 / 10, STUDIES);
}

/* Areas under the curve of five positive rows, one a block, of models that predict noise: a row's place
 * is anything between 0 and 1, and ten models after each other have nearly the same luck. The last one
 * has `last` in every block; 0 = it is like the others. */
static void make_areas(struct made *m, uint64_t seed, double last)
{
    static const double none[5] = { 0 };
    struct rng r;

    make_of(m, seed, TRIALS, 5, none, 0);
    mem_free(m->st.board);
    m->st.board = NULL;
    m->st.n_board = m->st.cap_board = 0;
    m->st.problem.data = (struct msg_data){ .metric = "auc", .task = "binary", .folds = 5 };
    rng_init(&r, seed, 2);
    for (int i = 1; i < TRIALS; i++) {
        double sum = 0;
        for (int b = 0; b < 5; b++) {
            double place = i % 10 == 1 ? rng_unit(&r) : (double)m->blocks[i - 1][b];
            place = last > 0 && i == TRIALS - 1 ? last : fmin(place + 0.01 * rng_unit(&r), 1);
            m->blocks[i][b] = (float)place;
            sum += place / 5;
        }
        m->trials[i].score = sum;
    }
    for (int i = 0; i < TRIALS; i++)
        board_add(&m->st, i + 1);
}

static void few_positive_rows_need_a_large_gain(void **state)
{
    static struct made m;
    int n = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make_areas(&m, seed, 0);
        n += board_best(&m.st) == 1;
        mem_free(m.st.board);
        make_areas(&m, seed, 0.98);
        assert_int_equal(board_best(&m.st), TRIALS);
        mem_free(m.st.board);
    }
    print_message("noise of five positive rows: the baseline ships %d times of %d\n", n, STUDIES);
    assert_in_range(n, STUDIES * 9 / 10, STUDIES);
}

/* Three positive rows in five folds leave no blocks: the area's own error decides. */
static void an_area_without_blocks_is_judged_by_its_error(void **state)
{
    static const struct {
        double score, se;
        bool wins;
    } cases[] = { { 0.94, 0.28, false }, { 0.7, 0.02, true }, { 0.45, 0.02, false } };
    static struct made m;

    (void)state;
    make(&m, 3, 2, 0.1, 0.7);
    m.trials[0].n_blocks = m.trials[1].n_blocks = 0;
    assert_true(honest_beats_baseline(&m.st, 2)); /* nothing is known of other metrics */
    m.st.problem.data = (struct msg_data){ .metric = "auc", .task = "binary", .folds = 5 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        m.trials[1].score = cases[i].score;
        m.trials[1].score_se = cases[i].se;
        assert_true(honest_beats_baseline(&m.st, 2) == cases[i].wins);
    }
    mem_free(m.st.board);
}

/* A trial of one fold, with an error of .1 x 1.5: the more trials there are, the more it must gain. The
 * best of all folds stands where it does not. */
static void one_fold_must_gain_more_among_many(void **state)
{
    static const struct {
        int trials;
        double score;
        int64_t best; /* 0 = the one of one fold */
    } cases[] = { { 2, 0.78, 1 }, { 2, 0.82, 0 }, { 50, 0.82, -1 }, { 50, 0.98, 0 } };
    static struct made m;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int n = cases[i].trials;
        make(&m, 3, n, 0.1, 0.7);
        int64_t whole = m.st.board[0];
        mem_free(m.st.board);
        m.st.board = NULL;
        m.st.n_board = m.st.cap_board = 0;
        m.st.problem.data = (struct msg_data){ .metric = "auc", .task = "binary", .folds = 5 };
        m.trials[n - 1].is_part = true;
        m.trials[n - 1].n_blocks = 0;
        m.trials[n - 1].score = m.trials[n - 1].first_score = cases[i].score;
        m.trials[n - 1].score_se = 0.1;
        for (int k = 0; k < n; k++)
            board_add(&m.st, k + 1);
        int64_t want = cases[i].best < 0 ? whole : cases[i].best ? cases[i].best : n;
        assert_int_equal(board_best(&m.st), want);
        assert_int_equal(board_best_artifact(&m.st), want);
        mem_free(m.st.board);
    }
}

/* Two gains that are alike by chance are no proof, however many errors their mean is. */
static void two_equal_gains_are_no_proof(void **state)
{
    static const double none[2] = { 0 };
    static struct made m;
    int n = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make_of(&m, seed, TRIALS, 2, none, 0.7);
        n += board_best(&m.st) == 1;
        mem_free(m.st.board);
    }
    assert_in_range(n, STUDIES * 9 / 10, STUDIES);
}

static void what_is_better_ships(void **state)
{
    static struct made m;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make(&m, seed, TRIALS, 0.1, 0.7); /* 5.5 standard errors */
        assert_int_equal(board_best(&m.st), m.st.board[0]);
        assert_true(board_best(&m.st) != 1);
        mem_free(m.st.board);
    }
}

/* A gain that drowns in its own error is one where the order of the rows is beyond doubt for the best of
 * so many trials; no gain is none. */
static void a_gain_counts_if_the_order_is_beyond_doubt(void **state)
{
    static const struct {
        double gain;
        float order;
        bool wins;
    } cases[] = { { .02, 9, true }, { .02, 4, false }, { -.2, 9, false }, { .02, 0, false } };
    static struct made m;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        make(&m, 2, 3, cases[i].gain, 0.98);
        m.st.problem.data.folds = 5;
        m.st.n_trials = 1000;
        for (int k = 1; k < 3; k++)
            m.trials[k].order = cases[i].order;
        assert_int_equal(honest_beats_baseline(&m.st, m.st.board[0] == 1 ? 2 : m.st.board[0]),
                         cases[i].wins);
        m.st.n_trials = 3;
        mem_free(m.st.board);
    }
}

/* Trials that their rungs let pass, since the first of five folds is good by luck: they ship where that is
 * not known of them, and mostly not where it is. A gain on all folds ships all the same. */
static void what_only_the_first_fold_says_does_not_ship(void **state)
{
    enum { FOLDS = 5, FEW = 10 };
    static const struct {
        double first, others;
        int max_level, least, most; /* studies of 40 that ship the baseline */
    } cases[] = { { 0.25, 0.03, 3, 32, 40 }, { 0.25, 0.03, 1, 0, 20 }, { 0.2, 0.12, 3, 0, 0 } };
    static struct made m;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        double of[BLOCKS];
        int n = 0;

        for (int b = 0; b < BLOCKS; b++)
            of[b] = b < BLOCKS / FOLDS ? cases[i].first : cases[i].others;
        for (uint64_t seed = 1; seed <= STUDIES; seed++) {
            make_of(&m, seed, FEW, BLOCKS, of, 0.7);
            m.st.problem.data.folds = FOLDS;
            for (int k = 1; k < FEW; k++)
                m.trials[k].max_level = (int16_t)cases[i].max_level;
            n += board_best(&m.st) == 1;
            mem_free(m.st.board);
        }
        assert_in_range(n, cases[i].least, cases[i].most);
    }
}

/* The mean of (estimate - truth) over studies is within two of its standard errors; that of the best
 * trials' own scores is far above. */
static void the_estimate_of_the_best_is_not_optimistic(void **state)
{
    static struct made m;
    double sum = 0, raw = 0, square = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make(&m, seed, TRIALS, 0.1, 0.7);
        int64_t best = m.st.board[0];
        struct honest h = honest_of(&m.st, best);
        double e = (h.score - 0.6) / h.se;
        assert_true(h.optimism >= 0 && h.compared == TRIALS);
        sum += e / STUDIES;
        square += e * e / STUDIES;
        raw += (m.trials[best - 1].score - 0.6) / h.se / STUDIES;
        mem_free(m.st.board);
    }
    assert_true(raw > 1.2);
    assert_true(fabs(sum) < 0.5);
    assert_true(square < 2.5);
}

enum { FOLDS = 5, PER_FOLD = BLOCKS / FOLDS, CANDIDATES = 10, MEMBERS = 5 };

/* The mean of a trial's blocks in a fold, or but for it. */
static double fold_mean(const struct made *m, int64_t number, int fold, bool others)
{
    double sum = 0;

    for (int b = 0; b < BLOCKS; b++)
        sum += (b / PER_FOLD == fold) != others ? (double)m->blocks[number - 1][b] : 0;
    return sum / (others ? BLOCKS - PER_FOLD : PER_FOLD);
}

/* As an ensemble is scored: in each fold the mean of the trials that are best in the other folds, and
 * the best alone, both among the best ten of all folds. */
static void nest(const struct made *m, double *ensemble, double *single)
{
    *ensemble = *single = 0;
    for (int f = 0; f < FOLDS; f++) {
        bool used[CANDIDATES] = { false };
        for (int k = 0; k < MEMBERS; k++) {
            int best = -1;
            for (int i = 0; i < CANDIDATES; i++) {
                if (!used[i] && (best < 0 || fold_mean(m, m->st.board[i], f, true) >
                                                 fold_mean(m, m->st.board[best], f, true)))
                    best = i;
            }
            used[best] = true;
            double held = fold_mean(m, m->st.board[best], f, false);
            *ensemble += held / MEMBERS / FOLDS;
            *single += k == 0 ? held / FOLDS : 0;
        }
    }
}

/* Models that were picked by all folds flatter an ensemble whose weights were nested; the estimate
 * takes that away. */
static void the_estimate_of_an_ensemble_is_not_optimistic(void **state)
{
    static struct made m;
    double sum = 0, told = 0, ensemble, single;

    (void)state;
    for (uint64_t seed = 1; seed <= STUDIES; seed++) {
        make(&m, seed, TRIALS, 0.1, 0.7);
        nest(&m, &ensemble, &single);
        struct honest h = honest_of_ensemble(&m.st, m.st.board[0], ensemble, 0.018, single);
        assert_true(h.optimism >= 0 && h.score <= ensemble && h.se >= 0.018);
        assert_true(isnan(h.gain) && h.compared == TRIALS);
        sum += (h.score - 0.6) / h.se / STUDIES;
        told += (ensemble - 0.6) / h.se / STUDIES;
        mem_free(m.st.board);
    }
    assert_true(told > 0.4);
    assert_true(fabs(sum) < 0.3);
}

/* Without blocks nothing is known of the choice; a single model that is worse than the estimate says
 * nothing. */
static void an_ensemble_is_never_worth_more_than_it_says(void **state)
{
    static struct made m;

    (void)state;
    make(&m, 3, 30, 0.1, 0.7);
    assert_true(honest_of_ensemble(&m.st, m.st.board[0], 0.7, 0.02, 0.2).score == 0.7);
    assert_true(honest_of_ensemble(&m.st, m.st.board[0], 0.7, 0.02, (double)NAN).score == 0.7);
    assert_true(isnan(honest_of_ensemble(&m.st, m.st.board[0], 0.7, (double)NAN, 0.9).se));
    m.trials[m.st.board[0] - 1].n_blocks = 0;
    assert_true(honest_of_ensemble(&m.st, m.st.board[0], 0.7, 0.02, 0.9).score == 0.7);
    mem_free(m.st.board);
}

/* The baseline itself, a lone trial and one without blocks are worth what they say. */
static void without_a_choice_nothing_is_taken_away(void **state)
{
    static struct made m;

    (void)state;
    make(&m, 3, 3, 0.1, 0.7);
    assert_true(honest_of(&m.st, 1).optimism == 0);
    m.trials[1].n_blocks = 0;
    assert_true(honest_of(&m.st, 2).score == m.trials[1].score);
    assert_true(honest_beats_baseline(&m.st, 2));
    assert_true(isnan(honest_error(&m.st, 1, 2)));
    mem_free(m.st.board);
    make(&m, 3, 1, 0.1, 0.7);
    assert_int_equal(board_best(&m.st), 1);
    mem_free(m.st.board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_ships_the_baseline_in_nine_of_ten),
        cmocka_unit_test(few_blocks_are_judged_by_their_signs),
        cmocka_unit_test(a_gain_counts_if_the_order_is_beyond_doubt),
        cmocka_unit_test(few_positive_rows_need_a_large_gain),
        cmocka_unit_test(an_area_without_blocks_is_judged_by_its_error),
        cmocka_unit_test(one_fold_must_gain_more_among_many),
        cmocka_unit_test(two_equal_gains_are_no_proof),
        cmocka_unit_test(what_is_better_ships),
        cmocka_unit_test(what_only_the_first_fold_says_does_not_ship),
        cmocka_unit_test(the_estimate_of_the_best_is_not_optimistic),
        cmocka_unit_test(the_estimate_of_an_ensemble_is_not_optimistic),
        cmocka_unit_test(an_ensemble_is_never_worth_more_than_it_says),
        cmocka_unit_test(without_a_choice_nothing_is_taken_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
