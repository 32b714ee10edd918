/* tables.h - generated tables in the shapes on which training is measured. */
#ifndef TESTS_BENCH_ROOFLINE_TABLES_H
#define TESTS_BENCH_ROOFLINE_TABLES_H

#include <stdint.h>

struct shape {
    const char *name;
    int64_t rows;
    int cols, classes;
    /* columns hold whole numbers below it; 0 = any numbers */
    int values;
};

/* Writes a frame with the columns x0, x1 ... and the classes y. Exits on errors. */
void shape_write(const struct shape *s, const char *path);

#endif
