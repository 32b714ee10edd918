/* models.c - finds the family that a spec or a model file names (models.h). */
#include "ml/model/models.h"

#include "base/base.h"

#include <string.h>

const struct model_ops *model_find(const char *family)
{
    static const struct model_ops *const all[] = {
#define FAMILY(x) &model_##x,
#include "ml/family/family_list.def"
#undef FAMILY
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (strcmp(all[i]->family->name, family) == 0)
            return all[i];
    }
    return NULL;
}
