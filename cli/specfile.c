/* specfile.c - loads a spec, checks it, and uploads the tables it names (see specfile.h).
 *
 * The check uses the controller's own parser (proto/spec.h), so that a wrong key is reported
 * before a large table is uploaded. Called by cmd_run.c, cmd_submit.c, cmd_preview.c and
 * simulate_conf.c. */
#include "cli/specfile.h"
#include "cli/outfile.h"
#include "cli/print.h"
#include "cli/specprogram.h"
#include "cli/told.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/jsonx.h"
#include "base/mem.h"
#include "base/str.h"
#include "proto/spec.h"
#include "proto/yaml.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int read_stdin(struct buf *out, struct err *err)
{
    char part[4096];
    size_t n;

    buf_init(out, YAMLX_MAX_BYTES);
    while ((n = fread(part, 1, sizeof(part), stdin)) > 0)
        if (buf_add(out, part, n, err) < 0) {
            buf_fini(out);
            return -1;
        }
    return 0;
}

/* A path is not a legal name of a dataset, so the parser is given another word in its place. */
static int check(const json_t *spec, const char *path, struct err *err)
{
    struct spec parsed;
    json_t *copy = json_deep_copy(spec), *test = json_object_get(copy, "test");
    const char *dataset = json_string_value(json_object_get(copy, "dataset"));
    const char *test_set = json_string_value(json_object_get(test, "dataset"));

    if (dataset && !str_name_ok(dataset))
        json_object_set_new(copy, "dataset", json_string("file"));
    if (test_set && !str_name_ok(test_set))
        json_object_set_new(test, "dataset", json_string("file"));
    int rc = spec_parse(&parsed, copy, err);
    if (rc == 0)
        spec_fini(&parsed);
    else
        err_wrap(err, "%s", path);
    json_decref(copy);
    return rc;
}

json_t *specfile_load(const char *path, struct err *err)
{
    struct buf text;
    json_t *spec;
    int rc = strcmp(path, "-") == 0 ? read_stdin(&text, err)
                                    : io_read_file(path, YAMLX_MAX_BYTES, &text, err);

    if (rc < 0)
        return NULL;
    if (strcmp(path, "-") == 0)
        path = "standard input"; /* from here on it is only a name in errors */
    spec = yamlx_load(text.data ? text.data : "", text.len, path, err);
    buf_fini(&text);
    if (spec && !json_is_object(spec)) {
        err_set(
            err, ERR_ARG,
            "%s is no search spec: that has lines such as 'dataset: data.csv' and 'target: COLUMN'",
            path);
        json_decref(spec);
        return NULL;
    }
    if (spec && (specprogram_read(spec, path, err) < 0 || check(spec, path, err) < 0)) {
        json_decref(spec);
        spec = NULL;
    }
    return spec;
}

/* Finds the file that `name` means, as given or relative to the spec's folder. Returns 0 when
 * there is none. */
static int find_file(const char *name, const char *spec_path, char *out, size_t size)
{
    const char *slash = strrchr(spec_path, '/');

    snprintf(out, size, "%s", name);
    if (io_file_bytes(out) >= 0)
        return 1;
    if (name[0] == '/' || !slash)
        return 0;
    snprintf(out, size, "%.*s/%s", (int)(slash - spec_path), spec_path, name);
    return io_file_bytes(out) >= 0;
}

static void dataset_name(const char *file, char *out, size_t size)
{
    const char *base = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
    size_t n = 0;

    for (; *base && *base != '.' && n + 1 < MIN(size, 100); base++)
        out[n++] = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-", *base)
                       ? *base
                       : '-';
    out[n] = '\0';
    if (n == 0 || out[0] == '-')
        str_copy(out, size, "table");
}

/* Uploads the file as a dataset. If another table has that name already, a few digits of the
 * hash of this one's content are added to the name. */
static int upload_as(struct study_run *s, const char *file, const char *as, const json_t *columns,
                     json_t **row, struct err *err)
{
    struct err why = { 0 };
    char name[140], sha256[SHA256_HEX];
    char *text = jsonx_dump(columns ? columns : json_null());
    int rc = study_run_dataset(s, file, as, columns, row, &why);

    if (rc < 0 && why.code == ERR_CONFLICT && study_run_upload(s, file, sha256, err) == 0) {
        struct sha256 h;
        sha256_init(&h);
        sha256_add(&h, sha256, strlen(sha256));
        sha256_add(&h, text, strlen(text));
        sha256_end_hex(&h, sha256);
        snprintf(name, sizeof(name), "%.100s-%.8s", as, sha256);
        err_clear(&why);
        rc = study_run_dataset(s, file, name, columns, row, &why);
    }
    if (rc < 0 && err)
        *err = why;
    mem_free(text);
    return rc;
}

static int resolve(struct study_run *s, json_t *holder, const char *spec_path,
                   const json_t *columns, const json_t *like, json_t **row, struct err *err)
{
    const char *name = json_string_value(json_object_get(holder, "dataset"));
    char file[1024], as[128];
    json_t *same = NULL;

    if (!name || !find_file(name, spec_path, file, sizeof(file)))
        return 0; /* a registered name, which the controller knows */
    dataset_name(file, as, sizeof(as));
    if (like)
        columns = same = study_run_columns_like_new(like, file);
    int rc = upload_as(s, file, as, columns, row, err);
    json_decref(same);
    if (rc == 0 && !like && !s->quiet)
        told_dataset(*row, file, json_string_value(json_object_get(holder, "target")), TOLD_SPEC);
    if (rc == 0)
        json_object_set_new(holder, "dataset", json_string(print_text(*row, "identity")));
    return rc;
}

/* Returns 1 for a file, 0 for a registered name, -1 for a file that is not there. */
static int is_file(const json_t *holder, const char *where, const char *spec_path, struct err *err)
{
    const char *name = json_string_value(json_object_get(holder, "dataset"));
    char file[1024];

    if (!name)
        return 0;
    if (find_file(name, spec_path, file, sizeof(file)))
        return 1;
    if (!str_name_ok(name) || str_ends(name, ".csv") || str_ends(name, ".gz"))
        return err_set(err, ERR_NOTFOUND, "%s: %s: no such file", where, name);
    return 0;
}

int specfile_files(const json_t *spec, const char *spec_path, struct err *err)
{
    int train = is_file(spec, "dataset", spec_path, err);
    int test =
        train < 0 ? -1 : is_file(json_object_get(spec, "test"), "test.dataset", spec_path, err);

    return train < 0 || test < 0 ? -1 : train * SPECFILE_TRAIN + test * SPECFILE_TEST;
}

int specfile_apart(const json_t *spec, const char *spec_path, const char *output, struct err *err)
{
    const json_t *holders[] = { spec, json_object_get(spec, "test") };
    char file[1024];

    for (size_t i = 0; i < ARRAY_LEN(holders); i++) {
        const char *name = json_string_value(json_object_get(holders[i], "dataset"));
        if (name && find_file(name, spec_path, file, sizeof(file)) &&
            outfile_apart(output, file, err) < 0)
            return -1;
    }
    return outfile_apart(output, spec_path, err);
}

static int resolve_tables(struct study_run *s, json_t *spec, const char *spec_path, bool is_named,
                          struct err *err)
{
    json_t *train = NULL, *test_row = NULL, *test = json_object_get(spec, "test");
    int rc = resolve(s, spec, spec_path, json_object_get(spec, "columns"), NULL, &train, err);

    if (rc == 0 && json_is_object(test) && json_object_get(test, "dataset"))
        rc = resolve(s, test, spec_path, NULL, train, &test_row, err);
    if (rc == 0 && train && is_named && !json_object_get(spec, "name"))
        json_object_set_new(spec, "name", json_string(print_text(train, "name")));
    json_decref(train);
    json_decref(test_row);
    return rc;
}

int specfile_upload(struct study_run *s, json_t *spec, const char *spec_path, struct err *err)
{
    return resolve_tables(s, spec, spec_path, false, err);
}

void specfile_study_name(const json_t *spec, const char *spec_path, char *out, size_t size)
{
    const char *name = json_string_value(json_object_get(spec, "name"));
    const char *table = json_string_value(json_object_get(spec, "dataset"));
    char file[1024];

    if (name)
        str_copy(out, size, name);
    else if (table && find_file(table, spec_path, file, sizeof(file)))
        dataset_name(file, out, size);
    else
        str_copy(out, size, table && str_name_ok(table) ? table : "best");
}

int specfile_name(const char *spec_path, struct err *err)
{
    bool is_of_spec = err->code == ERR_ARG || err->code == ERR_NOTFOUND;

    return is_of_spec && !str_starts(err->text, spec_path) ? err_wrap(err, "%s", spec_path) : -1;
}

int specfile_submit(struct study_run *s, json_t *spec, const char *spec_path, bool load_if_exists,
                    json_t **study, struct err *err)
{
    if (specfile_files(spec, spec_path, err) < 0 ||
        resolve_tables(s, spec, spec_path, load_if_exists, err) < 0)
        return specfile_name(spec_path, err);
    if (client_post(s->client, spec, study, err, "/studies%s",
                    load_if_exists ? "?load_if_exists=true" : "") < 0)
        return specfile_name(spec_path, err);
    return 0;
}
