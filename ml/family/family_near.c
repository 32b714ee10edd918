/* family_near.c - what other libraries call our families and parameters, so that an error can name
 * ours. A word with several meanings is listed once for each; the first one that the family has
 * counts. */
#include "ml/family/family.h"

#include "base/base.h"
#include "base/str.h"

enum { NEAR_FAMILIES = 16 };

static const struct str_alias family_words[] = {
    { "random_forest", "forest" },
    { "randomforest", "forest" },
    { "rf", "forest" },
    { "random_forests", "forest" },
    { "extratrees", "extra_trees" },
    { "et", "extra_trees" },
    { "xt", "extra_trees" },
    { "extremely_randomised_trees", "extra_trees" },
    { "extremely_randomized_trees", "extra_trees" },
    { "gradient_boosting", "boost" },
    { "hist_gradient_boosting", "boost" },
    { "boosting", "boost" },
    { "boosted_trees", "boost" },
    { "gbdt", "boost" },
    { "gbm", "boost" },
    { "lightgbm", "boost" },
    { "lgbm", "boost" },
    { "lgb", "boost" },
    { "xgboost", "boost" },
    { "xgb", "boost" },
    { "catboost", "boost" },
    { "logistic", "linear" },
    { "logistic_regression", "linear" },
    { "logreg", "linear" },
    { "linear_regression", "linear" },
    { "ridge", "linear" },
    { "lasso", "linear" },
    { "elastic_net", "linear" },
    { "glm", "linear" },
    { "lm", "linear" },
    { "lr", "linear" },
    { "convnet", "cnn" },
    { "conv2d", "cnn" },
    { "convolutional", "cnn" },
    { "dummy", "baseline" },
};

static const struct str_alias param_words[] = {
    { "gpus", "devices" },
    { "n_gpus", "gpus" },
    { "num_gpus", "gpus" },
    { "gpu", "gpus" },
    { "n_gpus", "devices" },
    { "gpu", "devices" },
    { "slots", "devices" },
    { "slots_per_trial", "devices" },
    { "num_workers", "devices" },
    { "world_size", "devices" },
    { "lr", "learning_rate" },
    { "eta", "learning_rate" },
    { "shrinkage", "learning_rate" },
    { "n_estimators", "rounds" },
    { "n_estimators", "trees" },
    { "num_boost_round", "rounds" },
    { "num_round", "rounds" },
    { "iterations", "rounds" },
    { "n_iter", "rounds" },
    { "max_iter", "rounds" },
    { "num_trees", "trees" },
    { "n_trees", "trees" },
    { "ntree", "trees" },
    { "leaf", "leaves" },
    { "leafs", "leaves" },
    { "num_leaves", "leaves" },
    { "max_leaves", "leaves" },
    { "max_leaf_nodes", "leaves" },
    { "max_leaf_nodes", "max_leaves" },
    { "num_leaves", "max_leaves" },
    { "leaves", "max_leaves" },
    { "leaf", "min_leaf" },
    { "min_child_samples", "min_leaf" },
    { "min_data_in_leaf", "min_leaf" },
    { "min_samples_leaf", "min_leaf" },
    { "min_rows", "min_leaf" },
    { "nodesize", "min_leaf" },
    { "min_child_weight", "min_hessian" },
    { "min_sum_hessian_in_leaf", "min_hessian" },
    { "subsample", "row_sample" },
    { "bagging_fraction", "row_sample" },
    { "sample_rate", "row_sample" },
    { "subsample", "max_samples" },
    { "colsample_bytree", "col_sample" },
    { "colsample", "col_sample" },
    { "feature_fraction", "col_sample" },
    { "colsample_bylevel", "col_level" },
    { "colsample_bynode", "max_features" },
    { "mtry", "max_features" },
    { "reg_alpha", "l1" },
    { "lambda_l1", "l1" },
    { "reg_lambda", "l2" },
    { "lambda", "l2" },
    { "lambda_l2", "l2" },
    { "l2_leaf_reg", "l2" },
    { "l2_regularization", "l2" },
    { "max_bin", "bins" },
    { "max_bins", "bins" },
    { "n_bins", "bins" },
    { "border_count", "bins" },
    { "grow_policy", "grow" },
    { "extra_trees", "extra_random" },
    { "cat_l2", "cat_smooth" },
    { "max_cat_to_onehot", "max_onehot" },
    { "one_hot_max_size", "max_onehot" },
    { "loss", "objective" },
    { "loss_function", "objective" },
    { "quantile", "alpha" },
    { "quantile_alpha", "alpha" },
    { "scale_pos_weight", "class_weight" },
    { "is_unbalance", "class_weight" },
    { "min_samples_split", "min_split" },
    { "min_impurity_decrease", "min_impurity" },
    { "regularization", "penalty" },
    { "lambda", "alpha" },
    { "reg_alpha", "alpha" },
};

const char *family_near(const char *name)
{
    const char *names[NEAR_FAMILIES];
    size_t n = 0;

    for (; n < NEAR_FAMILIES && family_at((int)n); n++)
        names[n] = family_at((int)n)->name;
    return str_nearest_or(name, names, n, family_words, ARRAY_LEN(family_words));
}

const char *family_param_near(const struct family *f, const char *name)
{
    const char *names[FAMILY_MAX_PARAMS];

    for (int i = 0; i < f->n_params; i++)
        names[i] = f->params[i].name;
    return str_nearest_or(name, names, (size_t)f->n_params, param_words, ARRAY_LEN(param_words));
}
