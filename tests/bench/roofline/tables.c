/* tables.c - see tables.h. Two classes: the sign of a sum of products and steps, a tenth of the labels flipped, as in
 * bench_boost. Several: each class has a place of its own in each column, and rows lie around the places of theirs; early
 * classes are more frequent. */
#include "tests/bench/roofline/tables.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/rng.h"
#include "ml/table/frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void die(const struct err *err)
{
    fprintf(stderr, "bench_roofline: %s\n", err->text);
    exit(1);
}

static void two_fill(const struct shape *s, double *x, double *y)
{
    struct rng r;

    for (int c = 0; c < s->cols; c++) {
        rng_init(&r, 7, (uint64_t)c);
        for (int64_t i = 0; i < s->rows; i++)
            x[c * s->rows + i] = (double)(float)rng_normal(&r);
    }
    rng_init(&r, 7, 1000000);
    for (int64_t i = 0; i < s->rows; i++) {
        double sum = 0;
        for (int c = 0; c + 1 < s->cols && c < 10; c += 2) {
            double a = x[c * s->rows + i];
            sum += a * x[(c + 1) * s->rows + i] + (a > 0.5 ? 1.0 : -0.3);
        }
        y[i] = (sum > 0) != (rng_unit(&r) < 0.1);
    }
}

static void several_fill(const struct shape *s, double *x, double *y)
{
    struct rng r;

    rng_init(&r, 7, 1000000);
    for (int64_t i = 0; i < s->rows; i++) {
        double u = rng_unit(&r);
        y[i] = floor((s->values ? u : u * u) * s->classes);
    }
    for (int c = 0; c < s->cols; c++) {
        rng_init(&r, 7, (uint64_t)c);
        double places[64];
        for (int k = 0; k < s->classes; k++)
            places[k] = rng_normal(&r);
        for (int64_t i = 0; i < s->rows; i++) {
            double v = places[(int)y[i]] + rng_normal(&r);
            if (s->values)
                v = fmin(fmax(floor((v + 3) / 6 * s->values), 0), s->values - 1);
            x[c * s->rows + i] = (double)(float)v;
        }
    }
}

void shape_write(const struct shape *s, const char *path)
{
    struct err err = { 0 };
    char hash[SHA256_HEX], name[16];
    struct frame_writer *w = frame_writer_new(path, &err);
    double *x = mem_array((size_t)s->rows * ((size_t)s->cols + 1), sizeof *x),
           *y = x + s->rows * s->cols;

    if (!w)
        die(&err);
    if (s->classes == 2)
        two_fill(s, x, y);
    else
        several_fill(s, x, y);
    for (int c = 0; c < s->cols; c++) {
        snprintf(name, sizeof name, "x%d", c);
        if (frame_writer_numeric(w, name, x + c * s->rows, s->rows, &err) < 0)
            die(&err);
    }
    if (frame_writer_numeric(w, "y", y, s->rows, &err) < 0 || frame_writer_end(w, hash, &err) < 0)
        die(&err);
    mem_free(x);
}
