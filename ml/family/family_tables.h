/* family_tables.h - the rows of the registry. Private to family*.c. */
#ifndef ML_FAMILY_FAMILY_TABLES_H
#define ML_FAMILY_FAMILY_TABLES_H

#include "ml/family/family.h"

extern const struct family family_baseline, family_linear, family_boost, family_forest,
    family_extra_trees, family_mlp;

#endif
