/* fuzz_jsonx.c - any bytes either load, dump and load again to the same value, or are one clear error.
 * covers: base/jsonx.c */
#include "base/base.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Every typed get on every key; what they accept must keep its limits. */
static void get_all(json_t *o)
{
    static const char *const known[] = { "a", "time", "trials" };
    const char *key = NULL;
    json_t *v = NULL;

    jsonx_only(o, "top", known, ARRAY_LEN(known), NULL);
    json_object_foreach(o, key, v)
    {
        struct err err = { 0 };
        const char *s = NULL;
        json_t *sub = NULL;
        int64_t i = 0;
        double d = 0;
        bool b = false;

        if (jsonx_i64(o, "top", key, JSONX_REQUIRED, -5, 1000, &i, &err) == 1)
            CHECK(i >= -5 && i <= 1000);
        jsonx_f64(o, "", key, JSONX_OPTIONAL, &d, &err);
        jsonx_bool(o, NULL, key, JSONX_OPTIONAL, &b, &err);
        if (jsonx_str(o, "x[1]", key, JSONX_OPTIONAL, 10, &s, &err) == 1)
            CHECK(strlen(s) <= 10 && utf8_ok(s, strlen(s)));
        if (jsonx_arr(o, "top", key, JSONX_OPTIONAL, 3, &sub, &err) == 1)
            CHECK(json_array_size(sub) <= 3);
        jsonx_obj(o, "top", key, JSONX_OPTIONAL, &sub, &err);
        CHECK(strlen(err.text) < sizeof err.text && utf8_ok(err.text, strlen(err.text)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { 0 };
    json_t *v = jsonx_load((const char *)data, size, "input", &err), *again = NULL;
    char *text = NULL;

    if (!v) {
        CHECK(err.code == ERR_ARG && err.text[0]);
        return 0;
    }
    if (json_is_object(v))
        get_all(v);
    text = jsonx_dump(v);
    again = jsonx_load(text, strlen(text), "dump", &err);
    CHECK(again && json_equal(v, again));
    mem_free(text);
    json_decref(again);
    json_decref(v);
    return 0;
}
