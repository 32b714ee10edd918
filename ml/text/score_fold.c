/* score_fold.c - the scores of texts, by the fit on all training rows or by the fits of one fold. */
#include "base/mem.h"
#include "ml/text/score_private.h"

#include <math.h>
#include <string.h>

enum { WIDE = SPARSE_WIDE, LEVEL_BLOCK = 4096 };

/* out(l, k) = texts of levels [from, from + n) times the columns of w. */
static int times_levels(const struct bag *bag, const char *const *levels, int n, const float *w,
                        int wide, float *out, struct err *err)
{
    const struct texts texts = { .levels = levels, .n_levels = n };
    struct corpus some;

    if (corpus_make(bag, &texts, NULL, 1, &some, err) < 0)
        return -1;
    sparse_times(&some.x, wide, w, wide, out, wide);
    corpus_fini(&some);
    return 0;
}

int score_texts(const struct score *s, const char *const *levels, int n_levels, float *out,
                struct err *err)
{
    float *w = mem_try_zalloc((size_t)s->bag.n_kept * WIDE * sizeof *w);
    float *wide = mem_try_alloc((size_t)LEVEL_BLOCK * WIDE * sizeof *wide);
    int rc = w && wide ? 0 : err_set(err, ERR_NOMEM, "no memory to score %d texts", n_levels);

    for (int j = 0; rc == 0 && j < s->bag.n_kept; j++)
        memcpy(w + (size_t)j * WIDE, s->w + (size_t)j * (size_t)s->n_outputs,
               (size_t)s->n_outputs * sizeof *w);
    for (int from = 0; rc == 0 && from < n_levels; from += LEVEL_BLOCK) {
        int n = MIN(n_levels - from, LEVEL_BLOCK);
        rc = times_levels(&s->bag, levels + from, n, w, WIDE, wide, err);
        for (int l = 0; rc == 0 && l < n; l++) {
            float *to = out + (int64_t)(from + l) * s->n_outputs;
            for (int o = 0; o < s->n_outputs; o++)
                to[o] = wide[l * WIDE + o] + s->base[o];
        }
    }
    mem_try_free(w);
    mem_try_free(wide);
    return rc;
}

int score_at_once(const struct score_rows *in)
{
    return WIDE / (in->parts + 1);
}

int score_fold_block(const struct score *s, const struct score_cells *c, int first, int n,
                     struct score_block *b, struct err *err)
{
    int fits = c->parts + 1;

    b->n = n * fits;
    b->steps = s->steps;
    for (int k = 0; k < b->n; k++)
        b->fit[k] = (struct score_one){ first + k / fits, k % fits - 1, s->doubt };
    return score_block_make(c, b, err);
}

/* The scores of all levels by the fits of a block stand together in rows of all fits. */
int score_fold_levels(const struct score *s, const struct score_rows *in,
                      const struct corpus *whole, const struct score_block *b, const float *w,
                      float *out, struct err *err)
{
    float *wide = mem_try_alloc((size_t)LEVEL_BLOCK * WIDE * sizeof *wide);
    int rc = wide ? 0 : err_set(err, ERR_NOMEM, "no memory to score %d texts", in->texts.n_levels);
    int64_t fits = in->parts + 1, stride = s->n_outputs * fits;

    out += b->fit[0].output * fits;
    for (int from = 0; rc == 0 && from < in->texts.n_levels; from += LEVEL_BLOCK) {
        int n = MIN(in->texts.n_levels - from, LEVEL_BLOCK);
        if (whole) {
            struct sparse x = whole->x;
            x.start += from;
            x.rows = n;
            sparse_times(&x, b->wide, w, b->wide, wide, b->wide);
        } else {
            rc = times_levels(&s->bag, in->texts.levels + from, n, w, b->wide, wide, err);
        }
        for (int l = 0; rc == 0 && l < n; l++) {
            for (int k = 0; k < b->n; k++)
                out[(from + l) * stride + k] = wide[l * b->wide + k] + (float)b->base[k];
        }
    }
    mem_try_free(wide);
    return rc;
}

static int fold_outputs(const struct score *s, const struct score_rows *in,
                        const struct score_cells *c, const struct corpus *whole, float *out,
                        struct err *err)
{
    int at_once = score_at_once(in), rc = 0;

    for (int o = 0; rc == 0 && o < s->n_outputs; o += at_once) {
        struct score_block b = { .n = 0 };
        if (score_fold_block(s, c, o, MIN(at_once, s->n_outputs - o), &b, err) < 0)
            return -1;
        float *w = score_block_weights(&b, s->lambda, s->steps, err);
        rc = w ? score_fold_levels(s, in, whole, &b, w, out, err) : -1;
        mem_try_free(w);
        score_block_fini(&b);
    }
    return rc;
}

int score_fold(const struct score *s, const struct score_rows *in, float *out, struct err *err)
{
    const struct corpus *whole = s->cached == in->texts.levels ? &s->cache : NULL;
    bool is_ready = whole && s->cache_columns.start;
    struct corpus corpus = { 0 };
    struct score_cells cells;
    int rc = 0;

    CHECK(in->parts >= 2 && in->parts <= SCORE_MOST_PARTS);
    if (!whole) {
        struct score_limits most = score_limits_of(s->n_outputs, in->parts);
        int64_t n_texts = 0, *rows = score_level_rows(in, &n_texts, err);
        rc = !rows || score_corpus(&s->bag, in, rows, n_texts, &most, &corpus, err) < 0 ? -1 : 0;
        mem_try_free(rows);
        if (rc < 0)
            return -1;
    }
    rc = score_cells_make(s, in, whole ? whole : &corpus, is_ready ? &s->cache_columns : NULL,
                          &cells, err);
    if (rc == 0) {
        rc = fold_outputs(s, in, &cells, whole, out, err);
        score_cells_fini(&cells);
    }
    corpus_fini(&corpus);
    return rc;
}
