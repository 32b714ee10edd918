/* duo.c - TPE and a Gaussian process take turns, and each learns from all trials. One model finds
 * what the other misses. On smooth and ordered spaces the Gaussian process needs half of TPE's
 * trials; where it has settled in a local optimum, TPE's turns go on searching elsewhere (SMAC
 * interleaves in the same way: Hutter, Hoos and Leyton-Brown, LION 2011, section 4.2).
 *
 * TPE gives the stratified start. After that, of three trials in a row one is TPE's and two are the
 * process's, by the trial's number. The cost of the process grows with the cube of the trials, so
 * at TRIALS_MAX trials it is given up for good and TPE goes on alone. TPE is also alone if a
 * process is impossible: with more than one objective or too many parameters. */
#include "search/samplers/gp/gp.h"
#include "search/samplers/samplers.h"
#include "search/samplers/tpe/tpe.h"
#include "search/space/space.h"

#include "base/mem.h"

enum { EVERY = 3, TRIALS_MAX = 500 };

struct duo {
    struct sampler base;
    struct sampler *tpe, *gp; /* gp: NULL if it is impossible or was given up */
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
    gp_give_up(of(s));
    mem_free(s);
}

static bool is_turn_of_gp(struct duo *d, int64_t trial)
{
    if (d->gp && gp_trials(d->gp) >= TRIALS_MAX)
        gp_give_up(d);
    return d->gp && trial % EVERY != EVERY - 1 && gp_is_ready(d->gp);
}

static int suggest_one(struct duo *d, int64_t trial, double *point, struct err *err)
{
    bool is_gps = is_turn_of_gp(d, trial);
    struct sampler *one = is_gps ? d->gp : d->tpe, *other = is_gps ? d->tpe : d->gp;
    int rc = one->ops->suggest(one, trial, 1, point, err);

    if (rc == 1 && other && other->ops->adopt(other, trial, point, err) < 0)
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
    struct duo *d = of(s);

    if (d->tpe->ops->adopt(d->tpe, trial, point, err) < 0)
        return -1;
    return d->gp ? d->gp->ops->adopt(d->gp, trial, point, err) : 0;
}

/* TPE's own suggestions leave what adopting them leaves. */
static int duo_recall(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    struct duo *d = of(s);

    if (!is_turn_of_gp(d, trial))
        return duo_adopt(s, trial, point, err);
    if (d->gp->ops->recall(d->gp, trial, point, err) < 0)
        return -1;
    return d->tpe->ops->adopt(d->tpe, trial, point, err);
}

static int duo_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    struct duo *d = of(s);

    if (d->tpe->ops->observe(d->tpe, o, err) < 0)
        return -1;
    return d->gp ? d->gp->ops->observe(d->gp, o, err) : 0;
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
