/* problem.c - the problems' definitions.
 *   waveform, twonorm   L. Breiman et al., Classification and Regression Trees, 1984; L. Breiman, Bias, variance, and
 *                       arcing classifiers, 1996 (Bayes error of twonorm: Phi(-2))
 *   friedman1           J. Friedman, Multivariate adaptive regression splines, 1991 (noise of standard deviation 1)
 *   tic-tac-toe         D. Aha, 1991: every board at the end of a game that x began; does x win?
 *   balance-scale       R. Siegler, 1976: which side of a scale goes down, by weight times distance
 *   monks1              S. Thrun et al., The MONK's problems, 1991: a1 = a2 or a5 = 1
 *   two-spirals         K. Lang, M. Witbrock, 1988 */
#include "cli/problem.h"
#include "cli/modelfile.h"

#include "base/io.h"
#include "base/str.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PI 3.14159265358979323846

static void numbered_header(FILE *out, int n, const char *target)
{
    for (int j = 1; j <= n; j++)
        fprintf(out, "x%d,", j);
    fprintf(out, "%s\n", target);
}

static void waveform_header(FILE *out)
{
    numbered_header(out, 21, "class");
}

/* Three triangular waves of height 6 over 21 points, centred at 11, 15 and 7; a class mixes two of
 * them. */
static void waveform_row(FILE *out, struct rng *r, int64_t i, int64_t n)
{
    static const int centre[3] = { 11, 15, 7 }, pair[3][2] = { { 0, 1 }, { 0, 2 }, { 1, 2 } };
    uint32_t k = rng_below(r, 3);
    double u = rng_unit(r);

    (void)i, (void)n;
    for (int j = 1; j <= 21; j++) {
        double a = fmax(6 - abs(j - centre[pair[k][0]]), 0),
               b = fmax(6 - abs(j - centre[pair[k][1]]), 0);
        fprintf(out, "%.4f,", u * a + (1 - u) * b + rng_normal(r));
    }
    fprintf(out, "w%u\n", k + 1);
}

static void twonorm_header(FILE *out)
{
    numbered_header(out, 20, "class");
}

static void twonorm_row(FILE *out, struct rng *r, int64_t i, int64_t n)
{
    const double a = 2 / sqrt(20);
    uint32_t k = rng_below(r, 2);

    (void)i, (void)n;
    for (int j = 0; j < 20; j++)
        fprintf(out, "%.4f,", rng_normal(r) + (k ? a : -a));
    fprintf(out, "%s\n", k ? "plus" : "minus");
}

static void friedman1_header(FILE *out)
{
    numbered_header(out, 10, "y");
}

static void friedman1_row(FILE *out, struct rng *r, int64_t i, int64_t n)
{
    double x[10];

    (void)i, (void)n;
    for (int j = 0; j < 10; j++) {
        x[j] = rng_unit(r);
        fprintf(out, "%.6f,", x[j]);
    }
    double y = 10 * sin(PI * x[0] * x[1]) + 20 * (x[2] - 0.5) * (x[2] - 0.5) + 10 * x[3] + 5 * x[4];
    fprintf(out, "%.6f\n", y + rng_normal(r));
}

static void spirals_header(FILE *out)
{
    fputs("x,y,class\n", out);
}

static void spirals_row(FILE *out, struct rng *r, int64_t i, int64_t n)
{
    double t = 104.0 * (1 - sqrt(rng_unit(r))); /* points lie closer where the arms are longer */
    double angle = t * PI / 16, radius = 6.5 * (104 - t) / 104;
    int sign = i % 2 ? -1 : 1;

    (void)n;
    fprintf(out, "%.5f,%.5f,%s\n", sign * radius * sin(angle), sign * radius * cos(angle),
            sign > 0 ? "a" : "b");
}

static void tictactoe_header(FILE *out)
{
    fputs("top_left,top,top_right,left,centre,right,bottom_left,bottom,bottom_right,x_wins\n", out);
}

static int has_line(const char *b, char who)
{
    static const int lines[8][3] = { { 0, 1, 2 }, { 3, 4, 5 }, { 6, 7, 8 }, { 0, 3, 6 },
                                     { 1, 4, 7 }, { 2, 5, 8 }, { 0, 4, 8 }, { 2, 4, 6 } };
    for (int i = 0; i < 8; i++)
        if (b[lines[i][0]] == who && b[lines[i][1]] == who && b[lines[i][2]] == who)
            return 1;
    return 0;
}

/* True for a board that can end a game: x won with its last stone, or o won with its last stone,
 * or the board is full and nobody has a line. */
static int is_final_board(const char *b, int xs, int os)
{
    int x = has_line(b, 'x'), o = has_line(b, 'o');

    if (x && !o)
        return xs == os + 1;
    if (o && !x)
        return xs == os;
    return !x && !o && xs == 5 && os == 4;
}

static int64_t tictactoe_all(FILE *out)
{
    int64_t rows = 0;

    for (int code = 0; code < 19683; code++) {
        char b[9];
        int xs = 0, os = 0;
        for (int j = 0, rest = code; j < 9; j++, rest /= 3) {
            b[j] = "box"[rest % 3];
            xs += b[j] == 'x';
            os += b[j] == 'o';
        }
        if (!is_final_board(b, xs, os))
            continue;
        for (int j = 0; j < 9; j++)
            fprintf(out, "%c,", b[j]);
        fprintf(out, "%s\n", has_line(b, 'x') ? "yes" : "no");
        rows++;
    }
    return rows;
}

static void balance_header(FILE *out)
{
    fputs("left_weight,left_distance,right_weight,right_distance,side\n", out);
}

static int64_t balance_all(FILE *out)
{
    for (int i = 0; i < 625; i++) {
        int a = i / 125 + 1, b = i / 25 % 5 + 1, c = i / 5 % 5 + 1, d = i % 5 + 1;
        fprintf(out, "%d,%d,%d,%d,%s\n", a, b, c, d,
                a * b > c * d   ? "left"
                : a * b < c * d ? "right"
                                : "balanced");
    }
    return 625;
}

static void monks_header(FILE *out)
{
    fputs("a1,a2,a3,a4,a5,a6,class\n", out);
}

static int64_t monks1_all(FILE *out)
{
    for (int i = 0; i < 432; i++) {
        int a1 = i / 144 + 1, a2 = i / 48 % 3 + 1, a3 = i / 24 % 2 + 1, a4 = i / 8 % 3 + 1,
            a5 = i / 2 % 4 + 1;
        fprintf(out, "v%d,v%d,v%d,v%d,v%d,v%d,%s\n", a1, a2, a3, a4, a5, i % 2 + 1,
                a1 == a2 || a5 == 1 ? "monk" : "other");
    }
    return 432;
}

static const struct problem problems[] = {
    { "waveform", "Breiman et al. 1984", "class", "accuracy", 0.86, "Bayes error 14%", 5000, 0,
      waveform_header, waveform_row, NULL },
    { "friedman1", "Friedman 1991", "y", "rmse", 1.0, "the noise has standard deviation 1", 5000, 0,
      friedman1_header, friedman1_row, NULL },
    { "twonorm", "Breiman 1996", "class", "accuracy", 0.97725, "Bayes error 2.275%", 7400, 0,
      twonorm_header, twonorm_row, NULL },
    { "two-spirals", "Lang and Witbrock 1988", "class", "accuracy", 1.0, "no noise", 2000, 0,
      spirals_header, spirals_row, NULL },
    { "tic-tac-toe", "Aha 1991", "x_wins", "accuracy", 1.0, "a rule without noise", 958, 1,
      tictactoe_header, NULL, tictactoe_all },
    { "balance-scale", "Siegler 1976", "side", "accuracy", 1.0, "a rule without noise", 625, 1,
      balance_header, NULL, balance_all },
    { "monks1", "Thrun et al. 1991", "class", "accuracy", 1.0, "a rule without noise", 432, 1,
      monks_header, NULL, monks1_all },
};

const struct problem *problem_at(int i)
{
    return i >= 0 && (size_t)i < ARRAY_LEN(problems) ? &problems[i] : NULL;
}

const struct problem *problem_find(const char *name, struct err *err)
{
    const char *names[ARRAY_LEN(problems)];

    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        names[i] = problems[i].name;
        if (strcmp(names[i], name) == 0)
            return &problems[i];
    }
    const char *near = str_nearest(name, names, ARRAY_LEN(names));
    err_set(err, ERR_ARG, "no problem \"%s\"%s%s; 'assay data make --list' names them", name,
            near ? "; did you mean " : "", near ? near : "");
    return NULL;
}

struct writing {
    const struct problem *p;
    struct rng rng;
    int64_t rows;
};

static int write_rows(FILE *out, void *ctx, struct err *err)
{
    struct writing *w = ctx;

    (void)err;
    w->p->header(out);
    if (w->p->enumerated) {
        w->rows = w->p->all(out);
    } else {
        for (int64_t i = 0; i < w->rows; i++)
            w->p->row(out, &w->rng, i, w->rows);
    }
    return 0;
}

int64_t problem_write(const struct problem *p, int64_t rows, uint64_t seed, const char *path,
                      struct err *err)
{
    struct writing w = { .p = p, .rows = rows };

    rng_init(&w.rng, seed, 1);
    return output_write(path, write_rows, &w, err) < 0 ? -1 : w.rows;
}
