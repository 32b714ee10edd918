/* mlp_rows.c - see mlp_rows.h. A network without blocks for numbers or categories reads the dense form as it is. Others read
 * the numbers first, then indicators and levels of categories, and last the levels of those categories that have vectors.
 *
 * A category has a vector where it has more than ONE_HOT levels, as in RealMLP (Holzmueller et al., NeurIPS 2024, section 3).
 * The crosses of a row are its categories one by one, then in pairs, in the order of the columns, as many as there is room
 * for; each is hashed with the number of its pair. A level is the bin of the form for trees: the rank by frequency, with one
 * bin for levels past 254, and one more for missing and unknown ones. */
#include "ml/net/mlp_rows.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/math/net_math.h"

#include <stdlib.h>
#include <string.h>

/* SAMPLE: training rows of which the edges of pieces are quantiles. */
enum { ONE_HOT = 9, SAMPLE = 4096 };

static bool is_number(const struct prep *p, int input)
{
    return prep_input_type(p, input) == FRAME_NUMERIC;
}

int mlp_numbers(const struct prep *p)
{
    int n = 0;

    for (int i = 0; i < prep_inputs(p); i++)
        n += is_number(p, i);
    return n;
}

/* ---- codes ---- */

static int bins_of(const struct prep *p, int input)
{
    const char *const *levels;

    return MIN(prep_input_levels(p, input, &levels), MLP_BINS);
}

/* Whether a category has a vector; `before`: those that have one already. */
static bool has_vector(const struct prep *p, int input, int before)
{
    return !is_number(p, input) && bins_of(p, input) > ONE_HOT && before < NET_MAX_EMBEDS;
}

void mlp_codes_of(const struct prep *p, struct net_codes *out)
{
    int64_t categories = prep_inputs(p) - mlp_numbers(p);
    int at;

    *out = (struct net_codes){ 0 };
    for (int i = 0; i < prep_inputs(p); i++) {
        if (!has_vector(p, i, out->embeds))
            continue;
        out->levels[out->embeds++] = bins_of(p, i) + 1;
        out->dropped += prep_dense_of(p, i, &at);
    }
    if (categories > 0)
        out->crosses = (int)MIN(categories * (categories + 1) / 2, NET_MAX_CROSSES);
}

/* The bin of a level, or the number of bins where it is missing. */
static int code_of(const struct prep_bins *b, int64_t row, int input)
{
    int bin = b->bins[row * b->stride + input];

    return bin < b->n_bins[input] ? bin : b->n_bins[input];
}

static int32_t hashed(int cross, int one, int other)
{
    uint64_t key = (uint64_t)cross << 32 | (uint64_t)one << 16 | (uint64_t)other;

    return (int32_t)(rng_mix(key, 0) % NET_BUCKETS);
}

/* The categories of a row one by one, then in pairs. */
static void crosses_of(const int *code, int categories, int crosses, int32_t *out)
{
    int n = 0;

    for (int i = 0; i < categories && n < crosses; i++, n++)
        out[n] = hashed(n, code[i], 0);
    for (int i = 0; i < categories; i++) {
        for (int k = i + 1; k < categories && n < crosses; k++, n++)
            out[n] = hashed(n, code[i], code[k]);
    }
}

void mlp_codes(const struct net_source *s, const struct net *n, const int32_t *rows, int64_t from,
               int64_t count, int32_t *out)
{
    int inputs = prep_inputs(s->prep), code[NET_MAX_CROSSES];
    const struct net_codes *c = &n->codes;

    for (int64_t i = 0; i < count; i++, out += net_code_width(n)) {
        int64_t row = rows ? rows[i] : from + i;
        int embeds = 0, categories = 0;
        for (int k = 0; k < inputs; k++) {
            if (is_number(s->prep, k))
                continue;
            int of = code_of(s->bins, row, k);
            if (has_vector(s->prep, k, embeds))
                out[embeds++] = of;
            if (categories < NET_MAX_CROSSES)
                code[categories++] = of;
        }
        crosses_of(code, categories, c->crosses, out + c->embeds);
    }
}

/* ---- values ---- */

static void dense_as_it_is(const struct net_source *s, const int32_t *rows, int64_t from,
                           int64_t count, int64_t pad, float *out)
{
    for (int64_t i = 0; i < count; i++)
        memcpy(out + i * pad, s->x->x + (rows ? rows[i] : from + i) * s->x->stride,
               (size_t)pad * sizeof *out);
}

/* Half the clipped number, half its place among the bins, which has the variance of a standardised
 * number too. Heavy tails and values that lie close together are spread out, and what is linear in
 * the number is not lost. */
static float mixed(const struct prep *p, int input, float z)
{
    return 0.5F * nm_clip(z) + 0.5F * 3.4641F * (prep_dense_place(p, input, z) - 0.5F);
}

static bool has_block(const struct net *n, enum net_block_kind kind)
{
    return n->block[0].kind == kind || (n->n > 1 && n->block[1].kind == kind);
}

void mlp_rows(const struct net_source *s, const struct net *n, const int32_t *rows, int64_t from,
              int64_t count, float *out)
{
    bool embeds = has_block(n, NET_EMBEDS);
    int64_t pad = n->in.pad;
    int number = 0, other = mlp_numbers(s->prep), before = 0;
    int last = n->in.c - n->codes.dropped;

    if (!embeds && n->block[0].kind != NET_WAVES && n->block[0].kind != NET_PIECES) {
        dense_as_it_is(s, rows, from, count, pad, out);
        layer_clip(out, count * pad);
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memset(out + i * pad + n->in.c, 0, (size_t)(pad - n->in.c) * sizeof *out);
    for (int c = 0; c < prep_inputs(s->prep); c++) {
        bool has = embeds && has_vector(s->prep, c, before);
        int at, width = prep_dense_of(s->prep, c, &at), others = width - is_number(s->prep, c);
        int *place = has ? &last : &other;
        for (int64_t i = 0; i < count; i++) {
            const float *row = s->x->x + (rows ? rows[i] : from + i) * s->x->stride + at;
            float *to = out + i * pad;
            if (others < width)
                to[number] = n->block[0].mixes ? mixed(s->prep, c, *row++) : *row++;
            for (int k = 0; k < others; k++)
                to[*place + k] = row[k];
        }
        number += width - others;
        *place += others;
        before += has;
    }
    layer_clip(out, count * pad);
}

/* ---- edges of pieces ---- */

static int by_size(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* The quantiles of one number, x [count] in any order. */
static void edges_of(float *x, int64_t count, int edges, float *out)
{
    qsort(x, (size_t)count, sizeof *x, by_size);
    for (int k = 0; k < edges; k++)
        out[k] = x[(count - 1) * k / (edges - 1)];
}

void mlp_start(const struct net_source *s, const struct net *n, const struct fold_rows *r, float *w)
{
    const struct net_part *p = &n->part[0];
    int64_t count = MIN(r->n_train, SAMPLE), pad = n->in.pad;

    if (n->block[0].kind != NET_PIECES)
        return;
    float *x = mem_array((size_t)(count * pad), sizeof *x),
          *one = mem_array((size_t)count, sizeof *one);
    for (int64_t i = 0; i < count; i++)
        mlp_rows(s, n, &r->train[i * r->n_train / count], 0, 1, x + i * pad);
    for (int j = 0; j < p->rows; j++) {
        for (int64_t i = 0; i < count; i++)
            one[i] = x[i * pad + j];
        edges_of(one, count, p->cols, w + p->at + (int64_t)j * p->pad);
    }
    mem_free(x);
    mem_free(one);
}
