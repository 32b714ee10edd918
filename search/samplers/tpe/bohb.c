/* bohb.c - BOHB's sampler (Falkner, Klein and Hutter, BOHB: Robust and Efficient Hyperparameter
 * Optimization at Scale, ICML 2018), after the authors' HpBandSter. The results of the highest
 * level that has enough of them are split into the best 15 % and the rest, and each side gets a
 * product-kernel density (kde.h). Of 64 draws near good points, the one with the largest ratio good
 * / bad is proposed. One proposal in three is random. With the scheduler hyperband this is BOHB.
 *
 * As there: failed trials count as the worst; an inactive parameter has the value of a random trial
 * in which it is active; densities below 1e-32 count as 1e-32. Different here: nothing is proposed
 * twice (the best unseen draw is taken); a side with more than 64 good or 192 bad trials is thinned
 * evenly by rank, so 100,000 trials cost as much as a few hundred; the kernel of a category is
 * never wider than uniform. */
#include "search/contract/history.h"
#include "search/samplers/tpe/kde.h"
#include "search/samplers/tpe/tpe.h"
#include "search/space/constraint.h"
#include "search/space/exact_math.h"
#include "search/space/fresh_points.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { MOST_GOOD = 64, MOST_BAD = 192 };
enum { MIN_POINTS, TOP_PERCENT, SAMPLES, RANDOM_FRACTION, WIDER, LEAST_BANDWIDTH, N_OPTIONS };
#define LEAST_LOG_DENSITY (-73.68272297580947) /* ln 1e-32 */
static const uint64_t PROPOSE_TAG = 0x70726f70, IMPUTE_TAG = 0x696d7075;

static const struct search_option options[N_OPTIONS] = {
    { "min_points", 0, 1e6, 0, true,
      "good and bad results that a level needs, of each, before it has a model; 0: the number of parameters + 1" },
    { "top_n_percent", 1, 99, 15, false, "percentage of the results that counts as good" },
    { "num_samples", 1, 10000, 64, true, "number of draws of which the best is proposed" },
    { "random_fraction", 0, 1, 1.0 / 3, false, "share of the proposals that are drawn at random" },
    { "bandwidth_factor", 1e-3, 1000, 3, false, "kernels are widened by this factor for drawing" },
    { "min_bandwidth", 1e-9, 1, 1e-3, false,
      "smallest bandwidth of a kernel, as a share of the parameter's range" },
};

struct bohb {
    struct sampler base;
    struct fresh_points fresh;
    struct history history;
    double options[N_OPTIONS];
    int d;
    int *params, *choices; /* the searched ones; choices 0 = numeric */
};

/* The trials of which a model is made: those with a value at the level, best first, then the failed
 * ones. */
struct members {
    int below, n;
    int *rows;
};

static struct bohb *of(struct sampler *s)
{
    return (struct bohb *)s;
}

static struct sampler *bohb_open(const struct space *space, const struct search_setup *setup,
                                 struct err *err)
{
    struct bohb *b = mem_zalloc(sizeof *b);

    (void)err;
    b->base = (struct sampler){ &search_bohb, space, setup->seed };
    fresh_points_init(&b->fresh, space);
    b->fresh.fuse = setup->fuse;
    history_init(&b->history, space);
    search_options_default(options, N_OPTIONS, b->options);
    for (int i = 0; setup->options && i < N_OPTIONS; i++)
        b->options[i] = setup->options[i];
    b->params = mem_array((size_t)space->n, sizeof *b->params);
    b->choices = mem_array((size_t)space->n, sizeof *b->choices);
    for (int i = 0; i < space->n; i++) {
        const struct param *p = &space->params[i];
        if (p->axis == AXIS_FREE || !(param_size(p) > 1))
            continue;
        b->choices[b->d] = p->kind == PARAM_CATEGORICAL ? p->n_choices : 0;
        b->params[b->d++] = i;
    }
    return &b->base;
}

static void bohb_close(struct sampler *s)
{
    struct bohb *b = of(s);

    fresh_points_fini(&b->fresh);
    history_fini(&b->history);
    mem_free(b->params);
    mem_free(b->choices);
    mem_free(b);
}

/* ---- the model ---- */

/* The searched values of these rows, n x d: choices by index, numbers in the unit interval, NaN
 * where the parameter is inactive. Owned by the caller. */
static double *values_new(const struct bohb *b, const int *rows, int n)
{
    double *values = mem_array((size_t)n * (size_t)b->d, sizeof *values), *to = values;
    double *point = mem_array((size_t)b->base.space->n, sizeof *point);

    for (int i = 0; i < n; i++) {
        history_point(&b->history, rows[i], point);
        for (int j = 0; j < b->d; j++) {
            double v = point[b->params[j]];
            bool is_number = b->choices[j] == 0 && !isnan(v);
            *to++ = is_number ? param_to_unit(&b->base.space->params[b->params[j]], v) : v;
        }
    }
    mem_free(point);
    return values;
}

static struct members members_of(const struct bohb *b, const struct history_ranking *ranking)
{
    const struct history *h = &b->history;
    struct members m = { .below = ranking->below };

    m.rows = mem_array((size_t)ranking->n + (size_t)h->failed.n, sizeof *m.rows);
    for (int i = 0; i < ranking->n; i++)
        m.rows[m.n++] = ranking->entries[i].row;
    for (int i = 0; i < h->failed.n; i++) {
        if (!history_at(h, h->failed.rows[i], ranking->below))
            m.rows[m.n++] = h->failed.rows[i];
    }
    return m;
}

/* The value of a random trial of this side that has one, else a random one. values: n x d, of this
 * side. Keyed by the trial it is for. */
static double imputed(const struct bohb *b, const double *values, int n, int64_t trial, int j)
{
    uint32_t dice[4];

    rng_at(rng_mix(b->base.seed, IMPUTE_TAG), (uint32_t)j, 0, (uint64_t)trial, dice);
    for (int i = 0, at = (int)(dice[0] % (uint32_t)n); i < n; i++, at = at + 1 == n ? 0 : at + 1) {
        double v = values[(size_t)at * (size_t)b->d + (size_t)j];
        if (!isnan(v))
            return v;
    }
    return b->choices[j] ? dice[1] % (uint32_t)b->choices[j] : dice[1] * 0x1p-32;
}

/* The density of members first..first+n-1, thinned to `most`, but never below d + 1. */
static void side_fit(const struct bohb *b, const struct members *m, int first, int n, int most,
                     struct kde *k)
{
    int kept = MIN(n, MAX(most, b->d + 1));
    int *rows = mem_array((size_t)kept, sizeof *rows);

    kde_init(k, kept, b->d, b->choices);
    for (int i = 0; i < kept; i++)
        rows[i] = m->rows[first + (int)((int64_t)i * n / kept)];
    double *values = values_new(b, rows, kept);
    for (int i = 0; i < kept; i++) {
        for (int j = 0; j < b->d; j++) {
            size_t at = (size_t)i * (size_t)b->d + (size_t)j;
            int64_t trial = b->history.rows[rows[i]].trial;
            k->data[at] = isnan(values[at]) ? imputed(b, values, kept, trial, j) : values[at];
        }
    }
    mem_free(values);
    mem_free(rows);
    kde_fit(k, b->options[LEAST_BANDWIDTH]);
}

static bool is_scored(double value)
{
    return value > -INFINITY; /* false for NaN */
}

/* Fits both densities at one level. False if the level has too few results for them. */
static bool level_fit(const struct bohb *b, const struct history_ranking *ranking, struct kde *good,
                      struct kde *bad)
{
    struct members m = members_of(b, ranking);
    double share = b->options[TOP_PERCENT] / 100;
    int least = MAX((int)b->options[MIN_POINTS], b->d + 1);
    int n_good = MAX(least, (int)(share * m.n));
    int n_bad = MIN(MAX(least, (int)((1 - share) * m.n)), m.n - n_good);
    bool is_enough =
        n_bad > b->d && n_good <= ranking->n && is_scored(ranking->entries[n_good - 1].value);

    if (is_enough) {
        side_fit(b, &m, 0, n_good, MOST_GOOD, good);
        side_fit(b, &m, n_good, n_bad, MOST_BAD, bad);
    }
    mem_free(m.rows);
    return is_enough;
}

static bool model_fit(const struct bohb *b, struct kde *good, struct kde *bad)
{
    for (int i = 0; b->d > 0 && i < b->history.n_rankings; i++) {
        if (b->history.rankings[i].n > 0 && level_fit(b, &b->history.rankings[i], good, bad))
            return true;
    }
    return false;
}

/* ---- proposals ---- */

static void draw_to_point(const struct bohb *b, const double *x, double *point)
{
    const struct space *s = b->base.space;
    int j = 0;

    for (int i = 0; i < s->n; i++) {
        bool is_searched = j < b->d && b->params[j] == i;
        const struct param *p = &s->params[i];
        if (!space_is_active(s, point, i))
            point[i] = NAN;
        else if (!is_searched)
            point[i] = p->def;
        else
            point[i] = b->choices[j] ? x[j] : param_from_unit(p, x[j]);
        j += is_searched;
    }
}

/* The unseen draw with the largest ratio. False if all draws were seen before. */
static bool model_propose(const struct bohb *b, const struct kde *good, const struct kde *bad,
                          struct rng *r, double *point)
{
    double *x = mem_array((size_t)b->d, sizeof *x);
    double *drawn = mem_array((size_t)b->base.space->n, sizeof *drawn);
    double best = -INFINITY;

    for (int i = 0; i < (int)b->options[SAMPLES]; i++) {
        kde_sample(good, b->options[WIDER], r, x);
        double ratio = MAX(kde_log_density(good, x), LEAST_LOG_DENSITY) -
                       MAX(kde_log_density(bad, x), LEAST_LOG_DENSITY);
        if (!(ratio > best))
            continue;
        draw_to_point(b, x, drawn);
        if (hash_set_has(&b->fresh.seen, space_hash(b->base.space, drawn)) ||
            !space_holds(b->base.space, drawn))
            continue;
        best = ratio;
        memcpy(point, drawn, (size_t)b->base.space->n * sizeof *point);
    }
    mem_free(drawn);
    mem_free(x);
    return best > -INFINITY;
}

static int bohb_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    struct kde good = { 0 }, bad = { 0 };
    struct bohb *b = of(s);
    bool has_model = model_fit(b, &good, &bad);
    int given = 0;

    (void)err;
    for (; given < n; given++) {
        double *point = s->space->n > 0 ? points + (size_t)given * (size_t)s->space->n : points;
        struct rng r;
        rng_init(&r, rng_mix(s->seed, PROPOSE_TAG), (uint64_t)(first + given));
        bool is_random = rng_unit(&r) < b->options[RANDOM_FRACTION] || !has_model;
        if (!is_random && model_propose(b, &good, &bad, &r, point))
            (void)fresh_points_mark(&b->fresh, point);
        else if (fresh_points_next(&b->fresh, s->seed, first + given, point) == 0)
            break;
        (void)history_add(&b->history, first + given, point);
    }
    kde_fini(&good);
    kde_fini(&bad);
    return given;
}

static int bohb_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    if (space_check(s->space, point, err) < 0)
        return -1;
    (void)fresh_points_mark(&of(s)->fresh, point);
    (void)history_add(&of(s)->history, trial, point);
    return 0;
}

static int bohb_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    (void)err;
    (void)history_observe(&of(s)->history, o);
    return 0;
}

const struct sampler_ops search_bohb = {
    .name = "bohb",
    .ranks_by_one = true,
    .help =
        "BOHB: densities of good and bad trials at the highest level with enough results; meant for hyperband",
    .options = options,
    .n_options = N_OPTIONS,
    .open = bohb_open,
    .close = bohb_close,
    .suggest = bohb_suggest,
    .adopt = bohb_adopt,
    .recall = bohb_adopt, /* a point is keyed by its trial: nothing else was used up */
    .observe = bohb_observe,
};
