/* board.c - the sorted board. The order is total (score in the metric's direction, then number), so it does not depend on
 * the order in which trials ended; nor does the set of kept artifacts once all have ended, because a trial that belongs
 * to the final best is among the best of every subset it was compared with. */
#include "controller/state/board.h"

#include "base/bisect.h"
#include "base/mem.h"
#include "controller/state/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool better(const struct study *st, double score_a, int64_t a, double score_b, int64_t b)
{
    double ga = study_gain(st, score_a), gb = study_gain(st, score_b);

    return ga != gb ? ga > gb : a < b;
}

/* Where a trial stands or would stand. */
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

    CHECK(t->state == TS_COMPLETED);
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

/* How many kept trials of the family are better. The best three of a family always are among the kept: a trial is let go
 * only when three better ones of its family are kept, and those stay until three better ones come. */
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

/* No kept trial is better in every objective of the study. Those on the front always are among the kept, for the same
 * reason: a trial is let go only when a kept one dominates it. */
static bool is_on_front(const struct study *st, int64_t number, const struct trial_mem *t)
{
    for (int i = 0; i < st->n_kept; i++) {
        if (st->kept[i] != number && objective_dominates(st, &st->trials[st->kept[i] - 1], t))
            return false;
    }
    return true;
}

bool board_keeps(const struct study *st, int64_t number, const struct trial_mem *t)
{
    return !isnan(t->score) &&
           (place_of(st, number, t->score) < CTL_KEEP_BEST ||
            better_in_family(st, number, t->family, t->score) < CTL_KEEP_FAMILY ||
            (objective_count(st) > 1 && is_on_front(st, number, t)));
}

int64_t board_rank(const struct study *st, int64_t number)
{
    return place_of(st, number, st->trials[number - 1].score) + 1;
}

int64_t board_best(const struct study *st)
{
    return st->n_board > 0 ? st->board[0] : 0;
}

int64_t board_best_artifact(const struct study *st)
{
    int64_t best = 0;

    for (int i = 0; i < st->n_kept; i++) {
        int64_t number = st->kept[i];
        if (!best ||
            better(st, st->trials[number - 1].score, number, st->trials[best - 1].score, best))
            best = number;
    }
    return best;
}
