/* step_text.c - the step that turns texts into numbers without the target: their length and shape,
 * and their topics (ml/text/shape.h, topics.h).
 *
 * There is one row of values for each distinct text of a table. Those of the table that is fitted
 * are kept in the state where they are not too many, for all views of it; else a view makes its own
 * when values are first asked for: views of folds copy these inputs and never ask. Called through
 * step.c. */
#include "base/mem.h"
#include "ml/prep/step.h"
#include "ml/prep/step_column.h"
#include "ml/text/shape.h"
#include "ml/text/topics.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Topics of a column, where a table has one or several columns of texts: more help little, and
 * each costs memory and time. With 16 instead of 64, XGBoost on the score and the topics lost up
 * to .003 of AUC on no table of five and won up to .009. */
enum { TOPICS = 16, TOPICS_OF_ALL = 64, TOPICS_LEAST = 2 };

/* KEPT: bytes of values in the states of a table. */
enum { KEPT_BYTES = 32 << 20 };

/* Of the texts of one table. */
struct text_values {
    float *shape;    /* [levels][SHAPE_PARTS] */
    int16_t *topics; /* [levels][dims] */
};

struct text_state {
    struct topics topics; /* dims 0 = none */
    /* the texts that it was fitted on, and their values; NULL = not kept, or from a file */
    const char *const *fitted;
    struct text_values values;
};

static void values_clear(struct text_values *v)
{
    mem_try_free(v->shape);
    mem_try_free(v->topics);
    *v = (struct text_values){ 0 };
}

static void state_free(struct prep_step *s)
{
    struct text_state *t = s->state;

    if (t) {
        topics_fini(&t->topics);
        values_clear(&t->values);
    }
    mem_free(t);
    s->state = NULL;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    (void)s;
    if (part < SHAPE_PARTS)
        snprintf(out, STEP_NAME, "%s", shape_name((enum shape_part)part));
    else
        snprintf(out, STEP_NAME, "topic %d", part - SHAPE_PARTS + 1);
}

static int text_columns(const struct prep_spec *spec)
{
    int texts = 0;

    for (int i = 0; i < spec->frame->n_cols; i++)
        texts += spec->frame->cols[i].kind == FRAME_TEXT;
    return MAX(texts, 1);
}

static int topics_wanted(const struct prep_spec *spec)
{
    return MAX(MIN(TOPICS, TOPICS_OF_ALL / text_columns(spec)), TOPICS_LEAST);
}

/* The values of all texts; where there is no memory for them, none. */
static bool values_make(const struct topics *t, const struct texts *from, struct text_values *out)
{
    size_t n = (size_t)from->n_levels, dims = (size_t)t->dims;

    CHECK(from->levels || n == 0);
    out->shape = mem_try_alloc((n * SHAPE_PARTS + 1) * sizeof *out->shape);
    out->topics = mem_try_alloc((n * dims + 1) * sizeof *out->topics);
    if (!out->shape || !out->topics || (dims > 0 && topics_texts(t, from, out->topics, NULL) < 0)) {
        values_clear(out);
        return false;
    }
    for (size_t l = 0; l < n; l++)
        shape_of(from->levels[l], strlen(from->levels[l]), out->shape + l * SHAPE_PARTS);
    return true;
}

/* Keeps the values of the texts that the step is fitted on. */
static void values_keep(const struct prep_spec *spec, const struct texts *from,
                        struct text_state *t)
{
    int64_t bytes =
        SHAPE_PARTS * (int64_t)sizeof(float) + t->topics.dims * (int64_t)sizeof(int16_t);

    if (bytes * from->n_levels * text_columns(spec) <= KEPT_BYTES &&
        values_make(&t->topics, from, &t->values))
        t->fitted = from->levels;
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct texts texts = step_texts_read(in);
    struct text_state *t = mem_zalloc(sizeof *t);
    int64_t *rows = step_level_rows(in->spec, in->col[0], err);
    int rc = rows ? topics_fit(&texts, rows, topics_wanted(in->spec), &t->topics, err) : -1;

    mem_try_free(rows);
    if (rc >= 0)
        values_keep(in->spec, &texts, t);
    s->state = t;
    s->n_parts = SHAPE_PARTS + t->topics.dims;
    if (rc < 0)
        state_free(s);
    return rc < 0 ? -1 : 1;
}

/* ---- values ---- */

struct text_open {
    pthread_mutex_t lock;
    bool is_made;
    struct text_values made;
};

static int view_open(struct step_view *v, struct err *err)
{
    struct text_open *o = mem_zalloc(sizeof *o);

    (void)err;
    CHECK(pthread_mutex_init(&o->lock, NULL) == 0);
    v->open = o;
    return 0;
}

static void view_close(struct step_view *v)
{
    struct text_open *o = v->open;

    if (!o)
        return;
    values_clear(&o->made);
    pthread_mutex_destroy(&o->lock);
    mem_free(o);
}

/* The value of one text, where there is no memory for those of all. */
static double one_value(const struct text_state *t, const char *text, int part)
{
    float shape[SHAPE_PARTS];
    int16_t topics[TOPICS_MOST];

    shape_of(text, strlen(text), shape);
    if (part < SHAPE_PARTS)
        return (double)shape[part];
    if (topics_texts(&t->topics, &(struct texts){ &text, 1, NULL }, topics, NULL) < 0)
        return (double)NAN;
    return (double)topics[part - SHAPE_PARTS] / TOPICS_ONE;
}

/* The values of the view's texts; no shape = there is no memory for them. */
static const struct text_values *values_of(const struct step_view *v)
{
    const struct text_state *t = v->step->state;
    struct text_open *o = v->open;
    struct texts texts = { .read = NULL };

    texts.n_levels = step_texts(v, 0, &texts.levels);
    if (texts.levels && texts.levels == t->fitted)
        return &t->values;
    pthread_mutex_lock(&o->lock);
    if (!o->is_made)
        (void)values_make(&t->topics, &texts, &o->made);
    o->is_made = true;
    pthread_mutex_unlock(&o->lock);
    return &o->made;
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct text_state *t = v->step->state;
    const struct text_values *of = values_of(v);
    const char *const *texts = NULL;
    int32_t code[PREP_BLOCK];

    (void)step_texts(v, 0, &texts);
    step_codes_of(v, 0, from, n, code);
    for (int64_t i = 0; i < n; i++) {
        int64_t l = code[i];
        if (l < 0)
            out[i] = (double)NAN;
        else if (!of->shape)
            out[i] = one_value(t, texts[l], part);
        else if (part < SHAPE_PARTS)
            out[i] = (double)of->shape[l * SHAPE_PARTS + part];
        else
            out[i] = (double)of->topics[l * t->topics.dims + part - SHAPE_PARTS] / TOPICS_ONE;
    }
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct text_state *t = s->state;
    bool has_topics = t->topics.dims > 0;

    if (buf_put_u8(out, has_topics, err) < 0)
        return -1;
    return has_topics ? topics_save(&t->topics, out, err) : 0;
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct text_state *t = s->state = mem_zalloc(sizeof *t);
    uint8_t has_topics = 0;

    if (view_u8(in, &has_topics, err) < 0)
        return -1;
    if (has_topics > 1)
        return err_set(err, ERR_ARG, "the topics of a text column in this file are damaged");
    if (has_topics && topics_load(in, &t->topics, err) < 0)
        return -1;
    s->n_parts = SHAPE_PARTS + t->topics.dims;
    return 0;
}

const struct step_ops step_text = {
    .word = "text",
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
};
