/* epochs.c - checks, joins and keeps what epochs.h describes. Nothing of it is decided upon. */
#include "controller/state/epochs.h"

#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "controller/state/lease.h"
#include "store/trial.h"

#include <inttypes.h>
#include <string.h>

enum { METRIC_NAME = 40, LEVEL_MOST = 1 << 20, FOLDS_MOST = 1000 };

static const char *const number_key[] = { "train_loss", "score", "learning_rate", "gradient_norm",
                                          "samples_per_s" };

/* ---- what a runner may tell ---- */

/* Whole numbers from 1 on, each larger than the one before. */
static bool is_counting(const json_t *epochs)
{
    json_int_t last = 0;
    json_t *v = NULL;
    size_t i = 0;

    json_array_foreach(epochs, i, v)
    {
        if (!json_is_integer(v) || json_integer_value(v) <= last)
            return false;
        last = json_integer_value(v);
    }
    return i >= 1 && i <= EPOCHS_POINTS;
}

static bool is_numbers(const json_t *list, size_t n)
{
    json_t *v = NULL;
    size_t i = 0;

    if (!json_is_array(list) || json_array_size(list) != n)
        return false;
    json_array_foreach(list, i, v)
    {
        if (!json_is_number(v) && !json_is_null(v))
            return false;
    }
    return true;
}

static bool is_run(const json_t *o)
{
    const json_t *epochs = json_object_get(o, "epoch"), *metric = json_object_get(o, "metric");
    int64_t level = 0, folds = 0;

    if (jsonx_i64(o, NULL, "level", JSONX_REQUIRED, 1, LEVEL_MOST, &level, NULL) < 0 ||
        jsonx_i64(o, NULL, "folds", JSONX_REQUIRED, 1, FOLDS_MOST, &folds, NULL) < 0 ||
        !json_is_string(metric) || json_string_length(metric) > METRIC_NAME ||
        !json_is_boolean(json_object_get(o, "larger_is_better")) || !json_is_array(epochs) ||
        !is_counting(epochs))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(number_key); i++) {
        if (!is_numbers(json_object_get(o, number_key[i]), json_array_size(epochs)))
            return false;
    }
    return true;
}

/* Only the keys that are known here. NULL = it is no run. */
static json_t *run_new(const char *text)
{
    static const char *const plain[] = { "level", "folds", "metric", "larger_is_better", "epoch" };
    json_t *told = jsonx_load(text, strlen(text), "epochs", NULL), *run = NULL;

    if (told && is_run(told)) {
        run = json_object();
        for (size_t i = 0; i < ARRAY_LEN(plain); i++)
            json_object_set(run, plain[i], json_object_get(told, plain[i]));
        for (size_t i = 0; i < ARRAY_LEN(number_key); i++)
            json_object_set(run, number_key[i], json_object_get(told, number_key[i]));
    }
    json_decref(told);
    return run;
}

/* ---- joining it with what was stored ---- */

struct find_run {
    int level;
    json_t *found;
};

static int on_run(void *arg, int level, const char *data)
{
    struct find_run *f = arg;

    if (level != f->level)
        return 0;
    f->found = jsonx_load(data, strlen(data), "epochs", NULL);
    return 1;
}

/* The place of an epoch in a list that counts; `from`: not before this place. */
static size_t place_of(const json_t *epochs, json_int_t epoch, size_t from)
{
    size_t i = from;

    while (i < json_array_size(epochs) && json_integer_value(json_array_get(epochs, i)) < epoch)
        i++;
    return i;
}

/* An epoch with a speed was trained under this fence. For the others the speed and the fence that were stored hold. */
static void join(json_t *run, const json_t *before, int64_t fence)
{
    const json_t *epochs = json_object_get(run, "epoch"), *old = json_object_get(before, "epoch");
    const json_t *old_speed = json_object_get(before, "samples_per_s"),
                 *old_fence = json_object_get(before, "fence");
    json_t *speeds = json_object_get(run, "samples_per_s"), *fences = json_array();
    json_t *joined = json_array(), *epoch = NULL;
    size_t i = 0, at = 0;

    json_array_foreach(epochs, i, epoch)
    {
        json_t *speed = json_array_get(speeds, i), *by = NULL;
        at = place_of(old, json_integer_value(epoch), at);
        if (!json_is_null(speed)) {
            by = json_integer((json_int_t)fence);
        } else if (json_equal(json_array_get(old, at), epoch)) {
            speed = json_array_get(old_speed, at);
            by = json_incref(json_array_get(old_fence, at));
        }
        json_array_append_new(joined, speed ? json_incref(speed) : json_null());
        json_array_append_new(fences, by ? by : json_null());
    }
    json_object_set_new(run, "samples_per_s", joined);
    json_object_set_new(run, "fence", fences);
}

static int join_stored(struct ctl *ctl, int64_t trial, int64_t fence, json_t *run, struct err *err)
{
    struct find_run f = { .level = (int)json_integer_value(json_object_get(run, "level")) };
    int rc = store_epochs_each(ctl->store, trial, on_run, &f, err);

    if (rc == 0)
        join(run, f.found, fence);
    json_decref(f.found);
    return rc;
}

static int put(struct ctl *ctl, int64_t trial, const json_t *run, struct err *err)
{
    char *text = jsonx_dump_short(run);
    int rc = store_epochs_put(ctl->store, trial,
                              (int)json_integer_value(json_object_get(run, "level")), text, err);

    mem_free(text);
    return rc;
}

int epochs_take(struct ctl *ctl, int64_t trial, int64_t fence, const char *text, bool is_stored,
                struct err *err)
{
    struct lease *l = lease_find(ctl, false, trial);
    json_t *run = text ? run_new(text) : NULL;
    int rc = 0;

    if (!text)
        return 0;
    if (!run) {
        log_warn("epochs.refused trial=%" PRId64 " fence=%" PRId64, trial, fence);
        return 0;
    }
    rc = join_stored(ctl, trial, fence, run, err);
    if (rc == 0 && is_stored)
        rc = put(ctl, trial, run, err);
    if (rc == 0 && l && l->fence == fence) {
        json_decref(l->epochs);
        l->epochs = json_incref(run);
    }
    json_decref(run);
    return rc;
}

/* ---- showing it ---- */

struct list_runs {
    json_t *list;
    const json_t *live;
};

static json_int_t level_of(const json_t *run)
{
    return json_integer_value(json_object_get(run, "level"));
}

static int on_stored(void *arg, int level, const char *data)
{
    struct list_runs *r = arg;
    json_t *run = jsonx_load(data, strlen(data), "epochs", NULL);

    if (run && !(r->live && level >= level_of(r->live)))
        json_array_append(r->list, run);
    json_decref(run);
    return 0;
}

int epochs_list(struct ctl *ctl, int64_t trial, json_t **out, bool *is_live, struct err *err)
{
    const struct lease *l = lease_find(ctl, false, trial);
    struct list_runs r = { .list = json_array(), .live = l ? l->epochs : NULL };

    if (store_epochs_each(ctl->store, trial, on_stored, &r, err) < 0) {
        json_decref(r.list);
        return -1;
    }
    *is_live = r.live != NULL;
    if (r.live)
        json_array_append(r.list, (json_t *)r.live);
    *out = r.list;
    return 0;
}
