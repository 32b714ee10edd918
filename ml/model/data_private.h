/* data_private.h - private to data*.c: the forms of a table that trials share. */
#ifndef ML_MODEL_DATA_PRIVATE_H
#define ML_MODEL_DATA_PRIVATE_H

#include "base/sha256.h"
#include "ml/model/data.h"
#include "ml/model/split.h"

#include <pthread.h>

/* Binnings by their number of bins, 2 to 255; all others are made from the finest one. */
enum { SHARED_MAX_BINNINGS = 256, SHARED_FINEST = 255 };

struct ml_forms {
    struct prep_bins *bins[SHARED_MAX_BINNINGS];        /* by max_bins */
    struct ml_boost_table *tables[SHARED_MAX_BINNINGS]; /* the same on the device */
    struct prep_dense *dense;
};

/* Which columns are inputs. */
enum { ML_MOST_SKIPPED = 5 };
struct ml_inputs {
    /* columns that are no inputs, up to a NULL; owned */
    char *skip[ML_MOST_SKIPPED];
    /* [columns of the frame] constraint or 0; NULL = there are none */
    int8_t *direction;
};

struct ml_variants;

struct ml_shared {
    pthread_mutex_t lock;
    /* A variant borrows the next four from the problem that it is of (variant.h). */
    struct ml_data *base; /* NULL = it is no variant */
    uint8_t *use;         /* [rows] 1 = training row */
    uint8_t *part;        /* [rows] of supervised steps (prep_target) */
    uint32_t *first;      /* [rows] of repeats_join, while the data is opened; else NULL */
    struct ml_inputs *inputs;
    /* How many trials use the variant. */
    int users;
    /* of the preparation (variant.c) */
    bool has_digest;
    uint8_t digest[SHA256_BYTES];
    /* of a problem: its variants, users and digests included, are guarded by this lock */
    pthread_mutex_t variants_lock;
    struct ml_variants *variants;
    /* Where the preparation depends on the fold: by fold + 1 (FOLD_ALL is -1); else all folds have
     * the first. NULL until one of its forms is asked for. */
    struct ml_forms *forms[SPLIT_MAX_FOLDS + 1];
    struct prep_images *images;
    int64_t bytes;
};

/* What supervised steps are fitted to. */
struct prep_target ml_data_prep_target(const struct ml_data *d);
/* data_forms.c: frees d->shared and all forms. */
void ml_shared_free(struct ml_data *d);
/* data_inputs.c: fills d->shared->inputs. */
int ml_inputs_take(struct ml_data *d, struct err *err);
void ml_inputs_free(struct ml_inputs *in);
/* Fits d->prep, and sets d->monotone. */
int ml_inputs_prepare(struct ml_data *d, const struct prep_choice *choice, struct err *err);
/* variant.c */
int64_t ml_variants_bytes(const struct ml_data *d);
/* Closes all variants; none may be in use. */
void ml_variants_free(struct ml_data *d);

#endif
