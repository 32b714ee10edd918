/* baseline.c - makes the baseline model for `assay fit` (see baseline.h for what it is).
 *
 * It chooses task and metric as the controller would, fits the baseline family to the first rows
 * of the table in this process, and keeps the model file in memory. cmd_fit.c writes that
 * file only when no trial ended in time.
 *
 * Called by cmd_fit.c. */
#include "cli/baseline.h"
#include "cli/modelfile.h"

#include "base/base.h"
#include "base/str.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/target.h"

#include <stdio.h>

enum { FOLDS = 5 };

/* Task and metric are chosen by the rules that the controller uses
 * (controller/problem/problem.c). */
static int task_choose(const struct baseline_spec *spec, struct ml_data_spec *out, struct err *err)
{
    static const struct {
        const char *name;
        enum ml_task task;
    } tasks[] = { { "binary", ML_BINARY },
                  { "multiclass", ML_MULTICLASS },
                  { "regression", ML_REGRESSION } };
    bool has_metric = spec->metric && spec->metric[0];

    if (has_metric && metric_parse(spec->metric, &out->metric, err) < 0)
        return -1;
    if (ml_task_infer(out->frame, out->target, &out->task, err) < 0)
        return -1;
    if (has_metric && metric_info(out->metric)->tasks == ML_REGRESSION)
        out->task = ML_REGRESSION;
    for (size_t i = 0; spec->task && i < ARRAY_LEN(tasks); i++)
        out->task = str_eq(spec->task, tasks[i].name) ? tasks[i].task : out->task;
    if (!has_metric)
        out->metric = metric_default(out->task);
    return 0;
}

static int model_make(const struct baseline_spec *spec, struct buf *out, struct err *err)
{
    const struct family *family = family_find("baseline");
    double params[FAMILY_MAX_PARAMS] = { 0 };
    struct ml_data_spec problem = { .frame = spec->frame,
                                    .target = spec->target,
                                    .positive = spec->positive ? spec->positive : "",
                                    .folds = FOLDS,
                                    .split_seed = (uint64_t)spec->seed };
    struct ml_data *d = NULL;
    struct fit_trial *t = NULL;
    int rc = -1;

    if (task_choose(spec, &problem, err) < 0 || !(d = ml_data_open(&problem, err)))
        goto out;
    family_defaults(family, params);
    if (!(t = fit_trial_open(d, family, params, (uint64_t)spec->seed, false, err)) ||
        fit_trial_advance(t, fit_trial_levels(t), NULL, err) < 0 ||
        fit_trial_artifact(t, out, err) < 0)
        goto out;
    rc = 0;
out:
    if (t)
        fit_trial_close(t);
    if (d)
        ml_data_close(d);
    return rc;
}

int baseline_make(struct baseline *b, const struct baseline_spec *spec, struct err *err)
{
    buf_init(&b->model, ARTIFACT_MAX_BYTES);
    b->rows = spec->frame->rows;
    if (model_make(spec, &b->model, err) == 0)
        return 0;
    buf_clear(&b->model);
    return -1;
}

static int put(FILE *out, void *ctx, struct err *err)
{
    const struct baseline *b = ctx;

    (void)err; /* output_write looks at the stream's own */
    fwrite(b->model.data, 1, b->model.len, out);
    return 0;
}

int baseline_save(struct baseline *b, const char *path, struct err *err)
{
    return output_write(path, put, b, err);
}

void baseline_fini(struct baseline *b)
{
    buf_fini(&b->model);
}
