/* score.c - see score.h. The training rows are first summed up by text and part, so that the cost
 * depends on the distinct texts. Then a block of SPARSE_WIDE fits runs at once: the outputs times
 * the sets of parts that a fit sees. */
#include "base/mem.h"
#include "ml/text/score_private.h"

#include <math.h>
#include <string.h>

/* The classes that get a score: all, or those with the most rows. */
static void choose_classes(const struct score_rows *in, struct score *s)
{
    s->n_outputs = 1;
    s->which[0] = -1;
    if (in->n_classes == 0)
        return;
    int64_t *rows = mem_array((size_t)in->n_classes, sizeof *rows);
    for (int64_t i = 0; i < in->rows; i++) {
        if (score_is_used(in, i) && in->y[i] >= 0 && in->y[i] < in->n_classes)
            rows[(int)in->y[i]]++;
    }
    s->n_outputs = MIN(in->n_classes, SCORE_MOST_OUTPUTS);
    for (int o = 0; o < s->n_outputs; o++) {
        int best = 0;
        for (int c = 1; c < in->n_classes; c++)
            best = rows[c] > rows[best] ? c : best;
        s->which[o] = best;
        rows[best] = -1;
    }
    mem_free(rows);
}

/* Mean and spread of each output. False = the target has no finite spread. */
static bool target_units(const struct score_rows *in, struct score *s)
{
    for (int o = 0; o < s->n_outputs; o++) {
        double n = 0, sum = 0, squares = 0;
        s->mean[o] = 0;
        s->spread[o] = 1;
        for (int pass = 0; pass < 2; pass++) {
            n = sum = squares = 0;
            for (int64_t i = 0; i < in->rows; i++) {
                if (!score_is_used(in, i))
                    continue;
                double y = score_target(s, in, i, o);
                n += 1;
                sum += y;
                squares += y * y;
            }
            s->mean[o] += pass == 0 && n > 0 ? sum / n : 0;
        }
        s->spread[o] = n > 0 ? sqrt(squares / n) : 0;
        if (!isfinite(s->mean[o]) || !isfinite(s->spread[o]) || !(s->spread[o] > 1e-300))
            return false;
    }
    return true;
}

/* Takes the fits of a block with the penalty chosen: those on all rows, and the scores of all levels
 * by all of them, which are asked for next. */
static int block_take(const struct score_rows *in, const struct score_cells *c,
                      const struct score_block *b, struct score *s, struct err *err)
{
    float *w = score_block_weights(b, s->lambda, s->steps, err);
    int fits = c->parts + 1, rc = w ? 0 : -1;

    for (int k = 0; k < b->n && rc == 0; k += fits) {
        int o = b->fit[k].output;
        for (int j = 0; j < s->bag.n_kept; j++)
            s->w[j * s->n_outputs + o] = w[j * b->wide + k];
        s->base[o] = (float)b->base[k];
    }
    if (rc == 0 && s->first)
        rc = score_fold_levels(s, in, c->corpus, b, w, s->first, err);
    mem_try_free(w);
    return rc;
}

/* The fits of all outputs. last: of the only output, or of the last of several. */
static int fit_all(const struct score_rows *in, const struct score_cells *c, int64_t cache_bytes,
                   const struct score_block *last, struct score *s, struct err *err)
{
    size_t scores = (size_t)in->texts.n_levels * (size_t)(s->n_outputs * (in->parts + 1));
    int at_once = score_at_once(in), rc = 0;

    s->w = mem_array((size_t)s->bag.n_kept * (size_t)s->n_outputs, sizeof *s->w);
    if (c->corpus->x.rows == in->texts.n_levels &&
        (int64_t)(scores * sizeof *s->first) <= cache_bytes / 4)
        s->first = mem_try_alloc((scores + 1) * sizeof *s->first);
    if (s->n_outputs == 1)
        return block_take(in, c, last, s, err);
    for (int o = 0; o < s->n_outputs && rc == 0; o += at_once) {
        struct score_block b = { .n = 0 };
        if (score_fold_block(s, c, o, MIN(at_once, s->n_outputs - o), &b, err) < 0)
            return -1;
        rc = block_take(in, c, &b, s, err);
        score_block_fini(&b);
    }
    return rc;
}

/* Keeps the corpus where it holds all texts of the table and is small enough. */
static void keep_cache(struct score *s, const struct score_rows *in, struct corpus *corpus,
                       struct score_cells *cells, int64_t cache_bytes)
{
    int64_t more = corpus->entries * (int64_t)sizeof *cells->columns.entry;

    if (corpus->x.rows == in->texts.n_levels && corpus_bytes(corpus) + more <= cache_bytes) {
        s->cache_columns = cells->columns;
        cells->columns = (struct sparse_columns){ .cols = 0 };
    }
    if (corpus->x.rows == in->texts.n_levels && corpus_bytes(corpus) <= cache_bytes) {
        s->cache = *corpus;
        s->cached = in->texts.levels;
    } else {
        corpus_fini(corpus);
    }
}

/* The gain that chance may give: about 1 in as many rows, and the best of several was taken. */
static double chance_of(const struct score_cells *c)
{
    double rows = 0;

    for (int p = 0; p < c->parts; p++)
        rows += c->rows[p];
    return rows > 0 ? 10 / rows : 0;
}

static int fit_rest(const struct words_rule *rule, const struct score_rows *in, int64_t *rows,
                    int64_t n_texts, int64_t cache_bytes, struct score *s, struct err *err)
{
    struct score_limits most = score_limits_of(s->n_outputs, in->parts);
    struct corpus corpus;
    struct score_cells cells;
    int rc = -1;

    if (score_sample_make(rule, in, rows, n_texts, &most, &s->bag, &corpus, err) < 0)
        return -1;
    if (s->bag.n_kept == 0) {
        corpus_fini(&corpus);
        return 0;
    }
    if (score_cells_make(s, in, &corpus, NULL, &cells, err) == 0) {
        struct score_block b = { .n = 0 };
        rc = score_lambda_last(&cells, &b, s, err);
        if (rc == 0 && s->gain > chance_of(&cells))
            rc = fit_all(in, &cells, cache_bytes, &b, s, err) < 0 ? -1 : 1;
        score_block_fini(&b);
        if (rc == 1)
            keep_cache(s, in, &corpus, &cells, cache_bytes);
        score_cells_fini(&cells);
    }
    if (rc != 1)
        corpus_fini(&corpus);
    return rc;
}

int score_fit(const char *sep, const struct score_rows *in, int64_t cache_bytes, struct score *out,
              struct err *err)
{
    struct words_rule rule = { .seed = 0 };
    int64_t n_texts = 0, *rows = NULL;
    int rc = 0;

    CHECK(in->parts >= 2 && in->parts <= SCORE_MOST_PARTS && strlen(sep) < WORDS_SEP_BYTES);
    *out = (struct score){ .gain = 0 };
    memcpy(rule.sep, sep, strlen(sep) + 1);
    rows = score_level_rows(in, &n_texts, err);
    if (!rows)
        return -1;
    choose_classes(in, out);
    if (n_texts >= 2 && target_units(in, out)) {
        if (!*sep)
            rc = score_rule_choose(&rule, in, rows, n_texts, out, err);
        if (rc == 0)
            rc = fit_rest(&rule, in, rows, n_texts, cache_bytes, out, err);
    }
    mem_try_free(rows);
    if (rc <= 0)
        score_fini(out);
    return rc;
}

void score_fini(struct score *s)
{
    bag_fini(&s->bag);
    corpus_fini(&s->cache);
    corpus_columns_fini(&s->cache_columns);
    mem_free(s->w);
    mem_try_free(s->first);
    *s = (struct score){ 0 };
}

/* ---- bytes ---- */

int score_save(const struct score *s, struct buf *out, struct err *err)
{
    if (bag_save(&s->bag, out, err) < 0 || buf_put_u8(out, (uint8_t)s->n_outputs, err) < 0 ||
        buf_put_f64(out, s->lambda, err) < 0 || buf_put_f64(out, s->doubt, err) < 0 ||
        buf_put_f64(out, s->gain, err) < 0)
        return -1;
    for (int o = 0; o < s->n_outputs; o++) {
        if (buf_put_u32(out, (uint32_t)(s->which[o] + 1), err) < 0 ||
            buf_put_f64(out, s->mean[o], err) < 0 || buf_put_f64(out, s->spread[o], err) < 0 ||
            buf_put_f32(out, s->base[o], err) < 0)
            return -1;
    }
    for (int64_t i = 0; i < (int64_t)s->bag.n_kept * s->n_outputs; i++) {
        if (buf_put_f32(out, s->w[i], err) < 0)
            return -1;
    }
    return 0;
}

static int broken(struct err *err)
{
    return err_set(err, ERR_ARG, "the scores of a text column in this file are damaged");
}

static int load_output(struct view *in, struct score *s, int o, struct err *err)
{
    uint32_t which = 0;

    if (view_u32(in, &which, err) < 0 || view_f64(in, &s->mean[o], err) < 0 ||
        view_f64(in, &s->spread[o], err) < 0 || view_f32(in, &s->base[o], err) < 0)
        return -1;
    s->which[o] = (int)which - 1;
    if (which > 1 << 20 || (which == 0 && s->n_outputs > 1) || !isfinite(s->mean[o]) ||
        !isfinite(s->spread[o]) || !(s->spread[o] > 0) || !isfinite(s->base[o]))
        return broken(err);
    return 0;
}

static int load_fits(struct view *in, struct score *s, struct err *err)
{
    uint8_t n = 0;

    if (view_u8(in, &n, err) < 0 || view_f64(in, &s->lambda, err) < 0 ||
        view_f64(in, &s->doubt, err) < 0 || view_f64(in, &s->gain, err) < 0)
        return -1;
    if (n < 1 || n > SCORE_MOST_OUTPUTS || !(s->lambda > 0 && isfinite(s->lambda)) ||
        !(s->doubt >= 0 && s->doubt < 100) || !isfinite(s->gain))
        return broken(err);
    s->n_outputs = n;
    s->steps = RIDGE_STEPS;
    for (int o = 0; o < n; o++) {
        if (load_output(in, s, o, err) < 0)
            return -1;
    }
    int64_t size = (int64_t)s->bag.n_kept * n;
    if (size > (int64_t)((in->len - in->pos) / sizeof(float)))
        return broken(err);
    s->w = mem_array((size_t)size + 1, sizeof *s->w);
    for (int64_t i = 0; i < size; i++) {
        if (view_f32(in, &s->w[i], err) < 0)
            return -1;
        if (!isfinite(s->w[i]))
            return broken(err);
    }
    return 0;
}

int score_load(struct view *in, struct score *out, struct err *err)
{
    *out = (struct score){ .gain = 0 };
    if (bag_load(in, &out->bag, err) == 0 && load_fits(in, out, err) == 0)
        return 0;
    score_fini(out);
    return -1;
}
