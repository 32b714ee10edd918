/* csv_opts.c - see csv_opts.h. */
#include "ml/read/csv_opts.h"

#include "base/base.h"

#include <string.h>

bool csv_override_word(struct csv_override *o, const char *word)
{
    static const struct {
        const char *word;
        enum frame_type type;
        enum frame_kind kind;
        enum date_order order;
    } words[] = {
        { "numeric", FRAME_NUMERIC, FRAME_PLAIN, DATE_BY_VALUES },
        { "categorical", FRAME_CATEGORICAL, FRAME_PLAIN, DATE_BY_VALUES },
        { "ignore", FRAME_IGNORED, FRAME_PLAIN, DATE_BY_VALUES },
        { "ignored", FRAME_IGNORED, FRAME_PLAIN, DATE_BY_VALUES },
        { "text", FRAME_CATEGORICAL, FRAME_TEXT, DATE_BY_VALUES },
        { "list", FRAME_CATEGORICAL, FRAME_LIST, DATE_BY_VALUES },
        { "date", FRAME_NUMERIC, FRAME_DATE, DATE_BY_VALUES },
        { "date_dmy", FRAME_NUMERIC, FRAME_DATE, DATE_DMY },
        { "date_mdy", FRAME_NUMERIC, FRAME_DATE, DATE_MDY },
        { "date_ymd", FRAME_NUMERIC, FRAME_DATE, DATE_YMD },
        { "epoch_s", FRAME_NUMERIC, FRAME_DATE, DATE_EPOCH_S },
        { "epoch_ms", FRAME_NUMERIC, FRAME_DATE, DATE_EPOCH_MS },
        { "yyyymmdd", FRAME_NUMERIC, FRAME_DATE, DATE_WHOLE },
    };

    if (strcmp(word, "label") == 0) {
        o->type = FRAME_CATEGORICAL;
        o->is_exact = true;
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(word, words[i].word) != 0)
            continue;
        o->type = words[i].type;
        o->kind = words[i].kind;
        o->order = words[i].order;
        return true;
    }
    return false;
}
