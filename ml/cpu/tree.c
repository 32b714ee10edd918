/* tree.c - the leaves of rows, found in two ways (tree.h).
 *
 * By rows: sixteen rows step together, because each step of one row waits for the step before; a
 * group is done when no row of it moved.
 *
 * By columns, for whole blocks: leaves are numbered from left to right and every row starts at leaf
 * 0. The inner nodes, parents first, each look at the rows that stand at the first leaf below them,
 * and move those that go right past the leaves of their left child. A row stands at a node's first
 * leaf exactly when it reaches the node.
 *
 * Called after each round of boosting, and by prediction. */
#include "ml/cpu/tree.h"

#include "base/base.h"
#include "ml/cpu/simd.h"

#include <stdbool.h>
#include <string.h>
#ifdef SIMD_MIDDLE
#include <immintrin.h>
#endif

/* GROUP: rows that step together. FIRST_LOOK: steps before it is first checked whether any row
 * still moved; few trees are flatter than that. */
enum { GROUP = 16, FIRST_LOOK = 4 };

/* Steps n rows from the root to their leaves. x[i]: the bins of row i; at[i] receives its leaf. n
 * and has_sets are constants where it is called, so the inner loop unrolls. */
static inline __attribute__((always_inline)) void walk(const struct tree *t,
                                                       const uint8_t *const *x, int n, int has_sets,
                                                       uint32_t *at)
{
    const struct tree_node *nodes = t->nodes;

    for (int i = 0; i < n; i++)
        at[i] = 0;
    for (int d = 0; d < t->depth; d++) {
        uint32_t moved = 0;
        for (int i = 0; i < n; i++) {
            struct tree_node nd = nodes[at[i]];
            uint8_t v = x[i][nd.col];
            uint32_t right = (uint8_t)(v + nd.add) > nd.bin;
            if (has_sets) {
                int set = t->set_of[at[i]];
                uint32_t out = !(t->sets[set < 0 ? 0 : set][v >> 6] >> (v & 63) & 1);
                right = set < 0 ? right : out;
            }
            uint32_t next = nd.left + right;
            moved |= next ^ at[i];
            at[i] = next;
        }
        if (d >= FIRST_LOOK && !moved)
            break;
    }
}

void tree_add(const struct tree *t, const uint8_t *bins, int64_t stride, const int32_t *rows,
              int64_t n, float *f)
{
    const uint8_t *x[GROUP];
    int64_t row[GROUP];
    uint32_t at[GROUP];

    for (int64_t i = 0; i < n; i += GROUP) {
        int m = n - i < GROUP ? (int)(n - i) : GROUP;
        for (int k = 0; k < m; k++) {
            row[k] = rows ? rows[i + k] : i + k;
            x[k] = bins + row[k] * stride;
        }
        if (m < GROUP)
            walk(t, x, m, t->n_sets > 0, at);
        else if (t->n_sets)
            walk(t, x, GROUP, 1, at);
        else
            walk(t, x, GROUP, 0, at);
        for (int k = 0; k < m; k++)
            f[row[k]] += t->values[at[k]];
    }
}

/* ---- by columns ---- */

/* BLOCK: rows at a time, whose leaf numbers (512 bytes) stay in the first-level cache. */
enum { BLOCK = 512, WIDE_SPLITS = TREE_WIDE_NODES / 2 };

/* A split as the pass over columns wants it. */
struct wide_split {
    const uint8_t *column;
    /* -1 = numeric */
    int set;
    uint8_t bin, add;
    /* the first leaf below the node; how many leaves are below its left child */
    uint8_t first, skip;
    /* For a set: bin v goes left when bit v >> 4 & 7 of bits[v >> 7][v & 15] is 1. In this order
     * two table look-ups of 16 bytes find the bit of 32 bins at once. */
    uint8_t bits[2][16];
};

struct wide_tree {
    int n_splits;
    /* parents first */
    struct wide_split splits[WIDE_SPLITS];
    int n_leaves;
    /* from left to right; zeros up to the next multiple of 64 */
    float values[WIDE_SPLITS + 1];
};

/* The most leaves whose values fit the four registers of values_add_wide. */
enum { TABLE_LEAVES = 64 };

/* Turns a square of 8 x 8 bits: bit j of byte i becomes bit i of byte j (Warren, Hacker's Delight,
 * 7-3). */
static uint64_t turned(uint64_t x)
{
    uint64_t t = (x ^ x >> 7) & 0x00aa00aa00aa00aaull;

    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & 0x0000cccc0000ccccull;
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & 0x00000000f0f0f0f0ull;
    return x ^ t ^ t << 28;
}

static void bits_init(struct wide_split *s, const uint64_t *set)
{
    for (int part = 0; part < 4; part++) {
        uint64_t rows = 0;
        for (int h = 0; h < 8; h++) {
            int v = (part / 2) * 128 + h * 16 + (part % 2) * 8;
            rows |= (set[v >> 6] >> (v & 63) & 255) << 8 * h;
        }
        rows = turned(rows);
        for (int low = 0; low < 8; low++)
            s->bits[part / 2][(part % 2) * 8 + low] = (uint8_t)(rows >> 8 * low);
    }
}

/* Numbers the leaves from left to right and lists the splits. Children have larger numbers than
 * their parents, so one pass from the end counts the leaves below each node, and one from the start
 * numbers them. */
static void wide_init(const struct tree *t, const uint8_t *columns, int64_t pitch,
                      struct wide_tree *w)
{
    uint16_t leaves[TREE_WIDE_NODES] = { 0 }, first[TREE_WIDE_NODES] = { 0 };

    CHECK(t->n_nodes <= TREE_WIDE_NODES);
    w->n_splits = 0;
    w->n_leaves = (t->n_nodes + 1) / 2;
    for (int i = 0; i < TABLE_LEAVES; i++)
        w->values[i] = 0.0f;
    for (int i = t->n_nodes - 1; i >= 0; i--) {
        int left = t->nodes[i].left;
        leaves[i] = left == i ? 1 : (uint16_t)(leaves[left] + leaves[left + 1]);
    }
    for (int i = 0; i < t->n_nodes; i++) {
        const struct tree_node *nd = &t->nodes[i];
        if (nd->left == i) {
            w->values[first[i]] = t->values[i];
            continue;
        }
        first[nd->left] = first[i];
        first[nd->left + 1] = (uint16_t)(first[i] + leaves[nd->left]);
        struct wide_split *s = &w->splits[w->n_splits++];
        *s = (struct wide_split){
            .column = columns + nd->col * pitch,
            .set = t->n_sets ? t->set_of[i] : -1,
            .bin = nd->bin,
            .add = nd->add,
            .first = (uint8_t)first[i],
            .skip = (uint8_t)leaves[nd->left],
        };
        if (s->set >= 0)
            bits_init(s, t->sets[s->set]);
    }
}

/* Moves the rows that stand at the split's first leaf and go right past the leaves of its left
 * child. */
SIMD_BODY void split_numeric(const struct wide_split *s, const uint8_t *x, int n, uint8_t *leaf)
{
    uint8_t bin = s->bin, add = s->add, first = s->first, skip = s->skip;

    for (int i = 0; i < n; i++) {
        uint8_t is_right = (uint8_t)(x[i] + add) > bin, is_here = leaf[i] == first;
        leaf[i] = (uint8_t)(leaf[i] + (is_right & is_here ? skip : 0));
    }
}

#ifdef SIMD_MIDDLE
static inline __attribute__((always_inline, target("avx2"))) __m256i twice(const uint8_t *table)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(const void *)table));
}

/* The same for a set, 32 rows at a time. Returns the number of rows done. */
SIMD_MIDDLE static int split_set_middle(const struct wide_split *s, const uint8_t *x, int n,
                                        uint8_t *leaf)
{
    static const uint8_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    int i = 0;

    __m256i low = twice(s->bits[0]), high = twice(s->bits[1]), one = twice(bit);
    __m256i first = _mm256_set1_epi8((char)s->first), skip = _mm256_set1_epi8((char)s->skip);
    __m256i nibble = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    for (; i + 32 <= n; i += 32) {
        __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + i));
        __m256i *to = (__m256i *)(void *)(leaf + i), at = _mm256_loadu_si256(to);
        __m256i l = _mm256_and_si256(v, nibble);
        __m256i h = _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble);
        __m256i in =
            _mm256_blendv_epi8(_mm256_shuffle_epi8(low, l), _mm256_shuffle_epi8(high, l), v);
        __m256i out = _mm256_cmpeq_epi8(_mm256_and_si256(in, _mm256_shuffle_epi8(one, h)), zero);
        __m256i is_here = _mm256_and_si256(out, _mm256_cmpeq_epi8(at, first));
        _mm256_storeu_si256(to, _mm256_add_epi8(at, _mm256_and_si256(is_here, skip)));
    }
    return i;
}
#endif

static void split_set(const struct wide_split *s, const uint8_t *x, int n, uint8_t *leaf)
{
    int i = 0;

#ifdef SIMD_MIDDLE
    if (simd_level() != SIMD_PLAIN)
        i = split_set_middle(s, x, n, leaf);
#endif
    for (; i < n; i++) {
        int is_left = s->bits[x[i] >> 7][x[i] & 15] >> (x[i] >> 4 & 7) & 1;
        leaf[i] = (uint8_t)(leaf[i] + ((!is_left & (leaf[i] == s->first)) ? s->skip : 0));
    }
}

#ifdef SIMD_WIDE
/* Rows of which bit k says that the bin goes right: 64 rows of a split. */
SIMD_WIDE static inline __mmask64 rights_wide(const struct wide_split *s, __m512i v)
{
    static const uint8_t bit[16] = { 1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128 };
    const __m512i nibble = _mm512_set1_epi8(15);

    if (s->set < 0)
        return _mm512_cmpgt_epu8_mask(_mm512_add_epi8(v, _mm512_set1_epi8((char)s->add)),
                                      _mm512_set1_epi8((char)s->bin));
    __m512i low = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)s->bits[0]));
    __m512i high = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)s->bits[1]));
    __m512i one = _mm512_broadcast_i32x4(_mm_loadu_si128((const void *)bit));
    __m512i l = _mm512_and_si512(v, nibble), h = _mm512_and_si512(_mm512_srli_epi16(v, 4), nibble);
    __m512i in =
        _mm512_mask_shuffle_epi8(_mm512_shuffle_epi8(low, l), _mm512_movepi8_mask(v), high, l);
    return _mm512_testn_epi8_mask(in, _mm512_shuffle_epi8(one, h));
}

/* The leaves of a block of rows, which stay in eight registers from split to split. */
SIMD_WIDE static void leaves_wide(const struct wide_tree *w, int64_t from, uint8_t *leaf)
{
    __m512i at[BLOCK / 64];

    for (int i = 0; i < BLOCK / 64; i++)
        at[i] = _mm512_setzero_si512();
    for (int k = 0; k < w->n_splits; k++) {
        const struct wide_split *s = &w->splits[k];
        const uint8_t *x = s->column + from;
        __m512i first = _mm512_set1_epi8((char)s->first), skip = _mm512_set1_epi8((char)s->skip);
        for (int i = 0; i < BLOCK / 64; i++) {
            __mmask64 right = rights_wide(s, _mm512_loadu_si512(x + 64 * i));
            at[i] = _mm512_mask_add_epi8(at[i], _mm512_mask_cmpeq_epi8_mask(right, at[i], first),
                                         at[i], skip);
        }
    }
    for (int i = 0; i < BLOCK / 64; i++)
        _mm512_storeu_si512(leaf + 64 * i, at[i]);
}

/* Adds the leaf values for a tree of up to 64 leaves, whose values lie in four registers; does
 * nothing for a larger one. Returns the number of rows done. */
SIMD_WIDE static int values_add_wide(const struct wide_tree *w, const uint8_t *leaf, int n,
                                     float *f)
{
    __m512 a = _mm512_loadu_ps(w->values), b = _mm512_loadu_ps(w->values + 16),
           c = _mm512_loadu_ps(w->values + 32), d = _mm512_loadu_ps(w->values + 48);
    bool is_few = w->n_leaves <= TABLE_LEAVES / 2;
    int i = 0;

    if (w->n_leaves > TABLE_LEAVES)
        return 0;
    for (; i + 16 <= n; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(leaf + i));
        __m512i at = _mm512_cvtepu8_epi32(bytes);
        __m512 v = _mm512_permutex2var_ps(a, at, b);
        if (!is_few) {
            __mmask16 is_high = _mm512_cmpge_epi32_mask(at, _mm512_set1_epi32(TABLE_LEAVES / 2));
            v = _mm512_mask_blend_ps(is_high, v, _mm512_permutex2var_ps(c, at, d));
        }
        _mm512_storeu_ps(f + i, _mm512_add_ps(_mm512_loadu_ps(f + i), v));
    }
    return i;
}
#endif

static void values_add(const struct wide_tree *w, const uint8_t *leaf, int n, float *f)
{
    int i = 0;

#ifdef SIMD_WIDE
    if (simd_level() == SIMD_AVX512)
        i = values_add_wide(w, leaf, n, f);
#endif
    for (; i < n; i++)
        f[i] += w->values[leaf[i]];
}

SIMD_BODY void wide_add_body(const struct wide_tree *w, int64_t from, int n, float *f)
{
    uint8_t leaf[BLOCK] = { 0 };
    int k = 0;

#ifdef SIMD_WIDE
    if (n == BLOCK && simd_level() == SIMD_AVX512) {
        leaves_wide(w, from, leaf);
        k = w->n_splits;
    }
#endif
    for (; k < w->n_splits; k++) {
        const struct wide_split *s = &w->splits[k];
        if (s->set >= 0)
            split_set(s, s->column + from, n, leaf);
        else if (n == BLOCK)
            split_numeric(s, s->column + from, BLOCK, leaf);
        else
            split_numeric(s, s->column + from, n, leaf);
    }
    values_add(w, leaf, n, f + from);
}
SIMD_KERNEL_STATIC(wide_add, (const struct wide_tree *w, int64_t from, int n, float *f),
                   (w, from, n, f))

void tree_add_columns(const struct tree *t, const uint8_t *columns, int64_t pitch, int64_t n,
                      float *f)
{
    struct wide_tree w;

    wide_init(t, columns, pitch, &w);
    for (int64_t from = 0; from < n; from += BLOCK)
        wide_add(&w, from, n - from < BLOCK ? (int)(n - from) : BLOCK, f);
}
