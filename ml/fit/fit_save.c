/* fit_save.c - checkpoints of a trial: the recorded values of every point, and each lane's own
 * bytes.
 *
 * Only whole steps are written. A step that a lane had half done is done again after loading, with
 * equal bits. Predictions are not written: they are made again from the models when they are asked
 * for. A level that is cheaper to train again than to read is left out as a whole. The bytes hold
 * no time and no machine. Called by the worker. */
#include "ml/fit/fit_private.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

/* MAX_POINTS bounds what a damaged file can make us read. */
enum { FIT_FORMAT = 2, FIT_FORMAT_EPOCHS = 3, MAX_POINTS = 1 << 20 };

/* Where lanes note their epochs, the notes follow the points. */
static uint32_t format_of(const struct fit_trial *t)
{
    return t->ops->has_epochs ? FIT_FORMAT_EPOCHS : FIT_FORMAT;
}

/* Everything is written as it is made, because `out` may be a file: the models of the lanes are
 * most of the memory that a trial holds. */
static int lane_save(const struct fit_trial *t, const struct fit_run *r, int f, struct buf *out,
                     struct err *err)
{
    const struct lane *l = &r->lanes[f];

    if (buf_put_u32(out, (uint32_t)r->n_values[f], err) < 0)
        return -1;
    int rc = t->ops->save_training ? t->ops->save_training(l, out, err)
                                   : t->ops->save(l, l->steps_done, out, err);
    if (rc < 0)
        return -1;
    for (int p = 0; p < r->n_values[f]; p++) {
        const struct fit_value *v = &r->values[p * SPLIT_MAX_FOLDS + f];
        if (buf_put_f64(out, v->select, err) < 0 || buf_put_f64(out, v->score, err) < 0 ||
            buf_put_f64(out, v->se, err) < 0)
            return -1;
    }
    return t->ops->has_epochs ? epoch_log_save(&r->logs[f], l->steps_done, out, err) : 0;
}

/* A run: the level it was opened for (0 = no run), its lanes and their points. */
static int run_save(const struct fit_trial *t, const struct fit_run *r, struct buf *out,
                    struct err *err)
{
    if (buf_put_u32(out, r ? (uint32_t)r->level : 0, err) < 0)
        return -1;
    if (!r)
        return 0;
    if (buf_put_u32(out, (uint32_t)r->n_lanes, err) < 0)
        return -1;
    for (int f = 0; f < r->n_lanes; f++) {
        if (lane_save(t, r, f, out, err) < 0)
            return -1;
    }
    return 0;
}

/* Nothing is written of a level on some folds that is trained again with the rest. */
static bool is_soon_done_again(const struct fit_trial *t)
{
    struct family_shape s = fit_shape(t);

    return t->level > 0 && t->level < fit_trial_levels(t) && t->target <= t->level && t->run &&
           t->run->n_lanes < t->folds && family_level_is_redone(t->f, &s, t->params, t->level);
}

/* Format: FIT_FORMAT, what names the trial (see head_load), the level reached, the parameters, then
 * the two runs. */
int fit_trial_save(struct fit_trial *t, struct buf *out, struct err *err)
{
    bool is_short = is_soon_done_again(t);

    if (t->is_cut)
        return err_set(err, ERR_CONFLICT, "a trial that was cut does not go on");
    if (buf_put_u32(out, format_of(t), err) < 0 || buf_put_str(out, t->f->name, err) < 0 ||
        buf_put_u64(out, t->seed, err) < 0 || buf_put_u64(out, (uint64_t)t->d->rows, err) < 0 ||
        buf_put_u32(out, (uint32_t)t->folds, err) < 0 ||
        buf_put_u32(out, is_short ? 0 : (uint32_t)t->level, err) < 0)
        return -1;
    for (int i = 0; i < t->f->n_params; i++) {
        if (buf_put_f64(out, t->params[i], err) < 0)
            return -1;
    }
    return run_save(t, is_short ? NULL : t->run, out, err) < 0
               ? -1
               : run_save(t, is_short ? NULL : t->before, out, err);
}

/* The checkpoint must be of this very trial: the same family, seed, table size, folds and
 * parameters. */
static int head_load(struct fit_trial *t, struct view *in, struct err *err)
{
    uint32_t format = 0, folds = 0, level = 0;
    uint64_t seed = 0, rows = 0;
    char *name = NULL;
    int rc = -1;

    if (view_u32(in, &format, err) < 0)
        return -1;
    if (format != format_of(t))
        return err_set(err, ERR_VERSION, "checkpoint: format %u, this program reads %u", format,
                       format_of(t));
    if (view_str(in, &name, 64, err) < 0 || view_u64(in, &seed, err) < 0 ||
        view_u64(in, &rows, err) < 0 || view_u32(in, &folds, err) < 0 ||
        view_u32(in, &level, err) < 0)
        goto out;
    if (strcmp(name, t->f->name) != 0 || seed != t->seed || rows != (uint64_t)t->d->rows ||
        folds != (uint32_t)t->folds || level > (uint32_t)fit_trial_levels(t)) {
        err_set(err, ERR_ARG, "checkpoint: of another trial");
        goto out;
    }
    for (int i = 0; i < t->f->n_params; i++) {
        double v = 0;
        if (view_f64(in, &v, err) < 0)
            goto out;
        if (v != t->params[i]) {
            err_set(err, ERR_ARG, "checkpoint: of other parameters");
            goto out;
        }
    }
    t->level = (int)level;
    rc = 0;
out:
    mem_free(name);
    return rc;
}

/* One lane and its points, in the order of lane_save. */
static int lane_load(struct fit_trial *t, struct fit_run *r, int f, struct view *in,
                     struct err *err)
{
    uint32_t points = 0;

    if (view_u32(in, &points, err) < 0)
        return -1;
    if (points > MAX_POINTS)
        return err_set(err, ERR_ARG, "checkpoint: a lane of %u points", points);
    if (t->ops->load(t->d, &r->lanes[f], in, err) < 0)
        return -1;
    for (uint32_t p = 0; p < points; p++) {
        struct fit_value v;
        if (view_f64(in, &v.select, err) < 0 || view_f64(in, &v.score, err) < 0 ||
            view_f64(in, &v.se, err) < 0)
            return -1;
        fit_point_put(r, f, &v);
    }
    return t->ops->has_epochs ? epoch_log_load(&r->logs[f], r->lanes[f].steps_done, in, err) : 0;
}

/* Lanes are opened as for a fresh run; the family then replaces their state by the saved one. */
static int run_load(struct fit_trial *t, struct fit_run **out, struct view *in, struct err *err)
{
    uint32_t level = 0, n_lanes = 0;

    if (view_u32(in, &level, err) < 0)
        return -1;
    if (level == 0)
        return 0;
    if (level > (uint32_t)fit_trial_levels(t) || view_u32(in, &n_lanes, err) < 0 ||
        n_lanes > (uint32_t)t->folds)
        return err_set(err, ERR_ARG, "checkpoint: broken level");
    *out = fit_run_new(t, (int)level);
    if (fit_run_open(t, *out, (int)n_lanes, err) < 0)
        return -1;
    for (uint32_t f = 0; f < n_lanes; f++) {
        if (lane_load(t, *out, (int)f, in, err) < 0)
            return -1;
    }
    return 0;
}

int fit_trial_load(struct fit_trial *t, struct view *in, struct err *err)
{
    CHECK(!t->run && t->level == 0 && !t->is_cut);
    if (head_load(t, in, err) < 0 || run_load(t, &t->run, in, err) < 0 ||
        run_load(t, &t->before, in, err) < 0)
        goto fail;
    if (in->pos != in->len) {
        err_set(err, ERR_ARG, "checkpoint: followed by something else");
        goto fail;
    }
    /* The run was opened for the lowest level of its key; the plan of the level reached has the
     * same points and more. */
    if (t->run && t->level > 0) {
        struct family_plan plan;
        fit_plan(t, t->level, &plan);
        t->run->plan = plan.key == t->run->plan.key ? plan : t->run->plan;
    }
    if (t->level > 0 && !t->run && !t->before) {
        err_set(err, ERR_ARG, "checkpoint: a level without a model");
        goto fail;
    }
    return 0;
fail:
    fit_run_free(t, t->run);
    fit_run_free(t, t->before);
    t->run = t->before = NULL;
    t->level = 0;
    return -1;
}
