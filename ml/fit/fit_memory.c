/* fit_memory.c - the memory that a trial holds, and forecasts of the memory that it will hold.
 *
 * A family's formula (family_level_bytes) knows what rows and columns take. How many rounds a table
 * wants, or how soon the leaves of a tree are pure, shows only in a fit. All of this is expressed
 * as one factor, the growth: bytes that trees took, divided by the bytes that the formula gives
 * them. It is measured here on the lanes, told to the controller with the result, and comes back as
 * the growth of the study's other trials.
 *
 * In this file "trees" stands for whatever grows with the steps of a family; a family without that
 * has no model_bytes in its model_ops, and its formula alone is the forecast. Three shares of the
 * family turn bytes of trees into other sizes: file_share (the model file), load_share (a model
 * loaded from it) and grow_share (scratch memory while one tree grows).
 *
 * Called by the worker, which shares the memory of a machine among trials. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/buf.h"
#include "ml/model/model.h"

#include <math.h>

/* A growth so small that the formula gives the memory without any tree. */
#define GROWTH_NONE 1e-9
/* A measured growth is held between 1/16 and 16, because a few trees may be far from typical. */
#define GROWTH_MOST 16.0
/* How much more than it holds a trial may take before it must ask again, where its end is
 * unknown. */
#define ASK_RATIO 1.12
/* Forecasts end here: larger than any memory, and safely below INT64_MAX when they are added up. */
#define BYTES_MOST 9e15
/* Trees that are saved as a sample, to learn how much of them a file keeps. */
enum { SAMPLE_TREES = 8 };

int64_t fit_trial_bytes(const struct fit_trial *t)
{
    const struct fit_run *runs[] = { t->run, t->before };
    int64_t bytes = (int64_t)sizeof *t + t->own_bytes;

    for (size_t i = 0; i < ARRAY_LEN(runs); i++) {
        const struct fit_run *r = runs[i];
        for (int f = 0; r && !t->is_shipped && f < r->n_lanes; f++)
            bytes += t->ops->bytes(&r->lanes[f]);
        bytes +=
            r ? (int64_t)sizeof *r + (int64_t)r->cap * SPLIT_MAX_FOLDS * (int64_t)sizeof *r->values
              : 0;
    }
    return bytes;
}

/* Bytes of the trees of all lanes of a run; 0 for a family without trees. */
static int64_t run_trees(const struct fit_trial *t, const struct fit_run *r)
{
    int64_t bytes = 0;

    for (int f = 0; r && !t->is_shipped && t->ops->model_bytes && f < r->n_lanes; f++)
        bytes += t->ops->model_bytes(&r->lanes[f]);
    return bytes;
}

static int64_t trees_bytes(const struct fit_trial *t)
{
    return run_trees(t, t->run);
}

/* After the lanes are freed, a trial still needs memory for its model file, plus one fold's model
 * at a time, because the fold models are loaded one by one to be tested. Validation may have chosen
 * an earlier step, so that the file holds fewer trees; how many is not known before the end, and
 * this does not count on it. */
static double shipped_bytes(const struct fit_trial *t, double trees)
{
    return trees * (t->ops->file_share + t->ops->load_share / t->folds);
}

/* While the model file is begun, all lanes are still there: the first fold's part of the file comes
 * on top of them. */
static double shipping_bytes(const struct fit_trial *t, double trees)
{
    return trees * t->ops->file_share / t->folds;
}

/* Scratch memory for the tree that is growing, when `trees` bytes are what all folds will have at
 * the end of the level: a share of one tree of average size. */
static double growing_bytes(const struct fit_trial *t, int level, double trees)
{
    struct family_plan plan;

    fit_plan(t, level, &plan);
    return t->ops->grow_share * trees /
           (double)MAX(fit_folds_of(t, &plan) * (plan.cap / MAX(plan.per_count, 1)), 1);
}

int64_t fit_trial_spare_bytes(const struct fit_trial *t)
{
    double trees = (double)trees_bytes(t), lanes = (double)(fit_trial_bytes(t) - t->own_bytes),
           steps = 0;

    for (int f = 0; t->run && f < t->run->n_lanes; f++)
        steps += (double)t->run->lanes[f].steps_done;
    double tree = t->run ? trees * MAX(t->run->plan.per_count, 1) / MAX(steps, 1) : 0;
    double ship = MAX(shipped_bytes(t, trees) - lanes, shipping_bytes(t, trees));
    return (int64_t)MAX(ship, tree * t->ops->grow_share);
}

/* What the family's formula gives for all folds at `level`. */
static int64_t formula_bytes(const struct fit_trial *t, int level, double growth)
{
    struct family_shape s = fit_shape(t);

    s.growth = growth;
    return family_level_bytes(t->f, &s, t->params, level);
}

/* Of this, the trees alone. */
static double formula_trees(const struct fit_trial *t, int level, double growth)
{
    return (double)(formula_bytes(t, level, growth) - formula_bytes(t, level, GROWTH_NONE));
}

double fit_trial_growth(const struct fit_trial *t)
{
    double trees = (double)trees_bytes(t);

    if (t->is_shipped)
        return t->growth;
    if (t->is_cut || t->before || t->level < 1 || !(trees > 0))
        return 0;
    double expected = formula_trees(t, t->level, 1);
    return expected > 0 ? MIN(MAX(trees / expected, 1 / GROWTH_MOST), GROWTH_MOST) : 0;
}

/* The most that the trial holds at once during a level that ends with so many bytes of trees. At
 * the last level of the ladder this includes shipping, which may need more than training. */
static int64_t level_bytes(const struct fit_trial *t, int level, double trees)
{
    double bytes =
        (double)formula_bytes(t, level, GROWTH_NONE) + trees + growing_bytes(t, level, trees);

    if (level == fit_trial_levels(t))
        bytes =
            MAX(bytes + shipping_bytes(t, trees), (double)t->own_bytes + shipped_bytes(t, trees));
    return (int64_t)MIN(bytes, BYTES_MOST);
}

/* What rows and columns alone take, and the first tree: no trial of this configuration can do with
 * less. */
static int64_t least_bytes(const struct fit_trial *t, int level, double growth)
{
    double trees = formula_trees(t, level, growth);

    return (int64_t)((double)formula_bytes(t, level, GROWTH_NONE) + growing_bytes(t, level, trees));
}

/* By the formula, with the trial's own growth if it has reached a level, else with that of others.
 * A level of another key trains a new run, and the finished run is kept beside it until the level
 * is reached. */
static int64_t estimate_bytes(const struct fit_trial *t, int level, double growth)
{
    double own = fit_trial_growth(t);
    struct family_plan plan;
    int64_t bytes = level_bytes(t, level, formula_trees(t, level, own > 0 ? own : growth));

    fit_plan(t, level, &plan);
    if (t->level > 0 && t->run && t->run->plan.key != plan.key)
        bytes += fit_trial_bytes(t) - t->own_bytes;
    return MAX(bytes, fit_trial_bytes(t));
}

/* ---- forecasts from the trees of the level in training ---- */

struct seen_trees {
    /* bytes of trees: of all folds for one step, and at the end of the level */
    double step, whole;
    /* The curve may still improve, and no number of trees ends the level: `whole` is a guess. */
    bool is_open;
};

/* Extrapolates from the steps done so far to the end of the level: its last step, or, if patience
 * decides, as many steps after the best point as patience allows. False = the level in training has
 * no trees yet. */
static bool seen_trees_of(const struct fit_trial *t, struct seen_trees *s)
{
    double done = 0, slowest = INFINITY, trees = (double)trees_bytes(t);
    struct family_plan plan;

    if (!t->run || t->target <= t->level || !(trees > 0))
        return false;
    fit_plan(t, t->target, &plan);
    int folds = fit_folds_of(t, &plan);
    for (int f = 0; f < t->run->n_lanes; f++) {
        done += (double)t->run->lanes[f].steps_done;
        slowest = MIN(slowest, (double)t->run->lanes[f].steps_done);
    }
    struct fit_choice c = fit_choose(t, t->run, folds);
    double best = c.best >= 0 ? (double)fit_point_step(t->run, c.best) : 0,
           end = plan.n_counts > 0 ? (double)plan.cap
                                   : MIN((double)plan.cap, best + (double)plan.patience);
    s->step = trees / MAX(done, 1) * folds;
    s->whole = s->step * end;
    s->is_open = plan.n_counts == 0 && slowest < best + (double)plan.patience / 2;
    return true;
}

/* The estimate once trees of the level have been seen; 0 = there are none yet. While the end is a
 * guess, the formula's trees count if they are more, but never more than the plan allows. Lanes of
 * the run before are added, because they stay until the level is reached. */
static int64_t revised_bytes(const struct fit_trial *t, double growth)
{
    struct family_plan plan;
    struct seen_trees s;

    if (!seen_trees_of(t, &s))
        return 0;
    fit_plan(t, t->target, &plan);
    double whole = s.whole;
    if (s.is_open)
        whole = MAX(whole, MIN(formula_trees(t, t->target, growth), s.step * (double)plan.cap));
    int64_t bytes = level_bytes(t, t->target, whole);
    for (int f = 0; t->before && f < t->before->n_lanes; f++)
        bytes += t->ops->bytes(&t->before->lanes[f]);
    return MAX(bytes, fit_trial_bytes(t));
}

/* ---- how far a trial may go before it asks again ---- */

/* What a level that has no trees of its own yet will hold at least: what rows take, and what the
 * trial brings along: its trees, if the level continues the run, else the whole finished run. */
static double begun_bytes(const struct fit_trial *t, int level, const struct family_plan *plan)
{
    double kept = 0;

    if (t->run)
        kept = t->run->plan.key == plan->key ? (double)trees_bytes(t)
                                             : (double)(fit_trial_bytes(t) - t->own_bytes);
    return MAX((double)formula_bytes(t, level, GROWTH_NONE) + kept, (double)fit_trial_bytes(t));
}

/* See struct fit_forecast, ask and next. Returns next. */
static int64_t next_bytes(const struct fit_trial *t, int level, double growth, int64_t *ask)
{
    struct family_plan plan;
    struct seen_trees s = { 0 };
    double own = fit_trial_growth(t), now = (double)trees_bytes(t),
           held = (double)fit_trial_bytes(t), next = held * ASK_RATIO;

    fit_plan(t, level, &plan);
    bool is_seen = t->target == level && seen_trees_of(t, &s), is_counted = plan.n_counts > 0;
    double trees = is_seen ? s.whole : formula_trees(t, level, own > 0 ? own : growth);
    if (!t->ops->model_bytes)
        return *ask = estimate_bytes(t, level, growth);
    if (!is_seen && is_counted && own > 0)
        next = MAX((double)formula_bytes(t, level, GROWTH_NONE) + trees, held);
    else if (!is_seen)
        next = begun_bytes(t, level, &plan) * ASK_RATIO;
    else if (is_counted)
        next = held + MAX(trees - now, s.step);
    else
        next = MAX(s.is_open ? next : MIN(next, held + trees - now), held + s.step);
    *ask = (int64_t)MIN(next, BYTES_MOST);
    return *ask + (int64_t)MIN(growing_bytes(t, level, trees), BYTES_MOST);
}

struct fit_forecast fit_trial_forecast(const struct fit_trial *t, int level, double growth)
{
    struct fit_forecast f = { .growth = fit_trial_growth(t) };

    f.least = least_bytes(t, level, growth);
    f.estimate = estimate_bytes(t, level, growth);
    f.revised = revised_bytes(t, growth);
    f.next = next_bytes(t, level, growth, &f.ask);
    CHECK(f.next >= f.ask);
    return f;
}

/* ---- shipping ---- */

/* Bytes of the trees that the model file keeps when the chosen step is `step`, out of `trees` bytes
 * in all. A step of a grid names a pruning, which cuts branches off: then the first few trees of
 * the first fold are saved as a sample, and the rest is taken to shrink alike. */
static double kept_trees(const struct fit_trial *t, const struct fit_run *r, int64_t step,
                         double trees)
{
    int64_t ways = MAX(r->plan.per_count, 1), n = (step - 1) / ways + 1, few = MIN(n, SAMPLE_TREES);
    struct buf out;

    if (r->n_lanes < 1 || few < 1 || (step - 1) % ways == ways - 1)
        return trees;
    buf_init(&out, SIZE_MAX / 2);
    if (t->ops->save(&r->lanes[0], (few - 1) * ways + 1 + (step - 1) % ways, &out, NULL) == 0)
        trees =
            MIN(trees, (double)out.len / (double)few * (double)n * r->n_lanes / t->ops->file_share);
    buf_fini(&out);
    return trees;
}

/* Trees after the chosen step are not saved, so only the share up to it counts. */
int64_t fit_trial_ship_bytes(const struct fit_trial *t)
{
    struct fit_run *r = NULL;
    struct fit_choice c;

    if (t->is_shipped || !t->ops->model_bytes || fit_result_run(t, &r, &c) < 0)
        return fit_trial_bytes(t);
    int64_t step = fit_point_step(r, c.best), ways = MAX(r->plan.per_count, 1);
    double lanes = (double)fit_trial_bytes(t), trees = (double)run_trees(t, r), most = 1;
    for (int f = 0; f < r->n_lanes; f++)
        most = MAX(most, (double)r->lanes[f].steps_done);
    int64_t end = (step + ways - 1) / ways * ways;
    trees = kept_trees(t, r, step, trees * MIN((double)end / most, 1));
    return (int64_t)MAX(lanes + shipping_bytes(t, trees),
                        (double)t->own_bytes + shipped_bytes(t, trees));
}

int64_t fit_trial_file_bytes(const struct fit_trial *t)
{
    double trees = (double)MAX(run_trees(t, t->run), run_trees(t, t->before));

    return (int64_t)(trees * t->ops->file_share);
}
