/* worker_memory.c - memory for trials in one worker process.
 *   - Before a trial begins a level, the memory of the whole level is planned: what the process
 *     holds without the trial, the form of its table that must still be made, and what the trial
 *     itself will take. The last is estimated from the family's formula, the trial's own earlier
 *     levels and the study's other trials.
 *   - If that does not fit beside other trials, unused tables are closed and the answers to parked
 *     trials are awaited.
 *   - What rows and columns alone take is certain. If not even that fits, the trial is refused
 *     before it takes anything.
 *   - What the number of rounds adds is a guess. A trial is therefore promised only what is known
 *     of it (next, in struct fit_forecast). It stops at the first step beyond that, and asks again.
 *   - If nothing is left to promise, the trial goes on while there is room, and ends with its best
 *     score so far before the supervisor would have to kill the process. */
#include "base/base.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/str.h"
#include "trial-runner/worker/worker_private.h"

#include <inttypes.h>
#include <unistd.h>

/* TRIM_BYTES: freed memory below this is not worth the milliseconds of returning it.
 * STRETCH_LEAST: the smallest promise, because each one costs reading files of /proc.
 * WAIT_MS: between two looks whether a parked trial has left. */
enum { TRIM_BYTES = 1 << 20, STRETCH_LEAST = 1 << 19, WAIT_MS = 100, SLICE_LEAST_US = 1000 };

/* What the process may hold: a sixteenth below the limit at which the supervisor kills it. */
static int64_t room_of(const struct worker *w)
{
    return w->memory_bytes > 0 ? w->memory_bytes / 16 * 15 : INT64_MAX;
}

static int64_t resident(void)
{
    return MAX(proc_rss_bytes(getpid()), 0);
}

/* What the process holds and nobody uses: memory that earlier trials gave back to the heap. The
 * next trial takes it first, so it is neither part of what was there before nor the trial's own.
 * The part that does not belong to the heap (code, mapped tables) was measured when nothing was
 * idle. */
static int64_t idle_bytes(const struct worker *w)
{
    return MAX(resident() - mem_in_use() - w->lean_bytes, 0);
}

/* Returns idle memory to the system if there is at least so much. Otherwise the peaks of earlier
 * trials would be counted as the next one's. */
static void trim(struct worker *w, int64_t least)
{
    if (idle_bytes(w) < least)
        return;
    mem_give_back();
    w->lean_bytes = MAX(resident() - mem_in_use(), 0);
}

struct others {
    int parked, running;
};

static struct others others_of(const struct worker *w, const struct job *j)
{
    struct others o = { 0, 0 };

    for (const struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            const struct job *k = &r->jobs[i];

            o.parked += k != j && (k->state == JOB_ASKED || k->state == JOB_ANSWERED);
            o.running += k != j && k->state == JOB_RUNNING && k->fit;
        }
    }
    return o;
}

static bool is_ended(const struct worker *w, const struct job *j)
{
    return j->stop || w->draining ||
           (j->deadline_ms > 0 && worker_now_us(w) >= j->deadline_ms * 1000);
}

/* Gives up what is not in use; if there is nothing, waits for a parked trial to leave. False if no
 * room can be made. */
static bool make_room(struct worker *w, const struct job *j)
{
    int parked = others_of(w, j).parked;

    if (datasets_shed(w->datasets)) {
        trim(w, 0);
        return true;
    }
    if (parked == 0 || is_ended(w, j))
        return false;
    log_debug("memory.wait trial=%" PRId64 " parked=%d", j->trial, parked);
    while (others_of(w, j).parked == parked && !is_ended(w, j)) {
        worker_beat(w, LONG_MS);
        worker_poll(w, WAIT_MS);
        worker_serve(w);
    }
    trim(w, 0);
    return true;
}

/* How much more the running trials beside this one will take. */
static int64_t others_growth(const struct worker *w, const struct job *j)
{
    int64_t bytes = 0;

    for (const struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            const struct job *k = &r->jobs[i];

            if (k != j && k->state == JOB_RUNNING && k->fit)
                bytes += MAX(k->planned_bytes - fit_trial_bytes(k->fit), 0);
        }
    }
    return bytes;
}

static struct fit_forecast forecast(const struct job *j)
{
    return fit_trial_forecast(j->fit, j->to, j->granted->growth);
}

/* The memory of the process while the trial is trained to its level. */
static int64_t plan(const struct worker *w, struct job *j)
{
    CHECK(j->fit && j->data);
    j->resident_bytes = resident();
    j->file_bytes = proc_rss_file_bytes(getpid());
    j->before_bytes = MAX(j->resident_bytes - idle_bytes(w) - fit_trial_bytes(j->fit), 0);
    j->missing_bytes = ml_data_missing_bytes(fit_trial_data(j->fit), j->family->form);
    j->planned_bytes = forecast(j).estimate;
    j->admitted_bytes = j->planned_bytes;
    j->first_bytes = 0;
    return j->before_bytes + j->missing_bytes + j->planned_bytes;
}

/* ---- promises ---- */

/* What the process has taken since the trial was admitted, without the form of its table. */
static int64_t taken(const struct job *j)
{
    int64_t file = MAX(proc_rss_file_bytes(getpid()) - j->file_bytes, 0);

    return resident() - file - j->before_bytes - j->missing_bytes;
}

/* The part of it that the trial does not count. Negative if the trial lives in holes that others
 * left in the heap; then at most half of what it counts. */
static int64_t uncounted(const struct job *j)
{
    int64_t held = fit_trial_bytes(j->fit);

    return MAX(taken(j) - held, -held / 2);
}

/* Promises the trial `bytes`, or what there is. It will ask for more when it counts `ask` bytes, or
 * earlier, so that what it holds aside still fits. */
static void promise(struct worker *w, struct job *j, int64_t bytes, int64_t ask)
{
    int64_t room = room_of(w);

    while (w->memory_bytes > 0 && j->before_bytes + j->missing_bytes + bytes > room &&
           make_room(w, j))
        continue;
    int64_t left = room - j->before_bytes - j->missing_bytes, held = fit_trial_bytes(j->fit),
            spare = fit_trial_spare_bytes(j->fit);
    j->promise_bytes = MIN(bytes, MAX(left, held));
    j->stop_bytes = MIN(ask, MAX(left - (bytes - ask) - spare, held)); /* then it is seen to */
    j->n_promises++;
}

/* Promises what the next steps are known to take, and `more`. */
static void promise_next(struct worker *w, struct job *j, int64_t more)
{
    struct fit_forecast f = forecast(j);
    int64_t least = MAX(fit_trial_bytes(j->fit) + STRETCH_LEAST - f.ask, 0);

    promise(w, j, f.next + least + more, f.ask + least);
}

static void promise_log(const struct worker *w, const struct job *j)
{
    if (log_level_get() < LOG_DEBUG)
        return; /* the line needs three files of /proc */
    log_debug("memory.promise device=%s trial=%" PRId64 " family=%s level=%d nth=%d before=%" PRId64
              " missing=%" PRId64 " promise=%" PRId64 " held=%" PRId64 " peak=%" PRId64
              " file=%" PRId64,
              w->device, j->trial, j->family->name, j->to, j->n_promises, j->before_bytes,
              j->missing_bytes, j->promise_bytes, j->fit ? fit_trial_bytes(j->fit) : 0,
              proc_rss_peak_bytes(), proc_rss_file_bytes(getpid()) - j->file_bytes);
}

bool worker_memory_asks(const struct job *j)
{
    return j->fit && j->stop_bytes > 0 && fit_trial_bytes(j->fit) > j->stop_bytes;
}

void worker_memory_revise(struct worker *w, struct job *j)
{
    int64_t bytes = forecast(j).revised;

    if (bytes > 0) {
        j->planned_bytes = bytes;
        if (j->first_bytes == 0)
            j->first_bytes = bytes;
    }
    if (j->n_promises == 0 || (!worker_memory_asks(j) && taken(j) <= j->promise_bytes))
        return;
    promise_log(w, j);
    promise_next(w, j, uncounted(j));
}

void worker_memory_ships(struct worker *w, struct job *j)
{
    int64_t bytes = fit_trial_ship_bytes(j->fit) + uncounted(j);

    if (j->n_promises == 0 || bytes <= j->promise_bytes)
        return;
    promise_log(w, j);
    promise(w, j, bytes, bytes);
}

static int refuse(const struct job *j, int64_t least, int64_t most, const char *what,
                  struct err *err)
{
    char a[32], b[32];

    str_fmt_bytes(least, a, sizeof a);
    str_fmt_bytes(most, b, sizeof b);
    return err_set(err, ERR_NOMEM, "%s needs at least %s of memory for this table, but %s %s",
                   j->family->name, a, what, b);
}

void worker_memory_close(struct worker *w, struct job *j)
{
    int64_t bytes = j->fit ? fit_trial_bytes(j->fit) : 0;
    bool is_much = bytes >= TRIM_BYTES && others_of(w, j).running > 0;

    fit_trial_close(j->fit);
    j->fit = NULL;
    if (is_much)
        trim(w, TRIM_BYTES);
    for (struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            struct job *k = &r->jobs[i];

            if (k == j || k->state != JOB_RUNNING || !k->fit)
                continue;
            k->before_bytes = MAX(k->before_bytes - bytes, 0);
            if (is_much)
                k->resident_bytes = resident();
        }
    }
    if (is_much)
        proc_rss_peak_reset(); /* the old peak was made together with the trial that is gone */
}

int worker_memory_admit(struct worker *w, struct job *j, struct err *err)
{
    int64_t own = j->run->grant.trial_memory_bytes, room = room_of(w), least = forecast(j).least;

    trim(w, TRIM_BYTES);
    while (plan(w, j) > room && make_room(w, j))
        continue;
    proc_rss_peak_reset();
    if (own > 0 && least > own)
        return refuse(j, least, own, "a trial of this study may take at most", err);
    if (j->before_bytes + j->missing_bytes + least <= room) {
        j->n_promises = 0;
        promise_next(w, j, 0);
        return 1;
    }
    if (j->work_us == 0 && others_of(w, j).running > 0)
        return 0;
    return refuse(j, j->before_bytes + j->missing_bytes + least, w->memory_bytes,
                  "a worker of this runner may take at most", err);
}

bool worker_memory_joins(struct worker *w, struct job *j)
{
    int64_t own = j->run->grant.trial_memory_bytes;

    if (own > 0 && forecast(j).least > own)
        return false;
    j->n_promises = 0;
    j->stop_bytes = 0;
    return plan(w, j) + others_growth(w, j) <= room_of(w);
}

int64_t worker_memory_slice_us(const struct worker *w, struct job *j, int64_t us)
{
    int64_t held = 0, left = w->memory_bytes - resident();

    if (w->memory_bytes <= 0 || j->work_us <= 0)
        return us;
    for (int i = 0; i < j->run->n_jobs; i++) {
        const struct job *k = &j->run->jobs[i];
        held += k->state == JOB_RUNNING && k->fit ? fit_trial_bytes(k->fit) : 0;
    }
    /* The speed of growth is that of the slice before; of the whole trial, if there was none. */
    int64_t grown = held - j->slice_bytes, took = j->work_us - j->slice_us;
    bool is_known = j->slice_us > 0 && took > 0 && grown >= 0;
    double speed = is_known ? (double)grown / (double)took : (double)held / (double)j->work_us,
           safe = (double)MAX(left, 0) / 4;
    j->slice_bytes = held;
    j->slice_us = j->work_us;
    return speed * (double)us <= safe ? us : MAX((int64_t)(safe / speed), SLICE_LEAST_US);
}

bool worker_memory_is_full(struct worker *w, struct job *j)
{
    int64_t room = room_of(w);

    if (w->memory_bytes <= 0)
        return false;
    for (int i = 0; i < j->run->n_jobs; i++) {
        const struct job *k = &j->run->jobs[i];
        if (k->state == JOB_RUNNING && k->fit)
            room -= fit_trial_spare_bytes(k->fit);
    }
    if (resident() <= room)
        return false;
    trim(w, 0);
    while (resident() > room && make_room(w, j))
        continue;
    if (resident() <= room || is_ended(w, j))
        return false;
    log_info("memory.full device=%s trial=%" PRId64 " family=%s held=%" PRId64 " resident=%" PRId64
             " room=%" PRId64,
             w->device, j->trial, j->family->name, fit_trial_bytes(j->fit), resident(), room);
    return true;
}

void worker_memory_log(const struct worker *w, const struct job *j, const struct fit_result *r)
{
    if (log_level_get() < LOG_DEBUG)
        return;
    promise_log(w, j);
    log_debug("trial.memory device=%s trial=%" PRId64 " family=%s level=%d resident=%" PRId64
              " before=%" PRId64 " missing=%" PRId64 " admitted=%" PRId64 " first=%" PRId64
              " last=%" PRId64 " held=%" PRId64 " peak=%" PRId64 " file=%" PRId64 " steps=%" PRId64
              " growth=%.3g of=%.3g",
              w->device, j->trial, j->family->name, j->to, j->resident_bytes, j->before_bytes,
              j->missing_bytes, j->admitted_bytes,
              j->first_bytes ? j->first_bytes : j->admitted_bytes, j->planned_bytes, r->peak_bytes,
              proc_rss_peak_bytes(), proc_rss_file_bytes(getpid()) - j->file_bytes, r->steps,
              r->growth, j->granted->growth);
}

void worker_memory_hoard(const struct worker *w)
{
    size_t bytes = (size_t)(w->memory_bytes > 0 ? w->memory_bytes / 8 * 9 : 1 << 20);
    volatile char *much = mem_try_alloc(bytes);

    for (size_t i = 0; much && i < bytes; i += 4096)
        much[i] = 1;
    for (;;)
        pause();
}
