/* prep_save.c - a preparation as bytes, for checkpoints and model files, and read back from a
 * stranger: every count is compared with the bytes that are left before memory is taken, and every
 * number is checked for what the rest of ml/ relies on (ascending finite cuts, positive spreads).
 * The bytes are a pure function of the fitted state. */
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "ml/prep/prep_private.h"
#include "ml/prep/step.h"

#include <math.h>
#include <string.h>

enum {
    PREP_FORMAT = 1,
    /* of tables with images: their shape and the statistics of the channels come first */
    PREP_FORMAT_IMAGES = 2,
    /* The columns and the steps come before the inputs, which refer to them. Written only where
     * there is something that the other two cannot say. */
    PREP_FORMAT_STEPS = 3,
    /* the same, and then the gaps of columns; written only where a column has some */
    PREP_FORMAT_GAPS = 4,
    PREP_MAX_WORD = 40,
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

static int save_images(const struct prep *p, struct buf *out, struct err *err)
{
    const struct frame_image *m = &p->image;

    if (buf_put_u32(out, (uint32_t)m->height, err) < 0 ||
        buf_put_u32(out, (uint32_t)m->width, err) < 0 ||
        buf_put_u32(out, (uint32_t)m->channels, err) < 0)
        return -1;
    for (int c = 0; c < m->channels; c++) {
        if (buf_put_f64(out, p->channel_mean[c], err) < 0 ||
            buf_put_f64(out, p->channel_sd[c], err) < 0)
            return -1;
    }
    return 0;
}

/* Whether every input is a column as it is, with the bins that the older formats imply. */
static bool is_plain(const struct prep *p)
{
    if (p->n_steps > 0 || p->n_sources != p->n_cols || prep_gaps(p) > 0)
        return false;
    for (int i = 0; i < p->n_cols; i++) {
        const struct prep_col *c = &p->cols[i];
        if ((c->type == FRAME_CATEGORICAL && c->n_bins != MIN(c->n_levels, PREP_MAX_BINS)) ||
            c->scale != PREP_AS_IS || p->sources[c->source].type != c->type)
            return false;
    }
    return true;
}

static int save_steps(const struct prep *p, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, (uint32_t)p->n_sources, err) < 0)
        return -1;
    for (int i = 0; i < p->n_sources; i++) {
        const struct prep_source *s = &p->sources[i];
        if (buf_put_str(out, s->name, err) < 0 || buf_put_u8(out, (uint8_t)s->type, err) < 0 ||
            buf_put_u8(out, (uint8_t)s->kind, err) < 0)
            return -1;
    }
    if (buf_put_u32(out, (uint32_t)p->n_steps, err) < 0)
        return -1;
    for (int i = 0; i < p->n_steps; i++) {
        const struct prep_step *s = &p->steps[i];
        if (buf_put_str(out, s->ops->word, err) < 0 ||
            buf_put_u32(out, (uint32_t)s->n_sources, err) < 0)
            return -1;
        for (int k = 0; k < s->n_sources; k++) {
            if (buf_put_u32(out, (uint32_t)s->source[k], err) < 0)
                return -1;
        }
        if (s->ops->save(s, out, err) < 0)
            return -1;
    }
    return 0;
}

/* What the formats before PREP_FORMAT_STEPS cannot say of an input. */
static int save_derived(const struct prep_col *c, struct buf *out, struct err *err)
{
    if (buf_put_u32(out, (uint32_t)c->source, err) < 0 ||
        buf_put_u32(out, (uint32_t)(c->step + 1), err) < 0 ||
        buf_put_u32(out, (uint32_t)c->part, err) < 0 ||
        buf_put_u32(out, (uint32_t)c->n_bins, err) < 0 || buf_put_f64(out, c->cycle, err) < 0 ||
        buf_put_u8(out, (uint8_t)c->scale, err) < 0 || buf_put_f64(out, c->unit, err) < 0)
        return -1;
    for (int i = 0; c->scale == PREP_RANKS && i <= c->n_bins; i++) {
        if (buf_put_f64(out, c->ranks[i], err) < 0)
            return -1;
    }
    for (int i = 0; c->cycle > 0 && i < 2 * PREP_WAVES; i++) {
        if (buf_put_f64(out, c->wave_mean[i], err) < 0 || buf_put_f64(out, c->wave_sd[i], err) < 0)
            return -1;
    }
    return 0;
}

int prep_save(const struct prep *p, struct buf *out, struct err *err)
{
    bool has_images = p->image.height > 0, has_steps = !is_plain(p);
    bool has_gaps = prep_gaps(p) > 0;
    int format = has_gaps     ? PREP_FORMAT_GAPS
                 : has_steps  ? PREP_FORMAT_STEPS
                 : has_images ? PREP_FORMAT_IMAGES
                              : PREP_FORMAT;

    if (buf_put_u32(out, (uint32_t)format, err) < 0 ||
        (has_steps && buf_put_u8(out, has_images, err) < 0) ||
        (has_images && save_images(p, out, err) < 0) ||
        (has_steps && save_steps(p, out, err) < 0) ||
        buf_put_u32(out, (uint32_t)p->n_cols, err) < 0)
        return -1;
    for (int i = 0; i < p->n_cols; i++) {
        const struct prep_col *c = &p->cols[i];
        if (buf_put_str(out, c->name, err) < 0 || buf_put_u8(out, (uint8_t)c->type, err) < 0 ||
            buf_put_u8(out, c->has_missing, err) < 0)
            return -1;
        if ((c->type == FRAME_NUMERIC ? save_numeric(c, out, err) : save_categorical(c, out, err)) <
            0)
            return -1;
        if (has_steps && save_derived(c, out, err) < 0)
            return -1;
    }
    return has_gaps ? prep_gaps_save(p, out, err) : 0;
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

static int load_images(struct prep *p, struct view *in, struct err *err)
{
    uint32_t h = 0, w = 0, c = 0;

    if (view_u32(in, &h, err) < 0 || view_u32(in, &w, err) < 0 || view_u32(in, &c, err) < 0)
        return -1;
    if (h < 1 || w < 1 || c < 1 || c > FRAME_MAX_CHANNELS || h > PREP_MAX_COLS ||
        w > PREP_MAX_COLS / h / c)
        return broken(err);
    p->image = (struct frame_image){ 0, (int)h, (int)w, (int)c, false };
    for (uint32_t i = 0; i < c; i++) {
        if (view_f64(in, &p->channel_mean[i], err) < 0 || view_f64(in, &p->channel_sd[i], err) < 0)
            return -1;
        if (!isfinite(p->channel_mean[i]) || !isfinite(p->channel_sd[i]) || !(p->channel_sd[i] > 0))
            return broken(err);
    }
    return 0;
}

static int load_source(struct prep_source *s, struct view *in, struct err *err)
{
    uint8_t type = 0, kind = 0;

    s->input = -1;
    if (load_text(in, &s->name, err) < 0 || view_u8(in, &type, err) < 0 ||
        view_u8(in, &kind, err) < 0)
        return -1;
    s->type = (enum frame_type)type;
    s->kind = (enum frame_kind)kind;
    if (!*s->name || (type != FRAME_NUMERIC && type != FRAME_CATEGORICAL) || kind >= FRAME_KINDS ||
        !frame_kind_fits(s->kind, s->type))
        return broken(err);
    return 0;
}

static int load_step(const struct prep *p, struct prep_step *s, struct view *in, struct err *err)
{
    char *word = NULL;
    uint32_t n = 0, at = 0;

    if (view_str(in, &word, PREP_MAX_WORD, err) < 0)
        return -1;
    s->ops = step_find(word);
    if (!s->ops)
        err_set(err, ERR_VERSION, "this program has no step \"%.40s\"", word);
    mem_free(word);
    if (!s->ops || view_u32(in, &n, err) < 0)
        return -1;
    if (n < 1 || n > PREP_SOURCES)
        return broken(err);
    s->n_sources = (int)n;
    for (uint32_t k = 0; k < n; k++) {
        if (view_u32(in, &at, err) < 0)
            return -1;
        if (at >= (uint32_t)p->n_sources)
            return broken(err);
        s->source[k] = (int)at;
    }
    if (s->ops->load(s, in, err) < 0)
        return -1;
    return s->n_parts >= 1 && s->n_parts <= STEP_MAX_PARTS ? 0 : broken(err);
}

static int load_steps(struct prep *p, struct view *in, struct err *err)
{
    enum { SOURCE_LEAST_BYTES = 6, STEP_LEAST_BYTES = 12 };
    uint32_t n = 0;

    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n < 1 || n > PREP_MAX_COLS || n > bytes_left(in) / SOURCE_LEAST_BYTES)
        return broken(err);
    p->sources = mem_array((size_t)n + 1, sizeof *p->sources);
    /* counted before it is read: what a failed one holds is freed as well */
    while (p->n_sources < (int)n) {
        if (load_source(&p->sources[p->n_sources++], in, err) < 0)
            return -1;
    }
    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n > bytes_left(in) / STEP_LEAST_BYTES)
        return broken(err);
    p->steps = mem_array((size_t)n + 1, sizeof *p->steps);
    for (uint32_t i = 0; i < n; i++) {
        int rc = load_step(p, &p->steps[i], in, err);
        p->n_steps += p->steps[i].ops != NULL;
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int load_waves(struct prep_col *c, struct view *in, struct err *err)
{
    for (int i = 0; i < 2 * PREP_WAVES; i++) {
        if (view_f64(in, &c->wave_mean[i], err) < 0 || view_f64(in, &c->wave_sd[i], err) < 0)
            return -1;
        if (!(fabs(c->wave_mean[i]) <= 1) || !(c->wave_sd[i] > 0 && c->wave_sd[i] <= 1))
            return broken(err);
    }
    return 0;
}

/* n_bins is checked already. */
static int load_ranks(struct prep_col *c, struct view *in, struct err *err)
{
    c->ranks = mem_array((size_t)c->n_bins + 1, sizeof *c->ranks);
    for (int i = 0; i <= c->n_bins; i++) {
        if (view_f64(in, &c->ranks[i], err) < 0)
            return -1;
        if (!(c->ranks[i] >= (i > 0 ? c->ranks[i - 1] : 0) && c->ranks[i] <= 1))
            return broken(err);
    }
    return 0;
}

static int load_derived(struct prep *p, int i, struct view *in, struct err *err)
{
    struct prep_col *c = &p->cols[i];
    uint32_t source = 0, step = 0, part = 0, n_bins = 0;
    uint8_t scale = 0;

    if (view_u32(in, &source, err) < 0 || view_u32(in, &step, err) < 0 ||
        view_u32(in, &part, err) < 0 || view_u32(in, &n_bins, err) < 0 ||
        view_f64(in, &c->cycle, err) < 0 || view_u8(in, &scale, err) < 0 ||
        view_f64(in, &c->unit, err) < 0)
        return -1;
    c->scale = (enum prep_scale)scale;
    if (scale >= PREP_SCALES || (scale && c->type != FRAME_NUMERIC) || !isfinite(c->unit) ||
        ((scale == PREP_LOG || scale == PREP_ROBUST) && !(c->unit > 0)))
        return broken(err);
    if (source >= (uint32_t)p->n_sources || step > (uint32_t)p->n_steps ||
        !(c->cycle >= 0 && c->cycle < 1e9) || n_bins < 1 || n_bins > (uint32_t)c->n_bins ||
        (c->type == FRAME_NUMERIC && n_bins != (uint32_t)c->n_bins))
        return broken(err);
    c->source = (int)source;
    c->step = (int)step - 1;
    c->part = (int)part;
    c->n_bins = (int)n_bins;
    if (c->scale == PREP_RANKS && load_ranks(c, in, err) < 0)
        return -1;
    struct prep_source *s = &p->sources[source];
    /* whole numbers may be levels, levels never numbers */
    bool suits = s->type == c->type || (s->type == FRAME_NUMERIC && s->kind == FRAME_PLAIN);
    if (c->step < 0 ? !suits || s->input >= 0 || c->cycle > 0
                    : c->type != FRAME_NUMERIC || part >= (uint32_t)p->steps[c->step].n_parts)
        return broken(err);
    if (c->step < 0)
        s->input = i;
    return c->cycle > 0 ? load_waves(c, in, err) : 0;
}

/* In the formats before PREP_FORMAT_STEPS every input is a column as it is. */
static void plain_sources(struct prep *p)
{
    p->sources = mem_array((size_t)p->n_cols + 1, sizeof *p->sources);
    p->n_sources = p->n_cols;
    for (int i = 0; i < p->n_cols; i++) {
        p->cols[i].source = i;
        p->cols[i].step = -1;
        p->sources[i] = (struct prep_source){ mem_strdup(p->cols[i].name), p->cols[i].type,
                                              FRAME_PLAIN, i, NULL };
    }
}

static int load_inputs(struct prep *p, bool has_steps, struct view *in, struct err *err)
{
    /* The fewest bytes that an input takes in the file. A file can therefore not make us reserve
     * memory for many more inputs than it has bytes for. */
    enum { COL_LEAST_BYTES = 15 };
    uint32_t n = 0;

    if (view_u32(in, &n, err) < 0)
        return -1;
    if (n < 1 || n > PREP_MAX_COLS || n > bytes_left(in) / COL_LEAST_BYTES)
        return broken(err);
    p->cols = mem_array((size_t)n + 1, sizeof(*p->cols));
    for (p->n_cols = 0; p->n_cols < (int)n; p->n_cols++) {
        if (load_col(&p->cols[p->n_cols], in, err) < 0 ||
            (has_steps && load_derived(p, p->n_cols, in, err) < 0))
            return -1;
    }
    if (!has_steps)
        plain_sources(p);
    for (int i = 0; i < p->n_steps; i++) {
        const struct prep_step *s = &p->steps[i];
        if (s->ops->suits && !s->ops->suits(p, s))
            return broken(err);
    }
    prep_layout(p);
    return p->width <= PREP_MAX_WIDTH ? 0 : broken(err);
}

struct prep *prep_load(struct view *in, struct err *err)
{
    uint32_t format = 0;
    uint8_t has_images = 0;

    if (view_u32(in, &format, err) < 0)
        return NULL;
    if (format < PREP_FORMAT || format > PREP_FORMAT_GAPS) {
        err_set(err, ERR_VERSION, "preparation of format %u; this program reads formats %d to %d",
                format, PREP_FORMAT, PREP_FORMAT_GAPS);
        return NULL;
    }
    bool has_steps = format >= PREP_FORMAT_STEPS;
    if (has_steps && view_u8(in, &has_images, err) < 0)
        return NULL;
    if (has_images > 1) {
        broken(err);
        return NULL;
    }
    struct prep *p = mem_zalloc(sizeof(*p));
    if (((has_images || format == PREP_FORMAT_IMAGES) && load_images(p, in, err) < 0) ||
        (has_steps && load_steps(p, in, err) < 0) || load_inputs(p, has_steps, in, err) < 0 ||
        (format == PREP_FORMAT_GAPS && prep_gaps_load(p, in, err) < 0)) {
        prep_free(p);
        return NULL;
    }
    return p;
}
