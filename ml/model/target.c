/* target.c - the target column of a table, read as class indices or numbers (target.h).
 *
 * Classes of a text column are its levels; classes of a numeric column are its distinct values,
 * whose labels are written the shortest way that reads back as the same number. Levels that look
 * like numbers are sorted by value, so that "10" comes after "9". Values become class indices in
 * two steps: first the index in the order found, then, once the classes are sorted, the index in
 * the artifact's order. */
#include "ml/model/target.h"

#include "base/buf.h"
#include "base/mem.h"
#include "ml/table/json_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int target_find(const struct frame *f, const char *name, struct err *err)
{
    int at = frame_find(f, name);

    if (at < 0)
        return err_at(err, "target", "no column is called \"%.100s\"", name);
    if (f->cols[at].type == FRAME_IGNORED)
        return err_at(err, "target", "the target column \"%.100s\" is ignored in this table", name);
    if (f->cols[at].missing == f->rows)
        return err_at(err, "target", "the target column \"%.100s\" has no values", name);
    if (f->cols[at].distinct < 2)
        return err_at(err, "target",
                      "the target column \"%.100s\" has only one value: there is nothing to learn",
                      name);
    return at;
}

static int column_numbers(const struct frame *f, int at, double **out, struct err *err)
{
    *out = mem_try_alloc((size_t)f->rows * sizeof(**out));
    if (!*out)
        return err_set(err, ERR_NOMEM, "no memory for %lld targets", (long long)f->rows);
    frame_numbers(f, at, 0, f->rows, *out);
    return 0;
}

int ml_task_infer(const struct frame *f, const char *name, enum ml_task *out, struct err *err)
{
    int at = target_find(f, name, err);
    double *v = NULL;
    bool are_whole = true;

    if (at < 0)
        return -1;
    const struct frame_col *c = &f->cols[at];
    *out = c->distinct == 2               ? ML_BINARY
           : c->type == FRAME_CATEGORICAL ? ML_MULTICLASS
                                          : ML_REGRESSION;
    if (*out != ML_REGRESSION || c->distinct > TARGET_FEW_WHOLE ||
        f->rows - c->missing < 5 * c->distinct)
        return 0;
    if (column_numbers(f, at, &v, err) < 0)
        return -1;
    for (int64_t i = 0; i < f->rows && are_whole; i++)
        are_whole = isnan(v[i]) || (isfinite(v[i]) && v[i] == floor(v[i]));
    mem_try_free(v);
    *out = are_whole ? ML_MULTICLASS : ML_REGRESSION;
    return 0;
}

static int target_numbers(const struct target_column *in, int at, struct target *out,
                          struct err *err)
{
    if (in->frame->cols[at].type != FRAME_NUMERIC)
        return err_at(err, "target",
                      "the target column \"%.100s\" holds text: regression needs numbers",
                      in->name);
    if (column_numbers(in->frame, at, &out->y, err) < 0)
        return -1;
    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (isinf(out->y[i]))
            return err_at(err, "target",
                          "the target column \"%.100s\" is infinite in data row %lld", in->name,
                          (long long)i + 1);
    }
    return 0;
}

/* ---- classes ---- */

struct class_key {
    char *text;
    double value;
    bool is_number;
    int64_t rows;
    int was; /* level, or index in the sorted values */
};

static int by_label(const void *va, const void *vb)
{
    const struct class_key *a = va, *b = vb;

    if (a->is_number && b->is_number && a->value != b->value)
        return a->value < b->value ? -1 : 1;
    return strcmp(a->text, b->text);
}

static int too_many(const struct target_column *in, int64_t n, struct err *err)
{
    return err_at(err, "target",
                  "the target column \"%.100s\" has %s%lld classes; at most %d are supported",
                  in->name, n >= 4096 ? "at least " : "", (long long)n, TARGET_MAX_CLASSES);
}

static int by_number(const void *va, const void *vb)
{
    double a = *(const double *)va, b = *(const double *)vb;

    return a < b ? -1 : a > b;
}

static bool reads_as(const char *text, double v)
{
    char *end = NULL;
    double w = strtod(text, &end);

    return end != text && !*end && v == w;
}

/* A class of numbers is called as it is written in the table, where it is written in one way
 * (FRAME_SPELT). */
static void spelt_take(const char *note, struct class_key *key)
{
    char text[64];
    int found = 0;

    if (strncmp(note, FRAME_SPELT, strlen(FRAME_SPELT)) != 0)
        return;
    for (const char *s = note + strlen(FRAME_SPELT); *s == '"';) {
        size_t n = strcspn(s + 1, "\"");
        if (n < sizeof(text)) {
            memcpy(text, s + 1, n);
            text[n] = '\0';
            if (reads_as(text, key->value) && found++ == 0) {
                mem_free(key->text);
                key->text = mem_strdup(text);
            }
        }
        s += s[n + 1] ? n + 2 : n + 1;
        s += *s == ',';
    }
}

/* Classes of a numeric column: y comes in as values and leaves as indices of ascending values. */
static int classes_of_numbers(const struct target_column *in, int at, struct class_key *key, int n,
                              struct target *out, struct err *err)
{
    double *value = mem_array((size_t)n + 1, sizeof(*value));
    int seen = 0, rc = -1;

    if (column_numbers(in->frame, at, &out->y, err) < 0)
        goto out;
    for (int64_t i = 0; i < in->frame->rows; i++) {
        double *hit = isnan(out->y[i])
                          ? &out->y[i]
                          : bsearch(&out->y[i], value, (size_t)seen, sizeof(*value), by_number);
        if (hit)
            continue;
        CHECK(seen < n); /* the frame counted them */
        value[seen++] = out->y[i];
        qsort(value, (size_t)seen, sizeof(*value), by_number);
    }
    for (int i = 0; i < seen; i++) {
        struct buf b;
        buf_init(&b, 64);
        if (json_text_num(&b, value[i], err) < 0)
            goto out;
        if (isinf(value[i])) {
            buf_clear(&b);
            (void)buf_adds(&b, value[i] > 0 ? "inf" : "-inf", NULL);
        }
        key[i] = (struct class_key){ buf_take(&b, NULL), value[i], true, 0, i };
        spelt_take(in->frame->cols[at].note, &key[i]);
    }
    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (isnan(out->y[i]))
            continue;
        const double *hit = bsearch(&out->y[i], value, (size_t)seen, sizeof(*value), by_number);
        out->y[i] = (double)(hit - value);
    }
    rc = 0;
out:
    mem_free(value);
    return rc;
}

static int classes_of_levels(const struct target_column *in, int at, struct class_key *key, int n,
                             struct target *out, struct err *err)
{
    const struct frame_col *c = &in->frame->cols[at];
    int32_t code[256];

    out->y = mem_try_alloc((size_t)in->frame->rows * sizeof(*out->y));
    if (!out->y)
        return err_set(err, ERR_NOMEM, "no memory for %lld targets", (long long)in->frame->rows);
    for (int64_t from = 0; from < in->frame->rows; from += 256) {
        int64_t rows = MIN(in->frame->rows - from, 256);
        frame_codes(in->frame, at, from, rows, code);
        for (int64_t i = 0; i < rows; i++)
            out->y[from + i] = code[i] < 0 ? (double)NAN : code[i];
    }
    bool all_numbers = true;
    for (int i = 0; i < n; i++) {
        char *end = NULL;
        double v = strtod(c->levels[i], &end);
        all_numbers = all_numbers && end != c->levels[i] && *end == '\0' && !isnan(v);
        key[i] = (struct class_key){ mem_strdup(c->levels[i]), v, false, 0, i };
    }
    for (int i = 0; i < n; i++)
        key[i].is_number = all_numbers;
    return 0;
}

/* Binary: {negative, positive}. Positive is what the spec says, else the rarer class, else the
 * later label. */
static int order_binary(const struct target_column *in, struct class_key *key, struct err *err)
{
    const char *wanted = in->positive;
    int positive = key[0].rows < key[1].rows ? 0 : 1;

    if (wanted && *wanted) {
        positive = strcmp(key[1].text, wanted) == 0 ? 1
                   : strcmp(key[0].text, wanted) == 0
                       ? 0
                       : !(key[0].is_number && reads_as(wanted, key[0].value));
        if (strcmp(key[positive].text, wanted) != 0 &&
            !(key[positive].is_number && reads_as(wanted, key[positive].value)))
            return err_at(err, "positive",
                          "the target column \"%.60s\" has no class \"%.60s\"; its classes are "
                          "\"%.60s\" and \"%.60s\"",
                          in->name, wanted, key[0].text, key[1].text);
    }
    if (positive == 0) {
        struct class_key t = key[0];
        key[0] = key[1], key[1] = t;
    }
    return 0;
}

/* Levels that no row has (a frame built by hand may hold such) are no classes: they sort to the end
 * and are dropped. */
static int drop_empty(struct class_key *key, int n)
{
    int kept = 0;

    for (int i = 0; i < n; i++) {
        struct class_key t = key[i];
        if (t.rows == 0)
            continue;
        key[i] = key[kept];
        key[kept++] = t;
    }
    return kept;
}

static int target_classes(const struct target_column *in, int at, struct target *out,
                          struct err *err)
{
    const struct frame_col *c = &in->frame->cols[at];
    int n = (int)MIN(c->distinct, TARGET_MAX_CLASSES + 1), rc = -1;
    struct class_key *key = NULL;
    int *to = NULL;

    if (c->distinct > TARGET_MAX_CLASSES)
        return too_many(in, c->distinct, err);
    if (c->type == FRAME_CATEGORICAL)
        n = c->n_levels;
    if (n > TARGET_MAX_CLASSES)
        return too_many(in, n, err);
    key = mem_array((size_t)n + 1, sizeof(*key));
    to = mem_array((size_t)n + 1, sizeof(*to));
    rc = c->type == FRAME_NUMERIC ? classes_of_numbers(in, at, key, n, out, err)
                                  : classes_of_levels(in, at, key, n, out, err);
    if (rc < 0)
        goto out;
    for (int64_t i = 0; i < in->frame->rows; i++) {
        if (!isnan(out->y[i]))
            key[(int)out->y[i]].rows++;
    }
    int kept = drop_empty(key, n);
    qsort(key, (size_t)kept, sizeof(*key), by_label);
    if (kept < 2)
        rc = err_at(err, "target",
                    "the target column \"%.100s\" has only one class: there is nothing to learn",
                    in->name);
    else if (in->task == ML_BINARY && kept != 2)
        rc = err_at(err, "task",
                    "the target column \"%.100s\" has %d classes: a binary task needs two",
                    in->name, kept);
    else if (in->task == ML_BINARY)
        rc = order_binary(in, key, err);
    if (rc < 0)
        goto out;
    out->n_classes = kept;
    out->classes = mem_array((size_t)kept, sizeof(*out->classes));
    for (int i = 0; i < kept; i++) {
        to[key[i].was] = i;
        out->classes[i] = key[i].text;
        key[i].text = NULL;
    }
    for (int64_t i = 0; i < in->frame->rows; i++)
        out->y[i] = isnan(out->y[i]) ? out->y[i] : to[(int)out->y[i]];
out:
    for (int i = 0; i < n; i++)
        mem_free(key[i].text);
    mem_free(key);
    mem_free(to);
    return rc;
}

int target_read(const struct target_column *in, struct target *out, struct err *err)
{
    int at = target_find(in->frame, in->name, err);

    *out = (struct target){ 0 };
    if (at < 0)
        return -1;
    return in->task == ML_REGRESSION ? target_numbers(in, at, out, err)
                                     : target_classes(in, at, out, err);
}

void target_fini(struct target *t)
{
    for (int i = 0; t->classes && i < t->n_classes; i++)
        mem_free(t->classes[i]);
    mem_free(t->classes);
    mem_try_free(t->y);
    *t = (struct target){ 0 };
}

/* ---- another table ---- */

static int class_of_number(const char *const *classes, int n, double v)
{
    for (int c = 0; c < n; c++) {
        if (reads_as(classes[c], v))
            return c;
    }
    return -1;
}

static int class_of_text(const char *const *classes, int n, const char *text)
{
    char *end = NULL;
    double v = strtod(text, &end);

    for (int c = 0; c < n; c++) {
        if (strcmp(classes[c], text) == 0)
            return c;
    }
    return end != text && !*end ? class_of_number(classes, n, v) : -1;
}

int target_read_as(const struct frame *f, const char *name, enum ml_task task, int n_classes,
                   const char *const *classes, double *y, struct err *err)
{
    int at = frame_find(f, name), *to = NULL;
    int32_t code[256];

    if (at < 0)
        return err_set(err, ERR_ARG, "no column is called \"%.100s\"", name);
    const struct frame_col *c = &f->cols[at];
    if (c->type == FRAME_NUMERIC) {
        frame_numbers(f, at, 0, f->rows, y);
        for (int64_t i = 0; i < f->rows && task != ML_REGRESSION; i++) {
            int k = isnan(y[i]) ? -1 : class_of_number(classes, n_classes, y[i]);
            y[i] = k < 0 ? (double)NAN : k;
        }
        return 0;
    }
    if (task == ML_REGRESSION || c->type == FRAME_IGNORED)
        return err_set(err, ERR_ARG, "the column \"%.100s\" holds no numbers", name);
    to = mem_array((size_t)c->n_levels + 1, sizeof *to);
    for (int i = 0; i < c->n_levels; i++)
        to[i] = class_of_text(classes, n_classes, c->levels[i]);
    for (int64_t from = 0; from < f->rows; from += 256) {
        int64_t n = MIN(256, f->rows - from);
        frame_codes(f, at, from, n, code);
        for (int64_t i = 0; i < n; i++)
            y[from + i] = code[i] < 0 || to[code[i]] < 0 ? (double)NAN : to[code[i]];
    }
    mem_free(to);
    return 0;
}
