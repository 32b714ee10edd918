/* modelfile.c - tables for a saved model, and output files (see modelfile.h). Called by
 * cmd_predict.c, cmd_explain.c and problem.c. */
#include "cli/modelfile.h"
#include "cli/imagepack.h"
#include "cli/outfile.h"
#include "cli/print.h"

#include "base/gz.h"
#include "base/mem.h"
#include "ml/read/read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_table(const char *file, const struct csv_opts *csv, const char *frame_path,
                      struct err *err)
{
    char hash[SHA256_HEX];
    struct image_pack pack;
    int rc = -1;

    if (image_pack_open(&pack, file, 0, err) < 0)
        return -1;
    struct gz *g = gz_open(pack.path, err);
    struct csv_opts opts = *csv;
    if (g) {
        gz_bound_table(g);
        opts.file_bytes = gz_plain_bytes(g);
        opts.read_at = opts.file_bytes >= 0 ? gz_read_at : NULL;
        rc = table_to_frame(gz_source, g, &opts, frame_path, hash, err);
    }
    gz_close(g);
    image_pack_close(&pack);
    return rc;
}

/* A column is read as it was for the training. */
static struct csv_override override_of(const struct artifact *a, const char *name,
                                       enum frame_type type)
{
    const struct reading *r = artifact_reading(a, name);
    enum frame_kind kind = r && frame_kind_fits(r->kind, type) ? r->kind : FRAME_PLAIN;

    return (
        struct csv_override){ .name = name, .type = type, .kind = kind, .note = r ? r->note : "" };
}

/* Reads the file into a frame of a private folder. */
static int table_make(struct model_table *t, const char *file, const struct csv_opts *csv,
                      struct err *err)
{
    char path[sizeof(t->temp.path) + 8];

    *t = (struct model_table){ 0 };
    if (tempdir_make(&t->temp, sizeof(t->temp.path), err) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/frame", t->temp.path);
    if (read_table(file, csv, path, err) == 0)
        t->frame = frame_open(path, err);
    if (t->frame)
        return 0;
    tempdir_end(&t->temp, false);
    return -1;
}

/* Appends to a list of names that fits an error. */
static void list_add(char *list, size_t size, const char *before, const char *name, int64_t n)
{
    size_t at = strlen(list);

    if (at + 60 > size) {
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
static int lacking(struct model_table *t, const struct artifact *a, const char *file, bool may_lack,
                   struct err *err)
{
    const struct prep *prep = artifact_prep(a);
    char list[180] = "";
    int n = 0;

    /* images of another shape lack pixels, too: that is the better reason */
    if (prep_images_check(prep, t->frame, err) < 0)
        return err_wrap(err, "%s", file);
    for (int i = 0; i < prep_columns(prep); i++) {
        const char *name = prep_column_name(prep, i);
        enum frame_type type = prep_column_type(prep, i);
        if (frame_find(t->frame, name) >= 0)
            continue;
        list_add(list, sizeof(list), n++ ? ", " : "", name, 0);
        if (may_lack)
            frame_add_absent(t->frame, name, type, override_of(a, name, type).kind);
    }
    if (n == 0)
        return 0;
    if (!may_lack)
        return err_set(err, ERR_ARG, "%s lacks %d of the %d columns of the model: %s", file, n,
                       prep_columns(prep), list);
    fprintf(stderr, "%s lacks %d of the %d columns of the model, which read as missing: %s\n",
            print_safe(file), n, prep_columns(prep), print_safe(list));
    return 0;
}

/* Cells that could not be read. */
static int junk(const struct model_table *t, const char *file, bool refuses, struct err *err)
{
    char list[180] = "";
    const char *one = "";
    int64_t cells = 0;
    int columns = 0;

    for (int i = 0; i < t->frame->n_cols; i++) {
        const struct frame_col *c = &t->frame->cols[i];
        if (c->not_numbers == 0)
            continue;
        list_add(list, sizeof(list), columns++ ? ", " : "", c->name, c->not_numbers);
        cells += c->not_numbers;
        one = c->name;
    }
    if (cells > 0 && refuses)
        return err_set(err, ERR_ARG, "%s: %" PRId64 " cell%s no number: %s", file, cells,
                       cells == 1 ? " is" : "s are", list);
    if (columns == 1)
        print_not_numbers(file, one, cells);
    else if (columns > 1)
        fprintf(stderr, "%s: %" PRId64 " cells cannot be read and count as missing: %s\n",
                print_safe(file), cells, print_safe(list));
    return 0;
}

int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     const struct model_table_how *how, struct err *err)
{
    const struct prep *prep = artifact_prep(a);
    struct csv_override *list = mem_array((size_t)prep_columns(prep) + 1, sizeof(*list));
    int n = 0;

    for (int i = 0; i < prep_columns(prep); i++)
        list[n++] = override_of(a, prep_column_name(prep, i), prep_column_type(prep, i));
    if (how->target)
        list[n++] = override_of(a, how->target,
                                artifact_info(a)->task == ML_REGRESSION ? FRAME_NUMERIC
                                                                        : FRAME_CATEGORICAL);
    const struct csv_opts csv = { .header = how->no_header ? CSV_HEADER_NO : CSV_HEADER_YES,
                                  .overrides = list,
                                  .n_overrides = n,
                                  .overrides_optional = true,
                                  .name = file };
    int rc = table_make(t, file, &csv, err);
    mem_free(list);
    if (rc < 0)
        return -1;
    if (lacking(t, a, file, how->may_lack_columns, err) == 0 &&
        junk(t, file, how->refuses_cells, err) == 0)
        return 0;
    model_table_close(t);
    return -1;
}

int model_table_exact(struct model_table *t, const struct frame *f, const char *file,
                      bool no_header, const char *const *names, int n, struct err *err)
{
    struct csv_override *list = mem_array((size_t)f->n_cols, sizeof(*list));

    for (int i = 0; i < f->n_cols; i++)
        list[i] = (struct csv_override){ .name = f->cols[i].name, .type = FRAME_IGNORED };
    for (int i = 0; i < n; i++) {
        struct csv_override *o = &list[frame_find(f, names[i])];
        o->type = FRAME_CATEGORICAL;
        o->note = "";
        o->is_exact = true;
    }
    const struct csv_opts csv = { .header = no_header ? CSV_HEADER_NO : CSV_HEADER_YES,
                                  .overrides = list,
                                  .n_overrides = f->n_cols,
                                  .overrides_optional = true,
                                  .name = file };
    int rc = table_make(t, file, &csv, err);
    mem_free(list);
    return rc;
}

void model_table_close(struct model_table *t)
{
    if (!t->frame)
        return;
    frame_close(t->frame);
    t->frame = NULL;
    tempdir_end(&t->temp, false);
}

static int written(FILE *out, int rc, const char *path, struct err *err)
{
    if (rc == 0 && (fflush(out) != 0 || ferror(out)))
        return err_errno(err, "cannot write %s", path);
    return rc;
}

int output_write(const char *path, int (*fn)(FILE *out, void *ctx, struct err *err), void *ctx,
                 struct err *err)
{
    struct outfile o;

    if (strcmp(path, "-") == 0)
        return written(stdout, fn(stdout, ctx, err), "standard output", err);
    if (outfile_open(&o, path, err) < 0)
        return -1;
    /* fclose closes a copy of the descriptor; outfile_end closes the other one */
    int fd = dup(o.fd), rc = -1;
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out)
        rc = written(out, fn(out, ctx, err), path, err);
    else
        err_errno(err, "%s", path);
    if (out && fclose(out) != 0 && rc == 0)
        rc = err_errno(err, "%s", path);
    return outfile_end(&o, rc, err);
}

void output_number(FILE *out, double p, double shift)
{
    char text[40];

    for (int digits = 9; digits <= 17; digits++) {
        (void)!snprintf(text, sizeof(text), "%.*g", digits, p + shift);
        if (shift == 0 || fabs(strtod(text, NULL) - shift - p) <= fabs(p) * 1e-7)
            break;
    }
    fputs(text, out);
}

void output_cell(FILE *out, const char *prefix, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fprintf(out, "%s%s", prefix, text);
        return;
    }
    fprintf(out, "\"%s", prefix);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}
