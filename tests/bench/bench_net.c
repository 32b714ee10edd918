/* bench_net.c - speed of the kernels of networks on the shapes of small ones, with every set of instructions that this CPU has:
 * products in 1e9 operations a second, what layers do between them in nanoseconds an element. The best of several rounds, in
 * processor time. With OpenBLAS installed (OPENBLAS=its file, "libopenblas.so.0" unless told), its product stands beside; it
 * wants OPENBLAS_NUM_THREADS=1, and on CPUs it does not know OPENBLAS_CORETYPE=SkylakeX. */
#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/gemm.h"
#include "ml/cpu/layer.h"
#include "ml/cpu/simd.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 15, ROWS = 256, WIDTH = 128, ELEMENTS = ROWS * WIDTH };
enum { ROW_MAJOR = 101, AS_IT_IS = 111, TURNED = 112 };

/* cblas_sgemm with 32-bit sizes, as distributions build it */
typedef void sgemm_fn(int order, int turn_a, int turn_b, int m, int n, int k, float alpha,
                      const float *a, int lda, const float *b, int ldb, float beta, float *c,
                      int ldc);

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float *drawn(int64_t n)
{
    float *p = mem_array((size_t)n, sizeof *p);
    struct rng rng;

    rng_init(&rng, 1, 1);
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)rng_normal(&rng);
    return p;
}

/* ---- products ---- */

/* FORWARD: rows times weights. WEIGHTS: their gradient, rows read turned. INPUTS: the gradient of what was read; the weights are
 * transposed first. */
enum kind { FORWARD, WEIGHTS, INPUTS };
static const char *const kinds[] = { "forward", "weights", "inputs" };

struct product {
    int m, n, k;
    enum kind kind;
    float *a, *b, *c, *turned;
};

static void ours(const struct product *p)
{
    struct gemm g = { .m = p->m,
                      .n = p->n,
                      .k = p->k,
                      .a = p->a,
                      .a_row = p->kind == WEIGHTS ? 1 : p->k,
                      .a_col = p->kind == WEIGHTS ? p->m : 1,
                      .b = p->kind == INPUTS ? p->turned : p->b,
                      .b_row = p->n,
                      .c = p->c,
                      .c_row = p->n };

    if (p->kind == INPUTS)
        gemm_transpose(p->b, p->n, p->k, p->k, p->turned, p->n);
    gemm(&g);
}

static double product_rate(const struct product *p, sgemm_fn *sgemm)
{
    double flops = 2.0 * p->m * p->n * p->k, best = 1e9;
    int repeats = 1 + (int)(1e7 / flops);

    for (int r = 0; r < ROUNDS; r++) {
        double t = now();
        for (int i = 0; i < repeats; i++) {
            if (sgemm)
                sgemm(ROW_MAJOR, p->kind == WEIGHTS ? TURNED : AS_IT_IS,
                      p->kind == INPUTS ? TURNED : AS_IT_IS, p->m, p->n, p->k, 1, p->a,
                      p->kind == WEIGHTS ? p->m : p->k, p->b, p->kind == INPUTS ? p->k : p->n, 0,
                      p->c, p->n);
            else
                ours(p);
        }
        best = MIN(best, (now() - t) / repeats);
    }
    return flops / best * 1e-9;
}

static void products(sgemm_fn *sgemm)
{
    static const struct {
        int m, n, k;
        enum kind kind;
    } shapes[] = { { 256, 128, 50, FORWARD },  { 256, 64, 128, FORWARD },
                   { 256, 16, 64, FORWARD },   { 50, 128, 256, WEIGHTS },
                   { 128, 64, 256, WEIGHTS },  { 64, 16, 256, WEIGHTS },
                   { 256, 128, 64, INPUTS },   { 256, 256, 256, FORWARD },
                   { 256, 256, 256, WEIGHTS }, { 256, 256, 256, INPUTS },
                   { 256, 512, 512, FORWARD } };

    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        int m = shapes[i].m, n = shapes[i].n, k = shapes[i].k;
        struct product p = { m,
                             n,
                             k,
                             shapes[i].kind,
                             drawn((int64_t)m * k),
                             drawn((int64_t)k * n),
                             drawn((int64_t)m * n),
                             drawn((int64_t)k * n) };
        printf("product %4d x %4d x %4d %-8s", m, n, k, kinds[p.kind]);
        for (int level = (int)simd_best(); level >= 0; level--) {
            simd_force((enum simd_level)level);
            printf("  %s %6.1f",
                   level == 2   ? "avx512"
                   : level == 1 ? "avx2"
                                : "plain",
                   product_rate(&p, NULL));
        }
        simd_force(simd_best());
        if (sgemm)
            printf("  openblas %6.1f", product_rate(&p, sgemm));
        printf("  GFLOP/s\n");
        mem_free(p.a);
        mem_free(p.b);
        mem_free(p.c);
        mem_free(p.turned);
    }
}

/* ---- layers ---- */

struct arrays {
    float *z, *h, *d, *keep, *bias;
};

typedef void layer_fn(struct arrays *a, int act);

static void forward(struct arrays *a, int act)
{
    layer_forward_slope(a->z, a->h, a->bias, 1.0f, ROWS, WIDTH, WIDTH, (enum layer_act)act);
}

static void backward(struct arrays *a, int act)
{
    (void)act;
    layer_backward(a->d, a->keep, a->z, 1.0f, ROWS, WIDTH, a->bias);
}

static void dropout(struct arrays *a, int act)
{
    const struct layer_draws draws = { .p = 0.15f, .seed = 1, .stream = 2 };

    (void)act;
    layer_drop(a->h, a->keep, ELEMENTS, &draws);
}

static void adam(struct arrays *a, int act)
{
    const struct layer_adam how = { 1e-3f, 0.01f, 0.9f, 0.95f, 1e-8f, 1, 1 };

    (void)act;
    layer_adam(&how, a->z, a->d, a->h, a->keep, ELEMENTS);
}

static void layer(const char *what, layer_fn *fn, int act)
{
    struct arrays a = { drawn(ELEMENTS), drawn(ELEMENTS), drawn(ELEMENTS), drawn(ELEMENTS),
                        drawn(WIDTH) };
    float *z = drawn(ELEMENTS);
    double best = 1e9;

    for (int i = 0; i < ELEMENTS; i++)
        a.keep[i] = fabsf(a.keep[i]);
    for (int r = 0; r < 4 * ROUNDS; r++) {
        memcpy(a.z, z, ELEMENTS * sizeof *z);
        double t = now();
        fn(&a, act);
        best = MIN(best, now() - t);
    }
    printf("%-12s %5.2f ns an element\n", what, best / ELEMENTS * 1e9);
    mem_free(a.z);
    mem_free(a.h);
    mem_free(a.d);
    mem_free(a.keep);
    mem_free(a.bias);
    mem_free(z);
}

int main(void)
{
    static const char *const acts[LAYER_ACTS] = { "relu", "elu",  "selu", "silu",
                                                  "gelu", "mish", "tanh" };
    const char *file = getenv("OPENBLAS");
    void *library = dlopen(file ? file : "libopenblas.so.0", RTLD_NOW), *found = NULL;
    sgemm_fn *sgemm = NULL;

    if (library)
        found = dlsym(library, "cblas_sgemm");
    memcpy(&sgemm, &found, sizeof sgemm);
    if (!sgemm)
        printf("no OpenBLAS here to stand beside\n");
    products(sgemm);
    for (int act = 0; act < LAYER_ACTS; act++)
        layer(acts[act], forward, act);
    layer("backward", backward, 0);
    layer("dropout", dropout, 0);
    layer("adam", adam, 0);
    return 0;
}
