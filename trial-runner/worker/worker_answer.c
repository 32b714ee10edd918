/* worker_answer.c - carries out what the controller answered to a parked trial: its model file is
 * uploaded, its checkpoint is saved, or it is dropped. An answer to go on to another level is not
 * handled here: it makes the job a running one again (worker.c). Called between slices. */
#include "trial-runner/worker/worker_private.h"

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "trial-runner/worker/checkpoint.h"

#include <inttypes.h>

/* What the trial predicted goes before its model file, after which nothing more is said of it. */
static void send_predictions(struct worker *w, struct job *j)
{
    char path[WORKER_PATH_BYTES];
    struct err err = { 0 };
    struct msg_event ev;

    if (j->predictions.len == 0)
        return;
    msg_event_init(&ev);
    ev.type = MSG_PREDICTIONS;
    ev.level = j->to;
    worker_path(w, j, "predictions", path);
    if (checkpoint_file(path, &j->predictions, ev.blob, &err) == 0)
        worker_event(w, j, &ev, path);
    else
        log_warn("predictions.failed trial=%" PRId64 " err=\"%s\"", j->trial, err.text);
}

static void send_artifact(struct worker *w, struct job *j)
{
    char path[WORKER_PATH_BYTES];
    struct err err = { 0 };
    struct msg_event ev;

    msg_event_init(&ev);
    ev.type = MSG_COMPLETE;
    ev.level = j->to;
    ev.cut = j->cut;
    worker_beat(w, LONG_MS);
    if (j->artifact_path) {
        str_copy(path, sizeof path, j->artifact_path);
        str_copy(ev.blob, sizeof ev.blob, j->artifact_sha256);
        ev.model_bytes = io_file_bytes(path);
        mem_free(j->artifact_path);
        j->artifact_path = NULL; /* the supervisor's now */
    } else {
        worker_path(w, j, "artifact", path);
        ev.model_bytes = (int64_t)j->artifact.len;
        if (checkpoint_file(path, &j->artifact, ev.blob, &err) < 0) {
            worker_fail(w, j, worker_fit_reason(&err), err.text);
            return;
        }
    }
    worker_event(w, j, &ev, path);
}

/* Carries out the answer to a parked job: sends its model file, saves its checkpoint, or drops
 * it. */
static void serve_one(struct worker *w, struct job *j)
{
    bool is_final = !j->fit;

    if (!j->stop)
        worker_say_begin(w, j); /* if the process dies now, this job is charged with it */
    if (!j->stop && j->answer == MSG_KEEP && is_final) {
        send_predictions(w, j);
        send_artifact(w, j);
    } else if (!j->stop && (j->answer == MSG_PAUSE || j->answer == MSG_KEEP)) {
        if (is_final || j->answer == MSG_KEEP || worker_fit_save(w, j, MSG_PAUSED) < 0)
            worker_fail(w, j, TR_DEVICE, "the checkpoint could not be written");
    }
    worker_fit_close(w, j);
}

void worker_serve(struct worker *w)
{
    for (struct run *r = w->runs; r; r = r->next) {
        for (int i = 0; i < r->n_jobs; i++) {
            struct job *j = &r->jobs[i];

            if (j->state == JOB_ANSWERED || (j->state == JOB_ASKED && j->stop))
                serve_one(w, j);
        }
    }
}
