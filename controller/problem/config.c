/* config.c - converts configurations between JSON, a family's parameter list and a point of the
 * space.
 *
 * A trial's row stores the JSON text, and its hash tells whether a configuration was tried before.
 * The text is therefore canonical: keys are sorted, whole numbers are integers, choices are words.
 *
 * In a space, parameters are named "<family>.<parameter>", because several families may have a
 * parameter of the same name. A numeric parameter that a user limited to a list of values is an
 * ordinal in the space, and its choices are the numbers as text (written by space.c with 17 digits,
 * so that reading them back gives the same double). */
#include "controller/problem/config.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int config_choice_find(const struct family_param *p, const json_t *v)
{
    char number[40];

    CHECK(p->kind == FP_CHOICE);
    if (json_is_string(v))
        return family_choice_find(p, json_string_value(v));
    if (json_is_boolean(v))
        return family_choice_find(p, json_is_true(v) ? "yes" : "no");
    if (!json_is_number(v))
        return -1;
    (void)snprintf(number, sizeof number, "%.15g", json_number_value(v));
    return family_choice_find(p, number);
}

/* A choice is a word; `true` and `false` stand for yes and no, and a number for the word of its
 * digits. */
static int choice_parse(const struct family_param *p, const json_t *v, const char *where,
                        double *out, struct err *err)
{
    int i = config_choice_find(p, v);

    if (i < 0)
        return err_at(err, where, "must be one of %s", p->choices);
    *out = i;
    return 0;
}

static int value_parse(const struct family_param *p, const json_t *v, const char *where,
                       double *out, struct err *err)
{
    if (p->kind == FP_CHOICE)
        return choice_parse(p, v, where, out, err);
    if (!json_is_number(v))
        return err_at(err, where, "must be a number");
    double x = json_number_value(v);
    if (p->kind == FP_INT && x != floor(x))
        return err_at(err, where, "must be a whole number, not %g", x);
    if (!(x >= p->hard_lo && x <= p->hard_hi))
        return err_at(err, where, "must be from %g to %g, not %g", p->hard_lo, p->hard_hi, x);
    *out = x;
    return 0;
}

/* The error for a parameter that the family does not have. It suggests a similar name, or lists all
 * names. */
static int unknown_param(const struct family *f, const char *where, const char *key,
                         struct err *err)
{
    const char *names[FAMILY_MAX_PARAMS], *near = family_param_near(f, key);
    char list[260];

    CHECK(f->n_params <= FAMILY_MAX_PARAMS);
    if (near)
        return err_at(err, where, "%s has no such parameter; did you mean %s?", f->name, near);
    if (f->n_params == 0)
        return err_at(err, where, "%s has no parameters", f->name);
    for (int i = 0; i < f->n_params; i++)
        names[i] = f->params[i].name;
    str_list(names, (size_t)f->n_params, list, sizeof list);
    return err_at(err, where, "%s has no such parameter; it has %s", f->name, list);
}

int config_unknown_family(const char *name, const char *where, struct err *err)
{
    const char *names[FAMILY_MAX_PARAMS], *near = family_near(name);
    char list[200];
    size_t n = 0;

    for (; n < ARRAY_LEN(names) && family_at((int)n); n++)
        names[n] = family_at((int)n)->name;
    str_list(names, n, list, sizeof list);
    return err_at(err, where, "\"%.60s\" is no family of models%s%s; there are %s", name,
                  near ? "; did you mean " : "", near ? near : "", list);
}

/* The family that a configuration names; of an own study it may be left out. */
static const struct family *family_of(const json_t *json, const char *path, const struct own *own,
                                      struct err *err)
{
    const struct family *f = NULL;
    const char *name = OWN_FAMILY;
    char where[120];

    if (jsonx_str(json, path, "family", own ? JSONX_OPTIONAL : JSONX_REQUIRED, 64, &name, err) < 0)
        return NULL;
    if (own)
        f = str_eq(name, OWN_FAMILY) ? &own->family : NULL;
    else
        f = family_find(name);
    jsonx_path(where, sizeof where, path, "family");
    if (!f && own)
        err_at(err, where, "must be %s in a study with a space of its own", OWN_FAMILY);
    else if (!f)
        config_unknown_family(name, where, err);
    return f;
}

int config_rivals_check(const json_t *entry, const char *path, struct err *err)
{
    /* the value of each that says nothing */
    static const struct {
        const char *name;
        double nothing;
    } rivals[] = { { "ranks", 1 }, { "devices", 1 }, { "gpus", 0 } };
    const char *first = NULL;
    char where[120];

    for (size_t i = 0; i < ARRAY_LEN(rivals); i++) {
        const json_t *v = json_object_get(entry, rivals[i].name);
        if (!v || (json_is_number(v) && json_number_value(v) == rivals[i].nothing))
            continue;
        if (first) {
            jsonx_path(where, sizeof where, path, rivals[i].name);
            return err_at(err, where, "cannot be above %g together with %s: name one of them",
                          rivals[i].nothing, first);
        }
        first = rivals[i].name;
    }
    return 0;
}

int config_parse(struct config *c, const json_t *json, const char *path, const struct own *own,
                 struct err *err)
{
    const char *key = NULL;
    json_t *v = NULL;
    char where[120];

    if (!json_is_object(json))
        return err_at(err, path, "must be an object {family: ..., parameters}");
    c->family = family_of(json, path, own, err);
    if (!c->family)
        return -1;
    family_defaults(c->family, c->params);
    json_object_foreach((json_t *)json, key, v)
    {
        if (str_eq(key, "family"))
            continue;
        int i = family_param_find(c->family, key);
        jsonx_path(where, sizeof where, path, key);
        if (i < 0)
            return unknown_param(c->family, where, key, err);
        if (own && c->family->params[i].kind == FP_CHOICE)
            c->params[i] = own_choice_find(own, i, v);
        else if (value_parse(&c->family->params[i], v, where, &c->params[i], err) < 0)
            return -1;
        if (c->family->params[i].kind == FP_CHOICE && c->params[i] < 0)
            return err_at(err, where, "must be one of %s", c->family->params[i].choices);
    }
    if (!own && config_rivals_check(json, path, err) < 0)
        return -1;
    return own ? own_settle(own, json, path, c->params, err) : 0;
}

int config_parse_text(struct config *c, const char *text, const struct own *own, struct err *err)
{
    json_t *json = jsonx_load(text, strlen(text), "configuration", err);
    int rc = json ? config_parse(c, json, NULL, own, err) : -1;

    json_decref(json);
    return rc;
}

static json_t *params_json(const struct config *c)
{
    json_t *o = json_object();
    char word[64];

    for (int i = 0; i < c->family->n_params; i++) {
        const struct family_param *p = &c->family->params[i];
        json_t *v = NULL;

        if (p->axis == FA_FREE && c->params[i] == p->def)
            continue; /* chosen inside each fit; only a limit that the user set is written */
        if (p->axis == FA_PREP && c->params[i] == p->def)
            continue;                  /* most tables have no columns that it is about */
        CHECK(isfinite(c->params[i])); /* casts of NaN to integers are undefined */
        if (p->kind == FP_CHOICE) {
            family_choice_name(p, (int)c->params[i], word, sizeof word);
            v = json_string(word);
        } else if (p->kind == FP_INT) {
            v = json_integer((json_int_t)c->params[i]);
        } else {
            v = json_real(c->params[i]);
        }
        json_object_set_new(o, p->name, v);
    }
    return o;
}

json_t *config_json_new(const struct config *c)
{
    CHECK(c->family);
    const struct own *own = own_of(c->family);
    json_t *o = own ? own_params_json(own, c->params) : params_json(c);

    json_object_set_new(o, "family", json_string(c->family->name));
    return o;
}

char *config_text_new(const struct config *c)
{
    json_t *o = config_json_new(c);
    char *text = jsonx_dump(o);

    json_decref(o);
    return text;
}

void config_hash(const char *text, char out[17])
{
    char hex[SHA256_HEX];

    sha256_hex(text, strlen(text), hex);
    str_copy(out, 17, hex);
}

uint64_t config_hash_of(const struct config *c)
{
    char *text = config_text_new(c), hex[17];

    config_hash(text, hex);
    mem_free(text);
    return strtoull(hex, NULL, 16);
}

/* ---- points ---- */

/* Index in the family of a space's parameter "<family>.<parameter>"; -1 for a parameter of another
 * family and for `family` itself. */
static int family_index(const struct family *f, const struct param *p)
{
    size_t n = strlen(f->name);

    if (strncmp(p->name, f->name, n) != 0 || p->name[n] != '.')
        return -1;
    return family_param_find(f, p->name + n + 1);
}

static double param_to_family(const struct param *p, const struct family_param *fp, double v)
{
    double number = 0;

    if (p->kind == PARAM_CONSTANT)
        return p->lo;
    if (p->kind != PARAM_CATEGORICAL && p->kind != PARAM_ORDINAL)
        return v;
    CHECK(v >= 0 && (int)v < p->n_choices);
    if (fp->kind == FP_CHOICE) {
        int choice = family_choice_find(fp, p->choices[(int)v]);

        CHECK(choice >= 0); /* space.c takes only words of the family */
        return choice;
    }
    CHECK(str_f64(p->choices[(int)v], &number, NULL) == 0); /* space.c wrote it */
    return number;
}

void config_from_point(struct config *c, const struct space *s, const struct own *own,
                       const double *point)
{
    int at = space_find(s, "family");

    CHECK(at >= 0 && s->params[at].kind == PARAM_CATEGORICAL);
    CHECK(point[at] >= 0 && (int)point[at] < s->params[at].n_choices);
    c->family = own ? &own->family : family_find(s->params[at].choices[(int)point[at]]);
    CHECK(c->family);
    family_defaults(c->family, c->params); /* for what this space does not search */
    for (int i = 0; own && i < c->family->n_params; i++)
        c->params[i] = NAN; /* unless it is active */
    for (int i = 0; i < s->n; i++) {
        if (i == at || !space_is_active(s, point, i))
            continue;
        int k = family_index(c->family, &s->params[i]);
        CHECK(k >= 0); /* only the chosen family's parameters are active */
        c->params[k] = param_to_family(&s->params[i], &c->family->params[k], point[i]);
    }
}

/* The point's value for a family's value; NaN when the space does not hold it. */
static double param_from_family(const struct param *p, const struct family_param *fp, double v)
{
    char word[64];
    double number = 0;

    if (p->kind == PARAM_CONSTANT)
        return v == p->lo ? v : NAN;
    if (isnan(v) || (p->kind != PARAM_CATEGORICAL && p->kind != PARAM_ORDINAL))
        return v;
    if (fp->kind == FP_CHOICE)
        family_choice_name(fp, (int)v, word, sizeof word);
    for (int i = 0; i < p->n_choices; i++) {
        if (fp->kind == FP_CHOICE ? str_eq(p->choices[i], word)
                                  : str_f64(p->choices[i], &number, NULL) == 0 && number == v)
            return i;
    }
    return NAN;
}

int config_to_point(const struct config *c, const struct space *s, double *point, struct err *err)
{
    int at = space_find(s, "family");

    CHECK(at >= 0 && c->family);
    for (int i = 0; i < s->n; i++)
        point[i] = NAN; /* a parameter of another family stays NaN: it is not active */
    for (int k = 0; k < s->params[at].n_choices; k++) {
        if (str_eq(s->params[at].choices[k], c->family->name))
            point[at] = k;
    }
    if (isnan(point[at]))
        return err_set(err, ERR_ARG, "family %s is not in this space", c->family->name);
    for (int i = 0; i < s->n; i++) {
        int k = i == at ? -1 : family_index(c->family, &s->params[i]);

        if (k >= 0 && space_is_active(s, point, i))
            point[i] = param_from_family(&s->params[i], &c->family->params[k], c->params[k]);
    }
    return space_check(s, point, err);
}
