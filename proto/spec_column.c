/* spec_column.c - what a spec or a new dataset says about a column (see spec.h). */
#include "proto/spec.h"

#include "proto/spec_private.h"

#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

enum { WORDS_MAX = 100, WORD_MAX = 200 };

static int missing_read(const char *where, const json_t *list, struct column_said *out,
                        struct err *err)
{
    size_t i;
    json_t *word;

    if (!json_is_array(list) || json_array_size(list) > WORDS_MAX)
        return err_at(err, where, "missing must be a list of at most %d texts", WORDS_MAX);
    out->missing = mem_array(json_array_size(list) + 1, sizeof(*out->missing));
    json_array_foreach((json_t *)list, i, word)
    {
        const char *text = json_string_value(word);
        if (!text || strlen(text) > WORD_MAX || strlen(text) != json_string_length(word))
            return err_at(err, where,
                          "missing must hold texts of at most %d bytes, such as \"-999\"",
                          WORD_MAX);
        out->missing[i] = text;
    }
    return 0;
}

int column_said(const char *where, const char *name, const json_t *value, struct column_said *out,
                struct err *err)
{
    static const char *const keys[] = { "type", "missing" };
    const json_t *type = value;
    char path[160];
    int which = 0;

    *out = (struct column_said){ 0 };
    jsonx_path(path, sizeof path, where, name);
    if (json_is_object(value)) {
        const json_t *list = json_object_get(value, "missing");
        type = json_object_get(value, "type");
        if (jsonx_only(value, path, keys, ARRAY_LEN(keys), err) < 0 ||
            (list && missing_read(path, list, out, err) < 0))
            goto fail;
        if (!type && list)
            return 0;
    }
    if (!*name || !json_is_string(type)) {
        err_at(err, path,
               "must be " SPEC_COLUMN_WORDS ", or {type: one of these, missing: [texts]}");
        goto fail;
    }
    json_t *one = json_pack("{s:O}", name, (json_t *)type);
    int rc = spec_word_parse(one, where, name, spec_column_types, SPEC_COLUMN_TYPES, &which, err);
    json_decref(one);
    if (rc < 0)
        goto fail;
    out->type = spec_column_types[which];
    return 0;
fail:
    column_said_fini(out);
    return -1;
}

void column_said_fini(struct column_said *c)
{
    mem_free(c->missing);
    *c = (struct column_said){ 0 };
}
