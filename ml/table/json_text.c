/* json_text.c - the texts of json_text.h. Control bytes become \u00XX; other UTF-8 passes
 * unchanged. Called by frame_schema.c and by ml/model. */
#include "ml/table/json_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int json_text_str(struct buf *b, const char *s, struct err *err)
{
    int rc = buf_add(b, "\"", 1, err);

    for (const char *p = s; *p && rc == 0; p++) {
        if (*p == '"' || *p == '\\')
            rc = buf_addf(b, err, "\\%c", *p);
        else if ((unsigned char)*p < 0x20 || *p == 0x7f)
            rc = buf_addf(b, err, "\\u%04x", (unsigned char)*p);
        else
            rc = buf_add(b, p, 1, err);
    }
    return rc < 0 ? -1 : buf_add(b, "\"", 1, err);
}

int json_text_num(struct buf *b, double v, struct err *err)
{
    char text[40];

    if (!isfinite(v))
        return buf_adds(b, "null", err);
    for (int digits = 15; digits <= 17; digits++) {
        int n = snprintf(text, sizeof(text), "%.*g", digits, v);
        if (n > 0 && strtod(text, NULL) == v)
            break;
    }
    return buf_adds(b, text, err);
}
