/* code.h - the parts of structured codes such as KA-12-9822, E11.9 or AB1234: runs of letters and
 * runs of digits, the runs up to one of them or from one on together, the first signs of a long run; and, where all
 * codes have one length, as numbers of vehicles have, the sign at each place. Called by
 * ml/prep/parts_screen.c and step_parts.c. */
#ifndef ML_TEXT_CODE_H
#define ML_TEXT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* CODE_MOST_BYTES: a longer text is no code. */
enum {
    CODE_MOST_RUNS = 6,
    CODE_MOST_PLACES = 24,
    CODE_MOST_PARTS = 16 + CODE_MOST_PLACES,
    CODE_MOST_BYTES = 64,
    CODE_NAME = 64
};

/* What runs the codes of a column have; two texts of one form have as many runs of the same kinds,
 * of any length. */
struct code_form {
    uint8_t n_runs;
    uint8_t is_digits[CODE_MOST_RUNS];
};
/* Runs first to last, with what stands between them; where `signs` is not 0, only that many signs
 * of run `first`, which is `last`. signs CODE_PLACE: the sign at place `first`, from 0, of codes of
 * `last` bytes, whatever their runs are; CODE_BEGIN: the first `first` signs of such codes. */
enum { CODE_BEGIN = 254, CODE_PLACE = 255 };
struct code_part {
    uint8_t first, last, signs;
};

/* The form or the length that at least nine of ten rows have (rows: [n_levels] how many rows have a
 * level), and the parts that may be worth a look: returns their number; 0 = the column holds no
 * codes. Without such a form it has no runs. */
int code_form_find(const char *const *levels, int n_levels, const int64_t *rows,
                   struct code_form *out, struct code_part parts[CODE_MOST_PARTS]);
/* The bytes of a part: where they begin in the text, and how many. false = the text is not of this
 * form, or it has fewer signs. */
bool code_part_of(const struct code_form *f, struct code_part p, const char *text,
                  const char **begin, size_t *n);
/* "part 2", "parts 1 to 2", "first 3 signs of part 1", "sign 5", "first 3 signs" */
void code_part_name(struct code_part p, char out[CODE_NAME]);
/* Whether form and part, which may come from a stranger, are possible. */
bool code_part_ok(const struct code_form *f, struct code_part p);

#endif
