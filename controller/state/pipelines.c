/* pipelines.c - checks and keeps what pipelines.h describes. Nothing of it is decided upon. */
#include "controller/state/pipelines.h"

#include "base/base.h"
#include "base/jsonx.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "controller/state/trial.h"
#include "store/study.h"

#include <inttypes.h>
#include <string.h>

enum { TEXT_MOST = 48 << 10, LIST_MOST = 64, WORD_MOST = 400, COUNT_MOST = 1 << 24 };

static bool is_text(const json_t *v)
{
    return json_is_string(v) && json_string_length(v) <= WORD_MOST;
}

static bool is_count(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= COUNT_MOST;
}

static bool is_list(const json_t *list, bool (*is_one)(const json_t *))
{
    json_t *v = NULL;
    size_t i = 0;

    if (!json_is_array(list) || json_array_size(list) > LIST_MOST)
        return false;
    json_array_foreach(list, i, v)
    {
        if (!is_one(v))
            return false;
    }
    return true;
}

/* An object with these keys, `texts` of which hold texts and the others counts, and no key that is
 * not known. */
static bool has_only(const json_t *o, const char *const *keys, size_t n, size_t texts,
                     size_t optional)
{
    size_t found = 0;

    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_object_get(o, keys[i]);
        if (!v && i + optional >= n)
            continue;
        if (i < texts ? !is_text(v) : !is_count(v))
            return false;
        found++;
    }
    return json_is_object(o) && found > 0;
}

static bool is_step(const json_t *o)
{
    static const char *const keys[] = { "say", "inputs" };

    return has_only(o, keys, ARRAY_LEN(keys), 1, 0) && json_object_size(o) == ARRAY_LEN(keys);
}

static bool is_group(const json_t *o)
{
    static const char *const keys[] = { "type", "n", "inputs", "width" };
    size_t n = 5 + (json_object_get(o, "width") != NULL);

    return has_only(o, keys, ARRAY_LEN(keys), 1, 1) && json_object_size(o) == n &&
           is_list(json_object_get(o, "columns"), is_text) &&
           is_list(json_object_get(o, "steps"), is_step);
}

static bool is_drop(const json_t *o)
{
    static const char *const keys[] = { "why", "n" };

    return has_only(o, keys, ARRAY_LEN(keys), 1, 0) && json_object_size(o) == 3 &&
           is_list(json_object_get(o, "columns"), is_text);
}

static bool is_pipeline(const json_t *o)
{
    static const char *const keys[] = { "form", "columns", "inputs", "width" };
    size_t n = 5 + (json_object_get(o, "width") != NULL);

    return has_only(o, keys, ARRAY_LEN(keys), 1, 1) && json_object_size(o) == n &&
           is_list(json_object_get(o, "groups"), is_group) &&
           is_list(json_object_get(o, "dropped"), is_drop);
}

int pipelines_take(struct ctl *ctl, const struct trial_row *row, const json_t *detail,
                   char key[PIPELINE_KEY], struct err *err)
{
    const json_t *told = json_object_get(detail, "pipeline");
    char hex[SHA256_HEX];
    int rc = 0;

    key[0] = '\0';
    if (!told)
        return 0;
    char *text = jsonx_dump(told);
    if (strlen(text) <= TEXT_MOST && is_pipeline(told)) {
        sha256_hex(text, strlen(text), hex);
        str_copy(key, PIPELINE_KEY, hex);
        rc = store_pipeline_put(ctl->store, row->study, key, text, err);
    } else {
        log_warn("pipeline.refused trial=%" PRId64, row->id);
    }
    mem_free(text);
    return rc;
}

int pipelines_get(struct ctl *ctl, const struct trial_row *row, json_t **out, struct err *err)
{
    json_t *info = trial_info(row);
    const char *key = json_string_value(json_object_get(info, "pipeline"));
    char *text = NULL;
    int rc = key ? store_pipeline_get(ctl->store, row->study, key, &text, err) : 0;

    if (rc == 1)
        *out = jsonx_load(text, strlen(text), "pipeline", err);
    else if (rc == 0)
        *out = json_null();
    mem_free(text);
    json_decref(info);
    return rc < 0 || !*out ? -1 : 0;
}
