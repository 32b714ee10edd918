/* progress.h - the line that shows how a study goes: on a terminal one line that is redrawn in place and fits the width that
 * the terminal has at that moment, elsewhere (a file, a pipe) a plain line now and then. On stderr. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the line says. Texts are borrowed and free of control characters (print.h). */
struct progress_facts {
    const char *state; /* "running" */
    const char *why;   /* why nothing runs, as the controller says it; NULL = not said */
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
/* Takes the line off the terminal, so that other text can be printed there. */
void progress_end(struct progress *p);

/* The line for a terminal of so many columns, at most columns - 1 wide; columns 0 = no terminal: everything is said, without
 * a bar. What matters least is left out first: the bar, the family, the metric's name, then the words. */
void progress_text(const struct progress_facts *f, int columns, char *out, size_t size);

#endif
