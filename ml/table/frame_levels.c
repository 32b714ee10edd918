/* frame_levels.c - the order of a column's levels: most frequent first, then by text.
 *
 * A table of ids has millions of levels. So texts are sorted by their first eight bytes in one
 * radix pass, texts that share those bytes by comparing, and then all of them, stably, by count.
 * Called by frame_out.c. */
#include "ml/table/frame_file.h"

#include "base/mem.h"
#include "ml/math/sort.h"

#include <stdlib.h>
#include <string.h>

/* The first eight bytes as a number that orders as the text does; shorter texts are padded with
 * NUL. */
static uint64_t text_prefix(const char *s)
{
    uint64_t key = 0;

    for (int i = 0; i < 8; i++) {
        key = key << 8 | (uint8_t)*s;
        s += *s != '\0';
    }
    return key;
}

struct level_text {
    const char *text;
    uint32_t code;
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct level_text *)a)->text, ((const struct level_text *)b)->text);
}

/* Sorts the codes order[0..n), whose texts share a prefix. */
static int sort_run(const struct frame_levels *l, uint32_t *order, size_t n, struct err *err)
{
    struct level_text *run = mem_try_alloc(n * sizeof(*run));

    if (!run)
        return err_set(err, ERR_NOMEM, "no memory for %zu levels", n);
    for (size_t i = 0; i < n; i++)
        run[i] = (struct level_text){ l->text + l->text_at[order[i]], order[i] };
    qsort(run, n, sizeof(*run), by_text);
    for (size_t i = 0; i < n; i++)
        order[i] = run[i].code;
    mem_try_free(run);
    return 0;
}

int frame_levels_order(const struct frame_levels *l, uint32_t *order, struct err *err)
{
    size_t n = (size_t)l->n;
    uint64_t *key = mem_try_alloc((n + 1) * sizeof(*key));
    int rc = key ? 0 : err_set(err, ERR_NOMEM, "no memory for %zu levels", n);

    for (size_t i = 0; i < n && rc == 0; i++) {
        key[i] = text_prefix(l->text + l->text_at[i]);
        order[i] = (uint32_t)i;
    }
    if (rc == 0)
        rc = ml_sort_u64(key, order, n, err);
    for (size_t from = 0, to = 0; from < n && rc == 0; from = to) {
        for (to = from + 1; to < n && key[to] == key[from];)
            to++;
        if (to - from > 1)
            rc = sort_run(l, order + from, to - from, err);
    }
    for (size_t i = 0; i < n && rc == 0; i++)
        key[i] = ~(uint64_t)l->count[order[i]];
    if (rc == 0)
        rc = ml_sort_u64(key, order, n, err);
    mem_try_free(key);
    return rc;
}
