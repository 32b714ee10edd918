/* tpe.c - the TPE sampler: tree-structured Parzen estimator (Bergstra et al., NeurIPS 2011), joint
 * over all parameters as in BOHB and Optuna, also in conditional spaces (parzen.h). It draws
 * candidates from the density of the good trials and proposes the one for which good / bad is
 * largest.
 *
 * Beyond the papers: the start is stratified (latin.h); candidates that were proposed before are
 * left out; trials in flight are kept out of the bad density, because a running trial has no
 * verdict; and trials that are asked for together choose among few shapes (shape_rng). */
#include "search/samplers/tpe/tpe.h"
#include "search/contract/history.h"
#include "search/samplers/tpe/parzen.h"
#include "search/samplers/tpe/tpe_split.h"
#include "search/space/constraint.h"
#include "search/space/exact_math.h"
#include "search/space/fresh_points.h"
#include "search/space/latin.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>
/* CANDIDATES: one batch of the densities (parzen_sum.h). */
enum {
    LEAST_TRIALS = 10,
    LEAST_PER_BRANCH = 3,
    LEAST_AT_MOST = 20,
    LEAST_RESULTS = 5,
    CANDIDATES = PARZEN_BATCH,
    MOST_DRAWS = 20 * CANDIDATES
};
/* For a density of one kernel: the width of a number's normal as a share of its range, and the
 * share of a category's probability that is uniform over its choices. Both shrink with more kernels
 * (Scott's rule). The bad density is a little smoother, because a place between two bad trials is
 * not a good one either. With noise it is as much narrower as the share of noise says, at most by
 * half: a bad result may be bad luck, and says little of its neighbours. */
static const double GOOD_WIDTH = 0.2, BAD_WIDTH = 0.25, SPREAD = 0.5;
/* The prior's weight in the good density. A candidate drawn from it is seldom proposed, but it
 * keeps the whole space possible. */
static const double GOOD_PRIOR = 0.3;
/* What the deviation of an opinion among the candidates counts beside that of their log good / bad. */
static const double OPINION = 0.5;
static const uint64_t DRAW_TAG = 0x747065;     /* "tpe" */
static const uint64_t FUSE_TAG = 0x7470656675; /* "tpefu" */

/* One of the two densities, and the rows whose trials are its kernels, in the order of trials. */
struct side {
    struct parzen density;
    int *rows, cap;
};

struct tpe {
    struct sampler base;
    uint64_t fuse_seed; /* of shape_rng */
    struct fresh_points fresh;
    struct history history;
    struct parzen_axes axes;
    struct side good, bad;
    struct tpe_split split;
    bool has_partner; /* tpe_heed_partner */
    tpe_opinion *ask; /* tpe_heed_opinion */
    struct sampler *of_whom;
    bool is_fitted, has_model;        /* split and sides fit what was observed; there are sides */
    int n_start, block, n_objectives; /* block: of the stratified start */
    double *point, *place;            /* room for one */
    double *drawn, *places;           /* room for CANDIDATES points */
    struct side_tail {                /* kernels of a side that may have to move */
        int *rows, n, cap;
        double *places; /* n x axes.n */
    } tail;
};

static struct tpe *of(struct sampler *s)
{
    return (struct tpe *)s;
}

/* The number of trials before the model is used. A parameter that opens branches needs some trials
 * of each: a branch that the start never met, or met only twice at bad places, looks bad for a long
 * time. */
static int start_size(const struct space *space)
{
    int branches = 0;

    for (int i = 0; i < space->n; i++) {
        if (space->params[i].parent >= 0)
            branches = MAX(branches, space->params[space->params[i].parent].n_choices);
    }
    return MAX(LEAST_TRIALS, MIN(LEAST_PER_BRANCH * branches, LEAST_AT_MOST));
}

static struct sampler *tpe_open(const struct space *space, const struct search_setup *setup,
                                struct err *err)
{
    struct tpe *t = mem_zalloc(sizeof *t);

    (void)err;
    t->base = (struct sampler){ &search_tpe, space, setup->seed };
    fresh_points_init(&t->fresh, space);
    t->fresh.fuse = setup->fuse;
    t->fuse_seed = rng_mix(setup->seed, FUSE_TAG);
    history_init(&t->history, space);
    parzen_axes_init(&t->axes, space);
    parzen_init(&t->good.density, &t->axes);
    parzen_init(&t->bad.density, &t->axes);
    tpe_split_init(&t->split);
    t->n_start = start_size(space);
    t->block = MIN(MAX(t->n_start, setup->parallel), LATIN_MAX_BLOCK);
    t->n_objectives = MIN(MAX(setup->n_objectives, 1), SEARCH_MAX_OBJECTIVES);
    t->point = mem_array((size_t)space->n + 1, sizeof *t->point);
    t->place = mem_array((size_t)t->axes.n + 1, sizeof *t->place);
    t->drawn = mem_array(CANDIDATES * (size_t)space->n + 1, sizeof *t->drawn);
    t->places = mem_array(CANDIDATES * (size_t)t->axes.n + 1, sizeof *t->places);
    return &t->base;
}

static void side_fini(struct side *s)
{
    parzen_fini(&s->density);
    mem_free(s->rows);
}

static void tpe_close(struct sampler *s)
{
    struct tpe *t = of(s);

    fresh_points_fini(&t->fresh);
    history_fini(&t->history);
    side_fini(&t->good);
    side_fini(&t->bad);
    parzen_axes_fini(&t->axes);
    tpe_split_fini(&t->split);
    mem_free(t->tail.rows);
    mem_free(t->tail.places);
    mem_free(t->point);
    mem_free(t->place);
    mem_free(t->drawn);
    mem_free(t->places);
    mem_free(t);
}

/* ---- the kernels of a side ---- */

/* Takes the kernels from `keep` on off the side. */
static void tail_take(struct tpe *t, struct side *s, int keep)
{
    struct side_tail *tail = &t->tail;
    size_t d = (size_t)t->axes.n;

    tail->n = s->density.n - keep;
    if (tail->n > tail->cap) {
        tail->cap = tail->n + tail->n / 4;
        tail->rows = mem_resize(tail->rows, (size_t)tail->cap * sizeof *tail->rows);
        tail->places = mem_resize(tail->places, ((size_t)tail->cap * d + 1) * sizeof *tail->places);
    }
    for (int i = 0; i < tail->n; i++) {
        tail->rows[i] = s->rows[keep + i];
        parzen_kernel(&s->density, keep + i, tail->places + (size_t)i * d);
    }
    parzen_keep(&s->density, keep);
}

/* Makes these rows' trials the kernels of the side; the order is that of trials. Between two
 * suggestions few rows change, nearly always at the end, and a place costs a logarithm for each
 * number: what was there stays, and what only moves is copied. */
static void side_set(struct tpe *t, struct side *s, const int *rows, int n)
{
    const struct history_row *of_row = t->history.rows;
    size_t d = (size_t)t->axes.n;
    int keep = 0, at = 0;

    while (keep < n && keep < s->density.n && s->rows[keep] == rows[keep])
        keep++;
    tail_take(t, s, keep);
    if (n > s->cap) {
        s->cap = n + n / 4;
        s->rows = mem_resize(s->rows, (size_t)s->cap * sizeof *s->rows);
    }
    for (int i = keep; i < n; i++) {
        s->rows[i] = rows[i];
        while (at < t->tail.n && of_row[t->tail.rows[at]].trial < of_row[rows[i]].trial)
            at++;
        if (at < t->tail.n && t->tail.rows[at] == rows[i]) {
            parzen_add(&s->density, t->tail.places + (size_t)at * d, 1);
            continue;
        }
        history_point(&t->history, rows[i], t->point);
        parzen_place(&t->axes, t->point, t->place);
        parzen_add(&s->density, t->place, 1);
    }
}

/* Scott's rule: the width falls with K^(-1/(d+4)). */
static double scott(int n_kernels, int d)
{
    return search_exp(-search_log(n_kernels + 1) / (d + 4));
}

static void build(struct tpe *t, struct parzen *p, double prior, double width)
{
    double shrink = scott(p->n, t->axes.n_joint);

    parzen_build(p, prior, width * shrink, SPREAD * shrink);
}

/* Better trials weigh more: log(n + 3/2) - log(place), scaled to a mean of 1, as the weights of
 * CMA-ES (Hansen 2016). So the density follows how good a trial is, not only that it is among the
 * best tenth. */
static void build_good(struct tpe *t)
{
    const struct tpe_split *s = &t->split;
    double whole = 0, top = search_log(s->n_good + 1.5);

    for (int k = 1; k <= s->n_good; k++)
        whole += top - search_log(k);
    side_set(t, &t->good, s->good, s->n_good);
    for (int i = 0; i < s->n_good; i++)
        t->good.density.weights[i] = (top - search_log(s->place[s->good[i]])) * s->n_good / whole;
    build(t, &t->good.density, GOOD_PRIOR, GOOD_WIDTH);
}

static void build_bad(struct tpe *t)
{
    side_set(t, &t->bad, t->split.bad, t->split.n_bad);
    build(t, &t->bad.density, 1 / t->split.thinned, BAD_WIDTH * (1 - MIN(0.5, t->split.noise)));
}

/* Fits the model to what was observed, unless it is. Trials without a result do not count. */
static void fit(struct tpe *t)
{
    if (t->is_fitted)
        return;
    t->is_fitted = true;
    t->has_model = tpe_split_make(&t->split, &t->history, t->axes.n_joint, t->n_objectives,
                                  LEAST_RESULTS, t->base.seed);
    if (t->has_model) {
        build_good(t);
        build_bad(t);
    }
}

/* ---- model ---- */

/* The stream that decides the kernel and the shape parameters of a trial's i-th candidate. With
 * fusing it belongs to the trial's group, so trials that are asked for together choose among few
 * shapes, while each still chooses among as many candidates as it would alone. False: the trial's
 * own stream decides. */
static bool shape_rng(const struct tpe *t, int64_t trial, int i, struct rng *out)
{
    if (t->fresh.fuse < 2)
        return false;
    rng_init(out, rng_mix(t->fuse_seed, (uint64_t)i),
             (uint64_t)fresh_points_group(trial, t->fresh.fuse));
    return true;
}

/* See tpe_heed_partner. Many: more than a fourth. */
static int candidates_of(const struct tpe *t)
{
    bool do_many_fail = 4 * t->history.failed.n > t->history.n && !t->split.is_without_failed;

    return t->has_partner && do_many_fail ? PARZEN_FEW : CANDIDATES;
}

/* Draws unseen candidates into t->drawn, and their places, with MOST_DRAWS draws at most; returns how
 * many. */
static int draw_candidates(struct tpe *t, int64_t trial)
{
    size_t n = (size_t)t->base.space->n, d = (size_t)t->axes.n;
    struct rng r, shape;
    int found = 0, want = candidates_of(t);

    rng_init(&r, rng_mix(t->base.seed, DRAW_TAG), (uint64_t)trial);
    for (int i = 0; i < MOST_DRAWS && found < want; i++) {
        double *point = t->drawn + (size_t)found * n;

        uint64_t hash = parzen_draw(&t->good.density, shape_rng(t, trial, i, &shape) ? &shape : &r,
                                    &r, point, t->places + (size_t)found * d);
        if (!hash_set_has(&t->fresh.seen, hash) && space_holds(t->base.space, point))
            found++;
    }
    return found;
}

/* Subtracts the mean; returns the sum of squares that is left. */
static double centre(double *x, int n)
{
    double sum = 0, squares = 0;

    for (int i = 0; i < n; i++)
        sum += x[i];
    for (int i = 0; i < n; i++) {
        x[i] -= sum / n;
        squares += x[i] * x[i];
    }
    return squares;
}

/* Adds to the scores of the candidates what the other model says of them. */
static void opinion_add(struct tpe *t, int n, double *score)
{
    double said[CANDIDATES];

    t->ask(t->of_whom, t->drawn, n, said);
    double all = centre(score, n), theirs = centre(said, n);
    double weight = theirs > 0 ? OPINION * sqrt(all / theirs) : 0;
    for (int i = 0; i < n; i++)
        score[i] += weight * said[i];
}

/* The candidate with the largest good / bad, or what an opinion makes of it; of equal ones the first.
 * False if all draws were seen before. */
static bool propose(struct tpe *t, int64_t trial, double *point)
{
    double good[CANDIDATES], bad[CANDIDATES];
    size_t n = (size_t)t->base.space->n;
    int found = draw_candidates(t, trial), best = 0;

    parzen_logs(&t->good.density, t->places, found, good);
    parzen_logs(&t->bad.density, t->places, found, bad);
    for (int i = 0; i < found; i++)
        good[i] -= bad[i];
    if (t->ask && found > 1)
        opinion_add(t, found, good);
    for (int i = 1; i < found; i++)
        best = good[i] > good[best] ? i : best;
    if (found > 0)
        memcpy(point, t->drawn + (size_t)best * n, n * sizeof *point);
    return found > 0;
}

static int suggest_one(struct tpe *t, int64_t trial, double *point)
{
    bool is_made = false;

    if (t->has_model && t->history.n >= t->n_start) {
        is_made = propose(t, trial, point);
    } else {
        latin_point(t->base.space, t->base.seed, trial, t->block, t->fresh.fuse, point);
        is_made = true;
    }
    if (!is_made || !fresh_points_mark(&t->fresh, point)) {
        if (fresh_points_next(&t->fresh, t->base.seed, trial, point) == 0)
            return 0;
    }
    (void)history_add(&t->history, trial, point);
    return 1;
}

static int tpe_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    (void)err;
    fit(of(s));
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (suggest_one(of(s), first + k, point) == 0)
            return k;
    }
    return n;
}

void tpe_heed_noise(struct sampler *tpe, double share)
{
    struct tpe *t = of(tpe);

    /* The model follows from the trials and the noise alone, never from when it was made: a restart
     * makes it at another time. */
    if (t->split.noise != share)
        t->is_fitted = false;
    t->split.noise = share;
}

void tpe_heed_failures(struct sampler *tpe, bool are_chance)
{
    struct tpe *t = of(tpe);

    if (t->split.is_without_failed != are_chance)
        t->is_fitted = false;
    t->split.is_without_failed = are_chance;
}

void tpe_heed_partner(struct sampler *tpe, bool has_partner)
{
    of(tpe)->has_partner = has_partner;
}

void tpe_heed_opinion(struct sampler *tpe, tpe_opinion *ask, struct sampler *of_whom)
{
    of(tpe)->ask = ask;
    of(tpe)->of_whom = of_whom;
}

static int tpe_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)fresh_points_mark(&of(s)->fresh, point);
    (void)history_add(&of(s)->history, trial, point);
    return 0;
}

static int tpe_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)err;
    if (history_observe(&of(s)->history, o))
        of(s)->is_fitted = false;
    return 0;
}

const struct sampler_ops search_tpe = {
    .name = "tpe",
    .help =
        "tree-structured Parzen estimator over all parameters jointly: learns where good configurations are",
    .open = tpe_open,
    .close = tpe_close,
    .suggest = tpe_suggest,
    .adopt = tpe_adopt,
    .recall = tpe_adopt, /* a point is keyed by its trial: nothing else was used up */
    .observe = tpe_observe,
};
