/* gp_model.h - Gaussian process regression with a Matern 5/2 kernel, one length scale per
 * dimension, zero mean and Gaussian noise (Rasmussen and Williams, Gaussian Processes for Machine
 * Learning, 2006: equations 2.25-2.30, 4.17, 5.8-5.9). gp.c, gp_fit.c and gp_pick.c use it; it
 * knows nothing of studies or spaces.
 *
 * Points live in the unit cube. Two values of a choice are at distance 0 or 1 (Hamming). Targets
 * should be standardised. Points without a target, that is, trials in flight, may follow those with
 * one. They lower the variance around them and leave the mean unchanged, which is the same as
 * believing the model's own prediction there (kriging believer, Ginsbourger 2010).
 *
 * Each target may have noise of its own: the noise variance times the point's share. The shares say
 * how the noise of the targets compares, and how much there is in all is learnt.
 *
 * Hyperparameters (theta) are held as logarithms, in this order: signal variance, noise variance,
 * and the length scale of each dimension. */
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
#define GP_FIT_JITTER 1e-5

struct gp_points {
    int n, d, cap; /* cap: room for points, a multiple of 8 */
    bool is_choice[GP_MAX_DIMS];
    double length[GP_MAX_DIMS]; /* prior median of each length scale, as a logarithm */
    double *x;                  /* dimension by dimension: x[k * cap + i] */
    double *share;              /* of each point: its noise variance over the model's; 1 at first */
};
/* All dimensions are numbers that are active together; the caller may change is_choice and
 * length. */
void gp_points_init(struct gp_points *p, int d, int cap);
void gp_points_fini(struct gp_points *p);
void gp_points_get(const struct gp_points *p, int i, double *x);
void gp_points_add(struct gp_points *p, const double *x); /* below cap */

/* The hyperparameters as the kernel needs them. */
struct gp_kernel {
    double signal, noise;
    double weight[GP_MAX_DIMS]; /* 1 / length scale^2 */
    float single[GP_MAX_DIMS];  /* the same */
};
void gp_kernel_set(struct gp_kernel *g, int d, const double *theta);
/* k[i] = covariance of x and point i without noise, for i < n. slope[i], if not NULL, is dk/d(r^2)
 * with r the distance in length scales. */
void gp_covariance(const struct gp_points *p, const struct gp_kernel *g, const double *x, int n,
                   double *k, double *slope);

struct gp_model {
    struct gp_points points;
    struct gp_kernel kernel;
    int n_targets; /* -1: not told yet */
    int n_rows;    /* points that are factored so far, at most points.n */
    double *room;  /* that chol is in */
    double *chol;  /* cap x cap */
    double *alpha; /* L^-1 of the targets */
    /* The same in single precision, for gp_pool.c, and the points: points_single[i * d + k]. */
    float *single, *alpha_single, *points_single;
    double *weight; /* K^-1 of the targets */
    double *row;    /* scratch, cap */
};
void gp_model_init(struct gp_model *m, int d, int cap);
void gp_model_fini(struct gp_model *m);
/* Factors the points that are not factored yet. targets[i] belongs to point i; they are taken at
 * the first call after gp_model_clear or gp_model_cut, and their number may not change later. */
void gp_model_extend(struct gp_model *m, int n_targets, const double *targets);
/* Forgets points and factor, and sets the hyperparameters. */
void gp_model_clear(struct gp_model *m, const double *theta);
/* Forgets all targets, and the points and rows of the factor from n on. The rows that stay must be
 * of points that have targets again. */
void gp_model_cut(struct gp_model *m, int n);
/* Mean and standard deviation of the function without noise at x. */
void gp_predict(struct gp_model *m, const double *x, double *mean, double *sd);
double gp_mean(struct gp_model *m, const double *x); /* the mean alone */

/* gp_fit.c: room for fits of up to cap points, a multiple of 8. Fits are in single precision. */
struct gp_scratch {
    int cap;
    float *room, *chol, *inverse, *work, *slope; /* blocks of linalg.h */
    float *x;                                    /* as in gp_points */
    float *solved, *beta;                        /* U'^-1 of the targets, K^-1 of them */
};
void gp_scratch_init(struct gp_scratch *s, int cap);
void gp_scratch_fini(struct gp_scratch *s);
/* The log marginal likelihood of the targets plus the log prior of theta, and its gradient (d + 2
 * numbers). GP_FIT_JITTER times the signal is added to the noise. */
double gp_objective(const struct gp_points *p, const double *targets, const double *theta,
                    struct gp_scratch *s, double *gradient);
/* How far a climb goes. is_brief: it ends after a single step that gained little, not after three. */
struct gp_effort {
    int steps;
    bool is_brief;
};
/* Climbs the objective from theta, by resilient propagation (Riedmiller and Braun 1993, in the variant
 * of Igel and Huesken 2000), always inside the bounds. theta becomes the best setting seen, and its
 * objective is returned. */
double gp_climb(const struct gp_points *p, const double *targets, double *theta,
                struct gp_effort effort, struct gp_scratch *s);
/* Where a search for theta begins: where it is; from long and short length scales with hardly any
 * noise; from these and from long scales where half of all is noise. */
enum gp_starts { GP_FROM_LAST = 1, GP_FROM_SCALES = 2, GP_FROM_NOISE = 4 };
/* Finds theta, the best of climbs from all these starts. The likelihood often has one maximum where
 * the results are structure of short scales and one where they are noise (Rasmussen and Williams
 * 2006, figure 5.5), and no climb leads from the one to the other.
 *
 * Climbs from far take many steps and use a part of the results, `few`. The best of them and the one
 * from noise are then improved with all.
 *
 * Returns the share of noise in the variance of the results. Between the two explanations it is
 * weighted by their likelihoods, so that with few results, which can be taken for either, it is
 * neither near 0 nor near 1. */
struct gp_fit {
    const struct gp_points *all, *few; /* may be the same */
    const double *targets, *few_targets;
    struct gp_effort effort; /* from far three times the steps */
};
double gp_search(const struct gp_fit *f, enum gp_starts from, double *theta, struct gp_scratch *s);
/* A value for points->length. n_joint: how many dimensions are active together. is_child: the
 * dimension is active only in some branches of the space. */
double gp_length_prior(int n_joint, bool is_child);
/* Where a fit begins: signal and noise at their prior's middle, every length scale at `scale` times
 * its prior median. */
void gp_theta_start(const struct gp_points *p, double scale, double *theta);
/* Whether every hyperparameter is inside its bounds; false for NaN. */
bool gp_theta_is_legal(int d, const double *theta);

#endif
