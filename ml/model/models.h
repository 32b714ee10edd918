/* models.h - the list of model families by name, for those that train or load a family which a spec or a file names.
 *
 * A family is declared here and has a line in models.c. Nothing that a family includes may include this header: the list
 * stands above the families, the contract (model.h) below them. */
#ifndef ML_MODEL_MODELS_H
#define ML_MODEL_MODELS_H

#include "ml/model/model.h"

extern const struct model_ops model_baseline, model_linear, model_boost, model_forest,
    model_extra_trees, model_mlp;

const struct model_ops *model_find(const char *family); /* NULL = not in this build */

#endif
