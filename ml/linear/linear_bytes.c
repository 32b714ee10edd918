/* linear_bytes.c - the bytes of a linear model: checkpoints and the model section of a model file.
 *
 * A head, then the weights of every step, without the places between outputs and lanes. With an L1
 * penalty most are 0: then a step is the number of the others, and the place and value of each.
 * Called by linear.c, and through model_linear. */
#include "ml/linear/linear_file.h"

#include "base/base.h"
#include "ml/linear/linear.h"

#include <math.h>
#include <string.h>

/* the formats: all weights, or only those that are not 0 */
enum { LINEAR_FORMAT = 1, LINEAR_FORMAT_FEW = 2 };

static int step_save(const struct linear_lane *l, const double *w, struct buf *out, struct err *err)
{
    bool is_few = l->l1_ratio > 0;
    uint32_t n = 0, place = 0;

    for (int64_t i = 0; is_few && i < linear_weights(l); i++)
        n += w[i] != 0;
    if (is_few && buf_put_u32(out, n, err) < 0)
        return -1;
    for (int64_t i = 0; i < linear_weights(l); i++) {
        if (i % l->lanes >= l->outputs)
            continue;
        bool is_put = !is_few || w[i] != 0;
        if (is_put && is_few && buf_put_u32(out, place, err) < 0)
            return -1;
        if (is_put && buf_put_f64(out, w[i], err) < 0)
            return -1;
        place++;
    }
    return 0;
}

int linear_save(const struct lane *lane, int64_t steps, struct buf *out, struct err *err)
{
    const struct linear_lane *l = lane->state;

    CHECK(steps <= lane->steps_done);
    if (buf_put_u32(out, l->l1_ratio > 0 ? LINEAR_FORMAT_FEW : LINEAR_FORMAT, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->outputs, err) < 0 ||
        buf_put_u32(out, (uint32_t)l->cols, err) < 0 || buf_put_f64(out, l->mean, err) < 0 ||
        buf_put_f64(out, l->spread, err) < 0 || buf_put_u32(out, (uint32_t)steps, err) < 0)
        return -1;
    for (int64_t s = 0; s < steps; s++) {
        if (step_save(l, l->path[s], out, err) < 0)
            return -1;
    }
    return 0;
}

int linear_head_load(struct view *in, int outputs, int cols, struct linear_head *h, struct err *err)
{
    uint32_t k = 0, c = 0;

    if (view_u32(in, &h->format, err) < 0)
        return -1;
    if (h->format != LINEAR_FORMAT && h->format != LINEAR_FORMAT_FEW)
        return err_set(err, ERR_VERSION, "linear: format %u, this program reads %d and %d",
                       h->format, LINEAR_FORMAT, LINEAR_FORMAT_FEW);
    if (view_u32(in, &k, err) < 0 || view_u32(in, &c, err) < 0 || view_f64(in, &h->mean, err) < 0 ||
        view_f64(in, &h->spread, err) < 0 || view_u32(in, &h->steps, err) < 0)
        return -1;
    if (k != (uint32_t)outputs || c != (uint32_t)cols)
        return err_set(err, ERR_ARG,
                       "linear: a model of %u outputs and %u columns, expected %d and %d", k, c,
                       outputs, cols);
    if (h->steps > LINEAR_MOST_STEPS || !isfinite(h->mean) || !isfinite(h->spread))
        return err_set(err, ERR_ARG, "linear: the head of the model bytes is damaged");
    return 0;
}

static int weight_load(struct view *in, double *w, struct err *err)
{
    if (view_f64(in, w, err) < 0)
        return -1;
    return isfinite(*w) ? 0 : err_set(err, ERR_ARG, "linear: a weight is not a number");
}

/* Places ascend, so that there are no more of them than weights. */
static int few_weights_load(struct view *in, double *w, int64_t n, int outputs, int lanes,
                            struct err *err)
{
    uint32_t count = 0, place = 0;
    int64_t before = -1;

    memset(w, 0, (size_t)n * sizeof *w);
    if (view_u32(in, &count, err) < 0)
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        if (view_u32(in, &place, err) < 0)
            return -1;
        if (place <= before || place >= n / lanes * outputs)
            return err_set(err, ERR_ARG, "linear: a weight has no place");
        before = place;
        if (weight_load(in,
                        &w[place / (uint32_t)outputs * (uint32_t)lanes + place % (uint32_t)outputs],
                        err) < 0)
            return -1;
    }
    return 0;
}

int linear_weights_load(struct view *in, const struct linear_head *h, double *w, int64_t n,
                        int outputs, int lanes, struct err *err)
{
    if (h->format == LINEAR_FORMAT_FEW)
        return few_weights_load(in, w, n, outputs, lanes, err);
    for (int64_t i = 0; i < n; i++) {
        w[i] = 0;
        if (i % lanes < outputs && weight_load(in, &w[i], err) < 0)
            return -1;
    }
    return 0;
}

int linear_load(struct ml_data *d, struct lane *lane, struct view *in, struct err *err)
{
    struct linear_lane *l = lane->state;
    struct linear_head h = { 0 };

    (void)d;
    if (linear_head_load(in, l->outputs, l->cols, &h, err) < 0)
        return -1;
    l->opt.is_started = false;
    l1_free(l->l1);
    l->l1 = NULL;
    for (uint32_t s = 0; s < h.steps; s++) {
        if (!l->path[s] && linear_step_start(l, (int)s, err) < 0)
            return -1;
        if (linear_weights_load(in, &h, l->path[s], linear_weights(l), l->outputs, l->lanes, err) <
            0)
            return -1;
    }
    lane->steps_done = h.steps;
    lane->is_done = false;
    return 0;
}
