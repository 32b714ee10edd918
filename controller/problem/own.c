/* own.c - builds the space and the family of own.h.
 *
 * Parameters are added in the order of their names, but each after the one that it depends on: so
 * the space is the same however the object is ordered, which a restart relies on. Everything that
 * family.h asks of a family is answered for trials of which nothing is known beforehand: a level
 * costs the same as any other, and no memory of ours. */
#include "controller/problem/own.h"

#include "base/buf.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "search/space/constraint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    WORD_BYTES = 64,   /* of a choice, with its NUL; family_choice_name's buffers hold as much */
    MAX_CHOICES = 256, /* of one parameter */
    MAX_BRANCHES = 64, /* of one that others depend on: bits of a mask */
    LEVEL_COST = 1000000,
    FEASIBLE_DRAWS = 20000 /* a few milliseconds */
};

/* ---- the family ---- */

static int64_t own_cost(const struct family_shape *s, const double *params, int from, int to)
{
    (void)s, (void)params;
    return (int64_t)(to - from) * LEVEL_COST;
}

static int64_t own_bytes(const struct family_shape *s, const double *params, int level)
{
    (void)s, (void)params, (void)level;
    return 0;
}

/* Only its highest level counts as a whole trial (ladder_is_whole): share 0 = all. */
static void own_plan(const double *params, int level, struct family_plan *out)
{
    (void)params;
    *out = (struct family_plan){ .key = 1, .check_every = 1, .cap = level, .share = 0.5 };
}

static void own_choose(double *params, int level, int64_t steps)
{
    (void)params, (void)level, (void)steps;
}

/* ---- one parameter ---- */

/* What a domain says, while it is read. */
struct reading {
    struct own *own;
    const char *name, *where; /* where: "space.lr" */
    const json_t *v;
    struct param p; /* its choices are `words` */
    char words[MAX_CHOICES][WORD_BYTES];
    char *choices[MAX_CHOICES];
};

/* The text by which a choice is known: 0, or -1 = no value of a choice. */
static int word_of(const json_t *v, char out[WORD_BYTES])
{
    int n = 0;

    if (json_is_string(v))
        n = snprintf(out, WORD_BYTES, "%s", json_string_value(v));
    else if (json_is_boolean(v))
        n = snprintf(out, WORD_BYTES, "%s", json_is_true(v) ? "true" : "false");
    else if (json_is_integer(v))
        n = snprintf(out, WORD_BYTES, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v))
        n = snprintf(out, WORD_BYTES, "%.17g", json_real_value(v));
    return n >= 1 && n < WORD_BYTES && !strchr(out, '|') ? 0 : -1;
}

static int read_choices(struct reading *r, const json_t *list, struct err *err)
{
    json_t *v = NULL;
    size_t i = 0;
    bool ascends = true;
    char at[140];

    if (!json_is_array(list) || json_array_size(list) == 0 || json_array_size(list) > MAX_CHOICES)
        return err_at(err, r->where, "must be a list of 1 to %d values", MAX_CHOICES);
    json_array_foreach((json_t *)list, i, v)
    {
        const json_t *before = i > 0 ? json_array_get(list, i - 1) : NULL;

        jsonx_path_at(at, sizeof at, r->where, i);
        if (word_of(v, r->words[i]) < 0)
            return err_at(err, at,
                          "must be a text of 1 to %d bytes without \"|\", a number, true "
                          "or false",
                          WORD_BYTES - 1);
        for (size_t k = 0; k < i; k++) {
            if (str_eq(r->words[k], r->words[i]))
                return err_at(err, at, "names %s twice", r->words[i]);
        }
        r->choices[i] = r->words[i];
        ascends = ascends && json_is_number(v) &&
                  (!before || json_number_value(before) < json_number_value(v));
    }
    r->p.n_choices = (int)json_array_size(list);
    r->p.choices = r->choices;
    /* numbers in ascending order have neighbours, which samplers use */
    r->p.kind = ascends && r->p.n_choices > 2 ? PARAM_ORDINAL : PARAM_CATEGORICAL;
    return 0;
}

static int read_range(struct reading *r, const json_t *pair, bool is_log, bool is_int,
                      struct err *err)
{
    const json_t *lo = json_array_get(pair, 0), *hi = json_array_get(pair, 1);

    if (json_array_size(pair) != 2 || !json_is_number(lo) || !json_is_number(hi))
        return err_at(err, r->where, "must be [lowest, highest]");
    r->p.lo = json_number_value(lo);
    r->p.hi = json_number_value(hi);
    r->p.kind = is_int ? PARAM_INT : PARAM_FLOAT;
    r->p.is_log = is_log;
    if (!(r->p.lo < r->p.hi))
        return err_at(err, r->where, "has an empty range: %g is not below %g", r->p.lo, r->p.hi);
    if (is_log && !(r->p.lo > 0))
        return err_at(err, r->where, "is log, so its range must be above 0");
    if (is_int && (r->p.lo != floor(r->p.lo) || r->p.hi != floor(r->p.hi)))
        return err_at(err, r->where, "must have whole limits");
    /* the middle, on its scale; a step or a `default` may move it */
    r->p.def = is_log ? sqrt(r->p.lo) * sqrt(r->p.hi) : r->p.lo / 2 + r->p.hi / 2;
    r->p.def = MIN(MAX(is_int ? floor(r->p.def + 0.5) : r->p.def, r->p.lo), r->p.hi);
    return 0;
}

static int read_step(struct reading *r, struct err *err)
{
    int rc = jsonx_f64(r->v, r->where, "step", JSONX_OPTIONAL, &r->p.step, err);

    if (rc <= 0)
        return rc;
    if (!(r->p.step > 0) || (r->p.kind != PARAM_FLOAT && r->p.kind != PARAM_INT) || r->p.is_log)
        return err_at(err, r->where, "takes a step above 0 only on a range without a log scale");
    r->p.def = r->p.lo + floor((r->p.def - r->p.lo) / r->p.step) * r->p.step;
    return 0;
}

static int read_default(struct reading *r, struct err *err)
{
    const json_t *v = json_object_get(r->v, "default");
    char word[WORD_BYTES];

    if (!v)
        return 0;
    if (r->p.kind == PARAM_FLOAT || r->p.kind == PARAM_INT) {
        r->p.def = json_number_value(v);
        return json_is_number(v) && param_is_legal(&r->p, r->p.def)
                   ? 0
                   : err_at(err, r->where, "has a default outside its range");
    }
    for (int i = 0; word_of(v, word) == 0 && i < r->p.n_choices; i++) {
        if (str_eq(word, r->words[i])) {
            r->p.def = i;
            return 0;
        }
    }
    return err_at(err, r->where, "has a default that is none of its choices");
}

/* `when: {opt: sgd}` or `when: {opt: [sgd, nesterov]}`: the parameter is active only then. */
static int read_when(struct reading *r, const struct space *s, struct err *err)
{
    const json_t *when = json_object_get(r->v, "when");
    void *it = json_object_iter((json_t *)when);
    char word[WORD_BYTES], name[SPACE_MAX_NAME + 8];

    if (!when)
        return 0;
    const json_t *v = json_object_iter_value(it);
    (void)snprintf(name, sizeof name, "%s.%s", OWN_FAMILY, json_object_iter_key(it));
    r->p.parent = space_find(s, name);
    CHECK(r->p.parent > 0); /* parents are added first */
    const struct param *parent = &s->params[r->p.parent];
    if (parent->n_choices == 0 || parent->n_choices > MAX_BRANCHES)
        return err_at(err, r->where, "depends on %s, which must be a choice of at most %d values",
                      json_object_iter_key(it), MAX_BRANCHES);
    r->p.parent_mask = 0;
    for (size_t i = 0; i < (json_is_array(v) ? json_array_size(v) : 1); i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, i) : v;
        int hit = -1;

        for (int k = 0; word_of(one, word) == 0 && k < parent->n_choices; k++)
            hit = str_eq(parent->choices[k], word) ? k : hit;
        if (hit < 0)
            return err_at(err, r->where, "depends on a value that %s does not have",
                          json_object_iter_key(it));
        r->p.parent_mask |= UINT64_C(1) << hit;
    }
    return r->p.parent_mask ? 0 : err_at(err, r->where, "depends on no value");
}

static int read_object(struct reading *r, struct err *err)
{
    static const char *const keys[] = { "uniform", "log",  "int",  "int_log",
                                        "choice",  "step", "when", "default" };
    enum { KINDS = 5 };
    int kind = -1;

    if (jsonx_only(r->v, r->where, keys, ARRAY_LEN(keys), err) < 0)
        return -1;
    for (int k = 0; k < KINDS; k++) {
        if (!json_object_get(r->v, keys[k]))
            continue;
        if (kind >= 0)
            return err_at(err, r->where, "has both %s and %s", keys[kind], keys[k]);
        kind = k;
    }
    if (kind < 0)
        return err_at(err, r->where, "must have one of uniform, log, int, int_log, choice");
    const json_t *arg = json_object_get(r->v, keys[kind]);
    if (kind == KINDS - 1 ? read_choices(r, arg, err) < 0
                          : read_range(r, arg, kind == 1 || kind == 3, kind >= 2, err) < 0)
        return -1;
    return read_step(r, err) < 0 ? -1 : read_default(r, err);
}

static int read_domain(struct reading *r, struct err *err)
{
    if (json_is_object(r->v))
        return read_object(r, err);
    if (json_is_array(r->v))
        return read_range(r, r->v, false, false, err);
    if (json_is_number(r->v)) {
        r->p.kind = PARAM_CONSTANT;
        r->p.lo = r->p.hi = r->p.def = json_number_value(r->v);
        return 0;
    }
    json_t *one = json_pack("[O]", r->v);
    int rc = read_choices(r, one, err);

    json_decref(one);
    return rc;
}

/* The same parameter as ml/family/family.h describes one. */
static void param_keep(struct own *own, const struct reading *r)
{
    struct family_param *fp = &own->params[own->family.n_params];
    struct buf text;

    *fp = (struct family_param){ .name = mem_strdup(r->name), .kind = FP_CHOICE, .def = r->p.def };
    if (r->p.n_choices == 0) {
        fp->kind = r->p.kind == PARAM_INT ? FP_INT : FP_FLOAT;
        fp->lo = fp->hard_lo = r->p.lo;
        fp->hi = fp->hard_hi = r->p.hi;
        fp->is_log = r->p.is_log;
        fp->step = r->p.step;
    } else {
        fp->hi = fp->hard_hi = r->p.n_choices - 1;
        buf_init(&text, (size_t)MAX_CHOICES * WORD_BYTES);
        for (int i = 0; i < r->p.n_choices; i++)
            CHECK(buf_addf(&text, NULL, "%s%s", i ? "|" : "", r->words[i]) == 0);
        fp->choices = buf_take(&text, NULL);
        own->values[own->family.n_params] =
            json_is_object(r->v) ? json_object_get(r->v, "choice") : NULL;
    }
    own->family.n_params++;
}

static int param_read(struct own *own, struct space *s, const char *name, struct err *err)
{
    char where[140], full[SPACE_MAX_NAME + 8];
    struct reading *r = mem_zalloc(sizeof *r);
    int rc = -1;

    jsonx_path(where, sizeof where, "space", name);
    *r = (struct reading){
        .own = own, .name = name, .where = where, .v = json_object_get(own->spec, name)
    };
    (void)snprintf(full, sizeof full, "%s.%s", OWN_FAMILY, name);
    r->p.name = full;
    r->p.parent_mask = 1; /* of parameter 0, which has the one choice `own` */
    if (read_domain(r, err) < 0 || read_when(r, s, err) < 0)
        goto out;
    if (space_add(s, &r->p, err) < 0) {
        if (err)
            str_copy(err->where, sizeof err->where, where);
        goto out;
    }
    param_keep(own, r);
    rc = 0;
out:
    mem_free(r);
    return rc;
}

/* ---- all of them ---- */

/* The parameter that this one depends on: "" = none; NULL with an error that says what is wrong. */
static const char *parent_of(const json_t *spec, const char *name, struct err *err)
{
    const json_t *v = json_object_get(spec, name), *when = json_object_get(v, "when");
    char where[140];

    if (!json_is_object(v) || !when)
        return "";
    jsonx_path(where, sizeof where, "space", name);
    if (json_object_size(when) != 1) {
        err_at(err, where, "takes `when: {parameter: value}`, with one parameter");
        return NULL;
    }
    const char *parent = json_object_iter_key(json_object_iter((json_t *)when));
    if (json_object_get(spec, parent) && !str_eq(parent, name))
        return parent;
    err_at(err, where, "depends on \"%.60s\", which is no other parameter of this space", parent);
    return NULL;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_added(const struct own *own, const char *name)
{
    return !*name || family_param_find(&own->family, name) >= 0;
}

/* Adds those whose parent is there, again and again, until all are. */
static int add_all(struct own *own, struct space *s, const char **names, int n, struct err *err)
{
    for (int before = -1; own->family.n_params < n && own->family.n_params > before;) {
        before = own->family.n_params;
        for (int i = 0; i < n; i++) {
            const char *parent = parent_of(own->spec, names[i], err);

            if (!parent)
                return -1;
            if (!is_added(own, names[i]) && is_added(own, parent) &&
                param_read(own, s, names[i], err) < 0)
                return -1;
        }
    }
    return own->family.n_params == n
               ? 0
               : err_at(err, "space", "has parameters that depend on each other in a circle");
}

static int names_read(const json_t *spec, const char **names, int *n, struct err *err)
{
    const char *name = NULL;
    json_t *v = NULL;
    char where[140];

    if (json_object_size(spec) > FAMILY_MAX_PARAMS)
        return err_at(err, "space", "has more than %d parameters", FAMILY_MAX_PARAMS);
    json_object_foreach((json_t *)spec, name, v)
    {
        jsonx_path(where, sizeof where, "space", name);
        if (!str_name_ok(name) || strlen(name) > SPACE_MAX_NAME - sizeof OWN_FAMILY ||
            str_eq(name, "family"))
            return err_at(
                err, where,
                "\"%.60s\" cannot be a parameter's name: it has up to %d letters, digits, "
                ". _ or -, and is not \"family\"",
                name, (int)(SPACE_MAX_NAME - sizeof OWN_FAMILY));
        names[(*n)++] = name;
    }
    qsort(names, (size_t)*n, sizeof *names, by_text);
    return 0;
}

struct own *own_new(json_t *spec, int levels, struct space **space, struct err *err)
{
    static char *const choice[] = { (char *)OWN_FAMILY };
    static const char *const level_help[] = { "" };
    struct param root = { .name = "family",
                          .kind = PARAM_CATEGORICAL,
                          .parent = -1,
                          .n_choices = 1,
                          .choices = (char **)choice };
    const char *names[FAMILY_MAX_PARAMS];
    struct own *own = mem_zalloc(sizeof *own);
    int n = 0;

    CHECK((void *)own == (void *)&own->family); /* own_of relies on it */
    own->spec = json_incref(spec);
    own->family = (struct family){ .name = OWN_FAMILY,
                                   .help = "a program of the user's own",
                                   .tasks = FT_ANY,
                                   .params = own->params,
                                   .levels = MAX(levels, 1),
                                   .level_help = level_help,
                                   .cost = own_cost,
                                   .host_bytes = own_bytes,
                                   .plan = own_plan,
                                   .choose = own_choose };
    *space = space_new();
    own->space = *space;
    if (space_add(*space, &root, err) == 0 && names_read(spec, names, &n, err) == 0 &&
        add_all(own, *space, names, n, err) == 0)
        return own;
    own_free(own);
    space_free(*space);
    *space = NULL;
    return NULL;
}

int own_constrain(struct space *s, const json_t *list, struct err *err)
{
    char where[40];
    json_t *v = NULL;
    size_t i = 0;

    json_array_foreach((json_t *)(uintptr_t)list, i, v)
    {
        struct err why = { 0 };

        jsonx_path_at(where, sizeof where, "constraints", i);
        if (space_constrain(s, OWN_FAMILY ".", json_string_value(v), &why) < 0)
            return err_at(err, where, "%s", why.text);
    }
    return 0;
}

int own_is_feasible(const struct space *s, struct err *err)
{
    double *unit = mem_array(2 * (size_t)s->n, sizeof *unit), *point = unit + s->n;
    bool is = s->n_constraints == 0;
    struct rng r;

    rng_init(&r, 1, 0);
    for (int k = 0; k < FEASIBLE_DRAWS && !is; k++) {
        for (int i = 0; i < s->n; i++)
            unit[i] = rng_unit(&r);
        space_from_unit(s, unit, point);
        is = space_holds(s, point);
    }
    mem_free(unit);
    return is ? 0
              : err_at(err, "constraints", "none of %d random configurations keeps all of them",
                       FEASIBLE_DRAWS);
}

void own_free(struct own *own)
{
    if (!own)
        return;
    for (int i = 0; i < own->family.n_params; i++) {
        mem_free((void *)(uintptr_t)own->params[i].name);
        mem_free((void *)(uintptr_t)own->params[i].choices);
    }
    json_decref(own->spec);
    mem_free(own);
}

/* ---- values ---- */

const struct own *own_of(const struct family *f)
{
    return f->cost == own_cost ? (const struct own *)(const void *)f : NULL;
}

int own_choice_find(const struct own *own, int param, const json_t *v)
{
    char word[WORD_BYTES];

    CHECK(param >= 0 && param < own->family.n_params);
    return word_of(v, word) < 0 ? -1 : family_choice_find(&own->params[param], word);
}

/* Parameter i of the space is parameter_of[i] of the family: both are in the same order, and the
 * space begins with `family`. */
static bool is_active(const struct own *own, int i, const double *params)
{
    const struct param *p = &own->space->params[i + 1];

    if (p->parent == 0)
        return true;
    double v = params[p->parent - 1];
    return !isnan(v) && (p->parent_mask >> (int)v & 1);
}

static int keeps_constraints(const struct own *own, const char *path, const double *params,
                             struct err *err)
{
    double *point = mem_array((size_t)own->space->n, sizeof *point);

    point[0] = 0;
    memcpy(point + 1, params, (size_t)own->family.n_params * sizeof *point);
    bool is_kept = space_holds(own->space, point);
    mem_free(point);
    return is_kept ? 0 : err_at(err, path, "breaks a constraint of the study");
}

int own_settle(const struct own *own, const json_t *given, const char *path, double *params,
               struct err *err)
{
    char where[140];

    for (int i = 0; i < own->family.n_params; i++) {
        const char *name = own->params[i].name;

        jsonx_path(where, sizeof where, path, name);
        if (!is_active(own, i, params)) {
            if (json_object_get(given, name))
                return err_at(err, where, "is not active beside the other values");
            params[i] = NAN;
        } else if (!param_is_legal(&own->space->params[i + 1], params[i])) {
            return err_at(err, where, "is none of its values");
        }
    }
    return given ? keeps_constraints(own, path, params, err) : 0;
}

json_t *own_params_json(const struct own *own, const double *params)
{
    json_t *o = json_object();

    for (int i = 0; i < own->family.n_params; i++) {
        const struct family_param *p = &own->params[i];
        json_t *v = NULL;

        if (isnan(params[i]))
            continue;
        if (p->kind == FP_CHOICE) {
            v = own->values[i] ? json_incref(json_array_get(own->values[i], (size_t)params[i]))
                               : json_incref(json_object_get(own->spec, p->name));
        } else if (p->kind == FP_INT || (p->lo == p->hi && p->lo == floor(p->lo) &&
                                         json_is_integer(json_object_get(own->spec, p->name)))) {
            v = json_integer((json_int_t)params[i]);
        } else {
            v = json_real(params[i]);
        }
        json_object_set_new(o, p->name, v);
    }
    return o;
}
