/* csv_dict.h - private to the CSV reader: the levels of a text column, numbered as they first
 * appear. */
#ifndef ML_READ_CSV_DICT_H
#define ML_READ_CSV_DICT_H

#include "base/err.h"
#include "ml/table/frame_file.h"

#include <stddef.h>
#include <stdint.h>

struct csv_slot {
    uint32_t hash;
    /* the level + 1; 0 = the slot is free */
    uint32_t level;
};

struct csv_dict {
    struct csv_slot *slots;
    uint32_t n_slots;
    /* the levels one after another in order of appearance, each with its NUL */
    char *text;
    size_t text_bytes, text_cap;
    /* [n_levels + 1]: the place of each text, and of the end */
    uint64_t *text_at;
    /* [n_levels]: rows of each level; stays at UINT32_MAX */
    uint32_t *count;
    uint32_t cap_levels, n_levels;
    /* the same as count, made at the end */
    int64_t *counts;
    uint64_t seed;
    /* NULL, or the only texts that are missing (csv_opts.h) */
    const char *const *missing;
    /* no word is missing, only the empty cell */
    bool is_exact;
};

/* One more row has the level. */
static inline void csv_dict_count(struct csv_dict *d, uint32_t level)
{
    d->count[level] += d->count[level] < UINT32_MAX;
}

void csv_dict_init(struct csv_dict *d);
void csv_dict_fini(struct csv_dict *d);
/* The level of a text (8 bytes past its end must be readable), added when it is new;
 * FRAME_CODE_MISSING for "missing". -1 = no memory, or a limit is passed. Does not count rows. */
int csv_dict_add(struct csv_dict *d, const char *s, size_t n, uint32_t *code, struct err *err);
int64_t csv_dict_bytes(const struct csv_dict *d);
/* The levels in order of first appearance, for frame_out_col. The dictionary takes no more words
 * after this call. */
int csv_dict_levels(struct csv_dict *d, struct frame_levels *out, struct err *err);

#endif
