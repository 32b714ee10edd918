/* family.c - finding families and parameters by name, and checking values. Pure data and arithmetic
 * without a kernel: the controller links this file and family_tables.c, and nothing else of ml/. */
#include "ml/family/family.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct family *family_find(const char *name)
{
    const struct family *f;

    for (int i = 0; (f = family_at(i)); i++) {
        if (strcmp(f->name, name) == 0)
            return f;
    }
    return NULL;
}

int family_param_find(const struct family *f, const char *name)
{
    for (int i = 0; i < f->n_params; i++) {
        if (strcmp(f->params[i].name, name) == 0)
            return i;
    }
    return -1;
}

static double value_of(const struct family *f, const double *params, const char *name)
{
    int i = family_param_find(f, name);

    return i < 0 ? 1 : params[i];
}

int family_devices(const struct family *f, const double *params)
{
    int devices = (int)value_of(f, params, "devices"), gpus = family_gpus(f, params);

    return gpus > devices ? gpus : devices;
}

int family_gpus(const struct family *f, const double *params)
{
    int i = family_param_find(f, "gpus");

    return i < 0 ? 0 : (int)params[i];
}

int family_params_check(const struct family *f, const double *params, struct err *err)
{
    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];
        if (!isfinite(params[i]))
            return err_at(err, p->name, "%s: %s must be a finite number", f->name, p->name);
        if (params[i] < p->hard_lo || params[i] > p->hard_hi)
            return err_at(err, p->name, "%s: %s must be from %g to %g, not %g", f->name, p->name,
                          p->hard_lo, p->hard_hi, params[i]);
        if (p->kind != FP_FLOAT && params[i] != floor(params[i]))
            return err_at(err, p->name, "%s: %s must be a whole number, not %g", f->name, p->name,
                          params[i]);
    }
    if (family_devices(f, params) > 1 && value_of(f, params, "ranks") > 1)
        return err_at(err, "ranks", "%s: ranks and devices cannot both be above 1", f->name);
    if (family_gpus(f, params) > 0 && value_of(f, params, "devices") > 1)
        return err_at(err, "gpus", "%s: gpus and devices cannot both be named", f->name);
    return 0;
}

void family_defaults(const struct family *f, double *params)
{
    for (int i = 0; i < f->n_params; i++)
        params[i] = f->params[i].def;
}

/* The columns that each parameter of FA_PREP is about. */
static const struct {
    const char *name;
    size_t columns;
} prep_about[] = {
    { "prep_levels", offsetof(struct family_shape, many_levels) },
    { "prep_few_levels", offsetof(struct family_shape, few_levels) },
    { "prep_codes", offsetof(struct family_shape, codes) },
    { "prep_effects", offsetof(struct family_shape, many_levels) },
    { "prep_text", offsetof(struct family_shape, texts) },
    { "prep_scale", offsetof(struct family_shape, numbers) },
    { "prep_missing", offsetof(struct family_shape, holes) },
    { "prep_pairs", offsetof(struct family_shape, numbers) },
};

/* The last choice that is searched of a parameter of FA_PREP: 0, which leaves it to the data, where
 * the table has no column that it is about. */
static double prep_searched(const struct family *f, const struct family_param *p,
                            const struct family_shape *s)
{
    /* trees cut between few values as well as beside levels; dense rows have a line through them */
    if (s && s->few_codes > 0 && f->form == FF_DENSE && strcmp(p->name, "prep_codes") == 0)
        return p->hi;
    if (s && s->codes > 0 && strcmp(p->name, "prep_effects") == 0)
        return p->hi;
    for (size_t i = 0; s && i < ARRAY_LEN(prep_about); i++) {
        if (strcmp(p->name, prep_about[i].name) == 0)
            return *(const int *)(const void *)((const char *)s + prep_about[i].columns) > 0 ? p->hi
                                                                                             : 0;
    }
    return 0;
}

struct family_param family_param_for(const struct family *f, int i, const struct family_shape *s,
                                     const char *metric)
{
    CHECK(i >= 0 && i < f->n_params);
    struct family_param p = f->params[i];
    struct family_range r = { p.lo, p.hi, p.def };

    if (p.axis == FA_PREP)
        r.hi = prep_searched(f, &p, s);
    else if (f->searched)
        f->searched(i, s, metric, &r);
    CHECK(r.lo <= r.hi && r.lo >= p.hard_lo && r.hi <= p.hard_hi);
    p.lo = r.lo;
    p.hi = r.hi;
    p.def = fmin(fmax(r.def, r.lo), r.hi);
    return p;
}

void family_suit(const struct family *f, const struct family_shape *s, const char *metric,
                 double *params)
{
    for (int i = 0; i < f->n_params; i++) {
        struct family_param p = family_param_for(f, i, s, metric);

        if (p.lo > f->params[i].lo || p.hi < f->params[i].hi)
            params[i] = fmin(fmax(params[i], p.lo), p.hi);
    }
    if (f->suit && s)
        f->suit(s, params);
}

int family_choice_count(const struct family_param *p)
{
    int n = 1;

    CHECK(p->kind == FP_CHOICE);
    for (const char *s = p->choices; *s; s++)
        n += *s == '|';
    return n;
}

/* Where choice i starts, and its length in *len; NULL past the end. */
static const char *choice_at(const struct family_param *p, int i, size_t *len)
{
    const char *s = p->choices;

    for (; i > 0; i--) {
        s = strchr(s, '|');
        if (!s)
            return NULL;
        s++;
    }
    *len = strcspn(s, "|");
    return s;
}

int family_choice_find(const struct family_param *p, const char *name)
{
    size_t len;
    const char *s;

    if (p->kind != FP_CHOICE)
        return -1;
    for (int i = 0; (s = choice_at(p, i, &len)); i++) {
        if (strlen(name) == len && memcmp(s, name, len) == 0)
            return i;
    }
    return -1;
}

void family_choice_name(const struct family_param *p, int i, char *out, size_t size)
{
    size_t len = 0;
    const char *s = choice_at(p, i, &len);

    CHECK(s && len < size);
    memcpy(out, s, len);
    out[len] = '\0';
}

void family_shape_key(const struct family *f, const double *params, char *out, size_t size)
{
    size_t at = (size_t)snprintf(out, size, "%s", f->name);

    for (int i = 0; i < f->n_params && at < size; i++) {
        const struct family_param *p = &f->params[i];
        char choice[64];
        if (p->axis != FA_SHAPE && (p->axis != FA_PREP || params[i] == 0))
            continue;
        if (p->kind == FP_CHOICE)
            family_choice_name(p, (int)params[i], choice, sizeof choice);
        else
            CHECK(snprintf(choice, sizeof choice, "%.17g", params[i]) < (int)sizeof choice);
        at += (size_t)snprintf(out + at, size - at, " %s=%s", p->name, choice);
    }
    CHECK(at < size);
}
