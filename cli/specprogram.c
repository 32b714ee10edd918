/* specprogram.c - reads the files of a user's program into the spec (see specprogram.h), as text, or
 * as base64 where they are none. Called by specfile.c before the spec is checked. */
#include "cli/specprogram.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { FILE_MAX = 1 << 20 }; /* of one file; proto/spec_command.c limits all together */

static json_t *base64_new(const unsigned char *p, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = mem_alloc(n / 3 * 4 + 8);
    size_t used = 0;

    for (size_t i = 0; i < n; i += 3) {
        size_t k = MIN(n - i, 3);
        unsigned v = (unsigned)p[i] << 16 | (k > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (k > 2 ? (unsigned)p[i + 2] : 0);

        text[used++] = digits[v >> 18 & 63];
        text[used++] = digits[v >> 12 & 63];
        text[used++] = k > 1 ? digits[v >> 6 & 63] : '=';
        text[used++] = k > 2 ? digits[v & 63] : '=';
    }
    text[used] = '\0';
    json_t *o = json_pack("{s:s}", "base64", text);
    mem_free(text);
    return o;
}

static int read_one(json_t *out, const char *name, const char *spec_path, struct err *err)
{
    const char *slash = strrchr(spec_path, '/');
    char path[1200];
    struct buf bytes;
    struct err why = { 0 };

    if (!name)
        return err_at(err, "files", "must list names of files");
    if (name[0] == '/')
        return err_at(err, "files",
                      "%.100s: write a path from the spec's folder, which is also the file's place "
                      "in the folder where the program starts",
                      name);
    (void)snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - spec_path) : 0, spec_path,
                   name);
    if (io_read_file(path, FILE_MAX, &bytes, &why) < 0)
        return err_at(err, "files", "%s", why.text);
    const char *data = bytes.data ? bytes.data : "";
    bool is_text = utf8_ok(data, bytes.len) && !memchr(data, '\0', bytes.len);
    json_object_set_new(out, name,
                        is_text ? json_stringn(data, bytes.len)
                                : base64_new((const unsigned char *)data, bytes.len));
    buf_fini(&bytes);
    return 0;
}

int specprogram_read(json_t *spec, const char *spec_path, struct err *err)
{
    json_t *list = json_object_get(spec, "files"), *out = NULL, *v = NULL;
    size_t i = 0;

    if (!json_is_array(list))
        return 0;
    out = json_object();
    json_array_foreach(list, i, v)
    {
        if (read_one(out, json_string_value(v), spec_path, err) < 0) {
            json_decref(out);
            return -1;
        }
    }
    json_object_set_new(spec, "files", out);
    return 0;
}
