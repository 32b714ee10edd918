/* fuzz_rows.c - any bytes as a table to predict, in any format that is read: one clear error, or a
 * finite prediction for every row, equal however the bytes arrived. The model has a column of every
 * kind: numbers, money, dates, text, lists, levels, codes. The first byte chooses read size and
 * options; a second one of 0 puts the model's header before the rest.
 * covers: ml/apply/model_rows.c ml/prep/prep_view.c ml/prep/prep_dense.c */
#include "tests/fuzz/feed.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "ml/apply/model_rows.h"
#include "ml/fit/fit.h"
#include "ml/model/data.h"
#include "ml/read/read.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TRAIN_ROWS = 300, MOST_ROWS = 2000 };
static const char header[] = "n,money,day,words,tags,kind,code\n";
static struct artifact *model;

/* ---- the model ---- */

static void train_csv(struct buf *b)
{
    static const char *const words[] = { "red car",   "blue boat", "old red house", "new bike",
                                         "green car", "big boat",  "house of glass" };
    static const char *const kinds[] = { "high", "low", "middle", "none of these" };
    struct rng r;

    rng_init(&r, 7, 0);
    CHECK(buf_addf(b, NULL, "%.*s,y\n", (int)(sizeof(header) - 2), header) == 0);
    for (int i = 0; i < TRAIN_ROWS; i++) {
        double n = rng_normal(&r);
        unsigned w = rng_below(&r, 7), v = rng_below(&r, 7), k = rng_below(&r, 4);
        double score = n + (k == 0) - (w == 2) + .3 * rng_normal(&r);
        if (i % 9 == 0)
            CHECK(buf_addf(b, NULL, ",-,") == 0);
        else
            CHECK(buf_addf(b, NULL, "%.3f,\"$%u,%03u\",", n, 1 + rng_below(&r, 9),
                           rng_below(&r, 1000)) == 0);
        CHECK(buf_addf(b, NULL, "2021-%02u-%02u,%s and %s %u,a%u|b%u,%s,C%u,%s\n",
                       1 + rng_below(&r, 12), 1 + rng_below(&r, 28), words[w], words[v],
                       rng_below(&r, 50), w, v, kinds[k], 100 + rng_below(&r, 30),
                       score > 0 ? "yes" : "no") == 0);
    }
}

static struct artifact *model_make(const struct frame *f)
{
    const struct family *linear = family_find("linear");
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "y",
                                       .positive = "yes",
                                       .task = ML_BINARY,
                                       .metric = METRIC_AUC,
                                       .folds = 2,
                                       .split_seed = 1 };
    double params[FAMILY_MAX_PARAMS] = { 0 };
    struct err err = { 0 };
    struct buf file;

    buf_init(&file, 64 << 20);
    struct ml_data *d = ml_data_open(&spec, &err);
    CHECK(d);
    family_defaults(linear, params);
    struct fit_trial *t = fit_trial_open(d, linear, params, 1, false, &err);
    CHECK(t && fit_trial_advance(t, fit_trial_levels(t), NULL, &err) == 1);
    CHECK(fit_trial_artifact(t, &file, &err) == 0);
    fit_trial_close(t);
    ml_data_close(d);
    struct artifact *a = artifact_load(file.data, file.len, &err);
    CHECK(a);
    buf_fini(&file);
    return a;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    const struct csv_opts opts = { .name = "train" };
    char hash[SHA256_HEX];
    struct buf csv;

    (void)argc, (void)argv;
    feed_init("rows");
    buf_init(&csv, 1 << 20);
    train_csv(&csv);
    struct source s = { (const uint8_t *)csv.data, csv.len, 0, csv.len };
    CHECK(table_to_frame(source_read, &s, &opts, path, hash, NULL) == 0);
    struct frame *f = frame_open(path, NULL);
    CHECK(f);
    unlink(path);
    model = model_make(f);
    frame_close(f);
    buf_fini(&csv);
    return 0;
}

/* ---- tables to predict ---- */

/* Appends the predictions to out. */
static void predict_rows(const struct frame *f, struct buf *out)
{
    int outputs = artifact_outputs(model);
    float *p = mem_array((size_t)f->rows * (size_t)outputs, sizeof(*p));
    struct err err = { 0 };
    struct artifact_view *v = artifact_view_new(model, f, &err);

    CHECK(v && artifact_predict(v, 0, f->rows, p, &err) == 0);
    for (int64_t i = 0; i < f->rows * outputs; i++)
        CHECK(isfinite(p[i]) && p[i] >= 0 && p[i] <= 1);
    CHECK(buf_add(out, p, (size_t)(f->rows * outputs) * sizeof(*p), NULL) == 0);
    artifact_view_free(v);
    mem_free(p);
}

/* Predictions are appended to out; none where the table is refused. */
static int predict(const uint8_t *data, size_t size, size_t step, uint8_t options, struct buf *out)
{
    struct source s = { data, size, 0, step };
    const struct model_rows_how how = { .name = "fuzz",
                                        .target = options & 1 ? "y" : NULL,
                                        .may_lack_columns = (options & 2) != 0,
                                        .refuses_cells = (options & 4) != 0 };
    struct model_rows_notes notes;
    struct err err = { 0 };
    struct frame *f = model_rows_read(model, source_read, &s, &how, path, &notes, &err);

    unlink(path);
    CHECK(f || (err.code != ERR_NONE && err.text[0] && utf8_ok(err.text, strlen(err.text))));
    CHECK(utf8_ok(notes.bad, strlen(notes.bad)) && utf8_ok(notes.lacking, strlen(notes.lacking)));
    if (!f)
        return -1;
    CHECK(f->rows >= 1 && (how.may_lack_columns || notes.n_lacking == 0));
    CHECK(notes.bad_cells == 0 || !how.refuses_cells);
    if (f->rows <= MOST_ROWS)
        predict_rows(f, out);
    frame_close(f);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf text, one, two;

    if (size < 3)
        return 0;
    buf_init(&text, 1 << 20);
    buf_init(&one, 64 << 20);
    buf_init(&two, 64 << 20);
    if (data[1] == 0)
        CHECK(buf_add(&text, header, sizeof(header) - 1, NULL) == 0);
    CHECK(buf_add(&text, data + 2, size - 2, NULL) == 0);
    const uint8_t *bytes = (const uint8_t *)text.data;
    int rc = predict(bytes, text.len, text.len, data[0] & 7, &one);
    CHECK(predict(bytes, text.len, 1 + (size_t)(data[0] >> 3) * 7, data[0] & 7, &two) == rc);
    CHECK(one.len == two.len && (one.len == 0 || memcmp(one.data, two.data, one.len) == 0));
    buf_fini(&text);
    buf_fini(&one);
    buf_fini(&two);
    return 0;
}
