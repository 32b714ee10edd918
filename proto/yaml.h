/* yaml.h - reads YAML text as JSON values, for search specs and configurations. The subset is
 * strict: one document, no anchors, aliases or tags, no duplicate keys, at most 64 levels and 1
 * MiB. A plain scalar that is a JSON number, true, false or null means that value, and so do an
 * empty one and ~ (null). Every other scalar is text: `yes`, `010` and `1_000` stay as they are
 * written. A JSON document is read as JSON. */
#ifndef PROTO_YAML_H
#define PROTO_YAML_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>

enum { YAMLX_MAX_BYTES = 1 << 20, YAMLX_MAX_DEPTH = 64 };

/* `what` names the input in errors: "spec.yaml: line 3, column 5: duplicate key name". */
json_t *yamlx_load(const char *bytes, size_t n, const char *what, struct err *err);

#endif
