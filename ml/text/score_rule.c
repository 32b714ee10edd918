/* score_rule.c - how the words of a text count (words.h), by what fits explain of the rows of other
 * parts: one question after the other, on a sample of the texts. */
#include "base/mem.h"
#include "ml/text/score_private.h"

#include <math.h>
#include <string.h>

enum {
    /* The rule is chosen on so many texts. */
    TRY_TEXTS = 6000,
    TRY_ENTRIES = 1500000,
    /* Letter n-grams take 60 ns a byte in each reading, and each fold may read all texts. */
    LETTERS_MOST_BYTES = 50 << 20,
    /* 1 in so many of them shows whether letter n-grams are worth a try; fewer texts than LOOK_TEXTS are
     * cheap to try, and a part of them shows nothing. */
    FEW_TEXTS = 6,
    LOOK_TEXTS = 2000,
};

/* Rules are tried where so many words ask for them: misspelt ones stand for others, letter n-grams tell
 * of words of few rows. Where all words have many rows, n-grams count signs at best, as a text's length
 * does (shape.h). */
static const double SHARE_MISSPELT = 0.02, SHARE_RARE = 0.01;

/* What a rule must gain more than the one before, at least. */
static const double LEAST_MORE = 0.001;

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

/* Tries a rule on 1 in `share` of the texts that rules are chosen on, with few steps where these are
 * few; *gain: what it gains. */
static int try_rule(const struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
                    int64_t n_texts, int share, struct score *s, struct tried *out, double *gain,
                    struct err *err)
{
    const struct score_limits most = { TRY_TEXTS / share, TRY_ENTRIES / share };

    *out = (struct tried){ .bag.n_kept = 0 };
    *gain = 0;
    if (score_sample_make(rule, in, rows, n_texts, &most, &out->bag, &out->corpus, err) < 0)
        return -1;
    if (out->bag.n_kept == 0)
        return 0;
    s->doubt = 0;
    if (score_cells_make(s, in, &out->corpus, NULL, &out->cells, err) < 0 ||
        score_lambda_try(&out->cells, share > 1 ? RIDGE_FEW_STEPS : RIDGE_STEPS, s, err) < 0) {
        tried_fini(out);
        return -1;
    }
    *gain = s->gain;
    return 0;
}

/* Whether letter n-grams may gain more than the rule so far, by a few of the texts, with half a standard
 * error: 1 = yes. They take five times as long as all other rules, and have the advantage where texts
 * are few, because they tell of words that were not seen before. */
static int letters_may(const struct words_rule *rule, const struct words_rule *letters,
                       const struct score_rows *in, const int64_t *rows, int64_t n_texts,
                       struct score *s, struct err *err)
{
    double gain[2] = { 0, 0 }, seen = 1;

    if (n_texts < LOOK_TEXTS)
        return 1;
    for (int k = 0; k < 2; k++) {
        struct tried t;
        if (try_rule(k ? letters : rule, in, rows, n_texts, FEW_TEXTS, s, &t, &gain[k], err) < 0)
            return -1;
        for (int p = 0; p < t.cells.parts; p++)
            seen += k ? t.cells.rows[p] : 0;
        tried_fini(&t);
    }
    double error = 2 * sqrt(gain[0] / seen) * (1 - gain[0]);
    return gain[1] > gain[0] + error / 2;
}

/* How far words are doubted with the rule chosen, which gains `best` without doubt: further, as long as
 * that gains more. */
static int choose_doubt(const struct tried *t, double best, struct score *s, struct err *err)
{
    static const double doubts[] = { 1, 2, 4 };
    double chosen = 0;

    for (size_t k = 0; k < ARRAY_LEN(doubts) && t->bag.n_kept > 0; k++) {
        s->doubt = doubts[k];
        if (score_lambda_try(&t->cells, RIDGE_FEW_STEPS, s, err) < 0)
            return -1;
        if (s->gain <= best)
            break;
        best = s->gain;
        chosen = doubts[k];
    }
    s->doubt = chosen;
    return 0;
}

/* Whether the texts are so many that letter n-grams take too long; those read once are not. */
static bool are_too_many(const struct texts *texts)
{
    int64_t bytes = 0;

    for (int l = 0; l < texts->n_levels && !texts->read; l++)
        bytes += (int64_t)strnlen(texts->levels[l], WORDS_MOST_BYTES);
    return bytes > LETTERS_MOST_BYTES;
}

/* Whether words explain more where each counts the same: *gains, and then *best is what it gains. The
 * matrix that was tried has such values afterwards, in the same places. */
static int try_presence(struct tried *t, struct score *s, double *best, bool *gains,
                        struct err *err)
{
    size_t bytes = ((size_t)t->corpus.entries + 1) * sizeof(float);
    float *value = (float *)(uintptr_t)t->corpus.x.value, *before = mem_try_alloc(bytes);
    struct sparse_columns *columns = &t->cells.columns;

    *gains = false;
    if (!before)
        return err_set(err, ERR_NOMEM, "no memory for the words of texts");
    for (int64_t e = 0; e < t->corpus.entries; e++) {
        before[e] = value[e];
        value[e] = BAG_PRESENCE;
    }
    for (int64_t e = 0; e < t->corpus.entries && columns->start; e++)
        columns->entry[e].value = BAG_PRESENCE;
    int rc = score_lambda_try(&t->cells, RIDGE_STEPS, s, err);
    *gains = rc == 0 && s->gain > *best + LEAST_MORE;
    if (*gains) {
        *best = s->gain;
    } else {
        for (int64_t e = 0; e < t->corpus.entries; e++)
            value[e] = before[e];
        if (columns->start)
            sparse_columns_fill(&t->corpus.x, columns);
    }
    mem_try_free(before);
    return rc;
}

/* What is tried one after the other. */
enum question { SPELLING, PAIRS, LETTERS, QUESTIONS };

/* Whether a rule is worth a try: 1 = yes. */
static int is_asked(enum question q, const struct words_rule *rule, const struct words_rule *next,
                    const struct score_rows *in, const int64_t *rows, int64_t n_texts,
                    const struct score_signs *signs, struct score *s, struct err *err)
{
    if (q == SPELLING)
        return signs->misspelt >= SHARE_MISSPELT;
    if (q == LETTERS && (signs->rare < SHARE_RARE || are_too_many(&in->texts)))
        return 0;
    return q == LETTERS ? letters_may(rule, next, in, rows, n_texts, s, err) : 1;
}

/* Chooses how words count, whether misspelt ones stand for others, and whether pairs and letter n-grams
 * are taken: what explains clearly more on a sample. Then how far words are doubted. The sample of the
 * best rule so far is kept, because presence and the doubts are tried on it. */
int score_rule_choose(struct words_rule *rule, const struct score_rows *in, const int64_t *rows,
                      int64_t n_texts, struct score *s, struct err *err)
{
    const struct score_limits most = { TRY_TEXTS, TRY_ENTRIES };
    struct tried t[2] = { { .bag.n_kept = 0 } };
    struct score_signs signs;
    double best = 0, gain = 0;
    int kept = 0, rc = 0;

    if (score_signs_of(in, rows, n_texts, &most, &signs, err) < 0 ||
        try_rule(rule, in, rows, n_texts, 1, s, &t[0], &best, err) < 0)
        return -1;
    if (t[0].bag.n_kept > 0)
        rc = try_presence(&t[0], s, &best, &rule->presence, err);
    for (int q = 0; q < QUESTIONS && rc == 0; q++) {
        struct words_rule next = *rule;
        next.spelling = q == SPELLING || next.spelling;
        next.pairs = q == PAIRS || next.pairs;
        next.letters = q == LETTERS;
        int asked = is_asked((enum question)q, rule, &next, in, rows, n_texts, &signs, s, err);
        if (asked <= 0) {
            rc = asked;
            continue;
        }
        rc = try_rule(&next, in, rows, n_texts, 1, s, &t[1 - kept], &gain, err);
        if (rc == 0 && gain > best * (q == SPELLING ? 1 : 1.03) + LEAST_MORE) {
            best = gain;
            kept = 1 - kept;
            *rule = next;
        }
        tried_fini(&t[1 - kept]);
    }
    if (rc == 0)
        rc = choose_doubt(&t[kept], best, s, err);
    tried_fini(&t[kept]);
    return rc;
}
