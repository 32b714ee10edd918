/* models.c - the list of model families. To add one: its declaration in models.h, a line here. */
#include "ml/model/models.h"

#include "base/base.h"

#include <string.h>

const struct model_ops *model_find(const char *family)
{
    static const struct model_ops *const all[] = { &model_baseline, &model_linear, &model_boost,
                                                   &model_forest, &model_extra_trees,
                                                   &model_mlp };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(all[i]->family->name, family) == 0)
            return all[i];
    }
    return NULL;
}
