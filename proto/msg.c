/* msg.c - the JSON forms of the runner protocol: one field table per message (docs/PROTOCOL.md
 * explains each field), and the checks that a table cannot express: versions, unique devices, and
 * what each kind of grant must carry.
 *
 * A decoder returns a whole message or nothing: on error it has freed everything, and the struct is
 * as init left it. Unknown fields are ignored, so that a newer peer may add some. */
#include "proto/msg.h"

#include "base/mem.h"
#include "base/str.h"
#include "proto/codec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Ceilings of what a peer may send. CONFIG_MAX: one configuration. DETAIL_MAX: a result, of which
 * the largest is the schema of a table. MAX_HELD: every trial that a runner can hold. */
enum {
    CONFIG_MAX = 64 << 10,
    DETAIL_MAX = 8 << 20,
    EPOCHS_MAX = 256 << 10,
    MAX_EVENTS = 4096,
    MAX_HELD = MSG_MAX_DEVICES * MSG_MAX_TRIALS,
    MAX_TASKS = 256,
    LEVEL_MAX = 1 << 20
};
#define REQ JSONX_REQUIRED
#define OPT JSONX_OPTIONAL
#define TABLE(fields, init)             \
    {                                   \
        fields, ARRAY_LEN(fields), init \
    }

const char *const msg_type_name[MSG_TYPES] = {
    [MSG_PROGRESS] = "progress",       [MSG_RUNG] = "rung",     [MSG_FINAL] = "final",
    [MSG_COMPLETE] = "complete",       [MSG_PAUSED] = "paused", [MSG_CHECKPOINT] = "checkpoint",
    [MSG_OUTPUT] = "output",           [MSG_FAILED] = "failed", [MSG_TASK_DONE] = "task_done",
    [MSG_PREDICTIONS] = "predictions", [MSG_MEET] = "meet",     [MSG_TASK_MEET] = "task_meet",
    [MSG_TASK_FAILED] = "task_failed",
};
const char *const msg_action_name[MSG_ACTIONS] = {
    [MSG_OK] = "ok",     [MSG_RUN_TO] = "run_to", [MSG_PAUSE] = "pause", [MSG_STOP] = "stop",
    [MSG_KEEP] = "keep", [MSG_DROP] = "drop",     [MSG_STALE] = "stale",
};
static const char *const kind_name[] = {
    [MSG_FIT] = "fit",   [MSG_INGEST] = "ingest",     [MSG_REFIT] = "refit",
    [MSG_RANK] = "rank", [MSG_ENSEMBLE] = "ensemble",
};

void msg_event_init(struct msg_event *e)
{
    memset(e, 0, sizeof *e);
    e->value = e->se = e->select_value = e->test_value = e->test_se = NAN;
}

bool msg_is_passing(enum msg_type t)
{
    return t == MSG_PROGRESS || t == MSG_MEET || t == MSG_TASK_MEET;
}

bool msg_is_of_task(enum msg_type t)
{
    return t == MSG_TASK_DONE || t == MSG_TASK_FAILED || t == MSG_TASK_MEET;
}

static void event_init(void *e)
{
    msg_event_init(e);
}

/* ---- hello, welcome, ask ---- */

static const struct codec_field device_fields[] = {
    F_STR(msg_device, id, REQ),
    F_STR(msg_device, kind, REQ),
    F_STR(msg_device, name, OPT),
    F_I64(msg_device, memory_bytes, OPT, 0, INT64_MAX),
    F_INT_AS(msg_device, max_trials, "max_lanes", REQ, 1, MSG_MAX_TRIALS),
    F_BOOL(msg_device, commands),
    F_BOOL(msg_device, meets),
    F_BOOL(msg_device, blends),
};
static const struct codec_table device_table = TABLE(device_fields, NULL);

static const struct codec_field hello_fields[] = {
    F_INT(msg_hello, protocol, REQ, 1, 1 << 20),
    F_STR(msg_hello, name, REQ),
    F_STR(msg_hello, session, REQ),
    F_STR(msg_hello, follows, OPT),
    F_STR(msg_hello, numeric_sig, REQ),
    F_STR(msg_hello, labels, OPT),
    F_ARRAY(msg_hello, devices, n_devices, REQ, MSG_MAX_DEVICES, &device_table),
};
static const struct codec_table hello_table = TABLE(hello_fields, NULL);

static const struct codec_field welcome_fields[] = {
    F_I64(msg_welcome, runner, REQ, 1, INT64_MAX),
    F_I64(msg_welcome, lease_ms, REQ, 1, INT64_MAX),
};
static const struct codec_table welcome_table = TABLE(welcome_fields, NULL);

static const struct codec_field ask_fields[] = {
    F_STR(msg_ask, session, REQ),
    F_I64(msg_ask, n, REQ, 1, INT64_MAX),
    F_STR(msg_ask, device, REQ),
    F_INT_AS(msg_ask, max_trials, "max_lanes", REQ, 1, MSG_MAX_TRIALS),
    F_I64(msg_ask, host_bytes, OPT, 0, INT64_MAX),
    F_I64(msg_ask, device_bytes, OPT, 0, INT64_MAX),
    F_SHAS(msg_ask, cached, n_cached, MSG_MAX_CACHED),
    F_I64(msg_ask, wait_s, OPT, 0, 60),
};
static const struct codec_table ask_table = TABLE(ask_fields, NULL);

/* ---- grant ---- */

static const struct codec_field data_fields[] = {
    F_SHA(msg_data, frame, OPT),
    F_SHA(msg_data, test_frame, OPT),
    F_STR(msg_data, target, OPT),
    F_STR(msg_data, positive, OPT),
    F_STR(msg_data, monotone, OPT),
    F_STR(msg_data, groups, OPT),
    F_STR(msg_data, time_column, OPT),
    F_STR(msg_data, weights, OPT),
    F_F64(msg_data, gap),
    F_BOOL(msg_data, groups_are_input),
    F_BOOL(msg_data, time_is_input),
    F_STR(msg_data, task, OPT),
    F_STR(msg_data, metric, OPT),
    F_F64(msg_data, test_fraction),
    F_INT(msg_data, folds, OPT, 0, 1000),
    F_BOOL(msg_data, holdout),
    F_U64(msg_data, split_seed, OPT),
    F_STR(msg_data, resource, OPT),
    F_I64(msg_data, rows, OPT, 0, INT64_MAX),
    F_I64(msg_data, columns, OPT, 0, INT64_MAX),
};
static const struct codec_table data_table = TABLE(data_fields, NULL);

static const struct codec_field trial_fields[] = {
    F_I64(msg_trial, trial, REQ, 1, INT64_MAX),
    F_I64(msg_trial, fence, REQ, 1, INT64_MAX),
    F_JSON_KNOWN(msg_trial, config, config_json, REQ, CONFIG_MAX),
    F_U64(msg_trial, seed, REQ),
    F_INT(msg_trial, from, OPT, 0, LEVEL_MAX),
    F_INT(msg_trial, to, REQ, 1, LEVEL_MAX),
    F_SHA(msg_trial, checkpoint, OPT),
    F_F64(msg_trial, growth),
};
static const struct codec_table trial_table = TABLE(trial_fields, NULL);

static const struct codec_field model_fields[] = {
    F_I64(msg_model, trial, REQ, 1, INT64_MAX),
    F_SHA(msg_model, artifact, REQ),
    F_SHA(msg_model, predictions, REQ),
};
static const struct codec_table model_table = TABLE(model_fields, NULL);

static const struct codec_field grant_fields[] = {
    F_ENUM(msg_grant, kind, REQ, kind_name, (int)ARRAY_LEN(kind_name)),
    F_I64(msg_grant, group, OPT, 0, INT64_MAX),
    F_I64(msg_grant, study, OPT, 0, INT64_MAX),
    F_I64(msg_grant, deadline_ms, OPT, 0, INT64_MAX),
    F_I64(msg_grant, trial_time_ms, OPT, 0, INT64_MAX),
    F_I64(msg_grant, trial_steep_ms, OPT, 0, INT64_MAX),
    F_I64(msg_grant, trial_memory_bytes, OPT, 0, INT64_MAX),
    F_OBJ(msg_grant, data, OPT, &data_table),
    F_LIST_AS(msg_grant, trials, "lanes", n_trials, OPT, MSG_MAX_TRIALS, &trial_table),
    F_INT(msg_grant, ranks, OPT, 0, MSG_MAX_RANKS),
    F_INT(msg_grant, rank, OPT, 0, MSG_MAX_RANKS - 1),
    F_STR(msg_grant, secret, OPT),
    F_I64(msg_grant, task, OPT, 0, INT64_MAX),
    F_I64(msg_grant, fence, OPT, 0, INT64_MAX),
    F_JSON(msg_grant, config, OPT, DETAIL_MAX),
    F_JSON(msg_grant, command, OPT, DETAIL_MAX),
    F_STR(msg_grant, study_name, OPT),
    F_INT(msg_grant, levels, OPT, 0, LEVEL_MAX),
    F_SHA(msg_grant, source, OPT),
    F_STR(msg_grant, source_name, OPT),
    F_I64(msg_grant, max_bytes, OPT, 0, INT64_MAX),
    F_U64(msg_grant, seed, OPT),
    F_INT(msg_grant, rounds_hint, OPT, 0, INT32_MAX),
    F_STR(msg_grant, free_json, OPT),
    F_SHA(msg_grant, model, OPT),
    F_BOOL(msg_grant, keeps_predictions),
    F_LIST(msg_grant, models, n_models, OPT, MSG_MAX_MODELS, &model_table),
    F_INT(msg_grant, members, OPT, 0, MSG_MAX_MODELS),
};
static const struct codec_table grant_table = TABLE(grant_fields, NULL);

/* ---- report and answer ---- */

static const struct codec_field event_fields[] = {
    F_ENUM(msg_event, type, REQ, msg_type_name, MSG_TYPES),
    F_I64(msg_event, trial, REQ, 1, INT64_MAX),
    F_I64(msg_event, fence, REQ, 1, INT64_MAX),
    F_I64(msg_event, seq, REQ, 0, INT64_MAX),
    F_INT(msg_event, level, OPT, 0, LEVEL_MAX),
    F_F64(msg_event, progress),
    F_F64(msg_event, value),
    F_F64(msg_event, se),
    F_F64(msg_event, select_value),
    F_F64(msg_event, test_value),
    F_F64(msg_event, test_se),
    F_I64(msg_event, fit_us, OPT, 0, INT64_MAX),
    F_I64(msg_event, predict_ns_row, OPT, 0, INT64_MAX),
    F_I64(msg_event, model_bytes, OPT, 0, INT64_MAX),
    F_I64(msg_event, work_units, OPT, 0, INT64_MAX),
    F_I64(msg_event, peak_bytes, OPT, 0, INT64_MAX),
    F_BOOL(msg_event, cut),
    F_SHA(msg_event, blob, OPT),
    F_STR(msg_event, address, OPT),
    F_ENUM(msg_event, reason, OPT, trial_reason_name, TR_REASONS),
    F_TEXT(msg_event, detail, DETAIL_MAX),
    F_JSON(msg_event, epochs, OPT, EPOCHS_MAX),
};
static const struct codec_table event_table = TABLE(event_fields, event_init);

static const struct codec_field held_fields[] = {
    F_I64(msg_held, trial, REQ, 1, INT64_MAX),
    F_I64(msg_held, fence, REQ, 1, INT64_MAX),
};
static const struct codec_table held_table = TABLE(held_fields, NULL);

static const struct codec_field asked_fields[] = {
    F_STR(msg_asked, device, REQ),
    F_I64(msg_asked, n, REQ, 0, INT64_MAX),
};
static const struct codec_table asked_table = TABLE(asked_fields, NULL);

static const struct codec_field report_fields[] = {
    F_STR(msg_report, session, REQ),
    F_STR(msg_report, device, OPT),
    F_LIST(msg_report, events, n_events, OPT, MAX_EVENTS, &event_table),
    F_LIST(msg_report, held, n_held, OPT, MAX_HELD, &held_table),
    F_LIST(msg_report, tasks, n_tasks, OPT, MAX_TASKS, &held_table),
    F_LIST(msg_report, asked, n_asked, OPT, MSG_MAX_DEVICES, &asked_table),
};
static const struct codec_table report_table = TABLE(report_fields, NULL);

static const struct codec_field reply_fields[] = {
    F_I64(msg_reply, trial, REQ, 1, INT64_MAX),
    F_I64(msg_reply, fence, REQ, 1, INT64_MAX),
    F_I64(msg_reply, seq, REQ, 0, INT64_MAX),
    F_ENUM(msg_reply, action, REQ, msg_action_name, MSG_ACTIONS),
    F_INT(msg_reply, to, OPT, 0, LEVEL_MAX),
    F_I64(msg_reply, deadline_ms, OPT, 0, INT64_MAX),
    F_STR(msg_reply, address, OPT),
};
static const struct codec_table reply_table = TABLE(reply_fields, NULL);

static const struct codec_field answer_fields[] = {
    F_LIST(msg_answer, replies, n_replies, OPT, MAX_EVENTS, &reply_table),
    F_LIST(msg_answer, stop, n_stop, OPT, MAX_HELD, &held_table),
    F_LIST(msg_answer, stop_tasks, n_stop_tasks, OPT, MAX_TASKS, &held_table),
    F_I64(msg_answer, lease_ms, REQ, 1, INT64_MAX),
    F_BOOL(msg_answer, drain),
};
static const struct codec_table answer_table = TABLE(answer_fields, NULL);

/* ---- the public functions ---- */

static int session_check(const char *session, struct err *err)
{
    return str_name_ok(session) ? 0 : err_at(err, "session", "must be 1 to 32 letters or digits");
}

static bool protocol_spoken(int64_t n)
{
    return n == MSG_PROTOCOL || (n == MSG_PROTOCOL - 1 && n >= 1);
}

static int hello_check(const struct msg_hello *m, struct err *err)
{
    char where[64];

    if (session_check(m->session, err) < 0)
        return -1;
    if (m->follows[0] && !str_name_ok(m->follows))
        return err_at(err, "follows", "must be up to 32 letters or digits");
    if (m->n_devices < 1)
        return err_at(err, "devices", "must name at least one device");
    for (int i = 0; i < m->n_devices; i++) {
        jsonx_path_at(where, sizeof where, "devices", (size_t)i);
        if (!str_name_ok(m->devices[i].id))
            return err_at(err, where, "\"%s\" is no device id", m->devices[i].id);
        for (int k = 0; k < i; k++) {
            if (str_eq(m->devices[k].id, m->devices[i].id))
                return err_at(err, where, "device %s is named twice", m->devices[i].id);
        }
    }
    return 0;
}

json_t *msg_hello_json_new(const struct msg_hello *m)
{
    return codec_json_new(&hello_table, m);
}

int msg_hello_parse(struct msg_hello *m, const json_t *j, struct err *err)
{
    int64_t n = 0;

    memset(m, 0, sizeof *m);
    /* The version is read before everything else, because another version may have other fields. */
    if (jsonx_i64(j, NULL, "protocol", REQ, 0, INT32_MAX, &n, err) < 0)
        return -1;
    if (!protocol_spoken(n))
        return err_set(err, ERR_VERSION,
                       "the runner speaks protocol %" PRId64 ", this controller %s%d", n,
                       MSG_PROTOCOL > 1 ? "the one before and " : "", MSG_PROTOCOL);
    if (codec_parse(&hello_table, m, j, NULL, err) < 0)
        return -1;
    return hello_check(m, err);
}

json_t *msg_welcome_json_new(const struct msg_welcome *m)
{
    return codec_json_new(&welcome_table, m);
}

int msg_welcome_parse(struct msg_welcome *m, const json_t *j, struct err *err)
{
    memset(m, 0, sizeof *m);
    return codec_parse(&welcome_table, m, j, NULL, err);
}

json_t *msg_ask_json_new(const struct msg_ask *m)
{
    return codec_json_new(&ask_table, m);
}

int msg_ask_parse(struct msg_ask *m, const json_t *j, struct err *err)
{
    memset(m, 0, sizeof *m);
    if (codec_parse(&ask_table, m, j, NULL, err) < 0)
        return -1;
    return session_check(m->session, err);
}

static int trials_check(const struct msg_grant *m, struct err *err)
{
    char where[64];

    if (m->n_trials < 1)
        return err_at(err, "grant.lanes", "a fit needs at least one trial");
    for (int i = 0; i < m->n_trials; i++) {
        jsonx_path_at(where, sizeof where, "grant.lanes", (size_t)i);
        if (m->trials[i].from >= m->trials[i].to)
            return err_at(err, where, "runs from level %d to %d", m->trials[i].from,
                          m->trials[i].to);
    }
    return 0;
}

static int grant_check(const struct msg_grant *m, struct err *err)
{
    if (m->command && (m->kind != MSG_FIT || m->n_trials != 1 || m->levels < 1))
        return err_at(err, "grant.command", "belongs to a fit of one trial, with its levels");
    if (m->kind != MSG_INGEST && m->kind != MSG_ENSEMBLE && !m->command && !m->data.frame[0])
        return err_at(err, "grant.data.frame", "is required");
    if (!(m->data.test_fraction >= 0 && m->data.test_fraction < 1))
        return err_at(err, "grant.data.test_fraction", "must be from 0 to below 1");
    if (m->ranks && (m->ranks < 2 || m->rank >= m->ranks || !m->secret[0] || m->n_trials != 1 ||
                     (m->kind == MSG_FIT) != (m->rank == 0)))
        return err_at(err, "grant.ranks", "do not fit the rest of the grant");
    if (m->kind == MSG_RANK && !m->ranks)
        return err_at(err, "grant.ranks", "is required");
    if ((m->kind == MSG_FIT || m->kind == MSG_RANK) && trials_check(m, err) < 0)
        return -1;
    if (m->kind == MSG_FIT)
        return 0;
    if (m->task < 1 || m->fence < 1)
        return err_at(err, "grant", "a task needs its id and fence");
    if (m->kind == MSG_INGEST && !m->source[0])
        return err_at(err, "grant.source", "is required");
    if (m->kind == MSG_ENSEMBLE && (m->n_models < 2 || m->members < 2))
        return err_at(err, "grant.models", "an ensemble needs at least two");
    if (m->kind == MSG_REFIT && !m->config)
        return err_at(err, "grant.config", "is required");
    return 0;
}

json_t *msg_grant_json_new(const struct msg_grant *m)
{
    json_t *o = json_object();

    CHECK(json_object_set_new(o, "grant", m ? codec_json_new(&grant_table, m) : json_null()) == 0);
    return o;
}

int msg_grant_parse(struct msg_grant *m, const json_t *j, struct err *err)
{
    const json_t *grant = json_object_get(j, "grant");

    memset(m, 0, sizeof *m);
    if (!grant)
        return err_at(err, "grant", "is required");
    if (json_is_null(grant))
        return 0;
    if (codec_parse(&grant_table, m, grant, "grant", err) < 0 || grant_check(m, err) < 0) {
        msg_grant_fini(m);
        return -1;
    }
    return 1;
}

void msg_grant_fini(struct msg_grant *m)
{
    codec_fini(&grant_table, m);
}

json_t *msg_report_json_new(const struct msg_report *m)
{
    return codec_json_new(&report_table, m);
}

int msg_report_parse(struct msg_report *m, const json_t *j, struct err *err)
{
    memset(m, 0, sizeof *m);
    if (codec_parse(&report_table, m, j, NULL, err) < 0 || session_check(m->session, err) < 0) {
        msg_report_fini(m);
        return -1;
    }
    return 0;
}

void msg_report_fini(struct msg_report *m)
{
    codec_fini(&report_table, m);
}

json_t *msg_answer_json_new(const struct msg_answer *m)
{
    return codec_json_new(&answer_table, m);
}

int msg_answer_parse(struct msg_answer *m, const json_t *j, struct err *err)
{
    memset(m, 0, sizeof *m);
    if (codec_parse(&answer_table, m, j, NULL, err) < 0) {
        msg_answer_fini(m);
        return -1;
    }
    return 0;
}

void msg_answer_fini(struct msg_answer *m)
{
    codec_fini(&answer_table, m);
}
