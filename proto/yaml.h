/* yaml.h - YAML text to JSON values, for search specs and configs. A strict subset: one document; no anchors, aliases
 * or tags; duplicate keys are errors; depth <= 64, size <= 1 MiB. A plain scalar that reads as a JSON number, true,
 * false or null is that (empty and ~ are null too); everything else is text, so `yes`, `010` and `1_000` stay as
 * written. Any JSON document is read as JSON would be. */
#ifndef PROTO_YAML_H
#define PROTO_YAML_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

enum { YAMLX_MAX_BYTES = 1 << 20, YAMLX_MAX_DEPTH = 64 };

/* `what` names the input in errors: "spec.yaml: line 3, column 5: duplicate key name". */
json_t *yamlx_load(const char *bytes, size_t n, const char *what, struct err *err);

#endif
