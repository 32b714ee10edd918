/* spaces.c - builders of test spaces. spaces_under and spaces_axis change a parameter after it was added, which only
 * tests may do. */
#include "tests/search/spaces.h"

#include "tests/unit.h"

#include <math.h>

static int add(struct space *s, const struct param *p)
{
    struct err err = { 0 };
    int i = space_add(s, p, &err);

    if (i < 0)
        fail_msg("%s", err.text);
    return i;
}

int spaces_float(struct space *s, const char *name, double lo, double hi, double step, bool is_log)
{
    return add(s, &(struct param){ .name = (char *)name,
                                   .kind = PARAM_FLOAT,
                                   .lo = lo,
                                   .hi = hi,
                                   .step = step,
                                   .is_log = is_log,
                                   .def = lo,
                                   .parent = -1 });
}

int spaces_int(struct space *s, const char *name, double lo, double hi, double step, bool is_log)
{
    return add(s, &(struct param){ .name = (char *)name,
                                   .kind = PARAM_INT,
                                   .lo = lo,
                                   .hi = hi,
                                   .step = step,
                                   .is_log = is_log,
                                   .def = hi,
                                   .parent = -1 });
}

int spaces_choice(struct space *s, const char *name, int n_choices, bool is_ordinal)
{
    static char texts[SPACE_MAX_CHOICES][16];
    char *choices[SPACE_MAX_CHOICES];

    for (int c = 0; c < n_choices; c++) {
        (void)snprintf(texts[c], sizeof texts[c], "c%d", c);
        choices[c] = texts[c];
    }
    return add(s, &(struct param){ .name = (char *)name,
                                   .kind = is_ordinal ? PARAM_ORDINAL : PARAM_CATEGORICAL,
                                   .n_choices = n_choices,
                                   .choices = choices,
                                   .parent = -1 });
}

int spaces_constant(struct space *s, const char *name, double value)
{
    return add(s, &(struct param){
                      .name = (char *)name, .kind = PARAM_CONSTANT, .lo = value, .parent = -1 });
}

void spaces_under(struct space *s, int parent, uint64_t mask)
{
    s->params[s->n - 1].parent = parent;
    s->params[s->n - 1].parent_mask = mask;
}

void spaces_axis(struct space *s, enum param_axis axis)
{
    s->params[s->n - 1].axis = axis;
}

struct space *spaces_mixed(void)
{
    struct space *s = space_new();
    int family = spaces_choice(s, "family", 3, false);

    spaces_float(s, "lr", 1e-4, 0.5, 0, true);
    spaces_under(s, family, 3);
    spaces_int(s, "depth", 1, 12, 0, false);
    spaces_under(s, family, 1);
    spaces_int(s, "leaves", 4, 256, 0, true);
    spaces_under(s, family, 2);
    spaces_float(s, "dropout", 0, 0.9, 0.1, false);
    spaces_under(s, family, 4);
    int norm = spaces_choice(s, "norm", 4, true);
    spaces_under(s, family, 4);
    spaces_float(s, "momentum", -1, 1, 0, false);
    spaces_under(s, norm, 12);
    spaces_constant(s, "version", 2);
    spaces_int(s, "rounds", 10, 2000, 10, false);
    spaces_axis(s, AXIS_FREE);
    return s;
}

struct space *spaces_chain(int depth)
{
    struct space *s = space_new();
    char name[24];

    for (int i = 0; i < depth; i++) {
        (void)snprintf(name, sizeof name, "level%d", i);
        int at = spaces_choice(s, name, 2, false);
        if (i > 0)
            spaces_under(s, at - 1, 2);
    }
    return s;
}

static void random_number(struct space *s, struct rng *r, const char *name, bool is_finite)
{
    double lo = floor(rng_unit(r) * 100) - 50, step = 1 + rng_below(r, 3);
    uint32_t kind = rng_below(r, is_finite ? 3 : 6);

    if (kind == 0)
        spaces_int(s, name, lo, lo + step * rng_below(r, 6), step, false);
    else if (kind == 1)
        spaces_int(s, name, 1 + rng_below(r, 4), 5 + rng_below(r, 10), 0, true);
    else if (kind == 2)
        spaces_float(s, name, lo / 10, lo / 10 + 0.1 * rng_below(r, 8), 0.1, false);
    else if (kind == 3)
        spaces_float(s, name, lo, lo + 1e3 * rng_unit(r), 0, false);
    else if (kind == 4)
        spaces_float(s, name, 1e-6 + rng_unit(r), 2 + 1e6 * rng_unit(r), 0, true);
    else
        spaces_int(s, name, 1, 1 + floor(1e11 * rng_unit(r)), 0, true);
}

struct space *spaces_random(struct rng *r, int max, bool is_finite)
{
    struct space *s = space_new();
    int n = (int)rng_below(r, (uint32_t)max + 1);
    char name[24];

    for (int i = 0; i < n; i++) {
        uint32_t kind = rng_below(r, 8);
        (void)snprintf(name, sizeof name, "p%d", i);
        if (kind < 3)
            spaces_choice(s, name, 1 + (int)rng_below(r, 5), kind == 0);
        else if (kind == 3)
            spaces_constant(s, name, rng_normal(r));
        else
            random_number(s, r, name, is_finite);
        int parent = i > 0 ? (int)rng_below(r, (uint32_t)i) : 0;
        int choices = s->params[parent].n_choices;
        if (i > 0 && choices > 0 && rng_below(r, 3))
            spaces_under(s, parent, 1 + rng_below(r, (1u << choices) - 1));
    }
    return s;
}

void spaces_point(const struct space *s, struct rng *r, double *point)
{
    double unit[SPACE_MAX_PARAMS];

    for (int i = 0; i < s->n; i++)
        unit[i] = rng_unit(r);
    space_from_unit(s, unit, point);
}
