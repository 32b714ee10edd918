/* space.c - builds the space of a study.
 *
 * The automatic space has all parameters of all families that suit the task, except the free axes:
 * one fit answers for all their values. A user's space is a list of {family, parameter: domain}. A
 * domain is one of:
 *
 *   value                            fixed
 *   [lo, hi] or {uniform: [lo, hi]}  any number; a whole one if the parameter is whole
 *   {log: [lo, hi]}                  the same on a log scale
 *   {int: [lo, hi]}                  a whole number
 *   {int_log: [lo, hi]}              a whole number on a log scale
 *   {choice: [a, b, ...]}            one of these; of a parameter with words also [a, b, ...]
 *
 * A free axis takes one value, which is its limit. A parameter that is not named keeps the family's
 * own range, or its default if that range is a single value. Every domain must lie inside the
 * family's hard limits. */
#include "controller/problem/space.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_CHOICES = 256 }; /* bounds the array below; longer lists are refused */

/* One parameter of the space while it is being made. */
struct domain {
    struct param p;
    char *words[MAX_CHOICES]; /* owned */
};

static void domain_fini(struct domain *d)
{
    for (int i = 0; i < d->p.n_choices; i++)
        mem_free(d->words[i]);
    d->p.n_choices = 0;
}

static enum param_axis axis_of(const struct family_param *fp)
{
    static const enum param_axis axes[] = { [FA_COSTLY] = AXIS_COSTLY,
                                            [FA_FREE] = AXIS_FREE,
                                            [FA_PATH] = AXIS_PATH,
                                            [FA_SHAPE] = AXIS_SHAPE,
                                            [FA_PREP] = AXIS_SHAPE };
    CHECK((size_t)fp->axis < ARRAY_LEN(axes));
    return axes[fp->axis];
}

static void domain_default(struct domain *d, const struct family_param *fp)
{
    char word[64];

    if (fp->kind == FP_CHOICE) {
        d->p.kind = PARAM_CATEGORICAL;
        d->p.n_choices = (int)(fp->hi - fp->lo) + 1;
        CHECK(d->p.n_choices >= 1 && d->p.n_choices <= MAX_CHOICES);
        for (int i = 0; i < d->p.n_choices; i++) {
            family_choice_name(fp, (int)fp->lo + i, word, sizeof word);
            d->words[i] = mem_strdup(word);
        }
        d->p.def = fp->def - fp->lo;
        return;
    }
    d->p.kind = fp->lo == fp->hi ? PARAM_CONSTANT : fp->kind == FP_INT ? PARAM_INT : PARAM_FLOAT;
    d->p.lo = fp->lo;
    d->p.hi = fp->hi;
    d->p.step = fp->step;
    d->p.is_log = fp->is_log;
    d->p.def = fp->def;
}

/* ---- what a user may write for a parameter ---- */

static int number_check(const struct family_param *fp, const json_t *v, const char *where,
                        double *out, struct err *err)
{
    if (!json_is_number(v))
        return err_at(err, where, "must be a number");
    *out = json_number_value(v);
    if (fp->kind == FP_INT && *out != floor(*out))
        return err_at(err, where, "must be a whole number, not %g", *out);
    if (!(*out >= fp->hard_lo && *out <= fp->hard_hi))
        return err_at(err, where, "must be from %g to %g, not %g", fp->hard_lo, fp->hard_hi, *out);
    return 0;
}

static int domain_range(struct domain *d, const struct family_param *fp, const json_t *pair,
                        bool is_log, bool is_int, const char *where, struct err *err)
{
    if (fp->kind == FP_CHOICE)
        return err_at(err, where, "takes one of %s", fp->choices);
    if (!json_is_array(pair) || json_array_size(pair) != 2)
        return err_at(err, where, "must be [lowest, highest]");
    if (number_check(fp, json_array_get(pair, 0), where, &d->p.lo, err) < 0 ||
        number_check(fp, json_array_get(pair, 1), where, &d->p.hi, err) < 0)
        return -1;
    if (!(d->p.lo < d->p.hi))
        return err_at(err, where, "has an empty range: %g is not below %g", d->p.lo, d->p.hi);
    if (is_log && !(d->p.lo > 0))
        return err_at(err, where, "is log, so its range must be above 0");
    if (is_int && (d->p.lo != floor(d->p.lo) || d->p.hi != floor(d->p.hi)))
        return err_at(err, where, "must have whole limits");
    d->p.kind = is_int || fp->kind == FP_INT ? PARAM_INT : PARAM_FLOAT;
    d->p.is_log = is_log;
    d->p.def = MIN(MAX(fp->def, d->p.lo), d->p.hi);
    if (d->p.kind == PARAM_INT)
        d->p.def = MIN(MAX(floor(d->p.def + 0.5), d->p.lo), d->p.hi);
    return 0;
}

static int domain_word(struct domain *d, const struct family_param *fp, const json_t *v,
                       const char *where, struct err *err)
{
    char word[64];
    double x = 0;

    if (fp->kind == FP_CHOICE) {
        int i = config_choice_find(fp, v);
        if (i < 0)
            return err_at(err, where, "must be one of %s", fp->choices);
        family_choice_name(fp, i, word, sizeof word);
    } else {
        if (number_check(fp, v, where, &x, err) < 0)
            return -1;
        (void)snprintf(word, sizeof word, "%.17g", x);
    }
    for (int i = 0; i < d->p.n_choices; i++) {
        if (str_eq(d->words[i], word))
            return err_at(err, where, "names %s twice", word);
    }
    CHECK(d->p.n_choices < MAX_CHOICES); /* domain_choice refuses longer lists */
    d->words[d->p.n_choices++] = mem_strdup(word);
    return 0;
}

static int domain_choice(struct domain *d, const struct family_param *fp, const json_t *list,
                         const char *where, struct err *err)
{
    char at[140], def[64];
    json_t *v = NULL;
    size_t i = 0;

    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > MAX_CHOICES)
        return err_at(err, where, "must be a list of 1 to %d values", MAX_CHOICES);
    d->p.kind = fp->kind == FP_CHOICE ? PARAM_CATEGORICAL : PARAM_ORDINAL;
    json_array_foreach((json_t *)list, i, v)
    {
        jsonx_path_at(at, sizeof at, where, i);
        if (domain_word(d, fp, v, at, err) < 0)
            return -1;
    }
    if (fp->kind == FP_CHOICE)
        family_choice_name(fp, (int)fp->def, def, sizeof def);
    else
        (void)snprintf(def, sizeof def, "%.17g", fp->def);
    for (int k = 0; k < d->p.n_choices; k++) {
        if (str_eq(d->words[k], def))
            d->p.def = k;
    }
    return 0;
}

/* Refuses an unknown kind of range. The table has the words that other tools use for these kinds,
 * so that the error can suggest the right one. */
static int kind_check(const char *kind, const char *where, const char *const *kinds, size_t n,
                      struct err *err)
{
    static const struct str_alias words[] = {
        { "loguniform", "log" },      { "log_float", "log" },      { "reciprocal", "log" },
        { "float", "uniform" },       { "real", "uniform" },       { "linear", "uniform" },
        { "range", "uniform" },       { "integer", "int" },        { "randint", "int" },
        { "quniform", "int" },        { "log_int", "int_log" },    { "lograndint", "int_log" },
        { "qloguniform", "int_log" }, { "categorical", "choice" }, { "values", "choice" },
        { "options", "choice" },      { "enum", "choice" },        { "choices", "choice" },
        { "one_of", "choice" },       { "grid", "choice" },
    };
    char at[140];

    for (size_t i = 0; i < n; i++) {
        if (str_eq(kind, kinds[i]))
            return 0;
    }
    const char *near = str_nearest_or(kind, kinds, n, words, ARRAY_LEN(words));
    jsonx_path(at, sizeof at, where, kind);
    return err_at(err, at,
                  "unknown kind of range%s%s%s a range is [lowest, highest], {log: [..]}, "
                  "{int: [..]}, {int_log: [..]} or {choice: [..]}",
                  near ? "; did you mean " : "", near ? near : "", near ? "?" : ":");
}

static int domain_object(struct domain *d, const struct family_param *fp, const json_t *v,
                         const char *where, struct err *err)
{
    static const char *const kinds[] = { "uniform", "log", "int", "int_log", "choice" };
    void *it = json_object_iter((json_t *)v);
    char at[140];

    for (void *k = it; k; k = json_object_iter_next((json_t *)v, k)) {
        if (kind_check(json_object_iter_key(k), where, kinds, ARRAY_LEN(kinds), err) < 0)
            return -1;
    }
    if (json_object_size(v) != 1)
        return err_at(err, where, "must have exactly one of uniform, log, int, int_log, choice");
    const char *kind = json_object_iter_key(it);
    const json_t *arg = json_object_iter_value(it);
    jsonx_path(at, sizeof at, where, kind);
    if (str_eq(kind, "choice"))
        return domain_choice(d, fp, arg, at, err);
    return domain_range(d, fp, arg, str_eq(kind, "log") || str_eq(kind, "int_log"),
                        str_starts(kind, "int"), at, err);
}

static int domain_parse(struct domain *d, const struct family_param *fp, const json_t *v,
                        const char *where, struct err *err)
{
    if (json_is_object(v))
        return domain_object(d, fp, v, where, err);
    if (json_is_array(v) && fp->kind == FP_CHOICE)
        return domain_choice(d, fp, v, where, err);
    if (json_is_array(v))
        return domain_range(d, fp, v, false, false, where, err);
    if (fp->kind == FP_CHOICE) {
        d->p.kind = PARAM_CATEGORICAL;
        return domain_word(d, fp, v, where, err);
    }
    d->p.kind = PARAM_CONSTANT;
    if (number_check(fp, v, where, &d->p.lo, err) < 0)
        return -1;
    d->p.hi = d->p.def = d->p.lo;
    return 0;
}

/* ---- families ---- */

/* The family that is being added to the space. */
struct adding {
    struct study_space *out;
    const struct space_for *need;
    const struct family *f;
    int which; /* its choice in parameter 0 of the space */
};

/* Parameter k with the range that this study searches if the user names none. */
static struct family_param param_for(const struct adding *a, int k)
{
    return family_param_for(a->f, k, a->need->shape, a->need->metric);
}

/* Refuses a choice that suits none of the tasks that this study may have. */
static int choices_check(const struct adding *a, int k, const struct domain *d, const char *where,
                         struct err *err)
{
    const struct family_param *fp = &a->f->params[k];

    for (int i = 0; a->f->choice_tasks && fp->kind == FP_CHOICE && i < d->p.n_choices; i++) {
        if (!(a->f->choice_tasks(k, family_choice_find(fp, d->words[i])) & a->need->task))
            return err_at(err, where, "%s does not suit this task", d->words[i]);
    }
    return 0;
}

/* Where the parameter has an effect only beside some choices of another one, which the space has already, it becomes a child
 * of that one. A range of a parameter that never has an effect is an error where the user asked for it (1 = it is left out
 * else); a value of it is not. */
static int depend(const struct adding *a, int k, struct param *p, bool is_asked, const char *where,
                  struct err *err)
{
    int other = -1;
    uint64_t wanted = a->f->only_with ? a->f->only_with(k, &other) : 0, active = 0, all = 0;
    char name[120], one[64];

    if (!wanted)
        return 0;
    const struct family_param *by = &a->f->params[other];
    (void)snprintf(name, sizeof name, "%s.%s", a->f->name, by->name);
    int at = space_find(a->out->space, name);
    const struct param *parent = at >= 0 ? &a->out->space->params[at] : NULL;
    for (int i = 0; parent && i < parent->n_choices; i++) {
        all |= UINT64_C(1) << i;
        if (wanted >> family_choice_find(by, parent->choices[i]) & 1)
            active |= UINT64_C(1) << i;
    }
    if (!parent)
        active = wanted >> (int)param_for(a, other).def & 1;
    if (!active && p->kind != PARAM_CONSTANT && !is_asked)
        return 1;
    if (!active && p->kind != PARAM_CONSTANT) {
        family_choice_name(by, parent ? family_choice_find(by, parent->choices[0]) : (int)by->def,
                           one, sizeof one);
        return err_at(err, where, "has no effect with %s %s", by->name, one);
    }
    if (!parent || !active || active == all)
        return 0;
    p->parent = at;
    p->parent_mask = active;
    return 0;
}

static int family_add_param(const struct adding *a, int k, const json_t *v, const char *where,
                            struct err *err)
{
    CHECK(a->which >= 0 && a->which < STUDY_MAX_FAMILIES); /* the mask has 64 bits */
    struct domain d = { .p = { .parent = 0, .parent_mask = UINT64_C(1) << a->which } };
    struct family_param fp = param_for(a, k);
    char name[120];
    int rc = -1;

    (void)snprintf(name, sizeof name, "%s.%s", a->f->name, fp.name);
    d.p.name = name;
    d.p.axis = axis_of(&fp);
    d.p.choices = d.words;
    if (!v)
        domain_default(&d, &fp);
    else if (domain_parse(&d, &fp, v, where, err) < 0 || choices_check(a, k, &d, where, err) < 0)
        goto out;
    rc = depend(a, k, &d.p, v != NULL, where, err);
    if (rc != 0) {
        rc = rc < 0 ? -1 : 0;
        goto out;
    }
    rc = -1;
    if (space_add(a->out->space, &d.p, err) < 0) {
        if (err)
            str_copy(err->where, sizeof err->where, where);
        goto out;
    }
    rc = 0;
out:
    domain_fini(&d);
    return rc;
}

/* True if the parameter is searched without the user naming it. A free axis is not, because each
 * fit chooses it; a parameter whose range is one value is not either. */
static bool is_searched(const struct adding *a, int k)
{
    struct family_param fp = param_for(a, k);

    return fp.axis != FA_FREE && fp.lo < fp.hi;
}

/* True if the table gives the parameter another default than the family does. It is then part of the
 * space even where it has one value, because a configuration takes from the family what the space
 * does not name. */
static bool has_own_default(const struct adding *a, int k)
{
    return param_for(a, k).def != a->f->params[k].def;
}

/* Adds the parameters of one family. entry: the user's object, or NULL in an automatic space. */
static int family_add(const struct adding *a, const json_t *entry, const char *path,
                      struct err *err)
{
    struct config ignored;
    const struct family *f = a->f;
    char where[120];
    const char *key = NULL;
    json_t *v = NULL;

    for (int k = 0; k < f->n_params; k++) {
        v = entry ? json_object_get(entry, f->params[k].name) : NULL;
        jsonx_path(where, sizeof where, path, f->params[k].name);
        if (v && f->params[k].axis == FA_FREE && (json_is_object(v) || json_is_array(v)))
            return err_at(err, where,
                          "is chosen by validation inside each fit; give one value as its limit");
        if ((v || is_searched(a, k) || has_own_default(a, k)) &&
            family_add_param(a, k, v, where, err) < 0)
            return -1;
    }
    if (!entry)
        return 0;
    if (config_rivals_check(entry, path, err) < 0)
        return -1;
    json_object_foreach((json_t *)entry, key, v)
    {
        /* Known names were handled above. For the others config_parse makes the error, as it does
         * for an unknown name in a trial's configuration. */
        if (str_eq(key, "family") || family_param_find(f, key) >= 0)
            continue;
        json_t *probe = json_pack("{s:s, s:i}", "family", f->name, key, 0);
        int rc = probe ? config_parse(&ignored, probe, path, NULL, err) : 0;
        json_decref(probe);
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int family_of_entry(const json_t *entry, const char *path, const struct space_for *need,
                           const struct family **out, struct err *err)
{
    const char *name = NULL;
    char where[120];

    if (!json_is_object(entry))
        return err_at(err, path, "must be an object {family: ..., parameters}");
    if (jsonx_str(entry, path, "family", JSONX_REQUIRED, 64, &name, err) < 0)
        return -1;
    jsonx_path(where, sizeof where, path, "family");
    *out = family_find(name);
    if (!*out)
        return config_unknown_family(name, where, err);
    if (str_eq(name, "baseline"))
        return err_at(err, where, "the baseline is always tried; leave it out");
    if (!((*out)->tasks & need->task))
        return err_at(err, where, "%s does not do this task", name);
    if (need->is_monotone && !(*out)->keeps_monotone)
        return err_at(err, where, "%s cannot keep the constraints of monotone", name);
    if ((*out)->needs_images && !need->has_images && !need->is_table_unknown)
        return err_at(err, where, "%s needs images, and the table has none", name);
    return 0;
}

/* Fills families in their order, and entries with the user's object for each (NULL in an automatic
 * space). Returns their number, or -1. */
static int families_list(const json_t *list, const struct space_for *need,
                         const struct family **families, const json_t **entries, struct err *err)
{
    char path[40];
    int n = 0;

    if (!list) {
        for (int i = 0; family_at(i) && n < STUDY_MAX_FAMILIES; i++) {
            entries[n] = NULL;
            if ((family_at(i)->tasks & need->task) && !family_at(i)->by_name &&
                (need->has_images || !family_at(i)->needs_images) &&
                !str_eq(family_at(i)->name, "baseline") &&
                (family_at(i)->keeps_monotone || !need->is_monotone))
                families[n++] = family_at(i);
        }
        return n > 0 ? n : err_at(err, "space", "no family of models does this task");
    }
    if (!json_is_array(list) || json_array_size(list) == 0 ||
        json_array_size(list) > STUDY_MAX_FAMILIES)
        return err_at(err, "space", "must be auto or a list of 1 to %d families",
                      STUDY_MAX_FAMILIES);
    for (; n < (int)json_array_size(list); n++) {
        jsonx_path_at(path, sizeof path, "space", (size_t)n);
        entries[n] = json_array_get(list, (size_t)n);
        if (family_of_entry(entries[n], path, need, &families[n], err) < 0)
            return -1;
        for (int k = 0; k < n; k++) {
            if (families[k] == families[n])
                return err_at(err, path, "names %s twice", families[n]->name);
        }
    }
    return n;
}

static void first_configs(struct study_space *out)
{
    double *point = mem_array((size_t)out->space->n, sizeof *point);

    CHECK(out->n_families > 0 && out->n_families <= STUDY_MAX_FAMILIES);
    for (int i = 0; i < out->n_families; i++) {
        /* Which parameters are active depends on the family, so the default of `family` is set to
         * each family in turn, and at the end back to the first. */
        out->space->params[0].def = i;
        space_defaults(out->space, point);
        config_from_point(&out->first[i], out->space, out->own, point);
    }
    out->space->params[0].def = 0;
    mem_free(point);
}

int study_space_own(struct study_space *out, json_t *spec, const json_t *constraints, int levels,
                    struct err *err)
{
    *out = (struct study_space){ .n_families = 1 };
    out->own = own_new(spec, levels, &out->space, err);
    if (!out->own)
        return -1;
    if (own_constrain(out->space, constraints, err) < 0) {
        study_space_fini(out);
        return -1;
    }
    first_configs(out);
    return 0;
}

int study_space_build(struct study_space *out, const json_t *list, const struct space_for *need,
                      struct err *err)
{
    const struct family *families[STUDY_MAX_FAMILIES];
    const json_t *entries[STUDY_MAX_FAMILIES];
    char *names[STUDY_MAX_FAMILIES], path[40];
    struct param root = { .name = "family", .kind = PARAM_CATEGORICAL, .parent = -1 };
    int n = families_list(list, need, families, entries, err);

    *out = (struct study_space){ .n_families = n };
    if (n < 0)
        return -1;
    out->is_auto = !list || (n > 1 && !need->has_sampler);
    for (int i = 0; i < n; i++)
        names[i] = (char *)families[i]->name;
    root.n_choices = n;
    root.choices = names;
    out->space = space_new();
    if (space_add(out->space, &root, err) < 0)
        goto fail;
    for (int i = 0; i < n; i++) {
        jsonx_path_at(path, sizeof path, "space", (size_t)i);
        struct adding a = { out, need, families[i], i };
        if (family_add(&a, entries[i], path, err) < 0)
            goto fail;
        out->is_plain[i] = !entries[i] || json_object_size(entries[i]) == 1; /* only its name */
        out->is_auto = out->is_auto && out->is_plain[i];
    }
    first_configs(out);
    return 0;
fail:
    study_space_fini(out);
    return -1;
}

void study_space_fini(struct study_space *s)
{
    own_free(s->own);
    space_free(s->space);
    s->own = NULL;
    s->space = NULL;
    s->n_families = 0;
}
