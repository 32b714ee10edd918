/* spec_check.c - the checks of spec_check.h: the searchers and families that the spec names exist,
 * its configurations are legal, and the study that it begins from is there. What can only be
 * checked with the table (columns, classes, the task) is checked by problem/problem.c when the
 * dataset is ready. */
#include "controller/api/spec_check.h"

#include "base/jsonx.h"
#include "base/str.h"
#include "controller/decide/searchers.h"
#include "controller/settle/load.h"

/* A spec may name the resource that levels spend (rounds, rows): at least one family of the space
 * must be able to. */
static int resource_check(const struct spec *spec, const struct study_space *space, struct err *err)
{
    const struct family_shape s = { .resource = (enum family_resource)spec->resource };
    bool has_one = spec->resource == RES_AUTO;

    for (int i = 0; i < space->n_families; i++)
        has_one = has_one || family_resource_of(space->first[i].family, &s) != FR_AUTO;
    return has_one ? 0
                   : err_at(err, "resource", "no family of the space can spend %s",
                            spec_resource_name[spec->resource]);
}

/* Builds the space once, for the task that the spec names or for any, and parses the enqueued
 * configurations: both report families and parameters that do not exist and values that are not
 * legal. */
static int space_check_early(const struct spec *spec, struct err *err)
{
    static const int tasks[] = { [TASK_AUTO] = FT_ANY,
                                 [TASK_BINARY] = FT_BINARY,
                                 [TASK_MULTICLASS] = FT_MULTICLASS,
                                 [TASK_REGRESSION] = FT_REGRESSION };
    struct study_space space;
    struct config c;
    char path[40];
    json_t *v = NULL;
    size_t i = 0;

    struct space_for need = { tasks[spec->task],
                              spec->metric,
                              spec->monotone != NULL,
                              false,
                              true,
                              NULL,
                              !str_eq(spec->sampler, "auto") };
    if ((spec->is_own ? study_space_own(&space, spec->space, spec->constraints, spec->levels, err)
                      : study_space_build(&space, spec->space, &need, err)) < 0)
        return -1;
    int rc = spec->is_own ? own_is_feasible(space.space, err) : resource_check(spec, &space, err);
    json_array_foreach(spec->enqueue, i, v)
    {
        jsonx_path_at(path, sizeof path, "enqueue", i);
        if (rc == 0)
            rc = config_parse(&c, v, path, space.own, err);
    }
    study_space_fini(&space);
    return rc;
}

/* If the spec has a warm start, the study that it names must be there. */
static int warm_check(struct ctl *ctl, const struct spec *spec, struct err *err)
{
    struct err why = { 0 };

    if (!spec->warm_start[0] || study_by_ref(ctl, spec->warm_start, &why))
        return 0;
    return why.code == ERR_NOTFOUND ? err_at(err, "warm_start", "%s", why.text)
                                    : err_set(err, why.code, "%s", why.text);
}

int study_check_spec(struct ctl *ctl, const struct spec *spec, struct err *err)
{
    return searchers_check(spec, ctl->conf.dev, err) < 0 || space_check_early(spec, err) < 0
               ? -1
               : warm_check(ctl, spec, err);
}
