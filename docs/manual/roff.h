/* roff.h - writes man(7) pages: text is escaped and wrapped, so that whatever a help text or a
 * document holds, it can neither begin a request nor break a line in the source. */
#ifndef DOCS_MANUAL_ROFF_H
#define DOCS_MANUAL_ROFF_H

#include <stdbool.h>
#include <stdio.h>

struct roff {
    FILE *out;
    int column;         /* of the current source line; 0 = a new one */
    bool after_heading; /* a paragraph needs no macro there */
};

/* date: YYYY-MM-DD. version: "assay 0.1.0". */
void roff_begin(struct roff *r, FILE *out, const char *name, int section, const char *date,
                const char *version, const char *what);
void roff_section(struct roff *r, const char *title);    /* .SH */
void roff_subsection(struct roff *r, const char *title); /* .SS */
void roff_paragraph(struct roff *r);
/* A term whose text follows: bold, then a space and the rest in italics ("" = nothing). */
void roff_term(struct roff *r, const char *bold, const char *italic);
/* Words, wrapped. Runs of spaces become one. */
void roff_text(struct roff *r, const char *text);
/* The same, where **bold**, *italic*, `code` and [text](link) of Markdown become fonts. */
void roff_markdown(struct roff *r, const char *text);
/* Lines as they are, indented. */
void roff_verbatim(struct roff *r, const char *text, size_t len);
void roff_line_end(struct roff *r);                /* ends the source line that was begun */
void roff_macro(struct roff *r, const char *line); /* a request of its own line, such as ".RE" */

#endif
