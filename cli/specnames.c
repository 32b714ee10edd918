/* specnames.c - see specnames.h. Called by fit_spec.c, cmd_run.c and simulate_conf.c. */
#include "cli/specnames.h"

#include "base/base.h"
#include "base/str.h"
#include "ml/family/family.h"
#include "search/searchers.h"

#include <stdio.h>

enum { MAX_NAMES = 48 };

static int unknown(const char *where, const char *name, const char *what, const char *const *names,
                   size_t n, struct err *err)
{
    const char *near = str_nearest(name, names, n);
    char all[260];

    str_list(names, n, all, sizeof(all));
    return near ? err_at(err, where, "\"%.40s\" is no %s; did you mean %s?", name, what, near)
                : err_at(err, where, "\"%.40s\" is no %s; there are %s", name, what, all);
}

const struct sampler_ops *specnames_sampler(const char *where, const char *name, struct err *err)
{
    const struct sampler_ops *ops = sampler_find(name);
    const char *names[MAX_NAMES] = { "auto" };
    size_t n = 1;

    if (ops && !ops->is_test_only)
        return ops;
    for (int i = 0; sampler_at(i) && n < ARRAY_LEN(names); i++) {
        if (!sampler_at(i)->is_test_only)
            names[n++] = sampler_at(i)->name;
    }
    if (!ops && scheduler_find(name))
        err_at(err, where, "%s is a scheduler", name);
    else
        unknown(where, name, "sampler", names, n, err);
    return NULL;
}

const struct scheduler_ops *specnames_scheduler(const char *where, const char *name,
                                                struct err *err)
{
    const struct scheduler_ops *ops = scheduler_find(name);
    const char *names[MAX_NAMES] = { "auto" };
    size_t n = 1;

    if (ops && !ops->is_test_only)
        return ops;
    for (int i = 0; scheduler_at(i) && n < ARRAY_LEN(names); i++) {
        if (!scheduler_at(i)->is_test_only)
            names[n++] = scheduler_at(i)->name;
    }
    if (!ops && sampler_find(name))
        err_at(err, where, "%s is a sampler", name);
    else
        unknown(where, name, "scheduler", names, n, err);
    return NULL;
}

/* `sampler: name` or `sampler: {kind: name, ...}`; NULL = auto. */
static const char *kind_of(const json_t *spec, const char *key)
{
    const json_t *v = json_object_get(spec, key);
    const char *name = json_string_value(json_is_object(v) ? json_object_get(v, "kind") : v);

    return name && !str_eq(name, "auto") ? name : NULL;
}

static int family_check(const char *where, const char *name, struct err *err)
{
    const char *names[MAX_NAMES], *near = family_near(name);
    size_t n = 0;

    if (family_find(name))
        return 0;
    if (near)
        return err_at(err, where, "\"%.40s\" is no family of models; did you mean %s?", name, near);
    for (; n < ARRAY_LEN(names) && family_at((int)n); n++)
        names[n] = family_at((int)n)->name;
    return unknown(where, name, "family of models", names, n, err);
}

int specnames_check(const json_t *spec, struct err *err)
{
    const char *sampler = kind_of(spec, "sampler"), *scheduler = kind_of(spec, "scheduler");
    const json_t *space = json_object_get(spec, "space"), *one;
    char where[40];
    size_t i;

    if ((sampler && !specnames_sampler("sampler", sampler, err)) ||
        (scheduler && !specnames_scheduler("scheduler", scheduler, err)))
        return -1;
    json_array_foreach((json_t *)space, i, one)
    {
        const char *name = json_string_value(json_object_get(one, "family"));
        (void)!snprintf(where, sizeof(where), "space[%zu].family", i);
        if (name && family_check(where, name, err) < 0)
            return -1;
    }
    return 0;
}
