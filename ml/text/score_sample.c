/* score_sample.c - which rows and texts the fits of score.c see: all of them, or a sample that
 * bounds time and memory. */
#include "base/mem.h"
#include "ml/text/score_private.h"

bool score_is_used(const struct score_rows *in, int64_t i)
{
    return in->code[i] >= 0 && (!in->use || in->use[i]);
}

double score_target(const struct score *s, const struct score_rows *in, int64_t i, int output)
{
    double y = s->which[output] < 0 ? in->y[i] : in->y[i] == s->which[output];

    return (y - s->mean[output]) / s->spread[output];
}

int64_t *score_level_rows(const struct score_rows *in, int64_t *n_texts, struct err *err)
{
    int64_t *rows = mem_try_zalloc(((size_t)in->texts.n_levels + 1) * sizeof *rows);

    *n_texts = 0;
    if (!rows) {
        err_set(err, ERR_NOMEM, "no memory to count %d texts", in->texts.n_levels);
        return NULL;
    }
    for (int64_t i = 0; i < in->rows; i++) {
        if (score_is_used(in, i))
            *n_texts += rows[in->code[i]]++ == 0;
    }
    return rows;
}

/* The vectors of several blocks of fits take the more time the more entries a text has. */
struct score_limits score_limits_of(int n_outputs, int parts)
{
    int blocks = (n_outputs * (parts + 1) + SPARSE_WIDE - 1) / SPARSE_WIDE;

    return (struct score_limits){ CORPUS_MOST_TEXTS, CORPUS_MOST_ENTRIES / blocks };
}

static int64_t up(int64_t n, int64_t most)
{
    return MAX((n + most - 1) / most, 1);
}

/* A sample of the texts; mem_try_free. */
static struct bag_text *texts_drawn(const struct score_rows *in, const int64_t *rows,
                                    int64_t n_texts, const struct score_limits *most, int64_t *n,
                                    struct err *err)
{
    int64_t step = up(n_texts, most->texts), seen = 0;
    struct bag_text *texts = mem_try_alloc((size_t)(n_texts / step + 2) * sizeof *texts);

    *n = 0;
    if (!texts)
        err_set(err, ERR_NOMEM, "no memory for %lld texts", (long long)n_texts);
    for (int l = 0; l < in->texts.n_levels && texts; l++) {
        if (rows[l] > 0 && seen++ % step == 0)
            texts[(*n)++] = (struct bag_text){ l, rows[l] };
    }
    return texts;
}

static int signs_read(const struct lexicon *l, const struct bag_text *texts, int64_t n,
                      struct score_signs *out, struct err *err)
{
    struct spelling spelling = { .n = 0 };
    uint32_t *rows = bag_word_rows(l, texts, n, err);
    double all = 0, rare = 0;

    if (!rows || spelling_fit(l, rows, &spelling, err) < 0) {
        mem_try_free(rows);
        return -1;
    }
    for (uint32_t w = 0; w < l->n_words; w++) {
        all += rows[w];
        rare += rows[w] < SPELLING_LEAST_ROWS ? rows[w] : 0;
    }
    out->rare = all > 0 ? rare / all : 0;
    out->misspelt = spelling_share(&spelling, l, rows, err);
    spelling_fini(&spelling);
    mem_try_free(rows);
    return out->misspelt < 0 ? -1 : 0;
}

int score_signs_of(const struct score_rows *in, const int64_t *rows, int64_t n_texts,
                   const struct score_limits *most, struct score_signs *out, struct err *err)
{
    struct lexicon own = { .levels = NULL };
    const struct lexicon *l = in->texts.read;
    int64_t n = 0;

    *out = (struct score_signs){ .rare = 1 };
    if (!l && !lexicon_make(in->texts.levels, in->texts.n_levels, &own))
        return 0;
    struct bag_text *texts = texts_drawn(in, rows, n_texts, most, &n, err);
    int rc = texts ? signs_read(l ? l : &own, texts, n, out, err) : -1;
    mem_try_free(texts);
    lexicon_fini(&own);
    return rc;
}

int score_bag(const struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
              int64_t n_texts, const struct score_limits *most, struct bag *out, struct err *err)
{
    int64_t n = 0;
    struct bag_text *texts = texts_drawn(in, rows, n_texts, most, &n, err);

    if (!texts)
        return -1;
    int rc = bag_fit(rule, &in->texts, texts, n, BAG_MOST_KEPT, out, err);
    mem_try_free(texts);
    return rc;
}

int score_corpus(const struct bag *bag, const struct score_rows *in, const int64_t *rows,
                 int64_t n_texts, const struct score_limits *most, struct corpus *out,
                 struct err *err)
{
    enum { LOOK = 200 };
    int look = (int)MAX(n_texts / LOOK, 1);
    struct corpus some;

    if (corpus_make(bag, &in->texts, rows, look, &some, err) < 0)
        return -1;
    int64_t entries = some.x.rows > 0 ? some.entries * n_texts / some.x.rows : 0;
    corpus_fini(&some);
    int64_t step = MAX(up(n_texts, most->texts), up(entries, most->entries));
    /* with the texts that only other rows have, the matrix serves to score all rows */
    bool is_whole = step == 1 && in->texts.n_levels <= most->texts;
    return corpus_make(bag, &in->texts, is_whole ? NULL : rows, (int)step, out, err);
}

int score_sample_make(const struct words_rule *rule, const struct score_rows *in,
                      const int64_t *rows, int64_t n_texts, const struct score_limits *most,
                      struct bag *bag, struct corpus *corpus, struct err *err)
{
    if (score_bag(rule, in, rows, n_texts, most, bag, err) < 0)
        return -1;
    if (score_corpus(bag, in, rows, n_texts, most, corpus, err) == 0)
        return 0;
    bag_fini(bag);
    return -1;
}
