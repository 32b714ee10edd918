/* prep.c - a fitted preparation, and a table seen through it.
 *
 * The view maps columns by name and levels by text once; then the makers of bins and dense rows
 * (prep_bins.c, prep_dense.c) read rows through two calls. Immutable after it is made: any number
 * of threads may read one. Fitting is in prep_fit.c, saving in prep_save.c. */
#include "ml/prep/prep.h"

#include "base/bisect.h"
#include "base/mem.h"
#include "ml/prep/prep_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void prep_free(struct prep *p)
{
    if (!p)
        return;
    /* one past the last: a column whose fit failed */
    for (int i = 0; p->cols && i <= p->n_cols; i++) {
        struct prep_col *c = &p->cols[i];
        for (int l = 0; c->levels && l < c->n_levels; l++)
            mem_free(c->levels[l]);
        mem_free(c->levels);
        mem_free(c->name);
        mem_free(c->cuts);
        mem_free(c->hot_mean);
        mem_free(c->hot_sd);
    }
    mem_free(p->cols);
    mem_free(p);
}

void prep_layout(struct prep *p)
{
    p->width = 0;
    for (int i = 0; i < p->n_cols; i++) {
        struct prep_col *c = &p->cols[i];
        c->dense_at = p->width;
        c->dense_n = (c->type == FRAME_NUMERIC) + c->n_hot + c->has_other + c->has_missing;
        p->width += c->dense_n;
    }
}

int prep_inputs(const struct prep *p)
{
    return p->n_cols;
}

int prep_width(const struct prep *p)
{
    return p->width;
}

int prep_dense_of(const struct prep *p, int input, int *at)
{
    CHECK(input >= 0 && input < p->n_cols);
    *at = p->cols[input].dense_at;
    return p->cols[input].dense_n;
}

const char *prep_input_name(const struct prep *p, int i)
{
    CHECK(i >= 0 && i < p->n_cols);
    return p->cols[i].name;
}

enum frame_type prep_input_type(const struct prep *p, int i)
{
    CHECK(i >= 0 && i < p->n_cols);
    return p->cols[i].type;
}

int prep_input_levels(const struct prep *p, int i, const char *const **levels)
{
    CHECK(i >= 0 && i < p->n_cols);
    *levels = (const char *const *)p->cols[i].levels;
    return p->cols[i].n_levels;
}

float prep_bins_cut(const struct prep *p, int input, int b)
{
    CHECK(input >= 0 && input < p->n_cols && p->cols[input].type == FRAME_NUMERIC);
    CHECK(b >= 0 && b < p->cols[input].n_bins - 1);
    return p->cols[input].cuts[b];
}

/* ---- views ---- */

static uint32_t text_hash(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 15;
}

/* Level of the table to level of the preparation, through a hash table of the latter. */
static int32_t *map_levels(const struct prep_col *c, const struct frame_col *fc)
{
    uint32_t slots = 16;
    while (slots < (uint32_t)c->n_levels * 2)
        slots *= 2;
    int32_t *table = mem_try_zalloc(slots * sizeof(*table));
    int32_t *map = mem_try_alloc(((size_t)fc->n_levels + 1) * sizeof(*map));

    for (int l = 0; table && map && l < c->n_levels; l++) {
        uint32_t s = text_hash(c->levels[l]) & (slots - 1);
        while (table[s])
            s = (s + 1) & (slots - 1);
        table[s] = l + 1;
    }
    for (int l = 0; table && map && l < fc->n_levels; l++) {
        uint32_t s = text_hash(fc->levels[l]) & (slots - 1);
        while (table[s] && strcmp(c->levels[table[s] - 1], fc->levels[l]) != 0)
            s = (s + 1) & (slots - 1);
        map[l] = table[s] - 1;
    }
    if (!table) {
        mem_try_free(map);
        map = NULL;
    }
    mem_try_free(table);
    return map;
}

struct number_level {
    double value;
    int32_t level;
};

static int by_value(const void *va, const void *vb)
{
    const struct number_level *a = va, *b = vb;

    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return a->level < b->level ? -1 : a->level > b->level;
}

/* The levels of the preparation that read as numbers, by value. Of two spellings of one number the
 * more frequent one is taken. */
static void map_numbers(const struct prep_col *c, struct view_numbers *out)
{
    struct number_level *key = mem_array((size_t)c->n_levels + 1, sizeof(*key));
    int n = 0;

    for (int l = 0; l < c->n_levels; l++) {
        char *end = NULL;
        double x = strtod(c->levels[l], &end);
        if (end != c->levels[l] && *end == '\0' && isfinite(x))
            key[n++] = (struct number_level){ x, l };
    }
    qsort(key, (size_t)n, sizeof(*key), by_value);
    out->value = mem_array((size_t)n + 1, sizeof(*out->value));
    out->level = mem_array((size_t)n + 1, sizeof(*out->level));
    out->n = n;
    for (int i = 0; i < n; i++) {
        out->value[i] = key[i].value;
        out->level[i] = key[i].level;
    }
    mem_free(key);
}

static int view_col(struct prep_view *v, int i, struct err *err)
{
    const struct prep_col *c = &v->prep->cols[i];
    int at = v->col[i] = frame_find(v->frame, c->name);

    if (at < 0)
        return err_set(err, ERR_ARG, "column \"%.100s\" is missing", c->name);
    const struct frame_col *fc = &v->frame->cols[at];
    if (fc->type == FRAME_IGNORED)
        return err_set(err, ERR_ARG,
                       "column \"%.100s\" is ignored in this table but the model needs it",
                       c->name);
    if (c->type == FRAME_NUMERIC && fc->type != FRAME_NUMERIC)
        return err_set(err, ERR_ARG, "column \"%.100s\" must hold numbers; found \"%.40s\"",
                       c->name, fc->n_levels ? fc->levels[0] : "");
    if (c->type == FRAME_NUMERIC)
        return 0;
    if (fc->type == FRAME_NUMERIC) {
        map_numbers(c, &v->numbers[i]);
        return 0;
    }
    v->map[i] = map_levels(c, fc);
    return v->map[i] ? 0
                     : err_set(err, ERR_NOMEM, "no memory for the levels of \"%.100s\"", c->name);
}

struct prep_view *prep_view_new(const struct prep *p, const struct frame *f, struct err *err)
{
    struct prep_view *v = mem_zalloc(sizeof(*v));

    v->prep = p;
    v->frame = f;
    v->col = mem_array((size_t)p->n_cols, sizeof(*v->col));
    v->map = mem_array((size_t)p->n_cols, sizeof(*v->map));
    v->numbers = mem_array((size_t)p->n_cols, sizeof(*v->numbers));
    for (int i = 0; i < p->n_cols; i++) {
        if (view_col(v, i, err) < 0) {
            prep_view_free(v);
            return NULL;
        }
    }
    return v;
}

void prep_view_free(struct prep_view *v)
{
    if (!v)
        return;
    for (int i = 0; i < v->prep->n_cols; i++) {
        mem_try_free(v->map[i]);
        mem_free(v->numbers[i].value);
        mem_free(v->numbers[i].level);
    }
    mem_try_free(v->shuffled_numbers);
    mem_try_free(v->shuffled_levels);
    mem_free(v->col);
    mem_free(v->map);
    mem_free(v->numbers);
    mem_free(v);
}

void prep_view_numbers(const struct prep_view *v, int input, int64_t from, int64_t n, double *out)
{
    if (v->shuffled_numbers && v->shuffled == input)
        memcpy(out, v->shuffled_numbers + from, (size_t)n * sizeof(*out));
    else
        frame_numbers(v->frame, v->col[input], from, n, out);
}

static int32_t level_of_number(const struct view_numbers *m, double x)
{
    int at;

    BISECT(at, m->n, m->value[at] < x);
    return at < m->n && m->value[at] == x ? m->level[at] : -1;
}

void prep_view_levels(const struct prep_view *v, int input, int64_t from, int64_t n, int32_t *out)
{
    const int32_t *map = v->map[input];
    double x = 0;

    if (v->shuffled_levels && v->shuffled == input) {
        memcpy(out, v->shuffled_levels + from, (size_t)n * sizeof(*out));
        return;
    }
    if (!map) {
        for (int64_t i = 0; i < n; i++) {
            frame_numbers(v->frame, v->col[input], from + i, 1, &x);
            out[i] = level_of_number(&v->numbers[input], x);
        }
        return;
    }
    frame_codes(v->frame, v->col[input], from, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = out[i] < 0 ? -1 : map[out[i]];
}

int prep_view_shuffle(struct prep_view *v, int input, const int32_t *order, struct err *err)
{
    int64_t rows = v->frame->rows;
    bool is_numeric = order && v->prep->cols[input].type == FRAME_NUMERIC;

    mem_try_free(v->shuffled_numbers);
    mem_try_free(v->shuffled_levels);
    v->shuffled_numbers = NULL;
    v->shuffled_levels = NULL;
    if (!order)
        return 0;
    double *x = is_numeric ? mem_try_alloc((size_t)rows * 2 * sizeof(*x)) : NULL;
    int32_t *level = is_numeric ? NULL : mem_try_alloc((size_t)rows * 2 * sizeof(*level));
    if (!x && !level)
        return err_set(err, ERR_NOMEM, "no memory to shuffle %lld rows", (long long)rows);
    /* the second half is the column in its own order */
    if (is_numeric)
        prep_view_numbers(v, input, 0, rows, x + rows);
    else
        prep_view_levels(v, input, 0, rows, level + rows);
    for (int64_t i = 0; i < rows && is_numeric; i++)
        x[i] = x[rows + order[i]];
    for (int64_t i = 0; i < rows && !is_numeric; i++)
        level[i] = level[rows + order[i]];
    v->shuffled = input;
    v->shuffled_numbers = x;
    v->shuffled_levels = level;
    return 0;
}
