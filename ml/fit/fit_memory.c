/* fit_memory.c - the memory that a trial holds, the memory that it will hold at a level, and how
 * large its trees are against the family's formula.
 *
 * A family's formula knows what rows and columns take. How many rounds a table wants, or how soon
 * its leaves are pure, shows only in a fit: that is one factor, the growth (family_shape.growth),
 * which is measured here on the lanes. Called by the worker, which shares the memory of a machine
 * among trials. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/buf.h"
#include "ml/model/model.h"

#include <math.h>

/* NOTHING: a growth so small that the formula gives the memory without any tree. MOST: a measured
 * growth is held between 1/16 and 16, because a few trees may be far from typical. */
#define NOTHING 1e-9 /* a growth: no trees at all */
#define MOST    16.0
enum { SAMPLE = 8 };
/* how much more than it holds a trial may take before it must ask again, where its end is unknown */
#define STRIDE 1.12

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

/* Beside what stays of a trial when its lanes are gone: its file, and of it one fold's model loaded after another. What
 * validation cuts off its trees is in neither; nobody knows how much before the end. */
static double shipped(const struct fit_trial *t, double trees)
{
    return trees * (t->ops->file_share + t->ops->load_share / t->folds);
}

/* The file of the first fold, beside all lanes. */
static double shipping(const struct fit_trial *t, double trees)
{
    return trees * t->ops->file_share / t->folds;
}

/* Of so many bytes of trees, those of all folds at the end of the level. */
static double growing(const struct fit_trial *t, int level, double trees)
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
    double each = t->run ? trees * MAX(t->run->plan.per_count, 1) / MAX(steps, 1) : 0;
    double ship = MAX(shipped(t, trees) - lanes, shipping(t, trees));
    return (int64_t)MAX(ship, each * t->ops->grow_share);
}

static int64_t formula(const struct fit_trial *t, int level, double growth)
{
    struct family_shape s = fit_shape(t);

    s.growth = growth;
    return family_level_bytes(t->f, &s, t->params, level);
}

double fit_trial_growth(const struct fit_trial *t)
{
    double trees = (double)trees_bytes(t);

    if (t->is_shipped)
        return t->growth;
    if (t->is_cut || t->before || t->level < 1 || !(trees > 0))
        return 0;
    double said = (double)(formula(t, t->level, 1) - formula(t, t->level, NOTHING));
    return said > 0 ? MIN(MAX(trees / said, 1 / MOST), MOST) : 0;
}

/* Trees of so many bytes beside what rows take, and where it will be the last level, what shipping them takes. */
static int64_t with_trees(const struct fit_trial *t, int level, double trees)
{
    double bytes = (double)formula(t, level, NOTHING) + trees + growing(t, level, trees);

    if (level == fit_trial_levels(t))
        bytes = MAX(bytes + shipping(t, trees), (double)t->own_bytes + shipped(t, trees));
    return (int64_t)MIN(bytes, 9e15);
}

static double said_trees(const struct fit_trial *t, int level, double growth)
{
    return (double)(formula(t, level, growth) - formula(t, level, NOTHING));
}

int64_t fit_trial_least_bytes(const struct fit_trial *t, int level, double growth)
{
    double trees = said_trees(t, level, growth);

    return (int64_t)((double)formula(t, level, NOTHING) + growing(t, level, trees));
}

int64_t fit_trial_estimate(const struct fit_trial *t, int level, double growth)
{
    double own = fit_trial_growth(t);
    struct family_plan plan;
    int64_t bytes = with_trees(t, level, said_trees(t, level, own > 0 ? own : growth));

    fit_plan(t, level, &plan);
    if (t->level > 0 && t->run && t->run->plan.key != plan.key)
        bytes += fit_trial_bytes(t) - t->own_bytes; /* kept until the level is reached */
    return MAX(bytes, fit_trial_bytes(t));
}

/* Of the level in training, by the trees it has. */
struct sight {
    double step, whole; /* bytes of trees: of all folds a step, of the level */
    bool is_open;       /* it still gets better, and no count ends it: whole is a guess */
    int folds;
};

static bool sight_of(const struct fit_trial *t, struct sight *s)
{
    double done = 0, slowest = INFINITY, trees = (double)trees_bytes(t);
    struct family_plan plan;

    if (!t->run || t->target <= t->level || !(trees > 0))
        return false;
    fit_plan(t, t->target, &plan);
    s->folds = fit_folds_of(t, &plan);
    for (int f = 0; f < t->run->n_lanes; f++) {
        done += (double)t->run->lanes[f].steps_done;
        slowest = MIN(slowest, (double)t->run->lanes[f].steps_done);
    }
    struct fit_choice c = fit_choose(t, t->run, s->folds);
    double best = c.best >= 0 ? (double)fit_point_step(t->run, c.best) : 0,
           end = plan.n_counts > 0 ? (double)plan.cap
                                   : MIN((double)plan.cap, best + (double)plan.patience);
    s->step = trees / MAX(done, 1) * s->folds;
    s->whole = s->step * end;
    s->is_open = plan.n_counts == 0 && slowest < best + (double)plan.patience / 2;
    return true;
}

int64_t fit_trial_revised(const struct fit_trial *t, double growth)
{
    struct family_plan plan;
    struct sight s;

    if (!sight_of(t, &s))
        return 0;
    fit_plan(t, t->target, &plan);
    double whole = s.whole;
    if (s.is_open) /* at least what was thought before */
        whole = MAX(whole, MIN(said_trees(t, t->target, growth), s.step * (double)plan.cap));
    int64_t bytes = with_trees(t, t->target, whole);
    for (int f = 0; t->before && f < t->before->n_lanes; f++)
        bytes += t->ops->bytes(&t->before->lanes[f]);
    return MAX(bytes, fit_trial_bytes(t));
}

/* Of a level that is not begun: what rows take, and what there is already. */
static double begun_bytes(const struct fit_trial *t, int level, const struct family_plan *plan)
{
    double kept = 0;

    if (t->run)
        kept = t->run->plan.key == plan->key ? (double)trees_bytes(t)
                                             : (double)(fit_trial_bytes(t) - t->own_bytes);
    return MAX((double)formula(t, level, NOTHING) + kept, (double)fit_trial_bytes(t));
}

int64_t fit_trial_next_bytes(const struct fit_trial *t, int level, double growth, int64_t *ask)
{
    struct family_plan plan;
    struct sight s = { 0 };
    double own = fit_trial_growth(t), now = (double)trees_bytes(t),
           held = (double)fit_trial_bytes(t), next = held * STRIDE;

    fit_plan(t, level, &plan);
    bool is_seen = t->target == level && sight_of(t, &s), is_counted = plan.n_counts > 0;
    double trees = is_seen ? s.whole : said_trees(t, level, own > 0 ? own : growth);
    if (!t->ops->model_bytes)
        return *ask = fit_trial_estimate(t, level, growth);
    if (!is_seen && is_counted && own > 0)
        next = MAX((double)formula(t, level, NOTHING) + trees, held);
    else if (!is_seen)
        next = begun_bytes(t, level, &plan) * STRIDE;
    else if (is_counted)
        next = held + MAX(trees - now, s.step);
    else
        next = MAX(s.is_open ? next : MIN(next, held + trees - now), held + s.step);
    *ask = (int64_t)MIN(next, 9e15);
    return *ask + (int64_t)MIN(growing(t, level, trees), 9e15);
}

/* Of trees of so many bytes, what is there of them when they are cut as validation chose: by the first few of the first fold. */
static double cut_trees(const struct fit_trial *t, const struct fit_run *r, int64_t step,
                        double trees)
{
    int64_t ways = MAX(r->plan.per_count, 1), n = (step - 1) / ways + 1, few = MIN(n, SAMPLE);
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

int64_t fit_trial_ship_bytes(const struct fit_trial *t)
{
    struct fit_run *r = NULL;
    struct fit_choice c;

    if (t->is_shipped || !t->ops->model_bytes || fit_speaker(t, &r, &c) < 0)
        return fit_trial_bytes(t);
    int64_t step = fit_point_step(r, c.best), ways = MAX(r->plan.per_count, 1);
    double lanes = (double)fit_trial_bytes(t), trees = (double)run_trees(t, r), most = 1;
    for (int f = 0; f < r->n_lanes; f++)
        most = MAX(most, (double)r->lanes[f].steps_done);
    int64_t kept = (step + ways - 1) / ways * ways; /* what comes after is not saved */
    trees = cut_trees(t, r, step, trees * MIN((double)kept / most, 1));
    return (int64_t)MAX(lanes + shipping(t, trees), (double)t->own_bytes + shipped(t, trees));
}

int64_t fit_trial_file_bytes(const struct fit_trial *t)
{
    double trees = (double)MAX(run_trees(t, t->run), run_trees(t, t->before));

    return (int64_t)(trees * t->ops->file_share);
}
