/* objective.c - worth and dominance of trials (objective.h). The logarithm is that of search/ and
 * not the C library's: samplers are told these numbers, and a deterministic study must tell them
 * the same bits on every machine. Dominance compares the stored costs themselves, without a
 * logarithm. */
#include "controller/state/objective.h"

#include "search/space/exact_math.h"

#include <math.h>

int objective_count(const struct study *st)
{
    return MAX(st->spec.n_objectives, 1);
}

/* A further value that the user's program told, larger is better. NaN = it told none. */
static double told(const struct study *st, const struct trial_mem *t, enum spec_objective o)
{
    int i = (int)o - OBJ_VALUE_2;

    return st->spec.objective_larger[i + 1] ? t->values[i] : -t->values[i];
}

static double cheapness(int64_t cost)
{
    return cost > 0 ? -search_log((double)cost) : NAN;
}

double objective_worth(const struct study *st, const struct trial_mem *t, enum spec_objective o)
{
    switch (o) {
    case OBJ_SCORE:
        return study_gain(st, t->score);
    case OBJ_FIT_TIME:
        return cheapness(t->fit_us);
    case OBJ_PREDICT_TIME:
        return cheapness(t->predict_ns);
    case OBJ_MODEL_BYTES:
        return cheapness(t->model_bytes);
    default:
        return told(st, t, o);
    }
}

void objective_all(const struct study *st, const struct trial_mem *t,
                   double out[SPEC_MAX_OBJECTIVES])
{
    int n = 0;

    out[n++] = objective_worth(st, t, OBJ_SCORE);
    for (int i = 0; i < st->spec.n_objectives; i++) {
        CHECK(n < SPEC_MAX_OBJECTIVES || st->spec.objectives[i] == OBJ_SCORE);
        if (st->spec.objectives[i] != OBJ_SCORE)
            out[n++] = objective_worth(st, t, st->spec.objectives[i]);
    }
    while (n < SPEC_MAX_OBJECTIVES)
        out[n++] = NAN;
}

/* Compares two costs: 1 = a is better, that is, smaller; -1 = b is better; 0 = they are equal. A
 * cost of 0 is unknown, and worse than any that is known. */
static int cheaper(int64_t a, int64_t b)
{
    if (a <= 0 || b <= 0)
        return (a > 0) - (b > 0);
    return (a < b) - (a > b);
}

/* Compares two trials by one objective: 1 = a is better, -1 = b is better, 0 = they are equal. */
static int compare(const struct study *st, const struct trial_mem *a, const struct trial_mem *b,
                   enum spec_objective o)
{
    double x = study_gain(st, a->score), y = study_gain(st, b->score);

    switch (o) {
    case OBJ_SCORE:
        return (x > y) - (x < y);
    case OBJ_FIT_TIME:
        return cheaper(a->fit_us, b->fit_us);
    case OBJ_PREDICT_TIME:
        return cheaper(a->predict_ns, b->predict_ns);
    case OBJ_MODEL_BYTES:
        return cheaper(a->model_bytes, b->model_bytes);
    default:
        x = told(st, a, o);
        y = told(st, b, o);
        return isnan(x) || isnan(y) ? isnan(y) - isnan(x) : (x > y) - (x < y);
    }
}

bool objective_dominates(const struct study *st, const struct trial_mem *a,
                         const struct trial_mem *b)
{
    bool is_better = false;

    for (int i = 0; i < st->spec.n_objectives; i++) {
        int c = compare(st, a, b, st->spec.objectives[i]);

        if (c < 0)
            return false;
        is_better = is_better || c > 0;
    }
    return is_better;
}
