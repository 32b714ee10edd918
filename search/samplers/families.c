/* families.c - a TPE of its own for each family, and a choice among the families before it. The
 * families are the choices of the first categorical parameter at the root that opens others; a space
 * without one is a single family.
 *
 * One density over all families (tpe.c) draws families in the shares that the good trials have. A
 * family whose first configurations were bad luck is then drawn no more, whatever it could become.
 * Here whoever knows what trials cost says which family is next (sampler_ops.prefer), and a family's
 * model learns from its own trials alone. Who says nothing gets the choice of chooser.h, in which a
 * trial costs 1 where the caller tells no cost. */
#include "search/samplers/families.h"
#include "search/samplers/chooser.h"
#include "search/samplers/samplers.h"
#include "search/samplers/tpe/tpe.h"

#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { TAG = 0xfa311, FLOOR_TAG = 0xf1004 }; /* keep draws apart from others of the same seed */
/* families_neglected: the most trials that are given away, the results before the first, and the
 * trials without progress that halve a branch's part. A branch with 200 results behind it has a
 * tenth left at FADE 20. docs/measurements/2026-11-24.md */
static const double FLOOR = 0.25, FADE = 20;
enum { FLOOR_AFTER = 10 };

struct arm {
    struct space *space; /* the family's part of the whole one */
    int *of;             /* [space->n] the place of a parameter in the whole space */
    struct sampler *sampler;
    double *point; /* room for one */
};
struct families {
    struct sampler base;
    struct chooser chooser;
    struct arm *arms;
    int root;      /* the parameter that names the family; -1 = none */
    int preferred; /* the family that the caller wants of the next suggestion; -1 = any */
    /* Trial numbers and their arms, in order of the calls. */
    struct asked {
        int64_t trial;
        int arm;
        bool is_told;
    } * asked;
    int n_asked, cap_asked;
};

static struct families *of(struct sampler *s)
{
    return (struct families *)s;
}

/* Whether a parameter can be active in a family. */
static bool belongs(const struct space *s, int root, int choice, int i)
{
    for (; i >= 0 && i != root; i = s->params[i].parent) {
        if (s->params[i].parent == root && root >= 0)
            return s->params[i].parent_mask >> choice & 1;
    }
    return i != root || root < 0;
}

static void arm_open(struct families *f, int choice, const struct search_setup *setup)
{
    const struct space *s = f->base.space;
    struct arm *a = &f->arms[choice];
    struct search_setup own = *setup;
    int *place = mem_array((size_t)s->n + 1, sizeof *place); /* in the arm's space */

    own.seed = rng_mix(rng_mix(setup->seed, TAG), (uint64_t)choice);
    own.options = NULL;
    a->space = space_new();
    a->of = mem_array((size_t)s->n + 1, sizeof *a->of);
    for (int i = 0; i < s->n; i++) {
        struct param p = s->params[i];
        if (!belongs(s, f->root, choice, i))
            continue;
        p.parent = p.parent < 0 || p.parent == f->root ? -1 : place[p.parent];
        place[i] = space_add(a->space, &p, NULL);
        CHECK(place[i] >= 0); /* a part of a space that is legal is legal */
        a->of[place[i]] = i;
    }
    mem_free(place);
    a->point = mem_array((size_t)a->space->n + 1, sizeof *a->point);
    a->sampler = search_tpe.open(a->space, &own, NULL);
    CHECK(a->sampler);
}

static struct sampler *families_open(const struct space *space, const struct search_setup *setup,
                                     struct err *err)
{
    struct families *f = mem_zalloc(sizeof *f);

    if (setup->n_objectives > 1) {
        mem_free(f);
        (void)err_set(err, ERR_ARG, "sampler families searches for one objective, not %d: use tpe",
                      setup->n_objectives);
        return NULL;
    }
    f->base = (struct sampler){ &search_families, space, setup->seed };
    f->root = space_root(space);
    f->preferred = -1;
    chooser_init(&f->chooser, f->root < 0 ? 1 : space->params[f->root].n_choices);
    f->arms = mem_array((size_t)f->chooser.n, sizeof *f->arms);
    for (int i = 0; i < f->chooser.n; i++)
        arm_open(f, i, setup);
    return &f->base;
}

static void families_close(struct sampler *s)
{
    struct families *f = of(s);

    for (int i = 0; i < f->chooser.n; i++) {
        sampler_close(f->arms[i].sampler);
        space_free(f->arms[i].space);
        mem_free(f->arms[i].of);
        mem_free(f->arms[i].point);
    }
    mem_free(f->arms);
    mem_free(f->asked);
    chooser_fini(&f->chooser);
    mem_free(f);
}

/* ---- asking ---- */

/* Trials come nearly in order, and observations are of the latest ones. */
static struct asked *asked_find(struct families *f, int64_t trial)
{
    for (int i = f->n_asked - 1; i >= 0; i--) {
        if (f->asked[i].trial == trial)
            return &f->asked[i];
    }
    return NULL;
}

static void asked_add(struct families *f, int64_t trial, int arm)
{
    MEM_GROW(f->asked, f->n_asked, f->cap_asked);
    f->asked[f->n_asked++] = (struct asked){ trial, arm, false };
    chooser_start(&f->chooser, arm);
}

static void to_whole(const struct families *f, int arm, double *point)
{
    const struct arm *a = &f->arms[arm];

    for (int i = 0; i < f->base.space->n; i++)
        point[i] = (double)NAN;
    if (f->root >= 0)
        point[f->root] = arm;
    for (int i = 0; i < a->space->n; i++)
        point[a->of[i]] = a->point[i];
}

/* 1, or 0 where the arm has no unseen point. */
static int ask(struct families *f, int arm, int64_t trial, double *point, struct err *err)
{
    struct arm *a = &f->arms[arm];
    int rc = a->sampler->ops->suggest(a->sampler, trial, 1, a->point, err);

    if (rc == 1) {
        to_whole(f, arm, point);
        asked_add(f, trial, arm);
    }
    return rc;
}

static int suggest_one(struct families *f, int64_t trial, double *point, struct err *err)
{
    int arm = f->preferred, rc = 0;

    f->preferred = -1;
    if (arm >= 0 && arm < f->chooser.n && !f->chooser.arms[arm].is_closed) {
        rc = ask(f, arm, trial, point, err);
        if (rc != 0)
            return rc;
        chooser_close(&f->chooser, arm);
    }
    while ((arm = chooser_next(&f->chooser, f->base.seed, trial)) >= 0) {
        rc = ask(f, arm, trial, point, err);
        if (rc != 0)
            return rc;
        chooser_close(&f->chooser, arm);
    }
    return 0;
}

static int families_suggest(struct sampler *s, int64_t first, int n, double *points,
                            struct err *err)
{
    for (int k = 0; k < n; k++) {
        double *point = s->space->n > 0 ? points + (size_t)k * (size_t)s->space->n : points;
        int rc = suggest_one(of(s), first + k, point, err);
        if (rc <= 0)
            return rc < 0 ? -1 : k;
    }
    return n;
}

static void families_prefer(struct sampler *s, int choice)
{
    of(s)->preferred = choice;
}

/* ---- the branches that are not the best ---- */

int families_branches(const struct sampler *s)
{
    return ((const struct families *)s)->chooser.n;
}

/* 1 for a branch of which nothing is known, falling with every trial that did not improve it. */
static double hope(const struct chooser_arm *a)
{
    if (a->is_closed)
        return 0;
    if (a->told == 0 || a->spent <= 0)
        return 1;
    double since = (a->spent - a->at_best) / (a->spent / (double)a->told);
    return FADE / (FADE + since);
}

int families_neglected(const struct sampler *s, int64_t trial)
{
    const struct chooser *c = &((const struct families *)s)->chooser;
    double total = 0, most = 0;
    int64_t told = 0;
    int best = 0, last = -1;
    struct rng r;

    for (int i = 0; i < c->n; i++) {
        told += c->arms[i].told;
        best = c->arms[i].best > c->arms[best].best ? i : best;
    }
    for (int i = 0; i < c->n; i++) {
        double h = i != best ? hope(&c->arms[i]) : 0;
        total += h;
        most = MAX(most, h);
    }
    rng_init(&r, rng_mix(s->seed, FLOOR_TAG), (uint64_t)trial);
    if (told < FLOOR_AFTER || rng_unit(&r) >= FLOOR * most)
        return -1;
    double at = rng_unit(&r) * total;
    for (int i = 0; i < c->n && at >= 0; i++) {
        double h = i != best ? hope(&c->arms[i]) : 0;
        last = h > 0 ? i : last;
        at -= h;
    }
    return last;
}

/* ---- telling ---- */

static int families_adopt(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    struct families *f = of(s);

    if (space_check(s->space, point, err) < 0)
        return -1;
    int arm = f->root < 0 ? 0 : (int)point[f->root];
    struct arm *a = &f->arms[arm];
    for (int i = 0; i < a->space->n; i++)
        a->point[i] = point[a->of[i]];
    if (asked_find(f, trial))
        return 0;
    asked_add(f, trial, arm);
    return a->sampler->ops->adopt(a->sampler, trial, a->point, err);
}

/* TPE keys a point by its trial, so that adopting it leaves what suggesting it left. But a family that
 * was preferred and had no point left was closed then, and so it is here: whoever prefers families
 * says so before recalls, too. */
static int families_recall(struct sampler *s, int64_t trial, const double *point, struct err *err)
{
    struct families *f = of(s);
    int arm = f->preferred, found = f->root < 0 ? 0 : (int)point[f->root];

    f->preferred = -1;
    if (arm >= 0 && arm < f->chooser.n && arm != found) {
        chooser_close(&f->chooser, arm);
        while ((arm = chooser_next(&f->chooser, f->base.seed, trial)) >= 0 && arm != found)
            chooser_close(&f->chooser, arm);
    }
    return families_adopt(s, trial, point, err);
}

static int families_observe(struct sampler *s, const struct observation *o, struct err *err)
{
    struct families *f = of(s);
    struct asked *t = asked_find(f, o->trial);

    if (!t)
        return 0;
    if (!t->is_told && (o->state == OBS_COMPLETED || o->state == OBS_FAILED || o->level > 0)) {
        t->is_told = true;
        chooser_observe(&f->chooser, t->arm, o->value, o->cost);
    }
    return f->arms[t->arm].sampler->ops->observe(f->arms[t->arm].sampler, o, err);
}

const struct sampler_ops search_families = {
    .name = "families",
    .ranks_by_one = true,
    .help =
        "a TPE of its own for each family; the study gives the next trial to the family that may still gain most for the time that is left",
    .open = families_open,
    .close = families_close,
    .suggest = families_suggest,
    .adopt = families_adopt,
    .recall = families_recall,
    .prefer = families_prefer,
    .observe = families_observe,
};
