/* gp.c - the Gaussian process sampler, for small spaces and few, expensive trials. After a
 * stratified start it proposes the point with the largest log expected improvement. Trials in
 * flight count with what the model believes of them.
 *
 * The hyperparameters are climbed a few steps further whenever results have come (gp_fit.c), so
 * they depend on every fit before: a replay must make the same calls. The factor of the covariance
 * is kept only to be extended; it has the same bits if it is made anew.
 *
 * If more than PENDING_MAX trials beyond the known results are in flight, points come from the
 * sequence of the start, because a model could not tell so many points apart. */
#include "search/samplers/gp/gp.h"
#include "search/samplers/gp/gp_luck.h"
#include "search/samplers/gp/gp_pick.h"
#include "search/samplers/gp/gp_train.h"
#include "search/space/quasi_points.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A fit takes FIT_MAX trials, FIT_FAILING where many failed, and FIT_FEW where it starts from far.
 * FIT_EVERY: theta is fitted again when the results have grown by this fraction, because a result more
 * among a hundred hardly moves it, and a fit costs as much as the choice of several points; beyond
 * SELDOM it starts from far at twice as many results. FAILING: one trial in so many fails, or more.
 * There theta is fitted again, beyond SELDOM, when the results have grown by a half, and beyond FIT_MAX
 * by as much again, it starts from far at twice as many results from the first on, and its climbs are
 * brief. CAP is a multiple of 8. */
enum {
    PENDING_MAX = 64,
    FIT_MAX = 96,
    FIT_FAILING = 64,
    FIT_FEW = 32,
    FIT_EVERY = 6,
    FIT_HALF = 2,
    FIT_WHOLE = 1,
    SELDOM = 48,
    LEAST_VALUES = 2,
    FAILING = 4,
    CAP = GP_TARGETS + PENDING_MAX + 4
};
/* See aim(). */
enum { WIDE_UNTIL = 130 };
static const double HARDLY_NOISE = 0.05, ROUGHNESS = GP_MUCH_NOISE;
/* See model_start(). A logarithm: .37 of a side of the cube. */
static const double LONGEST_IF_NOISY = -1;
/* Multiplications that a suggestion may spend on the fit: a few milliseconds. */
static const double FIT_WORK = 4e6;

struct gp_sampler {
    struct sampler base;
    struct quasi_points points;
    struct history history;
    struct gp_code code;
    double *vectors; /* of each row of the history, code.d numbers */
    int vectors_cap; /* rows */
    struct gp_luck luck;
    int n_start;
    /* what was learned so far: depends on every fit before */
    double theta[GP_MAX_THETA];
    uint64_t fitted; /* hash of the results that theta was last fitted to; 0 = never */
    double noise;   /* share of the results' variance, found when the fit last tried other starts */
    int fit_at;     /* number of results at which theta is fitted again */
    int restart_at; /* number of results at which the fit tries other starts again */
    /* kept between suggestions only */
    bool is_without_failed; /* of `train`, from which the failed trials are left out */
    bool is_stale;          /* something was observed since `train` was made */
    struct gp_train train;
    struct gp_model model; /* room made at first use */
    struct gp_pool pool;
    struct gp_block opinion; /* of gp_means; made when it is first called */
    struct gp_scratch scratch;
    uint64_t modelled;             /* hash of the model's targets; 0 = none */
    bool is_factored;              /* the model's factor is of theta */
    int modelled_rows[GP_TARGETS]; /* of the history: the model's points with targets */
    int by_trial[GP_TARGETS];      /* places in `train`, in order of trials */
    int64_t believed[PENDING_MAX];
    double *elites;                /* GP_MAX_ELITES units that a pick starts from */
    int elite_rows[GP_MAX_ELITES]; /* of the history, that they are of; -1 = none */
    int by_mean[GP_MAX_ELITES +
                1];         /* places in `train` with the highest means of the model; room */
    double best_told, best; /* the model's best mean over known trials; with those in flight too */
};

static struct gp_sampler *of(struct sampler *s)
{
    return (struct gp_sampler *)s;
}

static struct sampler *gp_open(const struct space *space, const struct search_setup *setup,
                               struct err *err)
{
    struct gp_code code;

    if (gp_code_init(&code, space, err) < 0)
        return NULL;
    if (setup->n_objectives > 1) {
        (void)err_set(err, ERR_ARG, "sampler gp searches for one objective, not %d: use tpe",
                      setup->n_objectives);
        return NULL;
    }
    struct gp_sampler *g = mem_zalloc(sizeof *g);
    g->base = (struct sampler){ &search_gp, space, setup->seed };
    quasi_points_init(&g->points, space, &sequence_sobol, setup->seed);
    history_init(&g->history, space);
    g->code = code;
    g->elites = mem_array((size_t)space->n * GP_MAX_ELITES, sizeof *g->elites);
    g->n_start = MAX(8, MIN(code.d + 2, 20));
    for (int i = 0; i < GP_MAX_ELITES; i++)
        g->elite_rows[i] = -1;
    g->is_stale = true;
    return &g->base;
}

static void gp_close(struct sampler *s)
{
    struct gp_sampler *g = of(s);

    quasi_points_fini(&g->points);
    history_fini(&g->history);
    gp_luck_fini(&g->luck);
    gp_model_fini(&g->model);
    gp_pool_fini(&g->pool);
    gp_block_fini(&g->opinion);
    gp_scratch_fini(&g->scratch);
    mem_free(g->vectors);
    mem_free(g->elites);
    mem_free(g);
}

static double *vector_of(const struct gp_sampler *g, int row)
{
    return g->vectors + (size_t)row * (size_t)g->code.d;
}

/* A trial that is known already stays as it is. */
static void trial_add(struct gp_sampler *g, int64_t trial, const double *point)
{
    int row = history_add(&g->history, trial, point);

    if (row < 0)
        return;
    if (row >= g->vectors_cap) {
        g->vectors_cap = 2 * row + 16;
        g->vectors = mem_resize(g->vectors, ((size_t)g->vectors_cap * (size_t)g->code.d + 1) *
                                                sizeof *g->vectors);
    }
    gp_code_of(&g->code, point, vector_of(g, row));
}

/* Copies what the space says about the dimensions. */
static void points_shape(const struct gp_sampler *g, struct gp_points *p)
{
    memcpy(p->is_choice, g->code.is_choice, sizeof p->is_choice);
    for (int k = 0; k < g->code.d; k++) {
        bool is_child = g->base.space->params[g->code.params[k]].parent >= 0;
        p->length[k] = gp_length_prior(g->points.dims, is_child);
    }
}

/* That results are noise is tried only where few trials failed: a failure counts as the worst value,
 * and the gap between failures and values would be taken for noise and the border forgotten. */
static enum gp_starts starts_of(const struct gp_sampler *g, bool is_restart)
{
    const struct gp_train *t = &g->train;
    int failed = g->is_without_failed ? 0 : g->history.failed.n;
    enum gp_starts from = g->fitted ? GP_FROM_LAST : 0;

    if (is_restart)
        from |= failed * FAILING > t->n_values + failed ? GP_FROM_SCALES : GP_FROM_NOISE;
    return from;
}

/* The points that theta is fitted to: of more than `most` trials half of them the best, and an even
 * choice of the rest. */
static void points_choose(struct gp_sampler *g, int most, struct gp_points *p, double *targets)
{
    const struct gp_train *t = &g->train;
    int n = MIN(t->n, most), best_half = n < t->n ? n / 2 : n;

    gp_points_init(p, g->code.d, FIT_MAX);
    points_shape(g, p);
    for (int k = 0; k < n; k++) {
        int i = k < best_half ? k
                              : best_half + (int)((int64_t)(k - best_half) * (t->n - best_half) /
                                                  (n - best_half));
        gp_points_add(p, vector_of(g, t->rows[i]));
        p->share[k] = t->shares[i];
        targets[k] = t->targets[i];
    }
}

static bool many_failed(const struct gp_sampler *g)
{
    return !g->is_without_failed && g->history.failed.n * FAILING > g->history.n;
}

/* The most trials that a fit takes. Where many trials fail most of them are failures, all with the same
 * target, and fewer do. docs/measurements/2026-11-28-samplers.md */
static int fit_most(const struct gp_sampler *g)
{
    return many_failed(g) ? FIT_FAILING : FIT_MAX;
}

/* Climbs on from the last hyperparameters. At the first fit, and whenever the number of results has
 * grown by half, of many by as much again, it also starts elsewhere. */
static void fit(struct gp_sampler *g)
{
    const struct gp_train *t = &g->train;
    double targets[FIT_MAX], few_targets[FIT_MAX];
    bool is_restart = t->n >= g->restart_at, is_split = is_restart && t->n > FIT_FEW;
    struct gp_points all, few;

    points_choose(g, fit_most(g), &all, targets);
    points_choose(g, is_split ? FIT_FEW : 0, &few, few_targets);
    double n = MIN(t->n, FIT_MAX), each = n * n * (n / 2 + 3 * g->code.d + 30);
    struct gp_fit f = { .all = &all,
                        .few = is_split ? &few : &all,
                        .targets = targets,
                        .few_targets = is_split ? few_targets : targets,
                        .effort = { (int)MIN(12, MAX(1, FIT_WORK / each)), many_failed(g) } };
    double noise = gp_search(&f, starts_of(g, is_restart), g->theta, &g->scratch);
    if (is_restart) {
        g->restart_at = t->n + (t->n > SELDOM || many_failed(g) ? t->n : t->n / 2) + 1;
        g->noise = noise;
    }
    gp_points_fini(&all);
    gp_points_fini(&few);
    g->fitted = t->hash;
}

/* Where many trials fail, most results more are failures, all with the same target, which move theta
 * less than values do. docs/measurements/2026-11-28-samplers.md */
static int growth_between_fits(const struct gp_sampler *g)
{
    if (!many_failed(g) || g->train.n <= SELDOM)
        return FIT_EVERY;
    return g->train.n <= FIT_MAX ? FIT_HALF : FIT_WHOLE;
}

static void fit_update(struct gp_sampler *g)
{
    if (g->fitted == g->train.hash || (g->fitted && g->train.n < g->fit_at))
        return;
    g->fit_at = g->train.n + g->train.n / growth_between_fits(g) + 1;
    if (!g->scratch.chol)
        gp_scratch_init(&g->scratch, FIT_MAX);
    fit(g);
    g->modelled = 0;
    g->is_factored = false;
}

/* The best of the model's means at the points from..n-1. Trials in flight count with what the model believes of them, because that cannot be gained
 * a second time. */
static double best_mean(struct gp_sampler *g, int from, int n)
{
    double best = -INFINITY, x[GP_MAX_DIMS];

    for (int i = from; i < n; i++) {
        gp_points_get(&g->model.points, i, x);
        best = MAX(best, gp_mean(&g->model, x));
    }
    return best;
}

/* Finds the best of the known trials by the model's mean, not by their values: with noise the best
 * value is the luckiest. At a known trial the mean is the target less noise times weight, since (K +
 * noise) w = y. */
static void elites_find(struct gp_sampler *g)
{
    const double *weight = g->model.weight, noise = g->model.kernel.noise;
    double means[GP_MAX_ELITES + 1] = { 0 };
    int n = 0;

    for (int i = 0; i < g->train.n; i++) {
        int at = g->by_trial[i], k = n;
        double mean = g->train.targets[at] - noise * g->train.shares[at] * weight[i];
        for (; k > 0 && (mean > means[k - 1] || (mean == means[k - 1] && at < g->by_mean[k - 1]));
             k--) {
            means[k] = means[k - 1];
            g->by_mean[k] = g->by_mean[k - 1];
        }
        means[k] = mean;
        g->by_mean[k] = at;
        n = MIN(n + 1, GP_MAX_ELITES);
    }
    g->best_told = means[0];
}

/* The places in `train` in the order of trials. */
static void order_by_trial(struct gp_sampler *g)
{
    const struct history *h = &g->history;
    int *place = mem_zalloc((size_t)h->n * sizeof *place), n = 0;

    for (int i = 0; i < g->train.n; i++)
        place[g->train.rows[i]] = i + 1;
    for (int i = 0; i < h->n; i++) {
        if (place[h->order.rows[i]] > 0)
            g->by_trial[n++] = place[h->order.rows[i]] - 1;
    }
    mem_free(place);
}

/* Whether point i of the model is the trial that belongs there. */
static bool is_kept(const struct gp_sampler *g, int i)
{
    int at = g->by_trial[i];

    return g->modelled_rows[i] == g->train.rows[at] &&
           g->model.points.share[i] == g->train.shares[at];
}

/* Where noise is much, results tell little of the length scales, the prior's are several sides of the
 * cube, and with these the mean is nearly a plane, highest in a corner. Those of numbers are then bound
 * from above, so that a result speaks for its neighbourhood. */
static void model_start(struct gp_sampler *g)
{
    double theta[GP_MAX_THETA];

    memcpy(theta, g->theta, sizeof theta);
    for (int k = 0; k < g->code.d && g->noise >= ROUGHNESS; k++) {
        double *length = &theta[GP_SCALE + k];
        *length = g->code.is_choice[k] ? *length : MIN(*length, LONGEST_IF_NOISY);
    }
    gp_model_clear(&g->model, theta);
}

/* The known trials stand in the order of their numbers, so that the factor usually only gets a row
 * when a result has come. What depends on values, the targets, is not in the factor. */
static void model_build(struct gp_sampler *g)
{
    double targets[GP_TARGETS];
    int n = g->train.n, kept = 0, had = g->is_factored ? g->model.n_targets : 0;

    order_by_trial(g);
    while (kept < had && kept < n && is_kept(g, kept))
        kept++;
    if (!g->is_factored)
        model_start(g);
    gp_model_cut(&g->model, kept);
    gp_pool_cut(&g->pool, kept);
    for (int i = 0; i < n; i++) {
        int at = g->by_trial[i];
        targets[i] = g->train.targets[at];
        if (i < kept)
            continue;
        g->modelled_rows[i] = g->train.rows[at];
        gp_points_add(&g->model.points, vector_of(g, g->train.rows[at]));
        g->model.points.share[i] = g->train.shares[at];
    }
    gp_model_extend(&g->model, n, targets);
    elites_find(g);
    g->modelled = g->train.hash;
    g->is_factored = true;
}

/* Brings the model up to date with the known trials, the newest PENDING_MAX of those in flight, and
 * theta. */
static void model_update(struct gp_sampler *g)
{
    const struct history_list *silent = &g->history.silent;
    int from = MAX(0, silent->n - PENDING_MAX), n = silent->n - from, kept = 0;

    if (!g->model.chol) {
        gp_model_init(&g->model, g->code.d, CAP);
        points_shape(g, &g->model.points);
        gp_pool_init(&g->pool, &g->code, CAP);
    }
    int had = g->modelled == g->train.hash ? g->model.points.n - g->train.n : 0;
    while (kept < had && kept < n &&
           g->believed[kept] == g->history.rows[silent->rows[from + kept]].trial)
        kept++;
    if (g->modelled != g->train.hash)
        model_build(g);
    g->model.points.n = g->model.n_rows = g->train.n + kept;
    gp_pool_cut(&g->pool, g->model.n_rows);
    for (int i = kept; i < n; i++) {
        g->believed[i] = g->history.rows[silent->rows[from + i]].trial;
        gp_points_add(&g->model.points, vector_of(g, silent->rows[from + i]));
    }
    gp_model_extend(&g->model, g->train.n, NULL);
    g->best = MAX(g->best_told, best_mean(g, g->train.n, g->model.points.n));
}

/* What a point is to improve, by the share of the results' variance that the process takes for
 * noise. Where that is hardly anything, a result is what it says: the best result. Where it is much,
 * the best mean, by what the mean would be after one more result. In between, what is called noise
 * may be structure finer than the process can follow, as on tables without any noise. To look for more
 * than the best result leads away from a hill that is not the highest, and to look for more than the
 * best mean, by the function, finds the peaks of the hill where the search is: one after the other. */
static void aim(const struct gp_sampler *g, struct gp_pick *p)
{
    bool is_exact = g->noise < (g->train.n < WIDE_UNTIL ? ROUGHNESS : HARDLY_NOISE);

    p->aim.best = is_exact ? MAX(g->best, g->train.targets[0]) : g->best;
    p->aim.is_noisy = g->noise >= ROUGHNESS;
}

static int model_pick(struct gp_sampler *g, int64_t trial, double *point)
{
    struct gp_pick p = { .pool = &g->pool,
                         .model = &g->model,
                         .seen = &g->points.seen,
                         .is_brief = many_failed(g),
                         .seed = g->base.seed,
                         .trial = trial };

    fit_update(g);
    model_update(g);
    aim(g, &p);
    for (int i = 0; i < MIN(g->train.n, GP_MAX_ELITES); i++) {
        double *unit = g->elites + (size_t)i * (size_t)g->base.space->n;
        int row = g->train.rows[g->by_mean[i]];
        if (g->elite_rows[i] != row)
            history_unit(&g->history, row, unit);
        g->elite_rows[i] = row;
        p.elites[p.n_elites++] = unit;
    }
    return gp_pick_point(&p, point);
}

/* With failed trials or without them is another function: its hyperparameters are found anew. */
static void train_make(struct gp_sampler *g)
{
    bool is_without = gp_luck_is_chance(&g->luck);

    if (is_without != g->is_without_failed) {
        g->fitted = 0;
        g->fit_at = g->restart_at = 0;
    }
    g->is_without_failed = is_without;
    gp_train_make(&g->train, &g->history, g->code.d, is_without);
    g->is_stale = false;
}

bool gp_is_ready(struct sampler *s)
{
    struct gp_sampler *g = of(s);

    if (g->is_stale) {
        train_make(g);
    }
    /* While hardly anything has succeeded there is nothing to model, and the sequence of the start
     * goes on until it meets configurations that do not fail. */
    return g->train.n >= g->n_start && g->train.n_values >= LEAST_VALUES && g->code.d > 0 &&
           g->history.silent.n <= g->train.n + PENDING_MAX;
}

double gp_noise_share(struct sampler *s)
{
    fit_update(of(s));
    return of(s)->noise;
}

void gp_means(struct sampler *s, const double *points, int n, double *means)
{
    struct gp_sampler *g = of(s);
    double x[GP_LANES * GP_MAX_DIMS];

    model_update(g);
    if (!g->opinion.room)
        gp_block_init(&g->opinion, g->code.d, 0, CAP);
    for (int from = 0; from < n; from += GP_LANES) {
        int some = MIN(n - from, (int)GP_LANES);
        for (int i = 0; i < some; i++)
            gp_code_of(&g->code, points + (size_t)(from + i) * (size_t)s->space->n,
                       x + (ptrdiff_t)i * g->code.d);
        gp_block_means(&g->opinion, &g->model, x, some, means + from);
    }
}

int gp_trials(const struct sampler *s)
{
    return ((const struct gp_sampler *)s)->history.n;
}

/* Where no point is left, nothing is fitted for nothing. */
static bool is_models_turn(struct gp_sampler *g)
{
    return (double)g->points.seen.n < g->points.size && gp_is_ready(&g->base);
}

static int suggest_one(struct gp_sampler *g, int64_t trial, double *point)
{
    if (is_models_turn(g) && model_pick(g, trial, point)) {
        (void)quasi_points_mark(&g->points, point);
        return 1;
    }
    return quasi_points_next(&g->points, point);
}

static int gp_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    (void)err;
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        if (suggest_one(of(s), first + k, point) == 0)
            return k;
        trial_add(of(s), first + k, point);
    }
    return n;
}

static int gp_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)quasi_points_mark(&of(s)->points, point);
    trial_add(of(s), trial, point);
    return 0;
}

/* The point is known, but the candidates that are kept follow from every choice before, so the choice
 * is made again. */
static int gp_recall(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    struct gp_sampler *g = of(s);
    double *again = mem_array((size_t)s->space->n + 1, sizeof *again);
    bool is_models = is_models_turn(g) && model_pick(g, trial, again);

    if (!is_models)
        (void)quasi_points_next(&g->points, again);
    int rc = gp_adopt(s, trial, is_models ? point : again, err);
    mem_free(again);
    return rc;
}

bool gp_fails_by_chance(struct sampler *s)
{
    return gp_luck_is_chance(&of(s)->luck);
}

static bool has_ended(const struct history *h, int row)
{
    return row >= 0 && h->rows[row].state != OBS_RUNNING;
}

static int gp_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    struct gp_sampler *g = of(s);
    bool had_ended = has_ended(&g->history, history_find(&g->history, o->trial));

    (void)err;
    if (!history_observe(&g->history, o))
        return 0;
    g->is_stale = true;
    int row = history_find(&g->history, o->trial);
    if (!had_ended && has_ended(&g->history, row))
        gp_luck_add(&g->luck, &g->code, vector_of(g, row),
                    g->history.rows[row].state == OBS_FAILED);
    return 0;
}

const struct sampler_ops search_gp = {
    .name = "gp",
    .ranks_by_one = true,
    .help =
        "Gaussian process with expected improvement, for small spaces and few, expensive trials",
    .open = gp_open,
    .close = gp_close,
    .suggest = gp_suggest,
    .adopt = gp_adopt,
    .recall = gp_recall,
    .observe = gp_observe,
};
