/* analysis.c - importance and fronts (analysis.h).
 *
 * For importance, each trial's configuration is read once and kept as a point of the unit cube, in
 * an array with one row for each trial. Rows are read SLICE at a time, from a timer, until all
 * completed trials are in. An estimate is a job on the pool. It works on copies, and it carries the
 * serial number of the analysis that asked for it: if that analysis is gone when the job is done,
 * because the study was reloaded, the result is thrown away.
 *
 * Fronts need no rows, only the records in memory. For each pair of facts there is a list of
 * candidates. It is thinned to its front whenever it is full, so a study of any length costs the
 * same memory and a question costs little. */
#include "controller/view/analysis.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "controller/state/objective.h"
#include "controller/state/trial.h"
#include "search/insight/fanova.h"
#include "search/insight/pareto.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
    SLICE = 64,                                  /* rows that are read at a time: 1 or 2 ms */
    FRONT_SLICE = 1000,                          /* trials that the fronts take in at a time */
    FRONT_ROOM = 512,                            /* candidates of a front before it is thinned */
    FRONTS = OBJ_KINDS * (OBJ_KINDS - 1) / 2 + 1 /* all pairs, and the study's own objectives */
};

const char *const analysis_method_name[ANALYSIS_METHODS] = { "ped_anova", "fanova" };
const char *const analysis_fact_name[OBJ_KINDS] = { "score",       "fit_us",  "predict_ns_row",
                                                    "model_bytes", "value_2", "value_3",
                                                    "value_4" };

struct estimate {
    bool is_running; /* a job on the pool makes a newer one */
    int gathered;    /* completed trials that were read when it was begun */
    int trials;      /* those of them that it uses */
    double *values;  /* owned; NULL = none yet */
};

/* Trials that may be on the front of these facts. Whatever is not in the list is dominated by one
 * in it. */
struct candidates {
    enum spec_objective facts[SPEC_MAX_OBJECTIVES];
    int n_facts;
    int32_t *numbers; /* owned */
    int n, cap;
    int compared; /* trials with all facts that were offered to the list so far */
};

struct analysis {
    struct study *st;
    int64_t serial;
    struct loop_timer *timer; /* goes on with reading; NULL = there never was need for it */

    /* The trials' points, by number - 1. */
    bool is_reading; /* an estimate waits for rows that were not read yet */
    int gathered;    /* completed trials that were read */
    int n, cap;      /* rows of the arrays below */
    /* n x space->n; NaN = inactive parameter, or a trial outside the space; owned */
    float *units;
    double *gains; /* NaN = not read, or outside the space; owned */
    bool *is_in;   /* the trial was read; owned */
    struct estimate estimates[ANALYSIS_METHODS];

    struct candidates fronts[FRONTS];
    int n_fronts;      /* all pairs of facts, and the study's objectives if it has more than two */
    int n_compared;    /* trials that were offered to the fronts */
    bool *is_compared; /* by number - 1; owned */
    int cap_compared;
    double lo[OBJ_KINDS], hi[OBJ_KINDS]; /* the worst and the best worth among them */
};

/* The number of parameters: the length of a row of `units`. */
static int width(const struct analysis *a)
{
    return a->st->space.space->n;
}

bool analysis_has_fact(const struct study *st, enum spec_objective fact)
{
    return fact < OBJ_VALUE_2 ||
           (st->spec.is_own && (int)fact - OBJ_VALUE_2 + 1 < st->spec.n_objectives);
}

static void fronts_init(struct analysis *a)
{
    const struct spec *spec = &a->st->spec;

    for (int x = 0; x < OBJ_KINDS; x++) {
        a->lo[x] = INFINITY;
        a->hi[x] = -INFINITY;
        for (int y = x + 1; y < OBJ_KINDS; y++) {
            if (!analysis_has_fact(a->st, (enum spec_objective)y))
                continue;
            a->fronts[a->n_fronts++] =
                (struct candidates){ .facts = { (enum spec_objective)x, (enum spec_objective)y },
                                     .n_facts = 2 };
        }
    }
    if (spec->n_objectives <= 2)
        return;
    struct candidates *own = &a->fronts[a->n_fronts++];
    own->n_facts = spec->n_objectives;
    memcpy(own->facts, spec->objectives, sizeof own->facts);
}

static struct analysis *analysis_of(struct study *st)
{
    if (!st->analysis) {
        struct analysis *a = mem_zalloc(sizeof *a);

        a->st = st;
        a->serial = ++st->ctl->analysis_no;
        fronts_init(a);
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
    for (int p = 0; p < a->n_fronts; p++)
        mem_free(a->fronts[p].numbers);
    mem_free(a->is_compared);
    mem_free(a->units);
    mem_free(a->gains);
    mem_free(a->is_in);
    mem_free(a);
}

/* ---- fronts ---- */

static void worths(const struct analysis *a, const struct candidates *c, int64_t number,
                   double *out)
{
    for (int f = 0; f < c->n_facts; f++)
        out[f] = objective_worth(a->st, &a->st->trials[number - 1], c->facts[f]);
}

/* Reduces the candidates to their front, best by the first fact first. */
static void thin(const struct analysis *a, struct candidates *c)
{
    int m = c->n_facts, n = 0, *rows = mem_array((size_t)c->n + 1, sizeof *rows);
    double *values = mem_array((size_t)c->n * (size_t)m + 1, sizeof *values);
    int32_t *kept = mem_array((size_t)c->cap + 1, sizeof *kept);

    for (int i = 0; i < c->n; i++)
        worths(a, c, c->numbers[i], values + (size_t)i * (size_t)m);
    n = pareto_front(values, c->n, m, rows);
    for (int i = 0; i < n; i++)
        kept[i] = c->numbers[rows[i]];
    mem_free(c->numbers);
    c->numbers = kept;
    c->n = n;
    mem_free(rows);
    mem_free(values);
}

/* A trial that lacks one of the facts is not compared. */
static void front_add(const struct analysis *a, struct candidates *c, int64_t number)
{
    double values[SPEC_MAX_OBJECTIVES];

    worths(a, c, number, values);
    for (int f = 0; f < c->n_facts; f++) {
        if (isnan(values[f]))
            return;
    }
    c->compared++;
    if (c->n == c->cap) {
        if (c->n > 0)
            thin(a, c);
        c->cap = MAX(FRONT_ROOM, 2 * c->n);
        c->numbers = mem_resize(c->numbers, (size_t)c->cap * sizeof *c->numbers);
    }
    c->numbers[c->n++] = (int32_t)number;
}

static void compare_one(struct analysis *a, int64_t number)
{
    for (int f = 0; f < OBJ_KINDS; f++) {
        double v = objective_worth(a->st, &a->st->trials[number - 1], (enum spec_objective)f);

        a->lo[f] = fmin(a->lo[f], v);
        a->hi[f] = fmax(a->hi[f], v);
    }
    for (int p = 0; p < a->n_fronts; p++)
        front_add(a, &a->fronts[p], number);
    a->is_compared[number - 1] = true;
    a->n_compared++;
}

static void on_slice(void *arg);

static void go_on_soon(struct analysis *a)
{
    if (!a->timer)
        a->timer = loop_timer_new(a->st->ctl->loop, 1, 0, on_slice, a);
    else
        loop_timer_again(a->timer, 1);
}

/* Offers trials that have ended since to the fronts, FRONT_SLICE at a time: true = all were
 * offered. */
static bool fronts_follow(struct analysis *a)
{
    const struct study *st = a->st;
    int left = st->ctl->loop ? FRONT_SLICE : st->n_board;

    if (st->n_trials > a->cap_compared) {
        int cap = MAX(st->n_trials, 2 * a->cap_compared);

        a->is_compared = mem_resize(a->is_compared, (size_t)cap * sizeof *a->is_compared);
        memset(a->is_compared + a->cap_compared, 0, (size_t)(cap - a->cap_compared));
        a->cap_compared = cap;
    }
    for (int i = 0; i < st->n_board && left > 0 && a->n_compared < st->n_board; i++) {
        if (a->is_compared[st->board[i] - 1])
            continue;
        compare_one(a, st->board[i]);
        left--;
    }
    if (a->n_compared < st->n_board)
        go_on_soon(a);
    return a->n_compared >= st->n_board;
}

/* ---- reading ---- */

/* Makes room for n rows; new ones are empty. */
static void room(struct analysis *a, int n)
{
    CHECK(n >= a->n); /* trials are never taken away */
    int old = a->cap;

    if (n > a->cap) {
        a->cap = MAX(n, 2 * a->cap);
        size_t cap = (size_t)a->cap, d = (size_t)width(a);
        a->units = mem_resize(a->units, (cap * d + 1) * sizeof *a->units);
        a->gains = mem_resize(a->gains, cap * sizeof *a->gains);
        a->is_in = mem_resize(a->is_in, cap * sizeof *a->is_in);
        memset(a->is_in + old, 0, (cap - (size_t)old) * sizeof *a->is_in);
        for (size_t i = (size_t)old * d; i <= cap * d; i++)
            a->units[i] = NAN;
        for (int i = old; i < a->cap; i++)
            a->gains[i] = NAN;
    }
    a->n = MAX(a->n, n);
}

/* Keeps the trial's point in the unit cube. A trial outside the space keeps a gain of NaN and is
 * not used. */
static void take_config(struct analysis *a, const struct trial_row *row)
{
    size_t d = (size_t)width(a), at = (size_t)row->number - 1;
    double *point = mem_array(2 * d + 1, sizeof *point), *unit = point + d;
    struct err outside = { 0 };
    struct config c;

    if (config_parse_text(&c, row->config, a->st->space.own, &outside) == 0 &&
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
        take_config(a, &row);
        a->is_in[number - 1] = true;
        a->gathered++;
    }
    trial_row_fini(&row);
    return rc;
}

/* Reads some more trials, and asks for a further call if that was not all: 0 = all were read, 1 =
 * not yet, -1. */
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
    a->is_reading = false;
    if (a->gathered >= st->n_board)
        return 0;
    a->is_reading = true;
    go_on_soon(a);
    return 1;
}

/* ---- estimates ---- */

/* One estimate on the pool, with copies of everything that it reads. */
struct job {
    struct ctl *ctl;
    int64_t study, serial;
    enum analysis_method method;
    uint64_t seed;
    int gathered, trials;
    struct space *space;
    struct importance_data data; /* points to the copies below */
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

static void job_free(void *arg)
{
    struct job *j = arg;

    space_free(j->space);
    mem_free(j->units);
    mem_free(j->gains);
    mem_free(j->values);
    mem_free(j);
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
    job_free(j);
}

static void begin(struct analysis *a, enum analysis_method method)
{
    struct job *j = mem_zalloc(sizeof *j);
    size_t n = (size_t)a->n, d = (size_t)width(a);

    CHECK(!a->estimates[method].is_running && a->n <= a->cap);
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
        loop_pool_submit_owned(j->ctl->loop, job_work, job_done, job_free, j);
    } else {
        job_work(j);
        job_done(j);
    }
}

/* PED-ANOVA is quick and is made again after each trial. fANOVA trains a forest, which takes
 * seconds: while the study runs it is made again only when there are a tenth more trials. */
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
    (void)fronts_follow(a);
    if (a->is_reading && gather(a, &err) < 0)
        log_error("study.analysis study=%" PRId64 " err=\"%s\"", a->st->row.id, err.text);
}

/* ---- questions about fronts ---- */

static double volume_of(const struct analysis *a, const struct candidates *c)
{
    double lo[SPEC_MAX_OBJECTIVES], whole = 1, volume = 0;
    int m = c->n_facts;
    double *values = mem_array((size_t)c->n * (size_t)m + 1, sizeof *values);

    for (int f = 0; f < m; f++) {
        lo[f] = a->lo[c->facts[f]];
        whole *= a->hi[c->facts[f]] - lo[f];
    }
    for (int i = 0; i < c->n; i++)
        worths(a, c, c->numbers[i], values + (size_t)i * (size_t)m);
    bool has_box = whole > 0 && isfinite(whole);
    if (has_box)
        volume = pareto_hypervolume(values, c->n, m, lo) / whole;
    mem_free(values);
    return has_box ? volume : (double)NAN;
}

static bool has_facts(const struct candidates *c, const enum spec_objective *facts, int n)
{
    int asked = 0, has = 0;

    for (int f = 0; f < n; f++)
        asked |= 1 << facts[f];
    for (int f = 0; f < c->n_facts; f++)
        has |= 1 << c->facts[f];
    return asked == has;
}

void analysis_front(struct study *st, const enum spec_objective *facts, int n_facts,
                    struct analysis_front *out)
{
    struct candidates *c = NULL;

    *out = (struct analysis_front){ .is_current = true, .volume = NAN };
    if (!st->space.space)
        return;
    struct analysis *a = analysis_of(st);
    out->is_current = fronts_follow(a);
    for (int p = 0; p < a->n_fronts && !c; p++)
        c = has_facts(&a->fronts[p], facts, n_facts) ? &a->fronts[p] : NULL;
    CHECK(c);
    /* sorted by the first that was asked for */
    memcpy(c->facts, facts, (size_t)n_facts * sizeof *facts);
    thin(a, c);
    out->compared = c->compared;
    out->n = c->n;
    out->numbers = mem_array((size_t)c->n + 1, sizeof *out->numbers);
    for (int i = 0; i < c->n; i++)
        out->numbers[i] = c->numbers[i];
    out->volume = volume_of(a, c);
}
