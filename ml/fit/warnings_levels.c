/* warnings_levels.c - levels that are spelled nearly alike: "New York", "new york " and "NewYork".
 *
 * Two levels are near when they are the same after folding to lower case and without the signs that
 * people set as they like: between letters spaces, points, commas, dashes, slashes, quotes and
 * underscores; at the ends all of these but dashes and slashes; beside a digit only spaces and
 * underscores, and none between two digits. So "A+" and "A-", "1.5" and "15", "x-1" and "x1" differ.
 * Called by warnings.c. */
#include "ml/fit/warnings_private.h"

#include "base/base.h"
#include "base/mem.h"
#include "ml/text/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MOST_LEVELS: of the most frequent ones. MOST_BYTES: longer ones are texts. SHOWN: of the levels of
 * a group. */
enum { MOST_LEVELS = 100000, MOST_BYTES = 160, SHOWN = 3, SHOWN_BYTES = 40, BLOCK = 4096 };

#define MIX UINT64_C(0x100000001b3)

struct near {
    uint64_t key;
    int level;
};

/* Signs between two letters: what they are made of. */
enum { HAS_SPACE = 1, HAS_LOOSE = 2, HAS_DASH = 4, HAS_OTHER = 8 };

static int sign_kind(uint32_t c)
{
    if (c == ' ' || c == '\t' || c == '_' || c == 0xa0)
        return HAS_SPACE;
    if (c == '.' || c == ',' || c == '\'' || c == '"' || c == 0x2019)
        return HAS_LOOSE;
    return c == '-' || c == '/' ? HAS_DASH : HAS_OTHER;
}

static bool is_digit(uint32_t c)
{
    return c >= '0' && c <= '9';
}

/* Whether signs of these kinds say nothing between two letters; 0 = the end of the text. */
static bool is_idle(int kinds, uint32_t before, uint32_t after)
{
    if (kinds & HAS_OTHER)
        return false;
    if (!before || !after)
        return !(kinds & HAS_DASH);
    if (is_digit(before) && is_digit(after))
        return kinds == 0;
    return is_digit(before) || is_digit(after) ? !(kinds & ~HAS_SPACE) : true;
}

static uint64_t mixed(uint64_t key, uint32_t c)
{
    return (key ^ c) * MIX;
}

/* The hash of what is left of the text; 0 = it has no letter or is too long. */
static uint64_t key_of(const char *text)
{
    size_t n = strlen(text), at = 0;
    uint64_t key = UINT64_C(0xcbf29ce484222325), with_signs = key;
    uint32_t before = 0;
    bool has_letter = false;
    int kinds = 0;

    if (n > MOST_BYTES)
        return 0;
    while (at < n) {
        uint32_t c = words_fold(words_next(text, n, &at));
        if (!words_letter(c)) {
            int kind = sign_kind(c);
            kinds |= kind;
            with_signs = kind == HAS_SPACE ? with_signs : mixed(with_signs, c);
            continue;
        }
        if (!is_idle(kinds, before, c))
            key = mixed(with_signs, 1);
        key = with_signs = mixed(key, c);
        has_letter = has_letter || !is_digit(c);
        before = c;
        kinds = 0;
    }
    if (!is_idle(kinds, before, 0))
        key = mixed(with_signs, 1);
    return has_letter ? key | 1 : 0;
}

static int by_key(const void *va, const void *vb)
{
    const struct near *a = va, *b = vb;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->level - b->level;
}

/* Levels that are near to another one, in groups of equal keys; levels come by frequency. `first`:
 * where the group begins whose second level is the most frequent. Returns how many levels beyond the
 * first of their groups there are. */
static int groups_find(const struct frame_col *c, struct near *list, int *first)
{
    int n = 0, more = 0, best = -1;

    for (int k = 0; k < MIN(c->n_levels, MOST_LEVELS); k++) {
        uint64_t key = key_of(c->levels[k]);
        if (key)
            list[n++] = (struct near){ key, k };
    }
    list[n] = (struct near){ 0, -1 };
    qsort(list, (size_t)n, sizeof *list, by_key);
    for (int i = 1; i < n; i++) {
        if (list[i].key != list[i - 1].key)
            continue;
        more++;
        bool is_second = i < 2 || list[i - 2].key != list[i].key;
        if (is_second && (best < 0 || list[i].level < list[best + 1].level))
            best = i - 1;
    }
    *first = best;
    return more;
}

/* The rows of the first levels of a group, in the first rows of the table. */
static void rows_count(const struct frame *f, int col, const struct near *group, int n,
                       int64_t *count)
{
    int64_t most = MIN(f->rows, (int64_t)WARN_ALL_CELLS);
    int32_t code[BLOCK];

    for (int64_t from = 0; from < most; from += BLOCK) {
        int64_t m = MIN((int64_t)BLOCK, most - from);
        frame_codes(f, col, from, m, code);
        for (int64_t i = 0; i < m; i++) {
            for (int k = 0; k < n; k++)
                count[k] += code[i] == group[k].level;
        }
    }
}

static void of_group(struct warn_work *w, int col, const struct near *group, int more)
{
    const struct frame *f = w->d->spec.frame;
    const struct frame_col *c = &f->cols[col];
    int64_t count[SHOWN] = { 0 };
    char text[SHOWN * (SHOWN_BYTES + 32)] = "", others[80] = "";
    size_t at = 0;
    int n = 0;

    while (n < SHOWN && group[n].key == group[0].key)
        n++;
    rows_count(f, col, group, n, count);
    for (int k = 0; k < n; k++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\"%.*s\" (%lld)",
                               k == 0       ? ""
                               : k == n - 1 ? " and "
                                            : ", ",
                               SHOWN_BYTES, c->levels[group[k].level], (long long)count[k]);
    if (more > n - 1)
        (void)snprintf(others, sizeof others, ", and so are %d more level%s to others",
                       more - (n - 1), more == n ? "" : "s");
    warn(
        w, "alike", c->name,
        "In column \"%.80s\" the levels %s rows are spelled nearly alike%s: if they mean the same, "
        "spell them the same.",
        c->name, text, others);
}

int warn_of_levels(struct warn_work *w, struct err *err)
{
    const struct frame *f = w->d->spec.frame;

    for (int c = 0; c < f->n_cols; c++) {
        const struct frame_col *col = &f->cols[c];
        bool is_target = strcmp(col->name, w->d->spec.target) == 0;
        int first = -1;
        if (col->type != FRAME_CATEGORICAL || col->kind != FRAME_PLAIN || col->n_levels < 2 ||
            !(is_target || (warn_is_candidate(w, c) && warn_is_input(w, c))))
            continue;
        struct near *list =
            mem_try_alloc(((size_t)MIN(col->n_levels, MOST_LEVELS) + 1) * sizeof *list);
        if (!list)
            return err_set(err, ERR_NOMEM, "no memory to compare levels");
        int more = groups_find(col, list, &first);
        if (more > 0)
            of_group(w, c, list + first, more);
        mem_try_free(list);
    }
    return 0;
}
