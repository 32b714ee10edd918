/* fit_rig.c - see fit_rig.h. */
#include "tests/ml/fit_rig.h"

#include "base/mem.h"
#include "ml/model/models.h"

#include <math.h>
#include <unistd.h>

struct rig_table *rig_table_new(int64_t rows)
{
    struct rig_table *t = mem_zalloc(sizeof *t);

    t->rows = rows;
    return t;
}

void rig_table_free(struct rig_table *t)
{
    for (int c = 0; c < t->n_cols; c++) {
        mem_free(t->cols[c].num);
        mem_free(t->cols[c].codes);
    }
    mem_free(t);
}

double *rig_numbers(struct rig_table *t)
{
    int c = t->n_cols++;

    snprintf(t->cols[c].name, sizeof t->cols[c].name, "x%d", c);
    t->cols[c].num = mem_array((size_t)t->rows, sizeof(double));
    return t->cols[c].num;
}

int32_t *rig_levels(struct rig_table *t, int n_levels)
{
    int c = t->n_cols++;

    snprintf(t->cols[c].name, sizeof t->cols[c].name, "x%d", c);
    t->cols[c].codes = mem_array((size_t)t->rows, sizeof(int32_t));
    t->cols[c].n_levels = n_levels;
    return t->cols[c].codes;
}

struct rig_table *rig_mixed(enum ml_task task, int64_t rows, int classes, uint64_t seed)
{
    struct rig_table *t = rig_table_new(rows);
    double *x[6];
    struct rng r;

    rng_init(&r, seed, 5);
    for (int c = 0; c < 6; c++)
        x[c] = rig_numbers(t);
    int32_t *level = rig_levels(t, 12);
    double *y = rig_numbers(t);
    for (int64_t i = 0; i < rows; i++) {
        for (int c = 0; c < 6; c++)
            x[c][i] = c == 5 ? floor(4 * rng_unit(&r)) : rng_normal(&r);
        level[i] = (int32_t)rng_below(&r, 12);
        double s =
            x[0][i] + 0.7 * x[1][i] * x[2][i] + (level[i] % 3 - 1) * 0.8 + 0.4 * rng_normal(&r);
        if (rng_below(&r, 8) == 0)
            x[3][i] = (double)NAN;
        if (rng_below(&r, 5) == 0)
            level[i] = -1;
        y[i] = task == ML_REGRESSION ? 100 + 20 * s
               : task == ML_BINARY   ? s > 0.3
                                     : fmin(classes - 1, fmax(0, floor((s + 2) / 4 * classes)));
    }
    for (int c = 0; c < classes && task == ML_MULTICLASS; c++) /* every class has rows */
        y[c] = y[rows - 1 - c] = c;
    return t;
}

static void must(int rc, const struct err *err)
{
    if (rc < 0)
        fail_msg("%s", err->text);
}

struct frame *rig_frame(const struct rig_table *t)
{
    static int number;
    struct err err = { 0 };
    char file[64], path[512], hash[SHA256_HEX], text[32][16];
    const char *names[32];

    snprintf(file, sizeof file, "rig_%d_%d", (int)getpid(), number++);
    test_path(path, sizeof path, file);
    for (int i = 0; i < 32; i++) {
        snprintf(text[i], sizeof text[i], "level%02d", i);
        names[i] = text[i];
    }
    struct frame_writer *w = frame_writer_new(path, &err);
    assert_non_null(w);
    for (int c = 0; c < t->n_cols; c++) {
        const char *name = c + 1 == t->n_cols ? "y" : t->cols[c].name;
        if (t->cols[c].num)
            must(frame_writer_numeric(w, name, t->cols[c].num, t->rows, &err), &err);
        else
            must(frame_writer_categorical(w, name, t->cols[c].codes, t->rows, names,
                                          t->cols[c].n_levels, &err),
                 &err);
    }
    must(frame_writer_end(w, hash, &err), &err);
    struct frame *f = frame_open(path, &err);
    if (!f)
        fail_msg("%s", err.text);
    unlink(path);
    return f;
}

struct rig *rig_new(struct rig_table *t, enum ml_task task, enum metric_id metric, int folds)
{
    struct rig *r = mem_zalloc(sizeof *r);
    struct err err = { 0 };

    r->frame = rig_frame(t);
    rig_table_free(t);
    struct ml_data_spec spec = { .frame = r->frame,
                                 .target = "y",
                                 .positive = "",
                                 .task = task,
                                 .metric = metric,
                                 .folds = folds,
                                 .split_seed = 3 };
    if (task == ML_BINARY)
        spec.positive = "1";
    r->d = ml_data_open(&spec, &err);
    if (!r->d)
        fail_msg("%s", err.text);
    return r;
}

void rig_free(struct rig *r)
{
    ml_data_close(r->d);
    frame_close(r->frame);
    frame_close(r->test_frame);
    mem_free(r);
}

void rig_lane_train(const struct rig *r, const char *family, struct lane *l, int64_t steps,
                    const struct ml_stop *stop)
{
    struct err err = { 0 };

    l->max_steps = steps;
    l->is_done = l->steps_done >= steps;
    if (!l->is_done)
        must(model_find(family)->advance(r->d, l, 1, steps, stop, &err), &err);
    if (l->failed)
        fail_msg("%s", l->why.text);
}

struct lane rig_lane(const struct rig *r, const char *family, const double *params, int fold,
                     int64_t steps)
{
    const struct model_ops *ops = model_find(family);
    struct lane l = { .fold = fold, .seed = 11, .level = ops->family->levels };
    struct err err = { 0 };

    memcpy(l.params, params, (size_t)ops->family->n_params * sizeof *params);
    must(ops->open(r->d, &l, &err), &err);
    if (steps > 0)
        rig_lane_train(r, family, &l, steps, NULL);
    return l;
}

void rig_lane_close(const char *family, struct lane *l)
{
    model_find(family)->close(l);
}

struct buf rig_lane_bytes(const char *family, const struct lane *l, int64_t steps)
{
    struct buf b;
    struct err err = { 0 };

    buf_init(&b, 1u << 30);
    must(model_find(family)->save(l, steps, &b, &err), &err);
    return b;
}

void rig_bytes_broken(const struct rig *r, const char *family, enum ml_task task,
                      const struct buf *b)
{
    const struct model_ops *ops = model_find(family);
    struct err err = { 0 };

    for (size_t at = 0; at < b->len; at++) {
        uint8_t *bytes = mem_dup(b->data, b->len);
        bytes[at] ^= 0x80;
        struct view in = { bytes, at % 2 ? at : b->len, 0 };
        struct predictor *p = ops->predictor_load(r->d->prep, r->d->n_outputs, task, &in, &err);
        assert_true(at % 2 == 0 || p == NULL); /* short ones always */
        ops->predictor_free(p);
        mem_free(bytes);
    }
}

float *rig_predict(const struct rig *r, const char *family, const struct buf *bytes)
{
    const struct model_ops *ops = model_find(family);
    struct err err = { 0 };
    struct view in = { (const uint8_t *)bytes->data, bytes->len, 0 };
    struct prep_view *v = prep_view_new(r->d->prep, r->frame, &err);
    float *out = malloc((size_t)(r->d->rows * r->d->n_outputs) * sizeof *out);

    assert_non_null(v);
    struct predictor *p =
        ops->predictor_load(r->d->prep, r->d->n_outputs, r->d->spec.task, &in, &err);
    if (!p)
        fail_msg("%s", err.text);
    must(ops->predict(p, v, 0, r->d->rows, out, &err), &err);
    ops->predictor_free(p);
    prep_view_free(v);
    return out;
}

static int64_t look(void *ctx)
{
    struct rig_stop *s = ctx;

    return s->looks++;
}

void rig_stop_next(struct rig_stop *s)
{
    s->looks = 0;
    s->stop.deadline_us = rng_below(&s->rng, (uint32_t)s->most);
}

void rig_stop_init(struct rig_stop *s, uint64_t seed, int most)
{
    memset(s, 0, sizeof *s);
    rng_init(&s->rng, seed, 1);
    s->most = most;
    s->stop.now_us = look;
    s->stop.ctx = s;
    rig_stop_next(s);
}
