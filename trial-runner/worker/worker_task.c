/* worker_task.c - tasks in a worker: ingest makes a frame of an uploaded file, and refit trains the
 * winner once more on all rows. A task has no checkpoints: it ends, or it is stopped and done again
 * from the start, perhaps elsewhere. */
#include "trial-runner/worker/worker_private.h"

#include "base/gz.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/model/artifact.h"
#include "ml/read/read.h"
#include "proto/spec.h"
#include "trial-runner/worker/checkpoint.h"
#include "trial-runner/worker/params.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* SCHEMA_MAX: bytes of the description of a table, which travels in one message. */
enum { SCHEMA_MAX = (8 << 20) - (256 << 10) };

bool worker_is_stopped(struct worker *w, struct job *j)
{
    if (!j->stop && !w->draining)
        return false;
    if (!j->stop)
        worker_fail(w, j, TR_DRAINED, "the runner is shutting down");
    j->state = JOB_DONE;
    return true;
}

/* ---- ingest ---- */

struct source {
    struct worker *w;
    struct job *job;
    struct gz *gz;
};

/* The readers of tables read through these two, so that the socket is looked at between its pieces. */
static int go_on(void *ctx, struct err *err)
{
    struct source *s = ctx;

    (void)worker_stop_clock(s->w);
    return s->job->stop || s->w->draining ? err_set(err, ERR_BUSY, "stopped") : 0;
}

static long read_some(void *ctx, void *out, size_t n, struct err *err)
{
    struct source *s = ctx;

    return go_on(ctx, err) < 0 ? -1 : gz_read(s->gz, out, n, err);
}

static long read_some_at(void *ctx, void *out, size_t n, int64_t at, struct err *err)
{
    struct source *s = ctx;

    return go_on(ctx, err) < 0 ? -1 : gz_read_at(s->gz, out, n, at, err);
}

/* Reads {"columns":{name: type or more}}. The names still belong to the JSON object. */
static int overrides_of(const json_t *config, struct csv_override **out, int *n, struct err *err)
{
    json_t *columns = json_object_get(config, "columns");
    void *it = json_object_iter(columns);

    *out = mem_array(json_object_size(columns) + 1, sizeof **out);
    for (*n = 0; it; it = json_object_iter_next(columns, it)) {
        struct csv_override *o = &(*out)[*n];
        struct column_said said;

        o->name = json_object_iter_key(it);
        if (column_said("columns", o->name, json_object_iter_value(it), &said, err) < 0)
            return -1;
        o->missing = said.missing;
        o->has_no_type = !said.type;
        (*n)++;
        if (said.type && !csv_override_word(o, said.type))
            return err_set(err, ERR_ARG, "column \"%s\": the type must be " CSV_OVERRIDE_WORDS,
                           o->name);
    }
    return 0;
}

static void overrides_free(struct csv_override *list, int n)
{
    for (int i = 0; i < n; i++)
        mem_free((char **)list[i].missing);
    mem_free(list);
}

static int parse_file(struct worker *w, struct job *j, const char *frame, char sha256[SHA256_HEX],
                      struct err *err)
{
    const struct msg_grant *g = &j->run->grant;
    const char *path = worker_input(j, "source");
    struct source source = { .w = w, .job = j };
    struct csv_override *overrides = NULL;
    struct csv_opts opts = { .name = g->source_name[0] ? g->source_name : "the file",
                             .max_bytes = w->memory_bytes,
                             .go_on = go_on,
                             .go_on_ctx = &source };
    json_t *config = g->config ? jsonx_load(g->config, strlen(g->config), "columns", err) : NULL;
    int rc = g->config && !config ? -1 : overrides_of(config, &overrides, &opts.n_overrides, err);

    opts.overrides = overrides;
    if (rc == 0) {
        source.gz = path ? gz_open(path, err) : NULL;
        if (source.gz) {
            gz_bound_table(source.gz);
            opts.file_bytes = gz_plain_bytes(source.gz);
            opts.read_at = opts.file_bytes >= 0 ? read_some_at : NULL;
        }
        rc = source.gz ? table_to_frame(read_some, &source, &opts, frame, sha256, err) : -1;
        gz_close(source.gz);
    }
    overrides_free(overrides, opts.n_overrides);
    json_decref(config);
    return rc;
}

/* What the controller is told of a table. Put together as text: as JSON values the description of
 * 100,000 columns would take some 100 MB. */
static char *ingest_detail(const char *path, const char *sha256, struct err *err)
{
    struct frame *f = frame_open(path, err);
    char *schema = f ? frame_schema_within(f, SCHEMA_MAX) : NULL, *text = NULL;
    struct buf b;

    buf_init(&b, SCHEMA_MAX + 1024);
    if (f && !schema)
        err_set(err, ERR_TOOBIG,
                "the table has too many columns to describe (%d): leave out columns, or shorten "
                "their names",
                f->n_cols);
    if (schema &&
        buf_addf(&b, err, "{\"frame\":\"%s\",\"bytes\":%lld,\"rows\":%lld,\"cols\":%d,\"schema\":",
                 sha256, (long long)io_file_bytes(path), (long long)f->rows, f->n_cols) == 0 &&
        buf_adds(&b, schema, err) == 0 && buf_adds(&b, "}", err) == 0)
        text = buf_take(&b, NULL);
    buf_fini(&b);
    mem_free(schema);
    frame_close(f);
    return text;
}

/* An error if the frame takes more room than the controller has said it may. */
static int room_check(const struct job *j, const char *frame, struct err *err)
{
    int64_t bytes = io_file_bytes(frame), most = j->run->grant.max_bytes;
    char a[32], b[32];

    if (most <= 0 || bytes <= most)
        return 0;
    str_fmt_bytes(bytes, a, sizeof a);
    str_fmt_bytes(most, b, sizeof b);
    return err_set(err, ERR_TOOBIG,
                   "the table takes %s on the controller's disk, but the disk or a quota leaves "
                   "only %s",
                   a, b);
}

void worker_ingest(struct worker *w, struct job *j)
{
    char path[WORKER_PATH_BYTES];
    struct err err = { 0 };
    struct msg_event ev;

    if (worker_is_stopped(w, j))
        return;
    worker_begin(w, j);
    msg_event_init(&ev);
    ev.type = MSG_TASK_DONE;
    worker_path(w, j, "frame", path);
    if (parse_file(w, j, path, ev.blob, &err) == 0 && room_check(j, path, &err) == 0)
        ev.detail = ingest_detail(path, ev.blob, &err);
    if (worker_is_stopped(w, j)) {
        mem_free(ev.detail);
        unlink(path);
    } else if (!ev.detail) {
        unlink(path);
        worker_fail(w, j, err.code == ERR_IO || err.code == ERR_FULL ? TR_DEVICE : TR_INVALID,
                    err.text);
    } else {
        worker_event(w, j, &ev, path);
        j->state = JOB_DONE;
    }
}

/* ---- refit ---- */

/* What the trial learnt from the rows that it held out. */
static int adjust_read(struct job *j, struct adjust *out, struct err *err)
{
    const char *path = worker_input(j, "model");

    *out = (struct adjust){ 0 };
    return path ? artifact_adjust_read(path, out, err) : 0;
}

static int refit(struct worker *w, struct job *j, struct buf *out, struct msg_event *ev,
                 struct err *err)
{
    const struct msg_grant *g = &j->run->grant;
    struct ml_stop stop = { .now_us = worker_stop_clock, .ctx = w, .deadline_us = INT64_MAX };

    if (j->deadline_ms > 0)
        stop.deadline_us = j->deadline_ms * 1000;
    if (params_parse(g->config, &j->family, j->params, err) < 0 ||
        params_merge(j->family, j->params, g->free_json, err) < 0 || worker_open_device(w, err) < 0)
        return -1;
    if (worker_table(w, j, err) < 0)
        return -1;
    struct adjust adjust;
    const struct fit_refit how = { .family = j->family,
                                   .params = j->params,
                                   .seed = g->seed,
                                   .steps = g->rounds_hint,
                                   .adjust = &adjust };
    int rc = adjust_read(j, &adjust, err);
    if (rc == 0)
        rc = fit_refit_artifact(j->data, &how, &stop, out, &ev->test_value, &ev->test_se, err);
    adjust_fini(&adjust);
    return dataset_unchanged(w->datasets, j->data, err) < 0 ? -1 : rc;
}

static char *refit_detail(const struct msg_event *ev)
{
    json_t *o = json_pack("{s:s, s:I, s:o, s:o}", "artifact", ev->blob, "bytes",
                          (json_int_t)ev->model_bytes, "test_score", jsonx_real(ev->test_value),
                          "test_se", jsonx_real(ev->test_se));
    char *text = NULL;

    CHECK(o);
    text = jsonx_dump(o);
    json_decref(o);
    return text;
}

void worker_refit(struct worker *w, struct job *j)
{
    char path[WORKER_PATH_BYTES];
    int64_t before = worker_now_us(w);
    struct err err = { 0 };
    struct msg_event ev;
    struct buf out;

    if (worker_is_stopped(w, j))
        return;
    worker_begin(w, j);
    worker_poll(w, 0);
    msg_event_init(&ev);
    ev.type = MSG_TASK_DONE;
    buf_init(&out, (size_t)1 << 30);
    worker_path(w, j, "artifact", path);
    if (refit(w, j, &out, &ev, &err) < 0 || checkpoint_file(path, &out, ev.blob, &err) < 0) {
        if (!worker_is_stopped(w, j))
            worker_fail(w, j,
                        err.code == ERR_TIMEOUT                        ? TR_BUDGET
                        : err.code == ERR_DEVICE || err.code == ERR_IO ? TR_DEVICE
                                                                       : TR_INVALID,
                        err.text);
    } else {
        ev.model_bytes = (int64_t)out.len;
        ev.fit_us = worker_now_us(w) - before;
        ev.detail = refit_detail(&ev);
        worker_event(w, j, &ev, path);
    }
    buf_fini(&out);
    worker_fit_close(w, j);
}
