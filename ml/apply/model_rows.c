/* model_rows.c - see model_rows.h. */
#include "ml/apply/model_rows.h"

#include "base/mem.h"
#include "ml/read/read.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A column is read as it was for the training. */
static struct csv_override override_of(const struct artifact *a, const char *name,
                                       enum frame_type type)
{
    const struct reading *r = artifact_reading(a, name);
    enum frame_kind kind = r && frame_kind_fits(r->kind, type) ? r->kind : FRAME_PLAIN;

    return (
        struct csv_override){ .name = name, .type = type, .kind = kind, .note = r ? r->note : "" };
}

/* Classes are texts, except those that training read from dates, or from numbers with signs. */
static enum frame_type target_type(const struct artifact *a, const char *name)
{
    const struct reading *r = artifact_reading(a, name);
    bool is_number = r && (r->kind == FRAME_DATE || strstr(r->note, "\"read\":\"number\""));

    return artifact_info(a)->task == ML_REGRESSION || is_number ? FRAME_NUMERIC : FRAME_CATEGORICAL;
}

/* Appends to a list of names that fits an error. */
static void list_add(char *list, size_t size, const char *before, const char *name, int64_t n)
{
    size_t at = strlen(list);

    if (at + 80 > size) {
        if (!strstr(list, ", …"))
            (void)!snprintf(list + at, size - at, ", …");
        return;
    }
    if (n > 0)
        (void)!snprintf(list + at, size - at, "%s\"%.40s\" %" PRId64, before, name, n);
    else
        (void)!snprintf(list + at, size - at, "%s\"%.40s\"", before, name);
}

/* Columns of the model that the table lacks: an error that names them, or columns without
 * values. */
static int lacking(struct frame *f, const struct artifact *a, const struct model_rows_how *how,
                   struct model_rows_notes *notes, struct err *err)
{
    /* images of another shape lack pixels, too: that is the better reason */
    if (artifact_images_check(a, f, err) < 0)
        return err_wrap(err, "%s", how->name);
    for (int i = 0; i < artifact_columns(a); i++) {
        const char *name = artifact_column_name(a, i);
        enum frame_type type = artifact_column_type(a, i);
        if (frame_find(f, name) >= 0)
            continue;
        list_add(notes->lacking, sizeof(notes->lacking), notes->n_lacking++ ? ", " : "", name, 0);
        if (how->may_lack_columns)
            frame_add_absent(f, name, type, override_of(a, name, type).kind);
    }
    if (notes->n_lacking > 0 && !how->may_lack_columns)
        return err_set(err, ERR_ARG, "%s lacks %d of the %d columns of the model: %s", how->name,
                       notes->n_lacking, artifact_columns(a), notes->lacking);
    return 0;
}

/* Cells that could not be read. */
static int junk(const struct frame *f, const struct model_rows_how *how,
                struct model_rows_notes *notes, struct err *err)
{
    for (int i = 0; i < f->n_cols; i++) {
        const struct frame_col *c = &f->cols[i];
        if (c->not_numbers == 0)
            continue;
        list_add(notes->bad, sizeof(notes->bad), notes->bad_columns++ ? ", " : "", c->name,
                 c->not_numbers);
        notes->bad_cells += c->not_numbers;
    }
    if (notes->bad_cells > 0 && how->refuses_cells)
        return err_set(err, ERR_ARG, "%s: %" PRId64 " cell%s cannot be read: %s", how->name,
                       notes->bad_cells, notes->bad_cells == 1 ? "" : "s", notes->bad);
    return 0;
}

struct frame *model_rows_read(const struct artifact *a, csv_source *source, void *ctx,
                              const struct model_rows_how *how, const char *path,
                              struct model_rows_notes *notes, struct err *err)
{
    struct csv_override *list = mem_array((size_t)artifact_columns(a) + 1, sizeof(*list));
    char hash[SHA256_HEX];
    struct frame *f = NULL;
    int n = 0;

    *notes = (struct model_rows_notes){ 0 };
    for (int i = 0; i < artifact_columns(a); i++)
        list[n++] = override_of(a, artifact_column_name(a, i), artifact_column_type(a, i));
    if (how->target)
        list[n++] = override_of(a, how->target, target_type(a, how->target));
    const struct csv_opts csv = { .header = how->no_header ? CSV_HEADER_NO : CSV_HEADER_YES,
                                  .overrides = list,
                                  .n_overrides = n,
                                  .overrides_optional = true,
                                  .read_at = how->read_at,
                                  .file_bytes = how->file_bytes,
                                  .name = how->name };
    if (table_to_frame(source, ctx, &csv, path, hash, err) == 0)
        f = frame_open(path, err);
    mem_free(list);
    if (f && lacking(f, a, how, notes, err) == 0 && junk(f, how, notes, err) == 0)
        return f;
    frame_close(f);
    return NULL;
}

void model_rows_exact(const struct frame *f, const char *const *names, int n,
                      struct csv_override *list)
{
    for (int i = 0; i < f->n_cols; i++)
        list[i] = (struct csv_override){ .name = f->cols[i].name, .type = FRAME_IGNORED };
    for (int i = 0; i < n; i++) {
        struct csv_override *o = &list[frame_find(f, names[i])];
        o->type = FRAME_CATEGORICAL;
        o->note = "";
        o->is_exact = true;
    }
}
