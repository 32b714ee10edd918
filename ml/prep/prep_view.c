/* prep_view.c - a table seen through a preparation.
 *
 * The view maps columns by name and levels by text once, and opens the steps; then the makers of
 * bins and dense rows (prep_bins.c, prep_dense.c) read rows through two calls. Immutable after it
 * is made, but for prep_view_shuffle and prep_view_mix: any number of threads may read one. */
#include "base/mem.h"
#include "ml/math/forest_math.h"
#include "ml/prep/number_places.h"
#include "ml/prep/prep_private.h"
#include "ml/prep/step.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t text_hash(const char *s)
{
    uint32_t h = 2166136261u;

    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h ^ h >> 15;
}

/* Level of the table to level of the preparation, through a hash table of the latter. */
int32_t *prep_map_levels(const struct prep_col *c, const struct frame_col *fc)
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

void prep_map_numbers(const struct prep_col *c, struct view_numbers *out)
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

void view_numbers_free(struct view_numbers *m)
{
    mem_free(m->value);
    mem_free(m->level);
    *m = (struct view_numbers){ 0 };
}

static int view_source(struct prep_view *v, int i, struct err *err)
{
    const struct prep_source *s = &v->prep->sources[i];
    int at = v->col[i] = frame_find(v->frame, s->name);

    if (at < 0)
        return err_set(err, ERR_ARG, "column \"%.100s\" is missing", s->name);
    const struct frame_col *fc = &v->frame->cols[at];
    if (fc->type == FRAME_IGNORED)
        return err_set(err, ERR_ARG,
                       "column \"%.100s\" is ignored in this table but the model needs it",
                       s->name);
    if (s->type == FRAME_NUMERIC && fc->type != FRAME_NUMERIC)
        return err_set(err, ERR_ARG, "column \"%.100s\" must hold numbers; found \"%.40s\"",
                       s->name, fc->n_levels ? fc->levels[0] : "");
    if (s->input < 0 || v->prep->cols[s->input].type == FRAME_NUMERIC)
        return 0;
    const struct prep_col *c = &v->prep->cols[s->input];
    if (fc->type == FRAME_NUMERIC) {
        prep_map_numbers(c, &v->numbers[i]);
        return 0;
    }
    v->map[i] = prep_map_levels(c, fc);
    return v->map[i] ? 0
                     : err_set(err, ERR_NOMEM, "no memory for the levels of \"%.100s\"", s->name);
}

static int view_steps(struct prep_view *v, struct err *err)
{
    const struct prep *p = v->prep;

    v->steps = mem_array((size_t)p->n_steps + 1, sizeof *v->steps);
    for (int i = 0; i < p->n_steps; i++)
        v->steps[i] = (struct step_view){ .step = &p->steps[i], .view = v };
    for (int i = 0; i < p->n_steps; i++) {
        if (p->steps[i].ops->open && p->steps[i].ops->open(&v->steps[i], err) < 0)
            return -1;
    }
    return 0;
}

static struct prep_view *view_new(const struct prep *p, const struct frame *f,
                                  struct prep_fold *fold, struct err *err)
{
    struct prep_view *v = mem_zalloc(sizeof(*v));
    int rc = prep_images_check(p, f, err);

    v->prep = p;
    v->frame = f;
    v->fold = fold;
    v->shuffled = -1;
    v->col = mem_array((size_t)p->n_sources, sizeof(*v->col));
    v->map = mem_array((size_t)p->n_sources, sizeof(*v->map));
    v->numbers = mem_array((size_t)p->n_sources, sizeof(*v->numbers));
    for (int i = 0; i < p->n_sources && rc == 0; i++)
        rc = view_source(v, i, err);
    if (rc < 0 || view_steps(v, err) < 0) {
        prep_view_free(v);
        return NULL;
    }
    return v;
}

struct prep_view *prep_view_new(const struct prep *p, const struct frame *f, struct err *err)
{
    return view_new(p, f, NULL, err);
}

struct prep_view *prep_view_fold(const struct prep *p, const struct frame *f,
                                 const struct prep_target *target, const uint8_t *train,
                                 struct err *err)
{
    struct prep_fold *fold = mem_zalloc(sizeof *fold);

    fold->target = target;
    fold->train = mem_try_alloc((size_t)f->rows + 1);
    if (!fold->train) {
        mem_free(fold);
        err_set(err, ERR_NOMEM, "no memory for %lld rows", (long long)f->rows);
        return NULL;
    }
    for (int64_t i = 0; i < f->rows; i++)
        fold->train[i] = !train || train[i] != 0;
    return view_new(p, f, fold, err);
}

void prep_view_free(struct prep_view *v)
{
    if (!v)
        return;
    for (int i = 0; v->steps && i < v->prep->n_steps; i++) {
        if (v->prep->steps[i].ops->close)
            v->prep->steps[i].ops->close(&v->steps[i]);
    }
    for (int i = 0; i < v->prep->n_sources; i++) {
        mem_try_free(v->map[i]);
        view_numbers_free(&v->numbers[i]);
    }
    if (v->fold)
        mem_try_free(v->fold->train);
    mem_free(v->fold);
    mem_try_free(v->shuffled_numbers);
    mem_try_free(v->shuffled_codes);
    mem_free(v->steps);
    mem_free(v->col);
    mem_free(v->map);
    mem_free(v->numbers);
    mem_free(v);
}

/* ---- rows of columns ---- */

static void numbers_as_they_are(const struct prep_view *v, int source, int64_t from, int64_t n,
                                double *out)
{
    if (v->mixed) {
        const int32_t *row = v->mixed + source * v->n_mixed + from;
        for (int64_t i = 0; i < n; i++)
            frame_numbers(v->frame, v->col[source], row[i], 1, &out[i]);
        return;
    }
    if (v->shuffled_numbers && v->shuffled == source)
        memcpy(out, v->shuffled_numbers + from, (size_t)n * sizeof(*out));
    else
        frame_numbers(v->frame, v->col[source], from, n, out);
}

/* gap_reader */
static void read_other(const void *arg, int source, int64_t from, int64_t n, double *out)
{
    const struct prep_view *v = arg;

    numbers_as_they_are(v, source, from, n, out);
    gap_blank(v->prep->sources[source].gap, out, n);
}

void prep_source_numbers(const struct prep_view *v, int source, int64_t from, int64_t n,
                         double *out)
{
    numbers_as_they_are(v, source, from, n, out);
    /* what is shuffled has been closed in its own row */
    if (v->shuffled != source)
        gap_close(v->prep->sources[source].gap, read_other, v, from, n, out);
}

void prep_source_codes(const struct prep_view *v, int source, int64_t from, int64_t n, int32_t *out)
{
    if (v->mixed) {
        const int32_t *row = v->mixed + source * v->n_mixed + from;
        for (int64_t i = 0; i < n; i++)
            frame_codes(v->frame, v->col[source], row[i], 1, &out[i]);
        return;
    }
    if (v->shuffled_codes && v->shuffled == source)
        memcpy(out, v->shuffled_codes + from, (size_t)n * sizeof(*out));
    else
        frame_codes(v->frame, v->col[source], from, n, out);
}

void prep_levels_of_numbers(const struct view_numbers *m, const double *x, int64_t n, int32_t *out)
{
    number_places(m->value, m->n, x, n, out);
    for (int64_t i = 0; i < n; i++) {
        bool is_there = out[i] < m->n && m->value[out[i]] == x[i];
        out[i] = isnan(x[i]) ? PREP_NO_LEVEL : is_there ? m->level[out[i]] : PREP_NEW_LEVEL;
    }
}

void prep_source_levels(const struct prep_view *v, int source, int64_t from, int64_t n,
                        int32_t *out)
{
    const int32_t *map = v->map[source];
    double x[256];

    for (int64_t at = 0; at < n && !map; at += (int64_t)ARRAY_LEN(x)) {
        int64_t some = MIN(n - at, (int64_t)ARRAY_LEN(x));
        numbers_as_they_are(v, source, from + at, some, x);
        prep_levels_of_numbers(&v->numbers[source], x, some, out + at);
    }
    if (!map)
        return;
    prep_source_codes(v, source, from, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = out[i] < 0 ? PREP_NO_LEVEL : map[out[i]] < 0 ? PREP_NEW_LEVEL : map[out[i]];
}

/* ---- rows of inputs ---- */

bool prep_is_hidden(struct prep_hidden h, int64_t row)
{
    return h.share > 0 && (double)(rf_mix(h.key, (uint64_t)row) >> 11) * 0x1p-53 < h.share;
}

void prep_view_numbers(const struct prep_view *v, int input, int64_t from, int64_t n, double *out)
{
    const struct prep_col *c = &v->prep->cols[input];

    if (c->step < 0) {
        prep_source_numbers(v, c->source, from, n, out);
        for (int64_t i = 0; i < n && c->scale == PREP_MAGNITUDE; i++)
            out[i] = prep_magnitude(out[i]);
    } else {
        v->prep->steps[c->step].ops->values(&v->steps[c->step], c->part, from, n, out);
    }
}

void prep_view_levels(const struct prep_view *v, int input, int64_t from, int64_t n, int32_t *out)
{
    struct prep_hidden hidden = v->prep->cols[input].hidden;

    prep_source_levels(v, v->prep->cols[input].source, from, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = MAX(out[i], -1);
    for (int64_t i = 0; i < n && v->fold && hidden.share > 0; i++) {
        if (v->fold->train[from + i] && prep_is_hidden(hidden, from + i))
            out[i] = -1;
    }
}

int prep_view_shuffle(struct prep_view *v, int column, const int32_t *order, struct err *err)
{
    int64_t rows = v->frame->rows;

    mem_try_free(v->shuffled_numbers);
    mem_try_free(v->shuffled_codes);
    v->shuffled_numbers = NULL;
    v->shuffled_codes = NULL;
    v->shuffled = -1;
    if (!order)
        return 0;
    bool is_numeric = v->frame->cols[v->col[column]].type == FRAME_NUMERIC;
    double *x = is_numeric ? mem_try_alloc((size_t)rows * 2 * sizeof(*x)) : NULL;
    int32_t *code = is_numeric ? NULL : mem_try_alloc((size_t)rows * 2 * sizeof(*code));
    if (!x && !code)
        return err_set(err, ERR_NOMEM, "no memory to shuffle %lld rows", (long long)rows);
    /* the second half is the column in its own order */
    if (is_numeric)
        prep_source_numbers(v, column, 0, rows, x + rows);
    else
        prep_source_codes(v, column, 0, rows, code + rows);
    for (int64_t i = 0; i < rows && is_numeric; i++)
        x[i] = x[rows + order[i]];
    for (int64_t i = 0; i < rows && !is_numeric; i++)
        code[i] = code[rows + order[i]];
    v->shuffled = column;
    v->shuffled_numbers = x;
    v->shuffled_codes = code;
    return 0;
}

void prep_view_mix(struct prep_view *v, const int32_t *rows, int64_t n)
{
    CHECK(!v->fold && v->shuffled < 0 && v->prep->image.height == 0);
    v->mixed = rows;
    v->n_mixed = n;
}

/* ---- what steps read ---- */

typedef void number_reader(const struct prep_view *v, int source, int64_t from, int64_t n,
                           double *out);

static void step_read(const struct step_view *v, int source, number_reader *read, int64_t from,
                      int64_t n, double *out)
{
    int at = v->step->source[source];
    bool has_numbers = v->view->frame->cols[v->view->col[at]].type == FRAME_NUMERIC;

    if (has_numbers)
        read(v->view, at, from, n, out);
    for (int64_t i = 0; i < n && !has_numbers; i++)
        out[i] = (double)NAN;
}

void step_numbers(const struct step_view *v, int source, int64_t from, int64_t n, double *out)
{
    step_read(v, source, prep_source_numbers, from, n, out);
}

void step_names(const struct step_view *v, int source, int64_t from, int64_t n, double *out)
{
    step_read(v, source, numbers_as_they_are, from, n, out);
}

void step_codes_of(const struct step_view *v, int source, int64_t from, int64_t n, int32_t *out)
{
    int at = v->step->source[source];
    bool has_levels = v->view->frame->cols[v->view->col[at]].type == FRAME_CATEGORICAL;

    if (has_levels)
        prep_source_codes(v->view, at, from, n, out);
    for (int64_t i = 0; i < n && !has_levels; i++)
        out[i] = -1;
}

int step_texts(const struct step_view *v, int source, const char *const **texts)
{
    const struct frame_col *c = &v->view->frame->cols[v->view->col[v->step->source[source]]];

    *texts = c->levels;
    return c->type == FRAME_CATEGORICAL ? c->n_levels : 0;
}
