/* predict.c - the frames of predict.h. The lengths are text, so that a recorded conversation can be
 * read without tools. */
#include "proto/predict.h"

#include "base/jsonx.h"
#include "base/mem.h"

#include <string.h>

int predict_frame_put(struct buf *out, const json_t *head, const void *body, size_t n,
                      struct err *err)
{
    char *text = jsonx_dump(head);
    size_t len = strlen(text);
    int rc = 0;

    if (len > PREDICT_HEAD_MAX || n > PREDICT_BODY_MAX)
        rc = err_set(err, ERR_TOOBIG, "a message of %zu + %zu bytes is too long", len, n);
    else
        rc = buf_addf(out, err, "%08zx %08zx\n%s", len, n, text);
    mem_free(text);
    return rc < 0 ? -1 : buf_add(out, body ? body : "", n, err);
}

static int hex8(const char *p, size_t *out)
{
    *out = 0;
    for (int i = 0; i < 8; i++) {
        int digit = p[i] >= '0' && p[i] <= '9'   ? p[i] - '0'
                    : p[i] >= 'a' && p[i] <= 'f' ? p[i] - 'a' + 10
                                                 : -1;
        if (digit < 0)
            return -1;
        *out = *out * 16 + (size_t)digit;
    }
    return 0;
}

int predict_frame_get(const char *data, size_t n, struct predict_frame *out, size_t *wanted,
                      struct err *err)
{
    size_t head = 0, body = 0;

    *wanted = PREDICT_PREFIX;
    if (n < PREDICT_PREFIX)
        return 0;
    if (hex8(data, &head) < 0 || data[8] != ' ' || hex8(data + 9, &body) < 0 || data[17] != '\n' ||
        head < 2 || head > PREDICT_HEAD_MAX || body > PREDICT_BODY_MAX)
        return err_set(err, ERR_ARG, "broken frame of the predictor");
    *wanted = PREDICT_PREFIX + head + body;
    if (n < *wanted)
        return 0;
    *out = (struct predict_frame){ .body_at = PREDICT_PREFIX + head,
                                   .body_len = body,
                                   .len = *wanted };
    out->head = jsonx_load(data + PREDICT_PREFIX, head, "frame of the predictor", err);
    if (json_is_object(out->head))
        return 1;
    json_decref(out->head);
    out->head = NULL;
    return err_set(err, ERR_ARG, "broken frame of the predictor: no object");
}
