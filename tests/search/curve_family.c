/* curve_family.c - the true curve is end (1 - (1 + e / lag)^-1.5): `end` has its optimum at a place drawn by the seed, `lag` depends
 * on the first parameter, as on a learning rate. What is seen begins at a value that says nothing and fades to the truth. */
#include "tests/search/curve_family.h"
#include "tests/search/spaces.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>

enum { PARAMS = 6 };

static const struct curve_family families[] = {
    { "calm", 0, 0, 0.3 },          { "crossing", 0.8, 0, 0.3 },
    { "misleading", 0.3, 1, 0.3 },  { "heavy tails", 0.3, 0.2, 1.3 },
    { "all at once", 0.6, 1, 1.3 },
};

const struct curve_family *curve_family_at(int i)
{
    return i >= 0 && i < (int)ARRAY_LEN(families) ? &families[i] : NULL;
}

static struct space *space_made(void)
{
    struct space *s = space_new();

    spaces_float(s, "rate", 1e-4, 1e-1, 0, true);
    spaces_float(s, "momentum", 0.1, 0.99, 0, false);
    spaces_int(s, "batch", 16, 512, 0, true);
    spaces_float(s, "decay", 1e-6, 1e-2, 0, true);
    spaces_int(s, "layers", 1, 5, 0, false);
    spaces_choice(s, "activation", 3, false);
    return s;
}

/* Where the best configuration lies and how much each parameter matters. */
struct shape {
    double at[PARAMS], weight[PARAMS];
};

static double end_of(const struct shape *h, const double *unit)
{
    double loss = 0, product = 1;

    for (int i = 0; i < PARAMS; i++) {
        double d = unit[i] - h->at[i];
        loss += h->weight[i] * d * d;
        product *= 1 - fabs(d);
    }
    return exp(-2 * loss) * (0.7 + 0.3 * product); /* the second factor ties parameters together */
}

struct tabular *curve_family_new(const struct curve_family *f, size_t n, int epochs, uint64_t seed)
{
    struct space *s = space_made();
    double *points = mem_array(n * PARAMS, sizeof *points), unit[PARAMS];
    float *data = mem_array(n * (size_t)epochs * 2, sizeof *data);
    struct shape h;
    struct rng r;

    rng_init(&r, seed, 5);
    for (int i = 0; i < PARAMS; i++) {
        h.at[i] = rng_unit(&r);
        h.weight[i] = 2 * rng_unit(&r);
    }
    for (size_t c = 0; c < n; c++) {
        spaces_point(s, &r, points + c * PARAMS);
        space_to_unit(s, points + c * PARAMS, unit);
        double lag = 0.3 * exp(4 * (1 - unit[0])), fast = unit[0];
        double end = end_of(&h, unit) * (1 - f->crossing * fast), said = 0.2 * rng_unit(&r);
        double pace = exp(f->tails * rng_normal(&r) + unit[4]);
        double time = pace * (0.5 + rng_unit(&r)); /* the first epoch is longer */
        for (int e = 1; e <= epochs; e++) {
            float *out = data + 2 * (c * (size_t)epochs + (size_t)e - 1);
            time += pace;
            double lie = f->misleading * exp(-(e - 1) / 1.5);
            out[0] = (float)((1 - lie) * end * (1 - pow(1 + e / lag, -1.5)) + lie * said);
            out[1] = (float)time;
        }
    }
    struct tabular *t = tabular_curves_new(f->name, s, false, points, n, epochs, data, NULL);
    CHECK(t);
    return t;
}
