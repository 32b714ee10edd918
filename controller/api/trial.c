/* trial.c - the verbs on trials: list, show, logs, artifact, kill, retry, enqueue. An ended trial
 * never changes: a retry is a new trial with the same configuration, and it names the old one
 * (retry_of). */
#include "controller/state/trial.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/decide/ahead.h"
#include "controller/serve/events.h"
#include "controller/settle/load.h"
#include "controller/settle/settle.h"
#include "controller/state/epochs.h"
#include "controller/state/pipelines.h"
#include "controller/view/show.h"
#include "store/journal.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE_MAX = 1000, /* trials of one answer */
    LOG_MAX = 1000   /* lines of a trial's journal in one answer */
};

/* ---- list ---- */

static int append(struct study *st, int64_t number, json_t *list, struct err *err)
{
    struct trial_row row = { 0 };
    int rc = trial_load(st, number, &row, err);

    if (rc == 0)
        json_array_append_new(list, show_trial(&row));
    trial_row_fini(&row);
    return rc;
}

/* Trials by number after `after`, ascending, or descending if newest is set. *next = the last
 * number of this page if there are more, else 0. */
static int list_numbers(struct study *st, enum trial_state only, bool newest, int64_t after,
                        int limit, json_t *list, int64_t *next, struct err *err)
{
    int64_t step = newest ? -1 : 1, k = after ? after + step : newest ? st->n_trials : 1;

    *next = 0;
    for (; k >= 1 && k <= st->n_trials; k += step) {
        if (only && st->trials[k - 1].state != only)
            continue;
        if ((int)json_array_size(list) == limit) {
            *next = k - step;
            return 0;
        }
        if (append(st, k, list, err) < 0)
            return -1;
    }
    return 0;
}

/* Trials by rank, after the rank `after`. */
static int list_ranks(struct study *st, int64_t after, int limit, json_t *list, int64_t *next,
                      struct err *err)
{
    int64_t k = MAX(after, 0);

    for (; k < MIN(after + limit, st->n_board); k++) {
        if (append(st, st->board[k], list, err) < 0)
            return -1;
    }
    *next = k < st->n_board ? k : 0;
    return 0;
}

int ctl_trials(struct ctl *ctl, const char *ref, const char *state, const char *sort, int64_t after,
               int limit, json_t **out, struct err *err)
{
    struct study *st = study_by_ref(ctl, ref, err);
    enum trial_state only = TS_NONE;
    json_t *list = NULL;
    int64_t next = 0;
    int rc = 0;

    if (!st || (state && state[0] && trial_state_parse(state, &only, err) < 0))
        return -1;
    if (!sort || !sort[0])
        sort = "number";
    if (after < 0)
        return err_at(err, "after", "must not be below 0");
    limit = limit < 1 || limit > PAGE_MAX ? PAGE_MAX : limit;
    list = json_array();
    if (str_eq(sort, "number") || str_eq(sort, "-number"))
        rc = list_numbers(st, only, sort[0] == '-', after, limit, list, &next, err);
    else if (str_eq(sort, "score"))
        rc = list_ranks(st, after, limit, list, &next, err);
    else
        rc = err_at(err, "sort", "must be number, -number or score");
    if (rc == 0)
        *out = json_pack("{s:O, s:o}", "trials", list, "next",
                         next ? json_integer((json_int_t)next) : json_null());
    json_decref(list);
    return rc;
}

/* ---- show ---- */

/* Finds a trial that is to be changed, and its study in memory. An ended study is not loaded for
 * this, because its trials cannot be changed: NULL with ERR_CONFLICT. */
static struct study *find(struct ctl *ctl, int64_t id, struct trial_row *row, struct err *err)
{
    int rc = store_trial_get(ctl->store, id, row, err);
    struct study *st = rc == 1 ? study_loaded(ctl, row->study) : NULL;
    struct study_row of = { 0 };

    if (rc == 0)
        err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc != 1 || st)
        return st;
    rc = store_study_get(ctl->store, row->study, &of, err);
    if (rc == 1 && study_is_final(of.state))
        err_set(err, ERR_CONFLICT, "study %s is %s: its trials do not change any more", of.name,
                study_state_name[of.state]);
    else if (rc == 1)
        st = study_by_id(ctl, row->study, err);
    study_row_fini(&of);
    return st;
}

static int on_report(void *arg, int level, double value, double se)
{
    json_array_append_new(arg, json_pack("{s:i, s:o, s:o}", "level", level, "value",
                                         jsonx_real(value), "se", jsonx_real(se)));
    return 0;
}

static int on_attempt(void *arg, const struct attempt_row *a)
{
    json_array_append_new(
        arg, json_pack("{s:I, s:I, s:s, s:i, s:i, s:s?, s:I, s:I}", "fence", (json_int_t)a->fence,
                       "runner", (json_int_t)a->runner, "device", a->device, "from", a->from_level,
                       "to", a->to_level, "end_reason", a->end_reason, "started_at",
                       (json_int_t)a->started_at, "ended_at", (json_int_t)a->ended_at));
    return 0;
}

int ctl_trial_get(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    json_t *reports = json_array(), *attempts = json_array(), *runs = NULL;
    bool is_live = false;
    int rc = store_trial_get(ctl->store, id, &row, err);

    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc == 1)
        rc = store_report_each(ctl->store, id, on_report, reports, err);
    if (rc == 0)
        rc = store_attempt_each(ctl->store, id, on_attempt, attempts, err);
    if (rc == 0)
        rc = epochs_list(ctl, id, &runs, &is_live, err);
    if (rc == 0) {
        *out = show_trial(&row);
        json_object_set(*out, "reports", reports);
        json_object_set(*out, "attempts", attempts);
        json_object_set_new(*out, "epochs", json_boolean(json_array_size(runs) > 0));
    }
    json_decref(reports);
    json_decref(attempts);
    json_decref(runs);
    trial_row_fini(&row);
    return rc;
}

int ctl_trial_epochs(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    json_t *runs = NULL;
    bool is_live = false;
    int rc = store_trial_get(ctl->store, id, &row, err);

    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc == 1)
        rc = epochs_list(ctl, id, &runs, &is_live, err);
    if (rc == 0)
        *out = json_pack("{s:I, s:I, s:I, s:s, s:b, s:o}", "trial", (json_int_t)row.id, "study",
                         (json_int_t)row.study, "number", (json_int_t)row.number, "state",
                         trial_state_name[row.state], "live", (int)is_live, "runs", runs);
    trial_row_fini(&row);
    return rc;
}

static int on_output(void *arg, const struct output_row *row)
{
    json_array_append_new(arg, json_pack("{s:I, s:I, s:I, s:s}", "piece", (json_int_t)row->piece,
                                         "lease", (json_int_t)row->fence, "at", (json_int_t)row->at,
                                         "text", row->text));
    return 0;
}

int ctl_trial_output(struct ctl *ctl, int64_t id, int64_t after, int limit, json_t **out,
                     struct err *err)
{
    struct trial_row row = { 0 };
    json_t *pieces = json_array();
    int rc = store_trial_get(ctl->store, id, &row, err);

    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc == 1)
        rc = store_output_each(ctl->store, id, after, limit, on_output, pieces, err);
    if (rc == 0) {
        size_t n = json_array_size(pieces);
        json_t *last = json_array_get(pieces, n - 1);
        json_int_t next =
            n > 0 ? json_integer_value(json_object_get(last, "piece")) : (json_int_t)after;
        *out = json_pack("{s:I, s:I, s:I, s:s, s:b, s:b, s:I, s:O}", "trial", (json_int_t)row.id,
                         "study", (json_int_t)row.study, "number", (json_int_t)row.number, "state",
                         trial_state_name[row.state], "live", (int)!trial_is_final(row.state),
                         "more", (int)(n == (size_t)limit), "next", next, "pieces", pieces);
    }
    json_decref(pieces);
    trial_row_fini(&row);
    return rc;
}

int ctl_trial_pipeline(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    json_t *pipeline = NULL;
    int rc = store_trial_get(ctl->store, id, &row, err);

    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc == 1)
        rc = pipelines_get(ctl, &row, &pipeline, err);
    if (rc == 0) {
        json_t *trial = show_trial(&row);
        *out = json_pack("{s:I, s:I, s:I, s:O, s:O, s:o}", "trial", (json_int_t)row.id, "study",
                         (json_int_t)row.study, "number", (json_int_t)row.number, "family",
                         json_object_get(trial, "family"), "config",
                         json_object_get(trial, "config"), "pipeline", pipeline);
        json_decref(trial);
    }
    trial_row_fini(&row);
    return rc;
}

static int on_journal(void *arg, const struct journal_row *row)
{
    json_array_append_new(arg, events_json(row));
    return 0;
}

int ctl_trial_logs(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    json_t *list = json_array();
    int rc = store_trial_get(ctl->store, id, &row, err);

    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    if (rc == 1)
        rc = store_journal_trial(ctl->store, id, LOG_MAX, on_journal, list, err);
    if (rc == 0)
        *out = json_pack("{s:O}", "events", list);
    json_decref(list);
    trial_row_fini(&row);
    return rc;
}

/* Only the best trials of a study keep their models (CTL_KEEP_BEST in state/study.h). */
int ctl_trial_artifact(struct ctl *ctl, int64_t id, char sha256[SHA256_HEX], struct err *err)
{
    struct trial_row row = { 0 };
    int rc = store_trial_get(ctl->store, id, &row, err);

    if (rc == 0)
        rc = err_set(err, ERR_NOTFOUND, "no trial %" PRId64, id);
    else if (rc == 1 && !row.artifact[0])
        rc = err_set(err, ERR_NOTFOUND, "trial %" PRId64 " has no model: only the best are kept",
                     id);
    if (rc == 1)
        str_copy(sha256, SHA256_HEX, row.artifact);
    trial_row_fini(&row);
    return rc < 0 ? -1 : 0;
}

/* ---- verbs ---- */

int ctl_trial_kill(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    struct study *st = find(ctl, id, &row, err);
    int rc = -1;

    if (st && trial_is_final(row.state)) {
        err_set(err, ERR_CONFLICT, "trial %s/%" PRId64 " has already ended (%s)", st->row.name,
                row.number, trial_state_name[row.state]);
    } else if (st) {
        row.reason = TR_USER;
        json_t *data = json_pack("{s:s}", "reason", trial_reason_name[TR_USER]);
        rc = trial_move(st, &row, TE_CANCEL, data, "killed", err);
    }
    if (rc == 0 && (rc = study_settle(st, err)) == 0)
        *out = show_trial(&row);
    trial_row_fini(&row);
    return rc;
}

/* Makes the next number free: if a suggestion was begun for it, waits for that suggestion and
 * creates its trial. No further one is begun meanwhile (holds_suggestions). */
static int make_begun(struct study *st, struct err *err)
{
    int rc = 0;

    if (!ahead_is_open(st))
        return 0;
    ctl_touch(st->ctl, st);
    CHECK(!st->search->holds_suggestions);
    st->search->holds_suggestions = true;
    rc = ahead_settle(st, err);
    if (rc == 0)
        rc = settle_begun(st, err);
    st->search->holds_suggestions = false;
    st->ctl->is_deferred = true;
    if (rc == 0 && ahead_is_open(st))
        return err_set(err, ERR_BUSY, "study %s is creating another trial: try again in a second",
                       st->row.name);
    return rc < 0 ? -1 : 0;
}

/* Creates a trial that a user asks for, and shows it. */
static int add(struct study *st, const struct config *c, enum trial_source source, int64_t retry_of,
               json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    int64_t number = 0;
    int rc = -1;

    if (!study_is_open(st) || !st->search)
        return err_set(err, ERR_CONFLICT, "study %s is %s: it takes no more trials", st->row.name,
                       st->problem.is_ready ? study_state_name[st->row.state]
                                            : "waiting for its data");
    if (st->spec.budget_trials && st->n_trials >= st->spec.budget_trials)
        return err_set(err, ERR_CONFLICT,
                       "the budget of %" PRId64 " trials is used: raise it first",
                       st->spec.budget_trials);
    if (!(c->family->tasks & st->problem.task))
        return err_at(err, "family", "%s does not do the task %s", c->family->name,
                      st->problem.data.task);
    /* In a deterministic study the trial is only created here. The plan starts it, and tells the
     * searchers of it, when its virtual clock comes to its number. */
    if (make_begun(st, err) < 0)
        return -1;
    number = st->n_trials + 1;
    if (settle_adopt(st, c, source, retry_of, err) < 0 || study_settle(st, err) < 0)
        return -1;
    rc = trial_load(st, number, &row, err);
    if (rc == 0)
        *out = show_trial(&row);
    trial_row_fini(&row);
    return rc;
}

int ctl_trial_retry(struct ctl *ctl, int64_t id, json_t **out, struct err *err)
{
    struct trial_row row = { 0 };
    struct study *st = find(ctl, id, &row, err);
    struct config c;
    int rc = -1;

    if (st && !trial_is_final(row.state))
        err_set(err, ERR_CONFLICT, "trial %" PRId64 " is %s: it has not ended", id,
                trial_state_name[row.state]);
    else if (st && config_parse_text(&c, row.config, st->space.own, err) == 0)
        rc = add(st, &c, SRC_RETRY, id, out, err);
    trial_row_fini(&row);
    return rc;
}

int ctl_trial_enqueue(struct ctl *ctl, const char *study, const json_t *config, json_t **out,
                      struct err *err)
{
    struct study *st = study_by_ref(ctl, study, err);
    struct config c;

    if (!st || config_parse(&c, config, NULL, st->space.own, err) < 0)
        return -1;
    return add(st, &c, SRC_USER, 0, out, err);
}
