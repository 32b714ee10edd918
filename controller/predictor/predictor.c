/* predictor.c - the process of predictor.h. It blocks on its socket: one request, one answer. */
#include "controller/predictor/predictor.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "controller/predictor/models.h"
#include "controller/predictor/rows.h"
#include "ml/apply/predictions.h"
#include "proto/predict.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct ask {
    const char *op, *sha256, *path, *input, *output;
    bool may_lack, refuses;
    struct predictions_how how;
};

static int ask_read(struct ask *a, const json_t *head, struct err *err)
{
    *a = (struct ask){ .input = "json", .output = "json", .how = { .threshold = (double)NAN } };
    if (jsonx_str(head, NULL, "op", JSONX_REQUIRED, 20, &a->op, err) < 0 ||
        jsonx_str(head, NULL, "sha256", JSONX_REQUIRED, 64, &a->sha256, err) < 0 ||
        jsonx_str(head, NULL, "path", JSONX_REQUIRED, 1024, &a->path, err) < 0 ||
        jsonx_str(head, NULL, "input", JSONX_OPTIONAL, 10, &a->input, err) < 0 ||
        jsonx_str(head, NULL, "output", JSONX_OPTIONAL, 10, &a->output, err) < 0 ||
        jsonx_bool(head, NULL, "may_lack", JSONX_OPTIONAL, &a->may_lack, err) < 0 ||
        jsonx_bool(head, NULL, "refuses", JSONX_OPTIONAL, &a->refuses, err) < 0)
        return -1;
    if (jsonx_f64(head, NULL, "threshold", JSONX_OPTIONAL, &a->how.threshold, err) < 0)
        return -1;
    return jsonx_f64(head, NULL, "interval", JSONX_OPTIONAL, &a->how.interval, err) < 0 ? -1 : 0;
}

static int describe(const struct ask *ask, const struct artifact *a, struct buf *out,
                    struct err *err)
{
    return buf_addf(out, err, "{\"model\":\"%s\",\"description\":%s}", ask->sha256,
                    artifact_info(a)->schema_json);
}

/* What the reader of the answer should know; in JSON the names of columns, too. */
static int notes_json(const struct model_rows_notes *n, struct buf *out, struct err *err)
{
    char text[300];
    json_t *list = json_array();

    if (n->n_lacking > 0) {
        (void)!snprintf(text, sizeof text, "%d columns are missing in all rows: %s", n->n_lacking,
                        n->lacking);
        json_array_append_new(list, json_string(text));
    }
    if (n->bad_cells > 0) {
        (void)!snprintf(text, sizeof text,
                        "%" PRId64 " cells are no numbers and count as missing: %s", n->bad_cells,
                        n->bad);
        json_array_append_new(list, json_string(text));
    }
    char *dumped = jsonx_dump(list);
    int rc = buf_addf(out, err, ",\"notes\":%s}", dumped);
    mem_free(dumped);
    json_decref(list);
    return rc;
}

static int predict_json(const struct ask *ask, const struct predictions *p,
                        const struct model_rows_notes *notes, struct buf *out, struct err *err)
{
    if (buf_addf(out, err, "{\"model\":\"%s\",\"rows\":%" PRId64 ",", ask->sha256, p->f->rows) <
            0 ||
        predictions_json(p, out, err) < 0)
        return -1;
    return notes_json(notes, out, err);
}

static int predict(const struct predictor *me, const struct ask *ask, const struct artifact *a,
                   const char *body, size_t n, struct buf *out, struct predictor_note *note,
                   struct err *err)
{
    const struct rows_ask rows = { .model = a,
                                   .body = body,
                                   .n = n,
                                   .is_csv = str_eq(ask->input, "csv"),
                                   .may_lack = ask->may_lack,
                                   .refuses = ask->refuses,
                                   .scratch = me->scratch };
    struct predictions p = { .a = a, .how = ask->how };
    struct model_rows_notes notes;
    struct frame *f = NULL;
    int rc = -1;

    if (predictions_check(artifact_info(a), &ask->how, "threshold", "interval", err) < 0)
        return -1;
    p.f = f = rows_frame(&rows, &notes, err);
    if (!f)
        return -1;
    if (notes.n_lacking > 0 || notes.bad_cells > 0)
        (void)!snprintf(note->text, sizeof note->text,
                        "%d columns and %" PRId64 " further cells read as missing", notes.n_lacking,
                        notes.bad_cells);
    rc = str_eq(ask->output, "csv") ? predictions_csv(&p, out, err)
                                    : predict_json(ask, &p, &notes, out, err);
    frame_close(f);
    return rc;
}

int predictor_answer(struct predictor *p, const json_t *head, const char *body, size_t n,
                     struct buf *out, struct predictor_note *note, struct err *err)
{
    struct ask ask;
    const struct artifact *a = NULL;

    note->text[0] = '\0';
    if (ask_read(&ask, head, err) < 0)
        return -1;
    a = models_get(p->models, ask.sha256, ask.path, err);
    if (!a)
        return -1;
    if (str_eq(ask.op, "describe"))
        return describe(&ask, a, out, err);
    return predict(p, &ask, a, body, n, out, note, err);
}

/* ---- the socket ---- */

static int send_all(int fd, const struct buf *b)
{
    size_t at = 0;

    while (at < b->len) {
        ssize_t n = write(fd, b->data + at, b->len - at);

        if (n > 0)
            at += (size_t)n;
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}

static int respond(struct predictor *p, int fd, const struct predict_frame *f, const char *body)
{
    struct predictor_note note;
    struct buf out, frame;
    struct err err = { 0 };
    int rc = 0;

    buf_init(&out, PREDICT_BODY_MAX);
    buf_init(&frame, PREDICT_PREFIX + PREDICT_HEAD_MAX + PREDICT_BODY_MAX);
    if (predictor_answer(p, f->head, body, f->body_len, &out, &note, &err) < 0) {
        buf_clear(&out);
        if (err.code == ERR_TOOBIG && strstr(err.text, "over the limit"))
            err_set(&err, ERR_TOOBIG, "the answer has more than %d MiB: send fewer rows",
                    PREDICT_BODY_MAX >> 20);
    }
    json_t *head = json_pack("{s:i, s:s, s:s, s:s}", "code", (int)err.code, "text", err.text,
                             "where", err.where, "note", note.text);
    if (!head) /* a text that is no UTF-8 */
        head = json_pack("{s:i, s:s, s:s, s:s}", "code", (int)err.code, "text",
                         "the request is wrong", "where", "", "note", "");
    rc = predict_frame_put(&frame, head, out.data, out.len, NULL) < 0 ? -1 : send_all(fd, &frame);
    json_decref(head);
    buf_fini(&out);
    buf_fini(&frame);
    return rc;
}

/* Reads until `in` holds a whole frame: 1, 0 at the end, -1. */
static int receive(int fd, struct buf *in, struct predict_frame *f, struct err *err)
{
    char part[65536];
    size_t wanted = 0;

    for (;;) {
        int rc = predict_frame_get(in->data ? in->data : "", in->len, f, &wanted, err);

        if (rc != 0)
            return rc;
        ssize_t n = read(fd, part, MIN(sizeof part, wanted - in->len));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return (int)n;
        if (buf_add(in, part, (size_t)n, err) < 0)
            return -1;
    }
}

/* A model that needs more than it may ends the process instead of the machine. Sanitizers reserve
 * far more than they use, so there is no limit beside them. */
static void limit_memory(int64_t bytes)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    struct rlimit limit = { (rlim_t)bytes, (rlim_t)bytes };

    (void)setrlimit(RLIMIT_DATA, &limit);
#else
    (void)bytes;
#endif
}

int predictor_main(const struct predictor_conf *conf)
{
    struct predictor p = { models_new(conf->memory_bytes / 2), conf->scratch };
    struct predict_frame f = { 0 };
    struct err err = { 0 };
    struct buf in;
    int rc = 0;

    io = &io_unsynced;
    /* 192 MiB: a request with its rows as JSON, as a table and as an answer. */
    limit_memory(conf->memory_bytes + ((int64_t)192 << 20));
    buf_init(&in, PREDICT_PREFIX + PREDICT_HEAD_MAX + PREDICT_BODY_MAX);
    while ((rc = receive(conf->fd, &in, &f, &err)) == 1) {
        rc = respond(&p, conf->fd, &f, in.data + f.body_at);
        json_decref(f.head);
        buf_clear(&in);
        if (rc < 0)
            break;
    }
    if (rc < 0 && err.code)
        log_error("predictor.end err=\"%s\"", err.text);
    buf_fini(&in);
    models_free(p.models);
    return rc < 0;
}
