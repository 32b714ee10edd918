/* fuzz_yaml.c - any bytes as YAML: either one clear error with its place, or a JSON value that reads the same from its own
 * JSON text.
 * covers: proto/yaml.c */
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proto/yaml.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { 0 };
    json_t *v = yamlx_load((const char *)data, size, "input", &err), *again = NULL;

    if (!v) {
        CHECK((err.code == ERR_ARG || err.code == ERR_TOOBIG) && err.text[0]);
        CHECK(utf8_ok(err.text, strlen(err.text)));
        return 0;
    }
    char *text = jsonx_dump(v);
    again = jsonx_load(text, strlen(text), "dump", &err);
    CHECK(again && json_equal(v, again));
    json_decref(again);
    again = yamlx_load(text, strlen(text), "dump", &err);
    if (again)
        CHECK(json_equal(v, again));
    else /* escapes made it longer than may be */
        CHECK(err.code == ERR_TOOBIG);
    json_decref(again);
    mem_free(text);
    json_decref(v);
    return 0;
}
