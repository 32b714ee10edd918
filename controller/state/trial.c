/* trial.c - every change of a trial (trial.h).
 *
 * A trial's row is read when something happens to it and written at once. Memory holds only a short
 * record of it, and lists of numbers by state. Both are filled in one place, trial_note, whether
 * the row was just changed or was read at a start, so that memory cannot depend on how it came
 * about. Which state may follow which is a table in proto/trial.c. */
#include "controller/state/trial.h"

#include "base/bisect.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/str.h"
#include "controller/problem/ladder.h"
#include "controller/state/board.h"
#include "controller/state/damage.h"
#include "controller/state/honest.h"
#include "controller/state/lease.h"
#include "controller/state/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Seeds have 53 bits, because clients may read JSON numbers as doubles. */
#define SEED_MASK ((UINT64_C(1) << 53) - 1)

const char *const trial_source_name[SRC_SOURCES] = {
    [SRC_SCRIPT] = "script", [SRC_SAMPLER] = "sampler", [SRC_USER] = "user",
    [SRC_RETRY] = "retry",   [SRC_FIRST] = "first",     [SRC_CONFIRM] = "confirm",
};

struct trial_mem *trial_mem(struct study *st, int64_t number)
{
    CHECK(number >= 1 && number <= st->n_trials);
    return &st->trials[number - 1];
}

/* The newest row is no more what is stored, or somebody else owns it now. */
static void newest_forget(struct study *st, bool is_taken)
{
    if (!is_taken)
        trial_row_fini(&st->newest);
    st->newest = (struct trial_row){ 0 };
}

int trial_load(struct study *st, int64_t number, struct trial_row *row, struct err *err)
{
    if (st->newest.id && st->newest.number == number) {
        *row = st->newest;
        newest_forget(st, true);
        return 0;
    }
    int rc = store_trial_get(st->ctl->store, trial_mem(st, number)->id, row, err);

    if (rc == 0)
        rc = err_set(err, ERR_DAMAGED, "trial %" PRId64 " of study %" PRId64 " has no row", number,
                     st->row.id);
    return rc < 0 ? damage_suspect(st->ctl, st->row.id, err) : 0;
}

int trial_config(struct study *st, int64_t number, struct config *out, struct err *err)
{
    struct trial_row row = { 0 };

    if (st->sheet) {
        CHECK(number >= 1 && number <= SHEET_TRIALS);
        *out = st->sheet->configs[number - 1];
        return 0;
    }
    int rc = trial_load(st, number, &row, err);
    if (rc == 0 && config_parse_text(out, row.config, st->space.own, NULL) < 0)
        out->family = NULL;
    trial_row_fini(&row);
    return rc;
}

struct find_report {
    int level;
    double value;
    bool is_found;
};

static int on_report(void *arg, int level, double value, double se)
{
    struct find_report *f = arg;

    (void)se;
    if (level == f->level) {
        f->value = value;
        f->is_found = true;
    }
    return f->is_found;
}

int trial_report_at(struct study *st, int64_t number, int level, double *value, struct err *err)
{
    struct find_report f = { .level = level, .value = NAN };

    if (st->sheet) {
        CHECK(level >= 1 && level < SHEET_LEVELS);
        *value = st->sheet->reports[number - 1][level];
        return !isnan(*value);
    }
    if (store_report_each(st->ctl->store, trial_mem(st, number)->id, on_report, &f, err) < 0)
        return -1;
    *value = f.value;
    return f.is_found;
}

/* ---- info ---- */

json_t *trial_info(const struct trial_row *row)
{
    struct err ignored = { 0 };
    json_t *info = NULL;

    if (row->info_json)
        return json_incref(row->info_json);
    if (row->info)
        info = jsonx_load(row->info, strlen(row->info), "info", &ignored);
    if (!json_is_object(info)) {
        json_decref(info);
        info = json_object();
    }
    if (!json_object_get(info, "source"))
        json_object_set_new(info, "source", json_string(trial_source_name[SRC_SCRIPT]));
    return info;
}

void trial_info_set(struct trial_row *row, json_t *info)
{
    mem_free(row->info);
    row->info = jsonx_dump(info);
    if (row->info_json != info)
        json_decref(row->info_json);
    else
        json_decref(info); /* the caller's reference to what is kept here already */
    row->info_json = info;
}

const json_t *trial_config_json(struct trial_row *row)
{
    struct err ignored = { 0 };

    if (!row->config_json && row->config)
        row->config_json = jsonx_load(row->config, strlen(row->config), "config", &ignored);
    return row->config_json;
}

/* ---- memory ---- */

/* Returns whether the number was in the list. */
static bool list_remove(int32_t *list, int *n, int64_t number, bool is_sorted)
{
    int i = 0;

    while (i < *n && list[i] != number)
        i++;
    if (i == *n)
        return false;
    if (is_sorted)
        memmove(list + i, list + i + 1, (size_t)(*n - i - 1) * sizeof *list);
    else
        list[i] = list[*n - 1];
    (*n)--;
    return true;
}

/* The queue is ascending. A new trial has the highest number, so it mostly goes to the end. */
static void queue_add(struct study *st, int64_t number)
{
    int at = st->n_queue;

    MEM_GROW(st->queue, st->n_queue, st->cap_queue);
    for (; at > 0 && st->queue[at - 1] > number; at--)
        st->queue[at] = st->queue[at - 1];
    CHECK(at == 0 || st->queue[at - 1] < number); /* no trial is in the queue twice */
    st->queue[at] = (int32_t)number;
    st->n_queue++;
}

/* Takes a trial off the lists that it is in by its record, which is about to change. */
static void unlist(struct study *st, int64_t number)
{
    const struct trial_mem *t = trial_mem(st, number);

    CHECK(t->state == TS_NONE || st->count[t->state] > 0);
    if (t->state != TS_NONE)
        st->count[t->state]--;
    if (t->state == TS_QUEUED)
        CHECK(list_remove(st->queue, &st->n_queue, number, true));
    if (t->state == TS_PAUSED)
        CHECK(list_remove(st->paused, &st->n_paused, number, false));
    if (t->state == TS_COMPLETED) {
        board_remove(st, number);
        (void)list_remove(st->kept, &st->n_kept, number, false);
    }
}

/* Puts a trial into the lists that it belongs to by its record. */
static void list(struct study *st, int64_t number)
{
    const struct trial_mem *t = trial_mem(st, number);

    st->count[t->state]++;
    if (t->state == TS_QUEUED)
        queue_add(st, number);
    if (t->state == TS_PAUSED) {
        MEM_GROW(st->paused, st->n_paused, st->cap_paused);
        st->paused[st->n_paused++] = (int32_t)number;
    }
    if (t->state != TS_COMPLETED)
        return;
    board_add(st, number);
    if (t->has_artifact && !isnan(t->score)) {
        MEM_GROW(st->kept, st->n_kept, st->cap_kept);
        st->kept[st->n_kept++] = (int32_t)number;
    }
}

/* A family that the study does not search counts as the baseline's place: a user may enqueue
 * one. */
static int family_of(const struct study *st, const char *name)
{
    for (int i = 0; i < st->n_families; i++) {
        if (str_eq(st->families[i]->name, name))
            return i;
    }
    return 0;
}

static enum trial_source source_of(const json_t *info)
{
    const char *word = json_string_value(json_object_get(info, "source"));

    for (int i = 0; i < SRC_SOURCES; i++) {
        if (str_eq(word, trial_source_name[i]))
            return (enum trial_source)i;
    }
    return SRC_SCRIPT;
}

enum trial_source trial_source_of(const struct trial_row *row)
{
    json_t *info = trial_info(row);
    enum trial_source source = source_of(info);

    json_decref(info);
    return source;
}

/* How many devices train it, and whether they must be GPUs. In a space of the user's own the word means what the user wants. */
static uint8_t devices_of(const struct study *st, const struct trial_row *row, bool *on_gpus)
{
    bool may = !st->spec.is_own && row->config &&
               (strstr(row->config, "\"devices\"") || strstr(row->config, "\"gpus\""));
    json_t *o = may ? jsonx_load(row->config, strlen(row->config), "config", NULL) : NULL;
    json_int_t gpus = json_integer_value(json_object_get(o, "gpus")),
               n = MAX(json_integer_value(json_object_get(o, "devices")), gpus);

    json_decref(o);
    *on_gpus = gpus > 0;
    return n >= 2 && n <= MSG_MAX_RANKS ? (uint8_t)n : 1;
}

/* FNV-1a, of 32 bits. */
static uint32_t hash_more(uint32_t hash, const char *text)
{
    do {
        hash = (hash ^ (uint8_t)*text) * 16777619U;
    } while (*text++);
    return hash;
}

static void note_new(struct study *st, const struct trial_row *row)
{
    bool on_gpus = false;
    uint8_t devices = devices_of(st, row, &on_gpus);

    CHECK(row->number == st->n_trials + 1); /* numbers have no holes */
    MEM_GROW(st->trials, st->n_trials, st->cap_trials);
    st->trials[st->n_trials++] =
        (struct trial_mem){ .id = row->id,
                            .score = NAN,
                            .first_score = NAN,
                            .shape = hash_more(hash_more(2166136261U, row->family), row->shape_key),
                            .devices = devices,
                            .on_gpus = on_gpus };
}

/* Whether the trial was cut before all folds were scored. */
static bool is_part(const struct study *st, const json_t *info)
{
    json_int_t folds = json_integer_value(json_object_get(info, "folds"));
    bool is_cut = json_is_true(json_object_get(info, "cut"));

    return is_cut && folds > 0 && !st->problem.data.holdout && folds < st->problem.data.folds;
}

static double first_score(const json_t *info)
{
    const json_t *first = json_object_get(info, "first");

    return json_is_number(first) ? json_number_value(first) : (double)NAN;
}

static void values_of(const json_t *info, double out[SPEC_MAX_OBJECTIVES - 1])
{
    const json_t *list = json_object_get(info, "values");

    for (size_t i = 0; i < SPEC_MAX_OBJECTIVES - 1; i++) {
        const json_t *v = json_array_get(list, i);

        out[i] = json_is_number(v) ? json_number_value(v) : (double)NAN;
    }
}

/* Keeps the blocks of a trial's score in memory. A runner may say anything: what is no list of numbers
 * is left out. */
static void note_blocks(struct trial_mem *t, const json_t *info)
{
    const json_t *list = json_object_get(info, "blocks"), *v = NULL;
    size_t n = json_array_size(list), i = 0;

    if (t->blocks || t->is_part || n < 2 || n > HONEST_MAX_BLOCKS)
        return;
    t->blocks = mem_array(n, sizeof *t->blocks);
    t->n_blocks = (int)n;
    json_array_foreach(list, i, v)
    {
        t->blocks[i] = (float)json_number_value(v);
        if (!json_is_number(v) || !isfinite(t->blocks[i]))
            t->n_blocks = 0;
    }
}

double trial_first_score(const struct trial_row *row)
{
    json_t *info = trial_info(row);
    double first = first_score(info);

    json_decref(info);
    return first;
}

bool trial_is_part(const struct study *st, const struct trial_row *row)
{
    json_t *info = trial_info(row);
    bool part = is_part(st, info);

    json_decref(info);
    return part;
}

/* Takes over what memory needs of a row's info. Parsing it costs some microseconds, so it is done
 * only when something can have changed: the trial is new, it reached a higher level, or it ended. */
static void note_info(struct study *st, struct trial_mem *t, const struct trial_row *row,
                      bool is_new, bool is_higher)
{
    bool is_complete = row->state == TS_COMPLETED && t->fit_us == 0;
    bool is_over = trial_is_final(row->state) && !is_complete;
    json_t *info = is_new || is_higher || is_complete || is_over ? trial_info(row) : NULL;

    if (is_new || is_complete)
        values_of(info, t->values);
    if (is_new) {
        t->source = (uint8_t)source_of(info);
        t->config = strtoull(row->config_hash, NULL, 16);
    }
    if (info)
        t->work_us = json_integer_value(json_object_get(info, "fit_us"));
    if (is_complete) {
        t->fit_us = json_integer_value(json_object_get(info, "fit_us"));
        t->predict_ns = json_integer_value(json_object_get(info, "predict_ns_row"));
        t->model_bytes = json_integer_value(json_object_get(info, "model_bytes"));
        t->is_cut = json_is_true(json_object_get(info, "cut"));
        t->is_part = is_part(st, info);
        t->first_score = first_score(info);
        note_blocks(t, info);
        t->order = (float)json_number_value(json_object_get(info, "order"));
    }
    if (is_higher || is_complete)
        memory_note(st, t, json_number_value(json_object_get(info, "growth")));
    json_decref(info);
}

/* A trial that was cut learns what became of its confirmation. Ids ascend with numbers. */
static void note_confirm(struct study *st, const struct trial_row *row, const struct trial_mem *t)
{
    int at;

    if (t->source != SRC_CONFIRM)
        return;
    BISECT(at, st->n_trials, st->trials[at].id < row->retry_of);
    if (at < st->n_trials && st->trials[at].id == row->retry_of)
        st->trials[at].confirm = t->state == TS_COMPLETED && !t->is_part ? 2 : 1;
}

void trial_note(struct study *st, const struct trial_row *row)
{
    bool is_new = row->number > st->n_trials;

    if (st->newest.number == row->number)
        newest_forget(st, false);
    if (is_new)
        note_new(st, row);
    else
        unlist(st, row->number);
    struct trial_mem *t = trial_mem(st, row->number);
    bool is_higher = row->level > t->level;
    CHECK(t->id == row->id && row->state != TS_NONE && row->max_level >= 1);
    t->state = (uint8_t)row->state;
    t->reason = (uint8_t)row->reason;
    t->family = (int8_t)family_of(st, row->family);
    t->level = (int16_t)row->level;
    t->max_level = (int16_t)row->max_level;
    t->run_to = (int16_t)row->run_to;
    t->checkpoint_level = (int16_t)(row->checkpoint[0] ? row->checkpoint_level : 0);
    t->score = row->score;
    t->score_se = row->score_se;
    t->ended_at = row->ended_at;
    t->has_artifact = row->artifact[0] != '\0';
    note_info(st, t, row, is_new, is_higher);
    note_confirm(st, row, t);
    list(st, row->number);
}

/* ---- changes ---- */

static void count_end(struct ctl *ctl, enum trial_state state)
{
    ctl->stats.completed += state == TS_COMPLETED;
    ctl->stats.failed += state == TS_FAILED;
    ctl->stats.pruned += state == TS_PRUNED;
    ctl->stats.cancelled += state == TS_CANCELLED;
}

int trial_move(struct study *st, struct trial_row *row, enum trial_event ev, json_t *data,
               const char *end_reason, struct err *err)
{
    struct ctl *ctl = st->ctl;
    enum trial_state was = row->state;
    char *text = data ? jsonx_dump(data) : NULL;
    int rc = -1;

    json_decref(data);
    CHECK(row->study == st->row.id && row->number >= 1 && row->number <= st->n_trials);
    if (trial_next(&row->state, ev, row->id, err) < 0)
        goto out; /* a conflict changes nothing, so nothing need be loaded again */
    ctl_touch(ctl, st);
    if (row->state == TS_RUNNING && !row->started_at)
        row->started_at = ctl_wall(ctl);
    if (trial_is_final(row->state)) {
        row->ended_at = ctl_wall(ctl);
        row->checkpoint[0] = '\0'; /* nobody will resume it: its file may go */
        row->checkpoint_level = 0;
    }
    if (store_trial_event(ctl->store, row, ev, text, err) < 0)
        goto fail;
    if (was == TS_RUNNING && row->state != TS_RUNNING) {
        if (store_attempt_close(ctl->store, row->id, row->fence,
                                end_reason ? end_reason : trial_event_name[ev], err) < 0)
            goto fail;
        lease_drop(ctl, row->id, row->fence);
    }
    trial_note(st, row);
    if (trial_is_final(row->state)) {
        count_end(ctl, row->state);
        study_happened(st, (struct happening){ .kind = TRIAL_ENDED,
                                               .number = row->number,
                                               .state = row->state,
                                               .reason = row->reason,
                                               .level = row->level,
                                               .score = row->score });
    }
    log_info("trial.%s study=%" PRId64 " trial=%" PRId64 " number=%" PRId64 " fence=%" PRId64
             " reason=%s",
             trial_event_name[ev], st->row.id, row->id, row->number, row->fence,
             trial_reason_name[row->reason]);
    rc = 0;
    goto out;
fail:
    damage_suspect(ctl, st->row.id, err); /* the event was allowed, so the rows are at fault */
out:
    mem_free(text);
    return rc;
}

int trial_report(struct study *st, struct trial_row *row, int level, double value, double se,
                 struct err *err)
{
    CHECK(row->state == TS_RUNNING && level > row->level && level < row->max_level);
    ctl_touch(st->ctl, st);
    if (store_report_add(st->ctl->store, row->id, level, value, se, err) < 0)
        return -1;
    row->level = level;
    row->score = value;
    row->score_se = se;
    if (trial_save(st, row, err) < 0)
        return -1;
    study_happened(
        st, (struct happening){
                .kind = TRIAL_REPORTED, .number = row->number, .level = level, .score = value });
    return 0;
}

int trial_save(struct study *st, struct trial_row *row, struct err *err)
{
    CHECK(row->study == st->row.id && row->number >= 1 && row->number <= st->n_trials);
    ctl_touch(st->ctl, st);
    if (store_trial_update(st->ctl->store, row, err) < 0)
        return damage_suspect(st->ctl, st->row.id, err);
    trial_note(st, row);
    return 0;
}

int trial_end(struct study *st, int64_t number, enum trial_event ev, enum trial_reason reason,
              const char *detail, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(st, number, &row, err);

    CHECK(ev != TE_LEASE && ev != TE_REJOIN); /* these need a lease */
    if (rc == 0) {
        row.reason = reason;
        if (detail) {
            mem_free(row.detail);
            row.detail = mem_strdup(detail);
        }
        json_t *data = json_pack("{s:s}", "reason", trial_reason_name[reason]);
        rc = trial_move(st, &row, ev, data, trial_reason_name[reason], err);
    }
    trial_row_fini(&row);
    return rc;
}

int trial_create(struct study *st, const struct config *c, enum trial_source source, int run_to,
                 int64_t retry_of, int64_t *number, struct err *err)
{
    char shape[200];
    struct trial_row row = { .study = st->row.id,
                             .number = st->n_trials + 1,
                             .state = TS_QUEUED,
                             .max_level = ladder_levels(&st->problem, c->family),
                             .run_to = run_to,
                             .score = NAN,
                             .score_se = NAN,
                             .select_value = NAN,
                             .test_score = NAN,
                             .test_se = NAN,
                             .retry_of = retry_of };

    if (st->n_trials >= st->ctl->conf.max_trials)
        return err_set(err, ERR_TOOBIG, "study %s has reached the limit of %" PRId64 " trials",
                       st->row.name, st->ctl->conf.max_trials);
    CHECK(c->family && run_to >= 0 && run_to <= row.max_level);
    ctl_touch(st->ctl, st);
    row.config_json = config_json_new(c);
    row.config = jsonx_dump(row.config_json);
    config_hash(row.config, row.config_hash);
    row.family = mem_strdup(c->family->name);
    family_shape_key(c->family, c->params, shape, sizeof shape);
    row.shape_key = mem_strdup(shape);
    row.seed = rng_mix(st->spec.seed, (uint64_t)row.number) & SEED_MASK;
    trial_info_set(&row, json_pack("{s:s}", "source", trial_source_name[source]));
    if (store_trial_insert(st->ctl->store, &row, err) < 0)
        goto fail;
    trial_note(st, &row);
    *number = row.number;
    log_debug("trial.create study=%" PRId64 " trial=%" PRId64 " number=%" PRId64 " source=%s",
              st->row.id, row.id, row.number, trial_source_name[source]);
    newest_forget(st, false);
    st->newest = row;
    return 0;
fail:
    trial_row_fini(&row);
    return -1;
}

/* Backwards, because trial_save takes the trial off the list of kept ones and moves the last one to
 * its place. */
int trial_evict(struct study *st, struct err *err)
{
    if (st->evict_completed == st->count[TS_COMPLETED] && st->evict_kept == st->n_kept)
        return 0;
    for (int i = st->n_kept - 1; i >= 0; i--) {
        int64_t number = st->kept[i];
        struct trial_mem *t = &st->trials[number - 1];
        struct trial_row row = { 0 };
        int rc = 0;

        if (board_keeps(st, number, t))
            continue;
        rc = trial_load(st, number, &row, err);
        if (rc == 0) {
            row.artifact[0] = row.predictions[0] = '\0';
            rc = trial_save(st, &row, err);
        }
        trial_row_fini(&row);
        if (rc < 0)
            return -1;
    }
    st->evict_completed = st->count[TS_COMPLETED];
    st->evict_kept = st->n_kept;
    return 0;
}
