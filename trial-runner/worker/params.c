/* params.c - see params.h. The rules of each parameter (kind, range, choices) are the family's own
 * table, so a new family needs no line here. */
#include "trial-runner/worker/params.h"

#include "base/jsonx.h"
#include "base/str.h"

#include <string.h>

static int value_of(const struct family_param *p, const json_t *v, double *out, struct err *err)
{
    if (p->kind != FP_CHOICE) {
        if (!json_is_number(v))
            return err_at(err, p->name, "must be a number");
        *out = json_number_value(v);
        return 0;
    }
    if (json_is_string(v) && family_choice_find(p, json_string_value(v)) >= 0) {
        *out = family_choice_find(p, json_string_value(v));
        return 0;
    }
    return err_at(err, p->name, "must be one of %s", p->choices);
}

static int apply(const struct family *f, double *params, const json_t *j, struct err *err)
{
    const char *key = NULL;
    json_t *v = NULL;
    void *it = json_object_iter((json_t *)j);

    for (; it; it = json_object_iter_next((json_t *)j, it)) {
        int i = 0;

        key = json_object_iter_key(it);
        v = json_object_iter_value(it);
        if (str_eq(key, "family"))
            continue;
        i = family_param_find(f, key);
        if (i < 0)
            return err_at(err, key, "%s has no such parameter", f->name);
        if (value_of(&f->params[i], v, &params[i], err) < 0)
            return -1;
    }
    return family_params_check(f, params, err);
}

int params_parse(const char *json, const struct family **family, double *params, struct err *err)
{
    json_t *j = json ? jsonx_load(json, strlen(json), "configuration", err) : NULL;
    const char *name = NULL;
    int rc = -1;

    *family = NULL;
    if (!json)
        return err_set(err, ERR_ARG, "no configuration");
    if (!j || jsonx_str(j, NULL, "family", JSONX_REQUIRED, 63, &name, err) < 0)
        goto out;
    *family = family_find(name);
    if (!*family) {
        err_at(err, "family", "this build has no family '%s'", name);
        goto out;
    }
    family_defaults(*family, params);
    rc = apply(*family, params, j, err);
out:
    json_decref(j);
    return rc;
}

int params_merge(const struct family *f, double *params, const char *json, struct err *err)
{
    json_t *j = NULL;
    int rc = 0;

    if (!json || !json[0])
        return 0;
    j = jsonx_load(json, strlen(json), "free parameters", err);
    if (!j)
        return -1;
    rc = apply(f, params, j, err);
    json_decref(j);
    return rc;
}

json_t *params_free_json_new(const struct family *f, const double *params)
{
    json_t *j = json_object();
    char name[64];

    for (int i = 0; i < f->n_params; i++) {
        const struct family_param *p = &f->params[i];

        if (p->axis != FA_FREE)
            continue;
        if (p->kind == FP_CHOICE)
            family_choice_name(p, (int)params[i], name, sizeof name);
        json_object_set_new(j, p->name,
                            p->kind == FP_CHOICE ? json_string(name)
                            : p->kind == FP_INT  ? json_integer((json_int_t)params[i])
                                                 : jsonx_real(params[i]));
    }
    return j;
}
