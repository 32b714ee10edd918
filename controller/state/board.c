/* board.c - the sorted board (board.h).
 *
 * The order is total: by score in the metric's direction, then by number. The board therefore does
 * not depend on the order in which trials ended. The same holds for the set of kept artifacts once
 * all trials have ended: a trial that is among the best of all was also among the best of those
 * that had ended before it, so its artifact was kept then and was never let go. */
#include "controller/state/board.h"

#include "base/bisect.h"
#include "base/mem.h"
#include "controller/state/honest.h"
#include "controller/state/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool better(const struct study *st, double score_a, int64_t a, double score_b, int64_t b)
{
    double ga = study_gain(st, score_a), gb = study_gain(st, score_b);

    return ga != gb ? ga > gb : a < b;
}

/* The place where a trial with this score stands, or would stand: the first that it is not worse
 * than. */
static int place_of(const struct study *st, int64_t number, double score)
{
    int at;

    BISECT(at, st->n_board,
           better(st, st->trials[st->board[at] - 1].score, st->board[at], score, number));
    return at;
}

void board_add(struct study *st, int64_t number)
{
    const struct trial_mem *t = &st->trials[number - 1];

    CHECK(number >= 1 && number <= st->n_trials && t->state == TS_COMPLETED);
    if (isnan(t->score))
        return;
    int at = st->is_filling ? st->n_board : place_of(st, number, t->score);
    if (at < st->n_board && st->board[at] == number)
        return;
    MEM_GROW(st->board, st->n_board, st->cap_board);
    memmove(st->board + at + 1, st->board + at, (size_t)(st->n_board - at) * sizeof *st->board);
    st->board[at] = (int32_t)number;
    st->n_board++;
}

static int compare(const void *a, const void *b, void *arg)
{
    const struct study *st = arg;
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return x == y ? 0 : better(st, st->trials[x - 1].score, x, st->trials[y - 1].score, y) ? -1 : 1;
}

void board_sort(struct study *st)
{
    if (st->n_board > 1)
        qsort_r(st->board, (size_t)st->n_board, sizeof *st->board, compare, st);
}

void board_remove(struct study *st, int64_t number)
{
    int at = place_of(st, number, st->trials[number - 1].score);

    if (at >= st->n_board || st->board[at] != number)
        return;
    st->n_board--;
    memmove(st->board + at, st->board + at + 1, (size_t)(st->n_board - at) * sizeof *st->board);
}

/* How many kept trials of the family are better. It is enough to look at the kept ones, because the
 * best three of a family always are among them: a trial's artifact goes only when three better
 * trials of its family are kept, and those stay until three better ones come. */
static int better_in_family(const struct study *st, int64_t number, int family, double score)
{
    int n = 0;

    for (int i = 0; i < st->n_kept; i++) {
        const struct trial_mem *t = &st->trials[st->kept[i] - 1];
        n += t->family == family && st->kept[i] != number &&
             better(st, t->score, st->kept[i], score, number);
    }
    return n;
}

/* Whether no kept trial dominates this one, that is, is as good in every objective and better in
 * one. Again the kept ones are enough: an artifact goes only when a kept trial dominates it. */
static bool is_on_front(const struct study *st, int64_t number, const struct trial_mem *t)
{
    for (int i = 0; i < st->n_kept; i++) {
        if (st->kept[i] != number && objective_dominates(st, &st->trials[st->kept[i] - 1], t))
            return false;
    }
    return true;
}

/* What it scored on some folds is of no interest where all folds were tried since. */
static bool is_refuted(const struct trial_mem *t)
{
    return t->is_part && t->confirm == 2;
}

/* The best of all folds and the best of some, of the trials in a list. */
struct bests {
    int64_t whole, part;
};

static void bests_take(const struct study *st, const int32_t *list, int n, struct bests *b)
{
    *b = (struct bests){ 0, 0 };
    for (int i = 0; i < n; i++) {
        int64_t number = list[i];
        const struct trial_mem *t = &st->trials[number - 1];
        int64_t *best = t->is_part ? &b->part : &b->whole;
        if (is_refuted(t))
            continue;
        if (!*best || better(st, t->score, number, st->trials[*best - 1].score, *best))
            *best = number;
    }
}

/* Whether the trial has a score of all folds, and no kept one with such a score is better. */
static bool is_best_whole(const struct study *st, int64_t number, const struct trial_mem *t)
{
    struct bests b;

    if (t->is_part)
        return false;
    bests_take(st, st->kept, st->n_kept, &b);
    return !b.whole || b.whole == number ||
           better(st, t->score, number, st->trials[b.whole - 1].score, b.whole);
}

bool board_keeps(const struct study *st, int64_t number, const struct trial_mem *t)
{
    return !isnan(t->score) &&
           (is_best_whole(st, number, t) || place_of(st, number, t->score) < CTL_KEEP_BEST ||
            better_in_family(st, number, t->family, t->score) < CTL_KEEP_FAMILY ||
            (objective_count(st) > 1 && is_on_front(st, number, t)));
}

int64_t board_rank(const struct study *st, int64_t number)
{
    int at = place_of(st, number, st->trials[number - 1].score);

    CHECK(at < st->n_board && st->board[at] == number);
    return at + 1;
}

/* An unknown error is none: nothing can be said against the score. */
static double error_of(double se)
{
    return isfinite(se) ? se : 0;
}

bool board_is_far_better(const struct study *st, const struct trial_mem *t,
                         const struct trial_mem *than)
{
    double se = error_of(t->score_se), other = error_of(than->score_se),
           least = BOARD_MARGIN * hypot(se, other);
    /* what the other's error is on the rows of one fold */
    double fold = other * sqrt((double)MAX(st->problem.data.folds, 1));

    /* On the same rows scores err together: the error of their difference is about half of each. A
     * fold of few rows without an error tells an error near 0, so that of the other counts, too. */
    if (isfinite(t->first_score) && isfinite(than->first_score))
        return study_gain(st, t->first_score) - study_gain(st, than->first_score) > fmax(se, fold);
    return study_gain(st, t->score) - study_gain(st, than->score) > least;
}

/* One of some folds that is not better than the baseline says nothing against the best of all folds;
 * nor does one that is far better on a hard first fold, but stands behind it on the board. */
static int64_t bests_choose(const struct study *st, const struct bests *b)
{
    if (!b->whole || !b->part)
        return b->whole ? b->whole : b->part;
    const struct trial_mem *whole = &st->trials[b->whole - 1], *part = &st->trials[b->part - 1];
    bool wins = better(st, part->score, b->part, whole->score, b->whole) &&
                honest_beats_baseline(st, b->part) && board_is_far_better(st, part, whole);
    return wins ? b->part : b->whole;
}

/* The first trial of the board with or without a score of all folds; 0 = none. */
static int64_t board_first(const struct study *st, bool is_part)
{
    for (int i = 0; i < st->n_board; i++) {
        const struct trial_mem *t = &st->trials[st->board[i] - 1];
        if (t->is_part == is_part && !is_refuted(t))
            return st->board[i];
    }
    return 0;
}

/* What stands for a study whose best trial is this one: the baseline where the trial is not better by
 * more than the error of that. */
static int64_t or_baseline(const struct study *st, int64_t best)
{
    return !best || honest_beats_baseline(st, best) ? best : honest_baseline(st);
}

static int64_t best_score(const struct study *st)
{
    /* trials of some folds are rare: the board's first trial mostly decides */
    if (st->n_board == 0 || !st->trials[st->board[0] - 1].is_part)
        return st->n_board > 0 ? st->board[0] : 0;
    const struct bests b = { board_first(st, false), board_first(st, true) };
    return bests_choose(st, &b);
}

int64_t board_best(const struct study *st)
{
    return or_baseline(st, best_score(st));
}

int64_t board_best_artifact(const struct study *st)
{
    struct bests b;

    bests_take(st, st->kept, st->n_kept, &b);
    int64_t best = or_baseline(st, bests_choose(st, &b));
    return best && st->trials[best - 1].has_artifact ? best : bests_choose(st, &b);
}

bool board_outdoes(const struct study *st, const struct trial_mem *t)
{
    int64_t whole = board_first(st, false);

    return whole && !board_is_far_better(st, t, &st->trials[whole - 1]);
}
