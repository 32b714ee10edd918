/* effects_fit.c - see effects_fit.h. */
#include "ml/prep/effects_fit.h"

#include "base/mem.h"
#include "ml/prep/number_places.h"

#include <math.h>
#include <string.h>

/* MOST_ENTRIES: rows times columns of a fit, of all outputs together; of larger tables rows at equal
 * distances are taken. TRY_ENTRIES: the same where fits are compared. A fit of MOST_ENTRIES takes
 * about a tenth of a second, and there is one for each fold. */
enum { MOST_ENTRIES = 2 << 20, TRY_ENTRIES = 1 << 18 };

/* SWEEPS: over all columns, at most. With 3, and 2 where fits are compared, one draw of the access
 * table scored .792 in place of .801 (AUC), because a column of names was not found. */
enum { SWEEPS = 8 };

/* Levels of a table that are kept. */
enum { MOST_KEPT_LEVELS = 1 << 20 };

/* Effects of at most so many levels of all outputs are kept for a trial's next fit to begin with. */
enum { MOST_START = 1 << 20 };

/* ---- rows as levels ---- */

static void reader_read(const struct effects_reader *r, int64_t from, int64_t n, int32_t *out)
{
    const struct effect_col *c = r->col;
    double x[PREP_BLOCK];

    if (c->kind != EFFECT_BINS) {
        level_rows_read(&r->rows, from, n, out);
        return;
    }
    frame_numbers(r->rows.frame, r->rows.col, from, n, x);
    number_places(c->number, c->n_levels - 1, x, n, out);
    for (int64_t i = 0; i < n; i++)
        out[i] = isnan(x[i]) ? c->n_levels : out[i];
}

/* The rows of a fit. */
struct picked {
    struct effect_rows rows;
    int64_t *row;
    int32_t *level;
    double *y;
    float *weight;
    uint8_t *part;
    int32_t first[PREP_SOURCES];
};

static void picked_fini(struct picked *p)
{
    mem_try_free(p->row);
    mem_try_free(p->level);
    mem_try_free(p->y);
    mem_try_free(p->weight);
    mem_try_free(p->part);
}

static bool is_used(const struct effects_in *in, int64_t row)
{
    return !in->use || in->use[row];
}

void effects_levels_keep(const struct effects_in *in, struct effects_state *t)
{
    int64_t rows = in->frame->rows;

    if (rows * t->n_cols > MOST_KEPT_LEVELS)
        return;
    t->level = mem_try_alloc((size_t)(rows * t->n_cols + 1) * sizeof *t->level);
    t->level_frame = in->frame;
    for (int c = 0; c < t->n_cols && t->level; c++) {
        for (int64_t from = 0; from < rows; from += PREP_BLOCK)
            reader_read(&in->readers[c], from, MIN(rows - from, PREP_BLOCK),
                        t->level + c * rows + from);
    }
}

/* The used rows, or of more than fit into `entries` so many at equal distances. */
static void rows_pick(const struct effects_in *in, int64_t used, int64_t most, struct picked *p)
{
    int64_t n = 0, seen = 0;

    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (!is_used(in, i))
            continue;
        if (used <= most || (seen + 1) * most / MAX(used, 1) > seen * most / MAX(used, 1))
            p->row[n++] = i;
        seen++;
    }
    p->rows.n = n;
}

/* The levels of the picked rows in one column. */
static void column_read(const struct effects_in *in, int col, struct picked *p)
{
    const int32_t *known = in->state->level && in->state->level_frame == in->frame
                               ? in->state->level + col * in->frame->rows
                               : NULL;
    int32_t level[PREP_BLOCK], *out = p->level + col * p->rows.n;
    int64_t at = 0;

    for (; known && at < p->rows.n; at++)
        out[at] = known[p->row[at]];
    for (int64_t from = 0; from < in->frame->rows && at < p->rows.n; from += PREP_BLOCK) {
        int64_t n = MIN(in->frame->rows - from, PREP_BLOCK);
        if (p->row[at] >= from + n)
            continue;
        reader_read(&in->readers[col], from, n, level);
        for (; at < p->rows.n && p->row[at] < from + n; at++)
            out[at] = level[p->row[at] - from];
    }
}

/* Where the levels of each column are in the list of all. */
static void layout_take(const struct effects_state *t, struct picked *p)
{
    for (int c = 0; c < t->n_cols; c++)
        p->first[c] = t->col[c].first;
    p->rows.levels = t->levels;
}

static int rows_make(const struct effects_in *in, int64_t entries, struct picked *p,
                     struct err *err)
{
    const struct effects_state *t = in->state;
    int64_t used = 0, most = MAX(entries / t->n_cols / t->target->n_means, 1);

    *p = (struct picked){ 0 };
    for (int64_t i = 0; i < in->frame->rows; i++)
        used += is_used(in, i);
    size_t n = (size_t)MIN(used, most) + 1;
    p->row = mem_try_alloc(n * sizeof *p->row);
    p->level = mem_try_alloc(n * (size_t)t->n_cols * sizeof *p->level);
    p->y = mem_try_alloc(n * sizeof *p->y);
    p->weight = mem_try_alloc(n * sizeof *p->weight);
    p->part = mem_try_alloc(n * sizeof *p->part);
    if (!p->row || !p->level || !p->y || !p->weight || !p->part) {
        picked_fini(p);
        *p = (struct picked){ 0 };
        return err_set(err, ERR_NOMEM, "no memory for the levels of %zu rows", n);
    }
    p->rows = (struct effect_rows){ .cols = t->n_cols,
                                    .level = p->level,
                                    .first = p->first,
                                    .y = p->y,
                                    .weight = p->weight,
                                    .part = p->part };
    layout_take(t, p);
    rows_pick(in, used, most, p);
    for (int c = 0; c < t->n_cols; c++)
        column_read(in, c, p);
    for (int64_t i = 0; i < p->rows.n; i++) {
        p->weight[i] = in->target->weight ? (float)in->target->weight[p->row[i]] : 1;
        p->part[i] = in->target->part[p->row[i]];
    }
    return 0;
}

/* The targets of one output. False = they do not differ. */
static bool targets_take(const struct effects_in *in, int output, bool is_regression,
                         struct picked *p)
{
    const struct level_state *t = in->state->target;
    const double *y = in->target->y;
    int64_t ones = 0;

    p->rows.is_logistic = !is_regression;
    for (int64_t i = 0; i < p->rows.n && is_regression; i++)
        p->y[i] = y[p->row[i]];
    if (is_regression)
        return true;
    for (int64_t i = 0; i < p->rows.n; i++) {
        bool is_one = y[p->row[i]] == (t->classes ? t->classes[output] : 1);
        p->y[i] = is_one;
        ones += is_one;
    }
    return ones > 0 && ones < p->rows.n;
}

/* Whether the target is a number: not a class, and not 0s and 1s alone. */
static bool is_number(const struct effects_in *in)
{
    if (in->state->target->classes)
        return false;
    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (is_used(in, i) && in->target->y[i] != 0 && in->target->y[i] != 1)
            return true;
    }
    return false;
}

/* ---- all rows ---- */

/* Takes the columns that are shown out of the effects of all. */
static void shown_take(const struct effects_state *t, int output, const float *effect, float *out)
{
    for (int s = 0; s < t->n_shown; s++) {
        const struct effect_col *c = &t->col[t->shown[s]];
        float *to = out + (output * t->shown_levels + c->shown_at) * EFFECT_FITS;
        for (int64_t l = 0; l < c->n_levels + 2; l++) {
            for (int k = 0; k < EFFECT_FITS; k++)
                to[l * EFFECT_FITS + k] = effect[(c->first + l) * EFFECT_WIDE + k];
        }
    }
}

float *effects_fits(const struct effects_in *in, struct err *err)
{
    const struct effects_state *t = in->state;
    size_t all = (size_t)(t->target->n_means * t->shown_levels) * EFFECT_FITS;
    float *out = mem_try_zalloc((all + 1) * sizeof *out);
    struct picked p = { 0 };
    bool is_regression = is_number(in);
    int rc = out ? rows_make(in, MOST_ENTRIES, &p, err)
                 : err_set(err, ERR_NOMEM, "no memory for the effects of %lld levels",
                           (long long)t->levels);

    for (int o = 0; o < t->target->n_means && rc == 0; o++) {
        if (!targets_take(in, o, is_regression, &p))
            continue;
        struct level_effects *k = level_effects_new(&p.rows, NULL, err);
        if (k) {
            level_effects_run(k, t->penalty, SWEEPS, EFFECT_STILL);
            shown_take(t, o, level_effects_all(k), out);
        }
        rc = k ? 0 : -1;
        level_effects_free(k);
    }
    picked_fini(&p);
    if (rc < 0) {
        mem_try_free(out);
        out = NULL;
    }
    return out;
}

/* ---- some rows, to compare ---- */

/* [outputs][levels][EFFECT_WIDE] effects of fits; NULL = not kept. */
struct start {
    float *effect;
    int64_t levels;
    /* where the levels of a column are */
    int32_t first[PREP_SOURCES];
};

struct effects_trial {
    struct effects_in in;
    struct picked p;
    bool is_regression;
    /* what the next fits begin with, and what they end with */
    struct start start, end;
};

struct effects_trial *effects_trial_new(const struct effects_in *in, struct err *err)
{
    struct effects_trial *t = mem_zalloc(sizeof *t);

    t->in = *in;
    t->is_regression = is_number(in);
    if (rows_make(in, TRY_ENTRIES, &t->p, err) < 0) {
        effects_trial_free(t);
        return NULL;
    }
    return t;
}

void effects_trial_free(struct effects_trial *t)
{
    if (!t)
        return;
    picked_fini(&t->p);
    mem_try_free(t->start.effect);
    mem_try_free(t->end.effect);
    mem_free(t);
}

int64_t effects_trial_rows(const struct effects_trial *t)
{
    return t->p.rows.n;
}

/* Room for the effects of the fits that are made now. Without it the next begin with 0. */
static void end_room(struct effects_trial *t)
{
    int64_t levels = t->in.state->levels, all = levels * t->in.state->target->n_means;
    size_t n = (size_t)(all + 1) * EFFECT_WIDE;

    mem_try_free(t->end.effect);
    t->end.effect = all <= MOST_START ? mem_try_zalloc(n * sizeof *t->end.effect) : NULL;
    t->end.levels = levels;
    memcpy(t->end.first, t->p.first, sizeof t->end.first);
}

static void end_take(struct effects_trial *t, int output, const struct level_effects *k)
{
    int64_t n = t->end.levels * EFFECT_WIDE;

    if (t->end.effect)
        memcpy(t->end.effect + output * n, level_effects_all(k), (size_t)n * sizeof *t->end.effect);
}

void effects_trial_keep(struct effects_trial *t)
{
    mem_try_free(t->start.effect);
    t->start = t->end;
    t->end.effect = NULL;
}

void effects_trial_back(struct effects_trial *t, int col)
{
    layout_take(t->in.state, &t->p);
    column_read(&t->in, col, &t->p);
}

int effects_trial_penalties(struct effects_trial *t, const double *penalty, int n, double *gain,
                            struct err *err)
{
    int outputs = t->in.state->target->n_means;

    memset(gain, 0, (size_t)n * sizeof *gain);
    end_room(t);
    for (int o = 0; o < outputs; o++) {
        if (!targets_take(&t->in, o, t->is_regression, &t->p))
            continue;
        struct level_effects *k = level_effects_new(&t->p.rows, NULL, err);
        bool is_better = k != NULL;
        for (int i = 0; i < n && is_better; i++) {
            level_effects_run(k, penalty[i], SWEEPS, EFFECT_STILL);
            double own = level_effects_gain(k);
            gain[i] += own;
            is_better = outputs > 1 || i == 0 || own > gain[i - 1];
            if (is_better)
                end_take(t, o, k);
        }
        level_effects_free(k);
        if (!k)
            return -1;
    }
    effects_trial_keep(t);
    return 0;
}

/* What the fits of an output begin with, in the layout of now: the column's own effects are 0. */
static float *start_of(const struct effects_trial *t, int output, int col)
{
    const struct effects_state *s = t->in.state;
    const float *from = t->start.effect + output * t->start.levels * EFFECT_WIDE;
    float *out = mem_try_zalloc((size_t)(s->levels + 1) * EFFECT_WIDE * sizeof *out);

    for (int c = 0; c < s->n_cols && out; c++) {
        size_t n = (size_t)(s->col[c].n_levels + 2) * EFFECT_WIDE;
        if (c != col)
            memcpy(out + (int64_t)s->col[c].first * EFFECT_WIDE,
                   from + (int64_t)t->start.first[c] * EFFECT_WIDE, n * sizeof *out);
    }
    return out;
}

int effects_trial_column(struct effects_trial *t, int col, double *gain, struct err *err)
{
    const struct effects_state *s = t->in.state;

    *gain = 0;
    layout_take(s, &t->p);
    if (col >= 0)
        column_read(&t->in, col, &t->p);
    end_room(t);
    for (int o = 0; o < s->target->n_means; o++) {
        if (!targets_take(&t->in, o, t->is_regression, &t->p))
            continue;
        float *start = t->start.effect ? start_of(t, o, col) : NULL;
        struct level_effects *k = level_effects_new(&t->p.rows, start, err);
        mem_try_free(start);
        if (!k)
            return -1;
        level_effects_run(k, s->penalty, SWEEPS, EFFECT_EXACT);
        *gain += level_effects_gain(k);
        end_take(t, o, k);
        level_effects_free(k);
    }
    return 0;
}
