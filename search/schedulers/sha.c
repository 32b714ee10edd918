/* sha.c - successive halving (K. Jamieson and A. Talwalkar, Non-stochastic Best Arm Identification
 * and Hyperparameter Optimization, AISTATS 2016), made of synchronous brackets (bracket.h). n
 * trials start at the lowest rung, the best floor(n / eta) go on to the next rung, and so on to the
 * top; then it begins again. The levels are those of the ladder, whatever it counts: rows, folds,
 * epochs or rounds.
 *
 * n is the option `trials`. 0 means the study's budget of trials, or, if there is none, eta^(rungs
 * - 1), which leaves one trial at the top. If n is smaller than that, the lowest rungs are left
 * out, so that one trial still reaches the top. */
#include "search/schedulers/bracket.h"

#include "search/schedulers/schedulers.h"

enum { OPT_TRIALS = BRACKET_OPTIONS, N_OPTIONS };

static const struct search_option sha_options[N_OPTIONS] = {
    BRACKET_OPTION_ROWS,
    [OPT_TRIALS] = { "trials", 0, 1000000, 0, true,
                     "number of trials that start together; 0: the study's budget of trials" },
};

static void sha_plan(const struct bracket_table *t, int max_level, int nth,
                     struct bracket_plan *out)
{
    struct rung_ladder l;
    int64_t n = (int64_t)t->options[OPT_TRIALS];

    (void)nth;
    rung_ladder_init(&l, &t->rule, max_level);
    int s = l.n - 1;
    if (n == 0)
        n = rung_power(t->rule.eta, s);
    while (s > 0 && rung_power(t->rule.eta, s) > n)
        s--;
    out->n = s + 1;
    for (int i = 0; i <= s; i++) {
        out->level[i] = l.level[l.n - 1 - s + i];
        out->size[i] = s == 0 ? 0 : n / rung_power(t->rule.eta, i);
    }
}

static struct scheduler *sha_open(const struct search_setup *setup, struct err *err)
{
    struct bracket_table *t = bracket_open(&search_sha, sha_plan, setup);

    (void)err;
    if (t->options[OPT_TRIALS] == 0)
        t->options[OPT_TRIALS] = (double)MIN(MAX(setup->budget_trials, 0), 1000000);
    return &t->base;
}

const struct scheduler_ops search_sha = {
    .name = "sha",
    .help =
        "successive halving: all trials start together, and the best 1/eta of each rung go on when all have reached it",
    .options = sha_options,
    .n_options = N_OPTIONS,
    .open = sha_open,
    .close = bracket_close,
    .start = bracket_start,
    .report = bracket_report,
    .resume = bracket_resume,
    .retire = bracket_retire,
    .describe = bracket_describe,
};
