/* forest_bytes.c - a tree of a forest as bytes: u32 numbers of nodes, of sets and of shares
 * (entries of class lists), then the nodes in preorder, left child first:
 *
 *   u8 tag      kind (leaf, cut, set)
 *  missing goes left << 2
 *  form of the value << 4
 *   rows        varint: distinct training rows
 *   value       FORM_DENSE: f32 per output; FORM_LIST: varint count, then (varint class, f32) of
 *               the classes that occur; FORM_PURE: varint class whose share is 1 (with one
 *               output: the value itself, 0 or 1)
 *   of splits   varint column, f32 gain, then u8 bin, or u8 length and bytes of the set of bins
 *               that go left
 *
 * Varints are LEB128. The depth is at most RF_MAX_DEPTH. Readers trust nothing; writers write one
 * canonical form only. */
#include "ml/forest/forest_model.h"

#include "base/base.h"
#include "base/mem.h"

#include <string.h>

enum { LEAF, CUT, SET, KIND = 3, MISSING_LEFT = 4 };
/* MOST_BYTES: of a node without its shares */
enum { HEAD_BYTES = 12, MOST_BYTES = 64 };
enum { FORM_DENSE = 0, FORM_LIST = 0x10, FORM_PURE = 0x20, FORM = 0x30 };

/* ---- writing ---- */

struct sink {
    uint8_t *at;
    size_t len, cap;
    uint32_t nodes, sets, shares;
};

/* Makes room for n bytes; what is put after it must not be longer. -1 = no memory. */
static int sink_room(struct sink *s, size_t n)
{
    if (s->len + n <= s->cap)
        return 0;
    size_t cap = MAX(s->cap * 2, s->len + n + 8192);
    uint8_t *more = mem_try_alloc(cap);
    if (!more)
        return -1;
    if (s->len)
        memcpy(more, s->at, s->len);
    mem_try_free(s->at);
    s->at = more;
    s->cap = cap;
    return 0;
}

/* Each of these writes at p and returns where the next one goes. */
static uint8_t *put_u8(uint8_t *p, unsigned v)
{
    *p = (uint8_t)v;
    return p + 1;
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        p[i] = v >> (8 * i) & 255;
    return p + 4;
}

static uint8_t *put_f32(uint8_t *p, float v)
{
    uint32_t bits;

    memcpy(&bits, &v, 4);
    return put_u32(p, bits);
}

static uint8_t *put_varint(uint8_t *p, uint32_t v)
{
    for (; v >= 128; v >>= 7)
        *p++ = (v & 127) | 128;
    return put_u8(p, v);
}

static int sink_open(struct sink *s)
{
    *s = (struct sink){ 0 };
    if (sink_room(s, HEAD_BYTES) < 0)
        return -1;
    s->len = HEAD_BYTES;
    return 0;
}

/* Fills in the head and hands the bytes over, in memory of their size. rc < 0: hands nothing
 * over. */
static int sink_close(struct sink *s, int rc, struct rf_bytes *out)
{
    size_t len = s->len;

    *out = (struct rf_bytes){ 0 };
    if (rc == 0 && (out->data = mem_try_alloc(len))) {
        put_u32(put_u32(put_u32(s->at, s->nodes), s->sets), s->shares);
        memcpy(out->data, s->at, len);
        out->len = len;
    }
    mem_try_free(s->at);
    return out->data ? 0 : -1;
}

/* An entry of a list takes five or six bytes, of a dense value four. */
static unsigned form_of(const float *v, int outputs, int *n, int *last)
{
    uint32_t bits;

    *n = 0;
    if (outputs == 1)
        return v[0] == 0.0f || v[0] == 1.0f ? FORM_PURE : FORM_DENSE;
    for (int k = 0; k < outputs; k++) {
        memcpy(&bits, v + k, sizeof bits);
        /* a share is never -0 */
        *n += bits != 0;
        *last = bits != 0 ? k : *last;
    }
    return *n == 1 && v[*last] == 1.0f ? FORM_PURE : *n * 5 < outputs * 4 ? FORM_LIST : FORM_DENSE;
}

static uint8_t *put_value(uint8_t *p, const float *v, int outputs, unsigned form, int n, int last)
{
    if (form == FORM_PURE)
        return put_varint(p, outputs == 1 ? v[0] == 1.0f : (uint32_t)last);
    if (form == FORM_LIST)
        p = put_varint(p, (uint32_t)n);
    for (int k = 0; k < outputs; k++) {
        if (form == FORM_LIST && v[k] == 0.0f)
            continue;
        if (form == FORM_LIST)
            p = put_varint(p, (uint32_t)k);
        p = put_f32(p, v[k]);
    }
    return p;
}

static uint8_t *put_set(uint8_t *p, const uint64_t from[4])
{
    uint8_t set[32];
    unsigned n = 32;

    for (int i = 0; i < 32; i++)
        set[i] = (uint8_t)(from[i / 8] >> (i % 8 * 8));
    /* missing values: by the tag */
    set[31] &= 127;
    while (n > 0 && set[n - 1] == 0)
        n--;
    p = put_u8(p, n);
    memcpy(p, set, n);
    return p + n;
}

static void put_node(struct sink *s, const struct rf_tree *t, int at, int outputs)
{
    const struct rf_node *nd = &t->nodes[at];
    const float *v = t->values + (size_t)at * (size_t)outputs;
    uint8_t *p = s->at + s->len;
    int n = 0, last = 0;
    unsigned form = form_of(v, outputs, &n, &last), kind = nd->left == 0  ? LEAF
                                                           : nd->set >= 0 ? SET
                                                                          : CUT;

    p = put_u8(p, kind | form | (nd->left && nd->missing_left ? MISSING_LEFT : 0));
    p = put_varint(p, (uint32_t)nd->rows);
    p = put_value(p, v, outputs, form, n, last);
    if (outputs > 1)
        s->shares += form == FORM_PURE ? 1 : form == FORM_LIST ? (uint32_t)n : (uint32_t)outputs;
    if (kind != LEAF)
        p = put_f32(put_varint(p, nd->col), nd->gain);
    if (kind == SET)
        p = put_set(p, t->sets[nd->set]);
    else if (kind == CUT)
        p = put_u8(p, nd->bin);
    s->nodes++;
    s->sets += kind == SET;
    s->len = (size_t)(p - s->at);
}

static int put_tree(struct sink *s, const struct rf_tree *t, int outputs)
{
    int stack[RF_MAX_DEPTH + 2], top = 0;

    for (stack[top++] = 0; top > 0;) {
        int at = stack[--top];
        if (sink_room(s, MOST_BYTES + 9 * (size_t)outputs) < 0)
            return -1;
        put_node(s, t, at, outputs);
        if (t->nodes[at].left) {
            CHECK(top <= RF_MAX_DEPTH);
            stack[top++] = t->nodes[at].left + 1;
            stack[top++] = t->nodes[at].left;
        }
    }
    return 0;
}

int rf_bytes_of_tree(const struct rf_tree *t, int outputs, struct rf_bytes *out)
{
    struct sink s;
    int rc = sink_open(&s);

    if (rc == 0)
        rc = put_tree(&s, t, outputs);
    return sink_close(&s, rc, out);
}

/* ---- reading ---- */

struct item {
    uint8_t tag, bin, set_len;
    uint32_t rows, col, n_shares;
    float gain;
    /* where they begin in the bytes */
    size_t value, split, end;
    size_t set;
};

static int view_varint(struct view *in, uint32_t *out, struct err *err)
{
    uint32_t v = 0;
    uint8_t byte = 128;

    for (int shift = 0; byte & 128; shift += 7) {
        if (view_u8(in, &byte, err) < 0)
            return -1;
        if (shift > 28 || (shift == 28 && byte > 15))
            return err_set(err, ERR_ARG, "model: a number in a tree is too long");
        v |= (uint32_t)(byte & 127) << shift;
    }
    *out = v;
    return 0;
}

static int view_share(struct view *in, float *out, bool is_share, struct err *err)
{
    if (view_f32(in, out, err) < 0)
        return -1;
    if (is_share ? !(*out >= 0.0f && *out <= 1.0f) : !(*out >= -3e38f && *out <= 3e38f))
        return err_set(err, ERR_ARG, "model: a value of a tree is out of range");
    return 0;
}

/* out: room for `room` entries, or NULL. With one output the value is out[0].share. */
static int value_read(struct view *in, unsigned form, int outputs, struct rf_share *out,
                      uint32_t room, uint32_t *n_shares, struct err *err)
{
    uint32_t n = form == FORM_DENSE ? (uint32_t)outputs : 1, class = 0, next = 0;
    float v = 1.0f;

    if (form == FORM_LIST && (outputs == 1 || view_varint(in, &n, err) < 0))
        return err_set(err, ERR_ARG, "model: a list of classes in a tree of one output");
    if (n > (uint32_t)outputs || (out && n > room))
        return err_set(err, ERR_ARG, "model: a node of %u classes, or a tree of more than it says",
                       n);
    for (uint32_t i = 0; i < n; i++) {
        class = i;
        if (form != FORM_DENSE && view_varint(in, &class, err) < 0)
            return -1;
        if (form != FORM_PURE && view_share(in, &v, outputs > 1, err) < 0)
            return -1;
        /* 0 or 1 itself */
        if (form == FORM_PURE && outputs == 1) {
            v = (float)class;
            if (class > 1)
                return err_set(err, ERR_ARG, "model: a share of %u", class);
            class = 0;
        }
        if (class < next || class >= (uint32_t)outputs)
            return err_set(err, ERR_ARG, "model: a tree names class %u of %d", class, outputs);
        next = class + 1;
        if (out)
            out[i] = (struct rf_share){ class, v };
    }
    *n_shares = n;
    return 0;
}

static int split_read(struct view *in, int cols, struct item *it, struct err *err)
{
    const void *set = NULL;

    if (view_varint(in, &it->col, err) < 0 || view_f32(in, &it->gain, err) < 0)
        return -1;
    if (it->col >= (uint32_t)cols)
        return err_set(err, ERR_ARG, "model: a tree names column %u of %d", it->col, cols);
    if ((it->tag & KIND) == CUT)
        return view_u8(in, &it->bin, err);
    if (view_u8(in, &it->set_len, err) < 0)
        return -1;
    it->set = in->pos;
    if (it->set_len > 32)
        return err_set(err, ERR_ARG, "model: a set of %u bytes", it->set_len);
    return view_bytes(in, &set, it->set_len, err);
}

/* shares: where the value goes, with room for so many entries; or NULL. */
static int item_read(struct view *in, int outputs, int cols, struct item *it,
                     struct rf_share *shares, uint32_t room, struct err *err)
{
    *it = (struct item){ 0 };
    if (view_u8(in, &it->tag, err) < 0 || view_varint(in, &it->rows, err) < 0)
        return -1;
    if ((it->tag & KIND) > SET || (it->tag & ~(KIND | MISSING_LEFT | FORM)) ||
        (it->tag & FORM) == FORM || it->rows < 1 || it->rows > INT32_MAX)
        return err_set(err, ERR_ARG, "model: unknown node %u of %u rows", it->tag, it->rows);
    it->value = in->pos;
    if (value_read(in, it->tag & FORM, outputs, shares, room, &it->n_shares, err) < 0)
        return -1;
    it->split = in->pos;
    if ((it->tag & KIND) != LEAF && split_read(in, cols, it, err) < 0)
        return -1;
    it->end = in->pos;
    return 0;
}

static int head_read(struct view *in, uint32_t *nodes, uint32_t *sets, uint32_t *shares,
                     struct err *err)
{
    if (view_u32(in, nodes, err) < 0 || view_u32(in, sets, err) < 0 ||
        view_u32(in, shares, err) < 0)
        return -1;
    /* every node and every share takes at least one byte */
    size_t left = in->len - in->pos;
    if (*nodes < 1 || *nodes % 2 == 0 || *nodes > left || *nodes > INT32_MAX / 2 ||
        *sets > *nodes / 2 || *shares > left)
        return err_set(err, ERR_ARG, "model: a tree of %u nodes, %u sets and %u shares", *nodes,
                       *sets, *shares);
    return 0;
}

void rf_flat_fini(struct rf_flat *t)
{
    mem_try_free(t->nodes);
    mem_try_free(t->set_of);
    mem_try_free(t->sets);
    mem_try_free(t->values);
    mem_try_free(t->share_at);
    mem_try_free(t->shares);
    mem_try_free(t->rows);
    mem_try_free(t->depth);
    memset(t, 0, sizeof *t);
}

static int flat_alloc(struct rf_flat *t, uint32_t n, uint32_t sets, uint32_t shares, int outputs)
{
    bool is_class = outputs > 1;

    *t = (struct rf_flat){ .n = (int)n };
    t->nodes = mem_try_alloc(n * sizeof *t->nodes);
    t->set_of = sets ? mem_try_alloc(n * sizeof *t->set_of) : NULL;
    t->sets = sets ? mem_try_alloc(sets * sizeof *t->sets) : NULL;
    t->values = is_class ? NULL : mem_try_alloc(n * sizeof *t->values);
    t->share_at = is_class ? mem_try_alloc(n * sizeof *t->share_at * 2) : NULL;
    t->shares = is_class ? mem_try_alloc(((size_t)shares + 1) * sizeof *t->shares) : NULL;
    t->rows = mem_try_alloc(n * sizeof *t->rows);
    t->depth = mem_try_alloc(n);
    bool ok = t->nodes && t->depth && (!sets || (t->set_of && t->sets)) &&
              (is_class ? t->share_at && t->shares : t->values != NULL) && t->rows;
    return ok ? 0 : -1;
}

static void node_set(struct rf_flat *t, uint32_t at, const struct item *it, const uint8_t *data,
                     uint32_t left)
{
    struct rf_flat_node *nd = &t->nodes[at];
    uint32_t add = it->tag & MISSING_LEFT ? 1 : 0;

    if ((it->tag & KIND) == LEAF) {
        *nd = (struct rf_flat_node){ at, 255 };
        return;
    }
    nd->left = left;
    nd->test = it->col << RF_TEST_COL;
    if ((it->tag & KIND) == CUT) {
        nd->test |= ((it->bin + add) & 255) | (add ? RF_TEST_ADD : 0);
        return;
    }
    nd->test |= RF_TEST_SET;
    t->set_of[at] = t->n_sets;
    uint64_t *set = t->sets[t->n_sets++];
    memset(set, 0, sizeof *t->sets);
    for (int i = 0; i < it->set_len; i++)
        set[i / 8] |= (uint64_t)data[it->set + (size_t)i] << (i % 8 * 8);
    set[3] = (set[3] & ~(1ull << 63)) | (uint64_t)add << 63;
}

struct reading {
    struct view in;
    struct rf_flat *t;
    uint32_t n_nodes, n_sets, n_shares, made, seen_shares, used_shares;
    /* values of inner nodes are not wanted */
    bool leaves_only;
    /* by column, or NULL */
    double *gains;
    uint32_t stack[RF_MAX_DEPTH + 2];
    int top;
};

static int node_read(struct reading *r, int outputs, int cols, struct err *err)
{
    struct rf_flat *t = r->t;
    uint32_t at = r->stack[--r->top];
    struct rf_share one = { 0 }, *to = outputs > 1 ? t->shares + r->used_shares : &one;
    struct item it;

    if (item_read(&r->in, outputs, cols, &it, to, outputs > 1 ? r->n_shares - r->seen_shares : 1,
                  err) < 0)
        return -1;
    if (outputs == 1) {
        t->values[at] = one.share;
    } else {
        uint32_t kept = r->leaves_only && (it.tag & KIND) != LEAF ? 0 : it.n_shares;
        t->share_at[2 * at] = r->used_shares;
        t->share_at[2 * at + 1] = kept;
        r->used_shares += kept;
        r->seen_shares += it.n_shares;
    }
    t->rows[at] = (int32_t)it.rows;
    if (r->gains && (it.tag & KIND) != LEAF && it.gain > 0.0f && it.gain < 3e38f)
        r->gains[it.col] += (double)it.gain;
    bool is_set = (it.tag & KIND) == SET;
    if ((it.tag & KIND) != LEAF && (r->made + 2 > r->n_nodes || t->depth[at] >= RF_MAX_DEPTH ||
                                    (is_set && (uint32_t)t->n_sets == r->n_sets)))
        return err_set(err, ERR_ARG, "model: a tree has more nodes, depth or sets than it may");
    node_set(t, at, &it, r->in.data, r->made);
    if ((it.tag & KIND) == LEAF)
        return 0;
    for (uint32_t side = 2; side-- > 0;) {
        t->depth[r->made + side] = (uint8_t)(t->depth[at] + 1);
        r->stack[r->top++] = r->made + side;
    }
    r->made += 2;
    return 0;
}

/* Frees what only axes need, and the room of the shares of inner nodes. Having no memory to shrink
 * them does no harm. */
static void trim(struct rf_flat *t, uint32_t n_shares)
{
    mem_try_free(t->depth);
    t->depth = NULL;
    if (!t->shares)
        return;
    struct rf_share *fit = mem_try_alloc(((size_t)n_shares + 1) * sizeof *fit);
    if (!fit)
        return;
    memcpy(fit, t->shares, n_shares * sizeof *fit);
    mem_try_free(t->shares);
    t->shares = fit;
}

int rf_flat_read(struct rf_flat *t, const uint8_t *data, size_t len, int outputs, int cols,
                 bool keep_axes, double *gains, struct err *err)
{
    struct reading r = { .in = { data, len, 0 },
                         .t = t,
                         .made = 1,
                         .top = 1,
                         .leaves_only = !keep_axes,
                         .gains = gains };
    int rc = -1;

    memset(t, 0, sizeof *t);
    if (head_read(&r.in, &r.n_nodes, &r.n_sets, &r.n_shares, err) < 0)
        return -1;
    if (flat_alloc(t, r.n_nodes, r.n_sets, r.n_shares, outputs) < 0) {
        err_set(err, ERR_NOMEM, "forest: no memory for a tree of %u nodes", r.n_nodes);
        goto out;
    }
    t->depth[0] = 0;
    while (r.top > 0) {
        if (node_read(&r, outputs, cols, err) < 0)
            goto out;
    }
    if (r.made != r.n_nodes || (uint32_t)t->n_sets != r.n_sets || r.in.pos != len ||
        (outputs > 1 && r.seen_shares != r.n_shares)) {
        err_set(err, ERR_ARG, "model: a tree has less than it says");
        goto out;
    }
    if (!keep_axes)
        trim(t, r.used_shares);
    rc = 0;
out:
    if (rc < 0)
        rf_flat_fini(t);
    return rc;
}

/* ---- cutting ---- */

/* Copies what stays. A node at which the cut falls becomes a leaf, and what lies below it is passed
 * over. */
static int copy_cut(struct view in, int outputs, int cols, const struct forest_axis *cut,
                    struct sink *s, struct err *err)
{
    uint8_t depth[RF_MAX_DEPTH + 2];
    /* lies below the cut */
    bool is_out[RF_MAX_DEPTH + 2];
    int top = 1;

    depth[0] = 0;
    is_out[0] = false;
    while (top > 0) {
        struct item it;
        uint8_t d = depth[--top];
        bool out = is_out[top];
        if (item_read(&in, outputs, cols, &it, NULL, 0, err) < 0)
            return -1;
        bool is_split = (it.tag & KIND) != LEAF,
             stays = is_split && d < cut->depth && it.rows >= (uint32_t)cut->min_split;
        if (!out && sink_room(s, MOST_BYTES + it.end - it.value) < 0)
            return err_set(err, ERR_NOMEM, "forest: no memory for a tree");
        if (!out) {
            size_t len = (stays ? it.end : it.split) - it.value;
            uint8_t *p =
                put_varint(put_u8(s->at + s->len, stays ? it.tag : it.tag & FORM), it.rows);
            memcpy(p, in.data + it.value, len);
            s->len = (size_t)(p - s->at) + len;
            s->nodes++;
            s->sets += stays && (it.tag & KIND) == SET;
            s->shares += outputs > 1 ? it.n_shares : 0;
        }
        for (int side = 0; side < 2 && is_split; side++) {
            CHECK(top <= RF_MAX_DEPTH);
            depth[top] = (uint8_t)(d + 1);
            is_out[top++] = out || !stays;
        }
    }
    return 0;
}

int rf_bytes_cut(const struct rf_bytes *b, int outputs, int cols, const struct forest_axis *cut,
                 struct rf_bytes *out, struct err *err)
{
    struct view in = { b->data, b->len, HEAD_BYTES };
    struct sink s;
    int rc = sink_open(&s);

    if (rc == 0 && copy_cut(in, outputs, cols, cut, &s, err) < 0) {
        (void)sink_close(&s, -1, out);
        return -1;
    }
    if (sink_close(&s, rc, out) < 0)
        return err_set(err, ERR_NOMEM, "forest: no memory for a tree");
    return 0;
}
