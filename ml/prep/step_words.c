/* step_words.c - the step that turns the words of texts, or the items of lists, into what they say
 * about the target (ml/text/score.h).
 *
 * The state holds the fit on all training rows, for tables to predict; a view of a fold holds the
 * scores of all its texts by the fits of that fold. Preparations of one problem share the state
 * (prep.h, `like`), and it keeps the scores of a few folds for them: views of a fold that have the
 * same rows and targets ask for the same. Called through step.c. */
#include "base/mem.h"
#include "base/utf8.h"
#include "ml/prep/kept_fits.h"
#include "ml/prep/step.h"
#include "ml/prep/step_column.h"
#include "ml/text/score.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* CACHE: what all text columns of a table may keep so that views of folds need not read the texts
 * again. */
enum { CACHE_BYTES = 64 << 20, MOST_LABEL = 100 };

struct words_state {
    struct score score;
    /* the scores of folds; NULL where the state was loaded */
    struct kept_fits *kept;
    bool is_list;
    /* [n_outputs] of the class; NULL where the target is a number or has two classes */
    char *label[SCORE_MOST_OUTPUTS];
};

static void state_free(struct prep_step *s)
{
    struct words_state *t = s->state;

    s->state = NULL;
    if (!t)
        return;
    for (int o = 0; o < SCORE_MOST_OUTPUTS; o++)
        mem_free(t->label[o]);
    kept_fits_free(t->kept);
    score_fini(&t->score);
    mem_free(t);
}

static struct words_state *state_new(struct prep_step *s)
{
    struct words_state *t = mem_zalloc(sizeof *t);

    s->state = t;
    return t;
}

static void part_name(const struct prep_step *s, int part, char out[STEP_NAME])
{
    const struct words_state *t = s->state;
    const char *what = t->is_list ? "items" : "words";

    if (t->label[part])
        snprintf(out, STEP_NAME, "score of %s for %s", what, t->label[part]);
    else
        snprintf(out, STEP_NAME, "score of %s", what);
}

/* ---- fitting ---- */

/* The codes of all rows of a column of the frame; mem_try_free. */
static int32_t *codes_of(const struct frame *f, int col, struct err *err)
{
    int32_t *code = mem_try_alloc(((size_t)f->rows + 1) * sizeof *code);

    if (!code)
        err_set(err, ERR_NOMEM, "no memory for %lld rows", (long long)f->rows);
    else
        frame_codes(f, col, 0, f->rows, code);
    return code;
}

static struct score_rows rows_of(const struct frame *f, int col, const int32_t *code,
                                 const struct prep_target *target, const uint8_t *use)
{
    const struct frame_col *c = &f->cols[col];

    return (struct score_rows){ .texts = { .levels = c->levels, .n_levels = c->n_levels },
                                .rows = f->rows,
                                .code = code,
                                .use = use,
                                .part = target->part,
                                .parts = PREP_PARTS,
                                .y = target->y,
                                .weight = target->weight,
                                .n_classes = target->n_classes };
}

static int64_t cache_share(const struct frame *f)
{
    int64_t texts = 0;

    for (int i = 0; i < f->n_cols; i++)
        texts += f->cols[i].kind == FRAME_TEXT || f->cols[i].kind == FRAME_LIST;
    return CACHE_BYTES / MAX(texts, 1);
}

static void labels_take(const struct prep_target *target, struct words_state *t)
{
    for (int o = 0; o < t->score.n_outputs && t->score.which[o] >= 0; o++) {
        char label[MOST_LABEL + 1];
        snprintf(label, sizeof label, "%s",
                 target->classes ? target->classes[t->score.which[o]] : "");
        utf8_clean(label, sizeof label);
        t->label[o] = mem_strdup(label);
    }
}

/* Keeps the scores of the rows that the step was fitted on: a view of them comes next. */
static void first_keep(const struct score_rows *rows, const struct prep_spec *spec,
                       struct words_state *t)
{
    size_t scores = (size_t)rows->texts.n_levels * (size_t)(t->score.n_outputs * (PREP_PARTS + 1));
    uint8_t of[SHA256_BYTES];

    if (!t->score.first)
        return;
    kept_fits_digest(rows->texts.levels, rows->rows, spec->target, spec->use, of);
    kept_fits_add(t->kept, of, scores * sizeof *t->score.first, t->score.first);
    mem_try_free(t->score.first);
    t->score.first = NULL;
}

static int fit(const struct step_fit *in, struct prep_step *s, struct err *err)
{
    const struct prep_spec *spec = in->spec;
    const struct frame_col *c = &spec->frame->cols[in->col[0]];
    char sep[WORDS_SEP_BYTES] = "";

    if (!spec->target)
        return 0;
    int32_t *code = codes_of(spec->frame, in->col[0], err);
    if (!code)
        return -1;
    struct words_state *t = state_new(s);
    t->is_list = c->kind == FRAME_LIST;
    if (t->is_list)
        step_list_sep(c->note, sep);
    struct score_rows rows = rows_of(spec->frame, in->col[0], code, spec->target, spec->use);
    if (!t->is_list)
        rows.texts = step_texts_read(in);
    int rc = score_fit(sep, &rows, cache_share(spec->frame), &t->score, err);
    s->n_parts = t->score.n_outputs;
    if (rc == 1) {
        t->kept = kept_fits_new(cache_share(spec->frame) / 4);
        labels_take(spec->target, t);
        first_keep(&rows, spec, t);
    }
    mem_try_free(code);
    if (rc != 1)
        state_free(s);
    return rc;
}

/* ---- values ---- */

struct words_open {
    /* scores of a text stand side by side: [levels][outputs], of a fold [levels][outputs][fits] */
    int fits;
    float *score;
};

static int score_of_fold(const struct words_state *t, const struct score_rows *rows,
                         const struct prep_fold *fold, size_t bytes, float *out, struct err *err)
{
    uint8_t of[SHA256_BYTES];

    if (t->kept) {
        kept_fits_digest(rows->texts.levels, rows->rows, fold->target, fold->train, of);
        if (kept_fits_find(t->kept, of, bytes, out))
            return 0;
    }
    if (score_fold(&t->score, rows, out, err) < 0)
        return -1;
    if (t->kept)
        kept_fits_add(t->kept, of, bytes, out);
    return 0;
}

static int open_score(const struct step_view *v, struct words_open *o, struct err *err)
{
    struct words_state *t = v->step->state;
    const struct prep_fold *fold = v->view->fold;
    const char *const *texts = NULL;
    int n = step_texts(v, 0, &texts);

    o->fits = fold && n > 0 ? PREP_PARTS + 1 : 1;
    size_t scores = (size_t)n * (size_t)(t->score.n_outputs * o->fits);
    o->score = mem_try_alloc((scores + 1) * sizeof *o->score);
    if (!o->score)
        return err_set(err, ERR_NOMEM, "no memory to score %d texts", n);
    if (o->fits == 1)
        return score_texts(&t->score, texts, n, o->score, err);
    int col = v->view->col[v->step->source[0]];
    int32_t *code = codes_of(v->view->frame, col, err);
    if (!code)
        return -1;
    const struct score_rows rows = rows_of(v->view->frame, col, code, fold->target, fold->train);
    int rc = score_of_fold(t, &rows, fold, scores * sizeof *o->score, o->score, err);
    mem_try_free(code);
    return rc;
}

static int view_open(struct step_view *v, struct err *err)
{
    v->open = mem_zalloc(sizeof(struct words_open));
    return open_score(v, v->open, err);
}

static void view_close(struct step_view *v)
{
    struct words_open *o = v->open;

    if (o)
        mem_try_free(o->score);
    mem_free(o);
}

static void values(const struct step_view *v, int part, int64_t from, int64_t n, double *out)
{
    const struct words_state *t = v->step->state;
    const struct words_open *o = v->open;
    const struct prep_fold *fold = v->view->fold;
    int64_t stride = (int64_t)t->score.n_outputs * o->fits;
    int32_t code[PREP_BLOCK];

    step_codes_of(v, 0, from, n, code);
    for (int64_t i = 0; i < n; i++) {
        int fit = o->fits > 1 && fold->train[from + i] ? 1 + fold->target->part[from + i] : 0;
        out[i] =
            code[i] < 0 ? (double)NAN : (double)o->score[code[i] * stride + part * o->fits + fit];
    }
}

/* ---- bytes ---- */

static int save(const struct prep_step *s, struct buf *out, struct err *err)
{
    const struct words_state *t = s->state;

    if (buf_put_u8(out, t->is_list, err) < 0 || score_save(&t->score, out, err) < 0)
        return -1;
    for (int o = 0; o < t->score.n_outputs; o++) {
        if (buf_put_str(out, t->label[o] ? t->label[o] : "", err) < 0)
            return -1;
    }
    return 0;
}

static int load(struct prep_step *s, struct view *in, struct err *err)
{
    struct words_state *t = state_new(s);
    uint8_t is_list = 0;

    if (view_u8(in, &is_list, err) < 0 || score_load(in, &t->score, err) < 0)
        return -1;
    if (is_list > 1 || (is_list == 1) != (*t->score.bag.rule.sep != '\0'))
        return err_set(err, ERR_ARG, "the scores of a text column in this file are damaged");
    t->is_list = is_list;
    s->n_parts = t->score.n_outputs;
    for (int o = 0; o < s->n_parts; o++) {
        char *label = NULL;
        if (view_str(in, &label, MOST_LABEL, err) < 0)
            return -1;
        if (t->score.which[o] >= 0 && utf8_ok(label, strlen(label)))
            t->label[o] = label;
        else
            mem_free(label);
    }
    return 0;
}

const struct step_ops step_words = {
    .word = "words",
    .is_by_fold = true,
    .fit = fit,
    .free = state_free,
    .part_name = part_name,
    .open = view_open,
    .close = view_close,
    .values = values,
    .save = save,
    .load = load,
};
