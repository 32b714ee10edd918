/* family_ladder.c - the ladders that follow from a family's own functions when a study spends
 * rounds or rows.
 *
 * Rounds: every level is the top of the family's own ladder with fewer rounds at most, on all
 * folds, continued in place. Rows: every level is the top with a share of the rows, on fold 0,
 * trained anew. Answers are pure whole numbers, because they drive virtual time. Controller and
 * engine ask these functions, never the family itself.
 *
 * The levels are 81 and 27 equal shares, so that Hyperband and successive halving have the papers'
 * arithmetic with eta = 3 (Li et al., JMLR 18, 2018; Jamieson and Talwalkar 2016). */
#include "ml/family/family.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* REDO_SHARE: how many times as much; see family_level_is_redone. */
enum { REDO_SHARE = 10 };

const char *const family_resource_name[FR_KINDS] = { "auto", "rounds", "rows" };

int family_resource_find(const char *name)
{
    for (int r = 0; r < FR_KINDS; r++) {
        if (strcmp(name, family_resource_name[r]) == 0)
            return r;
    }
    return name[0] ? -1 : FR_AUTO;
}

enum family_resource family_resource_of(const struct family *f, const struct family_shape *s)
{
    if ((s->resource == FR_ROUNDS && f->rounds > 0) || (s->resource == FR_ROWS && f->takes_rows))
        return s->resource;
    return FR_AUTO;
}

int family_levels(const struct family *f, const struct family_shape *s)
{
    switch (family_resource_of(f, s)) {
    case FR_ROUNDS:
        return LADDER_ROUNDS;
    case FR_ROWS:
        return LADDER_ROWS;
    default:
        return MAX(f->levels, 1);
    }
}

int family_own_level(const struct family *f, const struct family_shape *s, int level)
{
    return family_resource_of(f, s) == FR_AUTO ? level : f->levels;
}

/* A whole number of check points, so that the points of the curve are the same on the way to any
 * level. */
static double rounds_at(const struct family *f, const double *params, int level)
{
    struct family_plan plan;

    f->plan(params, f->levels, &plan);
    double every = (double)MAX(plan.check_every, 1), most = params[f->rounds];
    return fmin(most, every * ceil(most * level / (LADDER_ROUNDS * every)));
}

static void params_at(const struct family *f, const double *params, int level, double *out)
{
    memcpy(out, params, (size_t)f->n_params * sizeof *params);
    out[f->rounds] = rounds_at(f, params, level);
}

/* The share of the rows at a level; 0 = all. */
static double share_at(const struct family_shape *s, int level)
{
    double share = (double)level / LADDER_ROWS,
           least = (double)LADDER_MIN_ROWS / (double)MAX(s->rows, 1);

    share = fmax(share, least);
    return level >= LADDER_ROWS || share >= 1 ? 0 : share;
}

void family_level_plan(const struct family *f, const struct family_shape *s, const double *params,
                       int level, struct family_plan *out)
{
    enum family_resource r = family_resource_of(f, s);
    double capped[FAMILY_MAX_PARAMS];

    switch (r) {
    case FR_ROUNDS:
        params_at(f, params, level, capped);
        f->plan(capped, f->levels, out);
        break;
    case FR_ROWS:
        f->plan(params, f->levels, out);
        out->folds = level < LADDER_ROWS ? 1 : out->folds;
        out->share = share_at(s, level);
        /* the family's own keys are never negative */
        out->key = out->share > 0 ? -out->share : out->key;
        break;
    default:
        f->plan(params, level, out);
    }
}

/* The table as the configuration wants it prepared: whole numbers that become levels make dense rows
 * wider. What the other choices change is small. */
static struct family_shape as_prepared(const struct family *f, const struct family_shape *s,
                                       const double *params)
{
    struct family_shape wide = *s;
    int codes = s->code_width > 0 ? family_param_find(f, "prep_codes") : -1;

    if (codes >= 0 && (int)params[codes] == family_choice_find(&f->params[codes], "levels"))
        wide.encoded += s->code_width;
    return wide;
}

/* The cost of reaching a level with nothing done before. */
static int64_t whole_cost(const struct family *f, const struct family_shape *s,
                          const double *params, int level)
{
    double capped[FAMILY_MAX_PARAMS];
    struct family_shape part = *s;

    if (level < 1)
        return 0;
    if (family_resource_of(f, s) == FR_ROUNDS) {
        params_at(f, params, level, capped);
        return f->cost(s, capped, 0, f->levels);
    }
    if (level < LADDER_ROWS) {
        double share = share_at(s, level);
        part.rows = share > 0 ? (int64_t)ceil((double)s->rows * share) : s->rows;
        part.folds = 1;
    }
    return f->cost(&part, params, 0, f->levels);
}

int64_t family_level_cost(const struct family *f, const struct family_shape *s,
                          const double *params, int from, int to)
{
    enum family_resource r = family_resource_of(f, s);
    bool continues = r == FR_ROUNDS || (from > 0 && share_at(s, from) == share_at(s, to));
    struct family_shape wide = as_prepared(f, s, params);

    s = &wide;
    if (r == FR_AUTO)
        return MAX(f->cost(s, params, from, to), 1);
    int64_t cost = whole_cost(f, s, params, to);
    return MAX(cost - (continues ? whole_cost(f, s, params, from) : 0), 1);
}

bool family_level_is_redone(const struct family *f, const struct family_shape *s,
                            const double *params, int level)
{
    return family_level_cost(f, s, params, 0, level) <=
           family_level_cost(f, s, params, level, level + 1) / REDO_SHARE;
}

int64_t family_level_bytes(const struct family *f, const struct family_shape *s,
                           const double *params, int level)
{
    enum family_resource r = family_resource_of(f, s);
    double capped[FAMILY_MAX_PARAMS], share;
    struct family_shape wide = as_prepared(f, s, params), part = wide;

    if (!f->host_bytes)
        return 0;
    s = &wide;
    if (r == FR_ROUNDS) {
        params_at(f, params, level, capped);
        return f->host_bytes(s, capped, f->levels);
    }
    if (r == FR_AUTO)
        return f->host_bytes(s, params, level);
    if (level >= LADDER_ROWS)
        return f->host_bytes(s, params, f->levels);
    /* The engine holds two predictions and 12 bytes for every held-out row, however few rows are
     * trained on. */
    share = share_at(s, level);
    part.rows = share > 0 ? (int64_t)ceil((double)s->rows * share) : s->rows;
    part.folds = 1;
    double others = (double)(s->rows - part.rows) * (s->folds > 1 ? 1.0 / s->folds : 0.2);
    return f->host_bytes(&part, params, f->levels) + (int64_t)(others * (8.0 * s->outputs + 12));
}

void family_level_help(const struct family *f, const struct family_shape *s, int level, char *out,
                       size_t size)
{
    switch (family_resource_of(f, s)) {
    case FR_ROUNDS:
        (void)snprintf(out, size, "at most %d/%d of the rounds, on all folds", level,
                       LADDER_ROUNDS);
        break;
    case FR_ROWS:
        if (level < LADDER_ROWS)
            (void)snprintf(out, size, "%d/%d of the rows, on fold 0", level, LADDER_ROWS);
        else
            (void)snprintf(out, size, "all rows, on all folds");
        break;
    default:
        (void)snprintf(out, size, "%s", f->level_help[level - 1]);
    }
}
