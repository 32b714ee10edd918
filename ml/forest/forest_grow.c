/* forest_grow.c - grows one tree, depth first.
 *
 * Each row has a word that holds its weight and its target (rf_word in forest.h). The rows of a
 * node and their words are neighbours in one of two lists. A split copies them to the same places
 * of the other list: first the rows of the left child, then those of the right one. With several
 * classes, rows of one class stay next to each other.
 *
 * Each node has a key, made from the tree and the path from the root, and draws from it which
 * columns it looks at. So subtrees do not depend on each other, and nodes may be grown in any
 * order. A node looks at n_visit columns. If none of them can be split, it looks at further columns
 * until one can be (as scikit-learn does). Called by forest_model.c. */
#include "ml/forest/forest_work.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/cpu/draws.h"
#include "ml/cpu/rows_part.h"

#include <float.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

enum { POLL_WORK = 1 << 15, MAX_WEIGHT = 255, PART = 16, FEW_ROWS = 6, FEW_COLS = 4 };

int rf_outputs(const struct rf_data *d)
{
    return d->n_classes > 2 ? d->n_classes : 1;
}

/* ---- trees ---- */

void rf_tree_fini(struct rf_tree *t)
{
    mem_try_free(t->nodes);
    mem_try_free(t->values);
    mem_try_free(t->sets);
    memset(t, 0, sizeof *t);
}

int64_t rf_tree_bytes(const struct rf_tree *t, int outputs)
{
    return (int64_t)sizeof *t +
           t->n * (int64_t)(sizeof *t->nodes + (size_t)outputs * sizeof *t->values) +
           t->n_sets * (int64_t)sizeof *t->sets;
}

static int grow_array(void **p, size_t used, size_t cap, size_t size)
{
    void *more = mem_try_alloc(cap * size);

    if (!more)
        return -1;
    if (used)
        memcpy(more, *p, used * size);
    mem_try_free(*p);
    *p = more;
    return 0;
}

int rf_nodes_reserve(struct rf_tree *t, int n, int outputs)
{
    if (t->n + n <= t->cap)
        return 0;
    int cap = MAX(t->n + n, MAX(64, t->cap * 2));
    if (grow_array((void **)&t->nodes, (size_t)t->n, (size_t)cap, sizeof *t->nodes) < 0 ||
        grow_array((void **)&t->values, (size_t)t->n * (size_t)outputs,
                   (size_t)cap * (size_t)outputs, sizeof *t->values) < 0)
        return -1;
    t->cap = cap;
    return 0;
}

static int set_add(struct rf_tree *t, const uint64_t set[4])
{
    if (t->n_sets == t->sets_cap) {
        int cap = MAX(16, t->sets_cap * 2);
        if (grow_array((void **)&t->sets, (size_t)t->n_sets, (size_t)cap, sizeof *t->sets) < 0)
            return -1;
        t->sets_cap = cap;
    }
    memcpy(t->sets[t->n_sets], set, sizeof *t->sets);
    return t->n_sets++;
}

int rf_open(struct rf_work *w, struct open_node o)
{
    if (w->top == w->stack_cap) {
        if (grow_array((void **)&w->stack, (size_t)w->top, (size_t)w->stack_cap * 2,
                       sizeof *w->stack) < 0)
            return -1;
        w->stack_cap *= 2;
    }
    w->stack[w->top++] = o;
    return 0;
}

/* ---- rows ---- */

static rf_word word_of(const struct rf_data *d, int64_t row, int64_t weight)
{
    int64_t y = d->y[row];

    if (d->n_classes == 2)
        return weight + (y ? weight * 4294967296 : 0);
    if (d->n_classes == 0)
        return y * 65536 + weight;
    return y * 4294967296 + weight;
}

static uint64_t tree_key(uint64_t seed, int tree)
{
    return rng_mix(seed, (uint64_t)tree + 1);
}

uint64_t rf_root_key(uint64_t seed, int tree)
{
    return rng_mix(tree_key(seed, tree), 2);
}

static void add_one(uint16_t *weight)
{
    *weight = (uint16_t)(*weight < MAX_WEIGHT ? *weight + 1 : *weight);
}

/* Draws rows with replacement. Draw i uses number i of the tree's random stream. */
static void draw_again(uint64_t key, int64_t n, int64_t draws, uint16_t *weights)
{
    uint32_t next[DRAWS];

    for (int64_t i = 0; i < draws; i++) {
        if (i % DRAWS == 0)
            draws_fill(key, 1, (uint64_t)i / 4, next);
        add_one(&weights[(uint64_t)next[i % DRAWS] * (uint64_t)n >> 32]);
    }
}

/* The first row whose sum is above `at`. */
static int64_t row_of_sum(const double *up_to, int64_t n, double at)
{
    int64_t lo = 0, hi = n - 1;

    while (lo < hi) {
        int64_t mid = (lo + hi) / 2;
        if (up_to[mid] > at)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Draws rows in proportion to their weights: with replacement, each draw for itself; without, one
 * draw from each of `draws` equal stretches of the sum of weights, so that a row of weight w among
 * rows of 1 comes about w times, and rows of one weight come once. */
static void draw_weighted(const struct rf_params *p, uint64_t key, int64_t n, int64_t draws,
                          uint16_t *weights)
{
    double all = p->up_to[n - 1];
    struct rng r;

    rng_init(&r, key, 1);
    for (int64_t i = 0, row = 0; i < draws; i++) {
        double u = rng_unit(&r);
        if (p->is_bootstrap) {
            add_one(&weights[row_of_sum(p->up_to, n, u * all)]);
            continue;
        }
        double at = ((double)i + u) / (double)draws * all;
        while (row < n - 1 && p->up_to[row] <= at)
            row++;
        add_one(&weights[row]);
    }
}

void rf_draw(const struct rf_params *p, uint64_t seed, int tree, int64_t n, uint16_t *weights)
{
    int64_t draws = MAX((int64_t)((double)n * p->max_samples + 0.5), 1), want = draws;
    uint64_t key = tree_key(seed, tree);
    struct rng r;

    memset(weights, 0, (size_t)n * sizeof *weights);
    if (p->up_to) {
        draw_weighted(p, key, n, draws, weights);
        return;
    }
    if (p->is_bootstrap) {
        draw_again(key, n, draws, weights);
        return;
    }
    rng_init(&r, key, 1);
    for (int64_t i = 0; i < n; i++) {
        bool is_in =
            want == n - i || (int64_t)((uint64_t)rng_u32(&r) * (uint64_t)(n - i) >> 32) < want;
        weights[i] = is_in;
        want -= is_in;
    }
}

/* Two classes: the totals of a node by the sum of its words. */
static void two_weigh(rf_word sum, struct open_node *o)
{
    o->weight = (int32_t)(sum & 0xffffffff);
    o->ones = (int32_t)(sum >> 32);
}

/* Fills the root. */
static void take_rows(struct rf_work *w, struct open_node *root)
{
    int32_t m = 0;
    rf_word sum = 0;

    for (int64_t at = 0; at < w->d->rows; at++) {
        int64_t i = w->order ? w->order[at] : at;
        w->rows[0][m] = w->d->at[i];
        w->words[0][m] = word_of(w->d, i, w->weights[i]);
        sum += w->weights[i] > 0 ? w->words[0][m] : 0;
        m += w->weights[i] > 0;
    }
    root->n = m;
    if (w->d->n_classes == 2)
        two_weigh(sum, root);
}

/* The same as rows_part for a split by a set of bins. Adds to `seen` the bins that the rows have. */
static struct rows_parted set_part(const struct rows_part *p, const uint64_t set[4],
                                   uint64_t seen[4])
{
    int32_t lo = 0, hi = p->n - 1;
    int64_t sum = 0;

    for (int32_t i = 0; i < p->n; i++) {
        int32_t row = p->rows[i];
        int64_t word = p->words[i];
        if (p->is_far)
            __builtin_prefetch(p->bins +
                               p->rows[i + RF_AHEAD < p->n ? i + RF_AHEAD : i] * p->pitch);
        uint8_t b = p->bins[row * p->pitch];
        seen[b >> 6] |= 1ull << (b & 63);
        int32_t is_left = (int32_t)(set[b >> 6] >> (b & 63) & 1);
        /* there is no branch here, because the CPU would predict it wrong half of the time */
        int32_t at = hi + ((lo - hi) & -is_left);
        p->to_rows[at] = row;
        p->to_words[at] = word;
        sum += word & -(int64_t)is_left;
        lo += is_left;
        hi -= 1 - is_left;
    }
    return (struct rows_parted){ lo, sum, seen[3] >> 63 };
}

static struct rows_part part_of(const struct rf_work *w, const struct open_node *o, int col,
                                bool is_far)
{
    return (struct rows_part){ .bins = w->level[o->level].lines + col,
                               .pitch = w->level[o->level].pitch,
                               .rows = w->rows[o->list] + o->from,
                               .words = w->words[o->list] + o->from,
                               .n = o->n,
                               .is_far = is_far,
                               .to_rows = w->rows[!o->list] + o->from,
                               .to_words = w->words[!o->list] + o->from };
}

/* Left rows go to the front of the other list, right rows to its end in reverse order, so rows of
 * one class stay next to each other. Adds to `seen` the bins that the rows have; for a numeric
 * column only whether the missing bin occurs. */
static struct rows_parted partition(struct rf_work *w, const struct open_node *o,
                                    const struct rf_split *best, const struct rf_node_in *in,
                                    uint64_t seen[4])
{
    struct rows_part p = part_of(w, o, best->col, in->is_far);
    struct rows_parted parted;
    int at;

    if (best->is_set)
        return set_part(&p, best->set, seen);
    /* If missing values go left, 1 is added to bins and cut. Bin 255 (missing) overflows to 0,
     * which is not above the cut. */
    uint8_t up = best->missing_left;
    const uint8_t *picked = rf_gini_picked(&w->s, in->node, best->col, &at);
    if (picked) {
        p.bins = picked;
        parted = rows_part_picked(&p, at, up, (uint8_t)(best->bin + up));
    } else {
        parted = rows_part(&p, up, (uint8_t)(best->bin + up));
    }
    seen[3] |= (uint64_t)parted.has_missing << 63;
    return parted;
}

/* ---- nodes ---- */

/* Rows of one class are neighbours. Returns the place after the last row that has the class of
 * words[from]. */
static int32_t run_end(const rf_word *words, int32_t from, int32_t n)
{
    int64_t of = words[from] >> 32;
    /* words[lo] is of the class, hi is past its end */
    int32_t lo = from, hi = n;

    if (words[n - 1] >> 32 == of)
        return n;
    while (hi - lo > FEW_ROWS) {
        int32_t mid = lo + (hi - lo) / 2;
        bool is_in = words[mid] >> 32 == of;
        lo = is_in ? mid : lo;
        hi = is_in ? hi : mid;
    }
    while (lo < hi && words[lo] >> 32 == of)
        lo++;
    return lo;
}

static int64_t class_totals(struct rf_work *w, const struct open_node *o, struct rf_runs *runs)
{
    const rf_word *words = w->words[o->list] + o->from;
    int64_t k = w->d->n_classes, weight = 0;

    *runs = (struct rf_runs){ 0, w->runs, w->runs + k, w->runs + 2 * k };
    for (int32_t i = 0; i < o->n;) {
        int64_t of = words[i] >> 32, sum = 0;
        int32_t end = run_end(words, i, o->n);
        for (; rf_rows_weigh(&w->p) && i < end; i++)
            sum += words[i] & 0xffff;
        /* all other rows weigh 1 */
        sum += end - i;
        i = end;
        runs->class_of[runs->n] = (int32_t)of;
        runs->end[runs->n] = end;
        runs->weight[runs->n] = (int32_t)sum;
        w->total[runs->n++] = sum;
        weight += sum;
    }
    w->s.width = runs->n;
    return weight;
}

static void node_totals(struct rf_work *w, const struct open_node *o, struct rf_node_in *in)
{
    const rf_word *words = w->words[o->list] + o->from;
    int64_t weight = 0, sum = 0, *total = w->total;
    struct rf_runs runs = { 0 };

    if (w->d->n_classes == 2) {
        weight = o->weight;
        total[1] = o->ones;
        total[0] = weight - total[1];
    } else if (w->d->n_classes == 0) {
        int64_t differs = 0;
        for (int32_t i = 0; i < o->n; i++) {
            weight += words[i] & 0xffff;
            sum += (words[i] & 0xffff) * (words[i] >> 16);
            differs |= words[i] ^ words[0];
        }
        total[0] = sum;
        /* 0 if all targets of the node are equal */
        total[1] = differs >> 16;
    } else {
        weight = class_totals(w, o, &runs);
    }
    *in = (struct rf_node_in){ .d = w->d,
                               .p = &w->p,
                               .lines = w->level[o->level].lines,
                               .pitch = w->level[o->level].pitch,
                               .rows = w->rows[o->list] + o->from,
                               .words = words,
                               .n = o->n,
                               .runs = runs,
                               .weight = weight,
                               .total = total,
                               .key = o->key,
                               .node = ++w->n_seen,
                               .is_far =
                                   o->level == 0 && o->n * w->level[0].pitch > RF_SECOND_BYTES };
}

static bool node_values(const struct rf_node_in *in, float *out)
{
    double n = (double)in->weight;

    if (in->d->n_classes == 0) {
        *out = (float)((double)in->total[0] / n);
        return in->total[1] == 0;
    }
    if (in->d->n_classes == 2) {
        *out = (float)((double)in->total[1] / n);
        return in->total[1] == 0 || in->total[0] == 0;
    }
    memset(out, 0, (size_t)in->d->n_classes * sizeof *out);
    for (int k = 0; k < in->runs.n; k++)
        out[in->runs.class_of[k]] = (float)((double)in->total[k] / n);
    return in->runs.n == 1;
}

/* Looks at columns in the order of a random permutation. The node's key decides the permutation;
 * only as many of its places as needed are drawn, and w->perm is restored at the end. A node of few
 * rows often finds a perfect split in the first columns, so it looks at only a few columns at a
 * time. */
bool rf_node_split(struct rf_work *w, const struct rf_node_in *in, struct rf_split *best)
{
    /* the random cuts of all columns are drawn at once (ml/cpu/rows_random.c) */
    bool is_at_once = w->p.is_extra && w->d->n_classes == 2 && !in->by_col;
    int n = w->d->cols, seen = 0, least = MIN(n, w->p.n_visit),
        step = in->n == 2                         ? 1
               : in->n <= FEW_ROWS && !is_at_once ? FEW_COLS
                                                  : least;
    double perfect = rf_perfect_score(in);
    bool is_found = false, is_pair = in->n == 2 && w->d->n_classes >= 2;

    while (seen < n && (seen < least || !is_found) && best->score < perfect) {
        int from = seen, to = seen < least ? MIN(least, seen + step) : seen + 1;
        for (; seen < to; seen++) {
            int j = rf_visit(in->key, seen, n);
            int32_t col = w->perm[j];
            w->perm[j] = w->perm[seen];
            w->perm[seen] = col;
            w->swaps[seen] = j;
        }
        if (is_pair && !w->d->is_categorical[w->perm[from]])
            is_found = rf_split_pair(in, w->perm[from], &w->s, best) || is_found;
        else
            is_found = rf_split_columns(in, w->perm + from, to - from, &w->s, best) || is_found;
    }
    while (seen-- > 0) {
        int32_t col = w->perm[seen];
        w->perm[seen] = w->perm[w->swaps[seen]];
        w->perm[w->swaps[seen]] = col;
    }
    return is_found;
}

/* Copies a node's lines next to each other into the fastest level of memory that has room for them
 * (struct level), and numbers its rows anew. */
static void node_near(struct rf_work *w, struct open_node *o)
{
    const struct level *from = &w->level[o->level], *to = from;
    int32_t *rows = w->rows[o->list] + o->from;

    for (int l = o->level + 1; l < RF_LEVELS && o->n <= w->level[l].rows; l++)
        to = &w->level[o->level = l];
    for (int32_t i = 0; to != from && i < o->n; i++) {
        const uint8_t *line = from->lines + rows[i] * from->pitch;
        if (from == w->level)
            __builtin_prefetch(from->lines + rows[MIN(i + RF_AHEAD, o->n - 1)] * from->pitch);
        for (int64_t c = 0; c < to->pitch; c += PART)
            memcpy(to->lines + i * to->pitch + c, line + c, PART);
        rows[i] = i;
    }
}

bool rf_leaf(const struct rf_work *w, const struct rf_node_in *in, int node, int depth,
             struct rf_tree *t)
{
    bool is_pure = node_values(in, t->values + (int64_t)node * rf_outputs(w->d));

    t->nodes[node] =
        (struct rf_node){ .rows = (int32_t)in->n, .set = -1, .depth = (uint16_t)MIN(depth, 65535) };
    return is_pure || in->n < w->p.min_split || depth >= w->p.max_depth ||
           in->weight < 2 * (int64_t)w->p.min_leaf;
}

int rf_node_cut(const struct rf_work *w, const struct rf_node_in *in, int node,
                const struct rf_split *best, struct rf_tree *t)
{
    struct rf_node *nd = &t->nodes[node];

    if (best->is_set && (nd->set = set_add(t, best->set)) < 0)
        return -1;
    nd->gain = (float)((best->score - rf_own_score(in, &w->s)) / w->all);
    nd->col = (uint32_t)best->col;
    nd->bin = (uint8_t)best->bin;
    nd->missing_left = best->missing_left;
    nd->left = t->n;
    if (rf_nodes_reserve(t, 2, rf_outputs(w->d)) < 0)
        return -1;
    t->n += 2;
    return 0;
}

void rf_node_unseen(const struct rf_work *w, int node, uint64_t key, const uint64_t seen[4],
                    int32_t n_left, int32_t n, struct rf_tree *t)
{
    struct rf_node *nd = &t->nodes[node];

    nd->missing_left =
        (uint8_t)rf_unseen(seen, w->d->n_bins[nd->col], rf_unseen_left(key, n_left, n),
                           nd->missing_left, nd->set >= 0 ? t->sets[nd->set] : NULL);
}

/* Fills the children of a node that was cut, the first n_left of whose rows go left; left: the sum of
 * their words. */
static void kids_of(const struct rf_work *w, const struct open_node *o, const struct rf_tree *t,
                    const struct rows_parted *parted, struct open_node kid[2])
{
    int32_t n_left = parted->n_left;

    for (int side = 0; side < 2; side++) {
        kid[side] = (struct open_node){ .node = t->n - 2 + side,
                                        .from = side ? o->from + n_left : o->from,
                                        .n = side ? o->n - n_left : n_left,
                                        .depth = o->depth + 1,
                                        .level = o->level,
                                        .list = !o->list,
                                        .key = rf_mix(o->key, ~(uint64_t)side) };
        if (w->d->n_classes == 2)
            two_weigh(side ? o->weight + ((int64_t)o->ones << 32) - parted->left : parted->left,
                      &kid[side]);
    }
}

/* Two classes: a child's totals are known, so a leaf is written at once. */
static bool kid_leaf(struct rf_work *w, struct rf_node_in *in, const struct open_node *kid,
                     struct rf_tree *t)
{
    in->n = kid->n;
    in->weight = kid->weight;
    w->total[1] = kid->ones;
    w->total[0] = kid->weight - kid->ones;
    return rf_leaf(w, in, kid->node, kid->depth, t);
}

static int node_grow(struct rf_work *w, const struct open_node *o, struct rf_tree *t)
{
    struct rf_node_in in;
    struct rf_split best = { .score = -DBL_MAX };
    bool is_two = w->d->n_classes == 2, is_leaf[2] = { false, false };

    node_totals(w, o, &in);
    if ((!is_two || o->node == 0) && rf_leaf(w, &in, o->node, o->depth, t))
        return 0;
    if (!rf_node_split(w, &in, &best))
        return 0;
    if (rf_node_cut(w, &in, o->node, &best, t) < 0)
        return -1;
    uint64_t seen[4] = { 0 };
    const struct rf_marks *marks = best.is_set ? NULL : rf_random_marks(&w->s, in.node, best.col);
    struct rows_parted parted;
    if (marks) {
        parted =
            (struct rows_parted){ marks->n_left, marks->n_left + ((int64_t)marks->ones_left << 32),
                                  marks->has_missing };
        seen[3] |= (uint64_t)marks->has_missing << 63;
    } else {
        parted = partition(w, o, &best, &in, seen);
    }
    rf_node_unseen(w, o->node, o->key, seen, parted.n_left, o->n, t);
    struct open_node kid[2];
    kids_of(w, o, t, &parted, kid);
    for (int side = 0; is_two && side < 2; side++)
        is_leaf[side] = kid_leaf(w, &in, &kid[side], t);
    if (marks && !(is_leaf[0] && is_leaf[1])) {
        const struct rows_part p = part_of(w, o, best.col, in.is_far);
        rows_part_marked(&p, marks->left);
    }
    for (int side = 1; side >= 0; side--) {
        if (!is_leaf[side] && rf_open(w, kid[side]) < 0)
            return -1;
    }
    return 0;
}

/* Draws the rows of a tree and opens its root. If w holds a tree that is half grown, it is
 * dropped. */
static int tree_start(struct rf_work *w, uint64_t seed, int tree)
{
    uint64_t key = tree_key(seed, tree);

    rf_tree_fini(&w->half);
    w->half = w->old;
    memset(&w->old, 0, sizeof w->old);
    w->top = 0;
    w->all = 0;
    w->busy = key;
    rf_draw(&w->p, seed, tree, w->d->rows, w->weights);
    for (int64_t i = 0; i < w->d->rows; i++)
        w->all += (double)w->weights[i];
    if (rf_nodes_reserve(&w->half, MAX(1, w->last_nodes), rf_outputs(w->d)) < 0)
        return -1;
    w->half.n = 1;
    struct open_node root = { .key = rf_root_key(seed, tree) };
    if (w->columns)
        return rf_columns_start(w, root, &w->half);
    take_rows(w, &root);
    return rf_open(w, root);
}

int rf_grow(struct rf_work *w, uint64_t seed, int tree, const struct ml_stop *stop,
            struct rf_tree *out)
{
    uint64_t key = tree_key(seed, tree);
    int64_t since = POLL_WORK;
    int rc = 1;

    memset(out, 0, sizeof *out);
    if (w->half.n == 0 || w->busy != key)
        rc = tree_start(w, seed, tree) < 0 ? -1 : 1;
    while (rc == 1 && w->top > 0) {
        struct open_node o = w->stack[w->top - 1];
        since += (o.n + 16) * (int64_t)MIN(w->p.n_visit, w->d->cols);
        if (since > POLL_WORK) {
            since = 0;
            if (ml_stop_now(stop))
                return 0;
        }
        w->top--;
        if (!w->columns)
            node_near(w, &o);
        if (w->columns ? rf_columns_grow(w, &o, &w->half) : node_grow(w, &o, &w->half))
            rc = -1;
    }
    w->last_nodes = w->half.n; /* the next tree reserves room for as many nodes */
    if (rc == 1)
        *out = w->half;
    else
        rf_tree_fini(&w->half);
    memset(&w->half, 0, sizeof w->half);
    return rc;
}
