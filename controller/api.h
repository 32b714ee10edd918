/* api.h - the controller as a set of verbs: everything that web/ may call. All calls are on the
 * loop's thread. A call that changes something runs between ctl_request_begin and ctl_request_end,
 * which are a savepoint in the turn's transaction. Its answer must not leave before the turn is
 * committed; ctl_after_commit tells when that is. JSON answers are new references, which the caller
 * owns. Arguments are borrowed for the call.
 *
 * Shapes of the answers (ids are numbers, times integer wall ms, durations ms, NaN = null, absent
 * text = null):
 *   study       {id, name, owner, state, reason, why, priority, seed, archived, dataset,
 *               dataset_name, target, task, metric, larger_is_better, validation:
 *               kfold|holdout|undecided|none (its trials are told by
 *               programs of the user's), folds, deterministic, sampler, scheduler (the ones it has;
 *               auto until its data is known), sampler_why, scheduler_why: text where auto chose |
 *               null, numeric_sig, budget: {time_ms, trials}, used_ms, progress: 0..1, trials:
 *               {total, queued, running, paused, completed, pruned, failed, cancelled}, best:
 *               {trial, number, family, score, se, test_score, test_se, and of ctl_study_get unless it runs estimate:
 *               {score, se, optimism, compared, is_baseline: bool}} | null, artifact: sha256 |
 *               null, result: {trial, number, family, metric, score, se, test_score, test_se,
 *               refit, ensemble: {ships, rule: mean|pool, score, se, single, single_se, gain, gain_se, estimate: {score, se,
 *               optimism, compared} | null, test_score, test_se, models, bytes, members: [{trial, number, family, weight, score, se}]} where
 *               one was tried} | null, created_at, started_at, ended_at}; ctl_study_get adds spec, data,
 *               families: [{family, trials, whole, share, best, state, why}] | null (decide/share.h),
 *               warnings: [{code, column, text}] of its table (ml/fit/warnings.h), and brackets: null without rungs, or [{family, max_level, bracket, rungs: [{rung,
 *               level, resource: share of a full run's cost, size: planned | null, running,
 *               waiting, promoted, done, best | null}]}], lowest rung first (rungs.h); `why` says
 *               why a waiting study waits. A study whose rows are damaged has the state "damaged",
 *               its stored_state, and a reason; other keys as far as its row can be read.
 *   preview     {sampler, sampler_why, scheduler, scheduler_why, deterministic, trials, open: bool
 *               (there is no limit of trials: the numbers are for a first part), scaled: bool,
 *               lines: [{family, level, max_level, what, typical, most}] (trials that end there;
 *               most: in the worst case), preparation: [{family, parameter, choices}] (how columns
 *               are prepared, as far as it is searched or named), cost: null while the dataset is not there, or {typical,
 *               most, full: cost units; typical_ms, most_ms, full_ms: of one device; measured: bool
 *               (a trial has run on the dataset)}}
 *   searchers   {samplers: [{name, help, options: [{name, lo, hi, default, whole: bool, help}]}],
 *               schedulers: likewise}
 *   studies     {studies: [study], next: id | null}
 *   leaderboard {study, name, metric, larger_is_better, total, rows: [{rank, trial, number, family,
 *               config, score, se, test_score, test_se, level, max_level, fit_us, predict_ns_row,
 *               model_bytes, state, cut, artifact: bool, weight: in the ensemble that ships}],
 *               ensemble: as in a study's result}
 *   importance  {study, name, method, state: ready|computing|too_few, trials, main_effects: number
 *               | null, parameters: [{name, family: text | null, importance: share of the sum}],
 *               most important first}; computing = ask again; what is shown is older
 *   pareto      {study, name, metric, larger_is_better, x, y, state: ready|computing, compared,
 *               total, volume, rows: [row of the leaderboard]}: the trials that no other beats in
 *               both, by x, best first; volume: share of the box from the worst to the best of both
 *               that they dominate (times and sizes by their logarithm) | null
 *   trial       {id, study, number, state, reason, detail, family, config, seed, level, max_level,
 *               run_to, score, se, select, test_score, test_se, artifact: sha256 | null,
 *               checkpoint: bool, retry_of, source, info, created_at, started_at, ended_at};
 *               ctl_trial_get adds reports: [{level, value, se}], attempts: [{fence, runner,
 *               device, from, to, end_reason, started_at, ended_at}], and epochs: bool, whether
 *               the answer "epochs" has any
 *   epochs      {trial, study, number, state, live: bool (told by its lease, not stored yet), runs:
 *               [{level, folds, metric, larger_is_better, epoch: [..], train_loss, score,
 *               learning_rate, gradient_norm, samples_per_s, fence}]}, by level
 *               (controller/state/epochs.h); no runs: a family without epochs, or nothing was told
 *               yet
 *   output      {trial, study, number, state, live: bool (more may come), more: bool (there are more
 *               pieces now), next: the last piece's number, pieces: [{piece, lease, at, text}]}: what
 *               a user's program printed
 *   pipeline    {trial, study, number, family, config, pipeline: {form, columns, inputs, width?,
 *               groups: [{type, n, columns, inputs, width?, steps: [{say, inputs}]}], dropped:
 *               [{why, n, columns}]} | null (ml/prep/describe.h)}; null until the trial has a final
 *               report
 *   trials      {trials: [trial], next: number | null}
 *   suggestions {state, trials: [{trial: id, number, lease, params: {name: value}, level: reached,
 *               run_to, levels}], done: bool (there will be none any more), wait_ms: when to ask
 *               again}
 *   verdict     {trial: id, verdict: continue|pause|stop|completed|failed|gone, level, run_to};
 *               gone: somebody else has the trial now
 *   verdicts    {results: [{trial: id, verdict: completed|failed|stop|gone|released|refused, where,
 *               detail: why it was refused}], next: suggestions, if some were asked for}
 *   dataset     {id, name, state: ingesting|ready|failed, error, blob, identity, frame, file_name,
 *               columns, rows, cols, bytes, created_at}; ctl_dataset_get and _create add schema;
 *               datasets {datasets: [dataset]}
 *   runners     {total, next: id | null, runners (by id): [{id, name, state, reason, numeric_sig,
 *               labels, alive, last_seen, lanes, devices: [{id, kind, name, memory_bytes,
 *               max_lanes, running, failures, quarantined, quarantined_until (ms since 1970 |
 *               null), on_probation}]}]}; state: enabled, draining, quarantined, or lost (not heard
 *               of for a lease period; then alive is false)
 *   tokens      {tokens: [{id, name, role, created_at}]}; ctl_token_new {id, name, role, token}
 *   sessions    {sessions: [{id, name, role, token: id | null, created_at, seen_at, ends_at}]}
 *   logs        {events: [{seq, at, study, trial, event, data}]};  backup {path, bytes}
 *   health      {status: ok|busy|damaged|stopping, finding: a sentence on a damaged database |
 *               null, version, protocol, studies: {live, running, damaged}, runners, devices,
 *               trials, uptime_ms} */
#ifndef CONTROLLER_API_H
#define CONTROLLER_API_H

#include "base/buf.h"
#include "base/err.h"
#include "base/sha256.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct ctl;
struct loop;

/* Calls on_done once, when this turn's transaction has been committed (ok), or could not be (not
 * ok: nothing of the turn has happened, and the answer is 503). */
void ctl_after_commit(struct ctl *ctl, void (*on_done)(void *arg, bool ok, const struct err *err),
                      void *arg);
/* Whether memory and rows hold something that a power cut could still undo. What a reading request
 * tells must wait for it like an answer that reports a change. */
bool ctl_owes_commit(const struct ctl *ctl);
/* One request is one savepoint: begin is called before the handler and end after it, with keep =
 * true if the handler succeeded. If it failed, everything that it changed is undone, in the rows
 * and in memory. */
int ctl_request_begin(struct ctl *ctl, struct err *err);
int ctl_request_end(struct ctl *ctl, bool keep, struct err *err);
/* Answers that are kept for a day under a client's idempotency key (web/request/once.h): get
 * returns 1, 0 = there is none, -1. put is called within the request whose answer it is. */
int ctl_once_get(struct ctl *ctl, const char *key, struct buf *out, struct err *err);
int ctl_once_put(struct ctl *ctl, const char *key, const char *answer, struct err *err);
struct loop *ctl_loop(struct ctl *ctl);
const char *ctl_data_dir(const struct ctl *ctl);

/* Back-pressure: false = lease calls and new studies are to be answered 503 with Retry-After.
 * Reports of runners are always accepted, because they end work. */
bool ctl_admits(const struct ctl *ctl);
/* The same with an error: ERR_FULL if the disk is full, else ERR_BUSY. */
int ctl_admit(const struct ctl *ctl, struct err *err);

/* Who makes a request. The Unix socket is an administrator with neither a token nor a session. */
enum ctl_role { CTL_NOBODY, CTL_VIEWER, CTL_RUNNER, CTL_USER, CTL_ADMIN };
struct ctl_who {
    enum ctl_role role; /* CTL_NOBODY = the token or the session is not known */
    /* id of the token of the request, or of the one that opened its session; 0 = none */
    int64_t token;
    int64_t session; /* id of the page's session; 0 = none */
    char name[64];
};
const char *ctl_role_name(enum ctl_role role);
int ctl_token_who(struct ctl *ctl, const char *token, struct ctl_who *who, struct err *err);
int ctl_token_new(struct ctl *ctl, const char *name, const char *role, json_t **out,
                  struct err *err); /* the text is shown once */
int ctl_tokens(struct ctl *ctl, json_t **out, struct err *err);
int ctl_token_revoke(struct ctl *ctl, int64_t id, struct err *err); /* its sessions end with it */

/* Sessions of the page. A session has two secrets: a cookie, which browsers send to every port of
 * this host, and a second one that the page sends as a header and that is in no cookie. Only hashes
 * of both are stored. Sessions survive a restart. */
struct ctl_keys {
    char cookie[65], secret[65];
};
/* A link opens one session, once, within 10 minutes. role NULL = the role of `by`; by NULL = the
 * program itself, at its start. */
int ctl_link_new(struct ctl *ctl, const struct ctl_who *by, const char *role, char code[33],
                 struct err *err);
int ctl_link_use(struct ctl *ctl, const char *code, struct ctl_keys *out, struct err *err);
int ctl_session_open(struct ctl *ctl, const char *token, struct ctl_keys *out, struct ctl_who *who,
                     struct err *err); /* ERR_AUTH: unknown token */
/* The role is CTL_NOBODY unless both secrets are those of one session. */
int ctl_session_who(struct ctl *ctl, const struct ctl_keys *keys, struct ctl_who *who,
                    struct err *err);
int ctl_sessions(struct ctl *ctl, json_t **out, struct err *err);
int ctl_session_end(struct ctl *ctl, int64_t id, struct err *err);
/* A link on the page to a file cannot send a header. Instead it carries a ticket, which is good for
 * this one path, once, within a minute. */
int ctl_ticket_new(struct ctl *ctl, const struct ctl_who *who, const char *path, char ticket[33],
                   struct err *err);
int ctl_ticket_use(struct ctl *ctl, const char *cookie, const char *ticket, const char *path,
                   struct ctl_who *who, struct err *err); /* CTL_NOBODY: not this one, or not now */
/* Calls on_end once, after the commit that deleted the token or the session of `who`. */
struct ctl_watch;
struct ctl_watch *ctl_who_watch(struct ctl *ctl, const struct ctl_who *who,
                                void (*on_end)(void *arg), void *arg);
void ctl_who_unwatch(struct ctl *ctl, struct ctl_watch *watch); /* NULL is legal */

/* Studies. `ref` is an id in digits or a name. */
int ctl_study_create(struct ctl *ctl, const json_t *spec, const char *owner, bool load_if_exists,
                     json_t **out, struct err *err);
int ctl_study_preview(struct ctl *ctl, const json_t *spec, json_t **out, struct err *err);
/* The same, computed beside the loop. If the call returns 0, on_done is called once, with the
 * answer (which the callee then owns) or with the error. `by` is any number that stands for the
 * client. ERR_BUSY = several previews are being computed, or half as many for this client. */
int ctl_study_preview_beside(struct ctl *ctl, int64_t by, const json_t *spec,
                             void (*on_done)(void *arg, json_t *out_new, const struct err *err),
                             void *arg, struct err *err);
int ctl_studies(struct ctl *ctl, const char *state, bool with_archived, int64_t after, int limit,
                json_t **out, struct err *err);
int ctl_studies_of(struct ctl *ctl, const char *ids, json_t **out, struct err *err); /* "7,9" */
int ctl_study_get(struct ctl *ctl, const char *ref, json_t **out, struct err *err);
/* An ended study may have to be read first, which is done beside the loop: 1 = the study is in
 * memory, or there is none: every call for it answers at once. 0 = on_ready(arg) will be called
 * once when that is so. -1 with ERR_BUSY = too many are being read. */
int ctl_study_await(struct ctl *ctl, int64_t by, const char *ref, void (*on_ready)(void *arg),
                    void *arg, struct err *err);
/* Its id from its row, without reading its trials. */
int ctl_study_id(struct ctl *ctl, const char *ref, int64_t *id, struct err *err);
enum ctl_study_verb { CTL_PAUSE, CTL_RESUME, CTL_STOP, CTL_KILL, CTL_ARCHIVE, CTL_UNARCHIVE };
int ctl_study_act(struct ctl *ctl, const char *ref, enum ctl_study_verb verb, json_t **out,
                  struct err *err);
int ctl_study_patch(struct ctl *ctl, const char *ref, const json_t *patch, json_t **out,
                    struct err *err); /* priority, raised budget */
int ctl_study_delete(struct ctl *ctl, const char *ref,
                     struct err *err); /* ERR_CONFLICT unless ended or damaged */
/* The rows as they are stored, also of a damaged study (store/study.h: store_study_dump). */
int ctl_study_dump(struct ctl *ctl, const char *ref, int64_t after, int limit, json_t **out,
                   struct err *err);
int ctl_leaderboard(struct ctl *ctl, const char *ref, int64_t offset, int limit, json_t **out,
                    struct err *err);
/* method: ped_anova | fanova, NULL = ped_anova. x, y: score | fit_us | predict_ns_row |
 * model_bytes, NULL = fit_us, score; both NULL in a study with several objectives: all of those. */
int ctl_importance(struct ctl *ctl, const char *ref, const char *method, json_t **out,
                   struct err *err);
int ctl_pareto(struct ctl *ctl, const char *ref, const char *x, const char *y, json_t **out,
               struct err *err);
/* What the page asks (page.c). The answers are JSON text, which is added to `out`:
 *   page     {seq, study, rows: [row]}, the leaderboard first
 *   changes  {seq, more, reset, study, kept: [numbers], rows}: the trials that lines of the journal
 *            after a number are about
 *   columns  one array for each fact, over the trials after a number
 *   rows     {seq, rows, next}
 *   row      {rank | null, trial, number, family, config, state, reason, detail, source, score
 *            (null without a rank), reported, se, test_score, test_se, level, max_level, fit_us,
 *            predict_ns_row, model_bytes, cut, artifact: bool, started_at, ended_at}; with several
 *            objectives also front: bool */
struct ctl_rows {
    const char *numbers;      /* "5,17": these trials, in this order; NULL = by state and sort */
    const char *state, *sort; /* NULL = any, "-number" (newest first); or "rank" */
    int64_t after;            /* a number or a rank; 0 = from the start */
    int limit;
};
int ctl_study_page(struct ctl *ctl, const char *ref, int limit, struct buf *out, struct err *err);
int ctl_study_changes(struct ctl *ctl, const char *ref, int64_t after, int limit, struct buf *out,
                      struct err *err);
int ctl_study_columns(struct ctl *ctl, const char *ref, int64_t after, int limit, bool with_config,
                      struct buf *out, struct err *err);
int ctl_study_rows(struct ctl *ctl, const char *ref, const struct ctl_rows *want, struct buf *out,
                   struct err *err);
int ctl_best_artifact(struct ctl *ctl, const char *ref, char sha256[SHA256_HEX], char *file_name,
                      size_t size, struct err *err);

/* Trials. */
int ctl_trials(struct ctl *ctl, const char *ref, const char *state, const char *sort, int64_t after,
               int limit, json_t **out, struct err *err);
int ctl_trial_get(struct ctl *ctl, int64_t id, json_t **out,
                  struct err *err); /* config, reports, attempts, curve, info */
int ctl_trial_kill(struct ctl *ctl, int64_t id, json_t **out, struct err *err);
int ctl_trial_retry(struct ctl *ctl, int64_t id, json_t **out, struct err *err);
int ctl_trial_enqueue(struct ctl *ctl, const char *study, const json_t *config, json_t **out,
                      struct err *err);
/* Ask and tell, for a study with a space of its own: gives up to `count` trials to a client
 * ({client, count, ahead: as many more where the sampler does not learn from results}), and takes
 * what the client says of one ({client, lease, level, value, ask}; at its end also {failed}). With
 * `ask`, an answer that ends the client's work on the trial holds the next one. ctl_study_tell takes
 * many results at once ({client, results: [{trial, lease, value | failed | released}], count,
 * ahead}); each is taken or refused for itself. */
int ctl_study_suggest(struct ctl *ctl, const char *study, const json_t *body, json_t **out,
                      struct err *err);
int ctl_study_tell(struct ctl *ctl, const char *study, const json_t *body, json_t **out,
                   struct err *err);
/* Keeps a call of one of the two whose answer has no trial though the study goes on, if its body
 * says `wait_ms`: on_answer is called once, when there is a trial, the study is over, or the time
 * is. NULL = there is nothing to wait for. Both jsons are borrowed. */
struct ctl_hold;
struct ctl_hold *ctl_study_hold(
    struct ctl *ctl, const char *study, const json_t *body, json_t *answer,
    void (*on_answer)(void *arg, json_t *answer_new, const struct err *err), void *arg);
void ctl_study_hold_cancel(struct ctl *ctl, struct ctl_hold *hold); /* its client has gone */
int ctl_trial_tell(struct ctl *ctl, int64_t id, const json_t *body, bool is_end, json_t **out,
                   struct err *err);
int ctl_trial_logs(struct ctl *ctl, int64_t id, json_t **out, struct err *err); /* its journal */
/* The pieces after number `after` of what its program printed (store/output.c), at most `limit`. */
int ctl_trial_output(struct ctl *ctl, int64_t id, int64_t after, int limit, json_t **out,
                     struct err *err);
int ctl_trial_epochs(struct ctl *ctl, int64_t id, json_t **out, struct err *err);
int ctl_trial_pipeline(struct ctl *ctl, int64_t id, json_t **out, struct err *err);
int ctl_trial_artifact(struct ctl *ctl, int64_t id, char sha256[SHA256_HEX], struct err *err);

/* Models. `model` is a study (its best model), "trial:ID", or the hash of a model's file. The answer
 * comes from another process: if the call returns 0, on_done is called once in a later turn, with
 * the answer or the error. `by` is any number that stands for the client. */
struct ctl_predict {
    const char *model;
    bool describes; /* only what the model is: {model, description} */
    bool in_csv, out_csv;
    bool may_lack;    /* columns that the rows lack are missing, else an error */
    bool refuses;     /* cells that are no numbers are an error, else missing */
    double threshold; /* of two classes; -1 = the model's own */
    double interval;  /* of numbers; 0 = none */
    const char *body; /* the rows; borrowed for the call */
    size_t n;
};
struct ctl_predicted {
    const char *bytes; /* JSON or CSV; borrowed for the callback */
    size_t len;
    const char *note; /* what was read as missing; "" = nothing */
};
int ctl_model_predict(struct ctl *ctl, int64_t by, const struct ctl_predict *ask,
                      void (*on_done)(void *arg, const struct ctl_predicted *out,
                                      const struct err *err),
                      void *arg, struct err *err);

/* Data. */
int ctl_blob_add(struct ctl *ctl, const char *sha256, int64_t bytes, const char *kind,
                 struct err *err);
int ctl_blob_has(struct ctl *ctl, const char *sha256, int64_t *bytes, struct err *err); /* 1/0/-1 */
int ctl_blob_path(struct ctl *ctl, const char *sha256, char *out, size_t size,
                  struct err *err); /* ERR_NOTFOUND without a file */
/* Whether the file of a blob holds the bytes that its name promises: 1 = it does. 0 = the file is
 * large and was not read yet by this process, or has changed: it is hashed beside the loop, and
 * on_done is called once, with NULL or the error. -1 = it does not. A damaged file is ERR_NOTFOUND,
 * because a client that has the bytes then uploads them again, which mends the file. */
int ctl_blob_check(struct ctl *ctl, const char *sha256,
                   void (*on_done)(void *arg, const struct err *err), void *arg, struct err *err);
/* Uploads (files/upload.c). An id has 32 hexadecimal digits; another one is ERR_ARG. Parts are
 * written at once. A commit hashes the file and makes it durable, on the loop's pool. If
 * ctl_upload_commit returns 0, on_done is called exactly once, perhaps before the call returns; the
 * caller then adds the blob's row. */
/* Who uploads. A runner also says for which trial or task, so that the file can be deleted with it
 * if nothing ever names it. */
struct ctl_upload_by {
    char who[64];               /* name and id of the token, for messages and quotas */
    bool is_limited;            /* the quota of one token applies */
    int64_t trial, task, fence; /* 0 = none */
};
int ctl_upload_new(struct ctl *ctl, const struct ctl_upload_by *by, char id[33], struct err *err);
int ctl_upload_size(struct ctl *ctl, const char *id, int64_t *size, struct err *err);
int ctl_upload_write(struct ctl *ctl, const char *id, int64_t offset, const void *p, size_t n,
                     struct err *err);
/* If it is called again while the commit is under way, the commit is done once, and both callers
 * are told. */
int ctl_upload_commit(struct ctl *ctl, const char *id, const char *sha256,
                      void (*on_done)(void *arg, int64_t bytes, const struct err *err), void *arg,
                      struct err *err);
/* Called after the blob's row was added, in the same request: notes to whose quota it belongs, and
 * that it may be named soon. */
int ctl_upload_named(struct ctl *ctl, const char *id, const char *sha256, struct err *err);
int ctl_upload_drop(struct ctl *ctl, const char *id, struct err *err);
int ctl_dataset_create(
    struct ctl *ctl, const json_t *body, json_t **out,
    struct err *
        /* {name, blob, file_name, columns}: starts the ingest task; same identity = the one
         * there is */
        err);
int ctl_datasets(struct ctl *ctl, json_t **out, struct err *err);
int ctl_dataset_get(struct ctl *ctl, const char *ref, json_t **out, struct err *err);
int ctl_dataset_delete(struct ctl *ctl, const char *ref, struct err *err);

/* Runners: bodies are proto/msg.h messages. A session belongs to the token that said hello (0 = the
 * Unix socket); with another, hello, lease and report are ERR_DENIED. The lease may wait: on_grant
 * is called once, maybe before ctl_runner_lease returns, maybe seconds later in a turn of its own
 * (the answer leaves after that turn's commit). cancel when the client goes away. A grant whose
 * answer could not be sent is found again by (session, n) or requeued by the next renewal. */
struct ctl_wait;
int ctl_runner_hello(struct ctl *ctl, int64_t token, const json_t *body, json_t **out,
                     struct err *err);
int ctl_runner_lease(struct ctl *ctl, int64_t token, int64_t runner, const json_t *body,
                     void (*on_grant)(void *arg, json_t *grant_new, const struct err *err),
                     void *arg, struct ctl_wait **wait, struct err *err);
void ctl_runner_lease_cancel(struct ctl *ctl, struct ctl_wait *wait);
int ctl_runner_report(struct ctl *ctl, int64_t token, int64_t runner, const json_t *body,
                      json_t **out, struct err *err);
int ctl_runners(struct ctl *ctl, int64_t after, int limit, json_t **out, struct err *err);
int ctl_runner_act(struct ctl *ctl, int64_t runner, const char *verb, json_t **out,
                   struct err *err); /* drain | enable */
/* {pools: [...]}: the runners that a cluster's scheduler starts (controller/pool/show.h). */
int ctl_pools(struct ctl *ctl, json_t **out, struct err *err);

/* Events: journal rows as JSON {seq, at, study, trial, event, data}, and transient ones (progress)
 * without seq. */
struct ctl_sub;
struct ctl_sub *ctl_subscribe(struct ctl *ctl, int64_t study,
                              void (*on_event)(void *arg, int64_t study, int64_t seq,
                                               const char *event, const char *json),
                              void *arg);
void ctl_unsubscribe(struct ctl *ctl, struct ctl_sub *sub);
/* Calls on_event for the committed rows of the journal after `seq`, at most `limit` of them. *more
 * = there are further rows. */
int ctl_events_since(struct ctl *ctl, int64_t study, int64_t seq, int limit,
                     void (*on_event)(void *arg, int64_t seq, const char *event, const char *json),
                     void *arg, bool *more, struct err *err);
int64_t ctl_events_last(struct ctl *ctl);

/* Service. */
int ctl_health(struct ctl *ctl, json_t **out, struct err *err);
int ctl_metrics(struct ctl *ctl, struct buf *out, struct err *err); /* Prometheus text */
int ctl_searchers(struct ctl *ctl, json_t **out,
                  struct err *err); /* what a spec may name, with options and their ranges */
int ctl_config(struct ctl *ctl, json_t **out, struct err *err);
/* A copy of the database and of all files that it names, in a new folder, made beside the loop: {path,
 * db_bytes, blobs, bytes, missing}. If the call returns 0, on_done is called once, with the answer
 * (which the callee then owns) or with the error. One at a time: ERR_BUSY. */
int ctl_backup(struct ctl *ctl, const char *path,
               void (*on_done)(void *arg, json_t *out_new, const struct err *err), void *arg,
               struct err *err);
/* Debug commands, only with --dev: clock, fault, state, digest, replay. */
int ctl_debug(struct ctl *ctl, const char *verb, const json_t *args, json_t **out, struct err *err);

#endif
