/* score.c - see score.h. The training rows are first summed up by text and part, so that the cost
 * depends on the distinct texts. Then a block of SPARSE_WIDE fits runs at once: the outputs times
 * the sets of parts that a fit sees. */
#include "base/mem.h"
#include "ml/text/ridge.h"
#include "ml/text/score_private.h"

#include <math.h>
#include <string.h>

enum {
    WIDE = SPARSE_WIDE,
    /* The rule is chosen on so many texts. */
    TRY_TEXTS = 6000,
    TRY_ENTRIES = 1500000,
    /* Letter n-grams take 60 ns a byte in each reading, and each fold may read all texts. */
    LETTERS_MOST_BYTES = 50 << 20,
    LAMBDAS = 5,
    /* parts of which the penalty is chosen */
    TRY_PARTS = WIDE / LAMBDAS
};

/* ---- choosing the penalty ---- */

static const double lambdas[LAMBDAS] = { 0.3, 1, 3, 12, 50 };

/* Adds, for each penalty, by how much the fits on other parts, each scaled as suits best, lower the
 * sum of squares of the rows they have not seen. What follows the scores does not mind their scale,
 * and a large penalty makes them small but may order the rows best. */
static int gains_of(const struct score_cells *c, int output, double doubt, int steps,
                    double gain[LAMBDAS], struct err *err)
{
    int64_t texts = c->corpus->x.rows;
    int parts = MIN(c->parts, TRY_PARTS);
    struct score_block b = { .n = LAMBDAS * parts, .steps = steps };
    double along[LAMBDAS] = { 0 }, length[LAMBDAS] = { 0 };
    float *out = mem_try_alloc((size_t)texts * WIDE * sizeof *out);
    int wide = WIDE;

    for (int k = 0; k < b.n; k++)
        b.fit[k] = (struct score_one){ output, k % parts, lambdas[k / parts], doubt };
    if (!out)
        return err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)texts);
    if (score_block_fit(c, &b, err) < 0) {
        mem_try_free(out);
        return -1;
    }
    wide = b.wide;
    sparse_times(&c->corpus->x, wide, b.w, wide, out, wide);
    for (int64_t t = 0; t < texts; t++) {
        for (int k = 0; k < b.n; k++) {
            int64_t cell = t * c->parts + b.fit[k].without;
            double x = (double)out[t * wide + k], n = (double)c->n[cell];
            double sum = (double)c->sum[output * texts * c->parts + cell] - n * b.base[k];
            along[k / parts] += x * sum;
            length[k / parts] += n * x * x;
        }
    }
    for (int l = 0; l < LAMBDAS; l++)
        gain[l] += along[l] > 0 && length[l] > 0 ? along[l] * along[l] / length[l] : 0;
    mem_try_free(out);
    mem_try_free(b.w);
    return 0;
}

/* Sets the penalty and the gain, as a share of the target's squares, by fits of so many steps. */
static int choose_lambda(const struct score_cells *c, int steps, struct score *s, struct err *err)
{
    double gain[LAMBDAS] = { 0 }, all = 0, seen = 0, rows = 0;
    int best = 0;

    for (int o = 0; o < s->n_outputs; o++) {
        if (gains_of(c, o, s->doubt, steps, gain, err) < 0)
            return -1;
        all += c->squares[o];
    }
    for (int p = 0; p < c->parts; p++) {
        rows += c->rows[p];
        seen += p < TRY_PARTS ? c->rows[p] : 0;
    }
    for (int l = 1; l < LAMBDAS; l++)
        best = gain[l] > gain[best] ? l : best;
    s->lambda = lambdas[best];
    s->gain = all > 0 && seen > 0 ? gain[best] / (all * seen / rows) : 0;
    return 0;
}

/* The bag, and the matrix that it makes of the texts, of a sample. */
static int sample_make(const struct words_rule *rule, const struct score_rows *in,
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

/* A rule on a sample of the texts. */
struct tried {
    struct bag bag;
    struct corpus corpus;
    struct score_cells cells; /* points to the corpus */
};

static void tried_fini(struct tried *t)
{
    score_cells_fini(&t->cells);
    corpus_fini(&t->corpus);
    bag_fini(&t->bag);
    *t = (struct tried){ .bag.n_kept = 0 };
}

/* Tries a rule; *gain: what it gains. */
static int try_rule(const struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
                    int64_t n_texts, struct score *s, struct tried *out, double *gain,
                    struct err *err)
{
    const struct score_limits most = { TRY_TEXTS, TRY_ENTRIES };

    *out = (struct tried){ .bag.n_kept = 0 };
    *gain = 0;
    if (sample_make(rule, in, rows, n_texts, &most, &out->bag, &out->corpus, err) < 0)
        return -1;
    if (out->bag.n_kept == 0)
        return 0;
    s->doubt = 0;
    if (score_cells_make(s, in, &out->corpus, &out->cells, err) < 0 ||
        choose_lambda(&out->cells, RIDGE_STEPS, s, err) < 0) {
        tried_fini(out);
        return -1;
    }
    *gain = s->gain;
    return 0;
}

/* How far words are doubted with the rule chosen, which gains `best` without doubt: further, as long as
 * that gains more. */
static int choose_doubt(const struct tried *t, double best, struct score *s, struct err *err)
{
    static const double doubts[] = { 1, 2, 4 };
    double chosen = 0;

    for (size_t k = 0; k < ARRAY_LEN(doubts) && t->bag.n_kept > 0; k++) {
        s->doubt = doubts[k];
        if (choose_lambda(&t->cells, RIDGE_DOUBT_STEPS, s, err) < 0)
            return -1;
        if (s->gain <= best)
            break;
        best = s->gain;
        chosen = doubts[k];
    }
    s->doubt = chosen;
    return 0;
}

static int64_t text_bytes(const struct score_rows *in)
{
    int64_t n = 0;

    for (int l = 0; l < in->texts.n_levels; l++)
        n += (int64_t)strnlen(in->texts.levels[l], WORDS_MOST_BYTES);
    return n;
}

/* Chooses how words count, and whether pairs and letter n-grams are taken, one question after the
 * other: what explains clearly more on a sample. Then how far words are doubted. The sample of the
 * best rule so far is kept, because the doubts are tried on it. */
static int choose_rule(struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
                       int64_t n_texts, struct score *s, struct err *err)
{
    enum { PLAIN, PRESENCE, PAIRS, LETTERS, TRIES };
    int tries = text_bytes(in) > LETTERS_MOST_BYTES ? LETTERS : TRIES, kept = 0, rc = 0;
    struct tried t[2] = { { .bag.n_kept = 0 } };
    double best = 0, gain = 0;

    for (int k = 0; k < tries && rc == 0; k++) {
        struct words_rule tried = *rule;
        int to = k == PLAIN ? 0 : 1 - kept;
        tried.presence = tried.presence || k == PRESENCE;
        tried.pairs = k == PAIRS || tried.pairs;
        tried.letters = k == LETTERS;
        rc = try_rule(&tried, in, rows, n_texts, s, &t[to], &gain, err);
        if (rc == 0 && (k == PLAIN || gain > best * (k == PRESENCE ? 1 : 1.03) + 0.001)) {
            best = gain;
            kept = to;
            *rule = tried;
        }
        tried_fini(&t[1 - kept]);
    }
    if (rc == 0)
        rc = choose_doubt(&t[kept], best, s, err);
    tried_fini(&t[kept]);
    return rc;
}

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

/* Takes the fit of output o, which is column k of a block. */
static void fit_take(const struct score_block *b, int k, int o, struct score *s)
{
    for (int j = 0; j < s->bag.n_kept; j++)
        s->w[j * s->n_outputs + o] = b->w[j * b->wide + k];
    s->base[o] = (float)b->base[k];
}

/* The fits of all outputs on all rows, and with them those of each part, whose scores of all levels
 * are asked for next. */
static int fit_with_parts(const struct score_rows *in, const struct score_cells *c, struct score *s,
                          struct err *err)
{
    int at_once = score_at_once(in), rc = 0;

    for (int first = 0; first < s->n_outputs && rc == 0; first += at_once) {
        int n = MIN(at_once, s->n_outputs - first);
        struct score_block b;
        rc = score_fold_block(s, in, c, c->corpus, first, n, &b, s->first, err);
        for (int o = 0; o < n && rc == 0; o++)
            fit_take(&b, o * (in->parts + 1), first + o, s);
        mem_try_free(b.w);
    }
    return rc;
}

/* The fits of all outputs on all rows. */
static int fit_all(const struct score_rows *in, const struct score_cells *c, int64_t cache_bytes,
                   struct score *s, struct err *err)
{
    size_t scores = (size_t)in->texts.n_levels * (size_t)(s->n_outputs * (in->parts + 1));
    struct score_block b = { .n = s->n_outputs, .steps = RIDGE_STEPS };

    s->w = mem_array((size_t)s->bag.n_kept * (size_t)s->n_outputs, sizeof *s->w);
    if (c->corpus->x.rows == in->texts.n_levels &&
        (int64_t)(scores * sizeof *s->first) <= cache_bytes / 4)
        s->first = mem_try_alloc((scores + 1) * sizeof *s->first);
    if (s->first)
        return fit_with_parts(in, c, s, err);
    for (int o = 0; o < s->n_outputs; o++)
        b.fit[o] = (struct score_one){ o, -1, s->lambda, s->doubt };
    if (score_block_fit(c, &b, err) < 0)
        return -1;
    for (int o = 0; o < s->n_outputs; o++)
        fit_take(&b, o, o, s);
    mem_try_free(b.w);
    return 0;
}

/* Keeps the corpus where it holds all texts of the table and is small enough. */
static void keep_cache(struct score *s, const struct score_rows *in, struct corpus *corpus,
                       int64_t cache_bytes)
{
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

    if (sample_make(rule, in, rows, n_texts, &most, &s->bag, &corpus, err) < 0)
        return -1;
    if (s->bag.n_kept == 0) {
        corpus_fini(&corpus);
        return 0;
    }
    if (score_cells_make(s, in, &corpus, &cells, err) == 0) {
        rc = choose_lambda(&cells, RIDGE_STEPS, s, err);
        if (rc == 0 && s->gain > chance_of(&cells))
            rc = fit_all(in, &cells, cache_bytes, s, err) < 0 ? -1 : 1;
        score_cells_fini(&cells);
    }
    if (rc == 1)
        keep_cache(s, in, &corpus, cache_bytes);
    else
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
            rc = choose_rule(&rule, in, rows, n_texts, out, err);
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
