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
enum {
    LEAST_TRIALS = 10,
    LEAST_PER_BRANCH = 3,
    LEAST_AT_MOST = 20,
    LEAST_RESULTS = 5,
    CANDIDATES = 24,
    MOST_DRAWS = 20 * CANDIDATES
};
/* For a density of one kernel: the width of a number's normal as a share of its range, and the
 * share of a category's probability that is uniform over its choices. Both shrink with more kernels
 * (Scott's rule). The bad density is a little smoother, because a place between two bad trials is
 * not a good one either. */
static const double GOOD_WIDTH = 0.2, BAD_WIDTH = 0.25, SPREAD = 0.5;
/* The prior's weight in the good density. A candidate drawn from it is seldom proposed, but it
 * keeps the whole space possible. */
static const double GOOD_PRIOR = 0.3;
static const uint64_t DRAW_TAG = 0x747065;     /* "tpe" */
static const uint64_t FUSE_TAG = 0x7470656675; /* "tpefu" */

/* The places of some trials, in the order of their numbers. */
struct placed {
    int *rows;
    double *places; /* n x axes.n */
    int n, cap;
};

struct tpe {
    struct sampler base;
    struct fresh_points fresh;
    struct history history;
    struct parzen_axes axes;
    struct parzen good, bad;
    struct tpe_split split;
    struct placed bad_placed, bad_next; /* of the last suggestion's bad trials; room for the next */
    int n_start, block, n_objectives;   /* block: of the stratified start */
    double *point, *place, *seen;       /* room for one */
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
    history_init(&t->history, space);
    parzen_axes_init(&t->axes, space);
    parzen_init(&t->good, &t->axes);
    parzen_init(&t->bad, &t->axes);
    tpe_split_init(&t->split);
    t->n_start = start_size(space);
    t->block = MIN(MAX(t->n_start, setup->parallel), LATIN_MAX_BLOCK);
    t->n_objectives = MIN(MAX(setup->n_objectives, 1), SEARCH_MAX_OBJECTIVES);
    t->point = mem_array((size_t)space->n + 1, sizeof *t->point);
    t->place = mem_array((size_t)space->n + 1, sizeof *t->place);
    t->seen = mem_array((size_t)space->n + 1, sizeof *t->seen);
    return &t->base;
}

static void placed_fini(struct placed *p)
{
    mem_free(p->rows);
    mem_free(p->places);
}

static void tpe_close(struct sampler *s)
{
    struct tpe *t = of(s);

    fresh_points_fini(&t->fresh);
    history_fini(&t->history);
    parzen_fini(&t->good);
    parzen_fini(&t->bad);
    parzen_axes_fini(&t->axes);
    tpe_split_fini(&t->split);
    placed_fini(&t->bad_placed);
    placed_fini(&t->bad_next);
    mem_free(t->point);
    mem_free(t->place);
    mem_free(t->seen);
    mem_free(t);
}

static void row_place(struct tpe *t, int row, double *place)
{
    history_point(&t->history, row, t->seen);
    parzen_place(&t->axes, t->seen, place);
}

static void placed_room(struct placed *p, int n, int d)
{
    p->n = n;
    if (n <= p->cap)
        return;
    p->cap = n + n / 4;
    p->rows = mem_resize(p->rows, (size_t)p->cap * sizeof *p->rows);
    p->places = mem_resize(p->places, ((size_t)p->cap * (size_t)d + 1) * sizeof *p->places);
}

/* Fills bad_placed. A place costs a logarithm for each number, keeping the places of all trials
 * would double what a trial takes in memory, and nearly all bad trials were bad at the last
 * suggestion: those places are copied. */
static void bad_place_all(struct tpe *t)
{
    const struct tpe_split *s = &t->split;
    struct placed had = t->bad_placed, *to = &t->bad_next;
    size_t d = (size_t)t->axes.n;
    int at = 0;

    placed_room(to, s->n_bad, t->axes.n);
    for (int i = 0; i < s->n_bad; i++) {
        double *place = to->places + (size_t)i * d;
        int64_t trial = t->history.rows[s->bad[i]].trial;

        to->rows[i] = s->bad[i];
        while (at < had.n && t->history.rows[had.rows[at]].trial < trial)
            at++;
        if (at < had.n && had.rows[at] == s->bad[i])
            memcpy(place, had.places + (size_t)at * d, d * sizeof *place);
        else
            row_place(t, s->bad[i], place);
    }
    t->bad_placed = t->bad_next;
    t->bad_next = had;
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
    parzen_clear(&t->good);
    for (int i = 0; i < s->n_good; i++) {
        row_place(t, s->good[i], t->place);
        parzen_add(&t->good, t->place,
                   (top - search_log(s->place[s->good[i]])) * s->n_good / whole);
    }
    build(t, &t->good, GOOD_PRIOR, GOOD_WIDTH);
}

static void build_bad(struct tpe *t)
{
    bad_place_all(t);
    parzen_clear(&t->bad);
    for (int i = 0; i < t->bad_placed.n; i++)
        parzen_add(&t->bad, t->bad_placed.places + (size_t)i * (size_t)t->axes.n, 1);
    build(t, &t->bad, 1 / t->split.thinned, BAD_WIDTH);
}

/* ---- model ---- */

/* log(good / bad) at a point. */
static double score(struct tpe *t, const double *point)
{
    parzen_place(&t->axes, point, t->place);
    return parzen_log(&t->good, t->place) - parzen_log(&t->bad, t->place);
}

/* The stream that decides the kernel and the shape parameters of a trial's i-th candidate. With
 * fusing it belongs to the trial's group, so trials that are asked for together choose among few
 * shapes, while each still chooses among as many candidates as it would alone. False: the trial's
 * own stream decides. */
static bool shape_rng(const struct tpe *t, int64_t trial, int i, struct rng *out)
{
    if (t->fresh.fuse < 2)
        return false;
    rng_init(out, rng_mix(rng_mix(t->base.seed, FUSE_TAG), (uint64_t)i),
             (uint64_t)fresh_points_group(trial, t->fresh.fuse));
    return true;
}

/* The best of CANDIDATES unseen candidates. False if MOST_DRAWS draws were all seen before. */
static bool propose(struct tpe *t, int64_t trial, double *best)
{
    struct rng r, shape;
    double most = -INFINITY;
    int found = 0;

    rng_init(&r, rng_mix(t->base.seed, DRAW_TAG), (uint64_t)trial);
    for (int i = 0; i < MOST_DRAWS && found < CANDIDATES; i++) {
        parzen_draw(&t->good, shape_rng(t, trial, i, &shape) ? &shape : &r, &r, t->point);
        if (hash_set_has(&t->fresh.seen, space_hash(t->base.space, t->point)) ||
            !space_holds(t->base.space, t->point))
            continue;
        double s = score(t, t->point);
        if (found++ == 0 || s > most) {
            most = s;
            memcpy(best, t->point, (size_t)t->base.space->n * sizeof *best);
        }
    }
    return found > 0;
}

static int suggest_one(struct tpe *t, int64_t trial, bool has_model, double *point)
{
    bool is_made = false;

    if (has_model && t->history.n >= t->n_start) {
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
    struct tpe *t = of(s);
    bool has_model = tpe_split_make(&t->split, &t->history, t->axes.n_joint, t->n_objectives,
                                    LEAST_RESULTS, s->seed);

    (void)err;
    if (has_model) {
        build_good(t);
        build_bad(t);
    }
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (suggest_one(t, first + k, has_model, point) == 0)
            return k;
    }
    return n;
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
    (void)history_observe(&of(s)->history, o);
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
