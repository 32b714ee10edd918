/* level_effects.c - see level_effects.h. The scores of all rows by all fits are kept; a pass over a
 * column first adds what the column before it has changed. */
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

struct work {
    const struct effect_rows *in;
    /* [n][WIDE] scores; [levels][WIDE] what was last added to the effects of a column, with the
     * change of the mean */
    float *score, *change;
    /* [most levels of a column][WIDE] sums of derivatives by level */
    double *down, *bend;
    /* [parts + 1][WIDE] 1 = the fit sees the rows of the part */
    float sees[PREP_PARTS + 1][WIDE];
    /* of numbers: the mean that a fit takes off, and 1 / spread; 0 = they do not differ */
    double mean[WIDE], unit[WIDE];
    /* the column whose change is not added to the scores yet; -1 = none */
    int before;
};

/* Rows from .. from + n: adds the change of the column before. */
SIMD_BODY void scores_move_body(float *restrict score, const int32_t *place, int64_t n,
                                const float *restrict change)
{
    for (int64_t i = 0; i < n; i++) {
        const float *by = change + (int64_t)place[i] * WIDE;
        for (int k = 0; k < WIDE; k++)
            score[i * WIDE + k] += by[k];
    }
}
SIMD_KERNEL_STATIC(scores_move,
                   (float *restrict score, const int32_t *place, int64_t n,
                    const float *restrict change),
                   (score, place, n, change))

/* What rows add to the sums of their levels. value: probabilities, or scores. */
struct sums_in {
    const float *value, *weight;
    const double *y, *mean, *unit;
    const uint8_t *part;
    const float (*sees)[WIDE];
    const int32_t *place;
    int32_t first;
    int n;
};

SIMD_BODY void sums_logistic_body(const struct sums_in *in, double *restrict down,
                                  double *restrict bend)
{
    for (int i = 0; i < in->n; i++) {
        const float *p = in->value + (int64_t)i * WIDE, *sees = in->sees[in->part[i]];
        int64_t at = (int64_t)(in->place[i] - in->first) * WIDE;
        for (int k = 0; k < WIDE; k++) {
            float w = in->weight[i] * sees[k];
            down[at + k] += (double)(w * ((float)in->y[i] - p[k]));
            bend[at + k] += (double)(w * (p[k] * (1.0f - p[k])));
        }
    }
}
SIMD_KERNEL_STATIC(sums_logistic,
                   (const struct sums_in *in, double *restrict down, double *restrict bend),
                   (in, down, bend))

SIMD_BODY void sums_squared_body(const struct sums_in *in, double *restrict down,
                                 double *restrict bend)
{
    for (int i = 0; i < in->n; i++) {
        const float *score = in->value + (int64_t)i * WIDE, *sees = in->sees[in->part[i]];
        int64_t at = (int64_t)(in->place[i] - in->first) * WIDE;
        for (int k = 0; k < WIDE; k++) {
            float w = in->weight[i] * sees[k];
            float y = (float)((in->y[i] - in->mean[k]) * in->unit[k]);
            down[at + k] += (double)(w * (y - score[k]));
            bend[at + k] += (double)w;
        }
    }
}
SIMD_KERNEL_STATIC(sums_squared,
                   (const struct sums_in *in, double *restrict down, double *restrict bend),
                   (in, down, bend))

static int64_t levels_of(const struct effect_rows *in, int col)
{
    return (col + 1 < in->cols ? in->first[col + 1] : in->levels) - in->first[col];
}

/* Brings the scores up to date, and with col >= 0 sums up the derivatives by its levels. */
static void pass(struct work *k, int col)
{
    const struct effect_rows *in = k->in;
    float p[BLOCK * WIDE];

    if (col >= 0) {
        size_t bytes = (size_t)levels_of(in, col) * WIDE * sizeof *k->down;
        memset(k->down, 0, bytes);
        memset(k->bend, 0, bytes);
    }
    for (int64_t from = 0; from < in->n; from += BLOCK) {
        int n = (int)MIN(BLOCK, in->n - from);
        float *score = k->score + from * WIDE;
        if (k->before >= 0)
            scores_move(score, in->place + k->before * in->n + from, n, k->change);
        if (col < 0)
            continue;
        struct sums_in sums = { .value = score,
                                .y = in->y + from,
                                .weight = in->weight + from,
                                .mean = k->mean,
                                .unit = k->unit,
                                .part = in->part + from,
                                .sees = (const float(*)[WIDE])k->sees,
                                .place = in->place + col * in->n + from,
                                .first = in->first[col],
                                .n = n };
        if (in->is_logistic) {
            grad_sigmoid(score, (int64_t)n * WIDE, p);
            sums.value = p;
            sums_logistic(&sums, k->down, k->bend);
        } else {
            sums_squared(&sums, k->down, k->bend);
        }
    }
    k->before = col;
}

static double clamped(double x)
{
    return x < -LONGEST ? -LONGEST : x > LONGEST ? LONGEST : x;
}

/* Moves the effects of the column, and the mean with them. */
static void move(struct work *k, int col, double penalty, float *effect)
{
    int64_t levels = levels_of(k->in, col);
    float *own = effect + (int64_t)k->in->first[col] * WIDE,
          *change = k->change + (int64_t)k->in->first[col] * WIDE;

    for (int c = 0; c < EFFECT_FITS; c++) {
        double down = 0, bend = 0;
        for (int64_t l = 0; l < levels; l++) {
            down += k->down[l * WIDE + c];
            bend += k->bend[l * WIDE + c];
        }
        double mean = bend > 0 ? clamped(down / bend) : 0;
        for (int64_t l = 0; l < levels; l++) {
            double d = k->down[l * WIDE + c], b = k->bend[l * WIDE + c];
            float *e = &own[l * WIDE + c];
            double by = b > 0 ? clamped((d - mean * b - penalty * (double)*e) / (b + penalty)) : 0;
            *e = (float)((double)*e + by);
            change[l * WIDE + c] = (float)(by + mean);
        }
    }
}

/* The target of a row as the fit that it is judged by would have it. */
static double target_of(const struct work *k, int64_t i)
{
    int fit = k->in->part[i];

    return k->in->is_logistic ? k->in->y[i] : (k->in->y[i] - k->mean[fit]) * k->unit[fit];
}

/* The square of the correlation of scores and targets, each row by the fit that has not seen it. */
static double gain_of(const struct work *k)
{
    const struct effect_rows *in = k->in;
    double n = 0, y = 0, yy = 0, s = 0, ss = 0, sy = 0;

    for (int64_t i = 0; i < in->n; i++) {
        double w = (double)in->weight[i], t = target_of(k, i),
               score = (double)k->score[i * WIDE + in->part[i]];
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

/* The mean and the spread of the rows that a fit sees. */
static void units_take(struct work *k)
{
    const struct effect_rows *in = k->in;

    for (int c = 0; c < EFFECT_FITS && !in->is_logistic; c++) {
        double n = 0, sum = 0, squares = 0;
        for (int64_t i = 0; i < in->n; i++) {
            n += in->part[i] != c;
            sum += in->part[i] != c ? in->y[i] : 0;
        }
        double mean = n > 0 ? sum / n : 0;
        for (int64_t i = 0; i < in->n; i++) {
            double off = in->part[i] != c ? in->y[i] - mean : 0;
            squares += off * off;
        }
        double unit = n > 0 ? 1 / sqrt(squares / n) : 0;
        bool differs = isfinite(mean) && isfinite(unit);
        k->mean[c] = differs ? mean : 0;
        k->unit[c] = differs ? unit : 0;
    }
}

static int work_init(struct work *k, const struct effect_rows *in, struct err *err)
{
    int64_t most = 0;

    *k = (struct work){ .in = in, .before = -1 };
    for (int c = 0; c < in->cols; c++)
        most = MAX(most, levels_of(in, c));
    k->score = mem_try_zalloc((size_t)in->n * WIDE * sizeof *k->score);
    k->change = mem_try_zalloc((size_t)in->levels * WIDE * sizeof *k->change);
    k->down = mem_try_alloc((size_t)most * WIDE * sizeof *k->down);
    k->bend = mem_try_alloc((size_t)most * WIDE * sizeof *k->bend);
    for (int p = 0; p <= PREP_PARTS; p++) {
        for (int c = 0; c < EFFECT_FITS; c++)
            k->sees[p][c] = p == c ? 0.0f : 1.0f;
    }
    units_take(k);
    if (k->score && k->change && k->down && k->bend)
        return 0;
    return err_set(err, ERR_NOMEM, "no memory for the effects of %lld levels",
                   (long long)in->levels);
}

int level_effects_fit(const struct effect_rows *in, double penalty, float *effect, double *gain,
                      struct err *err)
{
    struct work k;
    int rc = work_init(&k, in, err);

    memset(effect, 0, (size_t)in->levels * WIDE * sizeof *effect);
    for (int s = 0; s < in->sweeps && rc == 0; s++) {
        for (int c = 0; c < in->cols; c++) {
            pass(&k, c);
            move(&k, c, penalty, effect);
        }
    }
    if (rc == 0 && gain) {
        pass(&k, -1);
        *gain = gain_of(&k);
    }
    mem_try_free(k.score);
    mem_try_free(k.change);
    mem_try_free(k.down);
    mem_try_free(k.bend);
    return rc;
}
