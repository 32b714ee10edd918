/* topics.c - see topics.h. */
#include "ml/text/topics.h"

#include "base/mem.h"
#include "ml/text/corpus.h"
#include "ml/text/shape.h"
#include "ml/text/svd.h"

#include <math.h>
#include <string.h>

/* Keeps the directions that are there. */
static void drop_empty(struct topics *t, const double *values)
{
    int dims = 0;

    while (dims < t->dims && values[dims] > values[0] * 1e-3)
        dims++;
    for (int64_t j = 0; j < t->bag.n_kept; j++)
        memmove(t->v + j * dims, t->v + j * t->dims, (size_t)dims * sizeof *t->v);
    t->dims = dims;
}

/* Whether the texts are short, such as titles: their letters then tell misspelt words. */
static bool are_short(const struct texts *from, const struct bag_text *texts, int64_t n)
{
    enum { LOOK = 1000, SHORT_WORDS = 6 };
    int64_t step = MAX(n / LOOK, 1), seen = 0;
    double words = 0;

    for (int64_t t = 0; t < n; t += step, seen++) {
        const char *text = from->levels[texts[t].level];
        float shape[SHAPE_PARTS];
        shape_of(text, strlen(text), shape);
        words += (double)shape[SHAPE_WORDS];
    }
    return words <= (double)(seen * SHORT_WORDS);
}

static int fit_bag(const struct texts *from, const int64_t *rows, int step, struct topics *t,
                   struct err *err)
{
    int n_levels = from->n_levels;
    struct words_rule rule = { .seed = 0 };
    struct bag_text *texts = mem_try_alloc(((size_t)(n_levels / step) + 2) * sizeof *texts);
    int64_t n = 0, seen = 0;

    if (!texts)
        return err_set(err, ERR_NOMEM, "no memory for %d texts", n_levels);
    for (int l = 0; l < n_levels; l++) {
        if (rows[l] > 0 && seen++ % step == 0)
            texts[n++] = (struct bag_text){ l, rows[l] };
    }
    rule.letters = are_short(from, texts, n);
    int rc = bag_fit(&rule, from, texts, n, TOPICS_MOST_WORDS, &t->bag, err);
    mem_try_free(texts);
    return rc;
}

static int fit_topics(const struct texts *from, const int64_t *rows, int step, struct topics *t,
                      struct err *err)
{
    double values[TOPICS_MOST];
    struct corpus corpus;

    if (corpus_make(&t->bag, from, rows, step, &corpus, err) < 0)
        return -1;
    struct sparse_columns columns;
    corpus_columns(&corpus, &columns);
    int rc = svd(&corpus.x, columns.start ? &columns : NULL, t->dims, 1, t->v, values, err);
    corpus_columns_fini(&columns);
    corpus_fini(&corpus);
    if (rc < 0)
        return -1;
    if (!(values[0] > 0))
        return 0;
    drop_empty(t, values);
    return 1;
}

int topics_fit(const struct texts *from, const int64_t *rows, int dims, struct topics *out,
               struct err *err)
{
    int64_t n = 0;
    int rc = 0;

    CHECK(dims >= 1 && dims <= TOPICS_MOST);
    *out = (struct topics){ .dims = dims };
    for (int l = 0; l < from->n_levels; l++)
        n += rows[l] > 0;
    int step = (int)MAX((n + TOPICS_MOST_TEXTS - 1) / TOPICS_MOST_TEXTS, 1);
    if (fit_bag(from, rows, step, out, err) < 0)
        return -1;
    out->dims = MIN(dims, out->bag.n_kept);
    if (out->dims > 0) {
        out->v = mem_array((size_t)out->bag.n_kept * (size_t)dims, sizeof *out->v);
        rc = fit_topics(from, rows, step, out, err);
    }
    if (rc <= 0)
        topics_fini(out);
    return rc;
}

void topics_fini(struct topics *t)
{
    bag_fini(&t->bag);
    mem_free(t->v);
    *t = (struct topics){ 0 };
}

static int16_t rounded(float x)
{
    double v = (double)x * TOPICS_ONE;

    v = v > TOPICS_ONE ? TOPICS_ONE : v < -TOPICS_ONE ? -TOPICS_ONE : v;
    return (int16_t)(v + (v < 0 ? -0.5 : 0.5));
}

int topics_texts(const struct topics *t, const struct texts *from, int16_t *out, struct err *err)
{
    struct bag_room room;

    if (bag_room_init(&room, &t->bag, from, err) < 0)
        return -1;
    for (int l = 0; l < from->n_levels; l++, out += t->dims) {
        float sum[TOPICS_MOST] = { 0 };
        bag_read(&room, l);
        for (int i = 0; i < room.n; i++) {
            const float *v = t->v + (int64_t)room.col[i] * t->dims;
            for (int d = 0; d < t->dims; d++)
                sum[d] += room.value[i] * v[d];
        }
        for (int d = 0; d < t->dims; d++)
            out[d] = rounded(sum[d]);
    }
    bag_room_fini(&room);
    return 0;
}

int topics_save(const struct topics *t, struct buf *out, struct err *err)
{
    if (bag_save(&t->bag, out, err) < 0 || buf_put_u32(out, (uint32_t)t->dims, err) < 0)
        return -1;
    for (int64_t i = 0; i < (int64_t)t->bag.n_kept * t->dims; i++) {
        if (buf_put_f32(out, t->v[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the topics of a text column in this file are damaged");
}

static int load_vectors(struct view *in, struct topics *t, struct err *err)
{
    uint32_t dims = 0;

    if (view_u32(in, &dims, err) < 0)
        return -1;
    if (dims < 1 || dims > TOPICS_MOST || t->bag.n_kept < 1 ||
        (size_t)t->bag.n_kept * dims > (in->len - in->pos) / sizeof(float))
        return broken(err);
    t->dims = (int)dims;
    t->v = mem_array((size_t)t->bag.n_kept * dims, sizeof *t->v);
    for (size_t i = 0; i < (size_t)t->bag.n_kept * dims; i++) {
        if (view_f32(in, &t->v[i], err) < 0)
            return -1;
        if (!(fabsf(t->v[i]) <= 2))
            return broken(err);
    }
    return 0;
}

int topics_load(struct view *in, struct topics *out, struct err *err)
{
    *out = (struct topics){ 0 };
    if (bag_load(in, &out->bag, err) == 0 && load_vectors(in, out, err) == 0)
        return 0;
    topics_fini(out);
    return -1;
}
