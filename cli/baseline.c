/* baseline.c - makes the baseline model for `assay fit` (see baseline.h for what it is).
 *
 * It reads the first rows of the table, chooses task and metric as the controller would, fits
 * the baseline family in this process, and keeps the model file in memory. cmd_fit.c writes that
 * file only when no trial ended in time.
 *
 * Called by cmd_fit.c. */
#include "cli/baseline.h"
#include "cli/modelfile.h"
#include "cli/tablehead.h"
#include "cli/tempdir.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/target.h"
#include "proto/spec.h"

#include <stdio.h>
#include <string.h>

enum { FOLDS = 5 };

/* ---- the first rows ---- */

static struct frame *frame_of(const struct baseline_spec *spec, const char *path, struct err *err)
{
    struct csv_override *list = mem_array(json_object_size(spec->columns) + 1, sizeof(*list));
    struct csv_opts opts = { .overrides = list, .name = spec->file };
    const char *name = NULL;
    json_t *type = NULL;

    json_object_foreach((json_t *)spec->columns, name, type)
    {
        struct column_said said;
        struct csv_override *o = &list[opts.n_overrides];
        if (column_said("--columns", name, type, &said, err) < 0)
            break;
        *o = (struct csv_override){ .name = name,
                                    .missing = said.missing,
                                    .has_no_type = !said.type };
        opts.n_overrides++;
        (void)(said.type && csv_override_word(o, said.type));
    }
    struct frame *f = tablehead_frame(spec->file, &opts, path, err);
    for (int i = 0; i < opts.n_overrides; i++)
        mem_free((char **)list[i].missing);
    mem_free(list);
    return f;
}

/* ---- the model ---- */

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

static int model_make(const struct baseline_spec *spec, const struct frame *f, struct buf *out,
                      struct err *err)
{
    const struct family *family = family_find("baseline");
    double params[FAMILY_MAX_PARAMS] = { 0 };
    struct ml_data_spec problem = { .frame = f,
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
    struct tempdir temp = { 0 };
    char path[sizeof(temp.path) + 8];
    int rc = -1;

    *b = (struct baseline){ 0 };
    buf_init(&b->model, ARTIFACT_MAX_BYTES);
    if (tempdir_make(&temp, sizeof(temp.path), err) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/frame", temp.path);
    struct frame *f = frame_of(spec, path, err);
    if (f) {
        b->rows = f->rows;
        rc = model_make(spec, f, &b->model, err);
        frame_close(f);
    }
    tempdir_end(&temp, false);
    if (rc < 0)
        buf_clear(&b->model);
    return rc;
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
