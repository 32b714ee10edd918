/* modelfile.c - tables for a saved model, and output files (see modelfile.h). Called by
 * cmd_predict.c, cmd_explain.c and problem.c. */
#include "cli/modelfile.h"
#include "cli/imagepack.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/stdinfile.h"

#include "base/gz.h"
#include "base/mem.h"
#include "ml/read/read.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An opened table: as it is on the disk, or packed with its images. */
struct source {
    struct image_pack pack;
    struct gz *gz;
};

static int source_open(struct source *s, const char *file, struct err *err)
{
    if (image_pack_open(&s->pack, file, 0, err) < 0)
        return -1;
    s->gz = gz_open(s->pack.path, err);
    if (s->gz) {
        gz_bound_table(s->gz);
        return 0;
    }
    image_pack_close(&s->pack);
    return -1;
}

static void source_close(struct source *s)
{
    gz_close(s->gz);
    image_pack_close(&s->pack);
}

/* Makes the private folder for the frame, whose path it gives. */
static int table_begin(struct model_table *t, char *path, size_t size, struct err *err)
{
    *t = (struct model_table){ 0 };
    if (tempdir_make(&t->temp, sizeof(t->temp.path), err) < 0)
        return -1;
    (void)!snprintf(path, size, "%s/frame", t->temp.path);
    return 0;
}

static int table_end(struct model_table *t)
{
    if (t->frame)
        return 0;
    tempdir_end(&t->temp, false);
    return -1;
}

/* What is worth a warning. */
static void tell(const char *file, const struct artifact *a, const struct model_rows_notes *notes)
{
    if (notes->n_lacking > 0)
        fprintf(stderr, "%s lacks %d of the %d columns of the model, which read as missing: %s\n",
                print_safe(file), notes->n_lacking, artifact_columns(a),
                print_safe(notes->lacking));
    if (notes->bad_cells > 0)
        fprintf(stderr, "%s: %" PRId64 " cell%s cannot be read and count%s as missing: %s\n",
                print_safe(file), notes->bad_cells, notes->bad_cells == 1 ? "" : "s",
                notes->bad_cells == 1 ? "s" : "", print_safe(notes->bad));
}

/* Adds the option that may help to the error about columns that the table lacks. */
static void tell_way_out(const struct artifact *a, const struct model_rows_how *how,
                         const struct model_rows_notes *notes, struct err *err)
{
    bool lacks_all = notes->n_lacking == artifact_columns(a);
    struct err was;

    if (!err)
        return;
    was = *err;
    err_set(err, was.code, "%s (%s)", was.text,
            !lacks_all       ? "--missing-columns missing reads them as missing"
            : how->no_header ? "its first line was read as data: leave out --no-header"
                             : "if its first line is data, give --no-header");
}

int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     const struct model_rows_how *how, struct err *err)
{
    char path[sizeof(t->temp.path) + 8];
    struct model_rows_how with = *how;
    struct model_rows_notes notes = { 0 };
    struct source s;

    if (table_begin(t, path, sizeof(path), err) < 0)
        return -1;
    if (source_open(&s, file, err) == 0) {
        with.name = stdinfile_name(file);
        with.file_bytes = gz_plain_bytes(s.gz);
        with.read_at = with.file_bytes >= 0 ? gz_read_at : NULL;
        t->frame = model_rows_read(a, gz_source, s.gz, &with, path, &notes, err);
        source_close(&s);
    }
    if (t->frame)
        tell(stdinfile_name(file), a, &notes);
    else if (notes.n_lacking > 0)
        tell_way_out(a, how, &notes, err);
    return table_end(t);
}

int model_table_exact(struct model_table *t, const struct frame *f, const char *file,
                      bool no_header, const char *const *names, int n, struct err *err)
{
    struct csv_override *list = mem_array((size_t)f->n_cols, sizeof(*list));
    char path[sizeof(t->temp.path) + 8], hash[SHA256_HEX];
    struct source s;

    model_rows_exact(f, names, n, list);
    struct csv_opts csv = { .header = no_header ? CSV_HEADER_NO : CSV_HEADER_YES,
                            .overrides = list,
                            .n_overrides = f->n_cols,
                            .overrides_optional = true,
                            .name = stdinfile_name(file) };
    int rc = table_begin(t, path, sizeof(path), err);
    if (rc == 0 && source_open(&s, file, err) == 0) {
        csv.file_bytes = gz_plain_bytes(s.gz);
        csv.read_at = csv.file_bytes >= 0 ? gz_read_at : NULL;
        if (table_to_frame(gz_source, s.gz, &csv, path, hash, err) == 0)
            t->frame = frame_open(path, err);
        source_close(&s);
    }
    mem_free(list);
    return rc < 0 ? -1 : table_end(t);
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
