/* explain.h - private to `assay explain`: what is explained (cmd_explain.c), and the SHAP values
 * of rows (explain_rows.c). */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "base/err.h"
#include "ml/model/artifact.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct explain_opts {
    char *output, *target, *class_name, *missing_columns;
    bool json, no_header, permutation, mean, weights, pipeline;
    int64_t rows, repeats, seed;
};
struct explaining {
    const struct explain_opts *o;
    const struct artifact *a;
    const struct artifact_info *info;
    const struct frame *f;
    const char *file; /* the table's, for errors */
    int inputs, outputs;
};

const char *explain_name(const struct explaining *e, int input);
int explain_json(FILE *out, const char *text, struct err *err); /* quoted */

/* Defined in explain_rows.c. explain_rows_write writes the SHAP values of the rows of e->f as
 * CSV or JSON; it is a callback of output_write, and ctx is a struct explaining.
 * explain_rows_mean gives the mean size of these values for each input, out[inputs]. */
int explain_rows_write(FILE *out, void *ctx, struct err *err);
int explain_rows_mean(const struct explaining *e, double *out, struct err *err);

/* explain_weights.c: prints or writes the weights of a linear model. */
int explain_weights(const struct explaining *e, struct err *err);

#endif
