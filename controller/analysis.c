/* analysis.c - the columns, the slices they are read in, the jobs on the pool, and the fronts, which are kept as trials come
 * in: a list of candidates that is thinned to its front whenever it is full, so that a question costs little at any
 * length. A job works on copies and is known by the analysis's serial: what comes back for one that is gone is dropped. */
#include "controller/analysis.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/trial_act.h"
#include "search/fanova.h"
#include "search/pareto.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { SLICE = 64, FRONT_ROOM = 512, PAIRS = 3 };

const char *const analysis_method_name[ANALYSIS_METHODS] = { "ped_anova", "fanova" };
const char *const analysis_fact_name[ANALYSIS_FACTS] = { "score", "fit_us", "predict_ns_row",
                                                         "model_bytes" };

struct estimate {
    bool is_running;
    int gathered; /* trials there were when it was made */
    int trials;
    double *values;
};

struct candidates {
    int32_t *numbers;
    int n, cap;
};

struct analysis {
    struct study *st;
    int64_t serial;
    struct loop_timer *timer; /* goes on reading; NULL = nothing to go on with */
    int gathered;             /* completed trials that are in */
    int n, cap;               /* rows: trial number - 1 */
    float *units;        /* n x space->n; NaN where inactive, and of trials outside the space */
    double *gains;       /* NaN = not in, or outside the space */
    int64_t *predict_ns; /* -1 = unknown */
    bool *is_in;
    struct estimate estimates[ANALYSIS_METHODS];
    struct candidates fronts[PAIRS]; /* of the facts that all trials have */
    int compared[PAIRS];
    double lo[ANALYSIS_FACTS], hi[ANALYSIS_FACTS]; /* of what was gathered, as `goodness` */
};

static const struct {
    enum analysis_fact a, b;
} pairs[PAIRS] = { { ANALYSIS_SCORE, ANALYSIS_FIT_TIME },
                   { ANALYSIS_SCORE, ANALYSIS_PREDICT_TIME },
                   { ANALYSIS_FIT_TIME, ANALYSIS_PREDICT_TIME } };

static int width(const struct analysis *a)
{
    return a->st->space.space->n;
}

static struct analysis *analysis_of(struct study *st)
{
    if (!st->analysis) {
        struct analysis *a = mem_zalloc(sizeof *a);

        a->st = st;
        a->serial = ++st->ctl->analysis_no;
        for (int f = 0; f < ANALYSIS_FACTS; f++) {
            a->lo[f] = INFINITY;
            a->hi[f] = -INFINITY;
        }
        st->analysis = a;
    }
    return st->analysis;
}

void analysis_free(struct analysis *a)
{
    if (!a)
        return;
    loop_timer_free(a->timer);
    for (int m = 0; m < ANALYSIS_METHODS; m++)
        mem_free(a->estimates[m].values);
    for (int p = 0; p < PAIRS; p++)
        mem_free(a->fronts[p].numbers);
    mem_free(a->units);
    mem_free(a->gains);
    mem_free(a->predict_ns);
    mem_free(a->is_in);
    mem_free(a);
}

/* ---- fronts ---- */

/* Larger is better; NaN = unknown. Times and sizes by their logarithm, which changes no front. */
static double goodness(double value, enum analysis_fact fact)
{
    if (fact == ANALYSIS_SCORE)
        return value;
    return value > 0 ? -log(value) : NAN;
}

static double fact_of(const struct analysis *a, int64_t number, enum analysis_fact fact)
{
    const struct trial_mem *t = &a->st->trials[number - 1];

    switch (fact) {
    case ANALYSIS_SCORE:
        return study_gain(a->st, t->score);
    case ANALYSIS_FIT_TIME:
        return goodness((double)t->fit_us, fact);
    case ANALYSIS_PREDICT_TIME:
        return goodness((double)a->predict_ns[number - 1], fact);
    default:
        return NAN;
    }
}

/* Leaves the front of x and y, best x first. */
static void thin(const struct analysis *a, struct candidates *c, enum analysis_fact x,
                 enum analysis_fact y)
{
    double *values = mem_array(2 * (size_t)c->n + 1, sizeof *values);
    int *rows = mem_array((size_t)c->n + 1, sizeof *rows), n = 0;
    int32_t *kept = mem_array((size_t)c->cap + 1, sizeof *kept);

    for (int i = 0; i < c->n; i++) {
        values[2 * i] = fact_of(a, c->numbers[i], x);
        values[2 * i + 1] = fact_of(a, c->numbers[i], y);
    }
    n = pareto_front(values, c->n, 2, rows);
    for (int i = 0; i < n; i++)
        kept[i] = c->numbers[rows[i]];
    mem_free(c->numbers);
    c->numbers = kept;
    c->n = n;
    mem_free(rows);
    mem_free(values);
}

static void front_add(struct analysis *a, int pair, int64_t number)
{
    struct candidates *c = &a->fronts[pair];

    if (isnan(fact_of(a, number, pairs[pair].a)) || isnan(fact_of(a, number, pairs[pair].b)))
        return;
    a->compared[pair]++;
    if (c->n == c->cap) {
        if (c->n > 0)
            thin(a, c, pairs[pair].a, pairs[pair].b);
        c->cap = MAX(FRONT_ROOM, 2 * c->n);
        c->numbers = mem_resize(c->numbers, (size_t)c->cap * sizeof *c->numbers);
    }
    c->numbers[c->n++] = (int32_t)number;
}

/* ---- reading ---- */

static void room(struct analysis *a, int n)
{
    int old = a->cap;

    if (n > a->cap) {
        a->cap = MAX(n, 2 * a->cap);
        size_t cap = (size_t)a->cap, d = (size_t)width(a);
        a->units = mem_resize(a->units, (cap * d + 1) * sizeof *a->units);
        a->gains = mem_resize(a->gains, cap * sizeof *a->gains);
        a->predict_ns = mem_resize(a->predict_ns, cap * sizeof *a->predict_ns);
        a->is_in = mem_resize(a->is_in, cap * sizeof *a->is_in);
        memset(a->is_in + old, 0, (cap - (size_t)old) * sizeof *a->is_in);
        for (size_t i = (size_t)old * d; i <= cap * d; i++)
            a->units[i] = NAN;
        for (int i = old; i < a->cap; i++)
            a->gains[i] = NAN;
    }
    a->n = MAX(a->n, n);
}

/* Its place in the unit cube; what lies outside the space stays without a gain. */
static void take_config(struct analysis *a, const struct trial_row *row)
{
    size_t d = (size_t)width(a), at = (size_t)row->number - 1;
    double *point = mem_array(2 * d + 1, sizeof *point), *unit = point + d;
    struct err outside = { 0 };
    struct config c;

    if (config_parse_text(&c, row->config, &outside) == 0 &&
        config_to_point(&c, a->st->space.space, point, &outside) == 0) {
        space_to_unit(a->st->space.space, point, unit);
        for (size_t j = 0; j < d; j++)
            a->units[at * d + j] = (float)unit[j];
        a->gains[at] = study_gain(a->st, row->score);
    }
    mem_free(point);
}

static int take(struct analysis *a, int64_t number, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(a->st, number, &row, err);

    if (rc == 0) {
        json_t *info = trial_info(&row), *ns = json_object_get(info, "predict_ns_row");

        a->predict_ns[number - 1] = json_is_integer(ns) ? json_integer_value(ns) : -1;
        json_decref(info);
        take_config(a, &row);
        a->is_in[number - 1] = true;
        a->gathered++;
        for (int f = 0; f < ANALYSIS_MODEL_BYTES; f++) {
            a->lo[f] = fmin(a->lo[f], fact_of(a, number, f));
            a->hi[f] = fmax(a->hi[f], fact_of(a, number, f));
        }
        for (int p = 0; p < PAIRS; p++)
            front_add(a, p, number);
    }
    trial_row_fini(&row);
    return rc;
}

static void on_slice(void *arg);

/* Reads some trials more, and sees to it that the rest follows: 0 = all are in, 1 = not yet, -1. */
static int gather(struct analysis *a, struct err *err)
{
    const struct study *st = a->st;
    struct loop *loop = st->ctl->loop;
    int left = loop ? SLICE : st->n_board;

    room(a, st->n_trials);
    for (int i = 0; i < st->n_board && left > 0 && a->gathered < st->n_board; i++) {
        if (a->is_in[st->board[i] - 1])
            continue;
        if (take(a, st->board[i], err) < 0)
            return -1;
        left--;
    }
    if (a->gathered >= st->n_board)
        return 0;
    if (!a->timer)
        a->timer = loop_timer_new(loop, 1, 0, on_slice, a);
    else
        loop_timer_again(a->timer, 1);
    return 1;
}

/* ---- estimates ---- */

struct job {
    struct ctl *ctl;
    int64_t study, serial;
    enum analysis_method method;
    uint64_t seed;
    int gathered, trials;
    struct space *space;
    struct importance_data data; /* its own */
    float *units;
    double *gains, *values;
};

static struct space *space_copy(const struct space *s)
{
    struct space *copy = space_new();

    for (int i = 0; i < s->n; i++)
        CHECK(space_add(copy, &s->params[i], NULL) == i);
    return copy;
}

static void job_work(void *arg)
{
    struct job *j = arg;

    j->trials = j->method == ANALYSIS_FANOVA ? fanova_main_effects(&j->data, j->seed, j->values)
                                             : importance_ped_anova(&j->data, j->values);
}

static void job_done(void *arg)
{
    struct job *j = arg;
    struct study *st = study_loaded(j->ctl, j->study);

    if (st && st->analysis && st->analysis->serial == j->serial) {
        struct estimate *e = &st->analysis->estimates[j->method];

        mem_free(e->values);
        *e = (struct estimate){ false, j->gathered, j->trials, j->values };
        j->values = NULL;
        log_debug("study.importance study=%" PRId64 " method=%s trials=%d", j->study,
                  analysis_method_name[j->method], j->trials);
    }
    space_free(j->space);
    mem_free(j->units);
    mem_free(j->gains);
    mem_free(j->values);
    mem_free(j);
}

static void begin(struct analysis *a, enum analysis_method method)
{
    struct job *j = mem_zalloc(sizeof *j);
    size_t n = (size_t)a->n, d = (size_t)width(a);

    a->estimates[method].is_running = true;
    *j = (struct job){ .ctl = a->st->ctl,
                       .study = a->st->row.id,
                       .serial = a->serial,
                       .method = method,
                       .seed = (uint64_t)a->st->row.seed,
                       .gathered = a->gathered };
    j->space = space_copy(a->st->space.space);
    j->units = n > 0 ? mem_dup(a->units, (n * d + 1) * sizeof *j->units) : NULL;
    j->gains = n > 0 ? mem_dup(a->gains, n * sizeof *j->gains) : NULL;
    j->values = mem_array(d + 1, sizeof *j->values);
    j->data = (struct importance_data){ j->space, a->n, j->units, j->gains };
    if (j->ctl->loop) {
        loop_pool_submit(j->ctl->loop, job_work, job_done, j);
    } else {
        job_work(j);
        job_done(j);
    }
}

/* PED-ANOVA follows each trial. A forest takes seconds: while the study runs, a tenth more trials are worth a new one. */
static bool is_fresh(const struct analysis *a, enum analysis_method method)
{
    const struct estimate *e = &a->estimates[method];

    if (!e->values)
        return false;
    if (method == ANALYSIS_FANOVA && !study_is_final(a->st->row.state))
        return a->st->n_board - e->gathered <= e->gathered / 10;
    return a->st->n_board == e->gathered;
}

int analysis_importance(struct study *st, enum analysis_method method,
                        struct analysis_importance *out, struct err *err)
{
    *out = (struct analysis_importance){ 0 };
    if (!st->space.space)
        return 0;
    struct analysis *a = analysis_of(st);
    int rc = gather(a, err);
    if (rc < 0)
        return -1;
    struct estimate *e = &a->estimates[method];
    if (rc == 0 && !e->is_running && !is_fresh(a, method))
        begin(a, method);
    *out = (struct analysis_importance){ is_fresh(a, method), e->trials, e->values };
    return 0;
}

static void on_slice(void *arg)
{
    struct analysis *a = arg;
    struct err err = { 0 };
    int rc = gather(a, &err);

    if (rc < 0)
        log_error("study.analysis study=%" PRId64 " err=\"%s\"", a->st->row.id, err.text);
}

/* ---- questions about fronts ---- */

static double volume_of(const double *values, int n, const double lo[2], const double hi[2])
{
    double whole = (hi[0] - lo[0]) * (hi[1] - lo[1]);

    return whole > 0 && isfinite(whole) ? pareto_hypervolume(values, n, 2, lo) / whole : NAN;
}

static void front_of_pair(struct analysis *a, int pair, enum analysis_fact x, enum analysis_fact y,
                          struct analysis_front *out)
{
    struct candidates *c = &a->fronts[pair];
    double *values = NULL;

    thin(a, c, x, y);
    out->compared = a->compared[pair];
    out->n = c->n;
    out->numbers = mem_array((size_t)c->n + 1, sizeof *out->numbers);
    values = mem_array(2 * (size_t)c->n + 1, sizeof *values);
    for (int i = 0; i < c->n; i++) {
        out->numbers[i] = c->numbers[i];
        values[2 * i] = fact_of(a, c->numbers[i], x);
        values[2 * i + 1] = fact_of(a, c->numbers[i], y);
    }
    out->volume =
        volume_of(values, c->n, (double[]){ a->lo[x], a->lo[y] }, (double[]){ a->hi[x], a->hi[y] });
    mem_free(values);
}

static int bytes_of(struct study *st, int64_t number, double *out, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(st, number, &row, err);

    if (rc == 0) {
        json_t *info = trial_info(&row);

        *out =
            goodness(json_number_value(json_object_get(info, "model_bytes")), ANALYSIS_MODEL_BYTES);
        json_decref(info);
    }
    trial_row_fini(&row);
    return rc;
}

/* With the size of models: a few are kept, so they are read when asked for. */
static int front_of_kept(struct analysis *a, enum analysis_fact x, enum analysis_fact y,
                         struct analysis_front *out, struct err *err)
{
    struct study *st = a->st;
    int n = st->n_kept, rc = 0;
    double *values = mem_array(2 * (size_t)n + 1, sizeof *values), *front = NULL;
    double lo[2] = { INFINITY, INFINITY }, hi[2] = { -INFINITY, -INFINITY };
    int *rows = mem_array((size_t)n + 1, sizeof *rows);

    for (int i = 0; i < n && rc == 0; i++) {
        int64_t number = st->kept[i];
        double bytes = NAN, *v = values + 2 * (size_t)i;

        rc = bytes_of(st, number, &bytes, err);
        v[0] = x == ANALYSIS_MODEL_BYTES ? bytes : fact_of(a, number, x);
        v[1] = y == ANALYSIS_MODEL_BYTES ? bytes : fact_of(a, number, y);
        bool has_both = !isnan(v[0]) && !isnan(v[1]);
        out->compared += has_both;
        for (int k = 0; k < 2 && has_both; k++) {
            lo[k] = fmin(lo[k], v[k]);
            hi[k] = fmax(hi[k], v[k]);
        }
    }
    if (rc == 0) {
        out->n = pareto_front(values, n, 2, rows);
        out->numbers = mem_array((size_t)out->n + 1, sizeof *out->numbers);
        front = mem_array(2 * (size_t)out->n + 1, sizeof *front);
        for (int i = 0; i < out->n; i++) {
            out->numbers[i] = st->kept[rows[i]];
            memcpy(front + 2 * (size_t)i, values + 2 * (size_t)rows[i], 2 * sizeof *front);
        }
        out->volume = volume_of(front, out->n, lo, hi);
    }
    mem_free(front);
    mem_free(values);
    mem_free(rows);
    return rc;
}

int analysis_front(struct study *st, enum analysis_fact x, enum analysis_fact y,
                   struct analysis_front *out, struct err *err)
{
    CHECK(x != y);
    *out = (struct analysis_front){ .is_current = true, .volume = NAN };
    if (!st->space.space)
        return 0;
    struct analysis *a = analysis_of(st);
    int rc = gather(a, err);
    if (rc < 0)
        return -1;
    out->is_current = rc == 0;
    for (int p = 0; p < PAIRS; p++) {
        bool is_it = (pairs[p].a == x && pairs[p].b == y) || (pairs[p].a == y && pairs[p].b == x);
        if (is_it) {
            front_of_pair(a, p, x, y, out);
            return 0;
        }
    }
    return front_of_kept(a, x, y, out, err);
}
