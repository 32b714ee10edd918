/* fit_spec.c - the options of `assay fit` become a search spec (fit_spec.h), which is checked by the
 * parser that the controller uses (proto/spec.h) and by the lists of samplers, schedulers and
 * families. fit_words.c turns keys of a spec back into options. Called by cmd_fit.c. */
#include "cli/fit_spec.h"
#include "cli/specnames.h"

#include "base/base.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proto/spec.h"

#include <inttypes.h>
#include <string.h>

#define AT(f) offsetof(struct fit_opts, f)
const struct conf_opt fit_options[FIT_OPTIONS] = {
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

/* The columns as --columns and --missing say. */
static int columns_set(json_t *spec, const struct fit_opts *o, struct err *err)
{
    json_t *out = NULL, *list;
    char *copy, *save = NULL;

    if (o->columns && !(out = pairs_new(o->columns, "--columns", "TYPE", err)))
        return -1;
    if (o->missing) {
        list = json_array();
        copy = mem_strdup(o->missing);
        for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
            json_array_append_new(list, json_string(p));
        mem_free(copy);
        out = out ? out : json_object();
        json_object_set_new(out, "*", json_pack("{s:o}", "missing", list));
    }
    if (out)
        json_object_set_new(spec, "columns", out);
    return 0;
}

static int monotone_set(json_t *spec, const struct fit_opts *o, struct err *err)
{
    json_t *out = o->monotone ? pairs_new(o->monotone, "--monotone", "increasing", err) : NULL;

    if (out)
        json_object_set_new(spec, "monotone", out);
    return o->monotone && !out ? -1 : 0;
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
        json_array_append_new(space, json_pack("{s:s}", "family", p + strspn(p, " ")));
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

static void validation_set(json_t *spec, const struct fit_opts *o)
{
    bool is_auto = str_eq(o->validation, "auto");
    json_t *validation = json_object();

    if (!is_auto || o->folds > 0)
        set_str(validation, "kind", is_auto ? "kfold" : o->validation);
    if (o->folds > 0)
        json_object_set_new(validation, "folds", json_integer(o->folds));
    if (json_object_size(validation) > 0)
        json_object_set(spec, "validation", validation);
    json_decref(validation);
}

static void budget_set(json_t *spec, const struct fit_opts *o)
{
    json_t *budget = json_object();

    if (o->time_ms > 0)
        json_object_set_new(budget, "time", json_sprintf("%" PRId64 "ms", o->time_ms));
    if (o->trials > 0)
        json_object_set_new(budget, "trials", json_integer(o->trials));
    json_object_set_new(spec, "budget", budget);
}

static json_t *spec_of(const struct fit_opts *o)
{
    json_t *spec = json_pack("{s:s, s:s, s:I}", "dataset", "train", "target", o->target, "seed",
                             (json_int_t)o->seed);
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
    if (o->test)
        json_object_set_new(spec, "test", json_pack("{s:s}", "dataset", "test"));
    if (o->parallel > 0)
        json_object_set_new(spec, "parallel", json_integer(o->parallel));
    if (str_i64(o->ensemble, INT64_MIN, INT64_MAX, &members, NULL) == 0)
        json_object_set_new(spec, "ensemble", json_integer(members));
    else
        set_str(spec, "ensemble", o->ensemble);
    budget_set(spec, o);
    validation_set(spec, o);
    return spec;
}

/* ---- checks ---- */

/* These options go into the spec, which is JSON. */
static int check_utf8(const struct fit_opts *o, struct err *err)
{
    const struct {
        const char *option, *value;
    } texts[] = {
        { "--target", o->target },           { "--metric", o->metric },
        { "--positive", o->positive },       { "--task", o->task },
        { "--columns", o->columns },         { "--missing", o->missing },
        { "--monotone", o->monotone },       { "--families", o->families },
        { "--sampler", o->sampler },         { "--scheduler", o->scheduler },
        { "--validation", o->validation },   { "--groups", o->groups },
        { "--time-column", o->time_column }, { "--gap", o->gap },
        { "--weights", o->weights },         { "--ensemble", o->ensemble },
    };

    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].value && !utf8_ok(texts[i].value, strlen(texts[i].value)))
            return err_at(err, texts[i].option, "the text is not UTF-8");
    return 0;
}

/* What the parser of specs would say in the words of a spec, or says only with the table. */
static int check_options(const struct fit_opts *o, const json_t *spec, struct err *err)
{
    if (o->folds > 0 && str_eq(o->validation, "holdout"))
        return err_at(err, "--folds", "does not go with --validation holdout, which has no folds");
    if (o->gap && !o->time_column)
        return err_at(err, "--gap", "belongs to --time-column");
    if (o->groups && o->time_column)
        return err_at(
            err, "--groups",
            "does not go with --time-column: folds are made by groups or forward in time");
    return specnames_check(spec, err) < 0 ? fit_spec_err(err) : 0;
}

json_t *fit_spec_new(const struct fit_opts *o, struct err *err)
{
    struct spec parsed;
    json_t *spec = NULL;

    if (check_utf8(o, err) < 0)
        return NULL;
    spec = spec_of(o);
    if (columns_set(spec, o, err) < 0 || monotone_set(spec, o, err) < 0 ||
        check_options(o, spec, err) < 0)
        goto fail;
    if (spec_parse(&parsed, spec, err) < 0) {
        fit_spec_err(err);
        goto fail;
    }
    spec_fini(&parsed);
    return spec;
fail:
    json_decref(spec);
    return NULL;
}
