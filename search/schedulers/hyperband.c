/* hyperband.c - Hyperband (L. Li et al., Hyperband: A Novel Bandit-Based Approach to Hyperparameter
 * Optimization, JMLR 2018, algorithm 1), made of synchronous brackets (bracket.h). With R =
 * max_level and s_max = floor(log_eta(R / min_level)), bracket s = s_max, s_max - 1, .. 0 starts n
 * = ceil((s_max + 1) / (s + 1) * eta^s) trials at level R eta^-s, and floor(n eta^-i) of them go on
 * to level R eta^(i - s). After bracket 0 it begins again with s_max, as long as the budget lasts.
 * R = 81 and eta = 3 give brackets of 81, 34, 15, 8 and 5 trials. (Some tools round down before
 * they multiply, and start 81, 27, 9, 6 and 5.)
 *
 * On a short ladder (rung.h) every level is a rung: s_max + 1 is the number of its levels, as if R
 * were eta^(levels - 1). Families whose ladders differ in length have brackets of their own and
 * share nothing but the order in which trials come. A ladder of one level has no brackets: its
 * trials run as they come. */
#include "search/schedulers/bracket.h"

#include "search/schedulers/schedulers.h"

static const struct search_option hyperband_options[BRACKET_OPTIONS] = {
    BRACKET_OPTION_ROWS,
};

static void hyperband_plan(const struct bracket_table *t, int max_level, int nth,
                           struct bracket_plan *out)
{
    struct rung_ladder l;

    rung_ladder_init(&l, &t->rule, max_level);
    int s = l.n - 1 - nth % l.n;
    int64_t power = rung_power(t->rule.eta, s), n = (l.n * power + s) / (s + 1);
    out->n = s + 1;
    for (int i = 0; i <= s; i++) {
        out->level[i] = l.level[l.n - 1 - s + i];
        out->size[i] = l.n == 1 ? 0 : n / rung_power(t->rule.eta, i);
    }
}

static struct scheduler *hyperband_open(const struct search_setup *setup, struct err *err)
{
    (void)err;
    return &bracket_open(&search_hyperband, hyperband_plan, setup)->base;
}

const struct scheduler_ops search_hyperband = {
    .name = "hyperband",
    .help = "Hyperband: brackets of successive halving, from many short trials to a few full ones",
    .options = hyperband_options,
    .n_options = BRACKET_OPTIONS,
    .open = hyperband_open,
    .close = bracket_close,
    .start = bracket_start,
    .report = bracket_report,
    .resume = bracket_resume,
    .retire = bracket_retire,
    .describe = bracket_describe,
};
