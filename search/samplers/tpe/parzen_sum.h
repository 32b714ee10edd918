/* parzen_sum.h - the inner loops of parzen.c: logarithms of many kernels at PARZEN_BATCH points at
 * once, and their sum. Points stand side by side in vector registers, and kernels are taken one
 * after another. So each point's sums have the same order, and the same bits, whatever the width of
 * the registers (base/simd.h) and whatever other points are in the batch.
 *
 * logs is [n kernels][PARZEN_BATCH points]. A place below 0 is inactive and adds nothing, of a
 * kernel as of a point. Of the points only the first PARZEN_FEW are computed if `lanes` is not more,
 * which takes two thirds of the time. Pure arithmetic on arrays. */
#ifndef SEARCH_SAMPLERS_TPE_PARZEN_SUM_H
#define SEARCH_SAMPLERS_TPE_PARZEN_SUM_H

enum { PARZEN_BATCH = 24, PARZEN_FEW = 16 };

/* Normals: norm[k] - ((x - place[k]) * inverse)^2 / 2. */
void parzen_sum_line(double *logs, const double *place, const double *norm, int n, const double *x,
                     double inverse, int lanes);
/* Cells: table[(place + 1) * PARZEN_BATCH + point]. Its first row, of inactive kernels, is 0. */
void parzen_sum_cells(double *logs, const double *place, int n, const double *table, int lanes);
/* The same where there is no sum yet. */
void parzen_set_cells(double *logs, const double *place, int n, const double *table, int lanes);
/* table[at * PARZEN_BATCH + point] = columns[point][at] for all points and at < n. */
void parzen_turn(const double *const *columns, int n, double *table);
/* Categories: same where the kernel's choice is the point's, else other. */
void parzen_sum_category(double *logs, const double *place, int n, const double *x, double same,
                         double other, int lanes);
/* Raises top[point] to the largest of the point's logarithms. */
void parzen_sum_top(const double *logs, int n, double *top, int lanes);
/* sum[point] += weight[k] exp(log - top[point]) for all kernels, where log <= top. The relative
 * error of a term is below 1e-9; terms below exp(-700) count as exp(-700). */
void parzen_sum_exp(const double *logs, const double *weight, int n, const double *top, double *sum,
                    int lanes);

#endif
