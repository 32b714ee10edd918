/* pipeline.c - see pipeline.h. One line for each step of a group of columns; the group stands on its
 * first line. Names come from tables and are made safe to show. */
#include "cli/pipeline.h"

#include "base/base.h"
#include "base/buf.h"
#include "base/str.h"
#include "cli/print.h"

#include <string.h>

/* Names that are shown of a group, and the room for them in columns of the screen. */
enum { NAMES = 4, ROOM = 40 };

static json_int_t count_of(const json_t *o, const char *key)
{
    return json_integer_value(json_object_get(o, key));
}

/* "3 dates", of the type's word. */
static const char *plural(const char *type, json_int_t n)
{
    static const char *const words[][3] = {
        { "number", "number", "numbers" },
        { "category", "category", "categories" },
        { "code", "code", "codes" },
        { "date", "date", "dates" },
        { "text", "text", "texts" },
        { "list", "list", "lists" },
        { "pair", "pair", "pairs" },
        { "pixel", "pixel", "pixels" },
        { "together", "column", "columns together" },
        { "other", "other column", "other columns" },
    };

    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcmp(words[i][0], type) == 0)
            return words[i][n == 1 ? 1 : 2];
    }
    return n == 1 ? "column" : "columns";
}

/* "age, hours, +3 more": as many names as there is room for. */
static void names_of(const json_t *group, char *out, size_t size)
{
    const json_t *list = json_object_get(group, "columns"), *v = NULL;
    json_int_t n = count_of(group, "n");
    size_t at = 0, i = 0;
    int width = 0, shown = 0;

    out[0] = '\0';
    json_array_foreach((json_t *)list, i, v)
    {
        const char *name = print_safe(json_string_value(v) ? json_string_value(v) : "");
        int more = print_width(name) + 2;
        if (shown == NAMES || (shown > 0 && width + more > ROOM) || at + strlen(name) + 40 > size)
            break;
        at += (size_t)snprintf(out + at, size - at, "%s%s", shown > 0 ? ", " : "", name);
        width += more;
        shown++;
    }
    if (n > shown)
        (void)snprintf(out + at, size - at, "%s+%lld more", shown > 0 ? ", " : "",
                       (long long)(n - shown));
}

static void group_rows(struct table *t, const json_t *group)
{
    const json_t *steps = json_object_get(group, "steps");
    const char *arrow = print_is_utf8() ? "→" : "->";
    json_int_t n = count_of(group, "n");
    size_t lines = MAX(json_array_size(steps), (size_t)1);
    char names[600];

    names_of(group, names, sizeof names);
    for (size_t i = 0; i < lines; i++) {
        const json_t *step = json_array_get(steps, i);
        json_int_t inputs = step ? count_of(step, "inputs") : count_of(group, "inputs");
        if (i == 0) {
            table_cell(t, "%lld %s", (long long)n, plural(print_text(group, "type"), n));
            table_cell(t, "%s", names);
        } else {
            table_cell(t, "%s", "");
            table_cell(t, "%s", "");
        }
        table_cell(t, "%s %s", arrow, step ? print_text(step, "say") : "in several ways");
        if (inputs > 0)
            table_cell(t, "%lld", (long long)inputs);
        else
            table_cell(t, "%s", "");
    }
}

static void dropped_print(const json_t *pipeline, FILE *out)
{
    const json_t *list = json_object_get(pipeline, "dropped"), *v = NULL;
    char names[600];
    size_t i = 0;

    json_array_foreach((json_t *)list, i, v)
    {
        names_of(v, names, sizeof names);
        fprintf(out, "left out: %s (%s)\n", names, print_text(v, "why"));
    }
}

void pipeline_print(const json_t *pipeline, const char *model, FILE *out)
{
    static const char *const heads[] = { "columns", "", "what becomes of them", "inputs" };
    const json_t *groups = json_object_get(pipeline, "groups"), *v = NULL;
    const char *form = json_string_value(json_object_get(pipeline, "form"));
    size_t i = 0;

    if (!json_is_object(pipeline))
        return;
    bool reads_none = form && str_eq(form, "none");
    struct table *t = table_new(heads, ARRAY_LEN(heads));
    json_array_foreach((json_t *)groups, i, v) group_rows(t, v);
    table_print(t, out);
    fprintf(out, "%s %s", print_is_utf8() ? "→" : "->", print_safe(model));
    if (reads_none)
        fprintf(out, ", which reads none of them\n");
    else if (json_object_get(pipeline, "width"))
        fprintf(out, ", which reads %lld inputs as a row of %lld numbers\n",
                (long long)count_of(pipeline, "inputs"), (long long)count_of(pipeline, "width"));
    else
        fprintf(out, ", which reads %lld inputs\n", (long long)count_of(pipeline, "inputs"));
    dropped_print(pipeline, out);
}
