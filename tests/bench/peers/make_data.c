/* make_data.c - writes a table for the comparisons with peers (peers.py, quality.py) in both forms.
 *   make_data synth ROWS COLUMNS DIR            fixed table: normal columns, a target of products and steps of the first
 *                                               ten, 10% of the labels flipped; 20,000 more rows to test
 *   make_data smooth KIND SEED DIR              a table on which trees are weak: rotated, oblique, sine, ratio or ridges; 2,000 rows
 *                                               to train and 5,000 to test
 *   make_data images ROWS DIR                   ten kinds of spots on 28 x 28 pixels, moved and noisy; 2,000 more to test
 *   make_data table CSV TARGET TASK CATS ROWS DIR    a CSV by the split rule of the shared datasets; CATS: names with
 *                                               commas, or -; ROWS: that many training rows at most, evenly spaced; 0 = all
 * A folder holds train.frame, test.frame, and for the peer train.x test.x (float32, row-major, NaN = missing, levels as
 * codes), train.y test.y (float32; classes as 0, 1, ...) and meta.json. */
#include "base/base.h"
#include "base/gz.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/read/csv.h"
#include "ml/table/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET "(target)" /* no column of a table is called that */
enum { TEST_ROWS = 20000 };

static const char program[] = "make_data";
#include "tests/bench/peers/program.h"

/* ---- a table in memory, columns first ---- */

struct column {
    char name[256];
    double *v; /* numbers, or codes; NaN = missing */
    bool is_categorical;
    const char *const *levels; /* of the frame it came from */
    int n_levels;
};
struct table {
    int64_t rows;
    int n_cols; /* inputs; column n_cols is the target */
    int n_classes;
    const char *task;
    struct column *cols;
};

static void column_write(struct frame_writer *w, const struct column *c, const double *v, int64_t n)
{
    struct err err = { 0 };
    int rc;

    if (!c->is_categorical) {
        rc = frame_writer_numeric(w, c->name, v, n, &err);
    } else {
        int32_t *codes = mem_array((size_t)n, sizeof *codes);
        for (int64_t i = 0; i < n; i++)
            codes[i] = isnan(v[i]) ? -1 : (int32_t)v[i];
        rc = frame_writer_categorical(w, c->name, codes, n, c->levels, c->n_levels, &err);
        mem_free(codes);
    }
    if (rc < 0)
        die(c->name, &err);
}

/* Rows with part[i] == which, as a frame and as the peer's arrays. */
static void part_write(const struct table *t, const uint8_t *part, int which, const char *dir,
                       const char *name)
{
    struct err err = { 0 };
    char file[64], hash[SHA256_HEX];
    int64_t n = 0;

    for (int64_t i = 0; i < t->rows; i++)
        n += part[i] == which;
    snprintf(file, sizeof file, "%s.frame", name);
    struct frame_writer *w = frame_writer_new(path_of(dir, file), &err);
    double *v = mem_array((size_t)n, sizeof *v);
    float *x = mem_array((size_t)n * (size_t)t->n_cols, sizeof *x);
    float *y = mem_array((size_t)n, sizeof *y);
    if (!w)
        die(file, &err);
    for (int c = 0; c <= t->n_cols; c++) {
        for (int64_t i = 0, at = 0; i < t->rows; i++) {
            if (part[i] != which)
                continue;
            v[at] = t->cols[c].v[i];
            *(c < t->n_cols ? &x[at * t->n_cols + c] : &y[at]) = (float)v[at];
            at++;
        }
        column_write(w, &t->cols[c], v, n);
    }
    if (frame_writer_end(w, hash, &err) < 0)
        die(file, &err);
    for (int k = 0; k < 2; k++) {
        snprintf(file, sizeof file, "%s.%c", name, k ? 'y' : 'x');
        FILE *f = fopen(path_of(dir, file), "wb");
        size_t count = (size_t)n * (size_t)(k ? 1 : t->n_cols);
        if (!f || fwrite(k ? y : x, sizeof(float), count, f) != count || fclose(f) != 0)
            die(file, NULL);
    }
    mem_free(v);
    mem_free(x);
    mem_free(y);
}

static void table_write(const struct table *t, const uint8_t *part, const char *dir)
{
    FILE *f = fopen(path_of(dir, "meta.json"), "w");

    part_write(t, part, 0, dir, "train");
    part_write(t, part, 1, dir, "test");
    if (!f)
        die("meta.json", NULL);
    fprintf(f, "{\"task\": \"%s\", \"classes\": %d, \"columns\": %d, \"categorical\": [", t->task,
            t->n_classes, t->n_cols);
    for (int c = 0, n = 0; c < t->n_cols; c++) {
        if (t->cols[c].is_categorical)
            fprintf(f, "%s%d", n++ ? ", " : "", c);
    }
    fprintf(f, "]}\n");
    if (fclose(f) != 0)
        die("meta.json", NULL);
}

/* Values are rounded to float, so that both sides see the same and a frame is as narrow as the peer's matrix. */
static void synth(int64_t rows, int cols, const char *dir)
{
    struct table t = { .rows = rows + TEST_ROWS, .n_cols = cols, .n_classes = 2, .task = "binary" };
    uint8_t *part = mem_array((size_t)t.rows, 1);
    struct rng r;

    t.cols = mem_array((size_t)cols + 1, sizeof *t.cols);
    for (int c = 0; c <= cols; c++) {
        struct column *col = &t.cols[c];
        snprintf(col->name, sizeof col->name, c < cols ? "x%d" : TARGET, c);
        col->v = mem_array((size_t)t.rows, sizeof *col->v);
        rng_init(&r, 7, (uint64_t)c);
        for (int64_t i = 0; i < t.rows && c < cols; i++)
            col->v[i] = (double)(float)rng_normal(&r);
    }
    rng_init(&r, 7, 1000000);
    for (int64_t i = 0; i < t.rows; i++) {
        double s = 0;
        for (int c = 0; c + 1 < cols && c < 10; c += 2)
            s += t.cols[c].v[i] * t.cols[c + 1].v[i] + (t.cols[c].v[i] > 0.5 ? 1.0 : -0.3);
        t.cols[cols].v[i] = (s > 0) != (rng_unit(&r) < 0.1);
        part[i] = i >= rows;
    }
    table_write(&t, part, dir);
}

/* ---- tables on which trees are weak: their targets do not change along one column at a time ---- */

enum { SMOOTH_TRAIN = 2000, SMOOTH_TEST = 5000, RIDGES = 5 };

/* Two of the columns are the coordinates of a turned checkerboard; a twentieth of the labels are wrong. */
static double rotated(const double *x, const double *how, struct rng *r)
{
    double turn = 0.3 + 0.9 * how[0], a = cos(turn) * x[0] + sin(turn) * x[1],
           b = cos(turn) * x[1] - sin(turn) * x[0];

    return ((a > 0) != (b > 0)) != (rng_unit(r) < 0.05);
}

static double along(const double *x, const double *v, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += x[i] * v[i];
    return sum;
}

/* A checkerboard that is turned in all six columns: its two coordinates are orthogonal directions drawn at
 * random. No label is wrong, so that a perfect model has an AUC of 1. */
static double oblique(const double *x, const double *how, struct rng *r)
{
    double u[6], v[6];

    (void)r;
    for (int i = 0; i < 6; i++) {
        u[i] = how[i] - 0.5;
        v[i] = how[6 + i] - 0.5;
    }
    double part = along(u, v, 6) / along(u, u, 6);
    for (int i = 0; i < 6; i++)
        v[i] -= part * u[i];
    return (along(x, u, 6) > 0) != (along(x, v, 6) > 0);
}

static double sine(const double *x, const double *how, struct rng *r)
{
    return sin(6 * x[0] + how[0]) + x[1] + 0.1 * rng_normal(r);
}

static double ratio(const double *x, const double *how, struct rng *r)
{
    return (x[0] + 1.5 + how[0]) / (x[1] + 1.5) + 0.05 * rng_normal(r);
}

/* A sum of bent ridges along random directions in 20 dimensions. */
static double ridges(const double *x, const double *how, struct rng *r)
{
    double y = 0.1 * rng_normal(r);

    for (int k = 0; k < RIDGES; k++) {
        double place = 0;
        for (int c = 0; c < 20; c++)
            place += x[c] * (how[20 * k + c] - 0.5);
        y += tanh(1.5 * place + how[k] - 0.5);
    }
    return y;
}

static const struct smooth_kind {
    const char *name, *task;
    int cols;
    double (*target)(const double *x, const double *how, struct rng *r);
} smooth_kinds[] = {
    { "rotated", "binary", 6, rotated },    { "oblique", "binary", 6, oblique },
    { "sine", "regression", 4, sine },      { "ratio", "regression", 4, ratio },
    { "ridges", "regression", 20, ridges },
};

/* Columns are uniform in (-1, 1); `how` are the numbers that differ between seeds. */
static void smooth(const char *name, uint64_t seed, const char *dir)
{
    const struct smooth_kind *kind = NULL;
    double how[20 * RIDGES], x[20];
    struct rng r;

    for (int i = 0; i < (int)ARRAY_LEN(smooth_kinds); i++)
        kind = strcmp(name, smooth_kinds[i].name) == 0 ? &smooth_kinds[i] : kind;
    if (!kind)
        die(name, NULL);
    struct table t = { .rows = SMOOTH_TRAIN + SMOOTH_TEST,
                       .n_cols = kind->cols,
                       .n_classes = strcmp(kind->task, "binary") == 0 ? 2 : 0,
                       .task = kind->task };
    uint8_t *part = mem_array((size_t)t.rows, 1);
    rng_init(&r, seed, 77);
    for (int i = 0; i < (int)ARRAY_LEN(how); i++)
        how[i] = rng_unit(&r);
    t.cols = mem_array((size_t)t.n_cols + 1, sizeof *t.cols);
    for (int c = 0; c <= t.n_cols; c++) {
        snprintf(t.cols[c].name, sizeof t.cols[c].name, c < t.n_cols ? "x%d" : TARGET, c);
        t.cols[c].v = mem_array((size_t)t.rows, sizeof *t.cols[c].v);
        t.cols[c].is_categorical = false;
    }
    for (int64_t i = 0; i < t.rows; i++) {
        for (int c = 0; c < t.n_cols; c++)
            t.cols[c].v[i] = x[c] = (double)(float)(2 * rng_unit(&r) - 1);
        t.cols[t.n_cols].v[i] = (double)(float)kind->target(x, how, &r);
        part[i] = i >= SMOOTH_TRAIN;
    }
    table_write(&t, part, dir);
}

/* ---- images, a column for each pixel ---- */

enum { SIDE = 28, KINDS = 10, SPOTS = 6, MOVED = 4, IMAGES_TEST = 2000 };

/* What is seen at a place of a kind: spots of different sizes, some of them dark. */
static double spots(const double *how, double x, double y)
{
    double sum = 0;

    for (int s = 0; s < SPOTS; s++, how += 4) {
        double dx = x - SIDE * how[0], dy = y - SIDE * how[1], size = 1.5 + 2 * how[2];
        sum += (how[3] > 0.4 ? 1.0 : -1.0) * exp(-(dx * dx + dy * dy) / (2 * size * size));
    }
    return sum;
}

static void images(int64_t rows, const char *dir)
{
    struct table t = {
        .rows = rows + IMAGES_TEST, .n_cols = SIDE * SIDE, .n_classes = KINDS, .task = "multiclass"
    };
    uint8_t *part = mem_array((size_t)t.rows, 1);
    double how[KINDS][4 * SPOTS];
    struct rng r;

    rng_init(&r, 7, 88);
    for (int k = 0; k < KINDS; k++) {
        for (int i = 0; i < 4 * SPOTS; i++)
            how[k][i] = rng_unit(&r);
    }
    t.cols = mem_array((size_t)t.n_cols + 1, sizeof *t.cols);
    for (int c = 0; c <= t.n_cols; c++) {
        t.cols[c] = (struct column){ .v = mem_array((size_t)t.rows, sizeof(double)) };
        snprintf(t.cols[c].name, sizeof t.cols[c].name, c < t.n_cols ? "x%d" : TARGET, c);
    }
    for (int64_t i = 0; i < t.rows; i++) {
        int k = (int)rng_below(&r, KINDS);
        double dx = (double)rng_below(&r, 2 * MOVED + 1) - MOVED,
               dy = (double)rng_below(&r, 2 * MOVED + 1) - MOVED;
        for (int c = 0; c < t.n_cols; c++) {
            int line = c / SIDE, place = c % SIDE;
            double v = spots(how[k], place - dx, line - dy) + 0.8 * rng_normal(&r);
            t.cols[c].v[i] = (double)(float)v;
        }
        t.cols[t.n_cols].v[i] = k;
        part[i] = i >= rows;
    }
    table_write(&t, part, dir);
}

/* ---- a table from a CSV ---- */

static int by_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Values become 0, 1, ... in their order; returns how many there are. */
static int classes_number(double *v, int64_t n)
{
    double *s = mem_array((size_t)n, sizeof *s);
    int k = 0;

    memcpy(s, v, (size_t)n * sizeof *s);
    qsort(s, (size_t)n, sizeof *s, by_double);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || s[i] != s[k - 1])
            s[k++] = s[i];
    }
    for (int64_t i = 0; i < n; i++) {
        double *at = bsearch(&v[i], s, (size_t)k, sizeof *s, by_double);
        v[i] = (double)(at - s);
    }
    mem_free(s);
    return k;
}

static struct frame *csv_open(const char *csv, const char *cats, const char *dir)
{
    struct csv_override over[64];
    struct csv_opts opts = { .overrides = over, .name = csv };
    struct err err = { 0 };
    char hash[SHA256_HEX], *names = mem_strdup(cats), *save = NULL;
    struct gz *g = gz_open(csv, &err);

    for (char *n = strtok_r(names, ",", &save); n && strcmp(cats, "-") != 0;
         n = strtok_r(NULL, ",", &save)) {
        if (opts.n_overrides == (int)ARRAY_LEN(over))
            die("too many categorical columns", NULL);
        over[opts.n_overrides++] = (struct csv_override){ .name = n, .type = FRAME_CATEGORICAL };
    }
    if (!g || csv_to_frame(gz_source, g, &opts, path_of(dir, "all.frame"), hash, &err) < 0)
        die(csv, &err);
    gz_close(g);
    struct frame *f = frame_open(path_of(dir, "all.frame"), &err);
    if (!f)
        die(csv, &err);
    return f;
}

static void column_read(const struct frame *f, int at, struct column *c)
{
    const struct frame_col *from = &f->cols[at];

    snprintf(c->name, sizeof c->name, "%s", from->name);
    c->v = mem_array((size_t)f->rows, sizeof *c->v);
    c->is_categorical = from->type == FRAME_CATEGORICAL;
    c->levels = from->levels;
    c->n_levels = from->n_levels;
    if (!c->is_categorical) {
        frame_numbers(f, at, 0, f->rows, c->v);
        return;
    }
    int32_t *codes = mem_array((size_t)f->rows, sizeof *codes);
    frame_codes(f, at, 0, f->rows, codes);
    for (int64_t i = 0; i < f->rows; i++)
        c->v[i] = codes[i] < 0 ? (double)NAN : (double)codes[i];
    mem_free(codes);
}

/* Leaves `most` of the training rows, evenly spaced; 0 = all. The others become part 2. */
static void part_thin(uint8_t *part, int64_t rows, int64_t most)
{
    int64_t n = 0, at = 0;

    for (int64_t i = 0; i < rows; i++)
        n += part[i] == 0;
    for (int64_t i = 0; i < rows && most > 0 && n > most; i++) {
        if (part[i] != 0)
            continue;
        part[i] = (at + 1) * most / n > at * most / n ? 0 : 2;
        at++;
    }
}

static void csv_table(char **argv)
{
    const char *target = argv[1], *dir = argv[5];
    struct frame *f = csv_open(argv[0], argv[3], dir);
    int y = frame_find(f, target);
    struct table t = { .rows = f->rows, .n_cols = f->n_cols - 1, .task = argv[2] };
    uint8_t *part = mem_array((size_t)t.rows, 1);

    if (y < 0)
        die(target, NULL);
    t.cols = mem_array((size_t)f->n_cols, sizeof *t.cols);
    for (int c = 0, at = 0; c < f->n_cols; c++)
        column_read(f, c, &t.cols[c == y ? t.n_cols : at++]);
    t.cols[t.n_cols].is_categorical = false;
    if (strcmp(t.task, "regression") != 0)
        t.n_classes = classes_number(t.cols[t.n_cols].v, t.rows);
    snprintf(t.cols[t.n_cols].name, sizeof t.cols[0].name, TARGET);
    for (int64_t i = 0; i < t.rows; i++)
        part[i] = (uint32_t)i * 2654435761u < 1u << 30;
    part_thin(part, t.rows, strtoll(argv[4], NULL, 10));
    table_write(&t, part, dir);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "synth") == 0)
        synth(strtoll(argv[2], NULL, 10), (int)strtol(argv[3], NULL, 10), argv[4]);
    else if (argc == 5 && strcmp(argv[1], "smooth") == 0)
        smooth(argv[2], strtoull(argv[3], NULL, 10), argv[4]);
    else if (argc == 4 && strcmp(argv[1], "images") == 0)
        images(strtoll(argv[2], NULL, 10), argv[3]);
    else if (argc == 8 && strcmp(argv[1], "table") == 0)
        csv_table(argv + 2);
    else
        die("synth ROWS COLUMNS DIR | smooth KIND SEED DIR | images ROWS DIR | "
            "table CSV TARGET TASK CATS ROWS DIR",
            NULL);
    return 0;
}
