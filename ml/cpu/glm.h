/* glm.h - products of generalised linear models over tiles of rows. Called by ml/linear.
 *
 * Every sum is in double and in a fixed order: over columns ascending; for a single output as eight
 * interleaved sums, added in order; over rows in tiles of GLM_TILE, added in order. So neither
 * threads, slicing nor the instruction set changes a bit.
 *
 * An *output* is one linear function of the columns: one for regression and for two classes, one
 * per class otherwise. A *lane* is an output padded to the width of a vector: lanes = the number of
 * outputs rounded up to 8, or 1. Weights and gradients are [cols + 1][lanes] doubles, and the last
 * row is the intercept. */
#ifndef ML_CPU_GLM_H
#define ML_CPU_GLM_H

#include <stdint.h>

enum { GLM_TILE = 512 };

static inline int glm_lanes(int outputs)
{
    return outputs == 1 ? 1 : (outputs + 7) / 8 * 8;
}

struct glm_rows {
    /* row-major, padded with zeros up to the stride, a multiple of 16 */
    const float *x;
    int64_t stride;
    int cols, lanes;
    /* row numbers; NULL = rows 0 to n - 1 */
    const int32_t *rows;
    /* at most GLM_TILE */
    int64_t n;
};

/* z[i][lane] = w[cols][lane] + sum_j x[i][j] w[j][lane]. */
void glm_scores(const struct glm_rows *r, const double *w, double *z);
/* grad[j][lane] += sum_i x[i][j] dz[i][lane]; grad[cols] += sum_i dz[i]. */
void glm_gradient(const struct glm_rows *r, const double *dz, double *grad);
/* In place: z becomes the probabilities of `outputs` classes (1 output: of the positive class);
 * padding becomes 0. */
void glm_probabilities(double *z, int64_t n, int outputs, int lanes);
/* In place: z becomes the derivative of the log loss with respect to z. Returns the sum of the
 * losses. y[i]: class index of row i of the tile. n is at most GLM_TILE. */
double glm_log_loss(double *z, const int32_t *y, int64_t n, int outputs, int lanes);
/* gram[j][k] += sum_i x[i][j] x[i][k] for k >= j, over cols + 2 columns: those of x, the target
 * y[i], and 1. root: NULL, or the square root of each row's weight, by which its line is
 * multiplied. */
void glm_gram(const struct glm_rows *r, const double *y, const double *root, double *tile,
              double *gram);
/* doubles per row of gram and tile: cols + 2 rounded up to 8 */
int64_t glm_gram_width(int cols);

/* Some columns of the rows; the column number r->cols stands for a column of ones. */
struct glm_pairs {
    const int32_t *col;
    int n;
    /* Which of these columns to pair with all of them; ascending. Where it is all, only the blocks
     * on the diagonal and right of it are added up. */
    const int32_t *line;
    int n_lines;
    /* NULL, or ascending, for each of these the first column to pair it with; some before it may be
     * added up as well */
    const int32_t *first;
    /* NULL, or [rows][roots] square roots of the rows' weights; which: NULL = the first one, or that
     * of each column */
    const double *root;
    int roots;
    const int32_t *which;
    /* doubles per line of gram and tile, n rounded up to 8 or more */
    int64_t wide;
};
/* to[i] += a x[i] + b y[i] */
void glm_add_two(double *to, const double *x, double a, const double *y, double b, int64_t n);
/* gram[a][b] += sum_i x[i][col[a]] x[i][col[b]] for a in `line`. tile: [GLM_TILE][wide] scratch. */
void glm_pairs(const struct glm_rows *r, const struct glm_pairs *p, double *tile, double *gram);
/* The same in single precision, in half the time: sums of up to 256 rows are floats, and their sums doubles. glm_pairs.c.
 * tile: [GLM_TILE][wide + 8] floats. */
void glm_pairs_single(const struct glm_rows *r, const struct glm_pairs *p, float *tile,
                      double *gram);

#endif
