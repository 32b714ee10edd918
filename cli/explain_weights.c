/* explain_weights.c - the weights of a linear model in the columns that a person knows.
 *
 * The model sees standardised dense columns. Here each weight is turned into what one unit of the
 * column adds to the score ("each year of age", "city is Paris"), and the constant into the score of a
 * row whose numbers are all 0 and whose levels are none. Rows come by the size of what one spread of
 * the column adds. Called by cmd_explain.c. */
#include "cli/explain.h"
#include "cli/modelfile.h"
#include "cli/print.h"

#include "base/mem.h"
#include "ml/model/target_unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SHOWN, CLASSES: on the screen; files have all. */
enum { SHOWN = 60, CLASSES = 6, NAME = 400 };

struct weighed {
    struct prep_term term;
    int column;
    /* the largest of its outputs, for one spread */
    double size;
};

struct weights {
    const struct explaining *e;
    int n, outputs;
    /* [outputs][n + 1] of one unit; the last one the constant */
    double *unit;
    struct weighed *rows;
};

static void term_name(const struct weights *w, const struct prep_term *t, char *out, size_t size)
{
    const char *name = prep_input_name(artifact_prep(w->e->a), t->input);

    switch (t->kind) {
    case TERM_LOG:
        snprintf(out, size, "log-scaled %s", name);
        break;
    case TERM_MAGNITUDE:
        snprintf(out, size, "magnitude of %s", name);
        break;
    case TERM_MISSING:
        snprintf(out, size, "%s is missing", name);
        break;
    case TERM_LEVEL:
        snprintf(out, size, "%.200s = %.150s", name, t->level);
        break;
    case TERM_OTHERS:
        snprintf(out, size, "%s = another level", name);
        break;
    case TERM_COS:
    case TERM_SIN:
        snprintf(out, size, "%s of %s%s", t->kind == TERM_COS ? "cosine" : "sine", name,
                 t->turn > 1 ? ", twice a cycle" : "");
        break;
    default:
        snprintf(out, size, "%s", name);
    }
}

static int by_size(const void *va, const void *vb)
{
    const struct weighed *a = va, *b = vb;

    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    return a->column - b->column;
}

static double unit_of(const struct weights *w, int output, int column)
{
    return w->unit[(ptrdiff_t)output * (w->n + 1) + column];
}

/* From weights of standardised columns to those of units. */
static void units_take(struct weights *w)
{
    const struct prep *p = artifact_prep(w->e->a);
    const struct target_unit *unit = &w->e->info->unit;

    for (int j = 0; j < w->n; j++) {
        struct weighed *r = &w->rows[j];
        r->column = j;
        prep_dense_term(p, j, &r->term);
        for (int k = 0; k < w->outputs; k++) {
            double *of = w->unit + (ptrdiff_t)k * (w->n + 1);
            r->size = fmax(r->size, fabs(of[j]));
            of[j] /= r->term.sd;
            of[w->n] -= of[j] * r->term.mean;
        }
    }
    if (w->e->info->task == ML_REGRESSION && unit->kind != TARGET_LOG)
        w->unit[w->n] += target_shift(unit);
    qsort(w->rows, (size_t)w->n, sizeof *w->rows, by_size);
}

static const char *output_name(const struct weights *w, int k)
{
    return w->e->info->task == ML_MULTICLASS ? w->e->info->classes[k] : "weight";
}

/* One row: a name, and a weight for each output; column n is the constant. */
static int row_csv(const struct weights *w, FILE *out, const char *name, int column, double size)
{
    output_cell(out, "", name);
    for (int k = 0; k < w->outputs; k++)
        fprintf(out, ",%.9g", unit_of(w, k, column));
    if (column < w->n)
        fprintf(out, ",%.9g\n", size);
    else
        fputs(",\n", out);
    return 0;
}

static int write_csv(FILE *out, void *ctx, struct err *err)
{
    const struct weights *w = ctx;
    char name[NAME];

    (void)err;
    fputs("term", out);
    for (int k = 0; k < w->outputs; k++) {
        fputc(',', out);
        output_cell(out, "", output_name(w, k));
    }
    fputs(",per_spread\n", out);
    row_csv(w, out, "(constant)", w->n, 0);
    for (int i = 0; i < w->n; i++) {
        term_name(w, &w->rows[i].term, name, sizeof name);
        row_csv(w, out, name, w->rows[i].column, w->rows[i].size);
    }
    return 0;
}

static int row_json(const struct weights *w, FILE *out, const char *name, int column,
                    struct err *err)
{
    fprintf(out, "{\"term\": ");
    if (explain_json(out, name, err) < 0)
        return -1;
    fprintf(out, ", \"weights\": [");
    for (int k = 0; k < w->outputs; k++)
        fprintf(out, "%s%.17g", k ? ", " : "", unit_of(w, k, column));
    fprintf(out, "]");
    return 0;
}

static int write_json(FILE *out, void *ctx, struct err *err)
{
    const struct weights *w = ctx;
    char name[NAME];

    fprintf(out, "{\"family\": \"linear\", \"measure\": \"weights\", \"outputs\": [");
    for (int k = 0; k < w->outputs; k++) {
        if (k)
            fputs(", ", out);
        if (explain_json(out, output_name(w, k), err) < 0)
            return -1;
    }
    fprintf(out, "], \"terms\": [\n  ");
    if (row_json(w, out, "(constant)", w->n, err) < 0)
        return -1;
    fputc('}', out);
    for (int i = 0; i < w->n; i++) {
        const struct weighed *r = &w->rows[i];
        term_name(w, &r->term, name, sizeof name);
        fputs(",\n  ", out);
        if (row_json(w, out, name, r->column, err) < 0)
            return -1;
        fprintf(out, ", \"per_spread\": %.17g, \"column\": ", r->size);
        if (explain_json(out, prep_input_name(artifact_prep(w->e->a), r->term.input), err) < 0)
            return -1;
        fputc('}', out);
    }
    fprintf(out, "\n]}\n");
    return 0;
}

/* What the score is that the weights add up to. */
static const char *score_words(const struct explaining *e)
{
    if (e->info->task == ML_BINARY)
        return "the log-odds of the positive class";
    if (e->info->task == ML_MULTICLASS)
        return "the scores of the classes before softmax";
    return e->info->unit.kind == TARGET_LOG ? "the logarithm of the prediction" : "the prediction";
}

static void print_row(const struct weights *w, struct table *t, const char *name, int column)
{
    table_cell(t, "%s", name);
    for (int k = 0; k < w->outputs; k++)
        table_cell(t, "%.6g", unit_of(w, k, column));
}

static void print_weights(const struct weights *w)
{
    const char *heads[CLASSES + 2] = { "term" };
    char name[NAME];

    for (int k = 0; k < w->outputs; k++)
        heads[k + 1] = output_name(w, k);
    struct table *t = table_new(heads, w->outputs + 1);
    print_row(w, t, "(constant)", w->n);
    for (int i = 0; i < w->n && i < SHOWN; i++) {
        term_name(w, &w->rows[i].term, name, sizeof name);
        print_row(w, t, name, w->rows[i].column);
    }
    table_print(t, stdout);
    if (w->n > SHOWN)
        printf("… and %d more: -o FILE writes all\n", w->n - SHOWN);
    printf("what one unit of each adds to %s%s\n", score_words(w->e),
           w->e->info->n_models > 1 ? ", mean of its bag" : "");
}

int explain_weights(const struct explaining *e, struct err *err)
{
    const struct explain_opts *o = e->o;
    const struct prep *p = artifact_prep(e->a);
    struct weights w = { .e = e, .n = prep_width(p), .outputs = e->outputs };
    size_t size = (size_t)w.outputs * ((size_t)w.n + 1);

    w.unit = mem_array(size, sizeof *w.unit);
    w.rows = mem_array((size_t)w.n + 1, sizeof *w.rows);
    int rc = artifact_weights(e->a, w.unit, err);
    if (rc == 0)
        units_take(&w);
    if (rc == 0 && (o->json || o->output))
        rc = output_write(o->output ? o->output : "-", o->json ? write_json : write_csv, &w, err);
    else if (rc == 0 && w.outputs > CLASSES)
        rc = err_set(err, ERR_ARG,
                     "weights of %d classes do not fit on a screen: -o FILE or --json", w.outputs);
    else if (rc == 0)
        print_weights(&w);
    mem_free(w.unit);
    mem_free(w.rows);
    return rc;
}
