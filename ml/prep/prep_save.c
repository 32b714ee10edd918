/* prep_save.c - a preparation as bytes, for checkpoints and model files, and read back from a
 * stranger: every count is compared with the bytes that are left before memory is taken, and every
 * number is checked for what the rest of ml/ relies on (ascending finite cuts, positive spreads).
 * The bytes are a pure function of the fitted state. */
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/prep/prep_private.h"

#include <math.h>
#include <string.h>

enum {
    PREP_FORMAT = 1,
    PREP_MAX_COLS = 1 << 20,
    PREP_MAX_TEXT = 1 << 20,
    PREP_MAX_WIDTH = 1 << 24
};

static int save_hot(const struct prep_col *c, int n, struct buf *out, struct err *err)
{
    for (int i = 0; i < n; i++) {
        if (buf_put_f64(out, c->hot_mean[i], err) < 0 || buf_put_f64(out, c->hot_sd[i], err) < 0)
            return -1;
    }
    return 0;
}

static int save_numeric(const struct prep_col *c, struct buf *out, struct err *err)
{
    const double values[] = { c->lo, c->hi, c->median, c->mean, c->sd };

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        if (buf_put_f64(out, values[i], err) < 0)
            return -1;
    }
    if (buf_put_u32(out, (uint32_t)c->n_bins, err) < 0)
        return -1;
    for (int i = 0; i + 1 < c->n_bins; i++) {
        if (buf_put_f32(out, c->cuts[i], err) < 0)
            return -1;
    }
    return save_hot(c, c->has_missing, out, err);
}

static int save_categorical(const struct prep_col *c, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, (uint32_t)c->n_levels, err) < 0 ||
        buf_put_u32(out, (uint32_t)c->n_hot, err) < 0 || buf_put_u8(out, c->has_other, err) < 0)
        return -1;
    for (int i = 0; i < c->n_levels; i++) {
        if (buf_put_str(out, c->levels[i], err) < 0)
            return -1;
    }
    return save_hot(c, c->n_hot + c->has_other + c->has_missing, out, err);
}

int prep_save(const struct prep *p, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, PREP_FORMAT, err) < 0 || buf_put_u32(out, (uint32_t)p->n_cols, err) < 0)
        return -1;
    for (int i = 0; i < p->n_cols; i++) {
        const struct prep_col *c = &p->cols[i];
        if (buf_put_str(out, c->name, err) < 0 || buf_put_u8(out, (uint8_t)c->type, err) < 0 ||
            buf_put_u8(out, c->has_missing, err) < 0)
            return -1;
        if ((c->type == FRAME_NUMERIC ? save_numeric(c, out, err) : save_categorical(c, out, err)) <
            0)
            return -1;
    }
    return 0;
}

/* ---- loading ---- */

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the preparation in this file is damaged");
}

static size_t bytes_left(const struct view *in)
{
    return in->len - in->pos;
}

static int load_bool(struct view *in, bool *out, struct err *err)
{
    uint8_t v = 0;

    if (view_u8(in, &v, err) < 0)
        return -1;
    *out = v == 1;
    return v > 1 ? broken(err) : 0;
}

static int load_hot(struct prep_col *c, int n, struct view *in, struct err *err)
{
    c->hot_mean = mem_array((size_t)n + 1, sizeof(double));
    c->hot_sd = mem_array((size_t)n + 1, sizeof(double));
    for (int i = 0; i < n; i++) {
        if (view_f64(in, &c->hot_mean[i], err) < 0 || view_f64(in, &c->hot_sd[i], err) < 0)
            return -1;
        if (!(c->hot_mean[i] >= 0 && c->hot_mean[i] <= 1 && c->hot_sd[i] >= 0 && c->hot_sd[i] <= 1))
            return broken(err);
    }
    return 0;
}

static int load_numeric(struct prep_col *c, struct view *in, struct err *err)
{
    double *const values[] = { &c->lo, &c->hi, &c->median, &c->mean, &c->sd };
    uint32_t n = 0;

    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        if (view_f64(in, values[i], err) < 0)
            return -1;
        if (!isfinite(*values[i]))
            return broken(err);
    }
    if (view_u32(in, &n, err) < 0)
        return -1;
    if (!(c->sd > 0) || c->lo > c->hi || n < 1 || n > PREP_MAX_BINS)
        return broken(err);
    c->n_bins = (int)n;
    c->cuts = mem_array(n, sizeof(*c->cuts));
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (view_f32(in, &c->cuts[i], err) < 0)
            return -1;
        if (!isfinite(c->cuts[i]) || (i > 0 && c->cuts[i] <= c->cuts[i - 1]))
            return broken(err);
    }
    return load_hot(c, c->has_missing, in, err);
}

static int load_text(struct view *in, char **out, struct err *err)
{
    if (view_str(in, out, PREP_MAX_TEXT, err) < 0)
        return -1;
    return utf8_ok(*out, strlen(*out)) ? 0 : broken(err);
}

static int load_categorical(struct prep_col *c, struct view *in, struct err *err)
{
    uint32_t n = 0, n_hot = 0;

    if (view_u32(in, &n, err) < 0 || view_u32(in, &n_hot, err) < 0 ||
        load_bool(in, &c->has_other, err) < 0)
        return -1;
    if (n < 1 || n > PREP_MAX_LEVELS || n > bytes_left(in) / 4 || n_hot > PREP_MAX_HOT ||
        n_hot > n || (c->has_other && n_hot == n))
        return broken(err);
    c->n_levels = (int)n;
    c->n_hot = (int)n_hot;
    c->n_bins = MIN(c->n_levels, PREP_MAX_BINS);
    c->levels = mem_array(n + 1, sizeof(*c->levels));
    for (uint32_t i = 0; i < n; i++) {
        if (load_text(in, &c->levels[i], err) < 0)
            return -1;
    }
    return load_hot(c, c->n_hot + c->has_other + c->has_missing, in, err);
}

static int load_col(struct prep_col *c, struct view *in, struct err *err)
{
    uint8_t type = 0;

    if (load_text(in, &c->name, err) < 0 || view_u8(in, &type, err) < 0 ||
        load_bool(in, &c->has_missing, err) < 0)
        return -1;
    if (!*c->name || (type != FRAME_NUMERIC && type != FRAME_CATEGORICAL))
        return broken(err);
    c->type = (enum frame_type)type;
    return type == FRAME_NUMERIC ? load_numeric(c, in, err) : load_categorical(c, in, err);
}

struct prep *prep_load(struct view *in, struct err *err)
{
    enum {
        COL_LEAST_BYTES = 15
    }; /* of any column in the file, so that a count cannot ask for much more memory */
    uint32_t format = 0, n = 0;
    struct prep *p = NULL;

    if (view_u32(in, &format, err) < 0 || view_u32(in, &n, err) < 0)
        return NULL;
    if (format != PREP_FORMAT) {
        err_set(err, ERR_VERSION, "preparation of format %u; this program reads format %d", format,
                PREP_FORMAT);
        return NULL;
    }
    if (n < 1 || n > PREP_MAX_COLS || n > bytes_left(in) / COL_LEAST_BYTES) {
        broken(err);
        return NULL;
    }
    p = mem_zalloc(sizeof(*p));
    p->cols = mem_array((size_t)n + 1, sizeof(*p->cols));
    for (p->n_cols = 0; p->n_cols < (int)n; p->n_cols++) {
        if (load_col(&p->cols[p->n_cols], in, err) < 0)
            goto fail;
    }
    prep_layout(p);
    if (p->width <= PREP_MAX_WIDTH)
        return p;
    broken(err);
fail:
    prep_free(p);
    return NULL;
}
