/* page_spec.c - assay-spec.5 from docs/SPEC.md. Of Markdown it reads what that document uses:
 * headings, paragraphs, lists, fenced code, tables and the marks of generated parts. A row of a
 * table becomes a term with its other cells below, because no terminal is as wide as those
 * tables. */
#include "docs/manual/pages.h"
#include "docs/manual/roff.h"

#include "base/base.h"
#include "base/str.h"

#include <stdbool.h>
#include <string.h>

enum { CELLS = 12, CELL_BYTES = 2000, LINE_BYTES = 8000, PART_BYTES = 1 << 16 };

struct reader {
    struct roff r;
    const char *at;        /* the rest of the document */
    char line[LINE_BYTES]; /* without its line end */
    char part[PART_BYTES]; /* the paragraph or item that is being read; "" = none */
    size_t part_len;
};

/* Fonts and links may go over line ends, so a part is written when it is whole. */
static void part_end(struct reader *d)
{
    if (d->part_len > 0) {
        roff_markdown(&d->r, d->part);
        roff_line_end(&d->r);
    }
    d->part_len = 0;
    d->part[0] = '\0';
}

static void part_add(struct reader *d, const char *text)
{
    int n = snprintf(d->part + d->part_len, PART_BYTES - d->part_len, "%s%s",
                     d->part_len > 0 ? " " : "", text);

    CHECK(n >= 0 && (size_t)n < PART_BYTES - d->part_len);
    d->part_len += (size_t)n;
}

static bool line_next(struct reader *d)
{
    size_t n = strcspn(d->at, "\n");

    if (!*d->at)
        return false;
    (void)snprintf(d->line, sizeof d->line, "%.*s", (int)n, d->at);
    d->at += n + (d->at[n] == '\n');
    return true;
}

/* Cuts a row at its bars; \| is a bar in a cell. Returns the number of cells. */
static int cells_of(const char *line, char cells[CELLS][CELL_BYTES])
{
    int n = 0;
    size_t len = 0;

    for (const char *p = line + 1; *p && n < CELLS; p++) {
        if (*p == '|' && p[-1] != '\\') {
            while (len > 0 && cells[n][len - 1] == ' ')
                len--;
            cells[n++][len] = '\0';
            len = 0;
        } else if ((len > 0 || *p != ' ') && len < CELL_BYTES - 1) {
            cells[n][len++] = *p;
        }
    }
    return n;
}

static void bare(char *text)
{
    char *to = text;

    for (const char *p = text; *p; p++) {
        if (*p != '`')
            *to++ = *p;
    }
    *to = '\0';
}

/* The last column is the sentence; the others are said by their names. */
static void row(struct roff *r, char heads[CELLS][CELL_BYTES], char cells[CELLS][CELL_BYTES], int n)
{
    bare(cells[0]);
    roff_term(r, cells[0], "");
    roff_markdown(r, n > 1 ? cells[n - 1] : "");
    for (int i = 1; i < n - 1; i++) {
        char text[CELL_BYTES * 2 + 4];

        if (!cells[i][0])
            continue;
        (void)snprintf(text, sizeof text, "*%s:* %s", heads[i], cells[i]);
        roff_macro(r, ".br");
        roff_markdown(r, text);
    }
    roff_line_end(r);
}

static void table(struct reader *d)
{
    static char heads[CELLS][CELL_BYTES], cells[CELLS][CELL_BYTES];
    int n = cells_of(d->line, heads);

    (void)line_next(d); /* |---|---| */
    while (*d->at == '|' && line_next(d))
        row(&d->r, heads, cells, MIN(cells_of(d->line, cells), n));
}

static void fence(struct reader *d)
{
    const char *start = d->at;
    const char *end = strstr(start, "\n```");

    if (str_starts(start, "```"))
        end = start;
    CHECK(end);
    roff_verbatim(&d->r, start, (size_t)(end - start));
    d->at = end;
    (void)line_next(d); /* the rest of the last line */
    (void)line_next(d); /* the fence */
}

static void head(struct reader *d, const char *text, bool is_section)
{
    char title[LINE_BYTES];

    part_end(d);
    str_copy(title, sizeof title, text);
    for (char *p = title; is_section && *p; p++)
        *p = (char)(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p);
    if (is_section)
        roff_section(&d->r, title);
    else
        roff_subsection(&d->r, title);
}

static void line_read(struct reader *d)
{
    const char *text = d->line;

    if (str_starts(text, "```") || text[0] == '|') {
        part_end(d);
        (text[0] == '|' ? table : fence)(d);
    } else if (str_starts(text, "## ")) {
        head(d, text + 3, true);
    } else if (str_starts(text, "### ")) {
        head(d, text + 4, false);
    } else if (str_starts(text, "- ")) {
        part_end(d);
        roff_macro(&d->r, ".IP \\(bu 2");
        part_add(d, text + 2);
    } else if (!text[0] || str_starts(text, "<!--")) {
        part_end(d);
    } else {
        if (d->part_len == 0)
            roff_paragraph(&d->r);
        part_add(d, text + strspn(text, " "));
    }
}

void page_spec(FILE *out, const char *markdown, const char *version, const char *date)
{
    static struct reader d;
    bool is_first = true;

    d = (struct reader){ .at = markdown };
    roff_begin(&d.r, out, "assay-spec", 5, date, version,
               "what a search of Assay may say: the search spec");
    roff_section(&d.r, "DESCRIPTION");
    while (line_next(&d)) {
        if (is_first) { /* the document's own title */
            is_first = false;
            (void)line_next(&d);
            continue;
        }
        line_read(&d);
    }
    part_end(&d);
    roff_section(&d.r, "SEE ALSO");
    roff_text(&d.r, "assay(1), assayd(8), assay-runner(8)");
    roff_line_end(&d.r);
}
