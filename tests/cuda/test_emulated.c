/* test_emulated.c - every CUDA kernel of ml/cuda, run by the emulation in three thread orders, against a plain reference
 * that stands here. The CPU's own table is held to the same reference. */
#include "tests/unit.h"

#include "base/mem.h"
#include "base/rng.h"
#include "ml/cuda/trace.h"
#include "ml/math/fmath.h"
#include "ml/ops/ops.h"
#include "tests/cuda/emu.h"

#include <stdlib.h>
#include <string.h>

const struct ml_ops *assay_cuda_ops(void);

static void *on_device(const struct ml_ops *ops, struct ml_ctx *c, const void *host, size_t bytes)
{
    void *p = NULL;

    assert_int_equal(ops->alloc(c, bytes, &p, NULL), 0);
    if (host && bytes)
        assert_int_equal(ops->put(c, p, host, bytes, NULL), 0);
    return p;
}

static void softmax_reference(const float *z, float *p, int64_t n, int k)
{
    for (int64_t i = 0; i < n * k; i += k) {
        float top = z[i], sum = 0;
        for (int j = 1; j < k; j++)
            top = z[i + j] > top ? z[i + j] : top;
        for (int j = 0; j < k; j++)
            sum += fm_exp(z[i + j] - top);
        for (int j = 0; j < k; j++)
            p[i + j] = fm_exp(z[i + j] - top) / sum;
    }
}

static void softmax_case(const struct ml_ops *ops, int64_t n, int k)
{
    size_t bytes = (size_t)(n * k) * sizeof(float);
    float *z = mem_alloc(bytes), *want = mem_alloc(bytes), *got = mem_alloc(bytes);
    struct ml_ctx *c = ops->open(0, NULL);
    struct rng r;

    rng_init(&r, 5, (uint64_t)k);
    for (int64_t i = 0; i < n * k; i++)
        z[i] = (float)(rng_unit(&r) * 60 - 30);
    softmax_reference(z, want, n, k);
    float *p = on_device(ops, c, z, bytes);
    assert_int_equal(ops->softmax_rows(c, p, p, n, k, NULL),
                     0); /* in place: the contract allows it */
    assert_int_equal(ops->get(c, got, p, bytes, NULL), 0);
    assert_memory_equal(got, want, bytes);
    ops->release(c, p);
    ops->close(c);
    mem_free(z);
    mem_free(want);
    mem_free(got);
}

static void softmax_equals_the_reference_bit_for_bit(void **state)
{
    static const struct {
        int64_t n;
        int k;
    } shapes[] = { { 0, 3 }, { 1, 1 }, { 1, 2 }, { 3, 7 }, { 257, 10 }, { 1000, 26 } };

    (void)state;
    for (int o = EMU_FORWARD; o <= EMU_RANDOM; o++)
        for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
            emu_order_set(o, 3);
            softmax_case(assay_cuda_ops(), shapes[i].n, shapes[i].k);
            softmax_case(&ml_cpu_ops, shapes[i].n, shapes[i].k);
        }
    assert_int_equal(emu_device_bytes_live(), 0);
}

struct table {
    int64_t n, stride, longest;
    int cols, nodes;
    uint8_t *bins;
    uint32_t *q;
    int32_t *rows;
    int64_t *from;
};

static void table_make(struct table *t, int64_t n, int cols, int nodes, int is_extreme)
{
    struct rng r;

    *t = (struct table){ .n = n, .cols = cols, .nodes = nodes, .stride = (cols + 7) / 8 * 8 };
    t->bins = mem_zalloc((size_t)(n * t->stride) + 1);
    t->q = mem_zalloc((size_t)n * 4 + 4);
    t->rows = mem_zalloc((size_t)n * 4 + 4);
    t->from = mem_zalloc(((size_t)nodes + 1) * 8);
    rng_init(&r, 9, (uint64_t)(n + cols));
    for (int64_t i = 0; i < n; i++) {
        t->rows[i] = (int32_t)(n - 1 - i);
        t->q[i] = is_extreme ? 0x8000ffffu : rng_u32(&r);
        for (int j = 0; j < cols; j++)
            t->bins[i * t->stride + j] = is_extreme ? 255 : (uint8_t)rng_u32(&r);
    }
    for (int m = 0; m <= nodes; m++) /* node 0 is empty where there are several */
        t->from[m] = m == nodes ? n : m <= 1 && nodes > 2 ? 0 : n * m / nodes;
    for (int m = 0; m < nodes; m++)
        t->longest = MAX(t->longest, t->from[m + 1] - t->from[m]);
}

static void table_free(struct table *t)
{
    mem_free(t->bins);
    mem_free(t->q);
    mem_free(t->rows);
    mem_free(t->from);
}

static int64_t *hist_reference(const struct table *t)
{
    int64_t *hist = mem_array((size_t)t->nodes * (size_t)t->cols * 256 + 1, sizeof(*hist));

    for (int m = 0; m < t->nodes; m++)
        for (int64_t i = t->from[m]; i < t->from[m + 1]; i++)
            for (int j = 0; j < t->cols; j++) {
                int64_t row = t->rows[i], g = (int16_t)(t->q[row] >> 16), h = t->q[row] & 0xffff;
                hist[((int64_t)m * t->cols + j) * 256 + t->bins[row * t->stride + j]] +=
                    g * 4294967296 + h;
            }
    return hist;
}

static void hist_case(const struct ml_ops *ops, const struct table *t, const int64_t *want)
{
    size_t bytes = (size_t)t->nodes * (size_t)t->cols * 2048;
    struct ml_ctx *c = ops->open(0, NULL);
    int64_t *got = mem_alloc(bytes);
    void *bins = on_device(ops, c, t->bins, (size_t)(t->n * t->stride)),
         *q = on_device(ops, c, t->q, (size_t)t->n * 4);
    void *rows = on_device(ops, c, t->rows, (size_t)t->n * 4);
    void *from = on_device(ops, c, t->from, ((size_t)t->nodes + 1) * 8),
         *hist = on_device(ops, c, NULL, bytes);

    const struct ml_hist_in in = { bins, t->stride, t->cols, rows, from, t->nodes, t->longest, q };
    assert_int_equal(ops->hist_nodes(c, &in, hist, NULL), 0);
    assert_int_equal(ops->get(c, got, hist, bytes, NULL), 0);
    assert_memory_equal(got, want, bytes);
    void *all[] = { bins, q, rows, from, hist };
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        ops->release(c, all[i]);
    ops->close(c);
    mem_free(got);
}

static void histograms_of_many_nodes_equal_the_reference_exactly(void **state)
{
    static const struct {
        int64_t n;
        int cols, nodes, is_extreme;
    } shapes[] = { { 0, 3, 1, 0 },    { 1, 1, 1, 0 },     { 37, 5, 3, 0 },
                   { 700, 17, 4, 0 }, { 40000, 2, 1, 1 }, { 2000, 33, 9, 0 } };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        struct table t;
        table_make(&t, shapes[i].n, shapes[i].cols, shapes[i].nodes, shapes[i].is_extreme);
        int64_t *want = hist_reference(&t);
        hist_case(&ml_cpu_ops, &t, want);
        for (int o = EMU_FORWARD; o <= EMU_RANDOM; o++) {
            emu_order_set(o, 17);
            hist_case(assay_cuda_ops(), &t, want);
        }
        mem_free(want);
        table_free(&t);
    }
}

static void the_table_tells_its_device(void **state)
{
    const struct ml_ops *ops = assay_cuda_ops();
    struct ml_device d;
    int n = 0;

    (void)state;
    assert_int_equal(ops->abi, ML_OPS_ABI);
    assert_int_equal(ops->device_count(&n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(ops->device_get(0, &d, NULL), 0);
    assert_string_equal(d.name, "emulation");
    struct err err = { 0 };
    assert_null(ops->open(7, &err));
    assert_int_equal(err.code, ERR_DEVICE);
}

static void a_trace_counts_every_launch_by_kernel(void **state)
{
    const struct ml_ops *ops = assay_cuda_ops();
    float z[12] = { 1, 2, 3 };
    char *text = NULL;
    size_t n = 0;

    (void)state;
    setenv("ASSAY_CUDA_TRACE", "1", 1);
    struct ml_ctx *c = ops->open(0, NULL);
    unsetenv("ASSAY_CUDA_TRACE");
    void *p = on_device(ops, c, z, sizeof z);
    for (int i = 0; i < 5; i++)
        assert_int_equal(ops->softmax_rows(c, p, p, 4, 3, NULL), 0);
    FILE *out = open_memstream(&text, &n);
    cuda_trace_print(out);
    fclose(out);
    assert_non_null(strstr(text, "softmax_rows_kernel        5 launches"));
    free(text);
    ops->release(c, p);
    ops->close(c);
    c = ops->open(0, NULL);
    assert_false(cuda_is_traced);
    ops->close(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_equals_the_reference_bit_for_bit),
        cmocka_unit_test(histograms_of_many_nodes_equal_the_reference_exactly),
        cmocka_unit_test(the_table_tells_its_device),
        cmocka_unit_test(a_trace_counts_every_launch_by_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
