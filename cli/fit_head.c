/* fit_head.c - see fit_head.h. Called by cmd_fit.c. */
#include "cli/fit_head.h"

#include "cli/stdinfile.h"
#include "cli/tablehead.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/spec.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_MOST = 1024, LISTED = 200 };

static struct frame *frame_of(const char *file, const json_t *columns, const char *path,
                              struct err *err)
{
    struct csv_override *list = mem_array(json_object_size(columns) + 1, sizeof(*list));
    struct csv_opts opts = { .overrides = list,
                             .name = stdinfile_name(file),
                             .overrides_optional = true };
    const char *name = NULL;
    json_t *type = NULL;

    json_object_foreach((json_t *)columns, name, type)
    {
        struct column_said said;
        struct csv_override *o = &list[opts.n_overrides];
        if (column_said("--columns", name, type, &said, err) < 0)
            break;
        *o = (struct csv_override){ .name = name,
                                    .missing = said.missing,
                                    .has_no_type = !said.type };
        opts.n_overrides++;
        (void)(said.type && csv_override_word(o, said.type));
    }
    struct frame *f = tablehead_frame(file, &opts, path, err);
    for (int i = 0; i < opts.n_overrides; i++)
        mem_free((char **)list[i].missing);
    mem_free(list);
    return f;
}

int fit_head_open(struct fit_head *h, const char *file, const json_t *columns, struct err *err)
{
    char path[sizeof(h->temp.path) + 8];

    *h = (struct fit_head){ 0 };
    if (tempdir_make(&h->temp, sizeof(h->temp.path), err) < 0)
        return -1;
    (void)!snprintf(path, sizeof(path), "%s/frame", h->temp.path);
    h->frame = frame_of(file, columns, path, err);
    if (h->frame)
        return 0;
    fit_head_close(h);
    return -1;
}

void fit_head_close(struct fit_head *h)
{
    frame_close(h->frame);
    h->frame = NULL;
    tempdir_end(&h->temp, false);
}

/* ---- the columns that options name ---- */

/* "; did you mean "a"?", or "; its columns: a, b, ..., z" with as many names as fit. */
static void names_tell(const struct frame *f, const char *name, char *out, size_t size)
{
    const char *names[NAMES_MOST], *near;
    size_t n = (size_t)MIN(f->n_cols, NAMES_MOST), at = 0;
    bool is_cut = false;

    for (size_t i = 0; i < n; i++)
        names[i] = f->cols[i].name;
    near = str_nearest(name, names, n);
    if (near) {
        (void)!snprintf(out, size, "; did you mean \"%.80s\"?", near);
        return;
    }
    at = (size_t)snprintf(out, size, "; its columns: ");
    for (int i = 0; i < f->n_cols; i++) {
        const char *column = f->cols[i].name;
        bool is_last = i + 1 == f->n_cols;
        if (!is_last && at + strlen(column) + 80 > size) {
            is_cut = true;
            continue;
        }
        at += (size_t)snprintf(out + at, size - at, "%s%.60s%s", is_cut ? "..., " : "", column,
                               is_last ? "" : ", ");
    }
}

static int column_check(const struct frame *f, const char *file, const char *option,
                        const char *name, struct err *err)
{
    char told[LISTED + 100];

    if (!name || !name[0] || frame_find(f, name) >= 0)
        return 0;
    names_tell(f, name, told, sizeof(told));
    return err_at(err, option, "%s has no column \"%.80s\"%s", stdinfile_name(file), name, told);
}

/* The names that stand before "=" in the value of an option. */
static int keys_check(const struct frame *f, const char *file, const char *option,
                      const json_t *pairs, struct err *err)
{
    const char *name = NULL;
    json_t *value = NULL;

    json_object_foreach((json_t *)pairs, name, value)
    {
        bool is_all = str_eq(name, "*") && json_is_object(value); /* --missing */
        if (!is_all && column_check(f, file, option, name, err) < 0)
            return -1;
    }
    return 0;
}

/* Columns that say how rows are used need not be in a test table. */
static bool is_needed(const struct frame_col *c, const struct fit_opts *o)
{
    const char *rows[] = { o->groups, o->time_column, o->weights };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i] && str_eq(rows[i], c->name))
            return false;
    }
    return c->type != FRAME_IGNORED;
}

/* The controller compares the types of the columns, too, when both tables have been read. */
static int test_check(const struct frame *f, const struct fit_opts *o, struct err *err)
{
    struct fit_head test = { 0 };
    int rc = 0;

    if (!o->test || !tablehead_has_all_columns(o->test) ||
        fit_head_open(&test, o->test, NULL, NULL) < 0)
        return 0;
    for (int i = 0; i < f->n_cols && rc == 0; i++) {
        const char *name = f->cols[i].name;
        if (is_needed(&f->cols[i], o) && frame_find(test.frame, name) < 0)
            rc = err_at(err, "--test", "%s has no column \"%.80s\", which the training table has",
                        stdinfile_name(o->test), name);
    }
    fit_head_close(&test);
    return rc;
}

int fit_head_check(const struct fit_head *h, const char *file, const struct fit_opts *o,
                   const json_t *spec, struct err *err)
{
    const struct frame *f = h->frame;

    if (!f || f->image.height || !tablehead_has_all_columns(file))
        return 0;
    return column_check(f, file, "--target", o->target, err) < 0 ||
                   column_check(f, file, "--groups", o->groups, err) < 0 ||
                   column_check(f, file, "--time-column", o->time_column, err) < 0 ||
                   column_check(f, file, "--weights", o->weights, err) < 0 ||
                   keys_check(f, file, "--columns", json_object_get(spec, "columns"), err) < 0 ||
                   keys_check(f, file, "--monotone", json_object_get(spec, "monotone"), err) < 0 ||
                   test_check(f, o, err) < 0
               ? -1
               : 0;
}
