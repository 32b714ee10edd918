/* tablefile.c - reads a table of known outcomes (see tablefile.h): first the description, then the
 * values.
 *
 * The files may come from anywhere. No number in the description is believed before the file of
 * values has exactly the size that follows from it, and that file must lie in the same folder. */
#include "cli/tablefile.h"

#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_JSON = 256 << 20, MAX_ROWS = 4 << 20 };

/* ---- parameters ---- */

/* `when` names the parameter that opens this one, and the choices of it that do. */
static int when_read(const struct space *s, const json_t *o, const char *path, struct param *p,
                     struct err *err)
{
    const json_t *when = json_object_get(o, "when"), *list = NULL;
    const char *parent = NULL;
    char where[80];

    if (!when)
        return 0;
    jsonx_path(where, sizeof where, path, "when");
    if (json_object_size(when) == 1) {
        parent = json_object_iter_key(json_object_iter((json_t *)when));
        list = json_object_get(when, parent);
    }
    p->parent = parent ? space_find(s, parent) : -1;
    if (p->parent < 0 || !json_is_array(list) || s->params[p->parent].n_choices == 0)
        return err_at(err, where,
                      "must be {\"NAME\": [choices]} of a categorical parameter before this one");
    const struct param *opens = &s->params[p->parent];
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *want = json_string_value(json_array_get(list, i));
        int c = 0;
        while (want && c < opens->n_choices && strcmp(opens->choices[c], want) != 0)
            c++;
        if (!want || c >= MIN(opens->n_choices, 64))
            return err_at(err, where, "is no choice of %s", parent);
        p->parent_mask |= UINT64_C(1) << c;
    }
    return 0;
}

static int add_choices(struct space *s, const json_t *o, const char *path, const char *name,
                       struct err *err)
{
    json_t *choices = NULL;
    const char *kind = json_string_value(json_object_get(o, "kind"));

    if (jsonx_arr(o, path, "choices", JSONX_REQUIRED, SPACE_MAX_CHOICES, &choices, err) < 0)
        return -1;
    int n = (int)json_array_size(choices);
    /* An ordinal parameter is its integer index: what its choices are called does not matter to
     * a sampler. */
    if (strcmp(kind, "ordinal") == 0) {
        struct param p = { .name = (char *)name, .parent = -1, .kind = PARAM_INT, .hi = n - 1 };
        if (when_read(s, o, path, &p, err) < 0)
            return -1;
        if (n < 1)
            return err_set(err, ERR_ARG, "no choices");
        return space_add(s, &p, err) < 0 ? -1 : 0;
    }
    struct param p = {
        .name = (char *)name, .parent = -1, .kind = PARAM_CATEGORICAL, .n_choices = n
    };
    if (when_read(s, o, path, &p, err) < 0)
        return -1;
    p.choices = mem_array((size_t)MAX(n, 1), sizeof *p.choices);
    for (int i = 0; i < n; i++) {
        const json_t *c = json_array_get(choices, (size_t)i);
        p.choices[i] = json_is_string(c) ? mem_strdup(json_string_value(c)) : jsonx_dump(c);
    }
    int rc = space_add(s, &p, err);
    for (int i = 0; i < n; i++)
        mem_free(p.choices[i]);
    mem_free(p.choices);
    return rc < 0 ? -1 : 0;
}

static int add_range(struct space *s, const json_t *o, const char *path, const char *name,
                     bool is_int, struct err *err)
{
    struct param p = { .name = (char *)name,
                       .parent = -1,
                       .kind = is_int ? PARAM_INT : PARAM_FLOAT };

    if (jsonx_f64(o, path, "lower", JSONX_REQUIRED, &p.lo, err) < 0 ||
        jsonx_f64(o, path, "upper", JSONX_REQUIRED, &p.hi, err) < 0 ||
        jsonx_bool(o, path, "log", JSONX_OPTIONAL, &p.is_log, err) < 0)
        return -1;
    p.def = p.lo;
    return space_add(s, &p, err) < 0 ? -1 : 0;
}

static int param_add(struct space *s, const json_t *o, const char *path, bool is_grid,
                     struct err *err)
{
    static const char *const keys[] = {
        "name", "kind", "choices", "lower", "upper", "log", "when"
    };
    const char *name = NULL, *kind = NULL;
    struct err why = { 0 };
    char where[80];
    int rc;

    if (jsonx_only(o, path, keys, ARRAY_LEN(keys), err) < 0 ||
        jsonx_str(o, path, "name", JSONX_REQUIRED, SPACE_MAX_NAME, &name, err) < 0 ||
        jsonx_str(o, path, "kind", JSONX_REQUIRED, 20, &kind, err) < 0)
        return -1;
    if (strcmp(kind, "ordinal") == 0 || strcmp(kind, "categorical") == 0) {
        rc = add_choices(s, o, path, name, &why);
    } else if (!is_grid && (strcmp(kind, "int") == 0 || strcmp(kind, "float") == 0)) {
        rc = add_range(s, o, path, name, strcmp(kind, "int") == 0, &why);
    } else {
        jsonx_path(where, sizeof where, path, "kind");
        return err_at(err, where, "must be %sordinal or categorical",
                      is_grid ? "" : "int, float, ");
    }
    if (rc < 0 && str_starts(why.where, path)) {
        *err = why;
        return -1;
    }
    return rc < 0 ? err_at(err, path, "%s", why.text) : 0;
}

static struct space *params_read(const json_t *o, bool is_grid, struct err *err)
{
    json_t *list = NULL;
    char path[40];

    if (jsonx_arr(o, NULL, "params", JSONX_REQUIRED, SPACE_MAX_PARAMS, &list, err) < 0)
        return NULL;
    struct space *s = space_new();
    for (size_t i = 0; i < json_array_size(list); i++) {
        jsonx_path_at(path, sizeof path, "params", i);
        if (param_add(s, json_array_get(list, i), path, is_grid, err) < 0) {
            space_free(s);
            return NULL;
        }
    }
    return s;
}

/* ---- values ---- */

/* Reads the file that `data` names, which must hold exactly n floats. Returns NULL on error. */
static float *values_read(const json_t *o, const char *json_path, size_t n, struct err *err)
{
    const char *name = NULL, *slash = strrchr(json_path, '/');
    char path[4096];
    struct buf b;
    int used;

    if (jsonx_str(o, NULL, "data", JSONX_REQUIRED, 255, &name, err) < 0)
        return NULL;
    if (!name[0] || name[0] == '.' || strchr(name, '/')) {
        err_at(err, "data", "must name a file beside the table");
        return NULL;
    }
    used = snprintf(path, sizeof path, "%.*s%s", slash ? (int)MIN(slash - json_path + 1, 3800) : 0,
                    json_path, name);
    CHECK(used < (int)sizeof path);
    int64_t bytes = io_file_bytes(path);
    if (bytes >= 0 && (uint64_t)bytes != 4 * (uint64_t)n) {
        err_at(err, "data", "%s has %" PRId64 " bytes, not the %zu of %zu values", name, bytes,
               4 * n, n);
        return NULL;
    }
    if (io_read_file(path, 4 * n, &b, err) < 0) {
        err_wrap(err, "data");
        return NULL;
    }
    struct view v = { (const uint8_t *)b.data, b.len, 0 };
    float *out = mem_array(MAX(n, 1), sizeof *out);
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++)
        rc = view_f32(&v, &out[i], err);
    buf_fini(&b);
    if (rc == 0)
        return out;
    err_wrap(err, "data: %s", name);
    mem_free(out);
    return NULL;
}

static int dtype_check(const json_t *o, struct err *err)
{
    const char *dtype = "float32 little-endian";

    if (jsonx_str(o, NULL, "dtype", JSONX_OPTIONAL, 60, &dtype, err) < 0)
        return -1;
    if (strcmp(dtype, "float32 little-endian") != 0)
        return err_at(err, "dtype", "must be float32 little-endian");
    return 0;
}

static int direction_read(const json_t *o, bool *is_minimised, struct err *err)
{
    const char *d = NULL;

    if (jsonx_str(o, NULL, "direction", JSONX_REQUIRED, 20, &d, err) < 0)
        return -1;
    *is_minimised = strcmp(d, "minimize") == 0;
    if (!*is_minimised && strcmp(d, "maximize") != 0)
        return err_at(err, "direction", "must be minimize or maximize");
    return 0;
}

/* Reads n rows with one number for each parameter. Returns NULL on error. */
static double *rows_read(const json_t *o, const struct space *s, size_t n, struct err *err)
{
    json_t *rows = NULL;
    char path[60];

    if (jsonx_arr(o, NULL, "configurations", JSONX_REQUIRED, MAX_ROWS, &rows, err) < 0)
        return NULL;
    if (json_array_size(rows) != n) {
        err_at(err, "configurations", "%zu rows, but n is %zu", json_array_size(rows), n);
        return NULL;
    }
    size_t d = (size_t)s->n;
    if (n * d > TABULAR_MAX_VALUES) {
        err_at(err, "configurations", "more than %zu numbers", TABULAR_MAX_VALUES);
        return NULL;
    }
    double *out = mem_array(MAX(n * d, 1), sizeof *out);
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        jsonx_path_at(path, sizeof path, "configurations", i);
        bool is_right = json_is_array(row) && json_array_size(row) == d;
        for (size_t k = 0; k < d && is_right; k++) {
            const json_t *v = json_array_get(row, k);
            is_right = json_is_number(v);
            out[i * d + k] = json_number_value(v);
        }
        if (is_right)
            continue;
        err_at(err, path, "must be %zu numbers", d);
        mem_free(out);
        return NULL;
    }
    return out;
}

/* ---- the whole ---- */

/* Where the description states the best value, it must be the best of the file: a table with other
 * values would measure something else. */
static int best_check(const json_t *o, const struct tabular *t, struct err *err)
{
    double said = 0, best = t->is_minimised ? -t->best : t->best;
    int rc = jsonx_f64(o, NULL, "best", JSONX_OPTIONAL, &said, err);

    if (rc <= 0)
        return rc;
    if (fabs(said - best) > 1e-5 * fmax(fabs(said), fabs(best)))
        return err_at(err, "best", "is said to be %.7g, but the values' best is %.7g", said, best);
    return 0;
}

static const char *const table_keys[] = {
    "name",
    "source",
    "licence",
    "task",
    "value",
    "direction",
    "params",
    "n",
    "absent",
    "data",
    "layout",
    "dtype",
    "best",
    "median",
    "worst",
    "epochs",
    "best_final",
    "median_final",
    "worst_final",
    "mean_full_time",
    "median_full_time",
    "times_raised",
    "configurations",
};

static struct tabular *table_read(const json_t *o, const char *path, struct err *err)
{
    bool is_grid = !json_object_get(o, "configurations"), is_minimised = false;
    int64_t n = 0, epochs = 1;
    const char *name = NULL;
    struct space *space = NULL;
    double *points = NULL;

    if (jsonx_only(o, NULL, table_keys, ARRAY_LEN(table_keys), err) < 0 ||
        jsonx_str(o, NULL, "name", JSONX_REQUIRED, SPACE_MAX_NAME, &name, err) < 0 ||
        direction_read(o, &is_minimised, err) < 0 || dtype_check(o, err) < 0 ||
        jsonx_i64(o, NULL, "n", JSONX_REQUIRED, 1, is_grid ? (int64_t)TABULAR_MAX_VALUES : MAX_ROWS,
                  &n, err) < 0 ||
        (!is_grid &&
         jsonx_i64(o, NULL, "epochs", JSONX_REQUIRED, 1, TABULAR_MAX_EPOCHS, &epochs, err) < 0))
        return NULL;
    if ((size_t)n * (size_t)epochs > TABULAR_MAX_VALUES / 2) {
        err_at(err, "n", "more than %zu values", TABULAR_MAX_VALUES / 2);
        return NULL;
    }
    if (!(space = params_read(o, is_grid, err)) ||
        (!is_grid && !(points = rows_read(o, space, (size_t)n, err))))
        goto fail;
    float *values = values_read(o, path, (size_t)n * (size_t)epochs * (is_grid ? 1 : 2), err);
    if (!values)
        goto fail;
    struct tabular *t = is_grid
                            ? tabular_grid_new(name, space, is_minimised, values, (size_t)n, err)
                            : tabular_curves_new(name, space, is_minimised, points, (size_t)n,
                                                 (int)epochs, values, err);
    if (t && best_check(o, t, err) < 0) {
        tabular_free(t);
        t = NULL;
    }
    return t;
fail:
    space_free(space);
    mem_free(points);
    return NULL;
}

struct tabular *tablefile_load(const char *path, struct err *err)
{
    struct err why = { 0 };
    struct tabular *t = NULL;
    struct buf text;
    json_t *o = NULL;

    if (io_read_file(path, MAX_JSON, &text, err) < 0)
        return NULL;
    o = jsonx_load(text.data ? text.data : "", text.len, path, err);
    if (!o)
        err_wrap(err, "the description of a table of known outcomes is JSON (docs/SIMULATE.md)");
    buf_fini(&text);
    if (!o)
        return NULL;
    t = table_read(o, path, &why);
    json_decref(o);
    if (!t)
        err_set(err, why.code, "%s: %s", path, why.text);
    return t;
}
