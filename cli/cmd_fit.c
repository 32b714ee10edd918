/* cmd_fit.c - `assay fit`: a table goes in, a model file comes out. No server and no spec are
 * needed.
 *
 * The command starts a controller and runners of its own (local.h), uploads the table, submits a
 * study, follows it (study_run.h) and saves the best model. fit_spec.h has its options.
 *
 * The clock of --time starts with the process and everything must end before it: the study gets
 * the time that is left after the table was read, less a reserve for saving. Before anything is
 * started, a baseline model is made (baseline.h). It is saved when no trial ends in time. */
#include "cli/baseline.h"
#include "cli/cmd.h"
#include "cli/fit_head.h"
#include "cli/fit_spec.h"
#include "cli/imagepack.h"
#include "cli/local.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/stdinfile.h"
#include "cli/study_run.h"
#include "cli/told.h"

#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LATE_MS = 150, TURNS = 6, PATIENCE_MS = 300 };

/* Checks what can be checked before anything is started. Returns the spec, or NULL and err. */
static json_t *inputs_check(const struct fit_opts *o, const char *train, struct err *err)
{
    json_t *spec = NULL;

    if (!o->target)
        err_at(err, "--target", "name the column to predict: assay fit %s --target COLUMN", train);
    else if (o->time_ms > 0 && o->time_ms < 1000)
        err_at(err, "--time", "at least 1s");
    else if (strcmp(o->output, "-") == 0)
        err_at(err, "--output", "name a file: standard output shows the leaderboard");
    else if (local_device_check(o->device, err) == 0)
        spec = fit_spec_new(o, err);
    if (!spec)
        return NULL;
    if (io_file_bytes(train) < 0)
        err_set(err, ERR_NOTFOUND, "%s: no such file", train);
    else if (o->test && io_file_bytes(o->test) < 0)
        err_set(err, ERR_NOTFOUND, "%s: no such file", o->test);
    else if (outfile_check(o->output, err) == 0 && outfile_apart(o->output, train, err) == 0 &&
             (!o->test || outfile_apart(o->output, o->test, err) == 0))
        return spec;
    json_decref(spec);
    return NULL;
}

/* Of images the target is the column with their labels. */
static int images_check(struct fit_opts *o, const char *file, struct err *err)
{
    char labels[1024];

    if (!image_pack_is(file))
        return 0;
    if (!o->target)
        o->target = mem_strdup("label");
    return image_pack_folder(file) || image_pack_labels(file, labels, sizeof(labels))
               ? 0
               : err_set(err, ERR_ARG,
                         "%s: there are no labels beside these images (looked for %s)", file,
                         labels);
}

/* The spec names the tables as the controller does, and gets the time that is left. */
static void spec_complete(const struct study_run *s, json_t *spec, const json_t *train,
                          const json_t *test)
{
    int64_t left = s->end_ms - clk_now_ms(&s->clk) - 200;

    json_object_del(spec, "columns"); /* the dataset has been read by them */
    json_object_set_new(spec, "dataset", json_string(print_text(train, "name")));
    if (test)
        json_object_set_new(json_object_get(spec, "test"), "dataset",
                            json_string(print_text(test, "name")));
    if (s->end_ms)
        json_object_set_new(json_object_get(spec, "budget"), "time",
                            json_sprintf("%" PRId64 "ms", MAX(left, 100)));
}

static int submit(struct study_run *s, const struct fit_opts *o, const char *file, json_t *spec,
                  int64_t *study, struct err *err)
{
    json_t *like = NULL, *train = NULL, *test = NULL, *answer = NULL;
    int rc = -1;

    if (study_run_dataset(s, file, "train", json_object_get(spec, "columns"), &train, err) < 0)
        goto out;
    if (!s->quiet)
        told_dataset(train, stdinfile_name(file), o->target, TOLD_OPTION);
    if (o->test) {
        like = study_run_columns_like_new(train, o->test);
        if (study_run_dataset(s, o->test, "test", like, &test, err) < 0)
            goto out;
    }
    spec_complete(s, spec, train, test);
    if (client_post(s->client, spec, &answer, err, "/studies") < 0)
        goto out;
    *study = json_integer_value(json_object_get(answer, "id"));
    rc = 0;
out:
    json_decref(like);
    json_decref(train);
    json_decref(test);
    json_decref(answer);
    return rc < 0 ? fit_spec_err(err) : 0;
}

static void tell_json(const struct fit_opts *o, const json_t *study, const json_t *board)
{
    json_t *doc =
        json_pack("{s:O?, s:O?, s:s}", "study", study, "leaderboard", board, "model", o->output);

    print_json(doc);
    json_decref(doc);
}

static int finish(struct study_run *s, const struct fit_opts *o, int64_t study, const json_t *last,
                  struct err *err)
{
    if (last && strcmp(print_text(last, "state"), "failed") == 0)
        return err_set(err, ERR_IO, "the search failed: %s", print_text(last, "reason"));
    if (study_run_results(s, study, o->output, 10, err) < 0)
        return -1;
    if (o->json) {
        json_t *board = NULL;
        if (client_get(s->client, &board, err, "/studies/%" PRId64 "/leaderboard?limit=1000",
                       study) < 0 &&
            !study_run_is_late(s))
            return -1;
        tell_json(o, last, board);
        json_decref(board);
        return 0;
    }
    char took[40];
    str_fmt_ms(clk_now_ms(&s->clk) - s->start_ms, took, sizeof(took));
    printf("\nsaved %s after %s; use it: assay predict %s data.csv -o predictions.csv\n", o->output,
           took, o->output);
    return 0;
}

/* Reads the first rows: refuses columns that the table does not have, and makes the baseline model.
 * `why` says why there is none. It is told only where the search has no time to report the same
 * error, because it is of the first rows alone. */
static int head_take(struct study_run *s, const struct fit_opts *o, const char *file,
                     const json_t *spec, struct baseline *b, struct err *why, struct err *err)
{
    struct fit_head head = { 0 };

    if (fit_head_open(&head, file, json_object_get(spec, "columns"), why) < 0)
        return 0;
    int rc = fit_head_check(&head, file, o, spec, err);
    const struct baseline_spec of = { .frame = head.frame,
                                      .target = o->target,
                                      .metric = o->metric,
                                      .task = o->task,
                                      .positive = o->positive,
                                      .seed = o->seed };
    if (rc == 0 && s->end_ms)
        (void)baseline_make(b, &of, why);
    fit_head_close(&head);
    return rc;
}

/* True when the search failed only because its time was over. */
static bool is_too_late(const struct study_run *s, const json_t *last, const struct err *why)
{
    bool no_answer =
        why->code == ERR_TIMEOUT || why->code == ERR_UNREACHABLE || why->code == ERR_BUSY;

    if (why->code == ERR_NOTFOUND && last)
        return s->end_ms > 0;
    if (last && strcmp(print_text(last, "state"), "failed") == 0)
        return json_integer_value(json_object_get(json_object_get(last, "trials"), "failed")) == 0;
    return no_answer && study_run_is_late(s);
}

/* lost: why the best model of the search could not be fetched; NULL = there was none. */
static int save_baseline(const struct fit_opts *o, const json_t *last, struct baseline *b,
                         const char *lost, struct err *err)
{
    if (baseline_save(b, o->output, err) < 0)
        return -1;
    if (o->json) {
        tell_json(o, last, NULL);
        return 0;
    }
    printf("%s%s: saved %s, the baseline of its first %" PRId64
           " rows; a longer --time, or an idle machine, gives a better one\n",
           lost ? "the best model could not be fetched: " : "no trial ended in time",
           lost ? print_safe(lost) : "", o->output, b->rows);
    return 0;
}

static int search(struct study_run *s, struct local *local, const struct fit_opts *o,
                  const char *file, json_t *spec, json_t **last, struct err *err)
{
    int64_t study = 0, left = s->end_ms - clk_now_ms(&s->clk);

    if (local_start(local, NULL, (int)o->runners, o->device, s->end_ms ? MAX(left, 1) : 0, err) < 0)
        return -1;
    s->client = local->client;
    if (s->end_ms)
        client_deadline(s->client, &s->clk, s->end_ms);
    if (submit(s, o, file, spec, &study, err) < 0 || study_run_follow(s, study, last, err) < 0)
        return -1;
    return finish(s, o, study, *last, err);
}

/* The search's time was over: the baseline is the result, or the reason why there is none. */
static int end_late(const struct study_run *s, const struct fit_opts *o, const json_t *last,
                    struct baseline *b, const struct err *why, struct err *err)
{
    if (b->model.len > 0) {
        const struct err was = *err;
        return save_baseline(o, last, b, s->has_model ? was.text : NULL, err);
    }
    if (why->code != ERR_NONE)
        err_set(err, why->code, "no trial ended in time, and of the first rows no baseline: %s",
                why->text);
    return -1;
}

/* An orderly end takes a moment, because processes must be scheduled and a folder must be
 * emptied. When there is no time left for that, local_abandon leaves it to another process. */
static void end_local(const struct study_run *s, struct local *local)
{
    int64_t wanted_ms = MAX(LATE_MS, TURNS * s->slow_ms);
    int64_t left_ms = s->end_ms ? s->end_ms - clk_now_ms(&s->clk) - wanted_ms : PATIENCE_MS;

    if (left_ms < 0)
        local_abandon(local);
    else
        local_stop(local, MIN(PATIENCE_MS, left_ms));
}

/* Standard input is copied, because a table is read more than once. */
static int inputs_take(struct fit_opts *o, struct stdinfile *input, const char **train,
                       struct err *err)
{
    const char *test = o->test;

    if (stdinfile_take(input, train, err) < 0 || (test && stdinfile_take(input, &test, err) < 0))
        return -1;
    if (test != o->test) {
        mem_free(o->test);
        o->test = mem_strdup(test);
    }
    return 0;
}

/* From the options to the saved model. */
static int fit(struct study_run *s, struct local *local, struct fit_opts *o, const char *file,
               struct baseline *baseline)
{
    struct err err = { 0 }, why = { 0 };
    json_t *spec = NULL, *last = NULL;

    if (images_check(o, file, &err) < 0 || !(spec = inputs_check(o, file, &err))) {
        int code = cli_fail(&err);
        return err.code == ERR_ARG ? CLI_USAGE : code;
    }
    if (o->time_ms == 0 && o->trials == 0)
        o->time_ms = 60000;
    s->end_ms = o->time_ms ? s->start_ms + o->time_ms : 0;
    int rc = head_take(s, o, file, spec, baseline, &why, &err);
    if (rc == 0) {
        rc = search(s, local, o, file, spec, &last, &err);
        if (rc < 0 && is_too_late(s, last, &err))
            rc = end_late(s, o, last, baseline, &why, &err);
    }
    rc = rc < 0 ? cli_fail(&err) : CLI_OK;
    json_decref(spec);
    json_decref(last);
    return rc;
}

int cmd_fit(const struct cmd *cmd, int argc, char **argv)
{
    struct fit_opts o = { 0 };
    struct study_run s;
    struct local local = { 0 };
    struct baseline baseline = { 0 };
    struct stdinfile input = { 0 };
    struct err err = { 0 };
    const char *operands[CLI_MAX_OPERANDS];
    int n = 0, rc;

    study_run_init(&s, NULL, &local); /* first: the clock starts with the process */
    if ((rc = cli_args(cmd, fit_options, FIT_OPTIONS, &o, argc, argv, operands, 1, 1, &n)) >= 0)
        goto out;
    s.quiet = o.json;
    s.advice = fit_spec_advice;
    rc = inputs_take(&o, &input, operands, &err) < 0 ? cli_fail(&err)
                                                     : fit(&s, &local, &o, operands[0], &baseline);
out:
    end_local(&s, &local);
    stdinfile_end(&input);
    baseline_fini(&baseline);
    conf_fini(&o, fit_options, FIT_OPTIONS);
    return rc;
}
