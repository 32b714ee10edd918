/* level_effects.c - see level_effects.h. For all rows and fits are kept the scores, or of numbers the
 * scores less the target; a pass over a column first takes in what the column before it has changed. */
#include "ml/prep/level_effects.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/cpu/grad.h"
#include "ml/cpu/simd.h"

#include <math.h>
#include <string.h>

/* BLOCK: rows of a pass at a time; their scores are 16 KiB. */
enum { WIDE = EFFECT_WIDE, BLOCK = 512 };

/* No step moves an effect or the mean by more, in units of the score. */
#define LONGEST 3.0

/* The numbers of one row or level, wherever they stand; as vectors, because the compiler takes loops of
 * eight apart before it looks for them. */
typedef float eight __attribute__((vector_size(4 * WIDE), aligned(4), may_alias));
typedef double eight_d __attribute__((vector_size(8 * WIDE), aligned(8), may_alias));
#define DOUBLED(x) __builtin_convertvector((x), eight_d)

struct level_effects {
    struct effect_rows in;
    /* [levels][WIDE] */
    float *effect;
    /* [n][WIDE]: scores; of numbers the score less the target */
    float *score;
    /* [most levels of a column][WIDE] what a pass has yet to add to the scores, with the change of
     * the mean */
    float *change;
    /* sums of the derivatives by level: [most levels of a column][WIDE], the second one of numbers
     * [levels][WIDE], because it stays as it is */
    double *down, *bend;
    /* [parts + 1][WIDE] 1 = the fit sees the rows of the part */
    float sees[PREP_PARTS + 1][WIDE];
    /* of numbers: the mean that a fit takes off, and 1 / spread; 0 = they do not differ */
    double mean[WIDE], unit[WIDE];
    /* of a sweep: how much it has moved the scores, and what they are, summed over rows and squared;
     * 1 = the fit still moves */
    double moved[WIDE], size[WIDE], moves[WIDE];
    /* the column whose change is not added to the scores yet; -1 = none */
    int before;
};

/* Adds the change of the column before to the scores of n rows. */
SIMD_BODY void scores_add_body(float *restrict score, const int32_t *level, int64_t n,
                               const float *restrict change)
{
    for (int64_t i = 0; i < n; i++)
        *(eight *)(score + i * WIDE) += *(const eight *)(change + (int64_t)level[i] * WIDE);
}
SIMD_KERNEL_STATIC(scores_add,
                   (float *restrict score, const int32_t *level, int64_t n,
                    const float *restrict change),
                   (score, level, n, change))

/* What rows add to the sums of their levels. */
struct sums_in {
    const float *weight;
    const double *y;
    const uint8_t *part;
    const float (*sees)[WIDE];
    const int32_t *level;
    int n;
};

/* p: probabilities */
SIMD_BODY void sums_logistic_body(const struct sums_in *in, const float *restrict p,
                                  double *restrict down, double *restrict bend)
{
    for (int i = 0; i < in->n; i++) {
        int64_t at = (int64_t)in->level[i] * WIDE;
        eight w = in->weight[i] * *(const eight *)in->sees[in->part[i]],
              own = *(const eight *)(p + (int64_t)i * WIDE);
        *(eight_d *)(down + at) += DOUBLED(w * ((float)in->y[i] - own));
        *(eight_d *)(bend + at) += DOUBLED(w * (own * (1.0f - own)));
    }
}
SIMD_KERNEL_STATIC(sums_logistic,
                   (const struct sums_in *in, const float *restrict p, double *restrict down,
                    double *restrict bend),
                   (in, p, down, bend))

/* over: the score less the target. before: the levels of the column before, whose change is taken in
 * first; NULL = none, and the change begins with 0s. */
SIMD_BODY void sums_squared_body(const struct sums_in *in, const int32_t *before,
                                 const float *restrict change, float *restrict over,
                                 double *restrict down)
{
    for (int i = 0; i < in->n; i++) {
        eight w = in->weight[i] * *(const eight *)in->sees[in->part[i]], *own = (eight *)over + i;
        eight now = *own + *(const eight *)(change + (before ? (int64_t)before[i] * WIDE : 0));
        *own = now;
        *(eight_d *)(down + (int64_t)in->level[i] * WIDE) -= DOUBLED(w * now);
    }
}
SIMD_KERNEL_STATIC(sums_squared,
                   (const struct sums_in *in, const int32_t *before, const float *restrict change,
                    float *restrict over, double *restrict down),
                   (in, before, change, over, down))

static int64_t levels_of(const struct effect_rows *in, int col)
{
    return (col + 1 < in->cols ? in->first[col + 1] : in->levels) - in->first[col];
}

static const int32_t *rows_of(const struct effect_rows *in, int col, int64_t from)
{
    return in->level + col * in->n + from;
}

/* The sums of numbers' second derivatives, which are weights: by part first, so that each row is added
 * once. */
static void bends_take(struct level_effects *k)
{
    const struct effect_rows *in = &k->in;

    for (int c = 0; c < in->cols; c++) {
        const int32_t *level = rows_of(in, c, 0);
        double *bend = k->bend + (int64_t)in->first[c] * WIDE;
        for (int64_t i = 0; i < in->n; i++)
            bend[(int64_t)level[i] * WIDE + in->part[i]] += (double)in->weight[i];
        for (int64_t l = 0; l < levels_of(in, c); l++, bend += WIDE) {
            double part[PREP_PARTS];
            memcpy(part, bend, sizeof part);
            for (int fit = 0; fit < EFFECT_FITS; fit++) {
                bend[fit] = 0;
                for (int p = 0; p < PREP_PARTS; p++)
                    bend[fit] += p != fit ? part[p] : 0;
            }
        }
    }
}

/* Brings the scores up to date, and with col >= 0 sums up the derivatives by its levels. */
static void pass(struct level_effects *k, int col, double *bend)
{
    const struct effect_rows *in = &k->in;
    float p[BLOCK * WIDE];

    if (k->before < 0)
        memset(k->change, 0, WIDE * sizeof *k->change);
    for (int64_t from = 0; from < in->n; from += BLOCK) {
        int n = (int)MIN(BLOCK, in->n - from);
        float *score = k->score + from * WIDE;
        const int32_t *before = k->before >= 0 ? rows_of(in, k->before, from) : NULL;
        struct sums_in sums = { .y = in->y + from,
                                .weight = in->weight + from,
                                .part = in->part + from,
                                .sees = (const float(*)[WIDE])k->sees,
                                .level = col >= 0 ? rows_of(in, col, from) : NULL,
                                .n = n };
        if (col >= 0 && !in->is_logistic) {
            sums_squared(&sums, before, k->change, score, k->down);
            continue;
        }
        if (before)
            scores_add(score, before, n, k->change);
        if (col >= 0) {
            grad_sigmoid(score, (int64_t)n * WIDE, p);
            sums_logistic(&sums, p, k->down, bend);
        }
    }
    k->before = col;
}

/* The sums of one column: where a step of its effects and of the mean leads. */
struct move_in {
    const double *down, *bend, *moves;
    int64_t levels;
    double penalty;
};

static inline double clamped(double x)
{
    return x < -LONGEST ? -LONGEST : x > LONGEST ? LONGEST : x;
}

/* Moves the effects of the column, and the mean with them. */
SIMD_BODY void move_body(const struct move_in *in, float *restrict effect, float *restrict change,
                         double *restrict moved, double *restrict size)
{
    double down[WIDE] = { 0 }, bend[WIDE] = { 0 }, mean[WIDE];

    for (int64_t l = 0; l < in->levels * WIDE; l += WIDE) {
        for (int k = 0; k < WIDE; k++) {
            down[k] += in->down[l + k];
            bend[k] += in->bend[l + k];
        }
    }
    for (int k = 0; k < WIDE; k++)
        mean[k] = bend[k] > 0 ? clamped(down[k] / bend[k]) * in->moves[k] : 0;
    for (int64_t l = 0; l < in->levels * WIDE; l += WIDE) {
        for (int k = 0; k < WIDE; k++) {
            double d = in->down[l + k], b = in->bend[l + k], e = (double)effect[l + k];
            double by = clamped((d - mean[k] * b - in->penalty * e) / (b + in->penalty));
            by = b > 0 ? by * in->moves[k] : 0;
            e += by;
            moved[k] += b * by * by;
            size[k] += b * e * e;
            effect[l + k] = (float)e;
            change[l + k] = (float)(by + mean[k]);
        }
    }
}
SIMD_KERNEL_STATIC(move,
                   (const struct move_in *in, float *restrict effect, float *restrict change,
                    double *restrict moved, double *restrict size),
                   (in, effect, change, moved, size))

/* One column of a sweep. */
static void column(struct level_effects *k, int col, double penalty)
{
    const struct effect_rows *in = &k->in;
    int64_t first = in->first[col] * (int64_t)WIDE, levels = levels_of(in, col);
    double *bend = in->is_logistic ? k->bend : k->bend + first;

    memset(k->down, 0, (size_t)levels * WIDE * sizeof *k->down);
    if (in->is_logistic)
        memset(bend, 0, (size_t)levels * WIDE * sizeof *bend);
    pass(k, col, bend);
    const struct move_in by = { k->down, bend, k->moves, levels, penalty };
    move(&by, k->effect + first, k->change, k->moved, k->size);
}

void level_effects_run(struct level_effects *k, double penalty, int sweeps, double still)
{
    bool is_moving = true;

    for (int c = 0; c < WIDE; c++)
        k->moves[c] = c < EFFECT_FITS;
    for (int s = 0; s < sweeps && is_moving; s++) {
        memset(k->moved, 0, sizeof k->moved);
        memset(k->size, 0, sizeof k->size);
        for (int c = 0; c < k->in.cols; c++)
            column(k, c, penalty);
        is_moving = false;
        for (int c = 0; c < EFFECT_FITS; c++) {
            if (k->moved[c] <= still * k->size[c])
                k->moves[c] = 0;
            is_moving = is_moving || k->moves[c] > 0;
        }
    }
}

double level_effects_gain(struct level_effects *k)
{
    const struct effect_rows *in = &k->in;
    double n = 0, y = 0, yy = 0, s = 0, ss = 0, sy = 0;

    pass(k, -1, NULL);
    for (int64_t i = 0; i < in->n; i++) {
        int fit = in->part[i];
        double w = (double)in->weight[i], score = (double)k->score[i * WIDE + fit], t = in->y[i];
        if (!in->is_logistic) {
            t = (t - k->mean[fit]) * k->unit[fit];
            score += t;
        }
        n += w;
        y += w * t;
        yy += w * t * t;
        s += w * score;
        ss += w * score * score;
        sy += w * score * t;
    }
    double both = n > 0 ? sy - s * y / n : 0, own = n > 0 ? (yy - y * y / n) * (ss - s * s / n) : 0;
    return both > 0 && own > 0 ? both * both / own : 0;
}

const float *level_effects_all(const struct level_effects *k)
{
    return k->effect;
}

/* Rows of a part, unweighted: how many, their mean, and the sum of squares about it. */
struct moments {
    double n, mean, squares;
};

static void moments_take(const struct effect_rows *in, struct moments of[PREP_PARTS])
{
    for (int64_t i = 0; i < in->n; i++) {
        of[in->part[i]].n += 1;
        of[in->part[i]].mean += in->y[i];
    }
    for (int p = 0; p < PREP_PARTS; p++)
        of[p].mean /= of[p].n > 0 ? of[p].n : 1;
    for (int64_t i = 0; i < in->n; i++) {
        double off = in->y[i] - of[in->part[i]].mean;
        of[in->part[i]].squares += off * off;
    }
}

/* The mean and the spread of the rows that a fit sees. */
static void units_take(struct level_effects *k)
{
    struct moments of[PREP_PARTS] = { { 0 } };

    moments_take(&k->in, of);
    for (int c = 0; c < EFFECT_FITS; c++) {
        double n = 0, mean = 0, squares = 0;
        for (int p = 0; p < PREP_PARTS; p++) {
            n += p != c ? of[p].n : 0;
            mean += p != c ? of[p].n * of[p].mean : 0;
        }
        mean /= n > 0 ? n : 1;
        for (int p = 0; p < PREP_PARTS; p++) {
            double off = of[p].mean - mean;
            squares += p != c ? of[p].squares + of[p].n * off * off : 0;
        }
        double unit = n > 0 ? 1 / sqrt(squares / n) : 0;
        bool differs = isfinite(mean) && isfinite(unit);
        k->mean[c] = differs ? mean : 0;
        k->unit[c] = differs ? unit : 0;
    }
}

/* The scores where effects begin. */
static void scores_take(struct level_effects *k, const float *start)
{
    const struct effect_rows *in = &k->in;

    for (int64_t i = 0; i < in->n && !in->is_logistic; i++) {
        for (int c = 0; c < WIDE; c++)
            k->score[i * WIDE + c] = (float)((k->mean[c] - in->y[i]) * k->unit[c]);
    }
    for (int c = 0; c < in->cols && start; c++) {
        int64_t first = in->first[c] * (int64_t)WIDE, n = levels_of(in, c) * WIDE;
        for (int64_t l = 0; l < n; l++) {
            k->effect[first + l] = start[first + l];
            k->change[l] = start[first + l];
        }
        scores_add(k->score, rows_of(in, c, 0), in->n, k->change);
    }
}

void level_effects_free(struct level_effects *k)
{
    if (!k)
        return;
    mem_try_free(k->effect);
    mem_try_free(k->score);
    mem_try_free(k->change);
    mem_try_free(k->down);
    mem_try_free(k->bend);
    mem_free(k);
}

struct level_effects *level_effects_new(const struct effect_rows *in, const float *start,
                                        struct err *err)
{
    struct level_effects *k = mem_zalloc(sizeof *k);
    size_t most = 1;

    *k = (struct level_effects){ .in = *in, .before = -1 };
    for (int c = 0; c < in->cols; c++)
        most = MAX(most, (size_t)levels_of(in, c));
    size_t bends = in->is_logistic ? most : (size_t)in->levels;
    k->effect = mem_try_zalloc((size_t)in->levels * WIDE * sizeof *k->effect);
    k->score = mem_try_zalloc(((size_t)in->n + 1) * WIDE * sizeof *k->score);
    k->change = mem_try_zalloc(most * WIDE * sizeof *k->change);
    k->down = mem_try_alloc(most * WIDE * sizeof *k->down);
    k->bend = mem_try_zalloc(bends * WIDE * sizeof *k->bend);
    if (!k->effect || !k->score || !k->change || !k->down || !k->bend) {
        err_set(err, ERR_NOMEM, "no memory for the effects of %lld levels", (long long)in->levels);
        level_effects_free(k);
        return NULL;
    }
    for (int p = 0; p <= PREP_PARTS; p++) {
        for (int c = 0; c < EFFECT_FITS; c++)
            k->sees[p][c] = p == c ? 0.0f : 1.0f;
    }
    if (!in->is_logistic) {
        units_take(k);
        bends_take(k);
    }
    scores_take(k, start);
    return k;
}
