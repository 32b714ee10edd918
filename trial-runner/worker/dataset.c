/* dataset.c - see dataset.h. A problem is found by a key that holds everything its bytes depend on,
 * and by the marks of its files. */
#include "trial-runner/worker/dataset.h"

#include "base/jsonx.h"
#include "base/known.h"
#include "base/mem.h"
#include "base/str.h"
#include "ml/fit/fit_unit.h"
#include "ml/model/variant.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* KEPT_MAX: problems that are kept open without being used; in use there may be four times as many.
 * KEY_BYTES: more than the texts of struct msg_data together. */
enum { KEPT_MAX = 4, KEY_BYTES = 6000 };

/* A mapped file; path NULL = there is none. */
struct mapped {
    char *path, mark[FILE_MARK_TEXT];
};

struct dataset {
    char key[KEY_BYTES];
    struct mapped table, test;
    struct frame *frame, *test_frame;
    struct ml_data *data;
    char *target, *positive; /* ml_data only borrows them */
    int refs;                /* trials and tasks that use it */
    int64_t used;
};

struct datasets {
    int n;
    int64_t clock, memory_bytes;
    const struct ml_compute *device;
    struct dataset *open[KEPT_MAX * 4];
};

static void dataset_close(struct dataset *d)
{
    ml_data_close(d->data);
    frame_close(d->frame);
    frame_close(d->test_frame);
    mem_free(d->table.path);
    mem_free(d->test.path);
    mem_free(d->target);
    mem_free(d->positive);
    mem_free(d);
}

static void key_of(const struct msg_data *m, char out[KEY_BYTES])
{
    int n = snprintf(out, KEY_BYTES, "%s/%s/%s/%s/%s/%s/%.17g/%d/%" PRIu64 "/%s", m->frame,
                     m->test_frame, m->task, m->metric, m->target, m->positive, m->test_fraction,
                     m->folds, m->split_seed, m->monotone);

    CHECK(n > 0 && n < KEY_BYTES);
    n += snprintf(out + n, (size_t)(KEY_BYTES - n), "/%s/%s/%s/%.17g/%d/%d", m->groups,
                  m->time_column, m->weights, m->gap, m->groups_are_input, m->time_is_input);
    CHECK(n < KEY_BYTES);
}

static int64_t bytes_of(const struct dataset *d)
{
    return ml_data_shared_bytes(d->data);
}

int64_t datasets_shared_bytes(const struct datasets *s)
{
    int64_t sum = 0;

    for (int i = 0; i < s->n; i++)
        sum += bytes_of(s->open[i]);
    return sum;
}

/* Closes what no trial uses of the preparations that configurations chose. */
static int variants_shed(struct datasets *s)
{
    int n = 0;

    for (int i = 0; i < s->n; i++)
        n += ml_variants_shed(s->open[i]->data);
    return n;
}

/* Closes unused problems until one more may be opened. All together may take half of the memory. */
static void shed(struct datasets *s)
{
    if (s->memory_bytes > 0 && datasets_shared_bytes(s) > s->memory_bytes / 2)
        variants_shed(s);
    for (;;) {
        bool is_tight = s->memory_bytes > 0 && datasets_shared_bytes(s) > s->memory_bytes / 2;
        int oldest = -1;

        for (int i = 0; i < s->n; i++) {
            if (s->open[i]->refs == 0 && (oldest < 0 || s->open[i]->used < s->open[oldest]->used))
                oldest = i;
        }
        if (oldest < 0 || (s->n < KEPT_MAX && !is_tight))
            return;
        dataset_close(s->open[oldest]);
        s->open[oldest] = s->open[--s->n];
    }
}

bool datasets_shed(struct datasets *s)
{
    int before = s->n;

    if (variants_shed(s) > 0)
        return true;
    for (int i = s->n - 1; i >= 0; i--) {
        if (s->open[i]->refs == 0) {
            dataset_close(s->open[i]);
            s->open[i] = s->open[--s->n];
        }
    }
    return s->n < before;
}

static int task_of(const char *name, enum ml_task *out, struct err *err)
{
    static const struct {
        const char *name;
        enum ml_task task;
    } tasks[] = { { "binary", ML_BINARY },
                  { "multiclass", ML_MULTICLASS },
                  { "regression", ML_REGRESSION } };

    for (size_t i = 0; i < ARRAY_LEN(tasks); i++) {
        if (str_eq(name, tasks[i].name)) {
            *out = tasks[i].task;
            return 0;
        }
    }
    return err_at(err, "data.task", "'%.16s' is not binary, multiclass or regression", name);
}

/* Reads {column: increasing | decreasing}. The names still belong to the JSON object. */
static int monotone_of(const json_t *o, struct ml_data_spec *spec, struct err *err)
{
    void *it = json_object_iter((json_t *)o);
    struct ml_monotone *list = mem_array(json_object_size(o) + 1, sizeof *list);

    spec->monotone = list;
    for (; it; it = json_object_iter_next((json_t *)o, it)) {
        const char *word = json_string_value(json_object_iter_value(it));
        if (!word || (!str_eq(word, "increasing") && !str_eq(word, "decreasing")))
            return err_at(err, "data.monotone", "must be increasing or decreasing");
        list[spec->n_monotone++] =
            (struct ml_monotone){ json_object_iter_key(it), str_eq(word, "increasing") ? 1 : -1 };
    }
    return 0;
}

static int data_open(struct dataset *d, const struct msg_data *m, struct ml_data_spec *spec,
                     struct err *err)
{
    json_t *o =
        m->monotone[0] ? jsonx_load(m->monotone, strlen(m->monotone), "data.monotone", err) : NULL;

    if ((!m->monotone[0] || o) && monotone_of(o, spec, err) == 0)
        d->data = fit_data_open(spec, err);
    mem_free((void *)(uintptr_t)spec->monotone);
    json_decref(o);
    return d->data ? 0 : -1;
}

static int mapped_check(const struct mapped *m, struct err *err)
{
    char now[FILE_MARK_TEXT];

    if (!m->path)
        return 0;
    file_mark_text(m->path, now);
    return str_eq(now, m->mark)
               ? 0
               : err_set(err, ERR_IO, "the table's file %s changed while it was in use", m->path);
}

/* Maps a file. Its mark is compared before and after, so what was mapped is what was hashed. */
static struct frame *map(struct mapped *m, const struct table_file *file, struct err *err)
{
    struct frame *f = NULL;

    m->path = mem_strdup(file->path);
    str_copy(m->mark, sizeof m->mark, file->mark ? file->mark : "");
    if (mapped_check(m, err) < 0)
        return NULL;
    f = frame_open(file->path, err);
    if (mapped_check(m, err) == 0)
        return f;
    frame_close(f);
    return NULL;
}

struct ml_rows_spec dataset_rows_spec(const struct msg_data *m)
{
    return (struct ml_rows_spec){ .groups = m->groups,
                                  .time = m->time_column,
                                  .gap = m->gap,
                                  .weights = m->weights,
                                  .groups_are_input = m->groups_are_input,
                                  .time_is_input = m->time_is_input };
}

static struct dataset *dataset_open(const struct datasets *s, const struct msg_data *m,
                                    const struct table_file *table, const struct table_file *test,
                                    struct err *err)
{
    struct dataset *d = mem_zalloc(sizeof *d);
    struct ml_data_spec spec = { .test_fraction = m->test_fraction,
                                 .folds = m->folds,
                                 .split_seed = m->split_seed,
                                 .by = dataset_rows_spec(m) };

    key_of(m, d->key);
    d->target = mem_strdup(m->target);
    d->positive = mem_strdup(m->positive);
    spec.device = s->device && s->device->ops ? s->device : NULL;
    spec.target = d->target;
    spec.positive = d->positive;
    if (task_of(m->task, &spec.task, err) < 0 || metric_parse(m->metric, &spec.metric, err) < 0)
        goto fail;
    d->frame = map(&d->table, table, err);
    if (!d->frame)
        goto fail;
    spec.frame = d->frame;
    if (test->path) {
        d->test_frame = map(&d->test, test, err);
        if (!d->test_frame)
            goto fail;
        spec.test_frame = d->test_frame;
    }
    if (data_open(d, m, &spec, err) == 0)
        return d;
fail:
    dataset_close(d);
    return NULL;
}

static bool is_of(const struct mapped *m, const struct table_file *file)
{
    return !file->path ? !m->path : str_eq(m->path, file->path) && str_eq(m->mark, file->mark);
}

/* The open problem with this key and these files. One with the same key whose files have changed is
 * closed if nobody uses it, because the supervisor has checked the new files just now. */
static struct dataset *find_open(struct datasets *s, const char *key,
                                 const struct table_file *table, const struct table_file *test)
{
    for (int i = 0; i < s->n; i++) {
        struct dataset *d = s->open[i];
        bool is_same = is_of(&d->table, table) && is_of(&d->test, test);

        if (strcmp(d->key, key) != 0 || (d->refs > 0 && !is_same))
            continue;
        if (is_same)
            return d;
        dataset_close(d);
        s->open[i] = s->open[--s->n];
        i--;
    }
    return NULL;
}

int dataset_unchanged(const struct datasets *s, const struct ml_data *data, struct err *err)
{
    for (int i = 0; i < s->n; i++) {
        const struct dataset *d = s->open[i];

        if (d->data == data)
            return mapped_check(&d->table, err) < 0 ? -1 : mapped_check(&d->test, err);
    }
    return 0;
}

struct ml_data *dataset_get(struct datasets *s, const struct msg_data *spec,
                            const struct table_file *table, const struct table_file *test,
                            struct err *err)
{
    char key[KEY_BYTES];
    struct dataset *d = NULL;

    key_of(spec, key);
    d = find_open(s, key, table, test);
    if (!d) {
        if (!table->path) {
            err_set(err, ERR_NOTFOUND, "the run names no file for its table");
            return NULL;
        }
        shed(s);
        if (s->n == (int)ARRAY_LEN(s->open)) {
            err_set(err, ERR_BUSY, "%d tables are in use", s->n);
            return NULL;
        }
        d = dataset_open(s, spec, table, test, err);
        if (!d)
            return NULL;
        s->open[s->n++] = d;
    }
    d->refs++;
    d->used = ++s->clock;
    return d->data;
}

void dataset_put(struct datasets *s, const struct ml_data *data)
{
    for (int i = 0; data && i < s->n; i++) {
        if (s->open[i]->data == data) {
            CHECK(s->open[i]->refs > 0);
            s->open[i]->refs--;
            return;
        }
    }
    CHECK(!data);
}

struct datasets *datasets_new(int64_t memory_bytes, const struct ml_compute *device)
{
    struct datasets *s = mem_zalloc(sizeof *s);

    s->memory_bytes = memory_bytes;
    s->device = device;
    return s;
}

void datasets_free(struct datasets *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->n; i++) {
        CHECK(s->open[i]->refs == 0);
        dataset_close(s->open[i]);
    }
    mem_free(s);
}
