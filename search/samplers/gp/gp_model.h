/* gp_model.h - Gaussian process regression: Matern 5/2 with a length scale per dimension, zero mean, Gaussian noise.
 * (Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006: 2.25-2.30, 4.17, 5.8-5.9.)
 * Points live in the unit cube; a choice counts 0 or 1 for equal or different (Hamming). Targets should have a spread
 * about 1. Rows without a target (trials in flight) may follow those with one: they narrow the variance and leave the
 * mean alone, which is what believing the model's own prediction there comes to (kriging believer, Ginsbourger 2010).
 *
 * Hyperparameters are held as logarithms, in this order: signal variance, noise variance, length scale of each dimension. */
#ifndef SEARCH_SAMPLERS_GP_GP_MODEL_H
#define SEARCH_SAMPLERS_GP_GP_MODEL_H

#include <stdbool.h>

enum {
    GP_MAX_DIMS = 40,
    GP_MAX_THETA = GP_MAX_DIMS + 2,
    GP_SIGNAL = 0,
    GP_NOISE = 1,
    GP_SCALE = 2
};

struct gp_points {
    int n, d, cap; /* cap: room for points, a multiple of 4 */
    bool is_choice[GP_MAX_DIMS];
    double length[GP_MAX_DIMS]; /* log of each length scale's prior median */
    double *x;                  /* dimension by dimension: x[k * cap + i] */
};
void gp_points_init(struct gp_points *p, int d, int cap); /* numbers, all active together */
void gp_points_fini(struct gp_points *p);
void gp_points_get(const struct gp_points *p, int i, double *x);
void gp_points_add(struct gp_points *p, const double *x); /* below cap */

/* theta, ready for use. */
struct gp_kernel {
    double signal, noise;
    double weight[GP_MAX_DIMS]; /* 1 / length scale^2 */
};
void gp_kernel_set(struct gp_kernel *g, int d, const double *theta);
/* k[i] = covariance, without noise, of x and point i, for i < n. slope, if not NULL: dk/d(r^2), r the scaled distance. */
void gp_covariance(const struct gp_points *p, const struct gp_kernel *g, const double *x, int n,
                   double *k, double *slope);

struct gp_model {
    struct gp_points points;
    struct gp_kernel kernel;
    int n_targets;
    int n_rows;    /* factored so far, <= points.n */
    double *chol;  /* cap x cap */
    double *alpha; /* L^-1 of the targets */
    double *row;   /* scratch, cap */
};
void gp_model_init(struct gp_model *m, int d, int cap);
void gp_model_fini(struct gp_model *m);
/* Factors the rows not yet factored; those of targets come with them (targets[i] of row i). */
void gp_model_extend(struct gp_model *m, int n_targets, const double *targets);
/* Forgets points and factor. */
void gp_model_clear(struct gp_model *m, const double *theta);
/* Mean and standard deviation of the noise-free function at x. */
void gp_predict(struct gp_model *m, const double *x, double *mean, double *sd);

/* The log marginal likelihood of the targets plus the log prior of theta, and its gradient (d + 2 numbers); scratch as
 * from gp_fit_room. */
struct gp_scratch {
    int cap;
    double *chol, *inverse, *work, *slope;
};
void gp_scratch_init(struct gp_scratch *s, int cap);
void gp_scratch_fini(struct gp_scratch *s);
double gp_objective(const struct gp_points *p, const double *targets, const double *theta,
                    struct gp_scratch *s, double *gradient);
/* Climbs the objective from theta for a number of steps (resilient propagation: Riedmiller and Braun 1993, the variant
 * of Igel and Huesken 2000 with steps kept inside the bounds); theta becomes the best seen, which is returned. */
double gp_climb(const struct gp_points *p, const double *targets, double *theta, int steps,
                struct gp_scratch *s);
/* For points->length: n_joint dimensions are active together; is_child: this one only in some branches. */
double gp_length_prior(int n_joint, bool is_child);
/* Where a fit begins: every length scale at `scale` times the prior's median. */
void gp_theta_start(const struct gp_points *p, double scale, double *theta);
/* Inside the bounds of every hyperparameter; false for NaN. */
bool gp_theta_is_legal(int d, const double *theta);

#endif
