/* models.h - the list of model families by name, for those that train or load a family which a spec
 * or a file names.
 *
 * The list is ml/family/family_list.def. Nothing that a family includes may include this header:
 * the list stands above the families, the contract (model.h) below them. */
#ifndef ML_MODEL_MODELS_H
#define ML_MODEL_MODELS_H

#include "ml/model/model.h"

#define FAMILY(x) extern const struct model_ops model_##x;
#include "ml/family/family_list.def"
#undef FAMILY

const struct model_ops *model_find(const char *family); /* NULL = not in this build */

#endif
