/* corpus.c - see corpus.h. */
#include "ml/text/corpus.h"

#include "base/mem.h"

#include <string.h>

/* Makes room for n more entries. */
static int room_for(struct corpus *c, int n, struct err *err)
{
    uint16_t *col = (uint16_t *)(uintptr_t)c->x.col;
    float *value = (float *)(uintptr_t)c->x.value;

    if (c->entries + n <= c->cap)
        return 0;
    int64_t cap = MAX(c->cap + c->cap / 2, c->entries + n + 4096);
    uint16_t *more_col = mem_try_alloc((size_t)cap * sizeof *col);
    float *more_value = mem_try_alloc((size_t)cap * sizeof *value);
    if (!more_col || !more_value) {
        mem_try_free(more_col);
        mem_try_free(more_value);
        return err_set(err, ERR_NOMEM, "no memory for the words of %lld texts",
                       (long long)c->x.rows);
    }
    if (c->entries > 0) {
        memcpy(more_col, col, (size_t)c->entries * sizeof *col);
        memcpy(more_value, value, (size_t)c->entries * sizeof *value);
    }
    mem_try_free(col);
    mem_try_free(value);
    c->x.col = more_col;
    c->x.value = more_value;
    c->cap = cap;
    return 0;
}

static int read_level(struct corpus *c, struct bag_room *room, int level, struct err *err)
{
    bag_read(room, level);
    if (room_for(c, room->n, err) < 0)
        return -1;
    if (room->n > 0) {
        memcpy((uint16_t *)(uintptr_t)c->x.col + c->entries, room->col,
               (size_t)room->n * sizeof *room->col);
        memcpy((float *)(uintptr_t)c->x.value + c->entries, room->value,
               (size_t)room->n * sizeof *room->value);
    }
    c->entries += room->n;
    c->level[c->x.rows++] = level;
    ((int64_t *)(uintptr_t)c->x.start)[c->x.rows] = c->entries;
    return 0;
}

int corpus_make(const struct bag *bag, const struct texts *from, const int64_t *rows, int step,
                struct corpus *out, struct err *err)
{
    int n_levels = from->n_levels;
    struct bag_room room;
    int rc = 0, seen = 0;

    *out = (struct corpus){ .x.cols = bag->n_kept };
    out->x.start = mem_try_zalloc(((size_t)n_levels / (size_t)step + 2) * sizeof *out->x.start);
    out->level = mem_try_alloc(((size_t)n_levels / (size_t)step + 2) * sizeof *out->level);
    if (bag_room_init(&room, bag, from, err) < 0) {
        corpus_fini(out);
        return -1;
    }
    if (!out->x.start || !out->level)
        rc = err_set(err, ERR_NOMEM, "no memory for %d texts", n_levels);
    for (int l = 0; l < n_levels && rc == 0; l++) {
        if ((!rows || rows[l] > 0) && seen++ % step == 0)
            rc = read_level(out, &room, l, err);
    }
    bag_room_fini(&room);
    if (rc < 0)
        corpus_fini(out);
    return rc;
}

void corpus_fini(struct corpus *c)
{
    mem_try_free((void *)(uintptr_t)c->x.start);
    mem_try_free((void *)(uintptr_t)c->x.col);
    mem_try_free((void *)(uintptr_t)c->x.value);
    mem_try_free(c->level);
    *c = (struct corpus){ 0 };
}

void corpus_columns(const struct corpus *c, struct sparse_columns *out)
{
    *out = (struct sparse_columns){ .cols = c->x.cols };
    if (c->entries > CORPUS_MOST_COLUMNS)
        return;
    out->start = mem_try_alloc(((size_t)c->x.cols + 1) * sizeof *out->start);
    out->entry = mem_try_alloc(((size_t)c->entries + 1) * sizeof *out->entry);
    if (out->start && out->entry)
        sparse_columns_fill(&c->x, out);
    else
        corpus_columns_fini(out);
}

void corpus_columns_fini(struct sparse_columns *c)
{
    mem_try_free(c->start);
    mem_try_free(c->entry);
    *c = (struct sparse_columns){ 0 };
}

int64_t corpus_bytes(const struct corpus *c)
{
    return c->cap * (int64_t)(sizeof(uint16_t) + sizeof(float)) +
           c->x.rows * (int64_t)(sizeof(int64_t) + sizeof(int32_t));
}
