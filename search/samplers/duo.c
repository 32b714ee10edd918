/* duo.c - TPE and a Gaussian process take turns, and each learns from all trials. One model finds
 * what the other misses. On smooth and ordered spaces the Gaussian process needs half of TPE's
 * trials; where it has settled in a local optimum, TPE's turns go on searching elsewhere (SMAC
 * interleaves in the same way: Hutter, Hoos and Leyton-Brown, LION 2011, section 4.2).
 *
 * In a space with branches a part of the trials looks at those that do not hold the best, by a TPE
 * of their own (families.h): a branch that looks bad at random may hold the best in a small part.
 *
 * TPE gives the stratified start. After that, of three trials in a row one is TPE's and two are
 * the process's, by the trial's number. The more of the results' variance is noise, as the process
 * learns it, the more of its turns it leaves to TPE, all of them from a half upwards: a process
 * that knows little goes where nothing is known, mostly to the corners, while TPE stays where
 * results were good. TPE in turn is told of the noise (tpe_split.h), and where there is
 * much it hears the process on its candidates: each is a guess, and two guesses err less. Where
 * trials fail by chance, as the process tells it (gp_luck.h), both leave failed trials out. The cost
 * of the process grows with the cube of the trials, so at TRIALS_MAX trials it is given up for good
 * and TPE goes on alone. TPE is also alone if a process is impossible: with more than one objective
 * or too many parameters. */
#include "search/samplers/families.h"
#include "search/samplers/gp/gp.h"
#include "search/samplers/samplers.h"
#include "search/samplers/tpe/tpe.h"
#include "search/space/space.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"

enum { EVERY = 3, TRIALS_MAX = 500 };
static const uint64_t YIELD_TAG = 0x7969656c64; /* "yield" */

struct duo {
    struct sampler base;
    struct sampler *tpe, *gp; /* gp: NULL if it is impossible or was given up */
    double noise;             /* its share of the variance, when the process was last asked */
    struct sampler *branches; /* NULL: the space has none, or there are several objectives */
};

static struct duo *of(struct sampler *s)
{
    return (struct duo *)s;
}

static struct sampler *duo_open(const struct space *space, const struct search_setup *setup,
                                struct err *err)
{
    struct sampler *tpe = search_tpe.open(space, setup, err);

    if (!tpe)
        return NULL;
    struct duo *d = mem_zalloc(sizeof *d);
    d->base = (struct sampler){ &search_duo, space, setup->seed };
    d->tpe = tpe;
    d->gp = search_gp.open(space, setup, NULL);
    d->branches = search_families.open(space, setup, NULL);
    if (d->branches && families_branches(d->branches) < 2) {
        sampler_close(d->branches);
        d->branches = NULL;
    }
    return &d->base;
}

static void gp_give_up(struct duo *d)
{
    sampler_close(d->gp);
    d->gp = NULL;
}

static void duo_close(struct sampler *s)
{
    sampler_close(of(s)->tpe);
    sampler_close(of(s)->branches);
    gp_give_up(of(s));
    mem_free(s);
}

static bool is_turn_of_gp(struct duo *d, int64_t trial)
{
    struct rng r;

    if (d->gp && gp_trials(d->gp) >= TRIALS_MAX)
        gp_give_up(d);
    if (!d->gp || trial % EVERY == EVERY - 1 || !gp_is_ready(d->gp))
        return false;
    d->noise = gp_noise_share(d->gp);
    if (d->noise >= 0.5)
        return false;
    rng_init(&r, rng_mix(d->base.seed, YIELD_TAG), (uint64_t)trial);
    return rng_unit(&r) >= 2 * d->noise;
}

/* Whether TPE hears the process in its turn. A recall must ask as well, because the process takes note
 * of results when it is asked. */
static bool is_process_heard(struct duo *d)
{
    return d->gp && d->noise >= GP_MUCH_NOISE && gp_is_ready(d->gp);
}

/* The sampler whose turn this trial is. *branch: the branch to look at, where it is that of
 * d->branches. */
static struct sampler *whose_turn(struct duo *d, int64_t trial, int *branch)
{
    *branch = d->branches ? families_neglected(d->branches, trial) : -1;
    if (*branch >= 0)
        return d->branches;
    return is_turn_of_gp(d, trial) ? d->gp : d->tpe;
}

/* Tells all but the one that knows already. */
static int adopt_others(struct duo *d, const struct sampler *knows, int64_t trial,
                        const double *point, struct err *err)
{
    struct sampler *all[] = { d->tpe, d->gp, d->branches };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i] && all[i] != knows && all[i]->ops->adopt(all[i], trial, point, err) < 0)
            return -1;
    }
    return 0;
}

static int suggest_one(struct duo *d, int64_t trial, double *point, struct err *err)
{
    int branch = -1;
    struct sampler *one = whose_turn(d, trial, &branch);

    if (branch >= 0)
        one->ops->prefer(one, branch);
    tpe_heed_noise(d->tpe, d->noise);
    tpe_heed_partner(d->tpe, d->gp != NULL);
    tpe_heed_opinion(d->tpe, one == d->tpe && is_process_heard(d) ? gp_means : NULL, d->gp);
    if (d->gp)
        tpe_heed_failures(d->tpe, gp_fails_by_chance(d->gp));
    int rc = one->ops->suggest(one, trial, 1, point, err);
    if (rc == 1 && adopt_others(d, one, trial, point, err) < 0)
        return -1;
    return rc;
}

static int duo_suggest(struct sampler *s, int64_t first, int n, double *points, struct err *err)
{
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        int rc = suggest_one(of(s), first + k, point, err);
        if (rc <= 0)
            return rc < 0 ? -1 : k;
    }
    return n;
}

static int duo_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    return adopt_others(of(s), NULL, trial, point, err);
}

static int duo_recall(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    struct duo *d = of(s);
    int branch = -1;
    struct sampler *one = whose_turn(d, trial, &branch);

    if (branch >= 0)
        one->ops->prefer(one, branch);
    if (one == d->tpe)
        (void)is_process_heard(d);
    if (one->ops->recall(one, trial, point, err) < 0)
        return -1;
    return adopt_others(d, one, trial, point, err);
}

static int duo_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    struct duo *d = of(s);
    struct sampler *all[] = { d->tpe, d->gp, d->branches };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i] && all[i]->ops->observe(all[i], o, err) < 0)
            return -1;
    }
    return 0;
}

const struct sampler_ops search_duo = {
    .name = "duo",
    .help = "TPE and a Gaussian process take turns; both learn from all trials",
    .open = duo_open,
    .close = duo_close,
    .suggest = duo_suggest,
    .adopt = duo_adopt,
    .recall = duo_recall,
    .observe = duo_observe,
};
