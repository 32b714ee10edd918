/* effects_bytes.c - the state of step_effects.c: its layout, its end, and its bytes, which may come
 * from a stranger. */
#include "base/mem.h"
#include "ml/prep/effects_state.h"

#include <math.h>

enum { MOST_OUTPUTS = 8 };

void effects_layout(struct effects_state *t)
{
    t->levels = t->shown_levels = 0;
    t->n_shown = 0;
    for (int k = 0; k < t->n_cols; k++) {
        struct effect_col *c = &t->col[k];
        c->first = (int32_t)t->levels;
        c->shown_at = t->shown_levels;
        t->levels += c->n_levels + 2;
        if (!c->is_shown)
            continue;
        t->shown[t->n_shown++] = k;
        t->shown_levels += c->n_levels + 2;
    }
}

void effects_free(struct effects_state *t)
{
    if (!t)
        return;
    for (int k = 0; k < PREP_SOURCES; k++)
        mem_try_free(t->col[k].number);
    level_state_free(t->target);
    mem_try_free(t->value);
    kept_fits_free(t->kept);
    mem_try_free(t->level);
    mem_free(t);
}

/* [n] numbers of a column that are saved with it */
static int numbers_of(const struct effect_col *c)
{
    return c->kind == EFFECT_CODES ? c->n_levels : c->kind == EFFECT_BINS ? c->n_levels - 1 : 0;
}

static int col_save(const struct effect_col *c, struct buf *out, struct err *err)
{
    if (buf_put_u8(out, (uint8_t)c->kind, err) < 0 || buf_put_u8(out, c->is_shown, err) < 0 ||
        buf_put_u32(out, (uint32_t)c->n_levels, err) < 0)
        return -1;
    for (int i = 0; i < numbers_of(c); i++) {
        if (buf_put_f64(out, c->number[i], err) < 0)
            return -1;
    }
    return 0;
}

int effects_save(const struct effects_state *t, struct buf *out, struct err *err)
{
    int64_t n = t->target->n_means * t->shown_levels;

    if (buf_put_u8(out, (uint8_t)t->n_cols, err) < 0 ||
        buf_put_u8(out, (uint8_t)t->target->n_means, err) < 0 ||
        buf_put_u8(out, t->target->labels != NULL, err) < 0 ||
        buf_put_f64(out, t->penalty, err) < 0 || level_labels_save(t->target, out, err) < 0)
        return -1;
    for (int k = 0; k < t->n_cols; k++) {
        if (col_save(&t->col[k], out, err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < n; i++) {
        if (buf_put_f32(out, t->value[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the effects of levels in this file are damaged");
}

static int col_load(struct effect_col *c, struct view *in, struct err *err)
{
    uint8_t kind = 0, is_shown = 0;
    uint32_t levels = 0;

    if (view_u8(in, &kind, err) < 0 || view_u8(in, &is_shown, err) < 0 ||
        view_u32(in, &levels, err) < 0)
        return -1;
    if (kind >= EFFECT_KINDS || is_shown > 1 || levels < 1 || levels > PREP_MAX_LEVELS ||
        (kind == EFFECT_BINS && (is_shown || levels > EFFECT_CUTS + 1)))
        return broken(err);
    c->kind = (enum effect_kind)kind;
    c->is_shown = is_shown;
    c->n_levels = (int)levels;
    return kind == EFFECT_LEVELS ? 0 : level_numbers_load(&c->number, numbers_of(c), in, err);
}

static int values_load(struct effects_state *t, struct view *in, struct err *err)
{
    size_t n = (size_t)(t->target->n_means * t->shown_levels);

    if (n > (in->len - in->pos) / 4)
        return broken(err);
    t->value = mem_try_alloc(n * sizeof *t->value);
    if (!t->value)
        return err_set(err, ERR_NOMEM, "no memory for the effects of %zu levels", n);
    for (size_t i = 0; i < n; i++) {
        if (view_f32(in, &t->value[i], err) < 0)
            return -1;
        if (!isfinite(t->value[i]))
            return broken(err);
    }
    return 0;
}

int effects_load(struct effects_state *t, int n_cols, struct view *in, struct err *err)
{
    uint8_t cols = 0, outputs = 0, has_labels = 0;

    t->target = mem_zalloc(sizeof *t->target);
    if (view_u8(in, &cols, err) < 0 || view_u8(in, &outputs, err) < 0 ||
        view_u8(in, &has_labels, err) < 0 || view_f64(in, &t->penalty, err) < 0)
        return -1;
    if (cols != n_cols || cols < 2 || cols > PREP_SOURCES || outputs < 1 ||
        outputs > MOST_OUTPUTS || has_labels > 1 || !(t->penalty > 0 && t->penalty < 1e9))
        return broken(err);
    t->n_cols = cols;
    t->target->n_means = outputs;
    if (has_labels && level_labels_load(t->target, in, err) < 0)
        return -1;
    for (int k = 0; k < t->n_cols; k++) {
        if (col_load(&t->col[k], in, err) < 0)
            return -1;
    }
    effects_layout(t);
    return t->n_shown > 0 ? values_load(t, in, err) : broken(err);
}
