/* family_tables.h - the families by symbol (family_list.def), for family*.c and for the families'
 * own files; others find them by name (family.h). */
#ifndef ML_FAMILY_FAMILY_TABLES_H
#define ML_FAMILY_FAMILY_TABLES_H

#include "ml/family/family.h"

#define FAMILY(x) extern const struct family family_##x;
#include "ml/family/family_list.def"
#undef FAMILY

#endif
