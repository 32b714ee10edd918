/* readings.h - how the columns of the training table were read, where that is not plain: dates,
 * texts, lists, and numbers with currency and the like. A model file carries it, so that a table to
 * predict is read the same way. Written and loaded by artifact*.c, behind the classes of the section
 * "info"; files of models without such columns do not have it. */
#ifndef ML_MODEL_READINGS_H
#define ML_MODEL_READINGS_H

#include "base/buf.h"
#include "ml/table/frame.h"

struct reading {
    char *name;
    enum frame_kind kind;
    /* as in frame.h */
    char *note;
};

struct readings {
    int n;
    struct reading *of;
};

/* The columns of f that are not plain; adds nothing where there is none. f: NULL = none. */
int readings_save(const struct frame *f, struct buf *out, struct err *err);
/* To the end of `in`, from a file which may come from a stranger. */
int readings_load(struct readings *r, struct view *in, struct err *err);
void readings_fini(struct readings *r);
/* NULL = the column is plain. */
const struct reading *readings_find(const struct readings *r, const char *name);

#endif
