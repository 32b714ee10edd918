/* pages.h - what docs/manual makes: four manual pages and completions for three shells. Each
 * function writes one file; `help` is what `assay help --json` prints. */
#ifndef DOCS_MANUAL_PAGES_H
#define DOCS_MANUAL_PAGES_H

#include <jansson.h>
#include <stdio.h>

void page_assay(FILE *out, const json_t *help, const char *date);  /* assay.1 */
void page_assayd(FILE *out, const json_t *help, const char *date); /* assayd.8 */
void page_runner(FILE *out, const json_t *help, const char *date); /* assay-runner.8 */
/* assay-spec.5, from the text of docs/SPEC.md, whose tables follow from the code. */
void page_spec(FILE *out, const char *markdown, const char *version, const char *date);

void complete_bash(FILE *out, const json_t *help);
void complete_zsh(FILE *out, const json_t *help);
void complete_fish(FILE *out, const json_t *help);

/* ---- shared by them ---- */

const char *pages_text(const json_t *object, const char *key); /* "" = not there */
/* The letter that stands for an option: 'o' for output, 'y' for yes, 'f' for follow; 0 = none. */
char pages_letter(const json_t *option);
/* Takes the next verb of a usage line such as "ls | add NAME | rm ID" or "[show|kill] X | put Y";
 * *at moves on. 0 = no more; a usage without verbs has none. */
int pages_verb(const char *operands, size_t *at, char verb[32]);

#endif
