/* honest.c - the bootstrap of honest.h.
 *
 * The board's best MOST trials take part; which others there are makes no difference, because they
 * are the best of no draw. A drawn block counts as often as it was drawn. The draws are the same in
 * every study, so that an answer depends on nothing but the scores. */
#include "controller/state/honest.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "search/space/normal.h"

#include <math.h>
#include <string.h>

/* MOST_SIGNS: of more blocks the error is known well enough. */
enum { DRAWS = 200, MOST = 256, MOST_SIGNS = 8 };
static const uint64_t SEED = 0x686f6e657374; /* "honest" */
/* BEYOND_DOUBT: a gain of so many standard errors over the baseline needs no bootstrap where blocks are
 * not few: the best of 1,000 trials of noise is above by 3.2. SIGNS_CHANCE: of few blocks a gain counts
 * that chance alone gives in so many cases: of five, where the smallest gain, and no other, is below 0.
 * With one case in 32 a stretch of time in which the baseline was as good took all from a model of two
 * thirds of its error. */
static const double BEYOND_DOUBT = 8, SIGNS_CHANCE = 2.0 / 32;
/* So often noise may pass for a model. */
static const double CHANCE = 1.0 / 20;

static const struct trial_mem *trial_of(const struct study *st, int64_t number)
{
    return &st->trials[number - 1];
}

int64_t honest_baseline(const struct study *st)
{
    for (int i = 0; i < st->n_trials && !st->spec.is_own; i++) {
        if (st->trials[i].family == 0 && st->trials[i].state == TS_COMPLETED &&
            st->trials[i].source == SRC_FIRST)
            return i + 1;
    }
    return 0;
}

/* The trials of the board whose blocks can be compared with those of one trial. */
struct field {
    const struct trial_mem *of[MOST];
    int n, from, n_blocks; /* compared on blocks `from` to n_blocks - 1 */
};

static void field_make(const struct study *st, int from, int n_blocks, struct field *f)
{
    f->n = 0;
    f->from = from;
    f->n_blocks = n_blocks;
    for (int i = 0; i < st->n_board && f->n < MOST; i++) {
        const struct trial_mem *t = trial_of(st, st->board[i]);
        if (t->n_blocks == n_blocks)
            f->of[f->n++] = t;
    }
}

/* Weights that sum to 1: of a draw with replacement, and of the blocks that were not drawn. False:
 * all were. */
static bool draw(int n, int at, double *drawn, double *others)
{
    struct rng r;
    int left = 0;

    rng_init(&r, SEED, (uint64_t)at);
    memset(drawn, 0, (size_t)n * sizeof *drawn);
    for (int b = 0; b < n; b++)
        drawn[rng_u64(&r) % (uint64_t)n] += 1.0 / n;
    for (int b = 0; b < n; b++)
        left += drawn[b] == 0;
    for (int b = 0; b < n; b++)
        others[b] = drawn[b] == 0 ? 1.0 / left : 0;
    return left > 0;
}

/* weight: of the blocks behind `from`. */
static double mean_of(const struct trial_mem *t, int from, const double *weight)
{
    double sum = 0;

    for (int b = from; b < t->n_blocks; b++)
        sum += weight[b - from] * (double)t->blocks[b];
    return sum;
}

static const struct trial_mem *best_of(const struct field *f, const double *weight, double sign)
{
    const struct trial_mem *best = NULL;
    double top = -INFINITY;

    for (int i = 0; i < f->n; i++) {
        double gain = sign * mean_of(f->of[i], f->from, weight);
        if (!best || gain > top) {
            best = f->of[i];
            top = gain;
        }
    }
    return best;
}

/* By how much a trial is above what the best of a draw has on the blocks that were not drawn, on average.
 * Its own score there is the control variate: blocks differ far more than trials do, and 200 draws
 * would not level that out. NaN = unknown. */
static double above_drawn(const struct study *st, const struct field *f, const struct trial_mem *t)
{
    double drawn[HONEST_MAX_BLOCKS], others[HONEST_MAX_BLOCKS], sum = 0;
    double sign = study_gain(st, 1);
    int n = 0;

    for (int i = 0; i < DRAWS; i++) {
        if (!draw(f->n_blocks - f->from, i, drawn, others))
            continue;
        sum += sign *
               (mean_of(t, f->from, others) - mean_of(best_of(f, drawn, sign), f->from, others));
        n++;
    }
    return n > 0 ? sum / n : (double)NAN;
}

/* The mean of what a is above b in the blocks from `from` on, and its standard error; b NULL = a itself. */
static double mean_above(const struct trial_mem *a, const struct trial_mem *b, int from, double *se)
{
    double mean = 0, sum = 0;
    int n = a->n_blocks - from;

    for (int i = from; i < a->n_blocks; i++)
        mean += ((double)a->blocks[i] - (b ? (double)b->blocks[i] : 0)) / n;
    for (int i = from; i < a->n_blocks; i++) {
        double e = (double)a->blocks[i] - (b ? (double)b->blocks[i] : 0) - mean;
        sum += e * e;
    }
    *se = n > 1 ? sqrt(sum / (n - 1) / n) : (double)NAN;
    return mean;
}

static double error_of(const struct trial_mem *a, const struct trial_mem *b)
{
    double se = 0;

    (void)mean_above(a, b, 0, &se);
    return se;
}

double honest_error(const struct study *st, int64_t a, int64_t b)
{
    const struct trial_mem *x = trial_of(st, a), *y = trial_of(st, b);

    return x->n_blocks > 1 && x->n_blocks == y->n_blocks ? error_of(x, y) : (double)NAN;
}

/* The baseline, where its blocks can be compared with the trial's. */
static const struct trial_mem *peer_of(const struct study *st, int64_t number)
{
    int64_t baseline = honest_baseline(st);

    if (!baseline || baseline == number)
        return NULL;
    const struct trial_mem *b = trial_of(st, baseline);
    return b->n_blocks == trial_of(st, number)->n_blocks ? b : NULL;
}

/* Folds share training rows, so that they err together, which no error over rows can see: the factor of
 * Nadeau and Bengio (Inference for the generalization error, Machine Learning 52, 2003), the root of
 * 1 + folds x (rows held out / rows trained on). On tables of noise scores spread 1.3 to 1.5 times as
 * far as their errors say (docs/measurements/2026-11-23.md), forward in time 1.3 times. Groups err by
 * much more of their own than what folds share: there the factor is 1 (1.06 measured, 2026-11-27). */
static double fold_factor(const struct study *st)
{
    int folds = st->problem.data.folds;

    if (folds < 2 || *st->problem.data.groups)
        return 1;
    return sqrt(1 + (st->problem.data.holdout ? 1.0 : folds) / (folds - 1));
}

/* Whether the score is an area under the curve of two classes whose rows err alone. The baseline's is a
 * half whatever the rows are. */
static bool is_area(const struct study *st)
{
    const struct msg_data *d = &st->problem.data;

    return str_eq(d->metric, "auc") && str_eq(d->task, "binary") && !*d->groups && !*d->time_column;
}

/* The error of an area under the curve where the order of the rows is chance and few blocks say that
 * few rows are of the rarer class: of r such rows, and many others, 1 / root(12 r) (Mann and Whitney, On
 * a test of whether one of two random variables is stochastically larger than the other, Annals of
 * Mathematical Statistics 18, 1947). A block has a row of the rarer class at least
 * (ml/fit/fit_blocks.c). Whether a model is better than chance is asked with the error of chance: five
 * rows that rank high by luck are all near the top, so that their own spread tells a small error
 * (docs/measurements/2026-11-27.md). 0 = there are as many blocks as can be, or no such area. */
static double chance_error(const struct study *st, int n_blocks)
{
    int folds = st->problem.data.holdout ? 1 : MAX(st->problem.data.folds, 1);

    return is_area(st) && n_blocks < HONEST_BLOCKS / folds * folds ? 1 / sqrt(12.0 * n_blocks) : 0;
}

/* The error of the gain over the baseline. */
static double gain_error(const struct study *st, const struct trial_mem *t,
                         const struct trial_mem *baseline)
{
    return fmax(error_of(t, baseline), chance_error(st, t->n_blocks));
}

static struct honest estimate(const struct study *st, int64_t number)
{
    const struct trial_mem *t = trial_of(st, number), *baseline = peer_of(st, number);
    struct honest h = { t->score, t->score_se, 0, (double)NAN, (double)NAN, 1 };
    struct field field;

    if (t->n_blocks < 2)
        return h;
    field_make(st, 0, t->n_blocks, &field);
    /* The baseline looks at no column: nothing was chosen. */
    if (field.n > 1 && t->family != 0)
        h.optimism = fmax(above_drawn(st, &field, t), 0); /* a NaN counts for nothing */
    h.compared = MAX(field.n, 1);
    h.se *= fold_factor(st);
    h.score = t->score - study_gain(st, h.optimism);
    if (baseline) {
        h.gain = study_gain(st, h.score) - study_gain(st, baseline->score);
        h.gain_se = gain_error(st, t, baseline) * fold_factor(st);
    }
    return h;
}

struct honest honest_of(const struct study *st, int64_t number)
{
    struct honest_memo *m = st->honest;

    if (!m)
        return estimate(st, number);
    if (m->number != number || m->n_board != st->n_board) {
        m->is = estimate(st, number);
        m->is_asked = false;
        m->number = number;
        m->n_board = st->n_board;
    }
    return m->is;
}

struct honest honest_of_ensemble(const struct study *st, int64_t best, double score, double se,
                                 double single)
{
    struct honest of = honest_of(st, best);
    struct honest h = { score, se * fold_factor(st), 0, (double)NAN, (double)NAN, of.compared };
    double flatters = study_gain(st, single) - study_gain(st, of.score);

    if (of.compared > 1 && flatters > 0) /* unknown: not above 0 */
        h.optimism = flatters;
    h.score = score - study_gain(st, h.optimism);
    return h;
}

/* Forward in time there are as many blocks as folds, and the level may have moved far in one of them:
 * the gain is large there and its error too. An error of five such values says little; but the signs of
 * the gains were drawn by chance if there is no gain, and all of five are above 0 once in 32 times (the
 * randomisation test: Fisher, The design of experiments, 1935, section 21). */
static bool wins_by_signs(const struct study *st, const struct trial_mem *t,
                          const struct trial_mem *baseline, double optimism)
{
    double gain[MOST_SIGNS], sum = 0;
    int n = t->n_blocks, as_good = 0;

    if (n > MOST_SIGNS)
        return false;
    for (int b = 0; b < n; b++) {
        gain[b] = study_gain(st, (double)t->blocks[b] - (double)baseline->blocks[b]) - optimism;
        sum += gain[b];
    }
    for (int signs = 0; signs < 1 << n; signs++) {
        double drawn = 0;
        for (int b = 0; b < n; b++)
            drawn += signs >> b & 1 ? -gain[b] : gain[b];
        as_good += drawn >= sum;
    }
    return as_good <= SIGNS_CHANCE * (1 << n);
}

/* The gain that is exceeded in one case of twenty where there is none, in errors known from n blocks: the
 * quantile of Student's t, from the fifth on by its expansion about the normal one (Abramowitz and
 * Stegun, 26.7.5), to .01. */
static double least_errors(int n)
{
    static const double few[] = { 6.314, 2.920, 2.353, 2.132 };
    double z = 1.6449, v = n - 1;

    if (n - 2 < (int)ARRAY_LEN(few))
        return few[n - 2];
    return z + (z * z * z + z) / (4 * v) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v);
}

/* A trial of some folds has no blocks either, so that nobody knows how much of its score is choice. It
 * counts as the best of as many independent ones as the board has (Bonferroni), by its score's own error.
 * On noise such trials were what shipped where the baseline did not (docs/measurements/2026-11-27.md). */
static bool wins_as_part(const struct study *st, const struct trial_mem *t)
{
    int64_t baseline = honest_baseline(st);

    if (!baseline || !isfinite(t->score_se))
        return true;
    double gain = study_gain(st, t->score) - study_gain(st, trial_of(st, baseline)->score);
    double least = normal_quantile(1 - CHANCE / MAX(st->n_board, 1));
    return gain > least * t->score_se * fold_factor(st);
}

/* Trials of very many rows have no blocks, nor do those of a fold without rows of one class. The error of
 * an area is then known all the same, because the baseline's is none. */
static bool wins_without_blocks(const struct study *st, const struct trial_mem *t,
                                const struct trial_mem *baseline)
{
    double gain = study_gain(st, t->score) - study_gain(st, baseline->score);

    return !is_area(st) || !isfinite(t->score_se) ||
           gain > normal_quantile(1 - CHANCE) * t->score_se * fold_factor(st);
}

/* How many of its first blocks, those of fold 0, flatter the trial: its rungs let it pass because it was
 * good there. The bootstrap draws among trials that were completed and does not see those that were left
 * at a rung. 0 = none, or folds have one block each. */
static int picked_blocks(const struct study *st, const struct trial_mem *t)
{
    const struct msg_data *d = &st->problem.data;
    bool passed = t->source == SRC_SCRIPT || t->source == SRC_SAMPLER;

    if (!passed || t->max_level < 2 || d->holdout || d->folds < 3 || t->n_blocks < 2 * d->folds ||
        str_eq(st->problem.search.scheduler, "none"))
        return 0;
    return t->n_blocks / d->folds;
}

/* The same question on the folds that nothing was picked by. On 45 tables of noise five shipped a model,
 * all boosting that had passed two rungs: of areas of .72 to .78 on the first fold .55 to .66 was left on
 * all of them. */
static bool wins_elsewhere(const struct study *st, const struct trial_mem *t,
                           const struct trial_mem *baseline)
{
    int from = picked_blocks(st, t);
    struct field field;
    double se = 0;

    if (from == 0)
        return true;
    double gain = study_gain(st, mean_above(t, baseline, from, &se));
    field_make(st, from, t->n_blocks, &field);
    gain -= field.n > 1 ? fmax(above_drawn(st, &field, t), 0) : 0;
    return gain > least_errors(t->n_blocks - from) * se * fold_factor(st);
}

/* The same from the memo of honest_of, which was just asked of this trial: the bootstrap takes a
 * millisecond, and the board asks at each turn. */
static bool wins_elsewhere_again(const struct study *st, const struct trial_mem *t,
                                 const struct trial_mem *baseline)
{
    struct honest_memo *m = st->honest;

    if (!m)
        return wins_elsewhere(st, t, baseline);
    if (!m->is_asked)
        m->wins_elsewhere = wins_elsewhere(st, t, baseline);
    m->is_asked = true;
    return m->wins_elsewhere;
}

/* Of a target with a long tail a few rows make most of the squared error, and so does their chance of
 * the difference: 1,120 stays in hospital of 1 to 116 days had a gain of 4 % that is a fact by the
 * order of the rows, at nine errors, and chance by the error of the gain, so that the baseline
 * shipped. The order counts as that of the best of as many independent trials as the study has
 * (Bonferroni), which covers those that rungs let pass, too; and only if the gain itself is above 0
 * after what choosing took. */
static bool wins_by_order(const struct study *st, const struct trial_mem *t, double gain)
{
    double least = normal_quantile(1 - CHANCE / MAX(st->n_trials, 1));

    return gain > 0 && isfinite(t->order) && (double)t->order > least * fold_factor(st);
}

bool honest_beats_baseline(const struct study *st, int64_t number)
{
    const struct trial_mem *t = trial_of(st, number), *baseline = peer_of(st, number);

    if (t->is_part)
        return wins_as_part(st, t);
    if (t->n_blocks < 2 || !baseline)
        return !baseline || wins_without_blocks(st, t, baseline);
    double se = gain_error(st, t, baseline);
    if (t->n_blocks > MOST_SIGNS &&
        study_gain(st, t->score) - study_gain(st, baseline->score) > BEYOND_DOUBT * se)
        return true;
    struct honest h = honest_of(st, number);
    if (wins_by_order(st, t, h.gain))
        return true;
    if (h.gain > least_errors(t->n_blocks) * h.gain_se)
        return wins_elsewhere_again(st, t, baseline);
    return chance_error(st, t->n_blocks) == 0 && wins_by_signs(st, t, baseline, h.optimism);
}
