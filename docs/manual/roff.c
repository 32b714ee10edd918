/* roff.c - see roff.h. Text is escaped first and wrapped afterwards, between two words. A word at
 * the start of a line that begins with a point or an apostrophe gets \& before it, which is how
 * roff is told that it is text and no request. */
#include "docs/manual/roff.h"

#include "base/base.h"
#include "base/mem.h"

#include <stdbool.h>
#include <string.h>

/* WIDTH: bytes of a source line; mandoc allows 80, and counts a few for each letter beyond ASCII.
 * GROWTH: bytes that one byte of text may become. */
enum { WIDTH = 68, GROWTH = 4 };

void roff_line_end(struct roff *r)
{
    if (r->column > 0)
        fputc('\n', r->out);
    r->column = 0;
}

void roff_macro(struct roff *r, const char *line)
{
    roff_line_end(r);
    fprintf(r->out, "%s\n", line);
    r->after_heading = false;
}

/* Appends one byte of text. A hyphen is what one types at a shell, never a typographic one. */
static char *escaped(char *to, char c)
{
    if (c == '\\' || c == '-')
        *to++ = '\\';
    *to++ = c == '\\' ? 'e' : c;
    return to;
}

static char *font(char *to, char name)
{
    *to++ = '\\';
    *to++ = 'f';
    *to++ = name;
    return to;
}

/* Writes escaped text, wrapped. */
static void put(struct roff *r, const char *text)
{
    while (*(text += strspn(text, " \n"))) {
        int n = (int)strcspn(text, " \n");

        if (r->column > 0 && r->column + 1 + n > WIDTH)
            roff_line_end(r);
        r->after_heading = false;
        if (r->column > 0)
            r->column += fprintf(r->out, " ");
        else if (*text == '.' || *text == '\'')
            r->column += fprintf(r->out, "\\&");
        r->column += fprintf(r->out, "%.*s", n, text);
        text += n;
    }
}

void roff_text(struct roff *r, const char *text)
{
    char *copy = mem_alloc(strlen(text) * GROWTH + 1), *to = copy;

    for (const char *p = text; *p; p++)
        to = escaped(to, *p);
    *to = '\0';
    put(r, copy);
    mem_free(copy);
}

/* The mark at `p` that begins or ends a font: "**" or "*", or NULL. A star beside spaces is a
 * star. */
static int star_of(const char *text, const char *p, bool is_open)
{
    int n = p[0] != '*' ? 0 : p[1] == '*' ? 2 : 1;

    if (n == 0 || (is_open ? p == text || p[-1] == ' ' : p[n] == ' ' || p[n] == '\0'))
        return 0;
    return n;
}

void roff_markdown(struct roff *r, const char *text)
{
    char *copy = mem_alloc(strlen(text) * GROWTH + 16), *to = copy;
    bool is_code = false, is_open = false;

    for (const char *p = text; *p; p++) {
        const char *link = *p == ']' && p[1] == '(' && !is_code ? strchr(p, ')') : NULL;
        int stars = is_code ? 0 : star_of(text, p, is_open);

        if (link) { /* the text of a link stays, where it leads does not */
            p = link;
        } else if (*p == '[' && !is_code && strstr(p, "](")) {
            continue;
        } else if (*p == '`') {
            is_code = !is_code;
            to = font(to, is_code ? 'B' : 'R');
        } else if (stars > 0) {
            to = font(to, is_open ? 'R' : stars == 2 ? 'B' : 'I');
            is_open = !is_open;
            p += stars - 1;
        } else if (*p == '\\' && p[1] == '|') {
            continue;
        } else {
            to = escaped(to, *p);
        }
    }
    if (is_code || is_open)
        to = font(to, 'R');
    *to = '\0';
    put(r, copy);
    mem_free(copy);
}

void roff_begin(struct roff *r, FILE *out, const char *name, int section, const char *date,
                const char *version, const char *what)
{
    *r = (struct roff){ .out = out };
    fprintf(out, ".\\\" Made by docs/manual from the program's own tables; do not edit.\n");
    fprintf(out, ".TH ");
    for (const char *p = name; *p; p++)
        fputc(*p >= 'a' && *p <= 'z' ? *p - 'a' + 'A' : *p, out);
    fprintf(out, " %d %s \"%s\" Assay\n", section, date, version);
    roff_section(r, "NAME");
    roff_text(r, name);
    put(r, "\\-");
    roff_text(r, what);
    roff_line_end(r);
}

static void heading(struct roff *r, const char *macro, const char *title)
{
    roff_line_end(r);
    fprintf(r->out, "%s \"", macro);
    for (const char *p = title; *p; p++) {
        if (*p == '\\' || *p == '-')
            fputc('\\', r->out);
        if (*p != '`' && *p != '"')
            fputc(*p == '\\' ? 'e' : *p, r->out);
    }
    fprintf(r->out, "\"\n");
    r->after_heading = true;
}

void roff_section(struct roff *r, const char *title)
{
    heading(r, ".SH", title);
}

void roff_subsection(struct roff *r, const char *title)
{
    heading(r, ".SS", title);
}

void roff_paragraph(struct roff *r)
{
    roff_line_end(r);
    if (!r->after_heading)
        roff_macro(r, ".PP");
    r->after_heading = false;
}

void roff_term(struct roff *r, const char *bold, const char *italic)
{
    char *copy = mem_alloc((strlen(bold) + strlen(italic)) * GROWTH + 32), *to = copy;

    roff_macro(r, ".TP");
    to = font(to, 'B');
    for (const char *p = bold; *p; p++)
        to = escaped(to, *p);
    to = font(to, 'R');
    if (*italic) {
        *to++ = ' ';
        to = font(to, 'I');
        for (const char *p = italic; *p; p++)
            to = escaped(to, *p);
        to = font(to, 'R');
    }
    *to = '\0';
    fprintf(r->out, "%s\n", copy);
    mem_free(copy);
}

void roff_verbatim(struct roff *r, const char *text, size_t len)
{
    bool is_start = true;

    roff_paragraph(r);
    roff_macro(r, ".RS 4\n.nf");
    while (len > 0 && text[len - 1] == '\n')
        len--;
    for (size_t i = 0; i < len; i++) {
        char two[4], *end = escaped(two, text[i]);

        if (text[i] == '\n') {
            is_start = true;
            fputc('\n', r->out);
            continue;
        }
        if (is_start && (text[i] == '.' || text[i] == '\''))
            fprintf(r->out, "\\&");
        is_start = false;
        fwrite(two, 1, (size_t)(end - two), r->out);
    }
    fprintf(r->out, "\n.fi\n.RE\n");
}
