/* snapshot.c - layout: version, mode, script position, what the stop rules know, the plan of a deterministic study, then
 * sampler and scheduler, each as length and bytes. The plan's steps may be repeated, so rows that are ahead of it do no harm;
 * a live study replays the journal from the sequence on.
 *
 * Bytes from a database may be damaged: a checksum ends them, everything is checked before it is taken, and what does not
 * fit is refused. */
#include "controller/snapshot.h"

#include "base/log.h"
#include "base/rng.h"
#include "controller/decide/budget.h"
#include "controller/decide/plan.h"
#include "controller/decide/propose.h"
#include "controller/decide/script.h"
#include "controller/state/damage.h"
#include "store/journal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Written each time a study has doubled, so that all bytes ever written stay within twice the last snapshot, but not for
 * fewer trials than these; sooner when going through the rest again would take half a second (SUGGEST_US) and writing a
 * hundredth of that; and not while trials run if everybody would wait for it: then a graceful stop or a pause writes it. */
enum { VERSION = 1, LEAST_TRIALS = 256, MOST_US = 6000, SUGGEST_US = 500000, SUGGEST_SHARE = 100 };

static uint64_t checksum(const char *bytes, size_t n)
{
    uint64_t sum = rng_mix(VERSION, n), word = 0;

    for (size_t i = 0; i < n; i += sizeof word) {
        word = 0;
        memcpy(&word, bytes + i, MIN(sizeof word, n - i));
        sum = rng_mix(sum, word);
    }
    return sum;
}

/* ---- writing ---- */

static int put_plan(const struct study *st, struct buf *b, struct err *err)
{
    const struct plan *p = &st->plan;
    int64_t n_started = p->next_number - 1;

    if (buf_put_u64(b, (uint64_t)p->now, err) < 0 || buf_put_u64(b, (uint64_t)n_started, err) < 0 ||
        buf_put_u8(b, p->is_filled, err) < 0 || buf_put_u32(b, (uint32_t)p->n_runs, err) < 0)
        return -1;
    for (int i = 0; i < p->n_runs; i++) {
        const struct plan_run *r = &p->runs[i];
        if (buf_put_u64(b, (uint64_t)r->number, err) < 0 ||
            buf_put_u64(b, (uint64_t)r->end, err) < 0 ||
            buf_put_u32(b, (uint32_t)r->from, err) < 0 || buf_put_u32(b, (uint32_t)r->to, err) < 0)
            return -1;
    }
    for (int64_t k = 0; k < n_started; k++) {
        if (buf_put_u32(b, (uint32_t)st->trials[k].plan_level, err) < 0)
            return -1;
    }
    return 0;
}

static int put_part(struct buf *b, const struct buf *part, struct err *err)
{
    return buf_put_u64(b, part->len, err) < 0 ? -1 : buf_add(b, part->data, part->len, err);
}

static int put_searchers(const struct study *st, struct buf *b, struct err *err)
{
    struct buf part;
    int rc = -1;

    buf_init(&part, SEARCH_MAX_STATE_BYTES);
    if (st->sampler->ops->save(st->sampler, &part, err) == 0 && put_part(b, &part, err) == 0) {
        buf_clear(&part);
        if (st->scheduler->ops->save(st->scheduler, &part, err) == 0)
            rc = put_part(b, &part, err);
    }
    buf_fini(&part);
    return rc;
}

static int put_all(const struct study *st, struct buf *b, struct err *err)
{
    if (buf_put_u32(b, VERSION, err) < 0 || buf_put_u8(b, st->is_deterministic, err) < 0 ||
        buf_put_u32(b, (uint32_t)st->script_pos, err) < 0 ||
        buf_put_u8(b, st->is_exhausted, err) < 0 ||
        buf_put_u8(b, (uint8_t)budget_closing_code(st->closing), err) < 0 ||
        buf_put_f64(b, st->best_score, err) < 0 ||
        buf_put_u64(b, (uint64_t)st->since_gain, err) < 0)
        return -1;
    if (st->is_deterministic && put_plan(st, b, err) < 0)
        return -1;
    if (put_searchers(st, b, err) < 0)
        return -1;
    return buf_put_u64(b, checksum(b->data, b->len), err);
}

int snapshot_save(struct study *st, struct err *err)
{
    struct ctl *ctl = st->ctl;
    int64_t start_us = clk_now_us(ctl->clk), seq = journal_last(ctl->store);
    struct buf b;
    int rc = -1;

    CHECK(st->sampler && st->scheduler && !st->needs_settling);
    buf_init(&b, 2 * (size_t)SEARCH_MAX_STATE_BYTES);
    ctl_touch(ctl, st);
    st->needs_settling = false; /* nothing of the study changed */
    if (put_all(st, &b, err) == 0 &&
        store_search_put(ctl->store, st->row.id, seq, b.data, b.len, err) == 0) {
        st->snapshot_trials = st->n_trials;
        st->snapshot_us = clk_now_us(ctl->clk) - start_us;
        st->suggest_us = 0;
        log_debug("study.snapshot study=%" PRId64 " seq=%" PRId64 " bytes=%zu us=%" PRId64,
                  st->row.id, seq, b.len, st->snapshot_us);
        rc = 0;
    }
    buf_fini(&b);
    return rc;
}

static bool is_due(const struct study *st)
{
    int64_t had = st->snapshot_trials;
    double us = had ? (double)st->snapshot_us * (double)st->n_trials / (double)had : 0;

    if (!st->sampler || !study_is_open(st))
        return false;
    if (st->n_trials - had < MAX(LEAST_TRIALS, had) &&
        st->suggest_us < MAX(SUGGEST_US, (int64_t)us * SUGGEST_SHARE))
        return false;
    return st->count[TS_RUNNING] == 0 || us < MOST_US;
}

int snapshot_tick(struct ctl *ctl, struct err *err)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];
        bool due = is_due(st), held = st->holds_suggestions;

        /* Not in the middle of a suggestion: none is begun until it is written. */
        st->holds_suggestions = due && ahead_is_open(st);
        if (held && !st->holds_suggestions)
            ctl->is_deferred = true;
        if (due && !st->holds_suggestions && snapshot_save(st, err) < 0)
            return damage_suspect(ctl, st->row.id, err);
    }
    return 0;
}

int snapshot_all(struct ctl *ctl, struct err *err)
{
    for (int i = 0; i < ctl->n_studies; i++) {
        struct study *st = ctl->studies[i];

        if (st->sampler && study_is_open(st) && !st->needs_settling && !ahead_is_open(st) &&
            st->n_trials - st->snapshot_trials >= LEAST_TRIALS && snapshot_save(st, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- reading ---- */

static int damaged(struct err *err, const char *what)
{
    return err_set(err, ERR_ARG, "the snapshot is damaged: %s", what);
}

static int get_run(const struct study *st, struct view *in, int64_t n_started, int64_t now,
                   struct plan_run *out, struct err *err)
{
    uint64_t number = 0, end = 0;
    uint32_t from = 0, to = 0;

    if (view_u64(in, &number, err) < 0 || view_u64(in, &end, err) < 0 ||
        view_u32(in, &from, err) < 0 || view_u32(in, &to, err) < 0)
        return -1;
    if (number < 1 || number > (uint64_t)n_started || end < (uint64_t)now || end > INT64_MAX)
        return damaged(err, "a run");
    if (from >= to || to > (uint32_t)st->trials[number - 1].max_level)
        return damaged(err, "levels of a run");
    *out = (struct plan_run){ (int64_t)number, (int64_t)end, (int)from, (int)to };
    return 0;
}

static int get_plan(struct study *st, struct view *in, struct err *err)
{
    struct plan *p = &st->plan;
    uint64_t now = 0, n_started = 0;
    uint32_t n_runs = 0, level = 0;
    uint8_t is_filled = 0;

    if (view_u64(in, &now, err) < 0 || view_u64(in, &n_started, err) < 0 ||
        view_u8(in, &is_filled, err) < 0 || view_u32(in, &n_runs, err) < 0)
        return -1;
    if (now > INT64_MAX || n_started > (uint64_t)st->n_trials || n_runs > (uint32_t)p->workers)
        return damaged(err, "the plan");
    for (uint32_t i = 0; i < n_runs; i++) {
        if (get_run(st, in, (int64_t)n_started, (int64_t)now, &p->runs[i], err) < 0)
            return -1;
    }
    for (uint64_t k = 0; k < n_started; k++) {
        if (view_u32(in, &level, err) < 0)
            return -1;
        if (level > (uint32_t)st->trials[k].max_level)
            return damaged(err, "a level");
        st->trials[k].plan_level = (int16_t)level;
    }
    p->now = (int64_t)now;
    p->next_number = (int64_t)n_started + 1;
    p->n_runs = (int)n_runs;
    p->is_filled = is_filled != 0;
    return 0;
}

static int get_part(struct view *in, struct view *part, struct err *err)
{
    const void *bytes = NULL;
    uint64_t n = 0;

    if (view_u64(in, &n, err) < 0)
        return -1;
    if (n > in->len - in->pos)
        return damaged(err, "a length");
    if (view_bytes(in, &bytes, (size_t)n, err) < 0)
        return -1;
    *part = (struct view){ bytes, (size_t)n, 0 };
    return 0;
}

static int get_searchers(struct study *st, struct view *in, struct err *err)
{
    struct view part;

    if (get_part(in, &part, err) < 0 || st->sampler->ops->load(st->sampler, &part, err) < 0 ||
        get_part(in, &part, err) < 0 || st->scheduler->ops->load(st->scheduler, &part, err) < 0)
        return -1;
    return in->pos == in->len ? 0 : damaged(err, "more bytes than it has");
}

static int get_all(struct study *st, struct view *in, struct err *err)
{
    uint32_t version = 0, script_pos = 0;
    uint8_t is_plan = 0, is_exhausted = 0, closing = 0;
    uint64_t since_gain = 0;
    double best = NAN;

    if (view_u32(in, &version, err) < 0 || view_u8(in, &is_plan, err) < 0 ||
        view_u32(in, &script_pos, err) < 0 || view_u8(in, &is_exhausted, err) < 0 ||
        view_u8(in, &closing, err) < 0 || view_f64(in, &best, err) < 0 ||
        view_u64(in, &since_gain, err) < 0)
        return -1;
    if (version != VERSION || (is_plan != 0) != st->is_deterministic)
        return err_set(err, ERR_VERSION, "the snapshot is of another version");
    if (script_pos > (uint32_t)st->n_script || since_gain > (uint64_t)st->n_trials ||
        !budget_closing_known(closing))
        return damaged(err, "its head");
    if (st->is_deterministic && get_plan(st, in, err) < 0)
        return -1;
    script_restore(st, (int)script_pos);
    st->is_exhausted = is_exhausted != 0;
    st->closing = budget_closing_of(closing);
    st->best_score = best;
    st->since_gain = (int64_t)since_gain;
    return get_searchers(st, in, err);
}

/* Takes the checksum off the end. */
static int verify(struct view *in, struct err *err)
{
    struct view end = *in;
    uint64_t sum = 0;

    if (in->len < sizeof sum)
        return damaged(err, "too short");
    end.pos = in->len - sizeof sum;
    if (view_u64(&end, &sum, err) < 0)
        return -1;
    in->len -= sizeof sum;
    return sum == checksum((const char *)in->data, in->len) ? 0 : damaged(err, "its checksum");
}

/* As before: fresh searchers, a plan that has done nothing. */
static int start_over(struct study *st, struct err *err)
{
    propose_close(st);
    st->snapshot_trials = 0;
    st->is_exhausted = false;
    st->closing = NULL;
    st->best_score = NAN;
    st->since_gain = 0;
    for (int i = 0; i < st->n_trials; i++)
        st->trials[i].plan_level = 0;
    if (propose_open(st, err) < 0)
        return -1;
    if (st->is_deterministic)
        plan_init(st);
    return 0;
}

int snapshot_load(struct study *st, int64_t *seq, struct err *err)
{
    int64_t start_us = clk_now_us(st->ctl->clk);
    struct err why = { 0 };
    struct buf b;
    int rc = -1;

    *seq = 0;
    buf_init(&b, 2 * (size_t)SEARCH_MAX_STATE_BYTES);
    rc = store_search_get(st->ctl->store, st->row.id, seq, &b, err);
    if (rc == 1) {
        struct view in = { (const uint8_t *)b.data, b.len, 0 };

        st->snapshot_trials = st->n_trials;
        if (*seq < 0 || *seq > journal_last(st->ctl->store) || verify(&in, &why) < 0 ||
            get_all(st, &in, &why) < 0) {
            log_warn("study.snapshot_refused study=%" PRId64 " why=\"%s\"", st->row.id, why.text);
            *seq = 0;
            rc = start_over(st, err);
        }
        st->snapshot_us = clk_now_us(st->ctl->clk) - start_us; /* reading is like writing */
    }
    buf_fini(&b);
    return rc;
}
