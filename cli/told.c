/* told.c - see told.h. A note that this program does not know, from a newer controller, is left
 * out. Called by cmd_fit.c, cmd_data.c and specfile.c. */
#include "cli/told.h"

#include "cli/print.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN = 10, TEXT = 600 };

static const char *str_of(const json_t *note, const char *key)
{
    const char *s = json_string_value(json_object_get(note, key));

    return s ? s : "";
}

static void words(struct buf *b, const json_t *note, const char *key, const char *lead)
{
    const char *word = NULL;
    json_t *list = json_object_get(note, key), *count = NULL;
    int n = 0;

    json_object_foreach(list, word, count)
    {
        if (n == 3) {
            (void)buf_adds(b, ", …", NULL);
            return;
        }
        (void)buf_addf(b, NULL, "%s\"%s\" %" JSON_INTEGER_FORMAT, n++ ? ", " : lead,
                       print_safe(word), json_integer_value(count));
    }
}

static void told_number(struct buf *b, const json_t *note)
{
    const struct {
        const char *key, *lead, *tail;
    } parts[] = { { "currency", "", "" },
                  { "thousands", "thousands parted by \"", "\"" },
                  { "decimal", "the decimal sign \"", "\"" },
                  { "percent", "% ", "" },
                  { "unit", "the unit ", "" } };
    const char *with = " with ", *measure = str_of(note, "measure");

    if (*measure) {
        (void)buf_addf(b, NULL, "%s in %s", str_eq(measure, "time") ? "durations" : "amounts",
                       print_safe(str_of(note, "unit")));
        return;
    }
    (void)buf_adds(b, "numbers", NULL);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        const char *value = str_of(note, parts[i].key);
        if (!*value)
            continue;
        (void)buf_addf(b, NULL, "%s%s%s%s", with, parts[i].lead, print_safe(value), parts[i].tail);
        with = ", ";
    }
    if (json_is_true(json_object_get(note, "magnitudes"))) {
        (void)buf_addf(b, NULL, "%sk, M and B for thousands, millions and billions", with);
        with = ", ";
    }
    if (json_object_get(note, "bounds")) {
        (void)buf_addf(b, NULL, "%sbounds as <5 or 5+", with);
        with = ", ";
    }
    if (json_object_get(note, "odd_negatives"))
        (void)buf_addf(b, NULL, "%snegatives as (5) or 5-", with);
}

static void told_date(struct buf *b, const json_t *note)
{
    static const char *const orders[][2] = {
        { "dmy", "day first" },
        { "mdy", "month first" },
        { "ymd", "year first" },
        { "epoch_s", "seconds since 1970" },
        { "epoch_ms", "milliseconds since 1970" },
        { "yyyymmdd", "as whole numbers YYYYMMDD" },
    };
    static const char *const by[][2] = {
        { "values", "as all values show" },
        { "sequence", "as the order of the rows shows" },
        { "default", "assumed: nothing shows it" },
        { "declared", "as declared" },
        { "name and range", "by name and range" },
    };

    (void)buf_adds(b, strcmp(str_of(note, "read"), "time") == 0 ? "times of day" : "dates", NULL);
    for (size_t i = 0; i < ARRAY_LEN(orders); i++) {
        if (str_eq(str_of(note, "order"), orders[i][0]))
            (void)buf_addf(b, NULL, ", %s", orders[i][1]);
    }
    for (size_t i = 0; i < ARRAY_LEN(by); i++) {
        if (str_eq(str_of(note, "by"), by[i][0]))
            (void)buf_addf(b, NULL, " (%s)", by[i][1]);
    }
    if (json_object_get(note, "zones"))
        (void)buf_adds(b, ", moved to UTC", NULL);
}

static void told(const json_t *col, bool is_target, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(col, "note"));
    json_t *note = text ? json_loads(text, 0, NULL) : NULL;
    const char *read = str_of(note, "read");
    struct buf b;

    buf_init(&b, 4 << 10);
    if (str_eq(read, "number"))
        told_number(&b, note);
    else if (str_eq(read, "date") || str_eq(read, "time"))
        told_date(&b, note);
    else if (!is_target && str_eq(read, "list"))
        (void)buf_addf(&b, NULL, "lists parted by \"%s\"", print_safe(str_of(note, "sep")));
    else if (!is_target && str_eq(read, "text"))
        (void)buf_adds(&b, "running text", NULL);
    if (b.len > 0) {
        words(&b, note, "missing", "; missing: ");
        words(&b, note, "not_numbers", "; no numbers, so missing too: ");
        words(&b, note, "not_dates", "; no dates, so missing: ");
    }
    str_copy(out, size, b.len > 0 ? b.data : "");
    buf_fini(&b);
    json_decref(note);
}

void told_column(const json_t *col, char *out, size_t size)
{
    told(col, false, out, size);
}

static bool is_special(const json_t *col, const char *target, char *out, size_t size)
{
    told(col, target && strcmp(print_text(col, "name"), target) == 0, out, size);
    return *out != '\0';
}

void told_dataset(const json_t *dataset, const char *file, const char *target,
                  const char *otherwise)
{
    const json_t *columns = json_object_get(json_object_get(dataset, "schema"), "columns");
    char text[TEXT];
    int total = 0, n = 0;
    size_t i;
    json_t *col;

    json_array_foreach(columns, i, col)
    {
        total += is_special(col, target, text, sizeof(text));
    }
    if (total > 0)
        fprintf(stderr, "%s: %d column%s read in a special way (%s overrides):\n", print_safe(file),
                total, total == 1 ? " is" : "s are", otherwise);
    json_array_foreach(columns, i, col)
    {
        if (is_special(col, target, text, sizeof(text)) && n++ < SHOWN)
            fprintf(stderr, "  %.200s: %s\n", print_text(col, "name"), text);
    }
    if (total > SHOWN)
        fprintf(stderr, "  … and %d more ('assay data show' lists them)\n", total - SHOWN);
}
