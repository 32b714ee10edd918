/* cmd_fit.c - `assay fit`: a table goes in, a model file comes out. No server and no spec are
 * needed.
 *
 * The command starts a controller and runners of its own (local.h), uploads the table, submits a
 * study, follows it (study_run.h) and saves the best model.
 *
 * The clock of --time starts with the process and everything must end before it: the study gets
 * the time that is left after the table was read, less a reserve for saving. Before anything is
 * started, a baseline model is made (baseline.h). It is saved when no trial ends in time. */
#include "cli/baseline.h"
#include "cli/cmd.h"
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
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LATE_MS = 150, TURNS = 6, PATIENCE_MS = 300 };

struct fit_opts {
    char *target, *metric, *test, *output, *positive, *task, *columns, *missing, *monotone,
        *sampler, *scheduler, *families, *validation, *device, *groups, *time_column, *gap,
        *weights, *ensemble;
    int64_t time_ms, trials, seed, runners, folds, parallel;
    bool json, keep_all;
};

#define AT(f) offsetof(struct fit_opts, f)
static const struct conf_opt opts[] = {
    { "target", CONF_STR, AT(target), NULL, 0, 0, "the column to predict (required)" },
    { "metric", CONF_STR, AT(metric), NULL, 0, 0,
      "classes: auc average_precision logloss balanced_logloss brier accuracy balanced_accuracy f1 mcc "
      "quadratic_kappa; numbers: rmse mae r2 mape rmsle poisson_deviance tweedie_deviance "
      "pinball_NN (NN: 05 10 25 50 75 90 95); default by task: auc, logloss, rmse" },
    { "time", CONF_DURATION_MS, AT(time_ms), "0", 0, INT64_C(31536000000),
      "hard limit for everything, such as 60s or 10m; default: 60s where --trials is not given" },
    { "trials", CONF_I64, AT(trials), "0", 0, 1000000,
      "most trials; 0 = no limit; without --time the same seed gives the same model" },
    { "seed", CONF_I64, AT(seed), "1", 0, INT64_C(9007199254740992),
      "seed of everything that is random" },
    { "test", CONF_STR, AT(test), NULL, 0, 0,
      "a second table that the search never sees; trials are scored on it too" },
    { "output", CONF_STR, AT(output), "best.assay", 0, 0, "where to save the model (-o)" },
    { "positive", CONF_STR, AT(positive), NULL, 0, 0,
      "the class that auc and f1 count as positive; default: the rarer one" },
    { "task", CONF_STR, AT(task), "auto", 0, 0, "auto, binary, multiclass or regression" },
    { "columns", CONF_STR, AT(columns), NULL, 0, 0,
      "types of columns where the guess is wrong (numeric, categorical, label, ignore, date, date_dmy, "
      "date_mdy, date_ymd, epoch_s, epoch_ms, yyyymmdd, text, list): zip=categorical,id=ignore" },
    { "missing", CONF_STR, AT(missing), NULL, 0, 0,
      "the only words that are missing values, beside the empty cell: -999,none; \"\" = none, so that "
      "NA is a level" },
    { "monotone", CONF_STR, AT(monotone), NULL, 0, 0,
      "predictions must never fall, or never rise, with a column: age=increasing,debt=decreasing" },
    { "families", CONF_STR, AT(families), NULL, 0, 0,
      "only these model families, of linear,boost,forest,extra_trees,mlp,cnn (cnn for images)" },
    { "sampler", CONF_STR, AT(sampler), NULL, 0, 0,
      "what proposes configurations ('assay searchers' lists them); default auto" },
    { "scheduler", CONF_STR, AT(scheduler), NULL, 0, 0,
      "what decides how far each trial runs ('assay searchers'); default auto" },
    { "validation", CONF_STR, AT(validation), "auto", 0, 0,
      "how trials are scored: auto, kfold or holdout" },
    { "folds", CONF_I64, AT(folds), "0", 0, 20, "number of folds; 0 = chosen for you" },
    { "groups", CONF_STR, AT(groups), NULL, 0, 0,
      "a column whose equal values belong together, such as a patient: never divided by folds" },
    { "time_column", CONF_STR, AT(time_column), NULL, 0, 0,
      "a column of dates or numbers: train on the past, score on what follows" },
    { "gap", CONF_STR, AT(gap), NULL, 0, 0,
      "with --time-column: leave out so much time before each fold (7d, or a number in its units)" },
    { "weights", CONF_STR, AT(weights), NULL, 0, 0,
      "a column with what each row counts, in training and in the score" },
    { "ensemble", CONF_STR, AT(ensemble), "auto", 0, 0,
      "ship several models as one where that is better: auto, off, or how many at most" },
    { "parallel", CONF_I64, AT(parallel), "0", 0, 4096,
      "trials that run at the same time; 0 = chosen for you" },
    { "device", CONF_STR, AT(device), "auto", 0, 0,
      "auto (CPUs, and GPUs where there are some), cpu or cuda" },
    { "runners", CONF_I64, AT(runners), "1", 1, 64, "runner processes to start" },
    { "json", CONF_BOOL, AT(json), "false", 0, 0, "print one JSON document at the end" },
};

/* Parses "a=x,b=y" into an object. Anything else, also an empty text, gives NULL and an error. */
static json_t *pairs_new(const char *text, const char *option, const char *form, struct err *err)
{
    json_t *out = json_object();
    char *copy = mem_strdup(text), *save = NULL;

    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save)) {
        char *eq = strrchr(p, '=');
        if (!eq || eq == p) {
            err_at(err, option, "\"%s\" is not NAME=%s", p, form);
            goto fail;
        }
        *eq = '\0';
        if (json_object_get(out, p)) {
            err_at(err, option, "\"%s\" is named twice", p);
            goto fail;
        }
        json_object_set_new(out, p, json_string(eq + 1));
    }
    mem_free(copy);
    if (json_object_size(out) > 0)
        return out;
    err_at(err, option, "names no column: NAME=%s", form);
    json_decref(out);
    return NULL;
fail:
    mem_free(copy);
    json_decref(out);
    return NULL;
}

/* The columns as --columns and --missing say; NULL = nothing is said, or *rc < 0. */
static json_t *columns_new(const struct fit_opts *o, int *rc, struct err *err)
{
    json_t *out = o->columns ? pairs_new(o->columns, "--columns", "TYPE", err) : NULL, *list;
    char *copy, *save = NULL;

    *rc = o->columns && !out ? -1 : 0;
    if (!o->missing || *rc < 0)
        return out;
    list = json_array();
    copy = mem_strdup(o->missing);
    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
        json_array_append_new(list, json_string(p));
    mem_free(copy);
    out = out ? out : json_object();
    json_object_set_new(out, "*", json_pack("{s:o}", "missing", list));
    return out;
}

static void set_str(json_t *o, const char *key, const char *value)
{
    if (value && value[0])
        json_object_set_new(o, key, json_string(value));
}

static json_t *families_new(const char *list)
{
    json_t *space = json_array();
    char *copy = mem_strdup(list), *save = NULL;

    for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
        json_array_append_new(space, json_pack("{s:s}", "family", p));
    mem_free(copy);
    return space;
}

/* A gap that reads as a number is one, in the units of the column. */
static json_t *time_new(const struct fit_opts *o)
{
    json_t *time = json_pack("{s:s}", "column", o->time_column);
    double gap = 0;

    if (o->gap && str_f64(o->gap, &gap, NULL) == 0)
        json_object_set_new(time, "gap", json_real(gap));
    else
        set_str(time, "gap", o->gap);
    return time;
}

static json_t *spec_new(const struct fit_opts *o, const json_t *train, const json_t *test,
                        int64_t time_ms)
{
    json_t *spec = json_pack("{s:s, s:s, s:I}", "dataset", print_text(train, "name"), "target",
                             o->target, "seed", (json_int_t)o->seed);
    json_t *budget = json_object(), *validation = json_object();
    int64_t members = 0;

    set_str(spec, "metric", o->metric);
    set_str(spec, "positive", o->positive);
    set_str(spec, "task", o->task);
    if (o->sampler)
        json_object_set_new(spec, "sampler", json_pack("{s:s}", "kind", o->sampler));
    if (o->scheduler)
        json_object_set_new(spec, "scheduler", json_pack("{s:s}", "kind", o->scheduler));
    if (o->families)
        json_object_set_new(spec, "space", families_new(o->families));
    set_str(spec, "groups", o->groups);
    set_str(spec, "weights", o->weights);
    if (o->time_column)
        json_object_set_new(spec, "time", time_new(o));
    if (test)
        json_object_set_new(spec, "test", json_pack("{s:s}", "dataset", print_text(test, "name")));
    if (o->parallel > 0)
        json_object_set_new(spec, "parallel", json_integer(o->parallel));
    if (str_i64(o->ensemble, INT64_MIN, INT64_MAX, &members, NULL) == 0)
        json_object_set_new(spec, "ensemble", json_integer(members));
    else
        set_str(spec, "ensemble", o->ensemble);
    if (time_ms > 0)
        json_object_set_new(budget, "time", json_sprintf("%" PRId64 "ms", time_ms));
    if (o->trials > 0)
        json_object_set_new(budget, "trials", json_integer(o->trials));
    json_object_set_new(spec, "budget", budget);
    if (strcmp(o->validation, "auto") != 0 || o->folds > 0) {
        set_str(validation, "kind", strcmp(o->validation, "auto") == 0 ? "kfold" : o->validation);
        if (o->folds > 0)
            json_object_set_new(validation, "folds", json_integer(o->folds));
        json_object_set_new(spec, "validation", validation);
    } else {
        json_decref(validation);
    }
    return spec;
}

/* These options go into the spec, which is JSON. */
static int check_utf8(const struct fit_opts *o, struct err *err)
{
    const struct {
        const char *option, *value;
    } texts[] = {
        { "--target", o->target },
        { "--metric", o->metric },
        { "--positive", o->positive },
        { "--task", o->task },
        { "--columns", o->columns },
        { "--monotone", o->monotone },
        { "--families", o->families },
        { "--sampler", o->sampler },
        { "--scheduler", o->scheduler },
        { "--validation", o->validation },
        { "--groups", o->groups },
        { "--time-column", o->time_column },
        { "--gap", o->gap },
        { "--weights", o->weights },
        { "--ensemble", o->ensemble },
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].value && !utf8_ok(texts[i].value, strlen(texts[i].value)))
            return err_at(err, texts[i].option, "the text is not UTF-8");
    return 0;
}

/* Checks the inputs that can be checked before anything is started. */
static int check_inputs(const struct fit_opts *o, const char *train, struct err *err)
{
    if (!o->target)
        return err_at(err, "--target", "name the column to predict: assay fit %s --target COLUMN",
                      train);
    if (check_utf8(o, err) < 0)
        return -1;
    if (io_file_bytes(train) < 0)
        return err_set(err, ERR_NOTFOUND, "%s: no such file", train);
    if (o->test && io_file_bytes(o->test) < 0)
        return err_set(err, ERR_NOTFOUND, "%s: no such file", o->test);
    if (o->time_ms > 0 && o->time_ms < 1000)
        return err_at(err, "--time", "at least 1s");
    if (o->gap && !o->time_column)
        return err_at(err, "--gap", "belongs to --time-column");
    if (local_device_check(o->device, err) < 0)
        return -1;
    return outfile_check(o->output, err);
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

static int submit(struct study_run *s, const struct fit_opts *o, const char *file, int64_t *study,
                  struct err *err)
{
    json_t *columns = NULL, *monotone = NULL, *like = NULL, *train = NULL, *test = NULL,
           *spec = NULL, *answer = NULL;
    int64_t left = 0;
    int rc = -1;

    columns = columns_new(o, &rc, err);
    if (rc < 0)
        goto out;
    rc = -1;
    if ((o->monotone && !(monotone = pairs_new(o->monotone, "--monotone", "increasing", err))) ||
        study_run_dataset(s, file, "train", columns, &train, err) < 0)
        goto out;
    if (!s->quiet)
        told_dataset(train, file, o->target);
    if (o->test) {
        like = study_run_columns_like_new(train, o->test);
        if (study_run_dataset(s, o->test, "test", like, &test, err) < 0)
            goto out;
    }
    if (s->end_ms) {
        left = s->end_ms - clk_now_ms(&s->clk) - 200;
        left = MAX(left, 100);
    }
    spec = spec_new(o, train, test, left);
    if (monotone)
        json_object_set(spec, "monotone", monotone);
    if (client_post(s->client, spec, &answer, err, "/studies") < 0)
        goto out;
    *study = json_integer_value(json_object_get(answer, "id"));
    rc = 0;
out:
    json_decref(columns);
    json_decref(monotone);
    json_decref(like);
    json_decref(train);
    json_decref(test);
    json_decref(spec);
    json_decref(answer);
    return rc;
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

/* Makes the baseline model. `why` says why there is none. It is told only where the search has no
 * time to report the same error, because it is of the first rows alone. */
static void baseline_of(struct study_run *s, const struct fit_opts *o, const char *file,
                        struct baseline *b, struct err *why)
{
    int told = 0;
    json_t *columns = columns_new(o, &told, why);
    const struct baseline_spec spec = { .file = file,
                                        .target = o->target,
                                        .metric = o->metric,
                                        .task = o->task,
                                        .positive = o->positive,
                                        .columns = columns,
                                        .seed = o->seed };

    if (s->end_ms && told == 0)
        (void)baseline_make(b, &spec, why);
    json_decref(columns);
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
                  const char *file, json_t **last, struct err *err)
{
    int64_t study = 0, left = s->end_ms - clk_now_ms(&s->clk);

    if (local_start(local, NULL, (int)o->runners, o->device, s->end_ms ? MAX(left, 1) : 0, err) < 0)
        return -1;
    s->client = local->client;
    if (s->end_ms)
        client_deadline(s->client, &s->clk, s->end_ms);
    if (submit(s, o, file, &study, err) < 0 || study_run_follow(s, study, last, err) < 0)
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

int cmd_fit(const struct cmd *cmd, int argc, char **argv)
{
    struct fit_opts o = { 0 };
    struct study_run s;
    struct local local = { 0 };
    struct baseline baseline = { 0 };
    struct stdinfile input = { 0 };
    struct err err = { 0 }, why = { 0 };
    const char *operands[CLI_MAX_OPERANDS];
    int n = 0, rc;
    json_t *last = NULL;

    study_run_init(&s, NULL, &local); /* first: the clock starts with the process */
    if ((rc = cli_args(cmd, opts, ARRAY_LEN(opts), &o, argc, argv, operands, 1, 1, &n)) >= 0)
        goto out;
    s.quiet = o.json;
    if (inputs_take(&o, &input, operands, &err) < 0) {
        rc = cli_fail(&err);
        goto out;
    }
    if (images_check(&o, operands[0], &err) < 0 || check_inputs(&o, operands[0], &err) < 0) {
        rc = cli_fail(&err);
        if (err.code == ERR_ARG)
            rc = CLI_USAGE;
        goto out;
    }
    if (o.time_ms == 0 && o.trials == 0)
        o.time_ms = 60000;
    s.end_ms = o.time_ms ? s.start_ms + o.time_ms : 0;
    baseline_of(&s, &o, operands[0], &baseline, &why);
    rc = search(&s, &local, &o, operands[0], &last, &err);
    if (rc < 0 && is_too_late(&s, last, &err))
        rc = end_late(&s, &o, last, &baseline, &why, &err);
    rc = rc < 0 ? cli_fail(&err) : CLI_OK;
out:
    end_local(&s, &local);
    stdinfile_end(&input);
    baseline_fini(&baseline);
    json_decref(last);
    conf_fini(&o, opts, ARRAY_LEN(opts));
    return rc;
}
