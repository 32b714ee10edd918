/* svd.c - see svd.h.
 *
 * V holds `wide` columns of orthonormal vectors over the features, and V <- orth(X'(X V)) turns them
 * towards the strongest directions. Orthonormal columns come from the eigenvectors of V'V, which
 * drops directions that are not there. At the end the eigenvectors of (XV)'(XV) sort them out. */
#include "ml/text/svd.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/gemm.h"

#include <math.h>
#include <string.h>

/* ---- small symmetric matrices ---- */

/* One rotation that makes a(p, q) zero (Golub, Van Loan, Matrix Computations, 8.5). */
static void rotate(double *a, double *vector, int n, int p, int q)
{
    double apq = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1), s = t * c;

    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = vector[k * n + p], y = vector[k * n + q];
        vector[k * n + p] = c * x - s * y;
        vector[k * n + q] = s * x + c * y;
    }
}

static void sort_vectors(double *value, double *vector, int n)
{
    for (int i = 0; i < n; i++) {
        int best = i;
        for (int j = i + 1; j < n; j++)
            best = value[j] > value[best] ? j : best;
        double x = value[i];
        value[i] = value[best];
        value[best] = x;
        for (int k = 0; k < n && best != i; k++) {
            x = vector[k * n + i];
            vector[k * n + i] = vector[k * n + best];
            vector[k * n + best] = x;
        }
    }
}

void svd_eigen(double *a, int n, double *value, double *vector)
{
    enum { SWEEPS = 12 };
    double size = 0;

    for (int i = 0; i < n * n; i++) {
        vector[i] = i % (n + 1) == 0;
        size += a[i] * a[i];
    }
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0;
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++)
                off += a[p * n + q] * a[p * n + q];
        }
        if (!(off > size * 1e-26))
            break;
        for (int p = 0; p < n; p++) {
            for (int q = p + 1; q < n; q++) {
                if (a[p * n + q] * a[p * n + q] > size * 1e-30)
                    rotate(a, vector, n, p, q);
            }
        }
    }
    for (int i = 0; i < n; i++)
        value[i] = a[i * n + i];
    sort_vectors(value, vector, n);
}

/* ---- subspace iteration ---- */

struct space {
    const struct sparse *x;
    const struct sparse_columns *columns; /* or NULL */
    int wide;                             /* columns, a multiple of SPARSE_WIDE */
    float *v, *spare;                     /* [features][wide] */
    float *xv;                            /* [texts][wide] */
    float *turn;                          /* [wide][wide] */
    double *gram, *vector, *value;
};

static void space_fini(struct space *s)
{
    mem_try_free(s->v);
    mem_try_free(s->spare);
    mem_try_free(s->xv);
    mem_try_free(s->turn);
    mem_try_free(s->gram);
    mem_try_free(s->vector);
    mem_try_free(s->value);
}

static int space_init(struct space *s, const struct sparse *x, int wide, struct err *err)
{
    size_t w = (size_t)wide, features = (size_t)x->cols + 1, texts = (size_t)x->rows + 1;

    *s = (struct space){ .x = x, .wide = wide };
    s->v = mem_try_alloc(features * w * sizeof(float));
    s->spare = mem_try_alloc(features * w * sizeof(float));
    s->xv = mem_try_alloc(texts * w * sizeof(float));
    s->turn = mem_try_alloc(w * w * sizeof(float));
    s->gram = mem_try_alloc(w * w * sizeof(double));
    s->vector = mem_try_alloc(w * w * sizeof(double));
    s->value = mem_try_alloc(w * sizeof(double));
    if (s->v && s->spare && s->xv && s->turn && s->gram && s->vector && s->value)
        return 0;
    space_fini(s);
    return err_set(err, ERR_NOMEM, "no memory for the topics of %lld texts", (long long)x->rows);
}

/* gram = M'M in the order of the rows, and its eigenvectors. */
static void gram_eigen(struct space *s, const float *m, int64_t rows)
{
    int w = s->wide;

    memset(s->gram, 0, (size_t)w * (size_t)w * sizeof *s->gram);
    for (int64_t i = 0; i < rows; i++, m += w) {
        for (int p = 0; p < w; p++) {
            double x = (double)m[p], *to = s->gram + p * w;
            for (int q = p; q < w && m[p] != 0; q++)
                to[q] += x * (double)m[q];
        }
    }
    for (int p = 0; p < w; p++) {
        for (int q = 0; q < p; q++)
            s->gram[p * w + q] = s->gram[q * w + p];
    }
    svd_eigen(s->gram, w, s->value, s->vector);
}

/* V <- V turn */
static void turn(struct space *s)
{
    const struct gemm g = { .m = s->x->cols,
                            .n = s->wide,
                            .k = s->wide,
                            .a = s->v,
                            .a_row = s->wide,
                            .a_col = 1,
                            .b = s->turn,
                            .b_row = s->wide,
                            .c = s->spare,
                            .c_row = s->wide };
    float *v = s->v;

    gemm(&g);
    s->v = s->spare;
    s->spare = v;
}

/* Makes the columns of V orthonormal; directions that V lacks become 0. */
static void orthonormal(struct space *s)
{
    int w = s->wide;

    gram_eigen(s, s->v, s->x->cols);
    for (int j = 0; j < w; j++) {
        double value = s->value[j];
        double by = value > s->value[0] * 1e-9 && value > 0 ? 1 / sqrt(value) : 0;
        for (int i = 0; i < w; i++)
            s->turn[i * w + j] = (float)(s->vector[i * w + j] * by);
    }
    turn(s);
}

static void times(const struct space *s)
{
    for (int c = 0; c < s->wide; c += SPARSE_WIDE)
        sparse_times(s->x, SPARSE_WIDE, s->v + c, s->wide, s->xv + c, s->wide);
}

static void transposed_times(struct space *s)
{
    if (!s->columns)
        memset(s->v, 0, (size_t)s->x->cols * (size_t)s->wide * sizeof *s->v);
    for (int c = 0; c < s->wide; c += SPARSE_WIDE) {
        if (s->columns)
            sparse_columns_times(s->columns, SPARSE_WIDE, s->xv + c, s->wide, s->v + c, s->wide);
        else
            sparse_transposed_times(s->x, SPARSE_WIDE, s->xv + c, s->wide, s->v + c, s->wide);
    }
}

static void start(struct space *s, uint64_t seed)
{
    struct rng r;

    rng_init(&r, seed, 0);
    for (int64_t i = 0; i < s->x->cols * (int64_t)s->wide; i++)
        s->v[i] = (float)(rng_unit(&r) - 0.5);
}

/* Takes the first `dims` columns, each with its largest element positive. */
static void take(const struct space *s, int dims, float *v)
{
    for (int j = 0; j < dims; j++) {
        float most = 0;
        for (int64_t i = 0; i < s->x->cols; i++) {
            float x = s->v[i * s->wide + j];
            most = fabsf(x) > fabsf(most) ? x : most;
        }
        for (int64_t i = 0; i < s->x->cols; i++)
            v[i * dims + j] = most < 0 ? -s->v[i * s->wide + j] : s->v[i * s->wide + j];
    }
}

int svd(const struct sparse *x, const struct sparse_columns *columns, int dims, uint64_t seed,
        float *v, double *values, struct err *err)
{
    int wide = (dims + SVD_SPARE + SPARSE_WIDE - 1) / SPARSE_WIDE * SPARSE_WIDE;
    struct space s;

    CHECK(dims >= 1 && dims <= SVD_MOST);
    if (space_init(&s, x, wide, err) < 0)
        return -1;
    s.columns = columns;
    start(&s, seed);
    for (int i = 0; i < SVD_ROUNDS; i++) {
        orthonormal(&s);
        times(&s);
        transposed_times(&s);
    }
    orthonormal(&s);
    times(&s);
    gram_eigen(&s, s.xv, x->rows);
    for (int i = 0; i < wide * wide; i++)
        s.turn[i] = (float)s.vector[i];
    turn(&s);
    take(&s, dims, v);
    for (int j = 0; j < dims; j++)
        values[j] = s.value[j] > 0 ? sqrt(s.value[j]) : 0;
    space_fini(&s);
    return 0;
}
