/* fuzz_spec.c - any JSON or YAML as a search spec: either one clear error, or a spec whose written form reads back the
 * same and stays the same.
 * covers: proto/spec.c proto/spec_write.c */
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"
#include "proto/spec.h"
#include "proto/yaml.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct spec *s)
{
    struct err err = { 0 };
    struct spec again;
    json_t *one = spec_json_new(s), *two = NULL;
    char *text = jsonx_dump(one);
    json_t *wire = jsonx_load(text, strlen(text), "wire", &err);

    CHECK(wire && spec_parse(&again, wire, &err) == 0);
    two = spec_json_new(&again);
    CHECK(json_equal(one, two));
    CHECK(s->seed == again.seed && s->budget_time_ms == again.budget_time_ms);
    CHECK(spec_is_deterministic(s) == spec_is_deterministic(&again));
    spec_fini(&again);
    json_decref(one);
    json_decref(two);
    json_decref(wire);
    mem_free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = { 0 };
    struct spec s;
    json_t *j = yamlx_load((const char *)data, size, "input", NULL); /* JSON is YAML too */

    if (!j)
        return 0;
    if (spec_parse(&s, j, &err) == 0) {
        /* A study that has its own space may have no budget: it ends when its user says `stop`. */
        CHECK(s.is_own || s.budget_time_ms > 0 || s.budget_trials > 0);
        CHECK(!s.test_dataset[0] || s.test_fraction == 0);
        check_round_trip(&s);
        spec_fini(&s);
    } else {
        CHECK(err.code == ERR_ARG && err.text[0]);
        CHECK(utf8_ok(err.text, strlen(err.text)));
        CHECK(utf8_ok(err.where, strlen(err.where)));
    }
    json_decref(j);
    return 0;
}
