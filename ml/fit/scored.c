/* scored.c - the predictions of a model beside the truth (scored.h). */
#include "ml/fit/scored.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/model/row_columns.h"
#include "ml/model/target.h"

#include <math.h>
#include <string.h>

/* Rows predicted at a time. */
enum { CHUNK = 4096 };

/* Says what a row without a known target has: nothing, or a class that the model does not know. */
static void count_left_out(struct scored *s, const struct frame *f, int column, int64_t row)
{
    const struct frame_col *c = &f->cols[column];
    int32_t code = -1;

    if (c->type == FRAME_CATEGORICAL)
        frame_codes(f, column, row, 1, &code);
    if (code < 0) {
        s->n_no_target++;
        return;
    }
    s->n_unknown++;
    s->unknown = s->unknown ? s->unknown : c->levels[code];
}

/* Predicts rows in chunks and moves those that count to the front. */
static int predict(struct scored *s, struct artifact_view *v, const struct frame *f, int column,
                   struct err *err)
{
    size_t row = (size_t)s->width * sizeof *s->pred;
    float *chunk = mem_alloc(CHUNK * row);
    int rc = 0;

    for (int64_t from = 0; from < f->rows && rc == 0; from += CHUNK) {
        int64_t m = MIN(CHUNK, f->rows - from);
        rc = artifact_predict(v, from, m, chunk, err);
        for (int64_t i = 0; i < m && rc == 0; i++) {
            if (isnan(s->y[from + i])) {
                count_left_out(s, f, column, from + i);
                continue;
            }
            if (s->weight && s->weight[from + i] == 0) {
                s->n_no_weight++;
                continue;
            }
            s->y[s->n] = s->y[from + i] - s->shift;
            if (s->weight)
                s->weight[s->n] = s->weight[from + i];
            memcpy(s->pred + s->n * s->width, chunk + i * s->width, row);
            s->n++;
        }
    }
    mem_free(chunk);
    return rc;
}

int scored_rows(const struct artifact *a, const struct frame *f, const char *target,
                const char *weights, struct scored *out, struct err *err)
{
    const struct artifact_info *info = artifact_info(a);
    size_t rows = (size_t)f->rows;

    *out = (struct scored){ .width = artifact_outputs(a), .shift = target_shift(&info->unit) };
    out->y = mem_try_alloc((rows + 1) * sizeof *out->y);
    out->pred = mem_try_alloc((rows + 1) * (size_t)out->width * sizeof *out->pred);
    if (!out->y || !out->pred)
        return err_set(err, ERR_NOMEM, "no memory to predict %lld rows", (long long)f->rows);
    if (target_read_as(f, target, info->task, info->n_classes, info->classes, out->y, err) < 0 ||
        (weights && row_weights(f, weights, &out->weight, err) < 0))
        return -1;
    struct artifact_view *v = artifact_view_new(a, f, err);
    int rc = v ? predict(out, v, f, frame_find(f, target), err) : -1;
    artifact_view_free(v);
    if (rc == 0 && out->n == 0)
        return err_set(err, ERR_ARG, "no row has a value of \"%.100s\" that the model knows",
                       target);
    return rc;
}

void scored_fini(struct scored *s)
{
    mem_try_free(s->pred);
    mem_try_free(s->y);
    mem_try_free(s->weight);
    *s = (struct scored){ 0 };
}
