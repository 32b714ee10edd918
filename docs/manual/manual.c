/* manual.c - makes the manual pages and the shell completions.
 *
 * Usage: manual HELP.json SPEC.md DATE FOLDER. HELP.json is what `assay help --json` prints, so an
 * option that the program takes cannot be missing here. `make docs` calls it; the folder gets
 * assay.1, assayd.8, assay-runner.8, assay-spec.5, and assay.bash, _assay (zsh), assay.fish. */
#include "docs/manual/pages.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/io.h"
#include "base/str.h"

#include <string.h>

enum { DOCUMENT_MAX_BYTES = 4 << 20 };

const char *pages_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

char pages_letter(const json_t *option)
{
    static const char *const names[] = { "output", "yes", "follow" };

    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_eq(pages_text(option, "name"), names[i]))
            return names[i][0];
    }
    return '\0';
}

/* A verb is a word in lower case at the start or behind a bar; a bar within brackets divides the
 * verbs of one usage, as in "[show|kill] X". */
int pages_verb(const char *operands, size_t *at, char verb[32])
{
    if (!strchr(operands, '|') || strstr(operands, "--"))
        return 0;
    while (operands[*at]) {
        const char *word = operands + *at + strspn(operands + *at, " |[");
        size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz");
        const char *bar = strpbrk(word, "|");

        *at = bar ? (size_t)(bar - operands) + 1 : strlen(operands);
        if (n > 0 && n < 32) {
            (void)snprintf(verb, 32, "%.*s", (int)n, word);
            return 1;
        }
    }
    return 0;
}

static FILE *file_open(const char *folder, const char *name)
{
    char path[1000];
    FILE *out = NULL;

    (void)!snprintf(path, sizeof path, "%s/%s", folder, name);
    out = fopen(path, "we");
    if (!out)
        perror(path);
    return out;
}

static int file_close(FILE *out)
{
    int bad = ferror(out);

    return fclose(out) == 0 && !bad ? 0 : -1;
}

static int write_all(const char *folder, const json_t *help, const char *spec, const char *date)
{
    static const struct {
        const char *name;
        void (*page)(FILE *out, const json_t *help, const char *date);
        void (*complete)(FILE *out, const json_t *help);
    } files[] = {
        { "assay.1", page_assay, NULL },         { "assayd.8", page_assayd, NULL },
        { "assay-runner.8", page_runner, NULL }, { "assay.bash", NULL, complete_bash },
        { "_assay", NULL, complete_zsh },        { "assay.fish", NULL, complete_fish },
    };
    char version[64];
    FILE *out = NULL;

    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        out = file_open(folder, files[i].name);
        if (!out)
            return -1;
        if (files[i].page)
            files[i].page(out, help, date);
        else
            files[i].complete(out, help);
        if (file_close(out) < 0)
            return -1;
    }
    (void)snprintf(version, sizeof version, "assay %s", pages_text(help, "version"));
    out = file_open(folder, "assay-spec.5");
    if (!out)
        return -1;
    page_spec(out, spec, version, date);
    return file_close(out);
}

int main(int argc, char **argv)
{
    struct err err = { 0 };
    json_error_t why;
    json_t *help = NULL;
    struct buf spec = { 0 };
    int rc = 1;

    if (argc != 5) {
        fprintf(stderr, "usage: manual HELP.json SPEC.md DATE FOLDER\n");
        return 2;
    }
    help = json_load_file(argv[1], 0, &why);
    if (!help)
        fprintf(stderr, "manual: %s: %s\n", argv[1], why.text);
    else if (io_read_file(argv[2], DOCUMENT_MAX_BYTES, &spec, &err) < 0)
        fprintf(stderr, "manual: %s\n", err.text);
    else
        rc = write_all(argv[4], help, spec.data, argv[3]) < 0;
    buf_fini(&spec);
    json_decref(help);
    return rc;
}
