/* step_parts.c - the step that reads one part of the codes of a column ("KA" of KA-12-9822) as a
 * level: the mean of the target for each, and how often it occurs. Which parts are worth it,
 * parts_screen.h says; what the values are made from, level_means.h. Called through step.c. */
#include "base/bisect.h"
#include "base/mem.h"
#include "ml/prep/level_state.h"
#include "ml/prep/parts_screen.h"
#include "ml/prep/step.h"
#include "ml/prep/step_column.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parts_state {
    struct code_form form;
    struct code_part part;
    char **value; /* [levels->n_levels] the texts of the part, ascending */
    struct level_state *levels;
};

static void state_free(struct prep_step *s)
{
    struct parts_state *t = s->state;

    for (int i = 0; t && t->value && i < t->levels->n_levels; i++)
        mem_free(t->value[i]);
    if (t) {
        mem_free(t->value);
        level_state_free(t->levels);
    }
    mem_free(t);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    const struct parts_state *t = s->state;
    char of[CODE_NAME], what[STEP_NAME];

    code_part_name(t->part, of);
    level_state_name(t->levels, part, what);
    snprintf(out, STEP_NAME, "%s: %.*s", of, STEP_NAME - CODE_NAME - 3, what);
}

static int compare(const char *a, const char *b, size_t n)
{
    int c = strncmp(a, b, n);

    return c != 0 ? c : a[n] != '\0';
}

/* The place of a text's part among the values; -1 = it has none. */
static int32_t value_of(const struct parts_state *t, const char *text)
{
    const char *begin = NULL;
    size_t n = 0;
    int at = 0, all = t->levels->n_levels;

    if (!code_part_of(&t->form, t->part, text, &begin, &n))
        return -1;
    BISECT(at, all, compare(t->value[at], begin, n) < 0);
    return at < all && compare(t->value[at], begin, n) == 0 ? at : -1;
}

/* [n] the place of each text; NULL = no memory. */
static int32_t *map_make(const struct parts_state *t, const char *const *texts, int n,
                         struct err *err)
{
    int32_t *map = mem_try_alloc(((size_t)n + 1) * sizeof *map);

    for (int l = 0; map && l < n; l++)
        map[l] = value_of(t, texts[l]);
    if (!map)
        err_set(err, ERR_NOMEM, "no memory for the parts of %d codes", n);
    return map;
}

/* ---- fitting ---- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *text_of(const char *begin, size_t n)
{
    char *text = mem_array(n + 1, 1);

    memcpy(text, begin, n);
    return text;
}

/* Takes the texts of the part in the training rows, each once. */
static void values_take(struct parts_state *t, const struct frame_col *c, const int64_t *rows)
{
    char **list = mem_array((size_t)c->n_levels + 1, sizeof *list);
    int n = 0, kept = 0;

    for (int l = 0; l < c->n_levels; l++) {
        const char *begin = NULL;
        size_t size = 0;
        if (rows[l] > 0 && code_part_of(&t->form, t->part, c->levels[l], &begin, &size))
            list[n++] = text_of(begin, size);
    }
    qsort(list, (size_t)n, sizeof *list, by_text);
    for (int i = 0; i < n; i++) {
        if (kept > 0 && strcmp(list[kept - 1], list[i]) == 0)
            mem_free(list[i]);
        else
            list[kept++] = list[i];
    }
    t->value = list;
    t->levels->n_levels = kept;
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct prep_spec *spec = in->spec;
    const struct frame_col *c = &spec->frame->cols[in->col[0]];
    struct parts_state *t = mem_zalloc(sizeof *t);
    int64_t *rows = step_level_rows(spec, in->col[0], err);
    int32_t *map = NULL;
    int rc = rows ? 1 : -1;

    s->state = t;
    *t = (struct parts_state){ *in->form, in->part, NULL, mem_zalloc(sizeof *t->levels) };
    if (rc > 0) {
        values_take(t, c, rows);
        rc = t->levels->n_levels >= 2 && t->levels->n_levels <= PARTS_MOST_LEVELS;
    }
    mem_try_free(rows);
    if (rc > 0) {
        map = map_make(t, (const char *const *)c->levels, c->n_levels, err);
        level_state_classes(t->levels, spec);
        const struct level_rows by = {
            .frame = spec->frame, .col = in->col[0], .n_levels = t->levels->n_levels, .map = map
        };
        rc = map && level_state_take(t->levels, &by, spec, err) == 0 ? 1 : -1;
        s->n_parts = t->levels->n_means + 1;
    }
    mem_try_free(map);
    if (rc <= 0)
        state_free(s);
    return rc;
}

/* ---- values ---- */

struct parts_open {
    int32_t *map; /* [levels of the table] */
    struct level_means means;
    bool has_means; /* the view is of a fold */
};

static int view_open(struct step_view *v, struct err *err)
{
    const struct parts_state *t = v->step->state;
    const struct prep_fold *fold = v->view->fold;
    struct parts_open *o = mem_zalloc(sizeof *o);
    const char *const *texts = NULL;
    int n = step_texts(v, 0, &texts);

    v->open = o;
    o->map = map_make(t, texts, n, err);
    if (!o->map)
        return -1;
    if (!fold)
        return 0;
    const struct level_rows by = { .frame = v->view->frame,
                                   .col = v->view->col[v->step->source[0]],
                                   .n_levels = t->levels->n_levels,
                                   .map = o->map };
    if (level_state_means(t->levels, &by, fold->target, fold->train, &o->means, err) < 0)
        return -1;
    o->has_means = true;
    return 0;
}

static void view_close(struct step_view *v)
{
    struct parts_open *o = v->open;

    if (!o)
        return;
    mem_try_free(o->map);
    if (o->has_means)
        level_means_fini(&o->means);
    mem_free(o);
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct parts_state *t = v->step->state;
    const struct parts_open *o = v->open;
    int32_t level[PREP_BLOCK], missing = t->levels->n_levels;

    step_codes_of(v, 0, from, n, level);
    for (int64_t i = 0; i < n; i++) {
        int32_t value = level[i] < 0 ? missing : o->map[level[i]];
        level[i] = value < 0 ? missing + 1 : value;
    }
    level_state_values(t->levels, o->has_means ? &o->means : NULL, v->view->fold,
                       &(struct level_ask){ part, from, n, level }, out);
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct parts_state *t = s->state;

    if (buf_put_u8(out, t->form.n_runs, err) < 0)
        return -1;
    for (int i = 0; i < CODE_MOST_RUNS; i++) {
        if (buf_put_u8(out, t->form.is_digits[i], err) < 0)
            return -1;
    }
    if (buf_put_u8(out, t->part.first, err) < 0 || buf_put_u8(out, t->part.last, err) < 0 ||
        buf_put_u8(out, t->part.signs, err) < 0 || level_state_save(t->levels, out, err) < 0)
        return -1;
    for (int i = 0; i < t->levels->n_levels; i++) {
        if (buf_put_str(out, t->value[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the parts of codes in this file are damaged");
}

static int load_form(struct parts_state *t, struct view *in, struct err *err)
{
    if (view_u8(in, &t->form.n_runs, err) < 0)
        return -1;
    for (int i = 0; i < CODE_MOST_RUNS; i++) {
        if (view_u8(in, &t->form.is_digits[i], err) < 0)
            return -1;
    }
    if (view_u8(in, &t->part.first, err) < 0 || view_u8(in, &t->part.last, err) < 0 ||
        view_u8(in, &t->part.signs, err) < 0)
        return -1;
    return code_part_ok(&t->form, t->part) ? 0 : broken(err);
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct parts_state *t = s->state = mem_zalloc(sizeof *t);

    t->levels = mem_zalloc(sizeof *t->levels);
    if (load_form(t, in, err) < 0 || level_state_load(t->levels, false, in, err) < 0)
        return -1;
    s->n_parts = t->levels->n_means + 1;
    if (t->levels->n_levels > PARTS_MOST_LEVELS)
        return broken(err);
    t->value = mem_array((size_t)t->levels->n_levels, sizeof *t->value);
    for (int i = 0; i < t->levels->n_levels; i++) {
        if (view_str(in, &t->value[i], CODE_MOST_BYTES, err) < 0)
            return -1;
        if (i > 0 && strcmp(t->value[i - 1], t->value[i]) >= 0)
            return broken(err);
    }
    return 0;
}

const struct step_ops step_parts = {
    .word = "parts",
    .is_by_fold = true,
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
    .suits = step_has_levels,
};
