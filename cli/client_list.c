/* client_list.c - reads lists that are longer than one answer.
 *
 * The controller gives at most PAGE rows a call; client_list asks again until it has as many
 * rows as wanted or the list ends. Called by the commands that list something. */
#include "cli/client.h"

#include "base/base.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { PAGE = 1000 };

/* Appends the rows of a further answer to *out and takes over its `next`. */
static void join(json_t **out, json_t *page, const char *key)
{
    if (!*out) {
        *out = page;
        return;
    }
    json_array_extend(json_object_get(*out, key), json_object_get(page, key));
    if (json_object_get(page, "next"))
        json_object_set(*out, "next", json_object_get(page, "next"));
    json_decref(page);
}

int client_list(struct client *c, const char *path, const char *key, enum client_paging paging,
                int64_t limit, json_t **out, struct err *err)
{
    const char *cursor = paging == CLIENT_BY_NEXT ? "after" : "offset";
    int64_t at = 0, have = 0;

    *out = NULL;
    while (have < limit) {
        int64_t want = MIN(limit - have, PAGE), got = 0;
        json_t *page = NULL;

        if (client_get(c, &page, err, "%s%climit=%" PRId64 "&%s=%" PRId64, path,
                       strchr(path, '?') ? '&' : '?', want, cursor, at) < 0) {
            json_decref(*out);
            *out = NULL;
            return -1;
        }
        got = (int64_t)json_array_size(json_object_get(page, key));
        const json_t *next = json_object_get(page, "next");
        have += got;
        at = paging == CLIENT_BY_NEXT ? json_integer_value(next) : have;
        bool is_last = paging == CLIENT_BY_NEXT ? !json_is_integer(next) : got < want;
        join(out, page, key);
        if (is_last || got == 0)
            break;
    }
    return 0;
}
