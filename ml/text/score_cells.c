/* score_cells.c - sums of the training rows by text and part, and blocks of fits on them. The cost of
 * a fit depends on the distinct texts, not on the rows. */
#include "base/mem.h"
#include "ml/text/score_private.h"

#include <string.h>

void score_cells_fini(struct score_cells *c)
{
    if (c->owns_columns)
        corpus_columns_fini(&c->columns);
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
                     const struct corpus *corpus, const struct sparse_columns *columns,
                     struct score_cells *out, struct err *err)
{
    int64_t texts = corpus->x.rows, size = texts * in->parts;
    double scale = weight_scale(in);
    int32_t *at = mem_try_alloc(((size_t)in->texts.n_levels + 1) * sizeof *at);

    *out = (struct score_cells){ .corpus = corpus, .parts = in->parts, .n_outputs = s->n_outputs };
    out->n = mem_try_zalloc((size_t)size * sizeof *out->n);
    out->sum = mem_try_zalloc((size_t)(size * s->n_outputs) * sizeof *out->sum);
    if (!at || !out->n || !out->sum) {
        mem_try_free(at);
        score_cells_fini(out);
        return err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)texts);
    }
    for (int l = 0; l < in->texts.n_levels; l++)
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
    out->owns_columns = !columns;
    if (columns)
        out->columns = *columns;
    else
        corpus_columns(corpus, &out->columns);
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

/* Weights and centred sums of the rows that a block's fits see, or of the part that they do not. */
static void block_sums(const struct score_cells *c, const struct score_block *b, bool is_seen,
                       float *weight, float *sum)
{
    int64_t size = c->corpus->x.rows * c->parts;

    for (int64_t cell = 0; cell < size; cell += c->parts, weight += b->wide, sum += b->wide) {
        const float *n = c->n + cell;
        double all_n = 0, all = 0;
        for (int p = 0; p < c->parts; p++)
            all_n += (double)n[p];
        for (int k = 0, output = -1; k < b->n; k++) {
            const struct score_one *f = &b->fit[k];
            const float *from = c->sum + f->output * size + cell;
            if (f->output != output) {
                all = 0;
                for (int p = 0; p < c->parts; p++)
                    all += (double)from[p];
                output = f->output;
            }
            double rows = f->without < 0 ? 0 : (double)n[f->without];
            double s = f->without < 0 ? 0 : (double)from[f->without];
            rows = is_seen ? all_n - rows : rows;
            s = is_seen ? all - s : s;
            weight[k] = (float)rows;
            sum[k] = (float)(s - rows * b->base[k]);
        }
    }
}

/* X' of what is known of the rows, to [columns][wide]. */
static void block_back(const struct score_cells *c, int wide, const float *rows, float *out)
{
    const struct sparse *x = &c->corpus->x;

    if (c->columns.start) {
        sparse_columns_times(&c->columns, wide, rows, wide, out, wide);
        return;
    }
    memset(out, 0, (size_t)x->cols * (size_t)wide * sizeof *out);
    sparse_transposed_times(x, wide, rows, wide, out, wide);
}

/* X' of the weights, of the matrix of the squared values. -1 = there is no memory. */
static int squares_back(const struct score_cells *c, int wide, const float *weight, float *out)
{
    const struct corpus *corpus = c->corpus;
    size_t n = (size_t)corpus->entries + 1;
    struct score_cells squares = *c;
    struct corpus of = *corpus;
    float *value = NULL;

    if (c->columns.start) {
        squares.columns.entry = mem_try_alloc(n * sizeof *squares.columns.entry);
        for (int64_t e = 0; e < corpus->entries && squares.columns.entry; e++) {
            float v = c->columns.entry[e].value;
            squares.columns.entry[e] = (struct sparse_entry){ c->columns.entry[e].row, v * v };
        }
    } else {
        of.x.value = value = mem_try_alloc(n * sizeof *value);
        for (int64_t e = 0; e < corpus->entries && value; e++)
            value[e] = corpus->x.value[e] * corpus->x.value[e];
        squares.corpus = &of;
    }
    bool is_made = c->columns.start ? squares.columns.entry != NULL : value != NULL;
    if (is_made)
        block_back(&squares, wide, weight, out);
    if (c->columns.start)
        mem_try_free(squares.columns.entry);
    mem_try_free(value);
    return is_made ? 0 : -1;
}

/* How far each fit trusts each feature (score.h); 1 where it does not doubt. The spread of a target
 * is 1. room: the squares of the features times the weights. */
static int block_trust(const struct score_cells *c, const struct score_block *b,
                       const float *weight, const float *sum, float *trust, float *room)
{
    block_back(c, b->wide, sum, trust);
    if (squares_back(c, b->wide, weight, room) < 0)
        return -1;
    for (int64_t j = 0; j < c->corpus->x.cols; j++) {
        for (int k = 0; k < b->n; k++) {
            double g = (double)trust[j * b->wide + k], z2 = g * g;
            double doubt = b->fit[k].doubt * (double)room[j * b->wide + k];
            trust[j * b->wide + k] = b->fit[k].doubt == 0 ? 1
                                     : z2 > doubt         ? (float)(1 - doubt / z2)
                                                          : 0;
        }
    }
    return 0;
}

void score_block_fini(struct score_block *b)
{
    ridge_basis_fini(&b->basis);
    mem_try_free(b->trust);
    b->trust = NULL;
}

/* What a block's fits are made of, beside their trust; all mem_try_free. */
struct block_room {
    float *weight, *sum, *room;
};

static void room_fini(struct block_room *r)
{
    mem_try_free(r->weight);
    mem_try_free(r->sum);
    mem_try_free(r->room);
}

static bool room_init(struct block_room *r, const struct score_cells *c, struct score_block *b)
{
    size_t texts = (size_t)c->corpus->x.rows * (size_t)b->wide;
    size_t kept = (size_t)c->corpus->x.cols * (size_t)b->wide;
    bool doubts = false;

    for (int k = 0; k < b->n; k++)
        doubts = doubts || b->fit[k].doubt > 0;
    r->weight = mem_try_zalloc(texts * sizeof *r->weight);
    r->sum = mem_try_zalloc(texts * sizeof *r->sum);
    b->trust = doubts ? mem_try_alloc(kept * sizeof *b->trust) : NULL;
    r->room = doubts ? mem_try_alloc(kept * sizeof *r->room) : NULL;
    return r->weight && r->sum && (!doubts || (b->trust && r->room));
}

static int no_memory(int64_t texts, struct err *err)
{
    return err_set(err, ERR_NOMEM, "no memory to score %lld texts", (long long)texts);
}

int score_block_make(const struct score_cells *c, struct score_block *b, struct err *err)
{
    struct block_room r = { NULL, NULL, NULL };
    int rc = -1;

    b->basis = (struct ridge_basis){ .steps = 0 };
    b->wide = b->n <= SPARSE_HALF ? SPARSE_HALF : SPARSE_WIDE;
    for (int k = 0; k < b->n; k++)
        b->base[k] = base_of(c, &b->fit[k]);
    bool is_fine = room_init(&r, c, b);
    if (is_fine) {
        block_sums(c, b, true, r.weight, r.sum);
        is_fine = !b->trust || block_trust(c, b, r.weight, r.sum, b->trust, r.room) == 0;
    }
    if (is_fine) {
        const struct ridge in = { .x = &c->corpus->x,
                                  .columns = c->columns.start ? &c->columns : NULL,
                                  .wide = b->wide,
                                  .steps = b->steps,
                                  .keeps_products = b->is_choice,
                                  .weight = r.weight,
                                  .sum = r.sum,
                                  .trust = b->trust };
        rc = ridge_basis_make(&in, &b->basis, err);
    } else {
        no_memory(c->corpus->x.rows, err);
    }
    room_fini(&r);
    if (rc < 0)
        score_block_fini(b);
    return rc;
}

float *score_block_weights(const struct score_block *b, double lambda, int steps, struct err *err)
{
    float *w = mem_try_alloc(((size_t)b->basis.cols * (size_t)b->wide + 1) * sizeof *w);
    struct ridge_place at;

    if (!w) {
        no_memory(b->basis.rows, err);
        return NULL;
    }
    ridge_place_of(&b->basis, lambda, steps, &at);
    ridge_weights(&b->basis, &at, b->trust, w);
    return w;
}

int score_block_gains(const struct score_cells *c, const struct score_block *b,
                      const double *lambda, const int *steps, int n, double (*along)[SPARSE_WIDE],
                      double (*squares)[SPARSE_WIDE], struct err *err)
{
    size_t size = (size_t)c->corpus->x.rows * (size_t)b->wide;
    float *weight = mem_try_zalloc((size + 1) * sizeof *weight);
    float *sum = mem_try_zalloc((size + 1) * sizeof *sum);
    struct ridge_place at[RIDGE_MOST_PLACES];
    int rc = weight && sum ? 0 : no_memory(c->corpus->x.rows, err);

    if (rc == 0)
        block_sums(c, b, false, weight, sum);
    for (int l = 0; l < n && rc == 0; l++)
        ridge_place_of(&b->basis, lambda[l], steps[l], &at[l]);
    if (rc == 0)
        ridge_gains(&b->basis, at, n, weight, sum, along, squares);
    mem_try_free(weight);
    mem_try_free(sum);
    return rc;
}
