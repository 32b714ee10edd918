/* ensemble.c - whether there is to be an ensemble (ensemble.h). Called by finish.c, by settle/ship.c,
 * and by serve/dispatch.c for its grants. */
#include "controller/decide/ensemble.h"

#include "controller/decide/budget.h"
#include "controller/state/board.h"
#include "controller/state/ctl.h"
#include "controller/state/honest.h"
#include "controller/state/objective.h"
#include "controller/state/runner.h"

/* NEED_MS: less time than this is not worth a try; what is late costs nothing but the try.
 * MODELS_BYTES: what a runner may have to download. */
enum { NEED_MS = 60 };
#define MODELS_BYTES (INT64_C(768) << 20)

bool ensemble_keeps(const struct study *st)
{
    return st->spec.ensemble > 0 && !st->spec.is_own && st->problem.is_ready &&
           !st->problem.is_undecided && !st->problem.data.time_column[0] &&
           objective_count(st) <= 1;
}

static bool is_candidate(const struct study *st, int64_t number)
{
    const struct trial_mem *t = &st->trials[number - 1];

    /* the baseline, family 0, has nothing to add */
    return t->has_artifact && !t->is_part && t->family > 0;
}

int ensemble_candidates(const struct study *st, int64_t *out, int most)
{
    int64_t bytes = 0;
    int n = 0;

    for (int i = 0; i < st->n_board && n < most; i++) {
        int64_t more = st->trials[st->board[i] - 1].model_bytes;
        if (!is_candidate(st, st->board[i]) || (n > 0 && bytes + more > MODELS_BYTES))
            continue;
        bytes += more;
        out[n++] = st->board[i];
    }
    return n;
}

bool ensemble_wants(const struct study *st)
{
    int64_t hard = budget_hard_ms(st), two[2], baseline = honest_baseline(st);

    /* Several models of which none is better than the baseline are no better together. */
    if (baseline && board_best(st) == baseline)
        return false;
    return ensemble_keeps(st) && runner_any_blends(st->ctl) &&
           (hard == INT64_MAX || hard - ctl_now(st->ctl) > NEED_MS) &&
           ensemble_candidates(st, two, 2) == 2;
}
