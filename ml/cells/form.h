/* form.h - numbers as people write them in tables: "$1,234.50", "12 %", "(1.234,5)", "85 kg",
 * "1.2M", "5-", "<0.5", "10+". One text at a time; which sign is the decimal one is the caller's decision,
 * because only the whole column shows it (judge.h). Called by judge.c and by the CSV reader. */
#ifndef ML_CELLS_FORM_H
#define ML_CELLS_FORM_H

#include <stdbool.h>
#include <stddef.h>

struct form {
    /* the number without the factors of a magnitude; of "<5" a millionth less, of ">5" a millionth
     * more, so that it stands beside 5 and is not the same */
    double value;
    /* 1000 for "k", 1e6 for "M", 1e9 for "B"; 1 = none. A magnitude is also noted as the unit:
     * where all rows have the same, it is one. */
    double magnitude;
    /* the sign between groups of three digits: one of , . ' _ or a space; 0 = none */
    char group;
    bool has_percent;
    /* "(5)" or "5-" */
    bool has_odd_minus;
    /* "<5", ">= 5", "5+": the true number is not known, only that it is no larger or no smaller */
    bool is_bound;
    /* digits alone with a needless zero in front, such as "007 kg" */
    bool is_code;
    /* csv_number reads the text as it stands */
    bool is_plain;
    /* pieces of the text; NULL = none */
    const char *currency, *unit;
    size_t currency_n, unit_n;
};

/* Whether all of the text is one number. decimal: '.' or ','. Any bytes are allowed. */
bool form_read(const char *s, size_t n, char decimal, struct form *out);

#endif
