/* worker_ensemble.c - the task that makes an ensemble: from what a study's best trials predicted out
 * of fold it selects members and weights (ml/ensemble/blend.h), and if they are better than the best
 * single model it writes one file of them. It needs no table. A task has no checkpoints: it ends, or
 * it is done again from the start, with the same result. */
#include "trial-runner/worker/worker_private.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/ensemble/blend.h"
#include "ml/model/artifact.h"
#include "trial-runner/worker/checkpoint.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The file of an ensemble is at most so large; lighter members are left out. */
#define ENSEMBLE_MOST_BYTES ((size_t)512 << 20)

struct making {
    const struct msg_grant *grant;
    struct predictions all[GREEDY_MOST_MODELS];
    const struct predictions *models[GREEDY_MOST_MODELS];
    /* of models: their places in the grant */
    int at[GREEDY_MOST_MODELS];
    int n;
    struct target_limits limits;
    bool has_limits;
    struct blend blend;
};

static void making_free(struct making *m)
{
    for (int i = 0; i < m->n; i++)
        predictions_fini(&m->all[i]);
    blend_fini(&m->blend);
    mem_free(m);
}

/* The path of a model's file; NULL = the supervisor could not get it. */
static const char *path_of(const struct job *j, int model, const char *key)
{
    const json_t *list = json_object_get(j->run->msg, "models");

    return json_string_value(json_object_get(json_array_get(list, (size_t)model), key));
}

static int file_read(const struct job *j, int model, const char *key, struct buf *out,
                     struct err *err)
{
    const char *path = path_of(j, model, key);

    if (!path)
        return err_set(err, ERR_IO, "the %s of a model did not arrive", key);
    return io_read_file(path, ARTIFACT_MAX_BYTES, out, err);
}

/* Reads what the models predicted. One that does not match the first is left out: another build of a
 * runner may have made it. */
static int read_all(struct worker *w, struct job *j, struct making *m, struct err *err)
{
    for (int i = 0; i < MIN(m->grant->n_models, GREEDY_MOST_MODELS); i++) {
        struct predictions *p = &m->all[m->n];
        struct buf bytes = { 0 };

        (void)worker_stop_clock(w);
        if (j->stop || w->draining)
            return err_set(err, ERR_BUSY, "stopped");
        int rc = file_read(j, i, "predictions", &bytes, err);
        if (rc == 0)
            rc = predictions_read(p, bytes.data, bytes.len, err);
        buf_fini(&bytes);
        if (rc < 0)
            return -1;
        if (m->n > 0 && !predictions_match(m->models[0], p)) {
            log_warn("ensemble.mismatch trial=%" PRId64, m->grant->models[i].trial);
            predictions_fini(p);
            continue;
        }
        if (m->n == 0)
            m->has_limits = predictions_limits(p, &m->limits.least, &m->limits.most);
        if (m->has_limits)
            predictions_clip(p, m->limits.least, m->limits.most);
        m->models[m->n] = p;
        m->at[m->n++] = i;
    }
    return m->n > 0 ? 0 : err_set(err, ERR_ARG, "no model has predictions");
}

/* ---- the file ---- */

/* The members, heaviest first, equal ones in the order of the grant. */
static int members_of(const struct making *m, int out[GREEDY_MOST_MODELS])
{
    int n = 0;

    for (int i = 0; i < m->n; i++) {
        int at = n;
        if (m->blend.weight[i] == 0)
            continue;
        for (; at > 0 && fabs(m->blend.weight[out[at - 1]]) < fabs(m->blend.weight[i]); at--)
            out[at] = out[at - 1];
        out[at] = i;
        n++;
    }
    return n;
}

static int write_file(struct worker *w, struct job *j, const struct making *m, struct buf *out,
                      struct err *err)
{
    struct artifact_part parts[ARTIFACT_MAX_MEMBERS];
    struct artifact *files[ARTIFACT_MAX_MEMBERS] = { 0 };
    struct buf bytes[ARTIFACT_MAX_MEMBERS] = { 0 };
    int of[GREEDY_MOST_MODELS], n = members_of(m, of), rc = 0;

    const struct artifact_together together = { .is_pool = m->blend.rule == BLEND_POOL,
                                                .limits = m->has_limits ? &m->limits : NULL,
                                                .adjust = &m->blend.adjust,
                                                .score = m->blend.score,
                                                .se = m->blend.se };
    CHECK(n >= 2 && n <= ARTIFACT_MAX_MEMBERS);
    for (int i = 0; i < n && rc == 0; i++) {
        worker_beat(w, LONG_MS);
        rc = file_read(j, m->at[of[i]], "artifact", &bytes[i], err);
        /* Its models need not be taken apart: their bytes are written as they are. */
        files[i] = rc == 0 ? artifact_load_staged(bytes[i].data, bytes[i].len, err) : NULL;
        rc = files[i] ? 0 : -1;
        parts[i] =
            (struct artifact_part){ m->blend.weight[of[i]], files[i], bytes[i].data, bytes[i].len };
    }
    if (rc == 0)
        rc = artifact_write_ensemble(parts, n, &together, out, err);
    for (int i = 0; i < n; i++) {
        artifact_close(files[i]);
        buf_fini(&bytes[i]);
    }
    return rc;
}

/* ---- the result ---- */

static json_t *members_json(const struct making *m)
{
    int of[GREEDY_MOST_MODELS], n = members_of(m, of);
    json_t *list = json_array();

    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_pack("{s:I, s:f}", "trial",
                                              (json_int_t)m->grant->models[m->at[of[i]]].trial,
                                              "weight", m->blend.weight[of[i]]));
    return list;
}

static char *detail_of(const struct making *m)
{
    const struct blend *b = &m->blend;
    json_t *o = json_pack(
        "{s:b, s:b, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "is_better", b->is_better,
        "beats_refit", b->beats_refit, "rule", b->rule == BLEND_POOL ? "pool" : "mean", "models",
        m->n, "score", jsonx_real(b->score), "se", jsonx_real(b->se), "single",
        jsonx_real(b->single), "single_se", jsonx_real(b->single_se), "gain", jsonx_real(b->gain),
        "gain_se", jsonx_real(b->gain_se), "members", members_json(m));

    CHECK(o);
    char *text = jsonx_dump(o);
    json_decref(o);
    return text;
}

/* The file goes to path if there is to be one; else ev->blob stays empty. */
static int make(struct worker *w, struct job *j, struct making *m, const char *path,
                struct msg_event *ev, struct err *err)
{
    const struct msg_data *d = &m->grant->data;
    struct buf out;
    int rc = read_all(w, j, m, err);
    const struct blend_in in = { .models = m->models,
                                 .n = m->n,
                                 .most = m->grant->members,
                                 .is_holdout = d->holdout,
                                 .err_together = !d->holdout && (*d->groups || *d->time_column),
                                 .seed = m->grant->seed };

    worker_beat(w, LONG_MS);
    if (rc < 0 || blend_make(&in, &m->blend, err) < 0)
        return -1;
    buf_init(&out, ENSEMBLE_MOST_BYTES);
    if (m->blend.is_better) {
        rc = write_file(w, j, m, &out, err);
        if (rc == 0)
            rc = checkpoint_file(path, &out, ev->blob, err);
        ev->model_bytes = (int64_t)out.len;
    }
    buf_fini(&out);
    ev->value = m->blend.score;
    ev->se = m->blend.se;
    ev->test_value = m->blend.test;
    ev->test_se = m->blend.test_se;
    return rc;
}

void worker_ensemble(struct worker *w, struct job *j)
{
    struct making *m = mem_zalloc(sizeof *m);
    char path[WORKER_PATH_BYTES];
    int64_t before = worker_now_us(w);
    struct err err = { 0 };
    struct msg_event ev;

    m->grant = &j->run->grant;
    if (worker_is_stopped(w, j)) {
        making_free(m);
        return;
    }
    worker_begin(w, j);
    msg_event_init(&ev);
    ev.type = MSG_TASK_DONE;
    worker_path(w, j, "artifact", path);
    int rc = make(w, j, m, path, &ev, &err);
    if (rc < 0 && !worker_is_stopped(w, j)) {
        worker_fail(w, j, err.code == ERR_IO || err.code == ERR_FULL ? TR_DEVICE : TR_INVALID,
                    err.text);
    } else if (rc == 0) {
        ev.fit_us = worker_now_us(w) - before;
        ev.detail = detail_of(m);
        log_debug("ensemble.made models=%d members=%d us=%" PRId64, m->n, m->blend.members,
                  ev.fit_us);
        worker_event(w, j, &ev, ev.blob[0] ? path : NULL);
    }
    making_free(m);
    j->state = JOB_DONE;
}
