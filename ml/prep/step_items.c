/* step_items.c - the step that counts the items of lists: all of them, each frequent one, and the
 * others (ml/text/items.h). Called through step.c. */
#include "base/mem.h"
#include "ml/prep/step.h"
#include "ml/prep/step_column.h"
#include "ml/text/items.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static void state_free(struct prep_step *s)
{
    if (s->state)
        items_fini(s->state);
    mem_free(s->state);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    const struct items *t = s->state;

    if (part == 0)
        snprintf(out, STEP_NAME, "items");
    else if (part <= t->n)
        snprintf(out, STEP_NAME, "has %s", t->name[part - 1]);
    else
        snprintf(out, STEP_NAME, "other items");
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct frame_col *c = &in->spec->frame->cols[in->col[0]];
    struct items *t = mem_zalloc(sizeof *t);
    int64_t *rows = step_level_rows(in->spec, in->col[0], err);
    char sep[WORDS_SEP_BYTES];

    step_list_sep(c->note, sep);
    int rc = rows ? items_fit(sep, c->levels, c->n_levels, rows, t, err) : -1;
    mem_try_free(rows);
    s->state = t;
    s->n_parts = items_parts(t);
    if (rc < 0)
        state_free(s);
    return rc < 0 ? -1 : 1;
}

/* ---- values ---- */

static int view_open(struct step_view *v, struct err *err)
{
    const struct items *t = v->step->state;
    const char *const *texts = NULL;
    int n = step_texts(v, 0, &texts);
    size_t parts = (size_t)items_parts(t);
    uint8_t *count = mem_try_alloc((size_t)n * parts + 1);

    v->open = count;
    if (!count)
        return err_set(err, ERR_NOMEM, "no memory for the items of %d lists", n);
    for (int l = 0; l < n; l++)
        items_of(t, texts[l], count + (size_t)l * parts);
    return 0;
}

static void view_close(struct step_view *v)
{
    mem_try_free(v->open);
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const uint8_t *count = v->open;
    int parts = items_parts(v->step->state);
    int32_t code[PREP_BLOCK];

    step_codes_of(v, 0, from, n, code);
    for (int64_t i = 0; i < n; i++)
        out[i] = code[i] < 0 ? (double)NAN : (double)count[(int64_t)code[i] * parts + part];
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    return items_save(s->state, out, err);
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct items *t = s->state = mem_zalloc(sizeof *t);

    if (items_load(in, t, err) < 0)
        return -1;
    s->n_parts = items_parts(t);
    return 0;
}

const struct step_ops step_items = {
    .word = "items",
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
};
