/* modelfile.c - tables for a saved model, and output files (see modelfile.h). Called by
 * cmd_model.c, cmd_explain.c and problem.c. */
#include "cli/modelfile.h"
#include "cli/outfile.h"
#include "cli/print.h"

#include "base/gz.h"
#include "base/mem.h"
#include "ml/read/csv.h"

#include <string.h>
#include <unistd.h>

static int read_csv(const char *file, const struct csv_opts *csv, const char *frame_path,
                    struct err *err)
{
    char hash[SHA256_HEX];
    struct gz *g = gz_open(file, err);
    int rc = -1;

    if (g)
        rc = csv_to_frame(gz_source, g, csv, frame_path, hash, err);
    gz_close(g);
    return rc;
}

int model_table_open(struct model_table *t, const struct artifact *a, const char *file,
                     bool no_header, const char *target, struct err *err)
{
    const struct prep *prep = artifact_prep(a);
    struct csv_override *list = NULL;
    char path[300];
    int n = 0;

    *t = (struct model_table){ 0 };
    if (tempdir_make(&t->temp, sizeof(t->temp.path), err) < 0)
        return -1;
    snprintf(path, sizeof(path), "%s/frame", t->temp.path);
    list = mem_array((size_t)prep_inputs(prep) + 1, sizeof(*list));
    for (int i = 0; i < prep_inputs(prep); i++)
        list[n++] = (struct csv_override){ prep_input_name(prep, i), prep_input_type(prep, i) };
    if (target)
        list[n++] = (struct csv_override){ target, artifact_info(a)->task == ML_REGRESSION
                                                       ? FRAME_NUMERIC
                                                       : FRAME_CATEGORICAL };
    const struct csv_opts csv = { .header = no_header ? CSV_HEADER_NO : CSV_HEADER_YES,
                                  .overrides = list,
                                  .n_overrides = n,
                                  .overrides_optional = true,
                                  .name = file };
    if (read_csv(file, &csv, path, err) == 0)
        t->frame = frame_open(path, err);
    mem_free(list);
    for (int i = 0; t->frame && i < t->frame->n_cols; i++) {
        if (t->frame->cols[i].not_numbers > 0)
            print_not_numbers(file, t->frame->cols[i].name, t->frame->cols[i].not_numbers);
    }
    if (t->frame)
        return 0;
    tempdir_end(&t->temp, false);
    return -1;
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
