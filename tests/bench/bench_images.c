/* bench_images.c - networks on images, without a search around them: trains one configuration on Fashion-MNIST and prints the
 * accuracy on its test images and the processor time after every epoch.
 *
 *   build/gcc/tests/bench/bench_images FOLDER FAMILY [rows=N] [PARAMETER=VALUE ...]
 *
 * FOLDER holds the four files of the data set. rows: so many of the training rows. The program says so and ends with 0 where
 * the files are missing. */
#include "base/base.h"
#include "base/gz.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/imagepack.h"
#include "ml/fit/fit.h"
#include "ml/model/artifact.h"
#include "ml/model/model.h"
#include "ml/model/models.h"
#include "ml/read/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double cpu_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct frame *open_images(const char *folder, const char *name, struct err *err)
{
    struct tempdir temp = { 0 };
    struct image_pack pack = { 0 };
    char file[1000], path[300], hash[SHA256_HEX];
    struct frame *f = NULL;

    (void)snprintf(file, sizeof file, "%s/%s", folder, name);
    if (tempdir_make(&temp, sizeof temp.path, err) < 0 || image_pack_open(&pack, file, 0, err) < 0)
        return NULL;
    struct gz *g = gz_open(pack.path, err);
    const struct csv_opts opts = { .name = name };
    (void)snprintf(path, sizeof path, "%s/frame", temp.path);
    if (g && table_to_frame(gz_source, g, &opts, path, hash, err) == 0)
        f = frame_open(path, err);
    gz_close(g);
    image_pack_close(&pack);
    tempdir_end(&temp, false);
    return f;
}

static int param_set(const struct family *f, double *p, const char *text, double *rows)
{
    char name[80];
    const char *value = strchr(text, '=');

    if (!value)
        return -1;
    (void)snprintf(name, sizeof name, "%.*s", (int)(value - text), text);
    if (strcmp(name, "rows") == 0) {
        *rows = atof(value + 1); /* NOLINT(cert-err34-c) */
        return 0;
    }
    int i = family_param_find(f, name);
    if (i < 0)
        return -1;
    int choice = f->params[i].kind == FP_CHOICE ? family_choice_find(&f->params[i], value + 1) : -1;
    p[i] = choice >= 0 ? choice : strtod(value + 1, NULL);
    return 0;
}

/* Accuracy of the lane's model on the test images, through the bytes that a model file would hold. */
static double accuracy(const struct model_ops *ops, const struct lane *l, const struct ml_data *d,
                       const struct frame *test, const struct ml_data *test_y)
{
    struct err err = { 0 };
    struct buf b;
    int64_t right = 0;

    buf_init(&b, (size_t)1 << 30);
    if (ops->save(l, l->steps_done, &b, &err) < 0)
        return -1;
    struct view in = { (const uint8_t *)b.data, b.len, 0 };
    struct predictor *p = ops->predictor_load(d->prep, d->n_outputs, d->spec.task, &in, &err);
    struct prep_view *v = prep_view_new(d->prep, test, &err);
    float *out = malloc((size_t)(test->rows * d->n_outputs) * sizeof *out);
    if (!p || !v || !out || ops->predict(p, v, 0, test->rows, out, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    for (int64_t i = 0; i < test->rows; i++) {
        int best = 0;
        for (int k = 1; k < d->n_outputs; k++)
            best = out[i * d->n_outputs + k] > out[i * d->n_outputs + best] ? k : best;
        right += strcmp(d->classes[best], test_y->classes[(int)test_y->y[i]]) == 0;
    }
    free(out);
    prep_view_free(v);
    ops->predictor_free(p);
    buf_fini(&b);
    return (double)right / (double)test->rows;
}

static struct ml_data *data_of(const struct frame *f, struct err *err)
{
    const struct ml_data_spec spec = { .frame = f,
                                       .target = "label",
                                       .task = ML_MULTICLASS,
                                       .metric = METRIC_ACCURACY,
                                       .folds = 2,
                                       .split_seed = 1 };

    return ml_data_open(&spec, err);
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "../shared/datasets/fashion_mnist";
    const struct model_ops *ops = model_find(argc > 2 ? argv[2] : "cnn");
    struct lane l = { .fold = FOLD_ALL, .seed = 1, .level = 1 };
    struct err err = { 0 };
    double rows = 0;

    if (access(folder, R_OK) < 0) {
        printf("skipped: no %s\n", folder);
        return 0;
    }
    family_defaults(ops->family, l.params);
    for (int i = 3; i < argc; i++) {
        if (param_set(ops->family, l.params, argv[i], &rows) < 0) {
            fprintf(stderr, "no parameter: %s\n", argv[i]);
            return 2;
        }
    }
    struct frame *train = open_images(folder, "train-images-idx3-ubyte.gz", &err);
    struct frame *test = train ? open_images(folder, "t10k-images-idx3-ubyte.gz", &err) : NULL;
    struct ml_data *d = test ? data_of(train, &err) : NULL, *t = d ? data_of(test, &err) : NULL;
    if (rows > 0 && d)
        l.share = rows / (double)d->rows;
    if (!t || ops->open(d, &l, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double before = cpu_seconds(), trained = 0;
    for (int epoch = 1; !l.is_done && !l.failed; epoch++) {
        if (ops->advance(d, &l, 1, 1, NULL, &err) < 0 || l.failed)
            break;
        trained += cpu_seconds() - before;
        printf("epoch %d: accuracy %.4f, %.1f s of processor time\n", epoch,
               accuracy(ops, &l, d, test, t), trained);
        fflush(stdout);
        before = cpu_seconds();
    }
    if (l.failed)
        fprintf(stderr, "%s\n", l.why.text);
    ops->close(&l);
    ml_data_close(d);
    ml_data_close(t);
    frame_close(train);
    frame_close(test);
    return l.failed;
}
