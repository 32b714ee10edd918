/* score_cells.c - sums of the training rows by text and part, and blocks of fits on them. The cost of
 * a fit depends on the distinct texts, not on the rows. */
#include "base/mem.h"
#include "ml/text/ridge.h"
#include "ml/text/score_private.h"

#include <string.h>

enum { WIDE = SPARSE_WIDE };

void score_cells_fini(struct score_cells *c)
{
    mem_try_free(c->n);
    mem_try_free(c->sum);
    c->n = c->sum = NULL;
}

/* What makes weights count 1 on average: their unit must not change the penalty. */
static double weight_scale(const struct score_rows *in)
{
    double n = 0, sum = 0;

    for (int64_t i = 0; in->weight && i < in->rows; i++) {
        n += score_is_used(in, i);
        sum += score_is_used(in, i) ? in->weight[i] : 0;
    }
    return sum > 0 && sum / n > 0 ? n / sum : 1;
}

int score_cells_make(const struct score *s, const struct score_rows *in,
                     const struct corpus *corpus, struct score_cells *out, struct err *err)
{
    int64_t texts = corpus->x.rows, size = texts * in->parts;
    double scale = weight_scale(in);
    int32_t *at = mem_try_alloc(((size_t)in->n_levels + 1) * sizeof *at);

    *out = (struct score_cells){ .corpus = corpus, .parts = in->parts, .n_outputs = s->n_outputs };
    out->n = mem_try_zalloc((size_t)size * sizeof *out->n);
    out->sum = mem_try_zalloc((size_t)(size * s->n_outputs) * sizeof *out->sum);
    if (!at || !out->n || !out->sum) {
        mem_try_free(at);
        score_cells_fini(out);
        return err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)texts);
    }
    for (int l = 0; l < in->n_levels; l++)
        at[l] = -1;
    for (int64_t t = 0; t < texts; t++)
        at[corpus->level[t]] = (int32_t)t;
    for (int64_t i = 0; i < in->rows; i++) {
        if (!score_is_used(in, i) || at[in->code[i]] < 0)
            continue;
        int64_t cell = (int64_t)at[in->code[i]] * in->parts + in->part[i];
        double w = in->weight ? in->weight[i] * scale : 1;
        out->n[cell] += (float)w;
        out->rows[in->part[i]] += w;
        for (int o = 0; o < s->n_outputs; o++) {
            double y = score_target(s, in, i, o);
            out->sum[o * size + cell] += (float)(w * y);
            out->total[o][in->part[i]] += w * y;
            out->squares[o] += w * y * y;
        }
    }
    mem_try_free(at);
    return 0;
}

static double base_of(const struct score_cells *c, const struct score_one *f)
{
    double n = 0, sum = 0;

    for (int p = 0; p < c->parts; p++) {
        n += p == f->without ? 0 : c->rows[p];
        sum += p == f->without ? 0 : c->total[f->output][p];
    }
    return n > 0 ? sum / n : 0;
}

/* Weights and centred sums of a block's fits. */
static void block_sums(const struct score_cells *c, const struct score_block *b, float *weight,
                       float *sum)
{
    int64_t texts = c->corpus->x.rows;

    for (int k = 0; k < b->n; k++) {
        const struct score_one *f = &b->fit[k];
        const float *from = c->sum + f->output * texts * c->parts;
        for (int64_t t = 0; t < texts; t++) {
            double n = 0, s = 0;
            for (int p = 0; p < c->parts; p++) {
                n += p == f->without ? 0 : (double)c->n[t * c->parts + p];
                s += p == f->without ? 0 : (double)from[t * c->parts + p];
            }
            weight[t * WIDE + k] = (float)n;
            sum[t * WIDE + k] = (float)(s - n * b->base[k]);
        }
    }
}

/* How far each fit trusts each feature (score.h); 1 where it does not doubt. The spread of a target
 * is 1. */
static void block_trust(const struct score_block *b, const struct sparse *x, const float *weight,
                        const float *sum, float *trust, float *room)
{
    memset(trust, 0, (size_t)x->cols * WIDE * sizeof *trust);
    memset(room, 0, (size_t)x->cols * WIDE * sizeof *room);
    sparse_transposed_times(x, sum, WIDE, trust, WIDE);
    for (int64_t i = 0; i < x->rows; i++) {
        for (int64_t e = x->start[i]; e < x->start[i + 1]; e++) {
            float *to = room + x->col[e] * WIDE, square = x->value[e] * x->value[e];
            for (int c = 0; c < WIDE; c++)
                to[c] += square * weight[i * WIDE + c];
        }
    }
    for (int64_t j = 0; j < x->cols; j++) {
        for (int c = 0; c < b->n; c++) {
            double g = (double)trust[j * WIDE + c], z2 = g * g, v = (double)room[j * WIDE + c];
            double doubt = b->fit[c].doubt * v;
            trust[j * WIDE + c] = b->fit[c].doubt == 0 ? 1
                                  : z2 > doubt         ? (float)(1 - doubt / z2)
                                                       : 0;
        }
    }
}

int score_block_fit(const struct score_cells *c, struct score_block *b, struct err *err)
{
    int64_t texts = c->corpus->x.rows;
    float *weight = mem_try_zalloc((size_t)texts * WIDE * sizeof *weight);
    float *sum = mem_try_zalloc((size_t)texts * WIDE * sizeof *sum);
    struct ridge in = { &c->corpus->x, weight, sum, { 0 }, NULL };
    float *trust = NULL, *room = NULL;
    bool doubts = false;
    int rc = -1;

    b->w = mem_try_alloc((size_t)c->corpus->x.cols * WIDE * sizeof *b->w);
    for (int k = 0; k < WIDE; k++)
        in.lambda[k] = k < b->n ? b->fit[k].lambda : 1;
    for (int k = 0; k < b->n; k++)
        doubts = doubts || b->fit[k].doubt > 0;
    if (doubts) {
        trust = mem_try_alloc((size_t)c->corpus->x.cols * WIDE * sizeof *trust);
        room = mem_try_alloc((size_t)c->corpus->x.cols * WIDE * sizeof *room);
    }
    for (int k = 0; k < b->n; k++)
        b->base[k] = base_of(c, &b->fit[k]);
    if (!weight || !sum || !b->w || (doubts && (!trust || !room))) {
        err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)texts);
    } else {
        block_sums(c, b, weight, sum);
        if (doubts)
            block_trust(b, in.x, weight, sum, trust, room);
        in.trust = trust;
        rc = ridge_fit(&in, b->w, err);
    }
    mem_try_free(weight);
    mem_try_free(sum);
    mem_try_free(trust);
    mem_try_free(room);
    if (rc < 0) {
        mem_try_free(b->w);
        b->w = NULL;
    }
    return rc;
}
