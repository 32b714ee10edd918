/* progress.h - the line that shows how a study goes, on stderr.
 *
 * On a terminal it is one line that is drawn again in place and fits the present width.
 * Elsewhere (a file, a pipe) it is a plain line now and then. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the line says. Texts are borrowed and hold no control characters (print.h). */
struct progress_facts {
    const char *state; /* "running" */
    const char *why;   /* why nothing runs, in the controller's words; NULL = not known */
    int64_t started, running, done;
    const char *metric, *score, *family; /* of the best trial; score NULL = there is none yet */
    int64_t gain_ms;                     /* since the best trial became the best; -1 = not known */
    int64_t left_ms;                     /* to the end of the time budget; -1 = no such limit */
    int64_t silent_ms; /* the controller has not answered for so long; 0 = it has */
    double share;      /* of the budget that is used, 0..1 */
};

struct progress {
    bool is_terminal;
    int64_t begun_ms, last_ms;
};

void progress_init(struct progress *p);
void progress_draw(struct progress *p, const struct progress_facts *f, int64_t now_ms);
/* Clears the line, so that other text can be printed. */
void progress_end(struct progress *p);

/* Composes the line for a terminal of this many columns; it is at most columns - 1 wide. With 0
 * columns (no terminal) everything is said, without a bar. What matters least is left out first:
 * the bar, the family, the metric's name, then the words. */
void progress_text(const struct progress_facts *f, int columns, char *out, size_t size);

#endif
