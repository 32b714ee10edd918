/* step_figures.c - the step that reads the numbers in the texts of a column: each of them, their
 * sum, product, difference or quotient where that says more of the target, and the words around
 * them where those differ ("€" and "$"). Which columns have such numbers, figures_screen.h says.
 * Called through step.c. */
#include "base/mem.h"
#include "ml/prep/figures_screen.h"
#include "ml/prep/step.h"
#include "ml/prep/step_column.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void state_free(struct prep_step *s)
{
    mem_free(s->state);
    s->state = NULL;
}

static int parts_of(const struct figures_form *f)
{
    return f->n + (f->op < FIGURES_OPS) + f->n_words;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    static const char *const names[FIGURES_OPS] = {
        [FIGURES_SUM] = "sum of its numbers",
        [FIGURES_PRODUCT] = "product of its numbers",
        [FIGURES_DIFFERENCE] = "number 2 - number 1",
        [FIGURES_QUOTIENT] = "number 1 / number 2",
    };
    const struct figures_form *f = s->state;
    int words = parts_of(f) - f->n_words;

    if (part < f->n)
        snprintf(out, STEP_NAME, "number %d", part + 1);
    else if (part < words)
        snprintf(out, STEP_NAME, "%s", names[f->op]);
    else
        snprintf(out, STEP_NAME, "written %s", f->words[part - words]);
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    struct figures_form form;

    (void)err;
    if (!figures_screen(in->spec, in->col[0], &form))
        return 0;
    s->state = mem_alloc(sizeof form);
    memcpy(s->state, &form, sizeof form);
    s->n_parts = parts_of(&form);
    return 1;
}

bool step_figures_is_whole(const struct prep_step *s)
{
    const struct figures_form *f = s->state;

    return s->ops == &step_figures && f->is_whole;
}

/* ---- values ---- */

/* words: 1 + the place in the form; 0 = others, NONE = the text is not of the form. */
enum { NONE = 255 };

struct figures_open {
    double *value; /* [levels][numbers] */
    uint8_t *words;
};

static uint8_t words_of(const struct figures_form *f, const char *words)
{
    for (int i = 0; i < f->n_words; i++) {
        if (strcmp(f->words[i], words) == 0)
            return (uint8_t)(i + 1);
    }
    return 0;
}

static void view_close(struct step_view *v)
{
    struct figures_open *o = v->open;

    if (o) {
        mem_try_free(o->value);
        mem_try_free(o->words);
    }
    mem_free(o);
}

static int view_open(struct step_view *v, struct err *err)
{
    const struct figures_form *f = v->step->state;
    struct figures_open *o = v->open = mem_zalloc(sizeof *o);
    const char *const *texts = NULL;
    int n = step_texts(v, 0, &texts);

    o->value = mem_try_alloc(((size_t)n * f->n + 1) * sizeof *o->value);
    o->words = mem_try_alloc((size_t)n + 1);
    if (!o->value || !o->words)
        return err_set(err, ERR_NOMEM, "no memory for the numbers of %d texts", n);
    for (int l = 0; l < n; l++) {
        struct figures t;
        figures_read(texts[l], &t);
        memcpy(o->value + (size_t)l * f->n, t.value, f->n * sizeof *o->value);
        o->words[l] = t.n == f->n ? words_of(f, t.words) : NONE;
    }
    return 0;
}

/* Of one text of the form. */
static double part_value(const struct figures_form *f, int part, const double *value, int words)
{
    if (part < f->n)
        return value[part];
    int first = parts_of(f) - f->n_words;
    return part < first ? figures_combine((enum figures_op)f->op, value, f->n)
                        : words == part - first + 1;
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct figures_form *f = v->step->state;
    const struct figures_open *o = v->open;
    int32_t code[PREP_BLOCK];

    step_codes_of(v, 0, from, n, code);
    for (int64_t i = 0; i < n; i++) {
        int32_t l = code[i];
        out[i] = l < 0 || o->words[l] == NONE
                     ? (double)NAN
                     : part_value(f, part, o->value + (size_t)l * f->n, o->words[l]);
    }
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct figures_form *f = s->state;

    if (buf_put_u8(out, f->n, err) < 0 || buf_put_u8(out, f->op, err) < 0 ||
        buf_put_u8(out, f->n_words, err) < 0)
        return -1;
    for (int i = 0; i < f->n_words; i++) {
        if (buf_put_str(out, f->words[i], err) < 0)
            return -1;
    }
    return 0;
}

static bool form_ok(const struct figures_form *f)
{
    return f->n >= 1 && f->n <= FIGURES_MOST && f->n_words <= FIGURES_MOST_WORDS &&
           (f->op == FIGURES_OPS ||
            (f->op < FIGURES_OPS && figures_op_suits((enum figures_op)f->op, f->n)));
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct figures_form *f = s->state = mem_zalloc(sizeof *f);

    if (view_u8(in, &f->n, err) < 0 || view_u8(in, &f->op, err) < 0 ||
        view_u8(in, &f->n_words, err) < 0)
        return -1;
    if (!form_ok(f))
        return err_set(err, ERR_ARG, "the numbers of texts in this file are damaged");
    for (int i = 0; i < f->n_words; i++) {
        char *words = NULL;
        if (view_str(in, &words, FIGURES_WORDS - 1, err) < 0)
            return -1;
        memcpy(f->words[i], words, strlen(words) + 1);
        mem_free(words);
    }
    s->n_parts = parts_of(f);
    return 0;
}

const struct step_ops step_figures = {
    .word = "figures",
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
