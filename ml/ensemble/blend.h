/* blend.h - an ensemble of a study's models, and whether it is better than the best of them.
 *
 * The models' mean is tried, with weights from greedy.h, and of classes their log-linear pool too, with
 * weights from pool_fit.h. The pool is taken where it is better than the mean, and than the best single
 * model, by BLEND_POOL_MARGIN standard errors each.
 *
 * The weights that ship come from all held-out rows. The scores are nested: the rows of each fold are
 * scored with weights that come from the other folds, and the best single model is chosen and scored in
 * the same way, so that neither profits from having been picked on the rows that judge it (Cawley and
 * Talbot, On over-fitting in model selection, JMLR 2010). The ensemble ships where its gain is more
 * than BLEND_MARGIN standard errors of the gain, which come from leaving out blocks of rows (the
 * delete-a-group jackknife), so that both sides lose the same rows, or from the folds where their rows
 * err together. Of folds of fewer than GREEDY_FEW_ROWS rows it ships unless it is an error worse
 * (BLEND_FEW_MARGIN): the error is then larger than what ensembles gain on average, so a stricter check
 * refuses good ones by chance. After a holdout the best model may be refitted on all rows, which is
 * worth more than that, so the margin stays; of a holdout of GREEDY_FEW_ROWS or more, where the gain is
 * well known, it beats a refit where it takes BLEND_REFIT_GAIN of the best single model's loss (score,
 * or 1 less it) away.
 * Pure and deterministic. Called by the worker. */
#ifndef ML_ENSEMBLE_BLEND_H
#define ML_ENSEMBLE_BLEND_H

#include "ml/adjust/adjust_fit.h"
#include "ml/ensemble/greedy.h"

#define BLEND_MARGIN      0.25
#define BLEND_POOL_MARGIN 1.0
#define BLEND_FEW_MARGIN  (-1.0)
/* A refit was better than ensembles that gained up to a tenth (docs/measurements/2026-11-27.md), and
 * worse than one that gained more (docs/measurements/2026-11-29.md). */
#define BLEND_REFIT_GAIN 0.1

/* MEAN: the weighted mean of what the members predict. POOL: the log-linear pool of their
 * probabilities (ml/adjust/pool.h). */
enum blend_rule { BLEND_MEAN, BLEND_POOL };

struct blend {
    enum blend_rule rule;
    /* [models] 0 = not a member. Of a mean they are above 0 and add up to 1. */
    double weight[GREEDY_MOST_MODELS];
    int members;
    /* nested, by the study's metric: of the ensemble and of the best single model; NaN = undefined */
    double score, se, single, single_se;
    /* by how much the ensemble is better (above 0 = better, whatever the metric), and the error of
     * that */
    double gain, gain_se;
    /* Whether it is to ship in the place of the best single model as it is, and in the place of that
     * model refitted on all rows. Without a holdout nothing is refitted, and both are the same. */
    bool is_better, beats_refit;
    /* What is done to its outputs. The scores are of adjusted outputs, each row's by what other rows
     * taught (ml/adjust/adjust_fit.h). */
    struct adjust adjust;
    /* of the ensemble on the test rows; NaN = there are none */
    double test, test_se;
};

struct blend_in {
    /* [n] 1 to GREEDY_MOST_MODELS, all matching (predictions_match), the best of them first */
    const struct predictions *const *models;
    int n;
    /* members at most */
    int most;
    /* The rows are those of a holdout, dealt out to parts. */
    bool is_holdout;
    /* Rows of one fold err together (ml/metric/folds.h). */
    bool err_together;
    uint64_t seed;
};

/* Fails without memory, or where models do not match. */
int blend_make(const struct blend_in *in, struct blend *out, struct err *err);
/* Frees what *b holds; to be called also after an error. */
void blend_fini(struct blend *b);

#endif
