/* explain_rows.c - SHAP values of the rows of a table.
 *
 * The rows are computed in blocks and written one by one, or summed up to their mean size by
 * column. In a task with several classes, the values of a row explain the class that is
 * predicted for it, or the class that --class names. Called by cmd_explain.c. */
#include "cli/explain.h"
#include "cli/modelfile.h"
#include "cli/stdinfile.h"

#include "base/base.h"
#include "base/mem.h"

#include <math.h>
#include <string.h>

enum { BLOCK_WORDS = 1 << 20, MOST_BLOCK = 1024 };

struct block { /* of rows */
    struct artifact_view *view;
    int64_t most;
    int class_wanted; /* -1 = the predicted one */
    double *phi;
    float *p;
    int *of; /* the class explained for each row; a binary model has one output for both classes */
};

static void rows_head(const struct explaining *e, FILE *out)
{
    bool has_classes = e->info->task != ML_REGRESSION;

    fputs(has_classes ? "prediction,class,score,base" : "prediction,score,base", out);
    for (int i = 0; i < e->inputs; i++) {
        fputc(',', out);
        output_cell(out, "", explain_name(e, i));
    }
    fputc('\n', out);
}

static int predicted_class(const struct explaining *e, const float *p)
{
    int best = 0;

    if (e->info->task == ML_BINARY)
        return (double)p[0] > adjust_threshold(e->info->adjust);
    for (int k = 1; k < e->outputs; k++)
        best = p[k] > p[best] ? k : best;
    return best;
}

static int put_class(FILE *out, bool is_json, const char *key, const char *name, struct err *err)
{
    if (is_json) {
        fprintf(out, "\"%s\": ", key);
        return explain_json(out, name, err);
    }
    output_cell(out, "", name);
    return 0;
}

/* Writes score, base and values. For the second of two classes their sign is reversed. */
static void put_values(const struct explaining *e, FILE *out, const double *phi, double sign)
{
    bool is_json = e->o->json;
    double score = 0, shift = target_shift(&e->info->unit);

    for (int i = 0; i < e->inputs; i++)
        score += sign * phi[i];
    score += sign * (phi[e->inputs] - shift);
    fputs(is_json ? ", \"score\": " : ",", out);
    output_number(out, score, shift);
    fputs(is_json ? ", \"base\": " : ",", out);
    output_number(out, sign * (phi[e->inputs] - shift), shift);
    fputs(is_json ? ", \"values\": [" : "", out);
    for (int i = 0; i < e->inputs; i++)
        fprintf(out, is_json ? (i ? ", %.9g" : "%.9g") : ",%.9g", sign * phi[i] + 0.0);
    fputs(is_json ? "]}" : "\n", out);
}

static int put_row(const struct explaining *e, FILE *out, int wanted, const float *p,
                   const double *phi, struct err *err)
{
    bool is_json = e->o->json;

    fputs(is_json ? "{" : "", out);
    if (e->info->task == ML_REGRESSION) {
        fputs(is_json ? "\"prediction\": " : "", out);
        output_number(out, (double)p[0], target_shift(&e->info->unit));
        put_values(e, out, phi, 1);
        return 0;
    }
    int is = predicted_class(e, p), of = wanted >= 0 ? wanted : is;
    if (put_class(out, is_json, "prediction", e->info->classes[is], err) < 0)
        return -1;
    fputs(is_json ? ", " : ",", out);
    if (put_class(out, is_json, "class", e->info->classes[of], err) < 0)
        return -1;
    put_values(e, out, phi, e->info->task == ML_BINARY && of == 0 ? -1 : 1);
    return 0;
}

static int block_open(struct block *b, const struct explaining *e, struct err *err)
{
    int64_t width = MAX((int64_t)e->inputs + 1, e->outputs);

    *b = (struct block){ .most = MAX(1, MIN(BLOCK_WORDS / width, MOST_BLOCK)), .class_wanted = -1 };
    for (int k = 0; e->o->class_name && k < e->info->n_classes; k++) {
        if (strcmp(e->info->classes[k], e->o->class_name) == 0)
            b->class_wanted = k;
    }
    if (e->o->class_name && b->class_wanted < 0)
        return err_set(err, ERR_ARG, "the model knows no class \"%.100s\"", e->o->class_name);
    b->phi = mem_array((size_t)(b->most * width), sizeof(*b->phi));
    b->p = mem_array((size_t)(b->most * e->outputs), sizeof(*b->p));
    b->of = mem_array((size_t)b->most, sizeof(*b->of));
    b->view = artifact_view_new(e->a, e->f, err);
    return b->view ? 0 : err_wrap(err, "%s", stdinfile_name(e->file));
}

static void block_close(struct block *b)
{
    artifact_view_free(b->view);
    mem_free(b->phi);
    mem_free(b->p);
    mem_free(b->of);
}

static int64_t rows_of(const struct explaining *e)
{
    return e->o->rows > 0 ? MIN(e->o->rows, e->f->rows) : e->f->rows;
}

static int block_fill(struct block *b, const struct explaining *e, int64_t from, int64_t n,
                      struct err *err)
{
    if (artifact_predict(b->view, from, n, b->p, err) < 0)
        return -1;
    for (int64_t i = 0; i < n; i++)
        b->of[i] = e->outputs == 1        ? 0
                   : b->class_wanted >= 0 ? b->class_wanted
                                          : predicted_class(e, b->p + i * e->outputs);
    int rc = artifact_explain(b->view, from, n, b->of, b->phi, err);
    struct err why = *err;
    if (rc < 0 && why.code == ERR_CONFLICT)
        err_set(err, ERR_CONFLICT, "%s; --permutation measures what each column is worth",
                why.text);
    return rc;
}

static int head_json(const struct explaining *e, FILE *out, struct err *err)
{
    fprintf(out, "{\"family\": \"%s\", \"measure\": \"shap\", \"columns\": [", e->info->family);
    for (int i = 0; i < e->inputs; i++) {
        fputs(i ? ", " : "", out);
        if (explain_json(out, explain_name(e, i), err) < 0)
            return -1;
    }
    fputs("], \"rows\": [", out);
    return 0;
}

static int put_head(const struct explaining *e, FILE *out, struct err *err)
{
    if (e->o->json)
        return head_json(e, out, err);
    rows_head(e, out);
    return 0;
}

/* The first block is computed before anything is written, so that a model that cannot be
 * explained prints only its error. */
static int put_rows(const struct explaining *e, FILE *out, struct block *b, struct err *err)
{
    for (int64_t from = 0; from < rows_of(e); from += b->most) {
        int64_t n = MIN(b->most, rows_of(e) - from);
        if (block_fill(b, e, from, n, err) < 0 || (from == 0 && put_head(e, out, err) < 0))
            return -1;
        for (int64_t i = 0; i < n; i++) {
            if (e->o->json)
                fputs(from + i ? ",\n  " : "\n  ", out);
            if (put_row(e, out, b->class_wanted, b->p + i * e->outputs,
                        b->phi + i * ((int64_t)e->inputs + 1), err) < 0)
                return -1;
        }
    }
    return 0;
}

int explain_rows_write(FILE *out, void *ctx, struct err *err)
{
    const struct explaining *e = ctx;
    struct block b;
    int rc = block_open(&b, e, err);

    if (rc == 0)
        rc = rows_of(e) > 0 ? put_rows(e, out, &b, err) : put_head(e, out, err);
    if (rc == 0 && e->o->json)
        fputs("\n]}\n", out);
    block_close(&b);
    return rc;
}

int explain_rows_mean(const struct explaining *e, double *out, struct err *err)
{
    struct block b;
    int64_t rows = rows_of(e);
    int rc = block_open(&b, e, err);

    memset(out, 0, (size_t)e->inputs * sizeof(*out));
    for (int64_t from = 0; from < rows && rc == 0; from += b.most) {
        int64_t n = MIN(b.most, rows - from);
        rc = block_fill(&b, e, from, n, err);
        for (int64_t i = 0; i < n * (e->inputs + 1) && rc == 0; i++) {
            if (i % (e->inputs + 1) < e->inputs)
                out[i % (e->inputs + 1)] += fabs(b.phi[i]) / (double)rows;
        }
    }
    block_close(&b);
    return rc;
}
