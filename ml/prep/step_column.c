/* step_column.c - see step_column.h. */
#include "ml/prep/step_column.h"

#include "base/mem.h"
#include "ml/prep/prep_private.h"
#include "ml/text/shape.h"

#include <string.h>

int64_t *step_level_rows(const struct prep_spec *spec, int col, struct err *err)
{
    const struct frame *f = spec->frame;
    int64_t *rows = mem_try_zalloc(((size_t)f->cols[col].n_levels + 1) * sizeof *rows);
    int32_t code[PREP_BLOCK];

    if (!rows) {
        err_set(err, ERR_NOMEM, "no memory for %d levels", f->cols[col].n_levels);
        return NULL;
    }
    for (int64_t from = 0; from < f->rows; from += PREP_BLOCK) {
        int64_t n = MIN(f->rows - from, PREP_BLOCK);
        frame_codes(f, col, from, n, code);
        for (int64_t i = 0; i < n; i++) {
            if (code[i] >= 0 && (!spec->use || spec->use[from + i]))
                rows[code[i]]++;
        }
    }
    return rows;
}

bool step_is_wordy(const struct frame_col *c, int64_t rows)
{
    enum { LEAST_LEVELS = 200, LEAST_SHARE = 10, LOOK = 1000 };
    int step = MAX(c->n_levels / LOOK, 1), n = 0, many = 0;

    if (c->type != FRAME_CATEGORICAL || c->kind != FRAME_PLAIN || c->n_levels < LEAST_LEVELS ||
        (int64_t)c->n_levels * LEAST_SHARE < rows)
        return false;
    for (int l = 0; l < c->n_levels; l += step, n++) {
        float shape[SHAPE_PARTS];
        shape_of(c->levels[l], strlen(c->levels[l]), shape);
        many += shape[SHAPE_WORDS] >= 2 && shape[SHAPE_DIGITS] < 0.5F;
    }
    return many * 2 > n;
}

bool step_has_levels(const struct prep *p, const struct prep_step *s)
{
    return s->n_sources == 1 && p->sources[s->source[0]].type == FRAME_CATEGORICAL;
}

void step_list_sep(const char *note, char sep[WORDS_SEP_BYTES])
{
    const char *at = strstr(note, "\"sep\":\"");
    int n = 0;

    at = at ? at + strlen("\"sep\":\"") : "|";
    while (*at && *at != '"' && n < WORDS_SEP_BYTES - 1) {
        at += *at == '\\' && at[1]; /* an escaped sign */
        sep[n++] = *at++;
    }
    sep[n] = '\0';
    if (n == 0)
        memcpy(sep, "|", 2);
}
