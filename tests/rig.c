/* rig.c - see rig.h. Failures are cmocka's: a call that must work asserts. */
#include "tests/rig.h"

#include "base/fault.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sha256.h"
#include "base/str.h"
#include "controller/decide/ahead.h"
#include "controller/state/lease.h"
#include "controller/state/runner.h"
#include "ml/family/family.h"
#include "ml/model/artifact_head.h"
#include "store/blob.h"
#include "store/journal.h"
#include "tests/search/probe.h"

#include <math.h>
#include <unistd.h>

struct err rig_err;
bool rig_healed;

void rig_heal(void)
{
    rig_healed = fault_disarm() == 1 || rig_healed;
}

/* ---- the controller ---- */

static void open_ctl(struct rig *r)
{
    struct err err = { 0 };

    r->ctl = ctl_new(&r->conf, &r->clk, NULL, &err);
    for (int i = 0; i < 2 && !r->ctl;
         i++) { /* a start that a fault struck is tried again, as systemd would */
        if (i > 0)
            rig_heal();
        r->ctl = ctl_new(&r->conf, &r->clk, NULL, &err);
    }
    if (!r->ctl)
        fail_msg("controller: %s", err.text);
}

void rig_open(struct rig *r)
{
    /* Thousands of small commits: in memory where that is possible. */
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");

    *r = (struct rig){ 0 };
    snprintf(r->dir, sizeof r->dir, "%s/rig-XXXXXX", base ? base : "/tmp");
    assert_non_null(mkdtemp(r->dir));
    log_level_set(getenv("RIG_LOG") ? LOG_DEBUG : LOG_ERROR);
    clk_init_manual(&r->clk, 1000000, INT64_C(1700000000000));
    r->conf = (struct ctl_conf){ .data_dir = r->dir,
                                 .quarantine_ms = 60000,
                                 .dev = true,
                                 .lease_ms = RIG_LEASE_MS,
                                 .max_wait_ms = 60000,
                                 .max_trials = 1000000 };
    open_ctl(r);
}

static void on_diff(void *arg, const char *line)
{
    (void)arg;
    fail_msg("the journal does not rebuild the state: %s", line);
}

void rig_stop(struct rig *r)
{
    struct err err = { 0 };

    if (store_replay(r->ctl->store, on_diff, NULL, &err) < 0)
        fail_msg("replay: %s", err.text);
    ctl_free(r->ctl);
    r->ctl = NULL;
}

void rig_close(struct rig *r)
{
    struct err err = { 0 };

    if (r->ctl)
        rig_stop(r);
    if (io_remove_tree(r->dir, &err) < 0)
        fail_msg("remove: %s", err.text);
}

void rig_restart(struct rig *r)
{
    ctl_free(r->ctl);
    open_ctl(r);
}

/* Leases of this device, or of the whole runner, by a walk over all of them. */
static int leases_of(const struct ctl *ctl, int64_t runner, const char *device)
{
    int n = 0;

    for (int i = 0; i < ctl->n_leases; i++)
        n += ctl->leases[i].runner == runner && (!device || str_eq(ctl->leases[i].device, device));
    return n;
}

void rig_counts_check(struct ctl *ctl)
{
    int devices = 0, idle = 0, trials = 0, here = 0, n_devices = 0, n_idle = 0;

    if (ctl->is_runners_old || ctl->is_tasks_old)
        return; /* memory is known not to be what the rows say */
    for (int i = 0; i < ctl->n_runners; i++) {
        struct runner *r = ctl->runners[i];
        bool is_here = runner_is_here(ctl, r);

        here += is_here;
        assert_ptr_equal(runner_find(ctl, r->row.id), r);
        assert_int_equal(r->n_leases, leases_of(ctl, r->row.id, NULL));
        for (int k = 0; k < r->n_devices; k++) {
            const struct device *d = &r->devices[k];
            bool counts = is_here && runner_is_enabled(r) && !d->is_quarantined;

            assert_int_equal(d->n_leases, leases_of(ctl, r->row.id, d->is.id));
            devices += counts;
            idle += counts && d->n_leases == 0;
            trials += counts ? d->is.max_trials : 0;
            assert_true(!d->is_quarantined || d->quarantined_until >= ctl->quarantine_due);
        }
    }
    assert_int_equal(runner_capacity(ctl, "", &n_devices, &n_idle), trials);
    assert_int_equal(n_devices, devices);
    assert_int_equal(n_idle, idle);
    assert_int_equal(runner_here(ctl), here);
    for (int i = 0; i < ctl->n_leases; i++) {
        const struct lease *l = &ctl->leases[i];
        int n = 0, n_leaving = 0;

        for (int k = 0; k < ctl->n_leases; k++) {
            n += !ctl->leases[k].is_task && ctl->leases[k].study == l->study;
            n_leaving += !ctl->leases[k].is_task && ctl->leases[k].study == l->study &&
                         ctl->leases[k].is_leaving;
        }
        assert_int_equal(lease_count_study(ctl, l->study), n);
        assert_int_equal(lease_count_leaving(ctl, l->study), n_leaving);
        assert_true(lease_due(ctl) <= l->expires_ms);
    }
}

void rig_turn(struct rig *r)
{
    ctl_turn_end(r->ctl);
    rig_counts_check(r->ctl);
}

void rig_pass(struct rig *r, int64_t ms)
{
    clk_advance(&r->clk, ms);
    ctl_tick(r->ctl);
    rig_turn(r);
}

int rig_begin(struct rig *r)
{
    rig_err = (struct err){ 0 };
    if (ctl_request_begin(r->ctl, &rig_err) == 0)
        return 0;
    ctl_turn_end(r->ctl);
    return -1;
}

static void on_committed(void *arg, bool ok, const struct err *err)
{
    struct rig *r = arg;

    r->committed = ok;
    if (!ok)
        rig_err = *err;
}

int rig_end(struct rig *r, int rc)
{
    struct err err = { 0 };

    if (ctl_request_end(r->ctl, rc >= 0, &err) < 0) {
        rig_err = err;
        rc = -1;
    }
    r->committed = false;
    ctl_after_commit(r->ctl, on_committed, r);
    rig_turn(r);
    return r->committed ? rc : -1;
}

enum { HEAL_MS = 600 };

/* Calls of fake runners are repeated like a network client's: a fault that strikes once does not stop them. */
#define RETRY(rc, out, r, call)                            \
    do {                                                   \
        for (int try_ = 0; try_ < 4 && (rc) < 0; try_++) { \
            json_decref(out);                              \
            (out) = NULL;                                  \
            if (try_ == 2) {                               \
                rig_heal();                                \
                rig_pass(r, HEAL_MS);                      \
            }                                              \
            (rc) = RIG_CALL(r, call);                      \
        }                                                  \
    } while (0)

/* ---- things ---- */

json_t *rig_json(const char *text)
{
    struct err err = { 0 };
    char *copy = mem_strdup(text);
    json_t *v = NULL;

    for (char *p = copy; *p; p++) {
        if (*p == '\'')
            *p = '"';
    }
    v = jsonx_load(copy, strlen(copy), "test", &err);
    if (!v)
        fail_msg("%s: %s", copy, err.text);
    mem_free(copy);
    return v;
}

const char *rig_blob(struct rig *r, const char *tag, char out[SHA256_HEX])
{
    json_t *none = NULL;
    int rc = -1;

    sha256_hex(tag, strlen(tag), out);
    RETRY(rc, none, r, ctl_blob_add(r->ctl, out, (int64_t)strlen(tag) + 1, "test", &rig_err));
    if (rc < 0)
        fail_msg("blob: %s", rig_err.text);
    return out;
}

void rig_file(struct rig *r, const char *sha256, const void *bytes, size_t n)
{
    char path[700];
    FILE *f = NULL;
    int n_folder = snprintf(path, sizeof path, "%s/blobs/%.2s", r->dir, sha256);

    assert_int_equal(io_mkdirs(path, 0700, NULL), 0);
    snprintf(path + n_folder, sizeof path - (size_t)n_folder, "/%s", sha256);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void put(uint8_t **at, const void *p, size_t n)
{
    memcpy(*at, p, n);
    *at += n;
}

/* The same with a file that begins as a model does, and has empty sections. Little-endian, as this machine. */
const char *rig_model(struct rig *r, const char *tag, char out[SHA256_HEX])
{
    const uint32_t versions[] = { ARTIFACT_FORMAT, 1, SECTIONS };
    const uint64_t place[] = { ARTIFACT_HEAD_BYTES, 0 };
    uint8_t head[ARTIFACT_HEAD_BYTES], *at = head, nothing[SHA256_BYTES];
    struct sha256 h;

    sha256_init(&h);
    sha256_end(&h, nothing);

    rig_blob(r, tag, out);
    put(&at, ARTIFACT_MAGIC, 8);
    put(&at, versions, sizeof versions);
    for (int i = 0; i < SECTIONS; i++) {
        put(&at, artifact_section_names[i], ARTIFACT_NAME_BYTES);
        put(&at, place, sizeof place);
        put(&at, nothing, SHA256_BYTES);
    }
    assert_int_equal(at - head, ARTIFACT_HEAD_BYTES);
    rig_file(r, out, head, sizeof head);
    return out;
}

static const char schema_text[] =
    "{'rows':1000,'columns':["
    "{'name':'x1','type':'numeric','missing':0,'distinct':900,'min':0,'max':9.5,'mean':4},"
    "{'name':'x2','type':'numeric','missing':0,'distinct':900,'min':0,'max':9.5,'mean':4},"
    "{'name':'x3','type':'numeric','missing':7,'distinct':900,'min':0,'max':9.5,'mean':4},"
    "{'name':'x4','type':'numeric','missing':0,'distinct':15,'min':0,'max':14,'mean':4},"
    "{'name':'x5','type':'numeric','missing':0,'distinct':1,'min':1,'max':1,'mean':1},"
    "{'name':'c','type':'categorical','missing':0,'distinct':4,'levels':['a','b','c','d']},"
    "{'name':'y','type':'categorical','missing':0,'distinct':2,'levels':['no','yes']}]}";

static void ingest(struct fake *f, const struct msg_grant *g)
{
    char frame[SHA256_HEX], *text = NULL;
    struct msg_event e;
    struct msg_answer a;
    json_t *detail = NULL;

    rig_blob(f->rig, g->source, frame);
    rig_file(f->rig, frame, g->source, strlen(g->source));
    json_t *schema = rig_json(schema_text);
    if (f->rig->has_images)
        json_object_set_new(schema, "image", rig_json("{'height':8,'width':8,'channels':1}"));
    detail = json_pack("{s:s, s:i, s:i, s:i, s:o}", "frame", frame, "bytes", 100, "rows", 1000,
                       "cols", 7, "schema", schema);
    text = jsonx_dump(detail);
    json_decref(detail);
    msg_event_init(&e);
    e.type = MSG_TASK_DONE;
    e.trial = g->task;
    e.fence = g->fence;
    e.seq = 1;
    e.detail = text;
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    assert_int_equal(a.replies[0].action, MSG_OK);
    msg_answer_fini(&a);
    mem_free(text);
}

static void refit(struct fake *f, const struct msg_grant *g)
{
    struct msg_event e;
    struct msg_answer a;
    char tag[100];

    snprintf(tag, sizeof tag, "refit of %s", g->config);
    msg_event_init(&e);
    e.type = MSG_TASK_DONE;
    e.trial = g->task;
    e.fence = g->fence;
    e.seq = 1;
    rig_model(f->rig, tag, e.blob);
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    assert_int_equal(a.replies[0].action, MSG_OK);
    msg_answer_fini(&a);
}

void rig_dataset(struct rig *r, const char *name)
{
    char sha[SHA256_HEX], session[33];
    struct fake f;
    int rc = -1;
    json_t *body = json_pack("{s:s, s:s, s:s}", "name", name, "blob", rig_blob(r, name, sha),
                             "file_name", "t.csv"),
           *out = NULL;

    RETRY(rc, out, r, ctl_dataset_create(r->ctl, body, &out, &rig_err));
    if (rc < 0)
        fail_msg("dataset: %s", rig_err.text);
    json_decref(body);
    json_decref(out);
    snprintf(session, sizeof session, "ingest-%.20s", name);
    fake_open(&f, r, session, 1);
    assert_int_equal(fake_ask(&f), 0);
    assert_int_equal(RIG_CALL(r, ctl_dataset_get(r->ctl, name, &out, &rig_err)), 0);
    assert_string_equal(json_string_value(json_object_get(out, "state")), "ready");
    json_decref(out);
    assert_int_equal(RIG_CALL(r, ctl_runner_act(r->ctl, f.id, "drain", &out, &rig_err)), 0);
    json_decref(out);
}

int64_t rig_study(struct rig *r, const char *spec)
{
    json_t *json = rig_json(spec), *out = NULL;
    int64_t id = 0;
    int rc = -1;

    RETRY(rc, out, r, ctl_study_create(r->ctl, json, "tester", false, &out, &rig_err));
    if (rc < 0)
        fail_msg("study: %s: %s", rig_err.where, rig_err.text);
    id = json_integer_value(json_object_get(out, "id"));
    json_decref(json);
    json_decref(out);
    return id;
}

struct study *rig_get(struct rig *r, int64_t study)
{
    struct study *st = study_by_id(r->ctl, study, &rig_err);

    for (int i = 0; i < 8 && !st; i++) { /* a fault keeps it out of memory */
        rig_heal();
        rig_pass(r, HEAL_MS << i);
        st = study_by_id(r->ctl, study, &rig_err);
    }
    if (!st)
        fail_msg("study %lld: %s", (long long)study, rig_err.text);
    return st;
}

uint64_t rig_probe(struct rig *r, int64_t study)
{
    static const int max_level[] = { 9, 3, 1, 9, 9 }; /* by group; not those of the families */
    struct study *st = rig_get(r, study);
    uint64_t sampler = 0;

    if (!st->search)
        fail_msg("the study is %s: %s", study_state_name[st->row.state], st->row.reason);
    assert_int_equal(ahead_settle(st, &rig_err), 0);
    sampler = probe_sampler(st->search->sampler);
    return rng_mix(sampler,
                   probe_scheduler(st->search->scheduler, max_level, ARRAY_LEN(max_level)));
}

int64_t rig_count(struct rig *r, int64_t study, enum trial_state s)
{
    return rig_get(r, study)->count[s];
}

char *rig_board(struct rig *r, int64_t study)
{
    char ref[32];
    json_t *board = NULL, *st = NULL, *row = NULL, *all = NULL;
    size_t i = 0;

    snprintf(ref, sizeof ref, "%lld", (long long)study);
    assert_int_equal(RIG_CALL(r, ctl_leaderboard(r->ctl, ref, 0, 1000, &board, &rig_err)), 0);
    assert_int_equal(RIG_CALL(r, ctl_study_get(r->ctl, ref, &st, &rig_err)), 0);
    json_array_foreach(json_object_get(board, "rows"), i, row)
    {
        json_object_del(row, "fit_us");
        json_object_del(row, "predict_ns_row");
    }
    all = json_pack("{s:o, s:O, s:O, s:O, s:O, s:O}", "board", board, "result",
                    json_object_get(st, "result"), "artifact", json_object_get(st, "artifact"),
                    "state", json_object_get(st, "state"), "trials", json_object_get(st, "trials"),
                    "reason", json_object_get(st, "reason"));
    char *text = jsonx_dump(all);
    json_decref(all);
    json_decref(st);
    return text;
}

/* ---- fake runners ---- */

static uint64_t text_hash(const char *text)
{
    uint64_t h = 1469598103934665603u;

    for (const char *p = text; *p; p++)
        h = (h ^ (unsigned char)*p) * 1099511628211u;
    return h;
}

double fake_same_score(const char *config, int level)
{
    (void)config, (void)level;
    return 0.5;
}

double fake_score(const char *config, int level)
{
    uint64_t h = text_hash(config);

    return 0.5 + 0.4 * (double)(rng_mix(h, 1) >> 11) / 9007199254740992.0 +
           0.01 * (double)(rng_mix(h, (uint64_t)level + 2) >> 11) / 9007199254740992.0;
}

void fake_open(struct fake *f, struct rig *r, const char *session, int max_trials)
{
    fake_open_kind(f, r, session, max_trials, "cpu");
}

static void open_as(struct fake *f, struct rig *r, const char *session, int max_trials,
                    const char *kind, bool blends)
{
    struct msg_hello m = { .protocol = MSG_PROTOCOL, .n_devices = 1 };
    struct msg_welcome w;
    json_t *out = NULL, *body = NULL;
    int rc = -1;

    *f = (struct fake){ .rig = r, .max_trials = max_trials, .score = fake_score, .blends = blends };
    str_copy(f->session, sizeof f->session, session);
    str_copy(m.name, sizeof m.name, session);
    str_copy(m.session, sizeof m.session, session);
    str_copy(m.numeric_sig, sizeof m.numeric_sig, "assay-1/cpu");
    str_copy(f->device, sizeof f->device, str_eq(kind, "cuda") ? "cuda0" : "cpu0");
    str_copy(m.devices[0].id, sizeof m.devices[0].id, f->device);
    str_copy(m.devices[0].kind, sizeof m.devices[0].kind, kind);
    m.devices[0].max_trials = max_trials;
    m.devices[0].blends = blends;
    body = msg_hello_json_new(&m);
    RETRY(rc, out, r, ctl_runner_hello(r->ctl, 0, body, &out, &rig_err));
    if (rc < 0)
        fail_msg("hello: %s", rig_err.text);
    assert_int_equal(msg_welcome_parse(&w, out, &rig_err), 0);
    f->id = w.runner;
    json_decref(body);
    json_decref(out);
}

void fake_open_kind(struct fake *f, struct rig *r, const char *session, int max_trials,
                    const char *kind)
{
    open_as(f, r, session, max_trials, kind, false);
}

void fake_open_blending(struct fake *f, struct rig *r, const char *session, int max_trials)
{
    open_as(f, r, session, max_trials, "cpu", true);
}

static void on_grant(void *arg, json_t *grant, const struct err *err)
{
    if (err)
        fail_msg("grant: %s", err->text);
    *(json_t **)arg = grant;
}

json_t *fake_ask_of(struct fake *f, const json_t *ask)
{
    json_t *grant = NULL;
    int rc = -1;

    RETRY(rc, grant, f->rig,
          ctl_runner_lease(f->rig->ctl, 0, f->id, ask, on_grant, &grant, NULL, &rig_err));
    if (rc < 0)
        fail_msg("lease: %s", rig_err.text);
    assert_non_null(grant);
    return grant;
}

json_t *fake_ask_raw(struct fake *f, int64_t n, int max_trials)
{
    struct msg_ask ask = { .n = n, .max_trials = max_trials };

    str_copy(ask.session, sizeof ask.session, f->session);
    str_copy(ask.device, sizeof ask.device, f->device);
    json_t *body = msg_ask_json_new(&ask), *grant = fake_ask_of(f, body);
    json_decref(body);
    return grant;
}

static void take_trial(struct fake *f, const struct msg_trial *l)
{
    struct fake_trial *trial = &f->trials[f->n_trials++];
    json_t *config = jsonx_load(l->config, strlen(l->config), "config", NULL);
    const struct family *family = family_find(json_string_value(json_object_get(config, "family")));

    assert_non_null(family);
    *trial =
        (struct fake_trial){ .trial = l->trial, .fence = l->fence, .from = l->from, .to = l->to };
    trial->max = family->levels > 1 ? family->levels : 1;
    trial->next = trial->to < trial->max ? MSG_RUNG : MSG_FINAL;
    str_copy(trial->config, sizeof trial->config, l->config);
    assert_true(l->from == 0 || l->checkpoint[0]);
    json_decref(config);
}

int fake_ask(struct fake *f)
{
    json_t *json = fake_ask_raw(f, ++f->n, f->max_trials - f->n_trials);
    struct msg_grant g = { 0 };
    int rc = msg_grant_parse(&g, json, &rig_err), trials = 0;

    json_decref(json);
    f->asked = f->n;
    assert_true(rc >= 0);
    if (rc == 1 && g.kind == MSG_FIT) {
        trials = g.n_trials;
        for (int i = 0; i < trials; i++)
            take_trial(f, &g.trials[i]);
    } else if (rc == 1 && g.kind == MSG_INGEST) {
        ingest(f, &g);
    } else if (rc == 1 && g.kind == MSG_ENSEMBLE) {
        f->making = (struct making){ g.task, g.fence, g.n_models, g.models[0].trial };
    } else if (rc == 1) {
        refit(f, &g);
    }
    msg_grant_fini(&g);
    return trials;
}

int fake_report(struct fake *f, const struct msg_event *events, int n, struct msg_answer *out)
{
    struct msg_held held[MSG_MAX_TRIALS];
    struct msg_asked asked = { .n = f->asked };
    struct msg_report m = { .n_events = n, .events = (struct msg_event *)events, .held = held };
    json_t *body = NULL, *answer = NULL;
    int rc = -1;

    str_copy(m.session, sizeof m.session, f->session);
    str_copy(asked.device, sizeof asked.device, f->device);
    for (int i = 0; i < f->n_trials; i++)
        held[m.n_held++] = (struct msg_held){ f->trials[i].trial, f->trials[i].fence };
    struct msg_held task = { f->making.task, f->making.fence };
    m.tasks = &task;
    m.n_tasks = task.trial > 0;
    if (f->asked > 0) {
        m.n_asked = 1;
        m.asked = &asked;
    }
    body = msg_report_json_new(&m);
    RETRY(rc, answer, f->rig, ctl_runner_report(f->rig->ctl, 0, f->id, body, &answer, &rig_err));
    json_decref(body);
    *out = (struct msg_answer){ 0 };
    if (rc == 0)
        assert_int_equal(msg_answer_parse(out, answer, &rig_err), 0);
    json_decref(answer);
    return rc;
}

void fake_drop(struct fake *f, int i)
{
    f->trials[i] = f->trials[--f->n_trials];
}

void fake_event(const struct fake *f, int i, struct msg_event *e)
{
    const struct fake_trial *l = &f->trials[i];
    char tag[1200];

    msg_event_init(e);
    e->type = l->next;
    e->trial = l->trial;
    e->fence = l->fence;
    e->seq = l->seq + 1;
    e->level = l->to;
    if (l->next == MSG_RUNG || l->next == MSG_FINAL) {
        e->value = f->score(l->config, l->to);
        e->se = 0.01;
        e->fit_us = 1000;
        e->predict_ns_row = 100 + (int64_t)(rng_mix(text_hash(l->config), 1000) % 1000);
        e->model_bytes = 1000 + (int64_t)(rng_mix(text_hash(l->config), 2000) % 9000);
        return;
    }
    snprintf(tag, sizeof tag, "%d of %s at %d", (int)l->next, l->config, l->to);
    if (l->next == MSG_COMPLETE)
        rig_model(f->rig, tag, e->blob);
    else
        rig_blob(f->rig, tag, e->blob);
}

enum msg_action fake_step(struct fake *f, int i)
{
    struct fake_trial *l = &f->trials[i];
    struct msg_answer a;
    struct msg_event e;
    enum msg_action action = MSG_STALE;

    fake_event(f, i, &e);
    if (fake_report(f, &e, 1, &a) < 0)
        fail_msg("report: %s", rig_err.text);
    assert_int_equal(a.n_replies, 1);
    action = a.replies[0].action;
    l->seq = e.seq;
    if (action == MSG_RUN_TO) {
        l->to = a.replies[0].to;
        l->next = l->to < l->max ? MSG_RUNG : MSG_FINAL;
    } else if (action == MSG_PAUSE) {
        l->next = MSG_PAUSED;
    } else if (action == MSG_KEEP) {
        l->next = f->blends ? MSG_PREDICTIONS : MSG_COMPLETE;
    } else if (action == MSG_OK && l->next == MSG_PREDICTIONS) {
        l->next = MSG_COMPLETE;
    } else {
        fake_drop(f, i);
    }
    for (int k = 0; k < a.n_stop; k++) {
        for (int j = f->n_trials - 1; j >= 0; j--) {
            if (f->trials[j].trial == a.stop[k].trial && f->trials[j].fence == a.stop[k].fence)
                fake_drop(f, j);
        }
    }
    msg_answer_fini(&a);
    return action;
}

enum msg_action fake_blend(struct fake *f, double score, bool is_better, char blob[SHA256_HEX])
{
    json_t *detail =
        json_pack("{s:b, s:b, s:s, s:i, s:f, s:f, s:f, s:f, s:[{s:I, s:f}]}", "is_better",
                  is_better, "beats_refit", !f->refit_is_better, "rule", "mean", "models",
                  f->making.n_models, "score", score, "se", .01, "single", score - .01, "gain", .01,
                  "members", "trial", (json_int_t)f->making.first, "weight", 1.0);
    struct msg_event e;
    struct msg_answer a;
    char tag[100];

    assert_true(f->making.task > 0);
    snprintf(tag, sizeof tag, "ensemble of task %lld", (long long)f->making.task);
    msg_event_init(&e);
    e.type = MSG_TASK_DONE;
    e.trial = f->making.task;
    e.fence = f->making.fence;
    e.seq = 1;
    e.value = score;
    e.fit_us = 400000;
    e.detail = jsonx_dump(detail);
    json_decref(detail);
    rig_model(f->rig, tag, blob);
    if (is_better)
        str_copy(e.blob, sizeof e.blob, blob);
    f->making = (struct making){ 0 };
    assert_int_equal(fake_report(f, &e, 1, &a), 0);
    enum msg_action action = a.replies[0].action;
    msg_answer_fini(&a);
    mem_free(e.detail);
    return action;
}

/* ---- a whole study ---- */

enum { RUNNERS_MAX = 8, STEPS_MAX = 200000 };

static void random_step(struct rig *r, struct fake *f, struct rng *rng, int die_every,
                        int *sessions)
{
    char session[32];

    if (die_every && rng_below(rng, (uint32_t)die_every) == 0) {
        snprintf(session, sizeof session, "s%d", ++*sessions);
        fake_open(f, r, session, f->max_trials);
    }
    if (f->n_trials > 0 && rng_below(rng, 3) > 0)
        fake_step(f, (int)rng_below(rng, (uint32_t)f->n_trials));
    else if (f->n_trials < f->max_trials)
        fake_ask(f);
}

void rig_run(struct rig *r, int64_t study, int runners, uint64_t seed, int restart_every,
             int die_every)
{
    struct fake fakes[RUNNERS_MAX];
    struct rng rng;
    int sessions = 0, steps = 0;
    char session[32];

    assert_true(runners <= RUNNERS_MAX);
    rng_init(&rng, seed, 7);
    for (int i = 0; i < runners; i++) {
        snprintf(session, sizeof session, "s%d-%d", (int)study, ++sessions);
        fake_open(&fakes[i], r, session, 1 + i);
    }
    while (!study_is_final(rig_get(r, study)->row.state)) {
        random_step(r, &fakes[rng_below(&rng, (uint32_t)runners)], &rng, die_every, &sessions);
        if (restart_every && rng_below(&rng, (uint32_t)restart_every) == 0)
            rig_restart(r);
        rig_pass(r, rng_below(&rng, 40));
        if (++steps > STEPS_MAX)
            fail_msg("the study does not end: %d trials, %d running", rig_get(r, study)->n_trials,
                     (int)rig_count(r, study, TS_RUNNING));
    }
}

void rig_run_until(struct rig *r, int64_t study, double (*score)(const char *, int), int n,
                   bool reload)
{
    struct fake f;

    fake_open(&f, r, "f", 1);
    f.score = score;
    while (rig_get(r, study)->n_trials < n) {
        if (f.n_trials == 0)
            fake_ask(&f);
        if (f.n_trials > 0)
            fake_step(&f, 0);
        if (reload)
            assert_int_equal(study_reload(r->ctl, rig_get(r, study), &rig_err), 0);
        rig_pass(r, 1);
    }
}

struct study *rig_study_of(struct rig *r, const char *spec, int n)
{
    rig_open(r);
    rig_dataset(r, "d");
    int64_t id = rig_study(r, spec);
    rig_run_until(r, id, fake_same_score, n, false);
    return rig_get(r, id);
}

int rig_family(const struct study *st, const char *family)
{
    int i = 0;

    while (!str_eq(st->families[i]->name, family))
        i++;
    return i;
}
